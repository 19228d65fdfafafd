// Package resource models resources other than jobs: the dashboard's tabs, the pages behind their rows, and the
// output of `get` and `describe`. Package assess judges the resources; this package adds words, columns and order. A
// [Kind] defines what all of these show of one kind of resource.
//
// The package is pure.
package resource
