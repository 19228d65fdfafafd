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

// formState is a state of the form: the key of the answers about it.
type formState struct {
	source       previewSource
	changeNumber int
}

// wordedPreview is a preview with its estimate in words.
type wordedPreview struct {
	cluster.Preview
	estimate view.Estimate
}

func newWordedPreview(p cluster.Preview) wordedPreview {
	if why := p.ItemsUnchecked; why != "" {
		return wordedPreview{p, view.NewUnknownEstimate(why)}
	}
	return wordedPreview{p, view.NewEstimate(&p.Estimate, p.Duration, false)}
}

func (f *Form) currentState() formState { return formState{f.currentPreviewSource(), f.changeNumber} }

// currentPreview returns the last preview received.
func (f *Form) currentPreview() *cluster.Preview { return &f.previewAnswer.Value.Preview }

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

// FetchMissing updates the preview once the backup, or a backup of the schedule, has changed. It checks a restore that
// is no longer refused.
func (f *Form) FetchMissing() tea.Cmd {
	switch {
	case f.sourceState() != f.lastSourceState:
		return f.schedulePreview()
	case f.previewAnswer.IsFor(f.currentState()) && !f.isChecked() && len(f.invalidRowNames()) == 0:
		return f.fetchCheck()
	}
	return nil
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
	if pending, ok := f.previewAnswer.PendingKey().(formState); ok &&
		(pending.source != from || f.hasReadItems(from)) {
		f.previewAnswer.Close()
	}
	if f.checkedSource != from {
		f.checkedSource = from
		f.checkAnswer.Close()
		f.checkAnswer = fetch.Answer[cluster.CheckResult]{}
	}
	f.changeNumber++
	f.lastSourceState = f.sourceState()
	f.invalidateCloserCheck()
	return f.debounce.ScheduleCall(previewDelay, f.fetchPreview)
}

// hasReadItems reports whether the last preview could read the items of the source.
func (f *Form) hasReadItems(source previewSource) bool {
	state, _ := f.previewAnswer.Key().(formState)
	return f.previewAnswer.HasValue && f.currentPreview().ItemsUnchecked == "" && state.source == source
}

// isPreviewPending reports whether the preview of the present form is still to come.
func (f *Form) isPreviewPending() bool {
	return f.options.Backend.UnavailableReason(cluster.CapabilityPreviews) == "" &&
		!f.previewAnswer.IsFor(f.currentState()) &&
		(!f.debounce.IsIdle() || len(f.invalidRowNames()) == 0)
}

func (f *Form) Close() {
	f.debounce.Close()
	f.previewAnswer.Close()
	f.checkAnswer.Close()
	f.closerCheck.cancelCheck()
}

func (f *Form) fetchPreview() tea.Cmd {
	if f.options.Backend.UnavailableReason(cluster.CapabilityPreviews) != "" || len(f.invalidRowNames()) > 0 ||
		f.previewAnswer.IsPending() { // its answer starts the next one
		return nil
	}
	draft, a := f.copyDraft(), f.assessment
	return f.previewAnswer.Refetch(
		f.newRequester(f.handlePreview),
		f.currentState(),
		func(ctx context.Context) (wordedPreview, error) {
			return newWordedPreview(f.options.Backend.PreviewRestore(ctx, draft, a)), nil
		},
	)
}

// handlePreview checks the restore of the preview, or requests another preview if something was typed meanwhile.
func (f *Form) handlePreview() tea.Cmd {
	switch {
	case f.previewAnswer.IsFor(f.currentState()):
		return f.fetchCheck()
	case f.debounce.IsIdle():
		return f.fetchPreview()
	}
	return nil // the user is still typing
}

// needsNoCheck reports whether there is nothing to check: no backup, or Velero refuses the restore.
func (f *Form) needsNoCheck() bool {
	return f.currentPreview().Backup == "" || len(f.refusalReasons()) > 0
}

// isChecked reports whether the obstacles of the present form are known.
func (f *Form) isChecked() bool {
	return f.previewAnswer.IsFor(f.currentState()) &&
		(f.needsNoCheck() || f.checkAnswer.IsFor(f.currentState()))
}

// simpleCheck returns the result of the last check, empty if there is nothing to check.
func (f *Form) simpleCheck() *cluster.CheckResult {
	if f.needsNoCheck() {
		return &cluster.CheckResult{}
	}
	return &f.checkAnswer.Value
}

// fetchCheck checks for obstacles. The end of a running check starts the next one.
func (f *Form) fetchCheck() tea.Cmd {
	if f.needsNoCheck() || f.checkAnswer.IsPending() {
		return nil
	}
	draft, preview, a := f.copyDraft(), *f.currentPreview(), f.assessment
	return f.checkAnswer.Refetch(
		f.newRequester(f.handleCheck),
		f.currentState(),
		func(ctx context.Context) (cluster.CheckResult, error) {
			return f.options.Backend.CheckRestore(ctx, draft, preview, a), nil
		},
	)
}

// handleCheck checks again if something was typed meanwhile.
func (f *Form) handleCheck() tea.Cmd {
	if f.isChecked() || f.isPreviewPending() || len(f.invalidRowNames()) > 0 {
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

// checkNoun returns the name of the check, for sentences.
func (c *closerCheck) checkNoun() string {
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
	return f.simpleCheck()
}

// canCompare reports whether there is something to compare, as far as is known.
func (f *Form) canCompare() bool {
	return f.options.Backend.UnavailableReason(cluster.CapabilityPreviews) == "" &&
		(f.currentPreview().ItemsUnchecked != "" || f.simpleCheck().ComparableObjects > 0)
}

func (f *Form) compareUnavailable() string {
	return cmp.Or(f.currentPreview().ItemsUnchecked, f.simpleCheck().CompareUnavailable)
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
	case f.isPreviewPending() || !f.isChecked():
		return f.showMessage(true, c.unavailablePrefix()+"veltui is still looking at the cluster. Try again in a moment.")
	}
	c.progress, c.draft, c.sourceState = fetch.NewProgress[string](), f.copyDraft(), f.lastSourceState
	f.closerCheck = c
	preview, a := *f.currentPreview(), f.assessment
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
	words := []string{"comparing " + human.Count(f.simpleCheck().ComparableObjects, "object"), "comparing"}
	if f.closerCheck.isDryRun {
		words = []string{"dry run"}
	}
	if far := f.closerCheck.progress.LastReport(); far != nil {
		return append([]string{words[0] + ": " + *far}, words...)
	}
	return words
}
