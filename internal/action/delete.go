package action

import (
	"strings"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero"
)

// DeletionOf is the action that deletes a backup or restore.
func DeletionOf(kind job.Kind) Name { return Name("delete-" + kind.Word()) }

// deletable reads what is to be deleted, which must exist and have ended.
func (g *gathering) deletable(into any) bool {
	o, e := g.e.proposal, g.e
	kind, name, phase := job.Kind(e.Object.GetKind()), e.Object.GetName(), sanitize.String(phaseOf(e.Object))
	what := kind.Word() + "/" + name
	ended := velero.TerminalPhase(phase)
	if g.named(jobKind(kind), name, into, "") == nil {
		return false
	}
	o.ledger.Note(ended, diagnosis.SourceAPI, job.LastWritten(e.Object), "%s is %s", what, orNone(phase))
	switch {
	case e.Object.GetDeletionTimestamp() != nil:
		o.refuse(
			refuse(
				"A Velero server releases it once its storage location is available; see both with veltui check.",
				"%s is being deleted%s",
				what,
				human.Clause(", held by ", sanitize.String(strings.Join(e.Object.GetFinalizers(), ", "))),
			),
		)
	case !ended && phase != velero.PhaseDeleting:
		o.refuse(
			refuse(
				"Wait until it has ended: veltui wait "+what+"; what does not move: veltui explain "+what,
				"%s has not ended, and deleting it does not stop it",
				what,
			),
		)
	case runsOn(e.Object, e.At):
		o.refuse(
			refuse(
				"Try again once Velero no longer writes to it.",
				"somebody wrote the phase of %s, and Velero goes on with it",
				what,
			),
		)
	}
	return true
}
