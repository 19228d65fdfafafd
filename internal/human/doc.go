// Package human writes durations, moments, sizes, counts and lists as people
// write them. There is one formatter for each, and whatever a person reads goes
// through it, so that a table, a sentence and a command never write the same
// number in two ways. It is pure and imports nothing of veltui.
package human
