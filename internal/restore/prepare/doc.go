// Package prepare turns an item of a backup into the object that Velero creates. It does no I/O. Preflight and verify
// share its rules: [Rules.PrepareItem] changes an item as a restore does, and [DifferenceReason] names what makes
// Velero find an unchanged object different.
package prepare
