// Package diff compares objects field by field, for preflight and verify. Of an object in a backup, [FieldTable] keeps
// only hashes of the fields until the object of the cluster has been read, so that no value of a Secret stays in
// memory or is shown. It is pure.
package diff
