package main

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// dashboardKinds are what the dashboard reads.
var dashboardKinds = []string{
	"backups.velero.io",
	"restores.velero.io",
	"podvolumebackups.velero.io",
	"podvolumerestores.velero.io",
	"datauploads.velero.io",
	"datadownloads.velero.io",
	"schedules.velero.io",
	"backupstoragelocations.velero.io",
	"backuprepositories.velero.io",
	"deletebackuprequests.velero.io",
	"pods",
}

// memorySettleTime is how long after the start memory is read.
const memorySettleTime = 20 * time.Second

// measureStarts measures how long the dashboard takes to its first rows and until it has
// everything, and the memory that it then has.
func (b *bench) measureStarts(ctx context.Context) error {
	complete := b.table.findRow(
		"dashboard, all read, seconds",
		"at most 1.3 times `kubectl get` of the same kinds in sum",
		"%.2f",
	)
	first := b.table.findRow("dashboard, first rows, seconds", "at most 1.5", "%.2f")
	for run := range min(b.runs, 3) {
		sum := 0.0
		for _, kind := range dashboardKinds {
			seconds, _, err := b.runOnce(
				ctx,
				b.Kubeconfig(),
				commandCall{contender: contender{path: b.kubectl}, args: []string{"get", kind, "-n", largeNamespace}},
			)
			if err != nil {
				return err
			}
			sum += seconds
		}
		complete.addValues(columnKubectl, sum)
		for _, c := range b.listVeltuis() {
			if c.column == columnBefore && run > 1 {
				continue
			}
			rows, all, rss, err := b.measureStart(ctx, c, largeNamespace, run == 0)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				b.table.addNote("dashboard, %s: %v", c.column, firstLine(err))
				continue
			}
			first.addValues(c.column, rows.Seconds())
			complete.addValues(c.column, all.Seconds())
			if run == 0 {
				row := fmt.Sprintf("dashboard, resident MB with %d jobs and %d DataUploads", 2*b.jobs, b.uploads)
				b.table.findRow(row, "at most 150", "%.0f").addValues(c.column, float64(rss)/1e6)
			}
		}
	}
	if c, ok := b.findK9s(); ok {
		t, err := openTerminal(b.newCommand(ctx, b.Kubeconfig(), c.path, c.args(largeNamespace)...), 160, 50)
		if err != nil {
			return err
		}
		defer t.stopProgram()
		began := time.Now()
		at, err := t.waitForWords(ctx, c.readyWords...)
		if err != nil {
			b.table.addNote("k9s: %v", err)
			return nil
		}
		first.addValues(c.column, at.Sub(began).Seconds())
	}
	return nil
}

// measureStart starts a dashboard and measures how long it takes. Its memory is read only
// if that is wanted.
func (b *bench) measureStart(
	ctx context.Context,
	c contender,
	namespace string,
	settle bool,
) (rows, all time.Duration, rss int64, err error) {
	began := time.Now()
	t, err := openTerminal(b.newCommand(ctx, b.Kubeconfig(), c.path, c.args(namespace)...), 160, 50)
	if err != nil {
		return 0, 0, 0, err
	}
	defer t.stopProgram()
	at, err := t.waitForWords(ctx, "drill-")
	if err != nil {
		return 0, 0, 0, err
	}
	rows = at.Sub(began)
	at, err = t.waitUntil(ctx, "every job", screenLimit, func() bool { return b.isComplete(t.ScreenText()) })
	if err != nil {
		return rows, 0, 0, err
	}
	all = at.Sub(began)
	if settle {
		if err := sleepContext(ctx, memorySettleTime); err != nil {
			return rows, all, 0, err
		}
		rss = readUsage(t.Cmd.Process.Pid).rss
	}
	return rows, all, rss, nil
}

// tabCounts are how many restores and backups the tabs say that there are.
var tabCounts = regexp.MustCompile(`Restores ([\d,]+)[\] ].* Backups ([\d,]+)[\] ]`)

// isComplete reports whether a dashboard shows that it has read everything. Some
// restores of a fleet may have one name.
func (b *bench) isComplete(screen string) bool {
	found := tabCounts.FindStringSubmatch(screen)
	if found == nil || !strings.Contains(screen, " live ") || strings.Contains(screen, "reading ") {
		return false
	}
	for _, text := range found[1:] {
		if n, err := strconv.Atoi(strings.ReplaceAll(text, ",", "")); err != nil || n < b.jobs-b.fleet.RunningCount {
			return false
		}
	}
	return true
}

// firstLine is an error without the screen that it shows.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// sleepContext waits.
func sleepContext(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
