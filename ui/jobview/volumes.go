package jobview

import (
	"context"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/ui/keys"
	"github.com/veltui/veltui/ui/pager"
)

// volumesPage lists the volumes that are moved, live, and from the stored volume info the volumes that only have a
// snapshot or were skipped. The volumes that hold the job up come first.
type volumesPage struct {
	noopPage
	infoAnswer fetch.StoredAnswer[[]artifact.VolumeInfo]
	// folds are the rows whose details are shown, and objects the resources of their volumes.
	folds   foldState
	objects map[string]*fetch.Answer[cluster.ObjectDocument]
	// recordByRow holds the records of the last drawing, by the keys of their rows.
	recordByRow map[string]*assess.VolumeRecord
	// volumeTotal is the number of volumes including those of the volume info, for a job and an answer.
	volumeTotal int
	countedJob  *job.Job
	countedAt   time.Time
}

func (p *volumesPage) countText(j *job.Job) string {
	if p.infoAnswer.HasValue && (p.countedJob != j || !p.countedAt.Equal(p.infoAnswer.ReadAt)) {
		volumes := make([]assess.JudgedVolume, len(j.Volumes))
		for i := range j.Volumes {
			volumes[i].Volume = &j.Volumes[i]
		}
		p.countedJob, p.countedAt, p.volumeTotal = j, p.infoAnswer.ReadAt, len(
			assess.JoinVolumes(volumes, p.infoAnswer.Value),
		)
	}
	return formatCount(max(j.VolumeCount(), p.volumeTotal))
}

func (p *volumesPage) fetchMissing(s *Screen) tea.Cmd {
	var cmds []tea.Cmd
	if s.dependencies.UnavailableReason(cluster.CapabilityStored) == "" && s.job.HasStoredLists() {
		j := s.job.Job
		cmds = append(
			cmds,
			p.infoAnswer.FetchIfDue(
				s.newRequester(),
				s.job.IsTerminal(),
				0,
				func(ctx context.Context) ([]artifact.VolumeInfo, error) {
					return s.dependencies.FetchStoredVolumes(ctx, j)
				},
			),
		)
	}
	for key, open := range p.folds.toggled {
		r := p.recordByRow[key]
		if open && s.dependencies.UnavailableReason(cluster.CapabilityObjects) == "" && r != nil && r.Volume != nil {
			if p.objects[key] == nil {
				p.objects[key] = &fetch.Answer[cluster.ObjectDocument]{}
			}
			namespace, ref := s.job.Namespace, r.Volume.Ref()
			cmds = append(
				cmds,
				p.objects[key].FetchIfDue(s.newRequester(), pageMaxAge, func(ctx context.Context) (cluster.ObjectDocument, error) {
					return s.dependencies.FetchVolumeObject(ctx, namespace, ref)
				}),
			)
		}
	}
	return tea.Batch(cmds...)
}
func (p *volumesPage) newBindings(s *Screen) []keys.Binding {
	listed := func() bool { return p.infoAnswer.HasValue || len(s.job.Volumes) > 0 }
	return newListBindings(s, p, &p.folds, listed, "the list of volumes", func() (string, string) {
		r := p.recordByRow[s.SelectedKey()]
		if r == nil {
			return "", ""
		}
		return "the volume " + human.Shorten(r.Name(), 60), plainText(p.renderDetails(s.copyCanvas(), s, s.SelectedKey(), r))
	})
}

func (p *volumesPage) pageAnswers() []answerHandle {
	all := []answerHandle{&p.infoAnswer}
	for _, o := range p.objects {
		all = append(all, o)
	}
	return all
}

// renderHead draws what holds the job up, and what the list may lack.
func (p *volumesPage) renderHead(c draw.Canvas, s *Screen) []string {
	var lines []string
	say := func(text string, style lipgloss.Style) {
		lines = append(lines, wrapNote(c, style, text, maxAboutLines(c))...)
	}
	j := s.job.Job
	if s.assessment != nil && !j.IsTerminal() && len(j.Volumes) > 1 {
		lines = append(lines, wrapNote(c, c.Theme.Accent, view.VolumeHoldup(s.assessment.JudgeVolumes(j)), 1)...)
	}
	say(p.missingInfoText(c, s))
	say(s.missingVolumesText(c))
	return lines
}

// missingVolumesText returns which volumes are yet to be read, empty if none is.
func (s *Screen) missingVolumesText(c draw.Canvas) (string, lipgloss.Style) {
	n := s.job.SummedVolumeCount()
	switch {
	case n == 0:
		return "", c.Theme.Text
	case s.movedVolumesAnswer.Err != nil:
		return fmt.Sprintf(
			"%s that completed cannot be read: %v",
			human.Count(n, "volume"),
			s.movedVolumesAnswer.Err,
		), c.Theme.Waiting
	}
	return "Reading " + human.Count(n, "volume") + " that completed...", c.Theme.Dim
}

// missingInfoText returns why snapshots and skipped volumes are not in the list, empty if they are.
func (p *volumesPage) missingInfoText(c draw.Canvas, s *Screen) (string, lipgloss.Style) {
	switch {
	case p.infoAnswer.IsPending() && !p.infoAnswer.HasValue:
		return "Reading the volume info: it has the snapshots and the skipped volumes...", c.Theme.Dim
	case p.infoAnswer.Err != nil && strings.Contains(p.infoAnswer.Err.Error(), artifact.ErrAbsent.Error()):
		return "No volume info is stored, so snapshots and skipped volumes are unknown. Velero stores it for " +
			"backups since 1.13, for restores since 1.14.", c.Theme.Dim
	case p.infoAnswer.Err != nil:
		return "Snapshots and skipped volumes are unknown: " + p.infoAnswer.Err.Error(), c.Theme.Waiting
	case p.infoAnswer.HasValue:
	case !s.job.HasStoredLists():
		return "Snapshots and skipped volumes are known when all items are done.", c.Theme.Dim
	case s.dependencies.UnavailableReason(cluster.CapabilityStored) != "":
		return strings.TrimSpace(
			s.dependencies.UnavailableReason(cluster.CapabilityStored) + " Snapshots and skipped volumes are unknown.",
		), c.Theme.Dim
	}
	return "", c.Theme.Text
}

func (p *volumesPage) renderLines(c draw.Canvas, s *Screen) pager.Source {
	j := s.job.Job
	var volumes []assess.JudgedVolume
	if s.assessment != nil {
		volumes = s.assessment.JudgeVolumes(j)
	}
	records := assess.JoinVolumes(volumes, p.infoAnswer.Value)
	p.recordByRow = make(map[string]*assess.VolumeRecord, len(records))
	if len(records) == 0 && j.SummedVolumeCount() > 0 {
		return pager.Lines{} // the head says that the volumes are being read
	}
	if len(records) == 0 {
		text := view.NoVolumes(j, p.infoAnswer.HasValue)
		if s.assessment != nil && s.assessment.World.ReadProgress.Kind != "" && !p.infoAnswer.HasValue {
			text = "Not all volumes have been read yet: " + s.assessment.World.ReadProgress.String() + "."
		}
		return pager.PlainLines([]string{"", "  " + text})
	}
	columns := view.VolumeColumns(j)
	shown := markedColumns(columns)
	widths := view.FitColumns(shown, c.Width)
	o := &outline{canvas: c, folds: p.folds}
	o.addLines(c.RenderTableHeader(shown, widths, draw.SortOrder{}))
	for i := range records {
		r := &records[i]
		key := recordKey(r)
		p.recordByRow[key] = r
		row := view.VolumeRow{VolumeRecord: r, Job: j, Now: c.Now}
		o.addRow(key, func(c draw.Canvas) string { return renderVolumeRow(c, row, columns, widths) })
		if o.folds.isOpen(key, false) {
			o.addLines(p.renderDetails(c, s, key, r)...)
		} else {
			o.addLines(renderNotes(c, row.Notes())...)
		}
	}
	return o
}

func recordKey(r *assess.VolumeRecord) string {
	if v := r.Volume; v != nil {
		return string(v.Kind) + "/" + v.Name
	}
	i := r.Info
	return strings.Join(
		[]string{
			"info",
			i.Namespace,
			i.Claim,
			i.PersistentVolume,
			i.PodNamespace,
			i.Pod,
			i.PodVolume,
			i.Method,
			fmt.Sprint(i.DataMoved),
		},
		"/",
	)
}

// renderVolumeRow draws a row of the list, with a bar for the progress of a volume whose bytes are moved.
func renderVolumeRow(c draw.Canvas, r view.VolumeRow, columns []view.Column, widths []int) string {
	cells := r.Cells()
	drawn := markedCells(c, columns, widths, view.VolumeState(r.VolumeRecord), cells)
	for i, column := range columns {
		if column.Name != view.VolumeProgress || r.Volume == nil {
			continue
		}
		width := widths[i+1]
		drawn[i+1] = tableCell{text: c.RenderEmptyBar(width)}
		if fraction, known := cells[i].SortKey.(float64); known {
			drawn[i+1].text = c.RenderBar(fraction, width-5) + c.FitRight(cells[i].Text.Text, 5)
		}
	}
	return renderTableRow(c, markedColumns(columns), widths, drawn...)
}
