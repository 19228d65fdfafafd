package jobview

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/human"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/target"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/keys"
	"github.com/veltui/veltui/ui/pager"
	"github.com/veltui/veltui/verify"
)

// verifyMode is the Resources page of a restore that has ended, held against the
// cluster. It asks when it is turned on, and not by itself after that.
type verifyMode struct {
	on     bool
	result answer[verify.Result]
	// at is how far a reading is; it is written by the command that reads.
	at    atomic.Pointer[target.Progress]
	folds folds
}

// verifyKey turns the mode on, from whichever page, and off again.
func (s *Screen) verifyKey() keys.Binding {
	p := s.pages[Resources].(*resourceModel)
	return keys.Binding{Name: "verify", Keys: []string{"V"}, Label: "V", What: "is it there?", Group: keys.Look, Short: true,
		On: func() bool {
			return s.sources.Verifier != nil && s.job.Job != nil && s.job.Kind == job.Restore && s.job.Terminal() && s.job.Phase != "FailedValidation"
		},
		Do: func(string) tea.Cmd {
			m := &p.verify
			m.on = s.page != Resources || !m.on
			if m.on && !m.result.pending() {
				m.result.at = time.Time{} // it is asked anew
				m.result.err = nil
				m.at.Store(nil)
			}
			s.answers++
			s.view.Reset()
			if s.page == Resources {
				s.filled = filled{}
				return s.Ask()
			}
			return s.turn(Resources)
		}}
}

func (m *verifyMode) load(s *Screen) tea.Cmd {
	if s.assessed == nil {
		return nil
	}
	j, in := s.job.Job, s.assessed
	return m.result.ask(s.sources, 0, func(ctx context.Context) (verify.Result, error) {
		return s.sources.Verifier.Verify(ctx, j, in, func(p target.Progress) { m.at.Store(&p) })
	})
}

var verifyColumns = []draw.Column{
	{Width: 1},
	{Width: 1},
	{Title: "RESOURCE", Width: 22, Grow: 1, Limit: 60},
	{Title: "WANTED", Width: 7, Right: true},
	{Title: "THERE", Width: 7, Right: true},
	{Title: "NOT BACK", Width: 8, Right: true},
	{Title: "NOT SEEN", Width: 8, Right: true, Priority: 1},
	{Title: "COME+GO", Width: 8, Right: true, Priority: 2},
	{Width: 1},
}

func (m *verifyMode) head(c draw.Canvas) []string {
	if !m.result.known || m.result.pending() || m.result.err != nil {
		return nil
	}
	r := m.result.value
	style := c.Theme.Good
	switch {
	case r.Lost() > 0:
		style = c.Theme.Bad
	case !r.LookedAtAll():
		style = c.Theme.Waiting
	}
	summary := r.Summary()
	lines := []string{" " + style.Render(c.Cut(strings.ToUpper(summary[:1])+summary[1:], c.Width-2))}
	return append(lines, c.Titles(verifyColumns, draw.FitColumns(verifyColumns, c.Width), draw.Sorting{}))
}

// mostRows is how many items of a kind the page has.
const mostRows = 500

func (m *verifyMode) lines(c draw.Canvas, s *Screen) pager.Source {
	m.folds.settle(s)
	said := func(style lipgloss.Style, text string) (lines drawnLines) {
		for _, line := range c.Sized(c.Width-2, 0).Para(style, text, 6) {
			lines = append(lines, drawnLine{draw: func(draw.Canvas) string { return " " + line }})
		}
		return lines
	}
	blank := drawnLine{draw: func(draw.Canvas) string { return "" }}
	switch {
	case m.result.err != nil:
		lines := said(c.Theme.Bad, "veltui cannot tell whether everything came back: "+m.result.err.Error()+".")
		return append(append(lines, blank), said(c.Theme.Dim, m.again(s))...)
	case !m.result.known || m.result.pending():
		text := "Reading what was to come back"
		if at := m.at.Load(); at != nil {
			text = fmt.Sprintf("Looking for %s in the cluster: %d of %d lists", at.Resource, at.Done, at.Total)
		}
		if m.result.pending() {
			text += ", for " + human.Duration(max(s.sources.Clock().Sub(m.result.since), 0))
		}
		return append(drawnLines{blank}, said(c.Theme.Dim, text+c.Glyphs.Ellipsis)...)
	}
	r := m.result.value
	var lines drawnLines
	for n, k := range r.Kinds {
		lines = append(lines, m.kind(n, k)...)
	}
	for _, claim := range r.Claims {
		lines = append(lines, said(lossStyle(c, claim.Lost), fmt.Sprintf("Claim %s/%s is %s: %s.", claim.Namespace, claim.Name, claim.Phase, claim.Why))...)
	}
	for _, d := range r.Data {
		lines = append(lines, said(lossStyle(c, d.Lost), strings.TrimSpace(fmt.Sprintf("Data of %s: %s is %s, %s. %s", d.Target, d.Name, d.Phase, human.BytesOf(d.Done, d.Total), d.Message)))...)
	}
	lines = append(lines, blank)
	if r.Bound > 0 || r.Moved > 0 {
		lines = append(lines, said(c.Theme.Dim, fmt.Sprintf("%s bound; the data of %s restored, %s.", human.Count(r.Bound, "claim"), human.Count(r.Moved, "volume"), human.Bytes(r.Bytes)))...)
	}
	for n, not := range r.NotSeen {
		if n == maxUnseenRows {
			lines = append(lines, said(c.Theme.Waiting, fmt.Sprintf("Not looked at: %d more.", len(r.NotSeen)-n))...)
			break
		}
		where := not.Resource
		if not.Namespace != "" {
			where += " in " + not.Namespace
		}
		lines = append(lines, said(c.Theme.Waiting, "Not looked at: "+where+": "+not.Why+".")...)
	}
	for _, note := range r.Notes {
		lines = append(lines, said(c.Theme.Waiting, note)...)
	}
	return append(lines, said(c.Theme.Dim, "Looked "+human.Ago(m.result.read, c.Now)+", with "+human.Count(r.Cost.Requests, "request")+". "+m.again(s))...)
}

// again says what the key does now.
func (m *verifyMode) again(s *Screen) string {
	key := s.sources.Keys.Key("verify")
	return fmt.Sprintf("%s goes back to what Velero did; press %s twice to look again.", key, key)
}

const maxUnseenRows = 20

func lossStyle(c draw.Canvas, lost bool) lipgloss.Style {
	if lost {
		return c.Theme.Bad
	}
	return c.Theme.Waiting
}

// kind is the row of a kind, and its items if it is open: at first those kinds are of
// which something did not come back.
func (m *verifyMode) kind(n int, k verify.Kind) drawnLines {
	key, byDefault := fmt.Sprint(n), k.Lost() > 0
	folds := m.folds
	lines := drawnLines{{key: key, draw: func(c draw.Canvas) string {
		widths := draw.FitColumns(verifyColumns, c.Width)
		name := c.Theme.Text
		if byDefault {
			name = c.Theme.Bad
		} else if k.Wanted() == 0 {
			name = c.Theme.Dim
		}
		cells := []string{" ", folds.sign(c, key, byDefault), name.Render(c.Fit(c.CutMiddle(k.Name, widths[2]), widths[2]))}
		for i, n := range []int{k.Wanted(), k.There(), k.Lost(), k.Count[verify.NotLookedAt], k.Count[verify.Passing]} {
			text, style := fmt.Sprint(n), c.Theme.Text
			switch {
			case n == 0:
				text, style = c.Glyphs.Ahead, c.Theme.Dim
			case i == 2:
				style = c.Theme.Bad
			case i == 3:
				style = c.Theme.Waiting
			}
			cells = append(cells, c.Cell(style, text, widths[3+i], true))
		}
		return draw.JoinCells(append(cells, " "), widths)
	}}}
	if !folds.isOpen(key, byDefault) {
		return lines
	}
	for i, item := range k.Items {
		if i == mostRows {
			left := len(k.Items) - i
			lines = append(lines, drawnLine{key: key + "/more", draw: func(c draw.Canvas) string {
				return c.Theme.Dim.Render(fmt.Sprintf("     and %s more: veltui verify names all", human.Number(left)))
			}})
			break
		}
		lines = append(lines, drawnLine{key: fmt.Sprint(key, "/", i), draw: func(c draw.Canvas) string { return verifiedItem(c, item) }})
	}
	return lines
}

// stateWords are the states as rows name them, at most thirteen cells.
var stateWords = map[verify.State]string{
	verify.Failed: "failed", verify.Missing: "missing", verify.Gone: "gone", verify.Deleting: "being deleted", verify.Differs: "differs",
	verify.NotLookedAt: "not looked at", verify.MadeAnew: "made again", verify.Passing: "comes, goes", verify.Existed: "existed",
	verify.Restored: "restored", verify.LeftOut: "left out",
}

func verifiedItem(c draw.Canvas, i verify.Item) string {
	sign, style := c.Glyphs.Done, c.Theme.Good
	switch {
	case i.State.Lost():
		sign, style = c.Glyphs.Failed, c.Theme.Bad
	case i.State == verify.NotLookedAt:
		sign, style = c.Glyphs.Fact, c.Theme.Waiting
	case i.State == verify.LeftOut || i.State == verify.Passing:
		sign, style = c.Glyphs.Skipped, c.Theme.Dim
	}
	name := i.Name
	if i.Namespace != "" {
		name = i.Namespace + "/" + name
	}
	text := "     " + style.Render(sign) + " " + style.Render(c.Fit(stateWords[i.State], 13)) + " " + c.Theme.Text.Render(name)
	if i.From != "" {
		text += c.Theme.Dim.Render(" from " + i.From)
	}
	if i.Why != "" {
		text += c.Theme.Dim.Render(": " + i.Why)
	}
	return text
}
