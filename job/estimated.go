package job

// Total is an estimate of how many items a restore will restore.
type Total struct {
	Items int
	// First is the highest total that Velero may publish for a restore of so many
	// items; 0 if the estimate is not sure enough to stand beside one of Velero's.
	First int
}

// WithTotal returns a restore with an estimated total, marked as such. Velero's own
// total replaces the estimate only if the two contradict each other: until the last item
// it counts what the restore skips as well, and comes down to what is restored
// (pkg/restore/restore.go, execute and processSelectedResource; 1.14 to 1.18.3). The
// result is j itself where there is nothing to add.
func (j *Job) WithTotal(t Total) *Job {
	begins := j.Stage == StageQueued || j.Stage == StageItems
	published := j.Items.Known && j.Items.Total > 0
	if j.Kind != Restore || !begins || t.Items <= 0 || published && !t.explains(j.Items) {
		return j
	}
	k := *j
	k.Items = Items{Done: j.Items.Done, Total: t.Items, Known: true, Estimated: true, Published: j.Items.Total}
	k.draw(j)
	return &k
}

// explains reports whether Velero may still restore so many items although it
// publishes another total. With the last item done, only Velero knows whether it is.
func (t Total) explains(published Items) bool {
	return published.Done < t.Items && t.Items < published.Total && published.Total <= t.First
}

// WithFraction returns a job whose bar shows at least so much of the present stage.
func (j *Job) WithFraction(least float64) *Job {
	if !j.FractionKnown || j.Fraction >= least {
		return j
	}
	k := *j
	k.Fraction = least
	return &k
}
