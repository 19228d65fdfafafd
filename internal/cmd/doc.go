// Package cmd is veltui's command line: the dashboard as the root command, and
// the commands for scripts. Data goes to standard output, messages to standard error.
package cmd
