package ui

import (
	"cmp"
	"slices"
	"strings"

	"github.com/veltui/veltui/job"
)

// order is a way to sort jobs; column is the title that shows it.
type order struct {
	name, column string
	compare      func(a, b *job.Job) int
}

// orders are what the sort key goes through. The first is the usual one;
// the active tab has its own instead.
var orders = []order{
	{name: "newest first", compare: func(a, b *job.Job) int { return b.Began().Compare(a.Began()) }},
	{name: "name", column: "NAME", compare: func(a, b *job.Job) int { return strings.Compare(a.Name, b.Name) }},
	{name: "stage", column: "STAGE", compare: func(a, b *job.Job) int {
		return cmp.Or(cmp.Compare(stageRank(a), stageRank(b)), strings.Compare(a.Phase, b.Phase))
	}},
	{name: "progress", column: "PROGRESS", compare: func(a, b *job.Job) int { return cmp.Compare(b.Fraction, a.Fraction) }},
	{name: "items", column: "DONE", compare: func(a, b *job.Job) int { return cmp.Compare(b.Items.Total, a.Items.Total) }},
}

func stageRank(j *job.Job) int {
	ranks := []job.Stage{job.StageUnknown, job.StageItems, job.StageVolumes, job.StageOperations, job.StageFinalizing, job.StageQueued, job.StageDeleting, job.StageDone}
	return slices.Index(ranks, j.Stage)
}

// sorted orders jobs without touching the slice.
func (o order) sorted(jobs []*job.Job) []*job.Job {
	jobs = slices.Clone(jobs)
	slices.SortStableFunc(jobs, o.compare)
	return jobs
}

// byUrgency is the order of the active tab: what is in trouble, what runs,
// longest first, then what waits for its turn in the order of the line.
func (d *digest) byUrgency() []*job.Job {
	jobs := slices.Clone(d.snap.Active)
	calm := func(j *job.Job) int {
		if troubled(d.verdicts[j.UID].State) {
			return 0
		}
		return 1
	}
	queued := func(j *job.Job) int {
		if j.Stage == job.StageQueued {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(jobs, func(a, b *job.Job) int {
		return cmp.Or(
			cmp.Compare(calm(a), calm(b)),
			cmp.Compare(queued(a), queued(b)),
			-strings.Compare(string(a.Kind), string(b.Kind)), // restores first: somebody waits for them
			cmp.Compare(a.QueuePosition, b.QueuePosition),
			a.Began().Compare(b.Began()),
			strings.Compare(a.Name, b.Name),
		)
	})
	return jobs
}

// byEnd orders ended jobs, the latest first.
func byEnd(jobs []*job.Job) []*job.Job {
	slices.SortStableFunc(jobs, func(a, b *job.Job) int { return endedAt(b).Compare(endedAt(a)) })
	return jobs
}
