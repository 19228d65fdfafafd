package ui

import (
	"fmt"
	"strings"

	"charm.land/bubbles/v2/viewport"
	"charm.land/lipgloss/v2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/diagnosis"
	"github.com/veltui/veltui/job"
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

func (s *jobScreen) draw(c canvas, dg *digest) string {
	j := s.last
	if j == nil || dg == nil {
		return c.page([]string{"", "  This job is not known any more."})
	}
	v := dg.verdict(j)
	var lines []string
	if c.height >= 8 {
		lines = append(lines, s.title(c, j))
		lines = append(lines, c.stageLine(j))
	}
	lines = append(lines, c.progressLine(j, v, dg.surroundings), s.pagesLine(c, j))
	s.fill(c.sized(c.width, max(c.height-len(lines), 0)), j, v, dg)
	return c.page(append(lines, strings.Split(s.view.View(), "\n")...))
}

func (s *jobScreen) title(c canvas, j *job.Job) string {
	left := " " + c.theme.dim.Render(kindLetter(j.Kind)) + " " + c.theme.strong.Render(j.Name)
	right := origin(j)
	if right != "" {
		right = "from " + originKind(j) + " " + right
	}
	right = c.theme.dim.Render(right)
	switch {
	case s.deleted:
		right = c.theme.bad.Render("deleted from the cluster")
	case j.Deleting:
		right = c.theme.waiting.Render("being deleted")
	case lipgloss.Width(left)+lipgloss.Width(right)+2 > c.width:
		right = ""
	}
	return c.split(left, right+" ")
}

func originKind(j *job.Job) string {
	if j.Kind == job.Restore {
		return "backup"
	}
	return "schedule"
}

// stageLine shows the stages in their order: what is behind, where the job is,
// what is still to come. The names of passed stages give way on narrow screens.
func (c canvas) stageLine(j *job.Job) string {
	for _, brief := range []int{0, 1, 2} {
		line := c.stageLineBrief(j, brief)
		if lipgloss.Width(line) <= c.width || brief == 2 {
			return c.cut(line, c.width)
		}
	}
	return ""
}

func (c canvas) stageLineBrief(j *job.Job, brief int) string {
	var parts []string
	for _, record := range j.Stages {
		name := string(record.Stage)
		if record.Stage == job.StageQueued && j.Kind == job.Restore {
			name = "New"
		}
		here := record.Stage == j.Stage
		switch {
		case here && !j.Terminal():
			text := name + " " + c.glyphs.now
			if !record.Began.IsZero() {
				text += " " + since(c.now, record.Began)
			}
			parts = append(parts, c.theme.running.Render(text))
		case here:
			glyph, style := c.ending(j)
			parts = append(parts, style.Render(j.Phase+" "+glyph))
		case record.Skipped && record.Ended.IsZero() && record.Began.IsZero():
			if brief < 1 {
				parts = append(parts, c.theme.dim.Render(name+" "+c.glyphs.skipped))
			}
		case !record.Ended.IsZero():
			text := name + " " + c.glyphs.done
			if brief < 2 && !record.Began.IsZero() {
				text += " " + Duration(record.Ended.Sub(record.Began))
			}
			parts = append(parts, c.theme.good.Render(text))
		default:
			parts = append(parts, c.theme.dim.Render(name+" "+c.glyphs.ahead))
		}
	}
	return " " + strings.Join(parts, c.theme.dim.Render(" "+c.glyphs.stage+" "))
}

func (c canvas) progressLine(j *job.Job, v diagnosis.Verdict, s diagnosis.Environment) string {
	var words []string
	if j.FractionKnown || j.Terminal() {
		words = append(words, c.theme.strong.Render(c.estimated(j, job.UnitItems)+Percent(j.Fraction)))
	}
	done, total, unit, known := j.Progress()
	if known {
		words = append(words, c.estimated(j, unit)+Amount(done, total, unit))
	}
	if perSecond, ok := j.Rate(s.Now); ok {
		words = append(words, Rate(perSecond, unit))
	}
	if left, ok := j.ETA(s.Now); ok {
		words = append(words, "ETA "+TimeLeft(left))
	}
	if troubled(v.State) || v.State == diagnosis.Quiet || v.State == diagnosis.Unknown {
		style := c.theme.waiting
		if troubled(v.State) {
			style = c.theme.bad
		}
		words = append(words, style.Render(string(v.State)))
	}
	text := strings.Join(words, "  ")
	width := c.width - lipgloss.Width(text) - 4
	if width < 8 {
		return " " + c.cut(text, c.width-1)
	}
	bar := c.noBar(width)
	if j.FractionKnown || j.Terminal() {
		bar = c.bar(j.Fraction, width)
	}
	return " " + bar + "  " + text
}

func (s *jobScreen) pagesLine(c canvas, j *job.Job) string {
	counts := [pageCount]int{pageVolumes: len(j.Volumes), pageOperations: j.Operations.Attempted}
	label := func(p page, full bool) string {
		text := fmt.Sprint(int(p) + 1)
		if full || p == s.page {
			text += " " + pageNames[p]
		}
		if counts[p] > 0 {
			text += fmt.Sprintf(" %d", counts[p])
		}
		style := c.theme.dim
		if p == s.page {
			style = c.theme.accent
		}
		return style.Render("[" + text + "]")
	}
	for _, full := range []bool{true, false} {
		var labels []string
		for p := range pageCount {
			labels = append(labels, label(p, full))
		}
		line := " " + strings.Join(labels, " ")
		if lipgloss.Width(line) <= c.width || !full {
			return c.cut(line, c.width)
		}
	}
	return ""
}

// fill puts the page's text into the viewport if anything that it shows changed.
func (s *jobScreen) fill(c canvas, j *job.Job, v diagnosis.Verdict, dg *digest) {
	s.view.SetWidth(c.width)
	s.view.SetHeight(c.height)
	want := shownPage{page: s.page, job: j, answer: s.answer, width: c.width, seq: dg.snap.Seq}
	if s.page != pageYAML {
		want.seconds = c.now.Unix()
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
		lines = c.resourcesPage(j, s.answer, s.asks)
	case pageVolumes:
		lines = c.volumesPage(j)
	case pageOperations:
		lines = c.operationsPage(j)
	case pageYAML:
		lines = c.yamlPage(j)
	default:
		lines = c.overviewPage(j, v, dg.surroundings)
	}
	for i := range lines {
		lines[i] = c.cut(lines[i], c.width)
	}
	s.view.SetContentLines(lines)
}
