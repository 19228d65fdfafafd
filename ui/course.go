package ui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/forecast"
)

// Rates remembers how fast restores of the cluster went. Its methods may take
// as long as a disk.
type Rates interface {
	// Known is what earlier restores told.
	Known() forecast.Rates
	// Learn adds what one told that has been watched.
	Learn(told forecast.Rates)
}

// courseOf follows the restore that an answer is about; nil where there is
// nothing to foresee.
func courseOf(a *answer) *forecast.Restore {
	if a.err != nil {
		return nil
	}
	steps := make([]forecast.Step, len(a.estimate.Steps))
	for i, s := range a.estimate.Steps {
		steps[i] = forecast.Step(s)
	}
	return forecast.Follow(steps, a.known)
}

// learn takes what restores tell whose items are done.
func (e *estimates) learn(dg *digest) {
	if e.rates == nil {
		return
	}
	for uid, q := range e.questions {
		if q.course == nil {
			continue
		}
		if j := dg.find(uid); j != nil {
			if told, ok := q.course.Told(j); ok {
				e.told = append(e.told, told)
			}
		}
	}
}

// remember makes the command that writes down what was learned.
func (e *estimates) remember() tea.Cmd {
	if len(e.told) == 0 {
		return nil
	}
	rates, told := e.rates, e.told
	e.told = nil
	return guarded(func() tea.Msg {
		for _, r := range told {
			rates.Learn(r)
		}
		return nil
	})
}
