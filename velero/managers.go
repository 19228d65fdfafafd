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

// IsServerManager reports whether a field manager may be a server's or a node-agent's: a rebranded build has its own
// name before -server.
func IsServerManager(manager string) bool { return strings.HasSuffix(manager, "-server") }

var (
	statusField  = []byte(`"f:status"`)
	statusFields = fieldsOf(`{"f:status":{}}`)
	otherFields  = fieldsOf(`{}`)
)

func fieldsOf(owned string) *metav1.FieldsV1 {
	fields := &metav1.FieldsV1{}
	fields.SetRawString(owned)
	return fields
}

// WritesStatus reports whether an entry's manager owns a field of the status. An entry that does not say what it
// owns counts: the API server always says.
func WritesStatus(m *metav1.ManagedFieldsEntry) bool {
	return m.FieldsV1 == nil || bytes.Contains(m.FieldsV1.GetRawBytes(), statusField)
}

// StripManagedFields keeps who wrote, when, and whether it was to the status.
func StripManagedFields(fields []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	kept := make([]metav1.ManagedFieldsEntry, len(fields))
	for i := range fields {
		f := &fields[i]
		kept[i] = metav1.ManagedFieldsEntry{Manager: f.Manager, Operation: f.Operation, Time: f.Time}
		switch {
		case f.FieldsV1 == nil:
		case WritesStatus(f):
			kept[i].FieldsV1 = statusFields
		default:
			kept[i].FieldsV1 = otherFields
		}
	}
	return kept
}
