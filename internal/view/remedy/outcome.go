package remedy

import (
	"strings"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/view"
)

// Ending is the result of applying a plan, and what a person should do next. Remains may name keys, such as
// <finalize>.
type Ending struct {
	Headline view.Text
	NextStep string
}

// endingByState are the endings of a job's plans; PHASE is replaced.
var endingByState = map[action.OutcomeState]Ending{
	action.StateSettled: {Headline: view.Toned(view.Good, "Done: it is PHASE.")},
	action.StateNoEffect: {
		view.Toned(view.Waiting, "Done, but it had no effect."),
		"Velero has not picked it up. See the server's log. Restarting the server may help (<finalize>, then " +
			"<next-option>, shows what that fails).",
	},
	action.StateChecked: {Headline: view.Toned(view.Good, "Checked: nothing was written.")},
	action.StatePending: {
		view.Toned(view.Running, "Under way: it is PHASE."),
		"Check it again later: Velero has not ended it yet. If it stays so, restart the server, which then continues it.",
	},
	action.StateReverted: {
		view.Toned(view.Bad, "Reverted: it is PHASE."),
		"Leave it alone for now: a Velero server is working on it. If it stays as it is, restart the server, which " +
			"marks this job and every other job in progress Failed.",
	},
	action.StateDeleted: {
		view.Toned(view.Bad, "Deleted."),
		"Find out who deleted it: a person, its expiry, or Velero's sync, which removes backups that are not in the " +
			"object store.",
	},
	action.StateChanged: {
		view.Toned(view.Waiting, "It changed in the meantime: nothing was written."),
		"Review it again before you decide.",
	},
	action.StateRefused: {
		view.Toned(view.Bad, "Refused: nothing was written."),
		"See why above. Nothing has changed, so you may try again.",
	},
	action.StateAltered: {
		view.Toned(view.Bad, "In doubt: the answer is not what was requested."),
		"Look at the object itself (y on its page): a webhook or a proxy changes what is written. Find out which " +
			"before you try again.",
	},
	action.StateCarriedOut: {
		view.Toned(view.Bad, "The dry run was carried out."),
		"Check the object itself. Find out which proxy drops dryRun before you change anything through it.",
	},
	action.StateMisdirected: {
		view.Toned(view.Bad, "Velero may delete another one."),
		"Check the backup that has the name now, and the request.",
	},
}

// endingWhenInterrupted are the endings of incomplete runs, by what had been sent.
var endingWhenInterrupted = map[action.SentState]Ending{
	action.PartlyLanded: {
		view.Toned(view.Bad, "Stopped halfway: some of the patches were applied."),
		"Check its volumes: some were cancelled. <finalize> shows the rest.",
	},
	action.Landed: {
		view.Toned(view.Waiting, "Stopped after the patch was applied."),
		"Check its phase in a minute or two: veltui did not watch it to the end.",
	},
	action.Doubtful: {
		view.Toned(view.Bad, "Stopped, and in doubt: the patch was sent."),
		"Press <finalize> to check. If the job's annotations name the attempt that is in the log, the patch was applied.",
	},
}

// NewEnding returns the ending of an applied plan, from its outcome and error. If something was sent before a refusal
// or a change, the ending depends on how much was sent.
func NewEnding(applied *action.Plan, o *action.Outcome, err error) Ending {
	end, ok := endingByState[o.State]
	if !ok || o.Sent != action.NotSent && (o.State == action.StateRefused || o.State == action.StateChanged) {
		if end, ok = endingWhenInterrupted[o.Sent]; !ok {
			end = Ending{Headline: view.Toned(view.Waiting, "Stopped: nothing was written.")}
			if err != nil {
				end.NextStep = "<finalize> tries again; nothing is half done."
			}
		}
	}
	if applied.IsProposed() {
		end.adaptToProposal(o, err)
	}
	if o.OnlyDryRun {
		end.Headline.Text = "Stopped, and in doubt: a dry run had no answer."
	}
	if applied.Action != action.Finalize { // the plan wrote no phase: Velero does the rest
		switch o.State {
		case action.StateSettled:
			end.Headline.Text = "Done."
		case action.StatePending:
			end.Headline.Text = "Requested, and under way."
		case action.StateReverted:
			end.Headline.Text = "Reverted."
			end.NextStep = "Find out who changed it back: a person, or a program that manages it."
		}
	}
	end.Headline.Text = strings.ReplaceAll(end.Headline.Text, "PHASE", o.Phase)
	return end
}

// adaptToProposal changes the ending to that of a proposal, which is not about a running job.
func (e *Ending) adaptToProposal(o *action.Outcome, err error) {
	e.Headline.Text = strings.NewReplacer("the patch", "the request", ": it is PHASE.", ".").Replace(e.Headline.Text)
	switch {
	case o.State == action.StateReverted:
		e.NextStep = "Somebody keeps it as it was, perhaps Argo CD, Flux or Helm: change it there."
	case o.State == action.StateDeleted:
		e.NextStep = "Find out who deleted it."
	case o.State == action.StateNoEffect:
		e.Headline.Text, e.NextStep = "Requested, but not carried out.", ""
	case !strings.HasPrefix(e.Headline.Text, "Stopped"):
	case o.Sent == action.Doubtful:
		e.NextStep = "Look at it before you try again. Give the same name: then there is one at most."
	case o.Sent == action.NotSent && err != nil:
		e.NextStep = "Try again; nothing is half done."
	default:
		e.NextStep = "Look at it in a minute or two: veltui did not watch it to the end."
	}
}
