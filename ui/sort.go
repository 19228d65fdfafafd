package ui

import (
	"cmp"
	"slices"
	"strings"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/watch"
)

// order is a way to sort jobs, and how the titles show it.
type order struct {
	name string
	draw.Sorting
	compare func(a, b *job.Job) int
}

// orders are what the sort key goes through. The active tab has its own in place of the first.
var orders = []order{
	{name: "usual", compare: func(a, b *job.Job) int { return b.Began().Compare(a.Began()) }},
	{name: "name", Sorting: draw.Sorting{Column: "NAME", Ascending: true}, compare: func(a, b *job.Job) int { return human.CompareNames(a.Name, b.Name) }},
	{name: "stage", Sorting: draw.Sorting{Column: "STAGE", Ascending: true}, compare: func(a, b *job.Job) int {
		return cmp.Or(cmp.Compare(stageRank(a), stageRank(b)), cmp.Compare(a.QueuePosition, b.QueuePosition),
			strings.Compare(a.Phase, b.Phase), a.Began().Compare(b.Began()))
	}},
	{name: "progress", Sorting: draw.Sorting{Column: "PROGRESS"}, compare: func(a, b *job.Job) int { return cmp.Compare(b.Fraction, a.Fraction) }},
	{name: "items", Sorting: draw.Sorting{Column: "DONE"}, compare: func(a, b *job.Job) int { return cmp.Compare(b.Items.Total, a.Items.Total) }},
	{name: "errors", Sorting: draw.Sorting{Column: "ERR"}, compare: func(a, b *job.Job) int {
		return cmp.Or(cmp.Compare(b.Errors, a.Errors), cmp.Compare(b.Warnings, a.Warnings))
	}},
	{name: "age", Sorting: draw.Sorting{Column: "AGE", Ascending: true}, compare: func(a, b *job.Job) int { return b.Began().Compare(a.Began()) }},
}

// byAge is the order that turns the usual one round.
var byAge = len(orders) - 1

func orderNames() (names []string) {
	for i := range orders {
		names = append(names, orders[i].name)
	}
	return names
}

// stages are sorted: what runs, what waits, what has ended.
var stages = []job.Stage{job.StageUnknown, job.StageItems, job.StageVolumes, job.StageOperations, job.StageFinalizing, job.StageQueued, job.StageDeleting, job.StageDone}

func stageRank(j *job.Job) int { return slices.Index(stages, j.Stage) }

type clusterJob struct {
	cluster *cluster
	*job.Job
}

func (j clusterJob) judged() assess.Judged { return j.cluster.assessed.Of(j.Job) }

// known are the clusters of which something is known.
func known(clusters []*cluster) []*cluster {
	return slices.DeleteFunc(slices.Clone(clusters), func(c *cluster) bool { return c.assessed == nil })
}

// allJobs are those of some clusters, and activeJobs those that have not ended.
func allJobs(clusters ...*cluster) []clusterJob {
	return jobsOf(clusters, func(s *watch.Snapshot) []*job.Job { return s.Jobs })
}

func activeJobs(clusters ...*cluster) []clusterJob {
	return jobsOf(clusters, func(s *watch.Snapshot) []*job.Job { return s.Active })
}

func jobsOf(clusters []*cluster, list func(*watch.Snapshot) []*job.Job) (jobs []clusterJob) {
	for _, c := range known(clusters) {
		for _, j := range list(c.assessed.Snapshot) {
			jobs = append(jobs, clusterJob{c, j})
		}
	}
	return jobs
}

// sort orders jobs in place and returns them.
func (o order) sort(jobs []clusterJob, reversed bool) []clusterJob {
	slices.SortStableFunc(jobs, func(a, b clusterJob) int {
		if reversed {
			a, b = b, a
		}
		return o.compare(a.Job, b.Job)
	})
	return jobs
}

// byUrgency orders the active tab: trouble first, then what runs longest, then the queue.
func byUrgency(jobs []clusterJob) {
	rank := make(map[*job.Job]int, len(jobs))
	for _, j := range jobs {
		if !j.judged().Troubled() {
			rank[j.Job] += 2
		}
		if j.Stage == job.StageQueued {
			rank[j.Job]++
		}
	}
	slices.SortStableFunc(jobs, func(a, b clusterJob) int {
		return cmp.Or(
			cmp.Compare(rank[a.Job], rank[b.Job]),
			-strings.Compare(string(a.Kind), string(b.Kind)), // restores first: people wait for them
			cmp.Compare(a.QueuePosition, b.QueuePosition),
			a.Began().Compare(b.Began()),
			human.CompareNames(a.Name, b.Name),
		)
	})
}

func byEnd(jobs []clusterJob) []clusterJob {
	slices.SortStableFunc(jobs, func(a, b clusterJob) int { return endedAt(b.Job).Compare(endedAt(a.Job)) })
	return jobs
}
