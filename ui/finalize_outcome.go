package ui

import (
	"github.com/veltui/veltui/finalize"
	"github.com/veltui/veltui/ui/dialog"
)

// outcomeOf puts an outcome of finalize into words. byVelero is true where
// Velero does the rest, so that no phase was written.
func outcomeOf(o *finalize.Outcome, err error, byVelero bool) dialog.Outcome {
	shown := dialog.Outcome{
		State: string(o.State), Message: o.Message, Warnings: o.Warnings,
		Checked: o.State == finalize.Checked, Sent: o.Sent == finalize.Landed, Unfinished: o.State == finalize.Unfinished,
	}
	shown.Headline, shown.Tone = headline(o, byVelero)
	shown.Remains = remains(o, err)
	if o.Log != "" {
		shown.Files = []dialog.File{{What: "the log", Path: o.Log}, {What: "the resource as it was", Path: o.Copy}}
	}
	return shown
}

// stateToTell is the state, but that of what was refused or overtaken after
// something was sent: that it was stopped then, and how far it came, is what
// matters.
func stateToTell(o *finalize.Outcome) finalize.State {
	if o.Sent != finalize.NotSent && (o.State == finalize.Refused || o.State == finalize.Changed) {
		return finalize.Unfinished
	}
	return o.State
}

func headline(o *finalize.Outcome, byVelero bool) (string, dialog.Tone) {
	switch stateToTell(o) {
	case finalize.Settled:
		if byVelero {
			return "Done.", dialog.Good
		}
		return "Done: it is " + o.Phase + ".", dialog.Good
	case finalize.NoEffect:
		return "Done, but nothing came of it.", dialog.Mixed
	case finalize.Checked:
		return "Checked: nothing was written.", dialog.Good
	case finalize.Moving:
		if byVelero {
			return "Asked for, and under way.", dialog.UnderWay
		}
		return "Under way: it is " + o.Phase + ".", dialog.UnderWay
	case finalize.Reverted:
		return "Written over: it is " + o.Phase + ".", dialog.Bad
	case finalize.Deleted:
		return "Gone: it was deleted.", dialog.Bad
	case finalize.Changed:
		return "Changed meanwhile: nothing was written.", dialog.Mixed
	case finalize.Refused:
		return "Refused: nothing was written.", dialog.Bad
	}
	switch o.Sent {
	case finalize.Partly:
		return "Stopped halfway: some of the patches were carried out.", dialog.Bad
	case finalize.Landed:
		return "Stopped after the patch was carried out.", dialog.Mixed
	case finalize.Doubtful:
		return "Stopped, and in doubt: the patch was sent.", dialog.Bad
	}
	return "Stopped: nothing was written.", dialog.Mixed
}

// remains is what a person should do next.
func remains(o *finalize.Outcome, err error) string {
	switch stateToTell(o) {
	case finalize.Settled, finalize.Checked:
		return "Nothing."
	case finalize.Moving:
		return "Look at it again in a while: Velero has not ended it yet. If it stays so, a restart of the server continues it."
	case finalize.NoEffect:
		return "Velero has not picked it up. See the server's log; a restart of the server may help (f, then w, shows what it fails)."
	case finalize.Reverted:
		return "Leave it alone for now: a Velero server works on it. If it stays as it is, restart the server; at its start it marks it Failed, with everything else that is in progress."
	case finalize.Deleted:
		return "Find out who deleted it: a person, its expiry, or Velero's sync, which removes backups that are not in the object store."
	case finalize.Changed:
		return "Review it again before you decide."
	case finalize.Refused:
		return "See why above. Nothing has changed, so you may try again."
	}
	switch o.Sent {
	case finalize.Partly:
		return "Look at its volumes: some were asked to end. f looks at what is left."
	case finalize.Landed:
		return "Look at its phase in a minute or two: whether it holds was not observed to the end."
	case finalize.Doubtful:
		return "Press f to look again. If the job's annotations name the attempt that is in the log, the patch was carried out."
	}
	if err != nil {
		return "f tries again; nothing is half done."
	}
	return ""
}
