package cmd

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/human"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/sanitize"
	"github.com/veltui/veltui/watch"
)

// tablePrinter writes one line a job, in columns as kubectl does. Changes keep
// to the columns of the table that came before them.
type tablePrinter struct {
	w      io.Writer
	wide   bool
	widths []int
}

var (
	tableTitles = []string{"KIND", "NAME", "STAGE", "PROGRESS", "DONE", "ETA", "ERRORS", "WARNINGS", "VERDICT", "AGE"}
	wideTitles  = []string{"PHASE", "RATE", "VOLUMES", "OPERATIONS", "FROM"}
)

func (p *tablePrinter) showsVolumes() bool { return p.wide }

func (p *tablePrinter) list(clusters []clusterJobs, several bool) error {
	titles := tableTitles
	if p.wide {
		titles = slices.Concat(tableTitles, wideTitles)
	}
	if several {
		titles = slices.Concat([]string{"CONTEXT"}, titles)
	}
	lines := [][]string{titles}
	for _, c := range clusters {
		for _, j := range c.jobs {
			cells := p.cells(watch.Change{Job: j}, c.assessed)
			if several {
				cells = slices.Concat([]string{sanitize.String(c.context)}, cells)
			}
			lines = append(lines, cells)
		}
	}
	if len(lines) == 1 {
		lines = nil
	}
	return p.print(lines)
}

func (p *tablePrinter) change(c watch.Change, a *assess.Assessment) error {
	return p.print([][]string{p.cells(c, a)})
}

// print aligns lines to columns that only ever get wider.
func (p *tablePrinter) print(lines [][]string) error {
	for _, cells := range lines {
		for i, cell := range cells {
			if i >= len(p.widths) {
				p.widths = append(p.widths, 0)
			}
			p.widths[i] = max(p.widths[i], ansi.StringWidth(cell))
		}
	}
	var text strings.Builder
	for _, cells := range lines {
		var line strings.Builder
		for i, cell := range cells {
			line.WriteString(cell + strings.Repeat(" ", p.widths[i]-ansi.StringWidth(cell)+3))
		}
		text.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, err := io.WriteString(p.w, text.String())
	return err
}

func (p *tablePrinter) cells(c watch.Change, a *assess.Assessment) []string {
	j := a.Of(c.Job)
	progress := ""
	if j.FractionKnown {
		progress = human.Percent(j.Fraction)
	}
	stage := string(j.Stage)
	switch {
	case c.Deleted:
		stage = "Deleted"
	case j.Terminal() || j.Stage == job.StageUnknown:
		stage = j.Phase
	}
	verdict := dash(string(j.Verdict.State))
	if len(j.Malformed) > 0 {
		verdict = fmt.Sprintf("malformed: %s %s", j.Malformed[0].Field, j.Malformed[0].Value)
	}
	cells := []string{strings.ToLower(string(j.Kind)), j.Name, stage, dash(progress), dash(j.Amount()), dash(j.ETA.String()),
		dash(countText(j.Errors)), dash(countText(j.Warnings)), verdict, dash(human.Age(j.Began(), a.Environment.Now))}
	if p.wide {
		cells = append(cells, dash(j.Phase), dash(j.Rate.String()), fmt.Sprint(len(j.Volumes)),
			fmt.Sprintf("%d/%d", j.Operations.Completed+j.Operations.Failed, j.Operations.Attempted), dash(from(j.Job)))
	}
	return cells
}

// countText is a count, empty for none.
func countText(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
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
