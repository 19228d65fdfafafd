package remedy

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/view"
)

func TestChange(t *testing.T) {
	for want, p := range map[string]action.Plan{
		"InProgress -> Failed, 2 errors, 1 warning, volumes 3": {
			Action: action.Finalize, FromPhase: "InProgress", ToPhase: "Failed",
			StatusFields: []action.StatusField{{Name: "errors", Value: 2}, {Name: "warnings", Value: 1}, {Name: "volumes", Value: 3}},
		},
		"no phase -> Failed": {Action: action.Finalize, ToPhase: "Failed"},
		"nothing":            {Action: action.Finalize, FromPhase: "InProgress", ToPhase: "Failed", Refusal: "it moves"},
		"wake it":            {Action: action.Wake, Title: "wake it"},
	} {
		if got := ChangeSummary(&p); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTitlesSayWhatVeltuiDoesNotDo(t *testing.T) {
	for want, p := range map[string]action.Plan{
		"finalize it": {Action: action.Finalize, Title: "finalize it", Refusal: "it moves"},
		"restart (veltui only shows the command)": {
			Action: action.Restart, Title: "restart", Commands: []string{"kubectl"},
		},
		"wake it (not possible)": {Action: action.Wake, Title: "wake it", Refusal: "it moves"},
	} {
		if got := PlanTitle(&p); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := RefusalReason(&action.Plan{}); got != "veltui does not do this itself" {
		t.Error(got)
	}
}

func TestCommandHasOnlyTheFlagsOfItsAction(t *testing.T) {
	for name, want := range map[action.Kind]string{
		action.Finalize: "veltui finalize restore/shop", action.Wake: "veltui finalize restore/shop --wake",
	} {
		got := FinalizeCommand(&action.Plan{Action: name, Kind: job.Restore, Name: "shop"})
		if !strings.HasPrefix(got, want) || strings.Contains(got, "''") {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestOthers(t *testing.T) {
	plans := []action.Plan{{Action: action.Finalize}, {Action: action.Wake}, {Action: action.Restart}}
	var names []string
	for i, p := range OtherPlans(plans, action.Finalize) {
		names = append(names, OptionTitle(i)+" "+string(p.Action))
	}
	if want := []string{"option wake", "another option restart"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}

func TestEveryStepIsWorded(t *testing.T) {
	for _, step := range Steps {
		if step.Task == "" || StepInProgressText(step.Name) != step.TaskInProgress || step.TaskInProgress == "" {
			t.Errorf("%s: %q, %q", step.Name, step.Task, step.TaskInProgress)
		}
	}
	if slices.Equal(GatheredEvidence(true), GatheredEvidence(false)) {
		t.Error("a proposal is about no job")
	}
}

// Nobody is told that nothing was written where something was, or may have been.
func TestEndingNeverCallsSomethingNothing(t *testing.T) {
	for _, state := range []action.OutcomeState{action.StateRefused, action.StateChanged, action.StateUnfinished} {
		for _, sent := range []action.SentState{action.PartlyLanded, action.Doubtful, action.NotSent} {
			o := action.Outcome{State: state, Sent: sent, Message: "the API server refused it"}
			end := NewEnding(&action.Plan{}, &o, nil)
			text := strings.ToLower(end.Headline.Text + " " + end.NextStep)
			denied := strings.Contains(text, "nothing was written") || strings.Contains(text, "nothing has changed")
			if denied != (sent == action.NotSent) {
				t.Errorf("%s, %s: %s", state, sent, text)
			}
		}
	}
}

// What is said of a proposal does not send a person to finalize or to restart the server.
func TestEndingsOfProposals(t *testing.T) {
	for _, state := range []action.OutcomeState{
		action.StateSettled, action.StateNoEffect, action.StatePending, action.StateReverted, action.StateDeleted, action.StateChanged,
		action.StateRefused, action.StateAltered, action.StateUnfinished, action.StateCarriedOut, action.StateMisdirected,
	} {
		for _, sent := range []action.SentState{action.NotSent, action.Landed, action.Doubtful} {
			o, err := action.Outcome{State: state, Sent: sent, Phase: "PHASE"}, errors.New("timed out")
			end := NewEnding(&action.Plan{}, &o, err)
			end.adaptToProposal(&o, err)
			text := end.Headline.Text + " " + end.NextStep
			for _, wrong := range []string{"job", "finalize", "estart", "patch", "PHASE", "sync", ": it is"} {
				if strings.Contains(text, wrong) && (state != action.StatePending || wrong != "estart") {
					t.Errorf("%s, %s: %q has %q", state, sent, text, wrong)
				}
			}
		}
	}
}

// A schedule has no phase that tells of its pause: the ending does not name one.
func TestRevertedPauseNamesNoPhase(t *testing.T) {
	o := action.Outcome{State: action.StateReverted, Sent: action.Landed, Phase: "Enabled"}
	end := NewEnding(&action.Plan{Action: action.Pause}, &o, nil)
	if end.Headline.Text != "Reverted." || end.Headline.Tone != view.Bad || strings.Contains(end.NextStep, "server") {
		t.Errorf("%+v", end)
	}
}
