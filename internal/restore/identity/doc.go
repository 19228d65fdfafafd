// Package identity says under which name Velero restores each item of a backup, and which items become one object.
//
// [Resolver.Identify] is the one place that knows what a namespace mapping, a resource modifier and Velero's own
// renaming make of an item's name. [Resolver.FindMerged] finds the items that end up under one name. Everything is
// pure.
package identity
