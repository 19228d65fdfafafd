// Package responder acts like Velero on a user's requests in the demo cluster: it signs URLs, finalizes jobs that
// were moved on to Finalizing, cancels volumes, deletes, and runs created backups and restores. It only touches
// objects that a client has changed, and nothing at all if no Velero server runs.
package responder
