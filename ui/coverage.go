package ui

import (
	"cmp"
	"context"
	"errors"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/assess/coverage"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/view/resource"
	"github.com/veltui/veltui/ui/fetch"
)

// coverageMaxAge is the age at which a reading is renewed when its tab is opened.
const coverageMaxAge = time.Minute

// FetchMissing reads the coverage by backups when the coverage tab is opened, never while it stays open.
func (d *dashboard) FetchMissing() tea.Cmd {
	opened := d.lastFetchedTab != d.openTab
	d.lastFetchedTab = d.openTab
	if d.openTab.name != resource.CoverageTabName {
		return nil
	}
	var cmds []tea.Cmd
	for _, c := range knownClusters(d.model.clusters) {
		cmds = append(cmds, d.fetchCoverage(c, opened))
	}
	return tea.Batch(cmds...)
}

// coverageTimeout bounds one reading; the next reading continues from the parts already read.
const coverageTimeout = 10 * time.Minute

func (d *dashboard) fetchCoverage(c *clusterState, opened bool) tea.Cmd {
	if why := c.UnavailableReason(cluster.CapabilityStored); why != "" {
		c.coverageReading.Err = errors.New(why)
		return nil
	}
	age := c.jobDependencies.Clock().Sub(c.coverageAnswer.ReadAt)
	switch again := c.coverageAnswer.Err != nil || age > coverageMaxAge; {
	case opened && again:
		c.coverageAnswer.Invalidate()
	case c.coverageAnswer.HasValue, c.coverageAnswer.Err != nil:
		return nil
	}
	return fetchReading(
		d.model,
		c,
		&c.coverageAnswer,
		&c.coverageReading,
		0,
		func() bool { return d.openTab.name == resource.CoverageTabName },
		func(ctx context.Context, a *assess.Assessment, say func(string)) (*coverage.Result, error) {
			ctx, cancel := cluster.WithTimeout(ctx, coverageTimeout)
			defer cancel()
			return c.AssessCoverage(ctx, a, coverage.Options{}, say)
		},
	)
}

// fetchNextRun predicts the next run of a schedule when its page is opened.
func (m *Model) fetchNextRun(c *clusterState, schedule string) tea.Cmd {
	if c.predictionAnswer.ResetForKey(schedule) {
		c.nextRunReading = coverage.Reading[coverage.Prediction]{Schedule: schedule}
	}
	return fetchReading(
		m,
		c,
		&c.predictionAnswer,
		&c.nextRunReading,
		coverageMaxAge,
		func() bool { return len(m.screens) > 1 },
		func(ctx context.Context, a *assess.Assessment, say func(string)) (*coverage.Prediction, error) {
			return c.PredictBackup(ctx, a, schedule, say)
		},
	)
}

// fetchReading reads something about a cluster unless the last reading is younger than age, and shows the progress in
// shown. seen reports whether the reading is on the screen.
func fetchReading[T any](
	m *Model,
	c *clusterState,
	answer *fetch.Answer[*T],
	shown *coverage.Reading[T],
	age time.Duration,
	seen func() bool,
	read func(context.Context, *assess.Assessment, func(string)) (*T, error),
) tea.Cmd {
	a, progress := c.assessment, fetch.NewProgress[string]()
	cmd := answer.FetchIfDue(c.newRequester(func() tea.Cmd {
		progress.Close()
		shown.Result, shown.Progress, shown.Err = answer.Value, "", answer.Err
		m.refreshScreens(c)
		return nil
	}), age, func(ctx context.Context) (*T, error) { return read(ctx, a, progress.ReportProgress) })
	if cmd == nil {
		return nil
	}
	shown.Progress, shown.Err = cmp.Or(shown.Progress, "looking at the cluster"), nil
	m.refreshScreens(c)
	return tea.Batch(cmd, progress.FollowReports(c.newRequester(nil), progressRedrawInterval, func(text string) bool {
		shown.Progress = text
		m.refreshScreens(c)
		return seen()
	}))
}
