package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/testbed"
)

// screenSettleTime is how long a program may take to calm down before it is measured.
const screenSettleTime = 15 * time.Second

// windowCount is how often each state of the cluster is measured.
const windowCount = 3

// screenProgram is a program on a terminal of 80x24, which asks the API server by way of a
// proxy that counts.
type screenProgram struct {
	contender
	*terminal
	proxy *testbed.CountingProxy
}

// measureScreens measures what programs cost while they only show: all of them at once,
// on the small cluster, while nothing runs, then one restore, then ten.
func (b *bench) measureScreens(ctx context.Context) error {
	contenders := append(b.listVeltuis(), b.veleroUnderWatch())
	if c, ok := b.findK9s(); ok {
		contenders = append(contenders, c)
	}
	var programs []screenProgram
	for _, c := range contenders {
		proxy, err := b.StartCountingProxy("counting-screen-" + strings.ReplaceAll(c.column, " ", "-"))
		if err != nil {
			return err
		}
		defer proxy.Close()
		t, err := openTerminal(b.newCommand(ctx, proxy.Kubeconfig(), c.path, c.args(smallNamespace)...), 80, 24)
		if err != nil {
			return err
		}
		defer t.stopProgram()
		programs = append(programs, screenProgram{c, t, proxy})
	}
	for _, p := range programs {
		if _, err := p.waitForWords(ctx, p.readyWords...); err != nil {
			return err
		}
	}
	location, stop := context.WithCancel(ctx)
	defer stop()
	go b.keepValidating(location)
	if err := b.measureScreen(ctx, programs, "nothing runs", "0", ""); err != nil {
		return err
	}
	for _, p := range programs {
		if strings.HasPrefix(p.column, columnVeltui) {
			b.table.findRow("small cluster, resident MB", "at most 50", "%.0f").
				addValues(p.column, float64(readUsage(p.Cmd.Process.Pid).rss)/1e6)
		}
	}
	one, err := b.startRestores(ctx, smallNamespace, 0, 1, time.Second)
	if err != nil {
		return err
	}
	defer one.stopAndDelete()
	if err := b.measureScreen(ctx, programs, "one restore runs", "at most 60", ""); err != nil {
		return err
	}
	nine, err := b.startRestores(ctx, smallNamespace, 1, 10, time.Second)
	if err != nil {
		return err
	}
	defer nine.stopAndDelete()
	return b.measureScreen(ctx, programs, "ten restores run", "at most 300", "under 1")
}

// keepValidating plays Velero's part once a minute.
func (b *bench) keepValidating(ctx context.Context) {
	for sleepContext(ctx, time.Minute) == nil {
		if err := b.validateLocation(ctx, smallNamespace); err != nil && ctx.Err() == nil {
			b.logProgress("validating the storage location: %v", err)
		}
	}
}

// measureScreen measures all programs in one state of the cluster.
func (b *bench) measureScreen(
	ctx context.Context,
	programs []screenProgram,
	state, bytesTarget, cpuTarget string,
) error {
	if err := sleepContext(ctx, screenSettleTime); err != nil {
		return err
	}
	type reading struct {
		bytes   int64
		usage   usage
		traffic testbed.Traffic
	}
	read := func(p screenProgram) reading {
		return reading{p.writtenBytes(), readUsage(p.Cmd.Process.Pid), p.proxy.ReadTraffic()}
	}
	before := make([]reading, len(programs))
	for i, p := range programs {
		before[i] = read(p)
	}
	for range windowCount {
		if err := sleepContext(ctx, b.window); err != nil {
			return err
		}
		for i, p := range programs {
			now := read(p)
			seconds := now.traffic.At.Sub(before[i].traffic.At).Seconds()
			add := func(name, target, format string, value float64) {
				b.table.findRow(fmt.Sprintf("%s: %s", state, name), target, format).addValues(p.column, value)
			}
			add("bytes/s to a terminal of 80x24", bytesTarget, "%.0f", float64(now.bytes-before[i].bytes)/seconds)
			add("CPU, percent of a core", cpuTarget, "%.1f", 100*(now.usage.cpu-before[i].usage.cpu).Seconds()/seconds)
			add("requests a minute", "", "%.0f", 60*float64(now.traffic.Requests-before[i].traffic.Requests)/seconds)
			add(
				"kB a minute from the API server",
				"",
				"%.0f",
				60*float64(now.traffic.ToClient-before[i].traffic.ToClient)/1e3/seconds,
			)
			before[i] = now
		}
	}
	return nil
}
