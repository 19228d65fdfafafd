// Package diff compares objects field by field, for preflight and verify. Of what a backup holds of an object a
// [Table] keeps only hashes of the fields, until the object of the cluster is there, so that no value of a Secret
// stays in memory or is shown. It is pure.
package diff
