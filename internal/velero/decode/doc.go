// Package decode turns what the API server sends into Velero's Go types, one object at a time,
// and survives fields that those types cannot hold. Its door is [Object].
//
// Velero's CRDs describe durations as plain strings (config/crd/v1/bases, all versions), so the API server
// accepts spec.ttl "30d". metav1.Duration does not, and one such object makes a typed List or Watch of its whole
// kind fail, in every client and in Velero's own caches. Here it costs its own malformed fields and nothing else.
package decode
