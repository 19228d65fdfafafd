// Package prepare makes of an item of a backup the object that Velero creates. It does no I/O. Preflight and verify
// share its rules: Item changes an item as a restore does, and Differing names what makes Velero find an unchanged
// object different.
package prepare
