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

// coverageAge is how old a reading may be when its tab is opened.
const coverageAge = time.Minute

// Ask reads what backups protect when the tab of that is opened, never while it stays open.
func (d *dashboard) Ask() tea.Cmd {
	opened := d.asked != d.tab
	d.asked = d.tab
	if d.tab.name != resource.CoverageName {
		return nil
	}
	var cmds []tea.Cmd
	for _, c := range known(d.m.clusters) {
		cmds = append(cmds, d.askCoverage(c, opened))
	}
	return tea.Batch(cmds...)
}

// coverageTimeout bounds one reading; what it has read is kept for the next.
const coverageTimeout = 10 * time.Minute

func (d *dashboard) askCoverage(c *clusterState, opened bool) tea.Cmd {
	if why := c.Unavailable(cluster.Stored); why != "" {
		c.coverage.Err = errors.New(why)
		return nil
	}
	switch again := c.covered.Err != nil || c.sources.Clock().Sub(c.covered.Read) > coverageAge; {
	case opened && again:
		c.covered.Outdate()
	case c.covered.Known, c.covered.Err != nil:
		return nil
	}
	return readInto(
		d.m,
		c,
		&c.covered,
		&c.coverage,
		0,
		func() bool { return d.tab.name == resource.CoverageName },
		func(ctx context.Context, a *assess.Assessment, say func(string)) (*coverage.Result, error) {
			ctx, cancel := cluster.WithTimeout(ctx, coverageTimeout)
			defer cancel()
			return c.Coverage(ctx, a, coverage.Options{}, say)
		},
	)
}

// askNextRun reads what the next run of a schedule takes when its page is opened.
func (m *Model) askNextRun(c *clusterState, schedule string) tea.Cmd {
	if c.foreseen.About(schedule) {
		c.nextRun = coverage.Reading[coverage.Prediction]{Schedule: schedule}
	}
	return readInto(
		m,
		c,
		&c.foreseen,
		&c.nextRun,
		coverageAge,
		func() bool { return len(m.screens) > 1 },
		func(ctx context.Context, a *assess.Assessment, say func(string)) (*coverage.Prediction, error) {
			return c.Predict(ctx, a, schedule, say)
		},
	)
}

// readInto reads something of a cluster unless it is younger than age, and shows how far that is. seen is
// whether it is on the screen.
func readInto[T any](
	m *Model,
	c *clusterState,
	answer *fetch.Answer[*T],
	shown *coverage.Reading[T],
	age time.Duration,
	seen func() bool,
	read func(context.Context, *assess.Assessment, func(string)) (*T, error),
) tea.Cmd {
	a, progress := c.assessed, fetch.NewProgress[string]()
	cmd := answer.Ask(c.asker(func() tea.Cmd {
		progress.Close()
		shown.Result, shown.Progress, shown.Err = answer.Value, "", answer.Err
		m.reload(c)
		return nil
	}), age, func(ctx context.Context) (*T, error) { return read(ctx, a, progress.Report) })
	if cmd == nil {
		return nil
	}
	shown.Progress, shown.Err = cmp.Or(shown.Progress, "looking at the cluster"), nil
	m.reload(c)
	return tea.Batch(cmd, progress.Follow(c.asker(nil), downloadPace, func(text string) bool {
		shown.Progress = text
		m.reload(c)
		return seen()
	}))
}
