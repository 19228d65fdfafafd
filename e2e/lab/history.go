package lab

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// History is what was recorded of one Backup or Restore, oldest first.
type History []Event

// Progress is what Velero wrote into status.progress.
type Progress struct{ Done, Total int }

// State is what one event said of a job.
type State struct {
	Phase string
	// Progress is nil while Velero has written none.
	Progress *Progress
}

// stateOf reads a job's state. A number that is not there is 0: Velero leaves
// zeros out.
func stateOf(object *unstructured.Unstructured) State {
	s := State{Phase: statusText(object, "phase")}
	progress, found, err := unstructured.NestedMap(object.Object, "status", "progress")
	if err != nil || !found {
		return s
	}
	done := "itemsRestored"
	if object.GetKind() == "Backup" {
		done = "itemsBackedUp"
	}
	s.Progress = &Progress{Done: intField(progress, done), Total: intField(progress, "totalItems")}
	return s
}

func statusText(object *unstructured.Unstructured, field string) string {
	value, _, _ := unstructured.NestedString(object.Object, "status", field)
	return value
}

func intField(from map[string]any, field string) int {
	switch n := from[field].(type) {
	case int64:
		return int(n)
	case float64:
		return int(n)
	}
	return 0
}

// LastEvent is the newest event. It panics on an empty history.
func (h History) LastEvent() Event { return h[len(h)-1] }

// LastState is what the newest event said; zero for an empty history.
func (h History) LastState() State {
	if len(h) == 0 {
		return State{}
	}
	return stateOf(h.LastEvent().Object)
}

// StatusNumber is a number of the newest status, such as errors.
func (h History) StatusNumber(field string) int {
	status, _, _ := unstructured.NestedMap(h.LastEvent().Object.Object, "status")
	return intField(status, field)
}

// StatusText is a word of the newest status, such as failureReason.
func (h History) StatusText(field string) string { return statusText(h.LastEvent().Object, field) }

// DistinctStates are the states as they changed, without repeats.
func (h History) DistinctStates() []State {
	var states []State
	for _, e := range h {
		s := stateOf(e.Object)
		if len(states) > 0 && states[len(states)-1].Equal(s) {
			continue
		}
		states = append(states, s)
	}
	return states
}

// Equal reports whether two states say the same.
func (s State) Equal(o State) bool {
	if s.Phase != o.Phase || (s.Progress == nil) != (o.Progress == nil) {
		return false
	}
	return s.Progress == nil || *s.Progress == *o.Progress
}

func (s State) String() string {
	if s.Progress == nil {
		return s.Phase
	}
	return fmt.Sprintf("%s %d/%d", s.Phase, s.Progress.Done, s.Progress.Total)
}

// DescribeStates puts states into one line.
func DescribeStates(states []State) string {
	words := make([]string, len(states))
	for i, s := range states {
		words[i] = s.String()
	}
	return strings.Join(words, " > ")
}

// Phases are the phases as they changed. A job without one yet is "".
func (h History) Phases() []string {
	phases := make([]string, 0, 8)
	for _, s := range h.DistinctStates() {
		phases = append(phases, s.Phase)
	}
	return slices.Compact(phases)
}

// ItemTotals are the totals that Velero showed, as they changed.
func (h History) ItemTotals() []int {
	var totals []int
	for _, s := range h.DistinctStates() {
		if s.Progress != nil {
			totals = append(totals, s.Progress.Total)
		}
	}
	return slices.Compact(totals)
}

// Summary is one line about the newest state.
func (h History) Summary() string {
	if len(h) == 0 {
		return "unknown"
	}
	s := h.LastState()
	progress := "no progress"
	if s.Progress != nil {
		progress = fmt.Sprintf("%d/%d", s.Progress.Done, s.Progress.Total)
	}
	return fmt.Sprintf(
		"%s, %s, %d warnings, %d errors",
		strings.Join(h.Phases(), " > "),
		progress,
		h.StatusNumber("warnings"),
		h.StatusNumber("errors"),
	)
}

// terminalPhases are the phases that Velero itself never leaves but to delete.
var terminalPhases = []string{"Completed", "PartiallyFailed", "Failed", "FailedValidation"}

// HasEnded reports whether the job has come to its end.
func HasEnded(h History) bool { return slices.Contains(terminalPhases, h.LastState().Phase) }

// InPhase reports whether the job is in a phase.
func InPhase(phase string) func(History) bool {
	return func(h History) bool { return h.LastState().Phase == phase }
}

// FirstInPhase is when the job was first seen in a phase; zero if it never was.
func (h History) FirstInPhase(phase string) time.Time {
	for _, e := range h {
		if stateOf(e.Object).Phase == phase {
			return e.At
		}
	}
	return time.Time{}
}

// IsDeleted reports whether the job is gone.
func IsDeleted(h History) bool { return len(h) > 0 && h.LastEvent().Type == watch.Deleted }
