package ui

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/ui/draw"
)

// order is a way to sort jobs, and how the titles show it.
type order struct {
	name string
	draw.Sorting
	compare func(a, b *job.Job) int
}

// orders are what the sort key goes through. The first is the usual one;
// the active tab has its own instead.
var orders = []order{
	{name: "newest first", compare: func(a, b *job.Job) int { return b.Began().Compare(a.Began()) }},
	{name: "name", Sorting: draw.Sorting{Column: "NAME", Ascending: true}, compare: func(a, b *job.Job) int { return strings.Compare(a.Name, b.Name) }},
	{name: "stage", Sorting: draw.Sorting{Column: "STAGE", Ascending: true}, compare: func(a, b *job.Job) int {
		return cmp.Or(cmp.Compare(stageRank(a), stageRank(b)), cmp.Compare(a.QueuePosition, b.QueuePosition),
			strings.Compare(a.Phase, b.Phase), a.Began().Compare(b.Began()))
	}},
	{name: "progress", Sorting: draw.Sorting{Column: "PROGRESS"}, compare: func(a, b *job.Job) int { return cmp.Compare(b.Fraction, a.Fraction) }},
	{name: "items", Sorting: draw.Sorting{Column: "DONE"}, compare: func(a, b *job.Job) int { return cmp.Compare(b.Items.Total, a.Items.Total) }},
}

// stages are in the order of the sort key: what runs, then what waits, then what
// has ended.
var stages = []job.Stage{job.StageUnknown, job.StageItems, job.StageVolumes, job.StageOperations, job.StageFinalizing, job.StageQueued, job.StageDeleting, job.StageDone}

func stageRank(j *job.Job) int { return slices.Index(stages, j.Stage) }

// sorted orders jobs without touching the slice.
func (o order) sorted(jobs []*job.Job) []*job.Job {
	jobs = slices.Clone(jobs)
	slices.SortStableFunc(jobs, o.compare)
	return jobs
}

// byUrgency is the order of the active tab: what is in trouble, what runs,
// longest first, then what waits for its turn in the order of the line.
func byUrgency(a *assess.Assessment) []*job.Job {
	jobs := slices.Clone(a.Snapshot.Active)
	calm := make(map[types.UID]int, len(jobs))
	for _, j := range jobs {
		if !a.Of(j).Troubled() {
			calm[j.UID] = 1
		}
	}
	queued := func(j *job.Job) int {
		if j.Stage == job.StageQueued {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(jobs, func(a, b *job.Job) int {
		return cmp.Or(
			cmp.Compare(calm[a.UID], calm[b.UID]),
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
