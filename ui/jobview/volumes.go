package jobview

import (
	"cmp"
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
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/ui/keys"
	"github.com/veltui/veltui/ui/pager"
)

// volumesPage lists volumes that are moved, live, and from the stored volume info those with a snapshot only
// or skipped. What holds the job up comes first.
type volumesPage struct {
	still
	info fetch.StoredAnswer[[]artifact.Volume]
	// folds are the rows whose details are shown, and objects their resources.
	folds   folds
	objects map[string]*fetch.Answer[cluster.Document]
	// records are those of the last drawing, by the key of their row.
	records map[string]*assess.VolumeRecord
	// total counts the volumes with those of volume info, for a job and an answer.
	total     int
	counted   *job.Job
	countedAt time.Time
}

func (p *volumesPage) count(j *job.Job) string {
	if p.info.Known && (p.counted != j || !p.countedAt.Equal(p.info.Read)) {
		volumes := make([]assess.Volume, len(j.Volumes))
		for i := range j.Volumes {
			volumes[i].Volume = &j.Volumes[i]
		}
		p.counted, p.countedAt, p.total = j, p.info.Read, len(assess.JoinVolumes(volumes, p.info.Value))
	}
	return counted(max(j.VolumeCount(), p.total))
}

func (p *volumesPage) load(s *Screen) tea.Cmd {
	var cmds []tea.Cmd
	if s.sources.Unavailable(cluster.Stored) == "" && s.job.ListsStored() {
		j := s.job.Job
		cmds = append(
			cmds,
			p.info.Ask(
				s.asker(),
				s.job.Terminal(),
				0,
				func(ctx context.Context) ([]artifact.Volume, error) { return s.sources.StoredVolumes(ctx, j) },
			),
		)
	}
	for key, open := range p.folds.turned {
		r := p.records[key]
		if open && s.sources.Unavailable(cluster.Objects) == "" && r != nil && r.Moved != nil {
			if p.objects[key] == nil {
				p.objects[key] = &fetch.Answer[cluster.Document]{}
			}
			namespace, ref := s.job.Namespace, r.Moved.Ref()
			cmds = append(
				cmds,
				p.objects[key].Ask(s.asker(), readAge, func(ctx context.Context) (cluster.Document, error) {
					return s.sources.VolumeObject(ctx, namespace, ref)
				}),
			)
		}
	}
	return tea.Batch(cmds...)
}
func (p *volumesPage) keys(s *Screen) []keys.Binding {
	listed := func() bool { return p.info.Known || len(s.job.Volumes) > 0 }
	return listKeys(s, p, &p.folds, listed, "the list of volumes", func() (string, string) {
		r := p.records[s.Selected()]
		if r == nil {
			return "", ""
		}
		return "the volume " + human.Shorten(r.Name(), 60), plainText(p.details(s.wide(), s, s.Selected(), r))
	})
}

func (p *volumesPage) answers() []answer {
	all := []answer{&p.info}
	for _, o := range p.objects {
		all = append(all, o)
	}
	return all
}

// head says what holds the job up, and what the list may lack.
func (p *volumesPage) head(c draw.Canvas, s *Screen) []string {
	var lines []string
	say := func(text string, style lipgloss.Style) { lines = append(lines, note(c, style, text, aboutLines(c))...) }
	j := s.job.Job
	if s.assessed != nil && !j.Terminal() && len(j.Volumes) > 1 {
		if last := assess.Last(s.assessed.Volumes(j)); last != nil {
			text := "Held up by " + last.Target
			if last.ETA.Known {
				text += ", " + last.ETA.String() + " left"
			}
			lines = append(lines, note(c, c.Theme.Accent, text, 1)...) // its row says why
		}
	}
	say(p.lacks(c, s))
	say(s.leftOut(c))
	return lines
}

// leftOut says which volumes are still to be read, empty if all are there.
func (s *Screen) leftOut(c draw.Canvas) (string, lipgloss.Style) {
	n := s.job.LeftOut()
	switch {
	case n == 0:
		return "", c.Theme.Text
	case s.moved.Err != nil:
		return fmt.Sprintf(
			"%s that completed cannot be read: %v",
			human.Count(n, "volume"),
			s.moved.Err,
		), c.Theme.Waiting
	}
	return "Reading " + human.Count(n, "volume") + " that completed...", c.Theme.Dim
}

// lacks says why snapshots and skipped volumes are not in the list, else it is empty.
func (p *volumesPage) lacks(c draw.Canvas, s *Screen) (string, lipgloss.Style) {
	switch {
	case p.info.Pending() && !p.info.Known:
		return "Reading the volume info: it has the snapshots and the skipped volumes...", c.Theme.Dim
	case p.info.Err != nil && strings.Contains(p.info.Err.Error(), artifact.ErrAbsent.Error()):
		return "No volume info is stored, so snapshots and skipped volumes are not known. Velero stores it for " +
			"backups since 1.13, for restores since 1.14.", c.Theme.Dim
	case p.info.Err != nil:
		return "Snapshots and skipped volumes are not known: " + p.info.Err.Error(), c.Theme.Waiting
	case p.info.Known:
	case !s.job.ListsStored():
		return "Snapshots and skipped volumes are known when all items are done.", c.Theme.Dim
	case s.sources.Unavailable(cluster.Stored) != "":
		return strings.TrimSpace(
			s.sources.Unavailable(cluster.Stored) + " Snapshots and skipped volumes are not known.",
		), c.Theme.Dim
	}
	return "", c.Theme.Text
}

// The columns of a job that runs, and of one that has ended.
var (
	movingColumns = []view.ScreenColumn{
		{Width: 1},
		{Title: "VOLUME", Width: 22, Grow: 2, Limit: 60},
		{Title: "STATE", Width: 10},
		{Title: "PROGRESS", Width: 14, Grow: 1, Limit: 30, Priority: 1},
		{Title: "DONE", Width: 10, Right: true},
		{Title: "RATE", Width: 8, Priority: 3, Right: true},
		{Title: "ETA", Width: 6, Priority: 2, Right: true},
		{Title: "NODE", Width: 12, Grow: 1, Limit: 30, Priority: 4},
		{Title: "HOW", Width: 24, Grow: 1, Limit: 36, Priority: 5},
		{Title: "CHANGED", Width: 8, Priority: 6, Right: true},
		{Title: "POD", Width: 24, Grow: 1, Limit: 60, Priority: 7},
	}
	endedColumns = []view.ScreenColumn{
		{Width: 1},
		{Title: "VOLUME", Width: 22, Grow: 2, Limit: 60},
		{Title: "STATE", Width: 9},
		{Title: "HOW", Width: 24, Grow: 1, Limit: 44, Priority: 1},
		{Title: "SIZE", Width: 9, Right: true},
		{Title: "TOOK", Width: 7, Priority: 2, Right: true},
		{Title: "NEW", Width: 7, Priority: 4, Right: true},
		{Title: "NODE", Width: 12, Grow: 1, Limit: 30, Priority: 3},
		{Title: "POD", Width: 24, Grow: 1, Limit: 60, Priority: 5},
	}
)

func (p *volumesPage) lines(c draw.Canvas, s *Screen) pager.Source {
	j := s.job.Job
	var volumes []assess.Volume
	if s.assessed != nil {
		volumes = s.assessed.Volumes(j)
	}
	records := assess.JoinVolumes(volumes, p.info.Value)
	p.records = make(map[string]*assess.VolumeRecord, len(records))
	if len(records) == 0 && j.LeftOut() > 0 {
		return pager.Lines{} // the head says that they are being read
	}
	if len(records) == 0 {
		text := noVolumes(j, p.info.Known)
		if s.assessed != nil && s.assessed.Environment.Reading.Kind != "" && !p.info.Known {
			text = "Its volumes have not all been looked at yet: " + s.assessed.Environment.Reading.String() + "."
		}
		return pager.Plain([]string{"", "  " + text})
	}
	columns, ended := movingColumns, j.Terminal()
	if ended {
		columns = endedColumns
	}
	widths := view.FitColumns(columns, c.Width)
	o := &outline{canvas: c, folds: p.folds}
	o.say(c.Titles(columns, widths, draw.Sorting{}))
	for i := range records {
		r := &records[i]
		key := recordKey(r)
		p.records[key] = r
		o.add(key, func(c draw.Canvas) string { return volumeRow(c, r, columns, widths, ended) })
		if o.folds.isOpen(key, false) {
			o.say(p.details(c, s, key, r)...)
		} else {
			o.say(belowRow(c, r)...)
		}
	}
	return o
}

func noVolumes(j *job.Job, known bool) string {
	switch {
	case known && j.Kind == job.Backup:
		return "The backup holds no volume, and skipped none."
	case known:
		return "The restore restored no volume."
	}
	return "No volume data is moved for this job" + soFar(j) + "."
}

func recordKey(r *assess.VolumeRecord) string {
	if v := r.Moved; v != nil {
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

func volumeRow(c draw.Canvas, r *assess.VolumeRecord, columns []view.ScreenColumn, widths []int, ended bool) string {
	t, v := c.Theme, r.Moved
	sign, word, state := volumeState(c, r)
	done, total := r.Bytes()
	name, amount, size := c.CutMiddle(r.Name(), widths[1]), sizeOf(total), sizeOf(total)
	cells := map[string]cell{
		"":       {state, sign},
		"VOLUME": {t.Text, name},
		"STATE":  {state, word},
		"HOW":    {t.Dim, r.How()},
		"NEW":    {t.Dim, sizeOf(r.Incremental())},
		"NODE":   {t.Dim, r.Node()},
		"POD":    {t.Dim, r.Pod()},
	}
	if ended {
		cells["HOW"] = cell{t.Text, r.How()}
	}
	if began, end := recordTimes(r); !began.IsZero() && end.After(began) {
		cells["TOOK"] = cell{t.Dim, human.Duration(end.Sub(began))}
	}
	if v != nil {
		amount, cells["PROGRESS"] = human.BytesOf(done, total), cell{text: c.NoBar(widths[3])}
		cells["RATE"], cells["ETA"], cells["CHANGED"] = cell{
			t.Text,
			v.Rate.String(),
		}, cell{
			t.Text,
			v.ETA.String(),
		}, cell{
			t.Dim,
			human.Age(v.Changed, c.Now),
		}
		if fraction, known := v.Fraction(); known {
			cells["PROGRESS"] = cell{text: c.Bar(fraction, widths[3]-5) + c.FitRight(human.Percent(fraction), 5)}
		}
		if r.State() == assess.VolumeFailed {
			size = amount
		}
	}
	cells["DONE"], cells["SIZE"] = cell{t.Text, amount}, cell{t.Text, size}
	row := make([]cell, len(columns))
	for i, col := range columns {
		row[i] = cells[col.Title]
	}
	return tableRow(c, columns, widths, row...)
}

func sizeOf(n int64) string {
	if n <= 0 {
		return ""
	}
	return human.Bytes(n)
}

// volumeState is a volume's state as a sign and a word.
func volumeState(c draw.Canvas, r *assess.VolumeRecord) (sign, word string, style lipgloss.Style) {
	g, t := c.Glyphs, c.Theme
	switch r.State() {
	case assess.VolumeDone:
		return g.Done, "done", t.Good
	case assess.VolumeSkipped:
		return g.Skipped, "skipped", t.Dim
	case assess.VolumeFailed:
		if r.Moved != nil && r.Moved.Phase == velero.VolumeCanceled ||
			r.Moved == nil && r.Info.Phase == velero.VolumeCanceled {
			return g.Failed, "cancelled", t.Bad
		}
		return g.Failed, "failed", t.Bad
	case assess.VolumeUnsaid:
		return g.Open, "not said", t.Dim
	}
	word, style = cmp.Or(volumePhases[r.Moved.Phase].word, r.Moved.Phase), t.Waiting
	switch v := r.Moved; {
	case v.Verdict.Stuck:
		return g.Attention, word, t.Bad
	case v.Phase == velero.VolumeInProgress:
		return g.Now, word, t.Running
	}
	return g.Ahead, word, style
}
