package jobview

import (
	"context"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/ui/keys"
)

// report is a document about the job. unsaved is why it is in no file.
type report struct {
	text, path string
	unsaved    error
}

// reportKeys make the document and save it, and copy it.
func (s *Screen) reportKeys() []keys.Binding {
	r := &s.report
	return []keys.Binding{
		{
			Name:    "report",
			Keys:    []string{"p"},
			Label:   "p",
			What:    "save a report",
			Group:   keys.Look,
			On:      func() bool { return s.sources.Unavailable(cluster.Reports) == "" && s.job.Job != nil && !s.deleted },
			WhatNow: keys.Either(r.Pending, "cancel the report", "save a report"),
			Do: func(string) tea.Cmd {
				if r.Pending() {
					r.Close()
					return noticed("veltui no longer makes the report.")
				}
				return saveAs(s.newFile("veltui-report", ".md"), s.makeReport)
			},
		},
		{Name: "copy-report", Keys: []string{"P"}, Label: "P", What: "copy the report", Group: keys.Look,
			On: func() bool { return r.Value.text != "" },
			Do: func(string) tea.Cmd {
				return s.sources.CopyText(
					"the report",
					r.Value.text,
					"It is in the file that "+s.sources.Keys.Key("report")+" saves.",
				)
			}},
	}
}

// makeReport makes the document on the job as it is now, and saves it to a new file.
func (s *Screen) makeReport(path string) tea.Cmd {
	assessed, judged := s.assessed, s.job
	s.report.Outdate()
	by := fetch.Asker{Start: s.sources.Start, Clock: s.sources.Clock, Answered: s.handleReport}
	cmd := s.report.Ask(by, 0, func(ctx context.Context) (made report, err error) {
		if judged.Job, err = s.sources.withVolumes(ctx, judged.Job); err != nil {
			return made, err
		}
		if made.text, err = s.sources.Report(ctx, assessed, judged); err == nil && ctx.Err() == nil {
			made.path, made.unsaved = s.sources.Save(path, []byte(made.text))
		}
		return made, err
	})
	return tea.Batch(
		cmd,
		noticed(
			fmt.Sprintf(
				"Making the report on %s %s. It can take more than a minute; %s cancels it.",
				judged.Kind.Word(),
				judged.Name,
				s.sources.Keys.Key("report"),
			),
		),
	)
}

// handleReport says where the document is.
func (s *Screen) handleReport() tea.Cmd {
	if s.report.Err != nil {
		return noticed("There is no report: " + s.report.Err.Error())
	}
	made := s.report.Value
	said := fmt.Sprintf("The report is in %s (%s).", made.path, human.Bytes(int64(len(made.text))))
	if made.unsaved != nil {
		said = "The report is not saved: " + made.unsaved.Error() + "."
	}
	switch {
	case s.sources.WhyNoClipboard != "":
	case len(made.text) > MaxCopied:
		said += " It is too large for a terminal's clipboard."
	default:
		said += fmt.Sprintf(" %s copies it.", s.sources.Keys.Key("copy-report"))
	}
	return noticed(said)
}
