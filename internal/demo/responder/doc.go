// Package responder acts as Velero does on what a user asks of the demo's
// cluster: it signs URLs, finalizes what was moved on to Finalizing, ends
// volumes that are to be cancelled, deletes, and runs backups and restores that
// were created. It touches nothing that no client has changed, and nothing at
// all where no Velero server runs.
package responder
