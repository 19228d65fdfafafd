package dialog

import (
	"cmp"
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/keys"
)

// gathering is what is looked at, for a job or for what is none.
func gathering(proposed bool) []string {
	if proposed {
		return []string{
			"what it rests on, as it is now",
			"Velero's server: whether one is running",
			"your right to do it",
		}
	}
	return []string{
		"the resource and its volumes, as they are now",
		"Velero's server: whether one is running, since when, and what its log says of the job",
		"the stored results, resource list and volume information (by DownloadRequest; this can take a minute)",
		"your right to patch it, and the phases that the CRD allows",
	}
}

// steps are those of applying a plan, in their order. A dry run has the first two.
var steps = []step{
	{action.StepLook, "read the evidence again"},
	{action.StepDryRun, "have the API server check it (dry run)"},
	{action.StepPatch, "send it"},
	{action.StepObserve, "watch the result"},
}

type step struct {
	name action.Step
	what string
}

// choices are the plans for the evidence, finalizing first. If refused, a person may decide for
// other phases. A restart, the roughest, comes last, and only where nothing better is.
func choices(e action.Evidence, r action.Request) []action.Plan {
	if r.Volume != "" {
		p, _ := action.For(action.CancelVolumes, e, r)
		return []action.Plan{p}
	}
	var found, restarts []action.Plan
	for _, p := range action.Plans(e, r) {
		if p.Action == action.Restart {
			restarts = append(restarts, p)
		} else {
			found = append(found, p)
		}
	}
	if found[0].Effect() != action.Refuse {
		return found
	}
	for _, phase := range []string{velero.PhasePartiallyFailed, velero.PhaseFailed} {
		asked := r
		asked.Phase = phase
		if p, _ := action.For(action.Finalize, e, asked); p.Effect() != action.Refuse {
			found = append(found, p)
		}
	}
	return append(found, restarts...)
}

func title(p *action.Plan) string {
	switch {
	case p.Action == action.Finalize || p.Possible():
		return p.Title
	case len(p.Commands) > 0:
		return p.Title + " (veltui only shows the command)"
	}
	return p.Title + " (not possible)"
}

// change is all that a plan changes, in one line.
func change(p *action.Plan) string {
	switch {
	case p.Action != action.Finalize:
		return p.Title
	case p.Effect() == action.Refuse:
		return "nothing"
	}
	text := cmp.Or(p.From, "no phase") + " -> " + p.To
	for _, f := range p.Set {
		switch f.Name {
		case "errors":
			text += ", " + human.Count(f.Value, "error")
		case "warnings":
			text += ", " + human.Count(f.Value, "warning")
		default:
			text += fmt.Sprintf(", %s %d", f.Name, f.Value)
		}
	}
	return text
}

func refusal(p *action.Plan) string { return cmp.Or(p.Refusal, "veltui does not do this itself") }

func certainty(p *action.Plan) string {
	if p.Action != action.Finalize {
		return "veltui writes no phase: Velero does the rest."
	}
	e := p.Evidence()
	text := "Velero has not started it, and will not after this. This is your decision; the evidence does not call for it."
	switch {
	case p.Effect() == action.Nudge:
		text = "Very high: all artifacts are stored; Velero will finish it."
	case len(e.Server.Pods) == 0:
		text = "No pod was recognised as a Velero server, and nothing that works on it wrote in the last five " +
			"minutes. A server that veltui does not recognise may still return to it."
	case p.From == velero.PhaseInProgress:
		text = "High: the server that worked on it is gone."
	}
	for _, f := range p.Facts() {
		if !f.Holds {
			return text + " But see below what is unknown or contradicting."
		}
	}
	return text
}

func observing(p *action.Plan) string {
	if p.Action != action.Finalize {
		return ""
	}
	return "until it has ended, and for at least " + human.Duration(action.DefaultObserve)
}

type outcome struct {
	action.Outcome
	err     error
	applied action.Plan
}

// next is the plan that a change has left to apply in place of the other, nil for none.
func (o *outcome) next() *action.Plan {
	if o.State != action.Changed || o.Plan.Action == "" || o.Plan.Same(&o.applied) {
		return nil
	}
	return &o.Plan
}

// ending is a headline in the style of how good it is, and what a person should do next. In both,
// PHASE and names of keys in <> are replaced.
type ending struct {
	style    func(*draw.Theme) lipgloss.Style
	headline string
	remains  string
}

func good(t *draw.Theme) lipgloss.Style    { return t.Good }
func running(t *draw.Theme) lipgloss.Style { return t.Running }
func doubted(t *draw.Theme) lipgloss.Style { return t.Waiting }
func bad(t *draw.Theme) lipgloss.Style     { return t.Bad }

var endings = map[action.State]ending{
	action.Settled: {good, "Done: it is PHASE.", "Nothing."},
	action.NoEffect: {
		doubted,
		"Done, but it had no effect.",
		"Velero has not picked it up. See the server's log. Restarting the server may help (<finalize>, then " +
			"<next-option>, shows what that fails).",
	},
	action.Checked: {good, "Checked: nothing was written.", "Nothing."},
	action.Moving: {
		running,
		"Under way: it is PHASE.",
		"Check it again later: Velero has not ended it yet. If it stays so, restart the server, which then continues it.",
	},
	action.Reverted: {
		bad,
		"Reverted: it is PHASE.",
		"Leave it alone for now: a Velero server is working on it. If it stays as it is, restart the server, which " +
			"marks this job and every other job in progress Failed.",
	},
	action.Deleted: {
		bad,
		"Deleted.",
		"Find out who deleted it: a person, its expiry, or Velero's sync, which removes backups that are not in the " +
			"object store.",
	},
	action.Changed: {doubted, "It changed in the meantime: nothing was written.", "Review it again before you decide."},
	action.Refused: {bad, "Refused: nothing was written.", "See why above. Nothing has changed, so you may try again."},
	action.Altered: {
		bad,
		"In doubt: the answer is not what was requested.",
		"Look at the object itself (y on its page): a webhook or a proxy changes what is written. Find out which " +
			"before you try again.",
	},
	action.CarriedOut: {bad, "The dry run was carried out.",
		"Check the object itself. Find out which proxy drops dryRun before you change anything through it."},
	action.Misdirected: {
		bad,
		"Velero may delete another one.",
		"Check the backup that has the name now, and the request.",
	},
}

// stopped are the endings of what was not completed, by what had been sent.
var stopped = map[action.Sent]ending{
	action.Partly: {
		bad,
		"Stopped halfway: some of the patches were applied.",
		"Check its volumes: some were cancelled. <finalize> shows the rest.",
	},
	action.Landed: {
		doubted,
		"Stopped after the patch was applied.",
		"Check its phase in a minute or two: veltui did not watch it to the end.",
	},
	action.Doubtful: {
		bad,
		"Stopped, and in doubt: the patch was sent.",
		"Press <finalize> to check. If the job's annotations name the attempt that is in the log, the patch was applied.",
	},
}

// ending chooses what is said. If something was sent before a refusal or change, how far it came matters.
func (o *outcome) ending(named keys.Map) ending {
	end, ok := endings[o.State]
	if !ok || o.Sent != action.NotSent && (o.State == action.Refused || o.State == action.Changed) {
		if end, ok = stopped[o.Sent]; !ok {
			end = ending{doubted, "Stopped: nothing was written.", ""}
			if o.err != nil {
				end.remains = "<finalize> tries again; nothing is half done."
			}
		}
	}
	if o.applied.Proposed() {
		o.propose(&end)
	}
	if o.OnlyDryRun {
		end.headline = "Stopped, and in doubt: a dry run had no answer."
	}
	if o.applied.Action != action.Finalize { // Velero does the rest: no phase was written
		switch o.State {
		case action.Settled:
			end.headline = "Done."
		case action.Moving:
			end.headline = "Requested, and under way."
		case action.Reverted:
			end.headline, end.remains = "Reverted.", "Find out who changed it back: a person, or a program that manages it."
		}
	}
	end.headline = strings.ReplaceAll(end.headline, "PHASE", o.Phase)
	end.remains = strings.NewReplacer("<finalize>", named.Key("finalize"), "<next-option>", named.Key("next-option")).
		Replace(end.remains)
	return end
}

// propose words an ending of an action that is about no running job.
func (o *outcome) propose(end *ending) {
	end.headline = strings.NewReplacer("the patch", "the request", ": it is PHASE.", ".").Replace(end.headline)
	switch {
	case o.State == action.Reverted:
		end.remains = "Somebody keeps it as it was, perhaps Argo CD, Flux or Helm: change it there."
	case o.State == action.Deleted:
		end.remains = "Find out who deleted it."
	case o.State == action.NoEffect:
		end.headline, end.remains = "Requested, but not carried out.", ""
	case !strings.HasPrefix(end.headline, "Stopped"):
	case o.Sent == action.Doubtful:
		end.remains = "Look at it before you try again. Give the same name: then there is one at most."
	case o.Sent == action.NotSent && o.err != nil:
		end.remains = "Try again; nothing is half done."
	default:
		end.remains = "Look at it in a minute or two: veltui did not watch it to the end."
	}
}

func (o *outcome) lines(c draw.Canvas, named keys.Map) []string {
	end := o.ending(named)
	lines := append(c.Para(end.style(c.Theme), end.headline, 2), c.Para(c.Theme.Text, draw.Sentence(o.Message), 6)...)
	if len(o.Undo) > 0 {
		lines = append(lines, "", c.Theme.Strong.Render("To undo it, before Velero acts on it"))
		for _, command := range o.Undo {
			lines = append(lines, c.Whole("  "+command)...)
		}
	}
	if next := o.next(); next != nil {
		lines = append(lines, "")
		if next.Possible() {
			lines = append(
				lines,
				c.Labelled("Now", labelWidth, c.Theme.Strong, change(next)+" (enter looks at this new plan)", 8)...)
		} else {
			lines = append(lines, c.Labelled("Now", labelWidth, c.Theme.Text, "refused: "+refusal(next), 8)...)
			lines = append(lines, c.Labelled("Helps", labelWidth, c.Theme.Text, next.Advice, 8)...)
		}
	}
	for _, w := range o.Warnings {
		lines = append(lines, c.Para(c.Theme.Waiting, "Warning: "+w+".", 4)...)
	}
	if end.remains != "" {
		lines = append(lines, "", c.Theme.Strong.Render("What remains to be done"))
		lines = append(lines, c.Para(c.Theme.Text, end.remains, 8)...)
	}
	if o.Sent == action.Landed && o.State != action.CarriedOut {
		lines = append(lines, c.Titled("Not done", o.applied.WillNot)...)
	}
	if o.Log == "" {
		return lines
	}
	lines = append(lines, "", c.Theme.Strong.Render("On this machine"), "the log:")
	lines = append(lines, c.Whole("  "+o.Log)...)
	if o.Copy == "" {
		return lines
	}
	lines = append(lines, "the resource as it was:")
	return append(lines, c.Whole("  "+o.Copy)...)
}

func summaryLines(c draw.Canvas, jobs []*job.Job, results []string) []string {
	lines := []string{c.Theme.Strong.Render("Results for the " + human.Count(len(jobs), "marked job")), ""}
	for i, j := range jobs {
		lines = append(lines, c.Theme.Strong.Render(subject(j)))
		lines = append(lines, c.Item("   ", cmp.Or(results[i], "unchecked"), 5)...)
	}
	return lines
}
