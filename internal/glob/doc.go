// Package glob matches names with Velero's wildcards in a bounded number of steps.
//
// Velero matches with github.com/gobwas/glob (pkg/util/collections/includes_excludes.go and
// pkg/util/wildcard/expand.go, Velero 1.10 to 1.18), which tries every way to divide a name among the parts of a
// pattern: 99 bytes in a Restore keep it busy for years. It also matches some patterns with alternatives in its own
// way. So [Compile] lets the library parse and compile, and [Pattern.Match] walks the result by the library's own
// rules, but remembers each answer, and gives up after a number of steps.
package glob
