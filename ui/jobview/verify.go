package jobview

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/restore/target"
	"github.com/veltui/veltui/restore/verify"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/keys"
	"github.com/veltui/veltui/ui/pager"
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
	verifier, volumes, leftOut := s.sources.Verifier, s.sources.Volumes, s.sources.Volumes != nil && j.LeftOut() > 0
	return m.result.ask(s.sources, 0, func(ctx context.Context) (verify.Result, error) {
		if leftOut { // those that completed tell that their data came back
			all, err := volumes.ReadVolumes(ctx, j)
			if err != nil {
				return verify.Result{}, err
			}
			j = j.WithVolumes(all)
		}
		return verifier.Verify(ctx, j, in, func(p target.Progress) { m.at.Store(&p) })
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
	case !r.Settled():
		style = c.Theme.Waiting
	}
	summary := r.Summary()
	lines := c.Sized(c.Width-2, 0).Para(style, strings.ToUpper(summary[:1])+summary[1:], 2)
	for i := range lines {
		lines[i] = " " + lines[i]
	}
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
			if at.Done == at.Total {
				text = "Looking at claims and volumes"
			}
		}
		if m.result.pending() {
			text += ", for " + human.Duration(max(s.sources.Clock().Sub(m.result.since), 0))
		}
		return append(drawnLines{blank}, said(c.Theme.Dim, text+c.Glyphs.Ellipsis)...)
	}
	r := m.result.value
	var lines drawnLines
	lines = append(lines, m.volumes(c, r)...)
	for n, k := range r.Kinds {
		lines = append(lines, m.kind(c, n, k)...)
	}
	lines = append(lines, blank)
	if text := r.VolumeWords(); text != "" {
		lines = append(lines, said(c.Theme.Dim, text)...)
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

// row is the row of a kind, which opens.
func (m *verifyMode) row(key, name string, byDefault bool, count rowCount) drawnLine {
	folds := m.folds
	return drawnLine{key: key, draw: func(c draw.Canvas) string {
		widths := draw.FitColumns(verifyColumns, c.Width)
		style := c.Theme.Text
		if count.lost > 0 {
			style = c.Theme.Bad
		} else if count.wanted == 0 {
			style = c.Theme.Dim
		}
		cells := []string{" ", folds.sign(c, key, byDefault), style.Render(c.Fit(c.CutMiddle(name, widths[2]), widths[2]))}
		for i, n := range []int{count.wanted, count.there, count.lost, count.notSeen, count.passing} {
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
	}}
}

type rowCount struct{ wanted, there, lost, notSeen, passing int }

// verifiedRow is one item or volume.
type verifiedRow struct {
	sign            verify.State
	words           string
	name, from, why string
}

// settled reports whether a row needs no look.
func (r verifiedRow) settled() bool { return !r.sign.Lost() && r.sign != verify.NotLookedAt }

// manyLost is for how many rows of a kind reasons are not cut.
const manyLost = 8

// rows are those below a kind's row. If some need a look, the others are a group of
// their own, closed at first.
func (m *verifyMode) rows(c draw.Canvas, key string, all []verifiedRow, need int) (lines drawnLines) {
	add := func(key string, rows []verifiedRow) {
		for i, r := range rows {
			if i == mostRows {
				lines = append(lines, drawnLine{key: key + "/more", draw: func(c draw.Canvas) string {
					return c.Theme.Dim.Render(fmt.Sprintf("     and %s more: veltui verify --all names all", human.Number(len(rows)-i)))
				}})
				break
			}
			if r.settled() || need > manyLost {
				lines = append(lines, drawnLine{key: fmt.Sprint(key, "/", i), draw: func(c draw.Canvas) string { return r.draw(c, 1)[0] }})
				continue
			}
			for n, text := range r.draw(c, 4) {
				line := drawnLine{draw: func(draw.Canvas) string { return text }}
				if n == 0 {
					line.key = fmt.Sprint(key, "/", i)
				}
				lines = append(lines, line)
			}
		}
	}
	if need == 0 || need == len(all) {
		add(key, all)
		return lines
	}
	add(key, all[:need])
	key += "/" + restOf
	rest, count, folds := all[need:], map[string]int{}, m.folds
	var words []string
	for _, r := range rest {
		if count[r.words]++; count[r.words] == 1 {
			words = append(words, r.words)
		}
	}
	for i, w := range words {
		words[i] = human.Number(count[w]) + " " + w
	}
	lines = append(lines, drawnLine{key: key, draw: func(c draw.Canvas) string {
		return "   " + folds.sign(c, key, false) + " " + c.Theme.Dim.Render(strings.Join(words, ", "))
	}})
	if m.folds.isOpen(key, false) {
		add(key, rest)
	}
	return lines
}

// restOf is the key of the group of rows that need no look.
const restOf = "rest"

// depth is how deep the group is that enter opens and closes.
func (m *verifyMode) depth(s *Screen) int {
	if _, in, _ := strings.Cut(s.view.Selected(), "/"); in == restOf || strings.HasPrefix(in, restOf+"/") {
		return 2
	}
	return 1
}

// volumes is the row of the volumes and their data, and the volumes if it is open: at
// first if one needs a look.
func (m *verifyMode) volumes(c draw.Canvas, r verify.Result) drawnLines {
	if len(r.Volumes)+len(r.Claims)+len(r.Data) == 0 {
		return nil
	}
	count := rowCount{wanted: len(r.Volumes), lost: r.LostVolumes() + r.LostClaims()}
	var all []verifiedRow
	add := func(lost bool, words, name, why string) {
		sign := verify.NotLookedAt
		if lost {
			sign = verify.Failed
		}
		all = append(all, verifiedRow{sign, words, name, "", why})
	}
	for _, d := range r.Data {
		add(d.Lost, "not moved", d.Target, d.Words())
	}
	for _, claim := range r.Claims {
		add(claim.Lost, "not bound", claim.Namespace+"/"+claim.Name, claim.Why)
	}
	for _, v := range r.Volumes {
		if v.State == verify.DataFailed { // of which its mover tells
			continue
		}
		row := dataRow(v)
		all = append(all, row)
		switch {
		case v.State == verify.DataUnknown:
			count.notSeen++
		case row.settled() && v.State != verify.DataLeftOut:
			count.there++
		}
	}
	slices.SortStableFunc(all, func(x, y verifiedRow) int { return cmp.Compare(rowRank(x), rowRank(y)) })
	need := slices.IndexFunc(all, verifiedRow.settled)
	if need < 0 {
		need = len(all)
	}
	const key = "volumes"
	lines := drawnLines{m.row(key, "data of volumes", need > 0, count)}
	if m.folds.isOpen(key, need > 0) {
		lines = append(lines, m.rows(c, key, all, need)...)
	}
	return lines
}

// rowRank puts what is lost first, then what is not known.
func rowRank(r verifiedRow) int {
	switch {
	case r.sign.Lost():
		return 0
	case !r.settled():
		return 1
	}
	return 2
}

// dataRow is a volume in the states of items that look alike.
func dataRow(v verify.Volume) verifiedRow {
	r := verifiedRow{verify.Restored, "restored", v.String(), "", v.Why}
	switch v.State {
	case verify.DataEmpty:
		r.sign, r.words = verify.Failed, "without data"
	case verify.DataUnknown:
		r.sign, r.words = verify.NotLookedAt, "not known"
	case verify.DataWaiting:
		r.sign, r.words = verify.NotLookedAt, "waiting"
	case verify.DataLeftOut:
		r.sign, r.words = verify.LeftOut, "left out"
	case verify.DataExisted:
		r.sign, r.words = verify.Existed, "existed"
	case verify.DataKept:
		r.sign, r.words = verify.Existed, "kept"
	}
	return r
}

// kind is the row of a kind, and its items if it is open: at first those kinds are of
// which something did not come back.
func (m *verifyMode) kind(c draw.Canvas, n int, k verify.Kind) drawnLines {
	key, byDefault := fmt.Sprint(n), k.Lost() > 0
	lines := drawnLines{m.row(key, k.Name, byDefault, rowCount{k.Wanted(), k.There(), k.Lost(), k.Count[verify.NotLookedAt], k.Count[verify.Passing]})}
	if !m.folds.isOpen(key, byDefault) {
		return lines
	}
	all, need := make([]verifiedRow, len(k.Items)), 0
	for i, item := range k.Items {
		name := item.Name
		if item.Namespace != "" {
			name = item.Namespace + "/" + name
		}
		all[i] = verifiedRow{item.State, stateWords[item.State], name, item.From, item.Why}
		if !all[i].settled() { // these come first
			need++
		}
	}
	return append(lines, m.rows(c, key, all, need)...)
}

// stateWords are the states as rows name them, at most thirteen cells.
var stateWords = map[verify.State]string{
	verify.Failed: "failed", verify.Missing: "missing", verify.Gone: "gone", verify.Deleting: "being deleted", verify.Differs: "differs",
	verify.NotLookedAt: "not looked at", verify.MadeAnew: "made again", verify.Passing: "comes, goes", verify.Existed: "existed",
	verify.Restored: "restored", verify.LeftOut: "left out",
}

// draw draws a row in at most that many lines; one line is cut later.
func (r verifiedRow) draw(c draw.Canvas, most int) []string {
	sign, style := c.Glyphs.Done, c.Theme.Good
	switch {
	case r.sign.Lost():
		sign, style = c.Glyphs.Failed, c.Theme.Bad
	case r.sign == verify.NotLookedAt:
		sign, style = c.Glyphs.Fact, c.Theme.Waiting
	case r.sign == verify.LeftOut || r.sign == verify.Passing:
		sign, style = c.Glyphs.Skipped, c.Theme.Dim
	}
	const indent = 21
	head := "     " + style.Render(sign) + " " + style.Render(c.Fit(r.words, 13)) + " "
	name, more := c.Theme.Text.Render(r.name), ""
	if r.from != "" {
		more = " from " + r.from
	}
	if r.why != "" {
		more += ": " + r.why
	}
	if most == 1 || lipgloss.Width(r.name)+lipgloss.Width(more) <= c.Width-indent-1 {
		return []string{head + name + c.Theme.Dim.Render(more)}
	}
	lines := c.Sized(c.Width-indent-1, 0).Wrap(r.name+more, most)
	for i, text := range lines {
		rest, whole := strings.CutPrefix(text, r.name)
		switch {
		case i > 0:
			lines[i] = strings.Repeat(" ", indent) + c.Theme.Dim.Render(text)
		case whole:
			lines[i] = head + name + c.Theme.Dim.Render(rest)
		default:
			lines[i] = head + c.Theme.Text.Render(text)
		}
	}
	return lines
}
