// Package decode turns what the API server sends into Velero's Go types, one object at a time, and tolerates fields
// that those types cannot hold. Its entry point is [Object].
//
// Velero's CRDs describe durations as plain strings (config/crd/v1/bases, all versions), so the API server accepts
// spec.ttl "30d". metav1.Duration does not, and one such object makes a typed List or Watch of its whole kind fail,
// in every client and in Velero's own caches. With this package, the object loses only its malformed fields.
package decode
