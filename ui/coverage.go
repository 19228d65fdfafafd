package ui

import (
	"cmp"
	"context"
	"errors"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/assess/coverage"
	"github.com/veltui/veltui/inspect"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/ui/tabs"
)

// coverageAge is how old a reading may be when its tab is opened.
const coverageAge = time.Minute

// Ask reads what backups protect when the tab of that is opened, never while it stays open.
func (d *dashboard) Ask() tea.Cmd {
	opened := d.asked != d.tab
	d.asked = d.tab
	if d.tab.name != tabs.CoverageName {
		return nil
	}
	var cmds []tea.Cmd
	for _, c := range known(d.m.clusters) {
		cmds = append(cmds, d.askCoverage(c, opened))
	}
	return tea.Batch(cmds...)
}

func (d *dashboard) askCoverage(c *cluster, opened bool) tea.Cmd {
	if why := c.Unavailable(inspect.Stored); why != "" {
		c.coverage.Err = errors.New(why)
		return nil
	}
	switch again := c.covered.Err != nil || c.sources.Clock().Sub(c.covered.Read) > coverageAge; {
	case opened && again:
		c.covered.Outdate()
	case c.covered.Known, c.covered.Err != nil:
		return nil
	}
	a, progress := c.assessed, fetch.NewProgress[string]()
	cmd := c.covered.Ask(c.asker(func() tea.Cmd {
		progress.Close()
		c.coverage = coverage.Reading{Result: c.covered.Value, Err: c.covered.Err}
		d.load()
		return nil
	}), 0, func(ctx context.Context) (*coverage.Result, error) {
		return c.Coverage(ctx, a, coverage.Options{}, progress.Report)
	})
	if cmd == nil {
		return nil
	}
	c.coverage.Progress, c.coverage.Err = cmp.Or(c.coverage.Progress, "looking at the cluster"), nil
	d.load()
	return tea.Batch(cmd, progress.Follow(c.asker(nil), downloadPace, func(text string) bool {
		c.coverage.Progress = text
		d.load()
		return d.tab.name == tabs.CoverageName
	}))
}
