package restoreform

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/preflight"
	"github.com/veltui/veltui/internal/restore/restorespec"
	"github.com/veltui/veltui/ui/fetch"
)

// pause is how long nothing must be typed before the preview is worked out anew.
const pause = 250 * time.Millisecond

type source struct {
	backup, schedule string
	partial          bool
}

// asked is an answer for one state of the form.
type asked[T any] struct {
	fetch.Answer[T]
	of   int // the change
	from source
}

func (f *Form) source() source {
	spec := &f.draft.Restore.Spec
	return source{
		spec.BackupName,
		spec.ScheduleName,
		f.draft.AllowPartiallyFailed != nil && *f.draft.AllowPartiallyFailed,
	}
}

func (f *Form) asker(answered func() tea.Cmd) fetch.Asker {
	return fetch.Asker{Start: f.options.Start, Clock: f.options.Clock, Answered: answered}
}

// copyDraft is the restore that the draft makes as it is now, for another goroutine.
func (f *Form) copyDraft() restorespec.Draft {
	d := restorespec.Draft{
		Restore:              *f.draft.Restore.DeepCopy(),
		AllowPartiallyFailed: f.draft.AllowPartiallyFailed,
		Only:                 f.draft.Only,
	}
	d.DropLoneExcludes(f.options.Draft.Restore.Spec)
	return d
}

// Ask asks again once the backup, or one of the schedule, has changed.
func (f *Form) Ask() tea.Cmd {
	if f.sourceState() == f.asOf {
		return nil
	}
	return f.ask()
}

// sourceState is what decides whether Velero would take a backup, and which.
func (f *Form) sourceState() string {
	if f.assessed == nil {
		return ""
	}
	var state strings.Builder
	from := f.source()
	for _, j := range f.assessed.Snapshot.Jobs {
		if j.Kind == job.Backup && (j.Name == from.backup || from.schedule != "" && j.ScheduleName == from.schedule) {
			fmt.Fprintln(&state, j.Name, j.Phase, j.Deleting, j.StorageLocation)
		}
	}
	for _, l := range f.assessed.Snapshot.Locations {
		fmt.Fprintln(&state, l.Name, l.Status.Phase)
	}
	return state.String()
}

// ask works the preview out anew after a pause. A first look into a backup or at the cluster goes on: all
// answers need it.
func (f *Form) ask() tea.Cmd {
	from := f.source()
	if f.previewed.from != from || f.read == from {
		f.previewed.Close()
	}
	if f.found.from != from {
		f.found.Close()
		f.found = asked[cluster.Check]{from: from}
	}
	f.changes++
	f.asOf, f.pending, f.checked = f.sourceState(), f.options.Inspector.Unavailable(cluster.Previews) == "", false
	f.outdate()
	return f.pause.Begin(pause, f.start)
}

func (f *Form) Close() {
	f.pause.Close()
	f.previewed.Close()
	f.found.Close()
	f.comparison.close()
}

func (f *Form) start() tea.Cmd {
	if f.options.Inspector.Unavailable(cluster.Previews) != "" || len(f.wrong()) > 0 {
		f.pending = false
		return nil
	}
	if f.previewed.Pending() {
		return nil // its answer starts this one
	}
	f.previewed.of, f.previewed.from = f.changes, f.source()
	f.previewed.Outdate()
	draft, a := f.copyDraft(), f.assessed
	return f.previewed.Ask(f.asker(f.handlePreview), 0, func(ctx context.Context) (cluster.Preview, error) {
		return f.options.Inspector.Preview(ctx, draft, a), nil
	})
}

// handlePreview shows the answer, or asks again if something was typed meanwhile.
func (f *Form) handlePreview() tea.Cmd {
	f.preview, f.read = f.previewed.Value, source{}
	if f.preview.Unknown == "" {
		f.read = f.previewed.from
	}
	switch {
	case f.previewed.of == f.changes:
		f.pending = false
		return f.look()
	case f.pause.Resting():
		return f.start()
	}
	return nil // more is being typed
}

// look asks what stands in the way. The end of a look that runs starts the next.
func (f *Form) look() tea.Cmd {
	if f.preview.Backup == "" || len(f.refused()) > 0 {
		f.found.Value, f.checked = cluster.Check{}, true // there is nothing to look at
		return nil
	}
	if f.found.Pending() {
		return nil
	}
	f.found.of = f.changes
	f.found.Outdate()
	draft, preview, a := f.copyDraft(), f.preview, f.assessed
	return f.found.Ask(f.asker(f.handleCheck), 0, func(ctx context.Context) (cluster.Check, error) {
		return f.options.Inspector.Check(ctx, draft, preview, a), nil
	})
}

// handleCheck shows what a look found, or looks again if something was typed meanwhile.
func (f *Form) handleCheck() tea.Cmd {
	f.checked = f.found.of == f.changes
	if f.checked || f.pending || len(f.wrong()) > 0 {
		return nil
	}
	return f.look()
}

// comparison is a closer check: of what exists with the backup, or a dry run.
type comparison struct {
	fetch.Answer[cluster.Check]
	progress *fetch.Progress[string]
	// draft and asOf are what it is about: the draft, and the state of its backup.
	draft    restorespec.Draft
	asOf     string
	outdated bool // true once another restore is in the form
	dryRun   bool
}

// is names it.
func (c *comparison) is() string {
	if c.dryRun {
		return "dry run"
	}
	return "comparison"
}

// not begins the sentence that says why there is none.
func (c *comparison) not() string {
	if c.dryRun {
		return "No dry run: "
	}
	return "Not compared: "
}

func (c *comparison) close() {
	if c != nil {
		c.Close()
		c.progress.Close()
	}
}

func (f *Form) compares() bool { return f.comparison != nil && f.comparison.Pending() }

// checkShown is what was found, compared if that was done of this restore.
func (f *Form) checkShown() *cluster.Check {
	if c := f.comparison; c != nil && c.Known && !c.outdated {
		return &c.Value
	}
	return &f.found.Value
}

// canCompare says whether there is something to compare, as far as that is known.
func (f *Form) canCompare() bool {
	return f.options.Inspector.Unavailable(cluster.Previews) == "" &&
		(f.preview.Unknown != "" || f.found.Value.Existing > 0)
}

func (f *Form) compareUnavailable() string {
	return cmp.Or(f.preview.Unknown, f.found.Value.WhyNotCompare)
}

// compare holds what exists against the backup, which it downloads once more.
func (f *Form) compare() tea.Cmd {
	return f.lookCloser(
		&comparison{},
		func(ctx context.Context, c *comparison, preview cluster.Preview, a *assess.Assessment) (cluster.Check, error) {
			return f.options.Inspector.Compare(ctx, c.draft, preview, a, c.progress.Report)
		},
	)
}

// dryRun asks the API server about each object.
func (f *Form) dryRun(secrets bool) tea.Cmd {
	return f.lookCloser(
		&comparison{dryRun: true},
		func(ctx context.Context, c *comparison, preview cluster.Preview, a *assess.Assessment) (cluster.Check, error) {
			return f.options.Inspector.DryRun(ctx, c.draft, preview, a, secrets, c.progress.Report)
		},
	)
}

// canDryRun says whether the API server can be asked, as far as that is known.
func (f *Form) canDryRun() bool {
	return f.options.Inspector.Unavailable(cluster.Previews) == "" && f.previewed.Known && f.compareUnavailable() == ""
}

// leftSecrets says whether the last dry run left Secrets out.
func (f *Form) leftSecrets() bool {
	d := f.checkShown().DryRun
	return d != nil && f.canDryRun() &&
		slices.ContainsFunc(d.CannotTell, func(u preflight.Untold) bool { return u.Resource == "secrets" })
}

// lookCloser runs a closer check of the form's restore.
func (f *Form) lookCloser(
	c *comparison,
	ask func(context.Context, *comparison, cluster.Preview, *assess.Assessment) (cluster.Check, error),
) tea.Cmd {
	err := f.ready()
	switch {
	case f.compares():
		return nil
	case err != nil:
		return f.say(true, c.not()+err.Error()+".")
	case c.dryRun && f.carriedOut != "":
		return f.say(true, c.not()+f.carriedOut)
	case f.pending || !f.checked:
		return f.say(true, c.not()+"veltui is still looking at the cluster. Try again in a moment.")
	}
	c.progress, c.draft, c.asOf = fetch.NewProgress[string](), f.copyDraft(), f.asOf
	f.comparison = c
	preview, a := f.preview, f.assessed
	return tea.Batch(
		c.Ask(
			f.asker(f.handleComparison),
			0,
			func(ctx context.Context) (cluster.Check, error) { return ask(ctx, c, preview, a) },
		),
		c.progress.Follow(f.asker(nil), pause, func(string) bool { return true }),
	)
}

func (f *Form) handleComparison() tea.Cmd {
	c := f.comparison
	c.close()
	if c.Err != nil {
		f.comparison = nil
		return f.say(true, c.not()+c.Err.Error()+".")
	}
	f.top = 0
	if d := c.Value.DryRun; d != nil {
		if len(d.CarriedOut) > 0 {
			f.carriedOut = d.CarriedOut[0].Sentence() + " " + d.CarriedOut[0].Remedy()
			return f.say(true, f.carriedOut)
		}
		return f.say(d.Unproven() > 0, d.Summary()+".")
	}
	return f.say(false, "Compared what exists with the backup.")
}

// outdate ends and marks a comparison of another restore than the form's. The name does not matter.
func (f *Form) outdate() {
	c := f.comparison
	if c == nil || c.outdated ||
		c.asOf == f.asOf && reflect.DeepEqual(c.draft.Restore.Spec, f.copyDraft().Restore.Spec) &&
			reflect.DeepEqual(c.draft.AllowPartiallyFailed, f.draft.AllowPartiallyFailed) {
		return
	}
	c.close()
	c.outdated = true
}

// comparingSays is how far a comparison is, in a few words, then in fewer.
func (f *Form) comparingSays() []string {
	words := []string{"comparing " + human.Count(f.found.Value.Existing, "object"), "comparing"}
	if f.comparison.dryRun {
		words = []string{"dry run"}
	}
	if far := f.comparison.progress.Last(); far != nil {
		return append([]string{words[0] + ": " + *far}, words...)
	}
	return words
}
