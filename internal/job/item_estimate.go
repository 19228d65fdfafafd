package job

// ItemEstimate is an estimate of how many items a restore will restore, and of what Velero counts on the way there.
type ItemEstimate struct {
	Items int
	// Selected is how many items the filters select, RestoredBefore how many are restored before Velero writes its first
	// count: the CustomResourceDefinitions.
	Selected, RestoredBefore int
	// Steps are the parts of the restore in their order; none if the estimate is not sure enough.
	Steps []CountStep

	// correction is how many items more than estimated Velero's counts prove; contradicted is true once they do not fit.
	correction   int
	contradicted bool
}

// CountStep is a part of a restore, in which Velero processes items in an unknown order.
type CountStep struct {
	// Processed is how many selected items Velero processes. Skipped of them add nothing: completed pods and jobs, and
	// items restored before.
	Processed, Skipped int
	// Added is how many items come with them: volumes of claims, namespaces that Velero creates.
	Added int
}

// Correction limits: beyond them, the counts show that the estimate is about something else.
const (
	minMaxCorrection   = 20
	maxCorrectionShare = 20 // a twentieth of the items
)

// CorrectBy returns the estimate corrected by Velero's own counts.
//
// Until the end, Velero's total is the number of restored items plus that of the selected items not processed yet, also
// of those that it will skip, and of namespaces, which it never counts as processed (pkg/restore/restore.go, execute
// and processSelectedResource; 1.14 to 1.18.3). The difference of both counts therefore tells how many items are
// processed, and the steps how many must be restored by then. Items that plugins bring along or leave out show as a
// deviation, which is in both counts of Velero, and stays.
func (t ItemEstimate) CorrectBy(counted Items) ItemEstimate {
	if t.Items <= 0 || !counted.Known || counted.Total <= 0 {
		return t
	}
	if len(t.Steps) == 0 || counted.Total < counted.Done {
		t.contradicted = true
		return t
	}
	low, high := t.restoredAfter(t.Selected - (counted.Total - counted.Done))
	t.correction = min(max(t.correction, counted.Done-high), counted.Done-low)
	limit := max(minMaxCorrection, t.Items/maxCorrectionShare)
	t.contradicted = t.contradicted || t.correction > limit || t.correction < -limit
	return t
}

// restoredAfter returns the bounds of the restored items once so many selected items are processed.
func (t ItemEstimate) restoredAfter(processed int) (low, high int) {
	if processed <= 0 { // Velero selected more items than the estimate: they count once each
		return t.RestoredBefore + processed, t.RestoredBefore + processed
	}
	restored, found := t.RestoredBefore, false
	for _, s := range t.Steps {
		after := restored + s.Processed - s.Skipped + s.Added
		if processed >= 0 && processed <= s.Processed {
			least, most := s.restoredAfter(processed)
			if !found {
				low, high, found = restored+least, restored+most, true
			}
			low, high = min(low, restored+least), max(high, restored+most)
		}
		processed, restored = processed-s.Processed, after
	}
	if !found { // all is processed but namespaces
		return restored, restored
	}
	return low, high
}

// restoredAfter returns the bounds of the items of the step that are restored once n of its items are processed.
func (s CountStep) restoredAfter(n int) (least, most int) {
	rest, all := s.Processed-n, s.Processed-s.Skipped+s.Added
	addedBefore, addedAfter := s.Added, s.Added
	if n == 0 && s.Processed > 0 {
		addedBefore = 0
	}
	if rest == 0 {
		addedAfter = 0
	}
	return max(n-s.Skipped, 0, all-rest-addedAfter), min(n+addedBefore, all-max(rest-s.Skipped, 0))
}

// WithItemEstimate returns a restore with an estimated total, corrected by Velero's counts, or j itself where Velero's
// own total is the same, or contradicts the estimate.
func (j *Job) WithItemEstimate(t ItemEstimate) *Job {
	begins := j.Stage == StageQueued || j.Stage == StageItems
	t = t.CorrectBy(j.Items)
	total := t.Items + t.correction
	if j.Kind != Restore || !begins || t.Items <= 0 || t.contradicted || j.Items.Known && j.Items.Total == total {
		return j
	}
	k := *j
	k.Items = Items{Done: j.Items.Done, Total: total, Known: true, Estimated: true, VeleroTotal: j.Items.Total}
	k.updateFraction(j)
	return &k
}
