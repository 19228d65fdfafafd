package view

import (
	"fmt"

	"github.com/veltui/veltui/internal/human"
)

// NamespaceColumn is the column of Velero's namespace in the output of commands that read several.
var NamespaceColumn = Column{Name: "namespace", MinWidth: 6, CutMiddle: true, TypicalWidth: len("openshift-adp")}

const maxNamedNamespaces = 5

// OtherVelerosNote returns that other namespaces than the one that is read have a Velero, empty if there are none.
func OtherVelerosNote(namespace string, others []string) string {
	if len(others) == 0 {
		return ""
	}
	return fmt.Sprintf(
		"this is the Velero of namespace %s; there is also one in %s: -n names it, 'get -A' and 'check -A' read all",
		namespace,
		human.JoinNames(others, maxNamedNamespaces),
	)
}
