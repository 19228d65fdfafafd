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

// jobReport is a report about the job. saveErr is why it was not saved.
type jobReport struct {
	text, path string
	saveErr    error
}

// newReportBindings returns the keys that save the report, and copy it.
func (s *Screen) newReportBindings() []keys.Binding {
	r := &s.reportAnswer
	return []keys.Binding{
		{
			Name:        "report",
			Keys:        []string{"p"},
			Label:       "p",
			Description: "save a report",
			Group:       keys.GroupLook,
			Active: func() bool {
				return s.dependencies.UnavailableReason(cluster.CapabilityReports) == "" && s.job.Job != nil && !s.isDeleted
			},
			DynamicDescription: keys.ChooseText(r.IsPending, "cancel the report", "save a report"),
			Do: func(string) tea.Cmd {
				if r.IsPending() {
					r.Close()
					return sendNotice("The report is cancelled.")
				}
				return promptSavePath(s.newFileName("veltui-report", ".md"), s.saveReport)
			},
		},
		{Name: "copy-report", Keys: []string{"P"}, Label: "P", Description: "copy the report", Group: keys.GroupLook,
			Active: func() bool { return r.Value.text != "" },
			Do: func(string) tea.Cmd {
				return s.dependencies.CopyText(
					"the report",
					r.Value.text,
					"It is in the file that "+s.dependencies.Keys.FirstKey("report")+" saves.",
				)
			}},
	}
}

// saveReport makes a report about the job in its present state, and saves it to a new file.
func (s *Screen) saveReport(path string) tea.Cmd {
	assessed, judged := s.assessment, s.job
	by := fetch.Requester{Start: s.dependencies.Start, Clock: s.dependencies.Clock, OnAnswer: s.handleReport}
	cmd := s.reportAnswer.Refetch(by, path, func(ctx context.Context) (made jobReport, err error) {
		if judged.Job, err = s.dependencies.withVolumes(ctx, judged.Job); err != nil {
			return made, err
		}
		if made.text, err = s.dependencies.BuildReport(ctx, assessed, judged); err == nil && ctx.Err() == nil {
			made.path, made.saveErr = s.dependencies.SaveFile(path, []byte(made.text))
		}
		return made, err
	})
	return tea.Batch(
		cmd,
		sendNotice(
			fmt.Sprintf(
				"Making the report on %s %s. It can take more than a minute; %s cancels it.",
				judged.Kind.Noun(),
				judged.Name,
				s.dependencies.Keys.FirstKey("report"),
			),
		),
	)
}

// handleReport shows where the report is.
func (s *Screen) handleReport() tea.Cmd {
	if s.reportAnswer.Err != nil {
		return sendNotice("There is no report: " + s.reportAnswer.Err.Error())
	}
	made := s.reportAnswer.Value
	notice := fmt.Sprintf("The report is in %s (%s).", made.path, human.Bytes(int64(len(made.text))))
	if made.saveErr != nil {
		notice = "The report is not saved: " + made.saveErr.Error() + "."
	}
	switch {
	case s.dependencies.ClipboardUnavailable != "":
	case len(made.text) > MaxCopyBytes:
		notice += " It is too large for a terminal's clipboard."
	default:
		notice += fmt.Sprintf(" %s copies it.", s.dependencies.Keys.FirstKey("copy-report"))
	}
	return sendNotice(notice)
}
