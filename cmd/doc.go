// Package cmd is veltui's command line: the dashboard as the root command, and
// the commands for scripts. Its doors are [Main], which a program calls, and
// [Run], which does the same under a context of the caller's.
//
// Data goes to standard output and messages to standard error. Exit codes are
// listed in exit_codes.go.
package cmd
