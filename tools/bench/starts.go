package main

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// kinds are what the dashboard reads.
var kinds = []string{
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

// memorySettles is how long after the start memory is read.
const memorySettles = 20 * time.Second

// starts measures how long the dashboard takes to its first rows and until it has
// everything, and the memory that it then has.
func (b *bench) starts(ctx context.Context) error {
	complete := b.table.row(
		"dashboard, all read, seconds",
		"at most 1.3 times `kubectl get` of the same kinds in sum",
		"%.2f",
	)
	first := b.table.row("dashboard, first rows, seconds", "at most 1.5", "%.2f")
	for run := range min(b.runs, 3) {
		sum := 0.0
		for _, kind := range kinds {
			seconds, _, err := b.once(
				ctx,
				b.Kubeconfig(),
				call{contender: contender{path: b.kubectl}, args: []string{"get", kind, "-n", large}},
			)
			if err != nil {
				return err
			}
			sum += seconds
		}
		complete.add(columnKubectl, sum)
		for _, c := range b.veltuis() {
			if c.column == columnBefore && run > 1 {
				continue
			}
			rows, all, rss, err := b.start(ctx, c, large, run == 0)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				b.table.note("dashboard, %s: %v", c.column, firstLine(err))
				continue
			}
			first.add(c.column, rows.Seconds())
			complete.add(c.column, all.Seconds())
			if run == 0 {
				row := fmt.Sprintf("dashboard, resident MB with %d jobs and %d DataUploads", 2*b.jobs, b.uploads)
				b.table.row(row, "at most 150", "%.0f").add(c.column, float64(rss)/1e6)
			}
		}
	}
	if c, ok := b.k9s(); ok {
		t, err := open(b.command(ctx, b.Kubeconfig(), c.path, c.args(large)...), 160, 50)
		if err != nil {
			return err
		}
		defer t.stop()
		began := time.Now()
		at, err := t.sees(ctx, c.ready...)
		if err != nil {
			b.table.note("k9s: %v", err)
			return nil
		}
		first.add(c.column, at.Sub(began).Seconds())
	}
	return nil
}

// start starts a dashboard and measures how long it takes. Its memory is read only
// if that is wanted.
func (b *bench) start(
	ctx context.Context,
	c contender,
	namespace string,
	settle bool,
) (rows, all time.Duration, rss int64, err error) {
	began := time.Now()
	t, err := open(b.command(ctx, b.Kubeconfig(), c.path, c.args(namespace)...), 160, 50)
	if err != nil {
		return 0, 0, 0, err
	}
	defer t.stop()
	at, err := t.sees(ctx, "drill-")
	if err != nil {
		return 0, 0, 0, err
	}
	rows = at.Sub(began)
	at, err = t.waits(ctx, "every job", patience, func() bool { return b.complete(t.Screen()) })
	if err != nil {
		return rows, 0, 0, err
	}
	all = at.Sub(began)
	if settle {
		if err := pause(ctx, memorySettles); err != nil {
			return rows, all, 0, err
		}
		rss = used(t.Cmd.Process.Pid).rss
	}
	return rows, all, rss, nil
}

// counts are how many restores and backups the tabs say that there are.
var counts = regexp.MustCompile(`Restores ([\d,]+)[\] ].* Backups ([\d,]+)[\] ]`)

// complete reports whether a dashboard shows that it has read everything. Some
// restores of a fleet may have one name.
func (b *bench) complete(screen string) bool {
	found := counts.FindStringSubmatch(screen)
	if found == nil || !strings.Contains(screen, " live ") || strings.Contains(screen, "reading ") {
		return false
	}
	for _, text := range found[1:] {
		if n, err := strconv.Atoi(strings.ReplaceAll(text, ",", "")); err != nil || n < b.jobs-b.fleet.Running {
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

// pause waits.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
