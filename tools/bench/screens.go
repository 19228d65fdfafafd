package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/testbed"
)

// screenSettles is how long a program may take to calm down before it is measured.
const screenSettles = 15 * time.Second

// windows is how often each state of the cluster is measured.
const windows = 3

// shown is a program on a terminal of 80x24, which asks the API server by way of a
// proxy that counts.
type shown struct {
	contender
	*terminal
	proxy *testbed.CountingProxy
}

// screens measures what programs cost while they only show: all of them at once,
// on the small cluster, while nothing runs, then one restore, then ten.
func (b *bench) screens(ctx context.Context) error {
	contenders := append(b.veltuis(), b.watched())
	if c, ok := b.k9s(); ok {
		contenders = append(contenders, c)
	}
	var programs []shown
	for _, c := range contenders {
		proxy, err := b.Counting("counting-screen-" + strings.ReplaceAll(c.column, " ", "-"))
		if err != nil {
			return err
		}
		defer proxy.Close()
		t, err := open(b.command(ctx, proxy.Kubeconfig(), c.path, c.args(small)...), 80, 24)
		if err != nil {
			return err
		}
		defer t.stop()
		programs = append(programs, shown{c, t, proxy})
	}
	for _, p := range programs {
		if _, err := p.sees(ctx, p.ready...); err != nil {
			return err
		}
	}
	location, stop := context.WithCancel(ctx)
	defer stop()
	go b.validates(location)
	if err := b.shows(ctx, programs, "nothing runs", "0", ""); err != nil {
		return err
	}
	for _, p := range programs {
		if strings.HasPrefix(p.column, columnVeltui) {
			b.table.row("small cluster, resident MB", "at most 50", "%.0f").
				add(p.column, float64(used(p.Cmd.Process.Pid).rss)/1e6)
		}
	}
	one, err := b.restores(ctx, small, 0, 1, time.Second)
	if err != nil {
		return err
	}
	defer one.stop()
	if err := b.shows(ctx, programs, "one restore runs", "at most 60", ""); err != nil {
		return err
	}
	nine, err := b.restores(ctx, small, 1, 10, time.Second)
	if err != nil {
		return err
	}
	defer nine.stop()
	return b.shows(ctx, programs, "ten restores run", "at most 300", "under 1")
}

// validates plays Velero's part once a minute.
func (b *bench) validates(ctx context.Context) {
	for pause(ctx, time.Minute) == nil {
		if err := b.validate(ctx, small); err != nil && ctx.Err() == nil {
			b.say("validating the storage location: %v", err)
		}
	}
}

// shows measures all programs in one state of the cluster.
func (b *bench) shows(ctx context.Context, programs []shown, state, bytesTarget, cpuTarget string) error {
	if err := pause(ctx, screenSettles); err != nil {
		return err
	}
	type reading struct {
		bytes   int64
		usage   usage
		traffic testbed.Traffic
	}
	read := func(p shown) reading { return reading{p.written(), used(p.Cmd.Process.Pid), p.proxy.Read()} }
	before := make([]reading, len(programs))
	for i, p := range programs {
		before[i] = read(p)
	}
	for range windows {
		if err := pause(ctx, b.window); err != nil {
			return err
		}
		for i, p := range programs {
			now := read(p)
			seconds := now.traffic.At.Sub(before[i].traffic.At).Seconds()
			add := func(name, target, format string, value float64) {
				b.table.row(fmt.Sprintf("%s: %s", state, name), target, format).add(p.column, value)
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
