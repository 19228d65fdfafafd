package action

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// Confirmation is what a person must do before a plan is applied. What is at stake decides.
type Confirmation int

const (
	// ConfirmByName asks a person to type the kubeconfig context and the name: for what nobody can take back.
	ConfirmByName Confirmation = iota
	// ConfirmByContext asks for the context alone: for what only adds a resource, under a name that nothing has yet.
	ConfirmByContext
	// ConfirmByKey asks for a key: for what the opposite action takes back.
	ConfirmByKey
)

// Confirmation returns how a person confirms the plan.
func (p *Plan) Confirmation() Confirmation {
	switch p.Action {
	case Pause:
		return ConfirmByKey
	case Unpause:
		if p.startsRun { // a pause does not take back the backup
			return ConfirmByContext
		}
		return ConfirmByKey
	case Create:
		if p.changesExisting() {
			return ConfirmByName
		}
		return ConfirmByContext
	}
	return ConfirmByName
}

// ConfirmationText returns what a person types to confirm the plan, empty if a key is enough.
func (p *Plan) ConfirmationText(contextName string) string {
	switch p.Confirmation() {
	case ConfirmByKey:
		return ""
	case ConfirmByContext:
		return contextName
	}
	return contextName + "/" + p.Name
}

// changesExisting reports whether the plan creates a restore that also changes objects which exist already.
func (p *Plan) changesExisting() bool {
	for _, o := range p.targets {
		policy, _, _ := unstructured.NestedString(o.Object, "spec", "existingResourcePolicy")
		if o.GetKind() == string(job.Restore) && policy != "" && policy != string(veleroapi.PolicyTypeNone) {
			return true
		}
	}
	return false
}
