package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// commandLimit is how long a command may take.
const commandLimit = 2 * time.Minute

// commandCall is a command that runs to its end.
type commandCall struct {
	contender
	args []string
	runs int
}

// measureCommands measures a table of all restores, and one restore by its name.
func (b *bench) measureCommands(ctx context.Context) error {
	var name string
	for o, err := range b.fleet.Objects() {
		if err != nil {
			return err
		}
		if o.GetObjectKind().GroupVersionKind().Kind == "Restore" {
			name = o.GetName() // the newest, which runs
			break
		}
	}
	all := []commandCall{
		{
			contender{column: columnKubectl, path: b.kubectl},
			[]string{"get", "restores.velero.io", "-n", largeNamespace},
			b.runs,
		},
		{contender{column: columnVelero, path: b.velero}, []string{"restore", "get", "-n", largeNamespace}, b.runs},
	}
	one := []commandCall{
		{
			contender{column: columnKubectl, path: b.kubectl},
			[]string{"get", "restores.velero.io", name, "-n", largeNamespace},
			b.runs,
		},
		{contender{column: columnVelero, path: b.velero}, []string{"restore", "get", name, "-n", largeNamespace}, b.runs},
	}
	for _, c := range b.listVeltuis() {
		runs := b.runs
		if c.column == columnBefore {
			runs = min(runs, 2) // it takes half a minute
		}
		all = append(all, commandCall{c, []string{"get", "restores", "-n", largeNamespace}, runs})
		one = append(one, commandCall{c, []string{"get", "restore/" + name, "-n", largeNamespace}, runs})
	}
	restores := fmt.Sprintf("`get restores` of %d", b.jobs)
	if err := b.compareCalls(ctx, restores, "at most 0.7 times velero", all); err != nil {
		return err
	}
	return b.compareCalls(ctx, "`get restore/NAME`", "at most 1.5 times kubectl, under 0.3 s", one)
}

// compareCalls runs calls in turn, so that what else the machine does hits all of them,
// and once more through a proxy that counts.
func (b *bench) compareCalls(ctx context.Context, name, target string, calls []commandCall) error {
	took := b.table.findRow(name+", seconds", target, "%.2f")
	processor := b.table.findRow(name+", processor seconds", "", "%.2f")
	memory := b.table.findRow(name+", peak MB", "", "%.0f")
	requests := b.table.findRow(name+", requests", "", "%.0f")
	traffic := b.table.findRow(name+", kB from the API server", "", "%.0f")
	for run := range b.runs + 1 {
		for _, c := range calls {
			if run > c.runs {
				continue
			}
			if run == 0 {
				proxy, err := b.StartCountingProxy("counting-" + strings.ReplaceAll(c.column, " ", "-"))
				if err != nil {
					return err
				}
				for range 2 { // the first also fills the cache of discovery that kubectl keeps on disk
					before := proxy.ReadTraffic()
					if _, _, err := b.runOnce(ctx, proxy.Kubeconfig(), c); err != nil {
						break // the runs below say so
					}
					now := proxy.ReadTraffic()
					requests.values[c.column] = sample{float64(now.Requests - before.Requests)}
					traffic.values[c.column] = sample{float64(now.ToClient-before.ToClient) / 1e3}
					if c.column == columnBefore {
						break // it is slow, and keeps nothing
					}
				}
				proxy.Close()
				continue
			}
			seconds, used, err := b.runOnce(ctx, b.Kubeconfig(), c)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				took.placeholders[c.column] = fmt.Sprintf("fails after %.0f s", seconds)
				b.table.addNote("%s, %s: %v", name, c.column, err)
				continue
			}
			took.addValues(c.column, seconds)
			processor.addValues(c.column, used.cpu.Seconds())
			memory.addValues(c.column, float64(used.rss)/1e6)
		}
	}
	return nil
}

// runOnce runs a call to its end: how long it took, and its processor time with the most memory that it had.
func (b *bench) runOnce(
	ctx context.Context,
	kubeconfig string,
	c commandCall,
) (seconds float64, used usage, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, commandLimit, errors.New("it took too long"))
	defer cancel()
	cmd := b.newCommand(ctx, kubeconfig, c.path, c.args...)
	var said strings.Builder
	out, err := os.CreateTemp(b.Dir(), "out-")
	if err != nil {
		return 0, usage{}, err
	}
	defer func() { _ = out.Close(); _ = os.Remove(out.Name()) }()
	cmd.Stdout, cmd.Stderr = out, &said
	began := time.Now()
	err = cmd.Run()
	seconds = time.Since(began).Seconds()
	if err != nil {
		return seconds, usage{}, fmt.Errorf("%w: %s", err, lastLine(said.String()))
	}
	used.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if counted, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		used.rss = counted.Maxrss * 1024 // Linux counts kilobytes
	}
	return seconds, used, nil
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
