package diagnosis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/decode"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// judgeEnded says how the job ended. The verdict has no state, but may have advice.
func (a *jobJudge) judgeEnded() Verdict {
	j := a.j
	a.noteCounts()
	at := job.LatestTime(j.Completed, j.LastChanged)
	a.AddSupport(SourceWatch, at, "phase %s", j.Phase)
	if j.FailureReason != "" {
		a.AddSupport(SourceWatch, at, "%s", human.Shorten(j.FailureReason, 400))
	}
	for _, e := range j.ValidationErrors {
		a.AddSupport(SourceWatch, at, "%s", human.Shorten(e, 400))
	}
	if j.WasRevived() {
		a.AddSupport(SourceWatch, at, "it had ended before, and went on: its phase was written over")
	}
	failed := a.noteFailedVolumes()
	cause := Cause{}
	if j.Phase != velero.PhaseCompleted || failed > 0 {
		cause = a.findCause()
	}
	a.noteUnreadEvidence(cause)
	advice, open, action := a.noteOpenVolumes(at)
	if j.IsEmpty() {
		advice = a.noteEmpty(at)
	}
	if skipped, what := a.noteSkippedVolumes(at); skipped != "" {
		open, advice = open+skipped, cmp.Or(advice, what)
	}
	held, remedy := a.noteHeldExpiry()
	open, advice = open+held, cmp.Or(remedy, advice)
	if j.Deleting {
		advice = "It goes when the Velero server has removed its files; that needs its storage location."
	}
	text := a.outcomeText(failed, cause)
	if why := a.jobEvidence().NotFinalizedReason; why != "" {
		a.AddSupport(SourceStorage, a.Now, "%s", why)
		text += "; its contents lack what its operations made"
		advice = "Take another backup: of this one, volumes that were moved cannot be restored."
	}
	if text += open; j.Deleting {
		text += "; being deleted"
	}
	if len(j.MalformedFields) > 0 {
		text += fmt.Sprintf("; %s. %s", j.MalformedFields[0], decode.ServerWarning)
	}
	v := a.Conclude("", ReasonOfPhase(j.Phase), advice, "%s", text).withAction(action)
	v.Cause = cause
	return v
}

// gcFailureLabel is the label with which Velero says why it does not delete an expired backup
// (pkg/controller/gc_controller.go, 1.14 to 1.18.3).
const gcFailureLabel = "velero.io/gc-failure"

// noteHeldExpiry says why Velero does not delete an expired backup, if it says so itself.
func (a *jobJudge) noteHeldExpiry() (text, advice string) {
	b, ok := a.j.Object.(*veleroapi.Backup)
	if !ok || b.Labels[gcFailureLabel] == "" || !velero.IsExpired(b, a.Now) {
		return "", ""
	}
	location := cmp.Or(b.Spec.StorageLocation, "(not named)")
	a.AddSupport(SourceWatch, b.Status.Expiration.Time, "it expired %s ago, and Velero does not delete it from storage "+
		"location %s: %s", a.formatAge(b.Status.Expiration.Time), location, b.Labels[gcFailureLabel])
	switch b.Labels[gcFailureLabel] {
	case "BSLNotFound":
		advice = "Create storage location " + location + " again, and Velero deletes the backup. If it is gone for good, " +
			"delete the object with kubectl: Velero does not make it again."
	case "BSLReadOnly":
		advice = "Velero deletes it once storage location " + location + " is ReadWrite."
	default:
		advice = "Velero deletes it once it can read storage location " + location + "."
	}
	return "; expired, and Velero cannot delete it", advice
}

// noteEmpty says why a Completed job holds nothing, as far as its spec tells, and what to do.
func (a *jobJudge) noteEmpty(at time.Time) (advice string) {
	if a.j.Kind == job.Restore {
		return "Its filters match nothing that is in the backup. Compare them with what the backup holds."
	}
	b, ok := a.j.Object.(*veleroapi.Backup)
	hasPattern := func(name string) bool { return strings.ContainsAny(name, "*?[") }
	if ok && len(b.Spec.IncludedNamespaces) == 0 && slices.ContainsFunc(b.Spec.ExcludedNamespaces, hasPattern) {
		a.AddSupport(SourceWatch, at, "it includes no namespace by name and excludes some by pattern: %s",
			human.JoinNames(b.Spec.ExcludedNamespaces, 5))
		if a.effectiveVersion().TakesNothingByExcludePatterns() {
			return "Velero 1.18.0 takes no namespace then: set includedNamespaces to *, or update Velero."
		}
	}
	return "Do not rely on it: its filters match nothing, or the server could not list what they match. Its log says " +
		"what they became."
}

// noteOpenVolumes says which volumes have not ended although the job has: they continue, or stay forever (Velero
// issues 7908, 7067, 4403, 10117). open is for the sentence, action what ends those that stay.
func (a *jobJudge) noteOpenVolumes(at time.Time) (advice, open string, action Action) {
	n := a.j.ActiveVolumeCount()
	if n == 0 {
		return "", "", ""
	}
	a.AddSupport(SourceWatch, at, "%s not ended, although the job is over", human.Count(n, "volume"))
	open = fmt.Sprintf("; %s not ended", human.PartOf(n, a.j.VolumeCount(), "volume"))
	left := FindLeftovers(a.j, *a.world)
	if len(left) == 0 {
		return "What still moves can be cancelled at the volume.", open, ""
	}
	advice, action = a.noteLeftovers(left)
	return advice, open + fmt.Sprintf(", and %s left over", human.CountForms(len(left), "is", "are")), action
}

// noteSkippedVolumes says whose data a backup does not hold, as far as its volume info was read.
func (a *jobJudge) noteSkippedVolumes(at time.Time) (text, advice string) {
	skipped := a.jobEvidence().SkippedVolumes
	if len(skipped) == 0 {
		return "", ""
	}
	targets := map[string][]string{}
	var reasons []string
	for _, v := range skipped {
		if targets[v.Reason] == nil {
			reasons = append(reasons, v.Reason)
		}
		targets[v.Reason] = append(targets[v.Reason], v.Target)
	}
	slices.SortStableFunc(reasons, func(x, y string) int { return len(targets[y]) - len(targets[x]) })
	for _, reason := range reasons[:min(len(reasons), maxFailureGroups)] {
		a.AddSupport(SourceStorage, at, "the data of %s is not in it (%s)%s", human.Count(len(targets[reason]), "volume"),
			human.JoinNames(targets[reason], 3), causeClause(reason))
	}
	return "; the data of " + human.Count(len(skipped), "volume") + " is not in it",
		"If a restore needs the data of the volumes that were skipped, change what the facts name, and take another backup."
}

func (a *jobJudge) noteFailedVolumes() int {
	failed := 0
	var groups [][]*job.Volume // by phase and message
	for i := range a.j.Volumes {
		v := &a.j.Volumes[i]
		if !v.HasFailed() {
			continue
		}
		failed++
		same := slices.IndexFunc(groups, func(g []*job.Volume) bool { return isSameFailure(g[0], v) })
		if same < 0 {
			same, groups = len(groups), append(groups, nil)
		}
		groups[same] = append(groups[same], v)
	}
	slices.SortStableFunc(groups, func(a, b []*job.Volume) int { return len(b) - len(a) })
	for i, g := range groups {
		if i == maxFailureGroups {
			a.AddSupport(SourceWatch, a.j.LastChanged, "and %s for other reasons",
				human.Count(failed-countVolumes(groups[:i]), "volume"))
			break
		}
		a.noteFailureGroup(g)
	}
	return failed
}

// maxFailureGroups is how many different failures of volumes are named.
const maxFailureGroups = 5

// isSameFailure reports whether two volumes failed alike, whatever they are called.
func isSameFailure(a, b *job.Volume) bool {
	return a.Kind == b.Kind && a.Phase == b.Phase && failurePattern(a) == failurePattern(b)
}

// failurePattern returns the message of a volume without its own names.
func failurePattern(v *job.Volume) string {
	names := []string{v.Name, "*", v.Target, "*"}
	if v.Node != "" {
		names = append(names, v.Node, "*")
	}
	return strings.NewReplacer(names...).Replace(v.Message)
}

func countVolumes(groups [][]*job.Volume) (n int) {
	for _, g := range groups {
		n += len(g)
	}
	return n
}

// noteFailureGroup adds one fact about volumes that failed alike.
func (a *jobJudge) noteFailureGroup(g []*job.Volume) {
	v := g[0]
	if len(g) == 1 {
		a.AddSupport(SourceWatch, v.LastChanged, "%s %s is %s%s", v.Kind, v.Target, v.Phase, causeClause(v.Message))
		return
	}
	targets := make([]string, len(g))
	for i := range g {
		targets[i] = g[i].Target
	}
	a.AddSupport(SourceWatch, v.LastChanged, "%s are %s (%s)%s", human.Count(len(g), string(v.Kind)), v.Phase,
		human.JoinNames(targets, 3), causeClause(v.Message))
}

// maxReasonRunes is the number of runes of a foreign reason in a summary; the facts hold all of it.
const maxReasonRunes = 60

func (a *jobJudge) outcomeText(failedVolumes int, cause Cause) string {
	j, took := a.j, ""
	if !j.Completed.IsZero() && !j.Started.IsZero() {
		took = a.world.Style.Duration(j.Elapsed(j.Completed))
	}
	tail := tallyText(j)
	why := cmp.Or(cause.Text, human.Shorten(j.FailureReason, maxReasonRunes))
	switch j.Phase {
	case velero.PhaseCompleted:
		// Velero marks a backup Completed although some of its volumes failed (Velero issues 6212 and 6490).
		if failedVolumes > 0 {
			return fmt.Sprintf(
				"Completed, but %s failed%s%s",
				human.PartOf(failedVolumes, j.VolumeCount(), "volume"),
				tail,
				human.Prefixed(": ", cause.Text),
			)
		}
		if j.IsEmpty() {
			return "Completed" + human.Prefixed(" in ", took) + ", but nothing is in it: 0 items"
		}
		return "Completed" + human.Prefixed(" in ", took) + tail
	case velero.PhaseFailedValidation:
		if cause.Text != "" {
			return "FailedValidation: " + cause.Text
		}
		if len(j.ValidationErrors) > 0 {
			return "FailedValidation: " + human.Shorten(j.ValidationErrors[0], maxReasonRunes)
		}
		return "FailedValidation"
	case velero.PhaseFailed:
		text := "Failed" + human.Prefixed(" after ", took)
		if j.Items.Known && j.Items.Total > 0 {
			text += fmt.Sprintf(" at %s of %s", human.Number(j.Items.Done), human.Count(j.Items.Total, "item"))
		}
		return text + human.Prefixed(": ", why)
	}
	text := j.Phase + human.Prefixed(" after ", took) + tail
	if failedVolumes > 0 {
		text += fmt.Sprintf(", %s failed", human.PartOf(failedVolumes, j.VolumeCount(), "volume"))
	}
	return text + human.Prefixed(": ", why)
}

func tallyText(j *job.Job) string {
	text := ""
	switch {
	case j.Items.Known && j.Items.Done < j.Items.Total:
		text += fmt.Sprintf(", %s of %s counted", human.Number(j.Items.Done), human.Count(j.Items.Total, "item"))
	case j.Items.Known:
		text += ", " + human.Count(j.Items.Total, "item")
	}
	if j.Errors > 0 {
		text += ", " + human.Count(j.Errors, "error")
	}
	if j.Warnings > 0 {
		text += ", " + human.Count(j.Warnings, "warning")
	}
	return text
}

func progressText(j *job.Job) string {
	switch j.Stage {
	case job.StageQueued:
		return "has not begun"
	case job.StageItems:
		return itemsText(j)
	case job.StageVolumes:
		return volumesText(j.PodVolumes())
	case job.StageOperations:
		if j.DataMovements().Count > 0 {
			return volumesText(j.DataMovements())
		}
		return fmt.Sprintf("items done; %d of %s ended", j.Operations.EndedCount(),
			human.Count(j.Operations.Attempted, "operation"))
	case job.StageFinalizing:
		if strings.HasSuffix(j.Phase, velero.PhasePartiallyFailed) {
			return "all work done, with errors; Velero finalizes"
		}
		return "all work done, Velero finalizes"
	case job.StageDeleting:
		return "being deleted"
	}
	return "phase " + human.Shorten(j.Phase, 40)
}

func itemsText(j *job.Job) string {
	switch {
	case !j.Items.Known && j.Kind == job.Restore:
		return "reading the backup, no count yet"
	case !j.Items.Known:
		return "collecting what to back up, no count yet"
	case j.Items.Done >= j.Items.Total:
		return human.AllOf(j.Items.Total, "item") + " done"
	}
	return fmt.Sprintf("%s of %s", human.Number(j.Items.Done), human.Count(j.Items.Total, "item"))
}

func volumesText(t job.VolumeTally) string {
	switch {
	case t.ActiveCount() == 0:
		return fmt.Sprintf("items done; %s ended", human.Count(t.Count, "volume"))
	case t.IsSized():
		return fmt.Sprintf(
			"items done; %s of %s in %s",
			human.Bytes(t.Done),
			human.Bytes(t.Total),
			human.Count(t.Count, "volume"),
		)
	}
	return fmt.Sprintf("items done; %d of %s ended", t.Ended, human.Count(t.Count, "volume"))
}
