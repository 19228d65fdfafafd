package view

import (
	"strings"

	"github.com/veltui/veltui/watch"
)

// ConnectionRestored says that a connection is live again.
const ConnectionRestored = "Connected again"

// ConnectionLost says that nothing comes from a cluster any longer, without a full stop.
func ConnectionLost(h watch.Health) string {
	return "Connection lost: " + strings.TrimRight(h.Err, ".")
}

// CredentialsRejected says that a cluster does not take the credentials, without a full stop.
func CredentialsRejected(h watch.Health) string {
	return "the API server rejects your credentials: " + strings.TrimRight(h.Err, ".")
}
