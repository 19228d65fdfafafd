package restoreform

import (
	"context"
	"reflect"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/inspect"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/restore/restorespec"
	"github.com/veltui/veltui/ui/fetch"
)

// comparison is one of what exists with the backup.
type comparison struct {
	fetch.Answer[inspect.Check]
	progress *fetch.Progress[string]
	// draft and asOf are what it is about: the draft, and the state of its backup.
	draft restorespec.Draft
	asOf  string
	// outdated is true once another restore is in the form.
	outdated bool
}

// close withdraws the comparison.
func (c *comparison) close() {
	if c != nil {
		c.Close()
		c.progress.Close()
	}
}

// compares reports whether a comparison runs.
func (f *Form) compares() bool { return f.comparison != nil && f.comparison.Pending() }

// checkShown is what was found, compared if that was done of this restore.
func (f *Form) checkShown() *inspect.Check {
	if c := f.comparison; c != nil && c.Known && !c.outdated {
		return &c.Value
	}
	return &f.found.Value
}

// canCompare says whether there is something to compare, as far as that is known.
func (f *Form) canCompare() bool {
	return f.options.Previewer != nil && (f.preview.Unknown != "" || f.found.Value.Existing > 0)
}

// compareUnavailable says why nothing can be compared.
func (f *Form) compareUnavailable() string {
	if f.preview.Unknown != "" {
		return f.preview.Unknown
	}
	return f.found.Value.WhyNotCompare
}

// compareSays is what the key does now.
func (f *Form) compareSays() string {
	if f.comparison != nil && !f.compares() {
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
	c := &comparison{progress: fetch.NewProgress[string](), draft: f.copyDraft(), asOf: f.asOf}
	f.comparison = c
	preview, a := f.preview, f.assessed
	return tea.Batch(
		c.Ask(f.asker(f.handleComparison), 0, func(ctx context.Context) (inspect.Check, error) {
			return f.options.Previewer.Compare(ctx, c.draft, preview, a, c.progress.Report)
		}),
		c.progress.Follow(f.asker(nil), pause, func(string) bool { return true }))
}

// handleComparison shows what a comparison found.
func (f *Form) handleComparison() tea.Cmd {
	c := f.comparison
	c.close()
	if c.Err != nil {
		f.comparison = nil
		f.say(true, "Not compared: "+c.Err.Error()+".")
		return nil
	}
	f.top = 0
	f.say(false, "Compared what exists with the backup.")
	return nil
}

// outdate ends and marks a comparison of another restore than the one in the form. The
// name changes nothing.
func (f *Form) outdate() {
	c := f.comparison
	if c == nil || c.outdated || c.asOf == f.asOf && reflect.DeepEqual(c.draft.Restore.Spec, f.draft.Restore.Spec) &&
		reflect.DeepEqual(c.draft.AllowPartiallyFailed, f.draft.AllowPartiallyFailed) {
		return
	}
	c.close()
	c.outdated = true
}

// comparingSays is how far a comparison is, in a few words, then in fewer.
func (f *Form) comparingSays() []string {
	words := "comparing " + human.Count(f.found.Value.Existing, "object")
	if far := f.comparison.progress.Last(); far != nil {
		return []string{words + ": " + *far, words, "comparing"}
	}
	return []string{words, "comparing"}
}
