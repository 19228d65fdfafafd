// Package human writes durations, moments, sizes, counts and lists as people write them, one
// formatter for each, so that a table, a sentence and a command never write a number in two ways.
package human
