package ui

import (
	"fmt"
	"strings"

	"charm.land/bubbles/v2/viewport"
	"charm.land/lipgloss/v2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/ui/draw"
)

// page is one tab of the screen of one job.
type page int

const (
	pageOverview page = iota
	pageResources
	pageVolumes
	pageOperations
	pageYAML
	pageCount
)

var pageNames = [pageCount]string{"Overview", "Resources", "Volumes", "Operations", "YAML"}

// jobScreen shows one job: its stages, its bar, and pages with the rest.
type jobScreen struct {
	uid  types.UID
	page page
	// last is the job as it was known last; it stays on the screen, marked,
	// when the resource is deleted.
	last    *job.Job
	deleted bool
	// answer is what the Estimator said, nil if it was not asked.
	answer *answer
	asks   bool // there is an Estimator
	view   viewport.Model
	// shown is what the viewport was filled for.
	shown shownPage
}

// shownPage says what a filled viewport depends on, so that it is filled again
// only when that changed.
type shownPage struct {
	page    page
	job     *job.Job
	answer  *answer
	width   int
	seconds int64
	seq     uint64
}

func newJobScreen(uid types.UID, dg *digest) jobScreen {
	s := jobScreen{uid: uid, view: viewport.New()}
	s.load(dg)
	return s
}

// load takes the job's newest state out of a digest.
func (s *jobScreen) load(dg *digest) {
	if dg == nil {
		return
	}
	if j := dg.find(s.uid); j != nil {
		s.last, s.deleted = j, false
	} else if s.last != nil {
		s.deleted = true
	}
}

func (s *jobScreen) update(a action, k string) {
	switch a {
	case actUp:
		s.view.ScrollUp(1)
	case actDown:
		s.view.ScrollDown(1)
	case actPageUp:
		s.view.PageUp()
	case actPageDown:
		s.view.PageDown()
	case actHome:
		s.view.GotoTop()
	case actEnd:
		s.view.GotoBottom()
	case actNextTab:
		s.turn((s.page + 1) % pageCount)
	case actPrevTab:
		s.turn((s.page + pageCount - 1) % pageCount)
	case actTab:
		if n := page(k[0] - '1'); n < pageCount {
			s.turn(n)
		}
	}
}

func (s *jobScreen) turn(p page) {
	s.page = p
	s.view.GotoTop()
}

func (s *jobScreen) draw(c draw.Canvas, dg *digest) string {
	j := s.last
	if j == nil || dg == nil {
		return c.Page([]string{"", "  This job is not known any more."})
	}
	v := dg.verdict(j)
	var lines []string
	if c.Height >= 8 {
		lines = append(lines, s.title(c, j))
		lines = append(lines, stageLine(c, j))
	}
	lines = append(lines, progressLine(c, j, v, dg.surroundings), s.pagesLine(c, j))
	s.fill(c.Sized(c.Width, max(c.Height-len(lines), 0)), j, v, dg)
	return c.Page(append(lines, strings.Split(s.view.View(), "\n")...))
}

func (s *jobScreen) title(c draw.Canvas, j *job.Job) string {
	left := " " + c.Theme.Dim.Render(kindLetter(j.Kind)) + " " + c.Theme.Strong.Render(j.Name)
	right := origin(j)
	if right != "" {
		right = "from " + originKind(j) + " " + right
	}
	right = c.Theme.Dim.Render(right)
	switch {
	case s.deleted:
		right = c.Theme.Bad.Render("deleted from the cluster")
	case j.Deleting:
		right = c.Theme.Waiting.Render("being deleted")
	case lipgloss.Width(left)+lipgloss.Width(right)+2 > c.Width:
		right = ""
	}
	return c.Split(left, right+" ")
}

func originKind(j *job.Job) string {
	if j.Kind == job.Restore {
		return "backup"
	}
	return "schedule"
}

// stageLine shows the stages in their order: what is behind, where the job is,
// what is still to come. The names of passed stages give way on narrow screens.
func stageLine(c draw.Canvas, j *job.Job) string {
	for _, brief := range []int{0, 1, 2} {
		line := stageLineBrief(c, j, brief)
		if lipgloss.Width(line) <= c.Width || brief == 2 {
			return c.Cut(line, c.Width)
		}
	}
	return ""
}

func stageLineBrief(c draw.Canvas, j *job.Job, brief int) string {
	var parts []string
	for _, record := range j.Stages {
		name := string(record.Stage)
		if record.Stage == job.StageQueued && j.Kind == job.Restore {
			name = "New"
		}
		here := record.Stage == j.Stage
		switch {
		case here && !j.Terminal():
			text := name + " " + c.Glyphs.Now
			if !record.Began.IsZero() {
				text += " " + since(c.Now, record.Began)
			}
			parts = append(parts, c.Theme.Running.Render(text))
		case here:
			glyph, style := ending(c, j)
			parts = append(parts, style.Render(j.Phase+" "+glyph))
		case record.Skipped && record.Ended.IsZero() && record.Began.IsZero():
			if brief < 1 {
				parts = append(parts, c.Theme.Dim.Render(name+" "+c.Glyphs.Skipped))
			}
		case !record.Ended.IsZero():
			text := name + " " + c.Glyphs.Done
			if brief < 2 && !record.Began.IsZero() {
				text += " " + Duration(record.Ended.Sub(record.Began))
			}
			parts = append(parts, c.Theme.Good.Render(text))
		default:
			parts = append(parts, c.Theme.Dim.Render(name+" "+c.Glyphs.Ahead))
		}
	}
	return " " + strings.Join(parts, c.Theme.Dim.Render(" "+c.Glyphs.Stage+" "))
}

func progressLine(c draw.Canvas, j *job.Job, v job.Verdict, s job.Surroundings) string {
	var words []string
	if j.FractionKnown || j.Terminal() {
		words = append(words, c.Theme.Strong.Render(estimated(c, j, job.UnitItems)+Percent(j.Fraction)))
	}
	done, total, unit, known := j.Progress()
	if known {
		words = append(words, estimated(c, j, unit)+Amount(done, total, unit))
	}
	if perSecond, ok := j.Rate(s.Now); ok {
		words = append(words, Rate(perSecond, unit))
	}
	if left, ok := j.ETA(s.Now); ok {
		words = append(words, "ETA "+TimeLeft(left))
	}
	if troubled(v.State) || v.State == job.Quiet || v.State == job.Unknown {
		style := c.Theme.Waiting
		if troubled(v.State) {
			style = c.Theme.Bad
		}
		words = append(words, style.Render(string(v.State)))
	}
	text := strings.Join(words, "  ")
	width := c.Width - lipgloss.Width(text) - 4
	if width < 8 {
		return " " + c.Cut(text, c.Width-1)
	}
	bar := c.NoBar(width)
	if j.FractionKnown || j.Terminal() {
		bar = c.Bar(j.Fraction, width)
	}
	return " " + bar + "  " + text
}

func (s *jobScreen) pagesLine(c draw.Canvas, j *job.Job) string {
	counts := [pageCount]int{pageVolumes: len(j.Volumes), pageOperations: j.Operations.Attempted}
	label := func(p page, full bool) string {
		text := fmt.Sprint(int(p) + 1)
		if full || p == s.page {
			text += " " + pageNames[p]
		}
		if counts[p] > 0 {
			text += fmt.Sprintf(" %d", counts[p])
		}
		style := c.Theme.Dim
		if p == s.page {
			style = c.Theme.Accent
		}
		return style.Render("[" + text + "]")
	}
	for _, full := range []bool{true, false} {
		var labels []string
		for p := range pageCount {
			labels = append(labels, label(p, full))
		}
		line := " " + strings.Join(labels, " ")
		if lipgloss.Width(line) <= c.Width || !full {
			return c.Cut(line, c.Width)
		}
	}
	return ""
}

// fill puts the page's text into the viewport if anything that it shows changed.
func (s *jobScreen) fill(c draw.Canvas, j *job.Job, v job.Verdict, dg *digest) {
	s.view.SetWidth(c.Width)
	s.view.SetHeight(c.Height)
	want := shownPage{page: s.page, job: j, answer: s.answer, width: c.Width, seq: dg.snap.Seq}
	if s.page != pageYAML {
		want.seconds = c.Now.Unix()
	} else {
		want.seq = 0
	}
	if want == s.shown {
		return
	}
	s.shown = want
	var lines []string
	switch s.page {
	case pageResources:
		lines = resourcesPage(c, j, s.answer, s.asks)
	case pageVolumes:
		lines = volumesPage(c, j)
	case pageOperations:
		lines = operationsPage(c, j)
	case pageYAML:
		lines = yamlPage(c, j)
	default:
		lines = overviewPage(c, j, v, dg.surroundings)
	}
	for i := range lines {
		lines[i] = c.Cut(lines[i], c.Width)
	}
	s.view.SetContentLines(lines)
}
