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
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/ui/fetch"
)

// previewDelay is how long no key must be typed before the preview is updated.
const previewDelay = 250 * time.Millisecond

type previewSource struct {
	backup, schedule string
	partial          bool
}

// formAnswer is an answer for one state of the form.
type formAnswer[T any] struct {
	fetch.Answer[T]
	changeNumber int // the number of the change that the request was for
	source       previewSource
}

func (f *Form) currentPreviewSource() previewSource {
	spec := &f.draft.Restore.Spec
	return previewSource{
		spec.BackupName,
		spec.ScheduleName,
		f.draft.AllowPartiallyFailed != nil && *f.draft.AllowPartiallyFailed,
	}
}

func (f *Form) newRequester(answered func() tea.Cmd) fetch.Requester {
	return fetch.Requester{Start: f.options.Start, Clock: f.options.Clock, OnAnswer: answered}
}

// copyDraft returns a copy of the restore in its present state, for another goroutine.
func (f *Form) copyDraft() restorespec.Draft {
	d := restorespec.Draft{
		Restore:              *f.draft.Restore.DeepCopy(),
		AllowPartiallyFailed: f.draft.AllowPartiallyFailed,
		Selected:             f.draft.Selected,
	}
	d.DropLoneExcludes(f.options.Draft.Restore.Spec)
	return d
}

// FetchMissing updates the preview once the backup, or a backup of the schedule, has changed.
func (f *Form) FetchMissing() tea.Cmd {
	if f.sourceState() == f.lastSourceState {
		return nil
	}
	return f.schedulePreview()
}

// sourceState returns a text of everything that decides whether Velero would use a backup, and which.
func (f *Form) sourceState() string {
	if f.assessment == nil {
		return ""
	}
	var state strings.Builder
	from := f.currentPreviewSource()
	for _, j := range f.assessment.Snapshot.Jobs {
		if j.Kind == job.Backup && (j.Name == from.backup || from.schedule != "" && j.ScheduleName == from.schedule) {
			fmt.Fprintln(&state, j.Name, j.Phase, j.Deleting, j.StorageLocation)
		}
	}
	for _, l := range f.assessment.Snapshot.StorageLocations {
		fmt.Fprintln(&state, l.Name, l.Status.Phase)
	}
	return state.String()
}

// schedulePreview updates the preview after a pause. The first read of a backup or check of the cluster continues,
// because all answers need it.
func (f *Form) schedulePreview() tea.Cmd {
	from := f.currentPreviewSource()
	if f.previewAnswer.source != from || f.previewedSource == from {
		f.previewAnswer.Close()
	}
	if f.checkAnswer.source != from {
		f.checkAnswer.Close()
		f.checkAnswer = formAnswer[cluster.CheckResult]{source: from}
	}
	f.changeNumber++
	f.lastSourceState, f.isPreviewPending, f.isChecked = f.sourceState(), f.options.Backend.UnavailableReason(
		cluster.CapabilityPreviews,
	) == "", false
	f.invalidateCloserCheck()
	return f.debounce.ScheduleCall(previewDelay, f.fetchPreview)
}

func (f *Form) Close() {
	f.debounce.Close()
	f.previewAnswer.Close()
	f.checkAnswer.Close()
	f.closerCheck.cancelCheck()
}

func (f *Form) fetchPreview() tea.Cmd {
	if f.options.Backend.UnavailableReason(cluster.CapabilityPreviews) != "" || len(f.invalidRowNames()) > 0 {
		f.isPreviewPending = false
		return nil
	}
	if f.previewAnswer.IsPending() {
		return nil // its answer starts the next one
	}
	f.previewAnswer.changeNumber, f.previewAnswer.source = f.changeNumber, f.currentPreviewSource()
	f.previewAnswer.Invalidate()
	draft, a := f.copyDraft(), f.assessment
	return f.previewAnswer.FetchIfDue(
		f.newRequester(f.handlePreview),
		0,
		func(ctx context.Context) (cluster.Preview, error) {
			return f.options.Backend.PreviewRestore(ctx, draft, a), nil
		},
	)
}

// handlePreview shows the preview, or requests another if something was typed meanwhile.
func (f *Form) handlePreview() tea.Cmd {
	f.preview, f.previewedSource = f.previewAnswer.Value, previewSource{}
	if why := f.preview.ItemsUnchecked; why != "" {
		f.estimate = view.NewUnknownEstimate(why)
	} else {
		f.estimate = view.NewEstimate(&f.preview.Estimate, f.preview.Duration, false)
		f.previewedSource = f.previewAnswer.source
	}
	switch {
	case f.previewAnswer.changeNumber == f.changeNumber:
		f.isPreviewPending = false
		return f.fetchCheck()
	case f.debounce.IsIdle():
		return f.fetchPreview()
	}
	return nil // the user is still typing
}

// fetchCheck checks for obstacles. The end of a running check starts the next one.
func (f *Form) fetchCheck() tea.Cmd {
	if f.preview.Backup == "" || len(f.refusalReasons()) > 0 {
		f.checkAnswer.Value, f.isChecked = cluster.CheckResult{}, true // there is nothing to check
		return nil
	}
	if f.checkAnswer.IsPending() {
		return nil
	}
	f.checkAnswer.changeNumber = f.changeNumber
	f.checkAnswer.Invalidate()
	draft, preview, a := f.copyDraft(), f.preview, f.assessment
	return f.checkAnswer.FetchIfDue(
		f.newRequester(f.handleCheck),
		0,
		func(ctx context.Context) (cluster.CheckResult, error) {
			return f.options.Backend.CheckRestore(ctx, draft, preview, a), nil
		},
	)
}

// handleCheck shows the result of a check, or checks again if something was typed meanwhile.
func (f *Form) handleCheck() tea.Cmd {
	f.isChecked = f.checkAnswer.changeNumber == f.changeNumber
	if f.isChecked || f.isPreviewPending || len(f.invalidRowNames()) > 0 {
		return nil
	}
	return f.fetchCheck()
}

// closerCheck is a closer check: a comparison of what exists with the backup, or a dry run.
type closerCheck struct {
	fetch.Answer[cluster.CheckResult]
	progress *fetch.Progress[string]
	// draft and sourceState are what the check is about: the draft, and the state of its backup.
	draft       restorespec.Draft
	sourceState string
	isOutdated  bool // true once the form has another restore
	isDryRun    bool
}

// noun returns the name of the check, for sentences.
func (c *closerCheck) noun() string {
	if c.isDryRun {
		return "dry run"
	}
	return "comparison"
}

// unavailablePrefix returns the beginning of the sentence why there is no such check.
func (c *closerCheck) unavailablePrefix() string {
	if c.isDryRun {
		return "No dry run: "
	}
	return "Not compared: "
}

func (c *closerCheck) cancelCheck() {
	if c != nil {
		c.Close()
		c.progress.Close()
	}
}

func (f *Form) isComparing() bool { return f.closerCheck != nil && f.closerCheck.IsPending() }

// shownCheck returns the result of the closer check of this restore, or else of the simple check.
func (f *Form) shownCheck() *cluster.CheckResult {
	if c := f.closerCheck; c != nil && c.HasValue && !c.isOutdated {
		return &c.Value
	}
	return &f.checkAnswer.Value
}

// canCompare reports whether there is something to compare, as far as is known.
func (f *Form) canCompare() bool {
	return f.options.Backend.UnavailableReason(cluster.CapabilityPreviews) == "" &&
		(f.preview.ItemsUnchecked != "" || f.checkAnswer.Value.ComparableObjects > 0)
}

func (f *Form) compareUnavailable() string {
	return cmp.Or(f.preview.ItemsUnchecked, f.checkAnswer.Value.CompareUnavailable)
}

// startComparison compares what exists with the backup, which it downloads once more.
func (f *Form) startComparison() tea.Cmd {
	return f.startCloserCheck(
		&closerCheck{},
		func(
			ctx context.Context,
			c *closerCheck,
			preview cluster.Preview,
			a *assess.Assessment,
		) (cluster.CheckResult, error) {
			return f.options.Backend.CompareRestore(ctx, c.draft, preview, a, c.progress.ReportProgress)
		},
	)
}

// startDryRun sends each object to the API server for a dry run.
func (f *Form) startDryRun(secrets bool) tea.Cmd {
	return f.startCloserCheck(
		&closerCheck{isDryRun: true},
		func(
			ctx context.Context,
			c *closerCheck,
			preview cluster.Preview,
			a *assess.Assessment,
		) (cluster.CheckResult, error) {
			return f.options.Backend.DryRunRestore(ctx, c.draft, preview, a, secrets, c.progress.ReportProgress)
		},
	)
}

// canDryRun reports whether a dry run is possible, as far as is known.
func (f *Form) canDryRun() bool {
	return f.options.Backend.UnavailableReason(cluster.CapabilityPreviews) == "" && f.previewAnswer.HasValue &&
		f.compareUnavailable() == ""
}

// hasSkippedSecrets reports whether the last dry run left out Secrets.
func (f *Form) hasSkippedSecrets() bool {
	d := f.shownCheck().DryRun
	return d != nil && f.canDryRun() &&
		slices.ContainsFunc(d.CannotTell, func(u preflight.ItemGroup) bool { return u.Resource == "secrets" })
}

// startCloserCheck runs a closer check of the form's restore.
func (f *Form) startCloserCheck(
	c *closerCheck,
	ask func(context.Context, *closerCheck, cluster.Preview, *assess.Assessment) (cluster.CheckResult, error),
) tea.Cmd {
	err := f.checkReady()
	switch {
	case f.isComparing():
		return nil
	case err != nil:
		return f.showMessage(true, c.unavailablePrefix()+err.Error()+".")
	case c.isDryRun && f.carriedOutText != "":
		return f.showMessage(true, c.unavailablePrefix()+f.carriedOutText)
	case f.isPreviewPending || !f.isChecked:
		return f.showMessage(true, c.unavailablePrefix()+"veltui is still looking at the cluster. Try again in a moment.")
	}
	c.progress, c.draft, c.sourceState = fetch.NewProgress[string](), f.copyDraft(), f.lastSourceState
	f.closerCheck = c
	preview, a := f.preview, f.assessment
	return tea.Batch(
		c.FetchIfDue(
			f.newRequester(f.handleCloserCheck),
			0,
			func(ctx context.Context) (cluster.CheckResult, error) { return ask(ctx, c, preview, a) },
		),
		c.progress.FollowReports(f.newRequester(nil), previewDelay, func(string) bool { return true }),
	)
}

func (f *Form) handleCloserCheck() tea.Cmd {
	c := f.closerCheck
	c.cancelCheck()
	if c.Err != nil {
		f.closerCheck = nil
		return f.showMessage(true, c.unavailablePrefix()+c.Err.Error()+".")
	}
	f.scrollTop = 0
	if d := c.Value.DryRun; d != nil {
		if len(d.StoredObjects) > 0 {
			f.carriedOutText = d.StoredObjects[0].Sentence() + " " + d.StoredObjects[0].Remedy()
			return f.showMessage(true, f.carriedOutText)
		}
		return f.showMessage(d.CountUnproven() > 0, d.Summary()+".")
	}
	return f.showMessage(false, "Compared what exists with the backup.")
}

// invalidateCloserCheck cancels a closer check of another restore than the form's, and marks it as outdated. The name
// of the restore does not matter.
func (f *Form) invalidateCloserCheck() {
	c := f.closerCheck
	if c == nil || c.isOutdated ||
		c.sourceState == f.lastSourceState && reflect.DeepEqual(c.draft.Restore.Spec, f.copyDraft().Restore.Spec) &&
			reflect.DeepEqual(c.draft.AllowPartiallyFailed, f.draft.AllowPartiallyFailed) {
		return
	}
	c.cancelCheck()
	c.isOutdated = true
}

// progressTexts returns the progress of a closer check, in ever fewer words.
func (f *Form) progressTexts() []string {
	words := []string{"comparing " + human.Count(f.checkAnswer.Value.ComparableObjects, "object"), "comparing"}
	if f.closerCheck.isDryRun {
		words = []string{"dry run"}
	}
	if far := f.closerCheck.progress.LastReport(); far != nil {
		return append([]string{words[0] + ": " + *far}, words...)
	}
	return words
}
