// Package replay plays recordings of a real Velero into an API server, event
// by event and with the recorded timing.
//
// [Load] reads recordings and [Play] writes them. Nothing is coalesced: each
// recorded event is one write. Names, labels, annotations, finalizers, spec and
// status are written as recorded; uids and resource versions are the API
// server's own, and uids that labels and owner references name are translated.
package replay
