package jobview

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/restorespec"
	"github.com/veltui/veltui/internal/restore/verify"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/ui/keys"
	"github.com/veltui/veltui/ui/pager"
)

// verifyPage compares an ended restore with the cluster. It replaces the Resources page, and reads the cluster once
// when opened.
type verifyPage struct {
	noopPage
	resultAnswer fetch.Answer[verification]
	// comparisonAnswer is the same result with contents, which are compared only on request.
	comparisonAnswer fetch.Answer[verification]
	// progress and comparisonText are the progress of a reading; the command that reads sets them.
	progress       atomic.Pointer[live.Progress]
	comparisonText atomic.Pointer[string]
	folds          foldState
	wasOpened      bool // true if the page was opened: a restore is also verified before, when it ends
}

// verification is the result of verifying a restore, worded once: a restore can have many thousands of items.
type verification struct {
	verify.Result
	worded view.Verification
}

func newVerification(r verify.Result) verification { return verification{r, view.NewVerification(&r)} }

// newCompareBinding returns the key that compares contents; esc cancels the comparison.
func (p *verifyPage) newCompareBinding(s *Screen) keys.Binding {
	return keys.Binding{
		Name:        "compare",
		Keys:        []string{"c"},
		Label:       "c",
		Description: "compare contents",
		FooterText:  "compare",
		Group:       keys.GroupLook,
		InFooter:    true,
		Active:      func() bool { return p.resultAnswer.HasValue && !p.comparisonAnswer.IsPending() },
		Unavailable: func() string { return s.dependencies.UnavailableReason(cluster.CapabilityComparison) },
		Do: func(string) tea.Cmd {
			p.comparisonAnswer.Invalidate()
			p.progress.Store(nil)
			p.comparisonText.Store(nil)
			return p.fetchVerification(s, &p.comparisonAnswer, func(text string) { p.comparisonText.Store(&text) })
		},
	}
}

// isComparing reports whether the page is open and a comparison runs.
func (p *verifyPage) isComparing(s *Screen) bool {
	return s.currentPage() == jobPage(p) && p.comparisonAnswer.IsPending()
}

// backOrCancelAction returns the action that leaves the screen, or cancels a running comparison on esc.
func (p *verifyPage) backOrCancelAction(s *Screen, leave func(string) tea.Cmd) func(string) tea.Cmd {
	return func(key string) tea.Cmd {
		if key != "esc" || !p.isComparing(s) {
			return leave(key)
		}
		p.comparisonAnswer.Close()
		s.revision++
		return sendNotice("The comparison is cancelled.")
	}
}

// newestAnswer returns the comparison if there is one, or else the result without contents.
func (p *verifyPage) newestAnswer() *fetch.Answer[verification] {
	if p.comparisonAnswer.HasValue {
		return &p.comparisonAnswer
	}
	return &p.resultAnswer
}

// newVerifyBinding returns the key that opens the page from any page, or goes back to Resources.
func (s *Screen) newVerifyBinding() keys.Binding {
	p := &s.verifyPage
	return keys.Binding{
		Name:        "verify",
		Keys:        []string{"V"},
		Label:       "V",
		Description: "verify",
		Group:       keys.GroupLook,
		InFooter:    true,
		Unavailable: func() string { return VerifyUnavailable(&s.dependencies, s.job.Job) },
		Do: func(string) tea.Cmd {
			was := s.currentPage()
			s.showsVerify = was != jobPage(p)
			if s.showsVerify && !p.resultAnswer.IsPending() && (p.wasOpened || !p.resultAnswer.HasValue) {
				p.resultAnswer.Invalidate()
				p.comparisonAnswer.Close()
				p.comparisonAnswer = fetch.Answer[verification]{}
				p.progress.Store(nil)
			}
			p.wasOpened = p.wasOpened || s.showsVerify
			s.openTabIndex = s.tabIndex(Resources)
			if s.currentPage() != was {
				was.onLeave()
			}
			s.revision++
			return s.showFromTop()
		},
	}
}

// VerifyUnavailable returns why a job cannot be verified, empty if it can.
func VerifyUnavailable(sources *Dependencies, j *job.Job) string {
	switch {
	case j == nil || j.Kind != job.Restore:
		return "only a restore can be verified"
	case sources.UnavailableReason(cluster.CapabilityVerification) != "":
		return sources.UnavailableReason(cluster.CapabilityVerification)
	case j.Phase == velero.PhaseFailedValidation:
		return j.Name + " failed validation and restored nothing"
	case !j.IsTerminal():
		return j.Name + " has not ended; verify it then"
	}
	return ""
}

func (p *verifyPage) pageAnswers() []answerHandle {
	return []answerHandle{&p.resultAnswer, &p.comparisonAnswer}
}

func (p *verifyPage) newBindings(s *Screen) []keys.Binding {
	known := func() bool { return p.resultAnswer.HasValue }
	return append(
		s.newMarkBindings(known, p.itemsAt, "Nothing is selected here that did not come back or differs.", p.lostItems),
		p.folds.newBinding(s, "open or close", known, verifiedRowGroup),
		p.newCompareBinding(s),
	)
}

// itemsAt returns the items of a row by their names in the backup, if the item did not come back or its contents
// differ.
func (p *verifyPage) itemsAt(key string) []restorespec.Item {
	var k, i int
	kinds := p.newestAnswer().Value.Kinds
	if n, _ := fmt.Sscanf(
		key,
		"%d/%d",
		&k,
		&i,
	); n < 2 || strings.Count(key, "/") != 1 || k >= len(kinds) ||
		i >= len(kinds[k].Items) {
		return nil
	}
	of := &kinds[k].Items[i]
	if differs := slices.Contains(verify.ContentStates, of.Content) &&
		of.Content != verify.NotCompared; !differs &&
		!of.State.IsLost() {
		return nil
	}
	return cluster.SourceItems(kinds[k].Name, of.Namespace, of.Name, of.BackupNamespace)
}

func (p *verifyPage) lostItems() (all []restorespec.Item) {
	for k := range p.newestAnswer().Value.Kinds {
		for i := range p.newestAnswer().Value.Kinds[k].Items {
			if p.newestAnswer().Value.Kinds[k].Items[i].IsLost() {
				all = append(all, p.itemsAt(fmt.Sprintf("%d/%d", k, i))...)
			}
		}
	}
	return all
}

func (p *verifyPage) fetchMissing(s *Screen) tea.Cmd {
	return p.fetchVerification(s, &p.resultAnswer, nil)
}

// verifyEndedRestore verifies, once, a restore that ended while its screen was open.
func (p *verifyPage) verifyEndedRestore(s *Screen) tea.Cmd {
	if !s.endedWhileOpen || p.resultAnswer.HasValue || p.resultAnswer.Err != nil ||
		s.dependencies.UnavailableReason(cluster.CapabilityComparison)+VerifyUnavailable(&s.dependencies, s.job.Job) != "" {
		return nil
	}
	return p.fetchMissing(s)
}

// verificationText returns the result of verifying the restore, empty if it was not verified.
func (p *verifyPage) verificationText(s *Screen) string {
	r := p.newestAnswer()
	switch key := s.dependencies.Keys.FirstKey("verify"); {
	case r.HasValue:
		return human.Capitalize(r.Value.worded.Summary.Text) + ". " + key + " shows it, as of " +
			human.Ago(r.ReadAt, s.dependencies.Clock()) + "."
	case s.endedWhileOpen && r.IsPending():
		return "veltui verifies what came back."
	case s.endedWhileOpen && r.Err != nil:
		return "Not verified: " + r.Err.Error() + "."
	}
	return ""
}

func (p *verifyPage) fetchVerification(s *Screen, of *fetch.Answer[verification], far func(string)) tea.Cmd {
	if s.assessment == nil {
		return nil
	}
	j, in := s.job.Job, s.assessment
	return of.FetchIfDue(s.newRequester(), 0, func(ctx context.Context) (verification, error) {
		j, err := s.dependencies.withVolumes(ctx, j) // completed volumes tell that their data came back
		if err != nil {
			return verification{}, err
		}
		r, err := s.dependencies.VerifyRestore(ctx, j, in, func(at live.Progress) { p.progress.Store(&at) }, far)
		if err != nil {
			return verification{}, err
		}
		return newVerification(r), nil
	})
}

// verifyColumns are the columns of a verification, between the sign of a group and a margin.
var verifyColumns = func() []view.ScreenColumn {
	columns := []view.ScreenColumn{{Width: 1}, {Width: 1}}
	columns = append(columns, view.ScreenColumns(view.VerificationColumns)...)
	return append(columns, view.ScreenColumn{Width: 1})
}()

func (p *verifyPage) renderHead(c draw.Canvas, _ *Screen) []string {
	if !p.resultAnswer.HasValue || p.resultAnswer.IsPending() || p.resultAnswer.Err != nil {
		return nil
	}
	summary := p.newestAnswer().Value.worded.Summary
	lines := wrapNote(c, c.Theme.ToneStyle(summary.Tone), human.Capitalize(summary.Text), max(maxAboutLines(c), 2))
	return append(lines, c.RenderTableHeader(verifyColumns, view.FitColumns(verifyColumns, c.Width), draw.SortOrder{}))
}

const (
	// maxKindRows limits the items of a kind, and maxUnchecked the unchecked things.
	maxKindRows  = 500
	maxUnchecked = 20
	// maxUncutRows is the largest number of rows of a kind whose reasons are shown uncut.
	maxUncutRows = 8
)

func (p *verifyPage) renderLines(c draw.Canvas, s *Screen) pager.Source {
	p.folds.followSearch(s)
	o := verifyOutline{&outline{canvas: c, folds: p.folds}, s.areMarked}
	say := func(style lipgloss.Style, text string) { o.addLines(wrapNote(c, style, text, 6)...) }
	key := s.dependencies.Keys.FirstKey("verify")
	again := key + " shows Velero's own list; press it twice to check again."
	switch {
	case p.resultAnswer.Err != nil:
		say(c.Theme.Bad, "veltui cannot tell whether everything came back: "+p.resultAnswer.Err.Error()+".")
		o.addLines("")
		say(c.Theme.Dim, again)
		return o
	case !p.resultAnswer.HasValue || p.resultAnswer.IsPending():
		text := human.Capitalize(view.VerificationProgressText(p.progress.Load()))
		if p.resultAnswer.IsPending() {
			text += ","
		}
		o.addLines("")
		say(c.Theme.Dim, waitingText(c, s, text, p.resultAnswer.RequestedAt()))
		return o
	}
	r := &p.newestAnswer().Value
	switch {
	case p.comparisonAnswer.IsPending():
		far := ""
		if reported := p.comparisonText.Load(); reported != nil {
			far = *reported
		}
		say(
			c.Theme.Dim,
			waitingText(c, s, human.Capitalize(view.ComparisonProgressText(far)), p.comparisonAnswer.RequestedAt()),
		)
	case p.comparisonAnswer.Err != nil:
		say(c.Theme.Bad, "Contents were not compared: "+p.comparisonAnswer.Err.Error()+".")
	}
	v := &r.worded
	if len(v.Volumes.Items) > 0 {
		o.addVerifiedGroup("volumes", &v.Volumes, nil)
	}
	for n := range v.Resources {
		k := &r.Kinds[n]
		o.addVerifiedGroup(strconv.Itoa(n), &v.Resources[n], func(i int) bool {
			item := &k.Items[i]
			return o.areMarked(cluster.SourceItems(k.Name, item.Namespace, item.Name, item.BackupNamespace))
		})
	}
	o.addLines("")
	say(c.Theme.Dim, v.BoundText)
	for n, unchecked := range v.Unchecked {
		if n == maxUnchecked {
			say(c.Theme.Waiting, "Unchecked: "+human.More(len(v.Unchecked)-n)+".")
			break
		}
		say(c.Theme.Waiting, "Unchecked: "+unchecked+".")
	}
	for _, text := range v.Notes {
		say(c.Theme.Waiting, text)
	}
	say(
		c.Theme.Dim,
		"Looked "+human.Ago(p.newestAnswer().ReadAt, c.Now)+", with "+human.Count(r.Cost.Requests, "request")+". "+again,
	)
	return o
}

// verifyOutline lists the resources and volumes, with what came back.
type verifyOutline struct {
	*outline
	areMarked func([]restorespec.Item) bool
}

// addVerifiedGroup adds a row that opens to show all its items, those that need attention first. isMarked reports
// whether item i is marked; nil if no item can be marked.
func (o verifyOutline) addVerifiedGroup(key string, g *view.VerifiedGroup, isMarked func(i int) bool) {
	rows := make([]verifiedRow, len(g.Items))
	for i, item := range g.Items {
		rows[i] = verifiedRow{item, isMarked != nil && isMarked(i)}
	}
	open := o.outline.addGroup(
		key,
		g.OpenByDefault,
		func(c draw.Canvas, sign string) string { return renderGroupRow(c, sign, g.Cells) },
	)
	switch need := g.AttentionCount; {
	case !open:
	case need == 0 || need == len(rows):
		o.addVerifiedRows(key, rows, need)
	default:
		o.addVerifiedRows(key, rows[:need], need)
		o.addSettledGroup(key+"/"+settledGroupKey, rows[need:], need)
	}
}

// renderGroupRow draws the row of a group, with a sign in place of empty counts.
func renderGroupRow(c draw.Canvas, sign string, cells []view.Cell) string {
	widths := view.FitColumns(verifyColumns, c.Width)
	drawn := []tableCell{{}, {text: sign}}
	for i, column := range view.VerificationColumns {
		switch shown := cells[i].Text; {
		case column.Screen.Width == 0:
		case i == 0:
			drawn = append(drawn, tableCell{c.Theme.ToneStyle(shown.Tone), c.TruncateMiddle(shown.Text, widths[len(drawn)])})
		case shown.Text == "":
			drawn = append(drawn, tableCell{c.Theme.Dim, c.Glyphs.Ahead})
		default:
			drawn = append(drawn, tableCell{c.Theme.ToneStyle(shown.Tone), shown.Text})
		}
	}
	return renderTableRow(c, verifyColumns, widths, append(drawn, tableCell{})...)
}

// addSettledGroup adds the rows that need no attention as a group of their own, closed at first.
func (o verifyOutline) addSettledGroup(key string, rest []verifiedRow, need int) {
	count := map[string]int{}
	var words []string
	for _, r := range rest {
		state := r.State.FitWidth(stateWidth)
		if count[state]++; count[state] == 1 {
			words = append(words, state)
		}
	}
	for i, w := range words {
		words[i] = human.Number(count[w]) + " " + w
	}
	if o.outline.addGroup(key, false, func(c draw.Canvas, sign string) string {
		return "   " + sign + " " + c.Theme.Dim.Render(strings.Join(words, ", "))
	}) {
		o.addVerifiedRows(key, rest, need)
	}
}

// settledGroupKey is the key of the group of rows that need no attention.
const settledGroupKey = "rest"

// verifiedRowGroup returns the group that a row belongs to.
func verifiedRowGroup(key string) string {
	if _, in, _ := strings.Cut(key, "/"); in == settledGroupKey || strings.HasPrefix(in, settledGroupKey+"/") {
		return groupAtDepth(2)(key)
	}
	return groupAtDepth(1)(key)
}

// addVerifiedRows adds rows below a kind's row. Rows that need attention are not cut if they are few.
func (o verifyOutline) addVerifiedRows(key string, rows []verifiedRow, need int) {
	for i, r := range rows {
		if i == maxKindRows {
			o.addRow(key+"/more", func(c draw.Canvas) string {
				return c.Theme.Dim.Render(
					"    " + human.AndMore(len(rows)-i) + ": veltui verify --all names all",
				)
			})
			return
		}
		own := key + "/" + strconv.Itoa(i)
		if r.isSettled() || need > maxUncutRows {
			o.addRow(own, func(c draw.Canvas) string { return r.renderRow(c, 1)[0] })
			continue
		}
		lines := r.renderRow(o.canvas, 4)
		o.addRow(own, func(draw.Canvas) string { return lines[0] })
		o.addLines(lines[1:]...)
	}
}

// verifiedRow is one item or volume.
type verifiedRow struct {
	view.VerifiedItem
	isMarked bool
}

// isSettled reports whether a row needs no attention.
func (r verifiedRow) isSettled() bool { return r.Outcome >= view.OutcomeOther }

// stateWidth is the width of the state of a row.
const stateWidth = 13

// renderRow draws a row in at most most lines; a single line is cut later.
func (r verifiedRow) renderRow(c draw.Canvas, most int) []string {
	sign, style := c.Glyphs.Done, c.Theme.ToneStyle(r.State.Tone)
	switch r.State.Tone {
	case view.Bad:
		sign = c.Glyphs.Failed
	case view.Waiting:
		sign = c.Glyphs.Fact
	case view.Dim:
		sign = c.Glyphs.Skipped
	}
	const indent = 21
	head := "     " + style.Render(sign) + " " + style.Render(c.FitLeft(r.State.FitWidth(stateWidth), stateWidth)) + " "
	head = overlayMark(c, r.isMarked, head)
	name, more := c.Theme.Text.Render(r.Name), r.OriginAndReason()
	if most == 1 || lipgloss.Width(r.Name)+lipgloss.Width(more) <= c.Width-indent-1 {
		return []string{head + name + c.Theme.Dim.Render(more)}
	}
	lines := c.WithSize(c.Width-indent-1, 0).WrapText(r.Name+more, most)
	for i, text := range lines {
		rest, whole := strings.CutPrefix(text, r.Name)
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
