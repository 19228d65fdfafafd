package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

// options are the flags.
type options struct {
	veltui, before, kubectl, velero string
	only, out                       string

	jobs, uploads, running, runs, keys int
	window                             time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.veltui, "veltui", "", "the veltui to measure")
	flag.StringVar(&o.before, "before", "", "an older veltui to measure beside it")
	flag.StringVar(&o.kubectl, "kubectl", "kubectl", "the kubectl to measure")
	flag.StringVar(&o.velero, "velero", "velero", "the velero CLI to measure")
	flag.StringVar(&o.only, "only", "commands,start,keys,idle,screen", "which groups of figures to measure; "+
		"hold keeps the cluster for a profiler until it is interrupted")
	flag.StringVar(&o.out, "out", "", "a file for the table, beside standard output")
	flag.IntVar(&o.jobs, "jobs", 10_000, "backups, and restores, on the large cluster")
	flag.IntVar(&o.uploads, "uploads", 50_000, "DataUploads on the large cluster")
	flag.IntVar(&o.running, "running", 3, "how many of each on the large cluster have not ended, and stand still")
	flag.IntVar(&o.runs, "runs", 3, "runs of each command; what takes longer has fewer")
	flag.IntVar(&o.keys, "keys", 100, "keys a run")
	flag.DurationVar(&o.window, "window", 10*time.Second, "how long bytes and CPU are counted, three times each")
	flag.Parse()
	ctrllog.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := measureAll(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// measureAll runs everything and writes the table, also of what was measured before
// something went wrong.
func measureAll(ctx context.Context, o options) (err error) {
	b, err := newBench(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.stopCluster()) }()
	for _, group := range []struct {
		name    string
		measure func(context.Context) error
	}{
		{"commands", b.measureCommands},
		{"start", b.measureStarts},
		{"keys", b.measureKeyPresses},
		{"idle", b.measureIdle},
		{"screen", b.measureScreens},
		{"hold", b.holdCluster},
	} {
		if !strings.Contains(o.only, group.name) {
			continue
		}
		b.logProgress("measuring: %s", group.name)
		if failure := group.measure(ctx); failure != nil {
			err = errors.Join(err, fmt.Errorf("measuring %s: %w", group.name, failure))
		}
		if ctx.Err() != nil {
			break
		}
	}
	writers := []io.Writer{os.Stdout}
	if o.out != "" {
		file, openErr := os.Create(o.out)
		if openErr != nil {
			return errors.Join(err, openErr)
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		writers = append(writers, file)
	}
	return errors.Join(err, b.table.writeReport(io.MultiWriter(writers...), b))
}
