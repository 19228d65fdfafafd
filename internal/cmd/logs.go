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
	*cli
	follow, volumes bool
	since           time.Duration
	level, output   string
	least           logs.Level // as level names it
}

func newLogs(c *cli) *cobra.Command {
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
			f.least = logs.ParseLevel(f.level)
			switch {
			case f.level != "" && f.least == logs.NoLevel:
				return usagef("--level %s: expected %s", f.level, oneOf(levelNames))
			case f.since < 0 || f.since == 0 && cmd.Flags().Changed("since"):
				return usagef("--since %s: expected a duration above zero, such as 10m", f.since)
			}
			return nil
		},
	}
	cmd.Flags().BoolVarP(&f.follow, "follow", "f", false, "Print new lines until the job ends")
	cmd.Flags().DurationVar(&f.since, "since", 0, "Only lines newer than this, such as 10m")
	cmd.Flags().StringVar(&f.level, "level", "", "Only lines of this level and above: "+oneOf(levelNames))
	cmd.Flags().
		BoolVar(&f.volumes, "volumes", false, "Also print what node-agents and mover pods log about the job's volumes")
	addChoice(cmd, &f.output, "output", "o", "text or json (a document per line)", "text", "json")
	c.addCAFile(cmd, cmd.Flags())
	completeFlag(cmd, "level", fixed(levelNames))
	return c.forJob(cmd, f.run)
}

var levelNames = []string{"trace", "debug", "info", "warning", "error"}

var errJobEnded = errors.New("the job ended")

const afterEnd = 3 * time.Second

func (f *logsCommand) run(ctx context.Context, selected selection) error {
	snap, j, err := f.readJob(ctx, selected, watch.Query{Volumes: true, NoVerdict: true})
	if err != nil {
		return err
	}
	var notStored error
	if f.isReadOnly() {
		notStored = cluster.ErrReadOnlyLog
	}
	q := logs.Query{Job: j, Follow: f.follow && !j.Terminal(), Volumes: f.volumes}
	if f.since > 0 {
		q.Since = snap.At.Add(-f.since)
	}
	reading, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if q.Follow {
		conn, err := f.connect()
		if err != nil {
			return err
		}
		if _, err := conn.Session.Identify(ctx); err != nil {
			return err
		}
		go awaitEnd(reading, f.watchOptions(conn), j, stop)
	}
	waiting := f.tellSlow(waitingForStored)
	if j.Terminal() && notStored == nil {
		waiting(fmt.Sprintf("the log of %s %s", j.Kind.Word(), j.Name))
	}
	p := logPrinter{
		out:    bufio.NewWriter(f.streams.Out),
		errOut: f.streams.ErrOut,
		json:   f.output == "json",
		least:  f.least,
		eager:  q.Follow,
		clock:  f.clock,
	}
	err = f.inspected().
		LogReader(j.Namespace, notStored).
		Read(reading, q, logs.Output{Line: p.line, Origin: func(from logs.Origin) {
			waiting("")
			p.origin(from)
		}})
	waiting("")
	if flushed := p.out.Flush(); flushed != nil && (err == nil || reading.Err() != nil) {
		err = flushed
	}
	var printing printError
	var moved *session.MovedError
	switch {
	case errors.As(err, &printing):
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(context.Cause(reading), &moved):
		return moved
	case errors.Is(context.Cause(reading), errJobEnded):
		p.note("%s %s has ended", j.Kind.Word(), j.Name)
	case err != nil:
		return fmt.Errorf("the log of %s %s: %w", j.Kind.Word(), j.Name, cluster.WithRights(err, j.Namespace))
	}
	if p.printed == 0 {
		p.note("%s", f.nothingLogged(j, p.seen))
	}
	return nil
}

const endCheck = 2 * time.Second

// awaitEnd ends the reading soon after the job ended, or if the context leads elsewhere.
func awaitEnd(ctx context.Context, o watch.Options, j *job.Job, stop context.CancelCauseFunc) {
	o.Namespace = j.Namespace
	q := watch.Query{
		Names:     []watch.JobName{{Resource: resourceOf(j.Kind), Name: j.Name}},
		NoVerdict: true,
		Silence:   firstSnapshotTimeout,
	}
	tick := time.NewTicker(endCheck)
	defer tick.Stop()
	for ended := false; !ended; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		var moved *session.MovedError
		if err := o.Session.Check(ctx); errors.As(err, &moved) {
			stop(err)
			return
		}
		o.Config = o.Session.Config()
		snap, err := watch.Read(ctx, o, q)
		if err != nil ||
			slices.ContainsFunc(snap.Sources, func(s watch.Source) bool { return s.State != watch.SourceLive }) {
			continue
		}
		ended = !slices.ContainsFunc(snap.Jobs, func(now *job.Job) bool { return now.UID == j.UID && !now.Terminal() })
	}
	timer := time.NewTimer(afterEnd)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	stop(errJobEnded)
}

func (f *logsCommand) nothingLogged(j *job.Job, seen int) string {
	text := fmt.Sprintf("no line about %s %s", j.Kind.Word(), j.Name)
	if f.since > 0 {
		text += " in the last " + f.since.String()
	}
	if f.least != logs.NoLevel && seen > 0 {
		text += fmt.Sprintf(" is of level %s or above", f.least)
	} else {
		text += " was logged"
	}
	return text
}

type logPrinter struct {
	out           *bufio.Writer
	errOut        io.Writer
	json          bool
	least         logs.Level
	eager         bool // each line is written at once; else they wait for collected at most
	clock         func() time.Time
	flushed       time.Time
	wanted        bool // the last line with a level was printed
	seen, printed int
	before        []string // to be said before the first line
}

const collected = 100 * time.Millisecond // before lines are written together

func (p *logPrinter) line(e logs.Entry) error {
	for _, text := range p.before {
		p.note("%s", text)
	}
	p.before = nil
	switch e.Level {
	case logs.Mark:
		if err := p.out.Flush(); err != nil {
			return err
		}
		p.note("%s", e.Raw)
		return nil
	case logs.NoLevel:
	default:
		p.wanted = e.Level >= p.least
	}
	if p.seen++; !p.wanted && p.least != logs.NoLevel {
		return nil
	}
	p.printed++
	if err := p.print(e); err != nil {
		return err
	}
	if now := p.clock(); p.eager || now.Sub(p.flushed) > collected {
		p.flushed = now
		return p.out.Flush()
	}
	return nil
}

func (p *logPrinter) print(e logs.Entry) error {
	if p.json {
		l := e.Parse()
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
	text := e.Text()
	if !e.Open {
		text += "\n"
	}
	_, err := p.out.WriteString(text)
	return err
}

func (p *logPrinter) note(format string, args ...any) {
	fmt.Fprintln(p.errOut, sanitize.Whole(fmt.Sprintf(format, args...)))
}

func (p *logPrinter) origin(from logs.Origin) {
	if from.NotStored != nil {
		p.before = []string{"warning: the stored log cannot be read: " + from.NotStored.Error(),
			"These are the lines that the server's pods still have (" + strings.Join(from.Pods, ", ") + ")."}
	}
}
