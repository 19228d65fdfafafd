package cmd

import (
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/cli-runtime/pkg/printers"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/ui"
	"github.com/veltui/veltui/watch"
)

// tablePrinter writes one line a job, in columns as kubectl does.
type tablePrinter struct {
	w    io.Writer
	wide bool
}

func (p *tablePrinter) list(jobs []*job.Job, s job.Surroundings) error {
	if len(jobs) == 0 {
		return nil
	}
	w := printers.GetNewTabWriter(p.w)
	if err := p.header(w); err != nil {
		return err
	}
	for _, j := range jobs {
		if err := p.row(w, watch.Change{Job: j}, s); err != nil {
			return err
		}
	}
	return w.Flush()
}

func (p *tablePrinter) change(c watch.Change, s job.Surroundings) error {
	w := printers.GetNewTabWriter(p.w)
	if err := p.row(w, c, s); err != nil {
		return err
	}
	return w.Flush()
}

func (p *tablePrinter) header(w io.Writer) error {
	titles := []string{"KIND", "NAME", "STAGE", "PROGRESS", "DONE", "ETA", "VERDICT", "AGE"}
	if p.wide {
		titles = append(titles, "PHASE", "RATE", "VOLUMES", "OPERATIONS", "ERRORS", "WARNINGS", "FROM")
	}
	_, err := fmt.Fprintln(w, strings.Join(titles, "\t"))
	return err
}

func (p *tablePrinter) row(w io.Writer, c watch.Change, s job.Surroundings) error {
	j := c.Job
	progress, done, eta, speed := "-", "-", "-", "-"
	if j.FractionKnown {
		progress = ui.Percent(j.Fraction)
	}
	amount, total, unit, known := j.Progress()
	if known {
		done = ui.Amount(amount, total, unit)
	}
	if left, ok := j.ETA(s.Now); ok {
		eta = ui.Duration(left)
	}
	if perSecond, ok := j.Rate(s.Now); ok {
		speed = ui.Rate(perSecond, unit)
	}
	stage, verdict := string(j.Stage), string(j.Verdict(s).State)
	switch {
	case c.Deleted:
		stage = "Deleted"
	case j.Terminal() || j.Stage == job.StageUnknown:
		stage = j.Phase
	}
	if verdict == "" {
		verdict = "-"
	}
	cells := []string{strings.ToLower(string(j.Kind)), j.Name, stage, progress, done, eta, verdict, age(s.Now, j.Began())}
	if p.wide {
		cells = append(cells, dash(j.Phase), speed, fmt.Sprint(len(j.Volumes)),
			fmt.Sprintf("%d/%d", j.Operations.Completed+j.Operations.Failed, j.Operations.Attempted),
			fmt.Sprint(j.Errors), fmt.Sprint(j.Warnings), dash(from(j)))
	}
	_, err := fmt.Fprintln(w, strings.Join(cells, "\t"))
	return err
}

func age(now, created time.Time) string {
	if created.IsZero() {
		return "-"
	}
	return ui.Duration(now.Sub(created))
}

func from(j *job.Job) string {
	switch {
	case j.BackupName != "":
		return "backup/" + j.BackupName
	case j.ScheduleName != "":
		return "schedule/" + j.ScheduleName
	}
	return ""
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
