package main

import (
	"context"
	"fmt"
	"os"
	"time"
)

// measureIdle measures the processor time of a dashboard of the large cluster in which only one restore moves.
func (b *bench) measureIdle(ctx context.Context) error {
	one, err := b.startRestores(ctx, largeNamespace, 0, 1, time.Second)
	if err != nil {
		return err
	}
	defer one.stopAndDelete()
	var programs []*terminal
	veltuis := b.listVeltuis()
	for _, c := range veltuis {
		t, err := openTerminal(b.newCommand(ctx, b.Kubeconfig(), c.path, c.args(largeNamespace)...), 120, 40)
		if err != nil {
			return err
		}
		defer t.stopProgram()
		programs = append(programs, t)
	}
	for _, t := range programs {
		complete := func() bool { return b.isComplete(t.ScreenText()) }
		if _, err := t.waitUntil(ctx, "every job", screenLimit, complete); err != nil {
			return err
		}
	}
	if err := sleepContext(ctx, screenSettleTime); err != nil {
		return err
	}
	row := b.table.findRow("large cluster, one restore runs: CPU, percent of a core", "at most 2", "%.1f")
	before, at := make([]usage, len(programs)), time.Now()
	for i, t := range programs {
		before[i] = readUsage(t.Cmd.Process.Pid)
	}
	for range windowCount {
		if err := sleepContext(ctx, b.window); err != nil {
			return err
		}
		seconds := time.Since(at).Seconds()
		at = time.Now()
		for i, t := range programs {
			now := readUsage(t.Cmd.Process.Pid)
			row.addValues(veltuis[i].column, 100*(now.cpu-before[i].cpu).Seconds()/seconds)
			before[i] = now
		}
	}
	return nil
}

// holdCluster keeps the cluster until the benchmark is interrupted, for a profiler, with one running restore.
func (b *bench) holdCluster(ctx context.Context) error {
	one, err := b.startRestores(ctx, largeNamespace, 0, 1, time.Second)
	if err != nil {
		return err
	}
	defer one.stopAndDelete()
	fmt.Fprintln(os.Stderr, "KUBECONFIG="+b.Kubeconfig())
	<-ctx.Done()
	return nil
}
