package cmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/session"
	"github.com/veltui/veltui/internal/stored/logs"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/watch"
)

type logsCommand struct {
	cli             *cli
	follow, volumes bool
	since           time.Duration
	level, output   string
	minLevel        logs.Level // parsed from level
}

func newLogsCommand(c *cli) *cobra.Command {
	f := logsCommand{cli: c}
	cmd := &cobra.Command{
		Use:   "logs KIND/NAME",
		Short: "Print what Velero logged of a backup or restore",
		Long: `Print what Velero logged of a backup or restore.

If the job has ended, veltui downloads its stored log through Velero; for this you
need the right to create downloadrequests.velero.io. If it has not, veltui prints
the job's lines from the logs of Velero's server pods, including the container that
ran before the present one; for this you need the right to get pods/log. If the
stored log cannot be read, veltui prints what the server's pods still have.

With -f, veltui prints new lines until the job ends or you interrupt it. It
reconnects when the connection is lost or the server restarts.

With --volumes, it adds the node-agents' lines about the job's volumes, and the
logs of the pods that move them, each with the name of the pod.

Lines go to standard output as they were written, sorted by time. Standard error
says where lines are missing.`,
		Example: `  veltui logs restore/shop-restore-2

  # Errors and warnings of the last ten minutes, and new ones as they come
  veltui logs backup/nightly-20261120 -f --since 10m --level warning

  # With everything that was logged about the volumes
  veltui logs backup/media-nightly --volumes

  # What went wrong, by message
  veltui logs restore/shop-restore-2 -o json --level error | jq -r .text | sort | uniq -c`,
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			f.minLevel = logs.ParseLevel(f.level)
			switch {
			case f.level != "" && f.minLevel == logs.NoLevel:
				return usageErrorf("--level %s: expected %s", f.level, joinWithOr(levelNames))
			case f.since < 0 || f.since == 0 && cmd.Flags().Changed("since"):
				return usageErrorf("--since %s: expected a duration above zero, such as 10m", f.since)
			}
			return nil
		},
	}
	cmd.Flags().BoolVarP(&f.follow, "follow", "f", false, "Print new lines until the job ends")
	cmd.Flags().DurationVar(&f.since, "since", 0, "Only lines newer than this, such as 10m")
	cmd.Flags().StringVar(&f.level, "level", "", "Only lines of this level and above: "+joinWithOr(levelNames))
	cmd.Flags().
		BoolVar(&f.volumes, "volumes", false, "Also print what node-agents and mover pods log about the job's volumes")
	addChoiceFlag(cmd, &f.output, "output", "o", "text or json (a document per line)", "text", "json")
	c.addStoreCAFlag(cmd, cmd.Flags())
	completeFlag(cmd, "level", completeFixed(levelNames))
	return c.requireOneJob(cmd, f.runLogs)
}

var levelNames = []string{"trace", "debug", "info", "warning", "error"}

var errJobEnded = errors.New("the job ended")

const endGracePeriod = 3 * time.Second

func (f *logsCommand) runLogs(ctx context.Context, selected selection) error {
	snap, j, err := f.cli.readJob(ctx, selected, watch.Query{EndedVolumes: true, SkipVerdicts: true})
	if err != nil {
		return err
	}
	var notStored error
	if f.cli.settings.isReadOnly() {
		notStored = cluster.ErrReadOnlyLog
	}
	q := logs.Query{Job: j, Follow: f.follow && !j.IsTerminal(), Volumes: f.volumes}
	if f.since > 0 {
		q.Since = snap.At.Add(-f.since)
	}
	reading, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if q.Follow {
		conn, err := f.cli.connector.openConnection()
		if err != nil {
			return err
		}
		if _, err := conn.Session.Identify(ctx); err != nil {
			return err
		}
		go stopAtJobEnd(reading, f.cli.connector.watchOptions(conn), j, stop)
	}
	waiting := f.cli.stdio.warnSlow(waitingForStoredText)
	if j.IsTerminal() && notStored == nil {
		waiting(fmt.Sprintf("the log of %s %s", j.Kind.Noun(), j.Name))
	}
	p := logPrinter{
		out:           bufio.NewWriter(f.cli.stdio.streams.Out),
		errOut:        f.cli.stdio.streams.ErrOut,
		json:          f.output == "json",
		minLevel:      f.minLevel,
		flushEachLine: q.Follow,
		clock:         f.cli.process.clock,
	}
	err = f.cli.newCluster().
		NewLogReader(j.Namespace, notStored).
		Read(reading, q, logs.Output{OnLine: p.acceptEntry, OnOrigin: func(from logs.Origin) {
			waiting("")
			p.queueOriginNotes(from)
		}})
	waiting("")
	if flushed := p.out.Flush(); flushed != nil && (err == nil || reading.Err() != nil) {
		err = flushed
	}
	var printing outputError
	var moved *session.MovedError
	switch {
	case errors.As(err, &printing):
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(context.Cause(reading), &moved):
		return moved
	case errors.Is(context.Cause(reading), errJobEnded):
		p.printNote("%s %s has ended", j.Kind.Noun(), j.Name)
	case err != nil:
		return fmt.Errorf("the log of %s %s: %w", j.Kind.Noun(), j.Name, cluster.WithLogRightsAdvice(err, j.Namespace))
	}
	if p.printedCount == 0 {
		p.printNote("%s", f.nothingLoggedText(j, p.seenCount))
	}
	return nil
}

const endCheckInterval = 2 * time.Second

// stopAtJobEnd ends the reading soon after the job has ended, or if the context leads to another cluster.
func stopAtJobEnd(ctx context.Context, o watch.Options, j *job.Job, stop context.CancelCauseFunc) {
	o.Namespace = j.Namespace
	q := watch.Query{
		JobNames:       []watch.JobName{{Resource: kindResource(j.Kind), Name: j.Name}},
		SkipVerdicts:   true,
		SilenceTimeout: firstSnapshotTimeout,
	}
	tick := time.NewTicker(endCheckInterval)
	defer tick.Stop()
	for ended := false; !ended; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		var moved *session.MovedError
		if err := o.Session.CheckCluster(ctx); errors.As(err, &moved) {
			stop(err)
			return
		}
		o.Config = o.Session.RESTConfig()
		snap, err := watch.Read(ctx, o, q)
		if err != nil ||
			slices.ContainsFunc(snap.Sources, func(s watch.Source) bool { return s.State != watch.SourceLive }) {
			continue
		}
		ended = !slices.ContainsFunc(snap.Jobs, func(now *job.Job) bool { return now.UID == j.UID && !now.IsTerminal() })
	}
	timer := time.NewTimer(endGracePeriod)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	stop(errJobEnded)
}

func (f *logsCommand) nothingLoggedText(j *job.Job, seen int) string {
	text := fmt.Sprintf("no line about %s %s", j.Kind.Noun(), j.Name)
	if f.since > 0 {
		text += " in the last " + f.since.String()
	}
	if f.minLevel != logs.NoLevel && seen > 0 {
		text += fmt.Sprintf(" is of level %s or above", f.minLevel)
	} else {
		text += " was logged"
	}
	return text
}

type logPrinter struct {
	out                     *bufio.Writer
	errOut                  io.Writer
	json                    bool
	minLevel                logs.Level
	flushEachLine           bool // each line is written at once; else lines wait for at most flushInterval
	clock                   func() time.Time
	flushedAt               time.Time
	lastLevelPrinted        bool // true if the last line with a level was printed
	seenCount, printedCount int
	pendingNotes            []string // printed before the first line
}

const flushInterval = 100 * time.Millisecond // before lines are written together

func (p *logPrinter) acceptEntry(e logs.Entry) error {
	for _, text := range p.pendingNotes {
		p.printNote("%s", text)
	}
	p.pendingNotes = nil
	switch e.Level {
	case logs.Notice:
		if err := p.out.Flush(); err != nil {
			return err
		}
		p.printNote("%s", e.Raw)
		return nil
	case logs.NoLevel:
	default:
		p.lastLevelPrinted = e.Level >= p.minLevel
	}
	if p.seenCount++; !p.lastLevelPrinted && p.minLevel != logs.NoLevel {
		return nil
	}
	p.printedCount++
	if err := p.printEntry(e); err != nil {
		return err
	}
	if now := p.clock(); p.flushEachLine || now.Sub(p.flushedAt) > flushInterval {
		p.flushedAt = now
		return p.out.Flush()
	}
	return nil
}

func (p *logPrinter) printEntry(e logs.Entry) error {
	if p.json {
		l := e.ParseLine()
		d := document.LogLine{
			Time:  document.Moment{Time: l.At},
			Level: l.Level.String(),
			Pod:   l.Source,
			Text:  l.Text,
			Error: l.Error,
		}
		for _, field := range l.Fields {
			if d.Fields == nil {
				d.Fields = map[string]string{}
			}
			d.Fields[field.Name] = field.Value
		}
		text, err := document.Encode(d, "")
		if err == nil {
			_, err = p.out.Write(text)
		}
		return err
	}
	text := e.PrefixedText()
	if !e.HasContinuation {
		text += "\n"
	}
	_, err := p.out.WriteString(text)
	return err
}

func (p *logPrinter) printNote(format string, args ...any) {
	fmt.Fprintln(p.errOut, sanitize.FullLine(fmt.Sprintf(format, args...)))
}

func (p *logPrinter) queueOriginNotes(from logs.Origin) {
	if from.NotStored != nil {
		p.pendingNotes = []string{"warning: the stored log cannot be read: " + from.NotStored.Error(),
			"These are the lines that the server's pods still have (" + strings.Join(from.Pods, ", ") + ")."}
	}
}
