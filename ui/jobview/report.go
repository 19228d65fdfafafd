package jobview

import (
	"context"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/ui/keys"
)

// reporting is a document about the job: the last one, and the one that is being made.
type reporting struct {
	cancel context.CancelFunc // of the one that is being made; nil if none is
	n      int                // counts those that were asked for
	text   string             // of the last one, empty if there is none
}

// reportMade brings a document. unsaved is why it is in no file.
type reportMade struct {
	to           *reporting
	n            int
	text, path   string
	err, unsaved error
}

// reportKeys make the document and save it, and copy it.
func (s *Screen) reportKeys() []keys.Binding {
	r := &s.report
	return []keys.Binding{
		{Name: "report", Keys: []string{"p"}, Label: "p", What: "save a report", Group: keys.Look,
			On: func() bool { return s.sources.Reporter != nil && s.job.Job != nil && !s.deleted },
			WhatNow: func() string {
				if r.cancel != nil {
					return "cancel the report"
				}
				return "save a report"
			},
			Do: func(string) tea.Cmd {
				if r.cancel != nil {
					r.close()
					return noticed("veltui no longer makes the report.")
				}
				return s.makeReport()
			}},
		{Name: "copy-report", Keys: []string{"P"}, Label: "P", What: "copy the report", Group: keys.Look,
			On: func() bool { return r.text != "" },
			Do: func(string) tea.Cmd {
				return s.sources.copyText("the report", r.text, "It is in the file that "+s.sources.Keys.Key("report")+" saves.")
			}},
	}
}

// makeReport makes the document on the job as it is now, and saves it.
func (s *Screen) makeReport() tea.Cmd {
	r, assessed, judged := &s.report, s.assessed, s.job
	reporter, withVolumes := s.sources.Reporter, s.sources.withVolumes
	name := s.newFile("veltui-report", ".md")
	r.n++
	made := reportMade{to: r, n: r.n}
	cmd, cancel := s.sources.Start(func(ctx context.Context) tea.Msg {
		if judged.Job, made.err = withVolumes(ctx, judged.Job); made.err != nil {
			return made
		}
		if made.text, made.err = reporter.Report(ctx, assessed, judged); made.err == nil && ctx.Err() == nil {
			made.path, made.unsaved = reporter.Save(name, made.text)
		}
		return made
	})
	r.cancel = cancel
	return tea.Batch(cmd, noticed(fmt.Sprintf("Making the report on %s %s. It can take more than a minute; %s cancels it.", judged.Kind.Word(), judged.Name, s.sources.Keys.Key("report"))))
}

// handleMade keeps a document, unless it was cancelled, and says where it is.
func (r *reporting) handleMade(s *Screen, m reportMade) tea.Cmd {
	if m.to != r || m.n != r.n || r.cancel == nil {
		return nil
	}
	r.close()
	if m.err != nil {
		return noticed("There is no report: " + m.err.Error())
	}
	r.text = m.text
	said := fmt.Sprintf("The report is in %s (%s).", m.path, human.Bytes(int64(len(m.text))))
	if m.unsaved != nil {
		said = "The report is not saved: " + m.unsaved.Error() + "."
	}
	switch {
	case s.sources.WhyNoClipboard != "":
	case len(m.text) > MaxCopied:
		said += " It is too large for a terminal's clipboard."
	default:
		said += fmt.Sprintf(" %s copies it.", s.sources.Keys.Key("copy-report"))
	}
	return noticed(said)
}

// close cancels the document that is being made.
func (r *reporting) close() {
	if r.cancel != nil {
		r.cancel()
		r.cancel = nil
	}
}
