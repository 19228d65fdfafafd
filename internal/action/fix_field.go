package action

import (
	"fmt"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/velero/decode"
)

// fixFieldAction advises to correct a field that Velero cannot read.
type fixFieldAction struct{ baseAction }

func (fixFieldAction) name() Name { return FixField }

// unreadable refuses a job or volume that Velero's types cannot hold: Velero reads no other of its kind either.
func unreadable(e *Evidence, r Request) verdict {
	what, _ := e.malformed()
	advice := "Correct it with kubectl edit, then try again."
	if p, ok := For(FixField, *e, r); ok && len(p.Commands) > 0 {
		advice = "Correct it with: " + p.Commands[0]
	}
	return refuse(advice+" Restarting the Velero server does not help: it fails on it again.",
		"%s: %s; %s", diagnosis.MalformedSpec, what, decode.ServerWarning)
}

func (e *Evidence) isMalformed() bool {
	what, _ := e.malformed()
	return what != ""
}

// malformed describes the malformed field of the job, or of its first such volume, whose index it returns.
func (e *Evidence) malformed() (what string, volume int) {
	if len(e.Job.Malformed) > 0 {
		return e.Job.Malformed[0].String(), -1
	}
	for i, v := range e.Job.Volumes {
		if v.Malformed != (decode.Malformed{}) {
			return fmt.Sprintf("%s %s: %s", v.Kind, v.Name, v.Malformed), i
		}
	}
	return "", -1
}

// fill advises to correct what Velero cannot read. Only a person knows what the field was meant to say.
func (fixFieldAction) fill(e *Evidence, w *Plan) bool {
	what, volume := e.malformed()
	if what == "" {
		return false
	}
	w.Title, w.Why = "correct the malformed field", what
	w.Will = []string{
		"correct a value whose meaning is clear and remove any other, only if nothing has changed it since",
	}
	w.WillNot = []string{"be needed with a later Velero that accepts the value"}
	w.Then = []string{"Velero's server can read all resources of this kind again"}
	fields, resource, name := e.Job.Malformed, qualified(e.Job.Kind), e.Job.Name
	if volume >= 0 {
		v := e.Job.Volumes[volume]
		fields, resource, name = []decode.Malformed{v.Malformed}, qualified(v.Kind), v.Name
	}
	if patch := decode.Patch(fields); patch != "" {
		w.Commands = []string{
			w.request.Reach().Kubectl(e.Job.Namespace, "patch", resource, name, "--type=json", "-p", patch),
		}
	} else {
		w.Commands = []string{w.request.Reach().Kubectl(e.Job.Namespace, "edit", resource, name)}
	}
	w.Refusal = "veltui does not change the field itself"
	w.Advice = "Check what the value should be, then run the command."
	return true
}
