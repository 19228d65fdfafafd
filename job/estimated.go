package job

// WithTotal is a restore with an estimate of how many items it will restore,
// marked as such, as long as Velero has not written a total of its own. It is j
// itself where there is nothing to add.
func (j *Job) WithTotal(estimate int) *Job {
	begins := j.Stage == StageQueued || j.Stage == StageItems
	if j.Kind != Restore || !begins || j.Items.Known && j.Items.Total > 0 || estimate <= 0 {
		return j
	}
	k := *j
	k.Items = Items{Done: j.Items.Done, Total: estimate, Known: true, Estimated: true}
	k.draw(j)
	return &k
}
