package velero

import (
	"bytes"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The field managers of Velero's processes (pkg/cmd/server/server.go and pkg/cmd/cli/nodeagent/server.go, SetBasename).
const (
	ServerManager = "velero-server"
	AgentManager  = "node-agent-server"
)

// IsServerManager reports whether a field manager may be a server or a node-agent: a rebranded build has its own name
// before -server.
func IsServerManager(manager string) bool { return strings.HasSuffix(manager, "-server") }

var statusField = []byte(`"f:status"`)

// statusSubresource marks a status entry after [StripManagedFields].
const statusSubresource = "status"

// WritesStatus reports whether an entry's manager owns a field of the status. An entry without owned fields counts:
// the API server always lists them.
func WritesStatus(m *metav1.ManagedFieldsEntry) bool {
	switch {
	case m.Subresource == statusSubresource:
		return true
	case m.FieldsV1 != nil:
		return bytes.Contains(m.FieldsV1.GetRawBytes(), statusField)
	}
	return m.FieldsType == "" // otherwise it was stripped
}

// StripManagedFields keeps who wrote, when, and whether the write was to the status. It may be applied twice.
func StripManagedFields(fields []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	kept := make([]metav1.ManagedFieldsEntry, len(fields))
	for i := range fields {
		f := &fields[i]
		kept[i] = metav1.ManagedFieldsEntry{Manager: f.Manager, Operation: f.Operation, Time: f.Time}
		switch says := f.FieldsV1 != nil || f.FieldsType != ""; {
		case f.Subresource == statusSubresource, says && WritesStatus(f):
			kept[i].Subresource = statusSubresource
		case says:
			kept[i].FieldsType = "FieldsV1"
		}
	}
	return kept
}
