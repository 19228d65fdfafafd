package action

import (
	"fmt"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/velero/decode"
)

// fixFieldAction advises correcting a field that Velero cannot read.
type fixFieldAction struct{ baseAction }

func (fixFieldAction) actionKind() Kind { return FixField }

// refuseUnreadable refuses a job or volume that Velero's types cannot hold: Velero cannot read any other of its kind
// either.
func refuseUnreadable(e *Evidence, r Request) decision {
	what, _ := e.findMalformed()
	advice := "Correct it with kubectl edit, then try again."
	if p, ok := PlanFor(FixField, *e, r); ok && len(p.Commands) > 0 {
		advice = "Correct it with: " + p.Commands[0]
	}
	return newRefusal(advice+" Restarting the Velero server does not help: it fails on it again.",
		"%s: %s; %s", diagnosis.MalformedSpec, what, decode.ServerWarning)
}

func (e *Evidence) isMalformed() bool {
	what, _ := e.findMalformed()
	return what != ""
}

// findMalformed describes the malformed field of the job, or of its first malformed volume, whose index it returns.
func (e *Evidence) findMalformed() (what string, volume int) {
	if len(e.Job.MalformedFields) > 0 {
		return e.Job.MalformedFields[0].String(), -1
	}
	for i, v := range e.Job.Volumes {
		if v.MalformedField != (decode.MalformedField{}) {
			return fmt.Sprintf("%s %s: %s", v.Kind, v.Name, v.MalformedField), i
		}
	}
	return "", -1
}

// fillPlan advises correcting what Velero cannot read. Only a person knows what the field was meant to say.
func (fixFieldAction) fillPlan(e *Evidence, w *Plan) bool {
	what, volume := e.findMalformed()
	if what == "" {
		return false
	}
	w.Title, w.EvidenceText = "correct the malformed field", what
	w.Will = []string{
		"correct a value whose meaning is clear and remove any other, only if nothing has changed it since",
	}
	w.WillNot = []string{"be needed with a later Velero that accepts the value"}
	w.Afterwards = []string{"Velero's server can read all resources of this kind again"}
	fields, resource, name := e.Job.MalformedFields, qualifiedResource(e.Job.Kind), e.Job.Name
	if volume >= 0 {
		v := e.Job.Volumes[volume]
		fields, resource, name = []decode.MalformedField{v.MalformedField}, qualifiedResource(v.Kind), v.Name
	}
	if patch := decode.BuildPatch(fields); patch != "" {
		w.Commands = []string{
			w.request.ClusterAccess().KubectlCommand(e.Job.Namespace, "patch", resource, name, "--type=json", "-p", patch),
		}
	} else {
		w.Commands = []string{w.request.ClusterAccess().KubectlCommand(e.Job.Namespace, "edit", resource, name)}
	}
	w.Refusal = "veltui does not change the field itself"
	w.Advice = "Check what the value should be, then run the command."
	return true
}
