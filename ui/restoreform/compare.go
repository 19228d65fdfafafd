package restoreform

import (
	"context"
	"reflect"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/inspect"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/restore/restorespec"
)

// comparison is one of what exists with the backup.
type comparison struct {
	// of and asOf are what it is about: the draft, and the state of its backup.
	of   restorespec.Draft
	asOf string
	// far is how far it is, until it has ended.
	far   atomic.Pointer[string]
	ended bool
	check inspect.Check
	// outdated is true once another restore is in the form.
	outdated bool
}

// compared brings what a comparison found.
type compared struct {
	by    *comparison
	check inspect.Check
	err   error
}

// comparing tells to look how far a comparison is.
type comparing struct{ by *comparison }

// compares reports whether a comparison runs.
func (f *Form) compares() bool {
	return f.comparison != nil && !f.comparison.ended && !f.comparison.outdated
}

// hasCompared reports whether what was found of this restore is compared.
func (f *Form) hasCompared() bool {
	return f.comparison != nil && f.comparison.ended && !f.comparison.outdated
}

// checkShown is what was found, compared if it was.
func (f *Form) checkShown() *inspect.Check {
	if f.hasCompared() {
		return &f.comparison.check
	}
	return &f.found
}

// canCompare says whether there is something to compare, as far as that is known.
func (f *Form) canCompare() bool {
	return f.options.Previewer != nil && (f.preview.Unknown != "" || f.found.Existing > 0)
}

func (f *Form) whyNotCompare() string {
	if f.preview.Unknown != "" {
		return f.preview.Unknown
	}
	return f.found.WhyNotCompare
}

// compareSays is what the key does now.
func (f *Form) compareSays() string {
	if f.comparison != nil && (f.comparison.ended || f.comparison.outdated) {
		return "compare again"
	}
	return "compare"
}

// compare holds what exists against the backup, which it downloads once more.
func (f *Form) compare() tea.Cmd {
	f.leaving = false
	_, err := f.ready(func() (string, error) { return "", nil })
	switch {
	case f.compares():
		return nil
	case err != nil:
		f.say(true, "Not compared: "+err.Error()+".")
		return nil
	case f.pending || !f.checked:
		f.say(true, "Not compared: veltui is still looking at the cluster. Try again in a moment.")
		return nil
	}
	by := &comparison{of: restorespec.Draft{Restore: *f.draft.Restore.DeepCopy(), AllowPartiallyFailed: f.draft.AllowPartiallyFailed}, asOf: f.asOf}
	preview, a := f.preview, f.assessed
	f.comparison = by
	cmd, cancel := f.options.Start(func(ctx context.Context) tea.Msg {
		check, err := f.options.Previewer.Compare(ctx, by.of, preview, a, func(far string) { by.far.Store(&far) })
		return compared{by, check, err}
	})
	f.cancelCompare = cancel
	return tea.Batch(cmd, by.follow())
}

// follow draws how far it is, now and then.
func (by *comparison) follow() tea.Cmd {
	return tea.Tick(pause, func(time.Time) tea.Msg { return comparing{by} })
}

// takeCompared takes what a comparison found.
func (f *Form) takeCompared(msg compared) {
	f.stop(&f.cancelCompare)
	if msg.err != nil {
		f.comparison = nil
		f.say(true, "Not compared: "+msg.err.Error()+".")
		return
	}
	f.comparison.ended, f.comparison.check, f.top = true, msg.check, 0
	f.say(false, "Compared what exists with the backup.")
}

// outdate ends and marks a comparison of another restore than the one in the form. The
// name changes nothing.
func (f *Form) outdate() {
	by := f.comparison
	if by == nil || by.outdated || by.asOf == f.asOf && reflect.DeepEqual(by.of.Restore.Spec, f.draft.Restore.Spec) &&
		reflect.DeepEqual(by.of.AllowPartiallyFailed, f.draft.AllowPartiallyFailed) {
		return
	}
	f.stop(&f.cancelCompare)
	by.outdated = true
}

// comparingSays is how far a comparison is, in a few words, then in fewer.
func (f *Form) comparingSays() []string {
	words := "comparing " + human.Count(f.found.Existing, "object")
	if far := f.comparison.far.Load(); far != nil {
		return []string{words + ": " + *far, words, "comparing"}
	}
	return []string{words, "comparing"}
}
