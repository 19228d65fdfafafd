package action

import (
	"strings"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero"
)

// DeletionKind returns the action that deletes a backup or restore.
func DeletionKind(kind job.Kind) Kind { return Kind("delete-" + kind.Noun()) }

// checkDeletable reads the object to delete into a typed one. The object must exist and have ended.
func (g *gatherer) checkDeletable(into any) bool {
	o, e := g.evidence.proposal, g.evidence
	kind, name, phase := job.Kind(e.Object.GetKind()), e.Object.GetName(), sanitize.String(phaseOf(e.Object))
	what := kind.Noun() + "/" + name
	ended := velero.IsTerminalPhase(phase)
	if g.fetchNamed(jobGVK(kind), name, into, "") == nil {
		return false
	}
	o.facts.AddFact(ended, diagnosis.SourceAPI, job.LastWritten(e.Object), "%s is %s", what, phaseOrNone(phase))
	switch {
	case e.Object.GetDeletionTimestamp() != nil:
		o.noteRefusal(
			newRefusal(
				"A Velero server releases it once its storage location is available; see both with veltui check.",
				"%s is being deleted%s",
				what,
				human.Prefixed(", held by ", sanitize.String(strings.Join(e.Object.GetFinalizers(), ", "))),
			),
		)
	case !ended && phase != velero.PhaseDeleting:
		o.noteRefusal(
			newRefusal(
				"Wait until it has ended: veltui wait "+what+"; what does not move: veltui explain "+what,
				"%s has not ended, and deleting it does not stop it",
				what,
			),
		)
	case isStillRunning(e.Object, e.Now):
		o.noteRefusal(
			newRefusal(
				"Try again once Velero no longer writes to it.",
				"somebody wrote the phase of %s, and Velero goes on with it",
				what,
			),
		)
	}
	return true
}
