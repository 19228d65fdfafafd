// Package human formats durations, times, sizes, counts and lists for people, with one formatter each, so that
// tables, sentences and commands always format a number the same way.
package human
