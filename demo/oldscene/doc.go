// Package oldscene sets the demo's stage on an empty control plane: a cluster of
// made-up applications, a Velero namespace with its pods, days of finished
// backups, a few jobs in trouble, and a director that starts new jobs so that
// something always moves.
//
// Its door is [Build]. Nothing here tells a job's fate by its name: what is in
// trouble can be known by the evidence that a real cluster would show.
package oldscene
