package jobview

import (
	"cmp"
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

// verifyPage compares an ended restore with the cluster. It replaces the Resources page, and asks once when opened.
type verifyPage struct {
	still
	result fetch.Answer[verify.Result]
	// compared is the same with the contents, which are compared when somebody asks.
	compared fetch.Answer[verify.Result]
	// progress and far are those of a reading; the command that reads writes them.
	progress atomic.Pointer[live.Progress]
	far      atomic.Pointer[string]
	folds    folds
	opened   bool // true if somebody has seen it: it is verified before that where the restore ends
}

// compareKey compares contents; esc stops that.
func (p *verifyPage) compareKey(s *Screen) keys.Binding {
	return keys.Binding{
		Name:   "compare",
		Keys:   []string{"c"},
		Label:  "c",
		What:   "compare contents",
		Brief:  "compare",
		Group:  keys.Look,
		Short:  true,
		On:     func() bool { return p.result.Known && !p.compared.Pending() },
		WhyNot: func() string { return s.sources.Unavailable(cluster.Comparison) },
		Do: func(string) tea.Cmd {
			p.compared.Outdate()
			p.progress.Store(nil)
			p.far.Store(nil)
			return p.ask(s, &p.compared, func(text string) { p.far.Store(&text) })
		},
	}
}

// comparing reports whether the page is open and compares.
func (p *verifyPage) comparing(s *Screen) bool { return s.open() == page(p) && p.compared.Pending() }

// back leaves the screen, or stops a comparison.
func (p *verifyPage) back(s *Screen, leave func(string) tea.Cmd) func(string) tea.Cmd {
	return func(key string) tea.Cmd {
		if key != "esc" || !p.comparing(s) {
			return leave(key)
		}
		p.compared.Close()
		s.answers++
		return noticed("The comparison is cancelled.")
	}
}

// shown is the newest answer.
func (p *verifyPage) shown() *fetch.Answer[verify.Result] {
	if p.compared.Known {
		return &p.compared
	}
	return &p.result
}

// verifyKey opens the page from whichever page, and goes back to Resources.
func (s *Screen) verifyKey() keys.Binding {
	p := &s.verify
	return keys.Binding{Name: "verify", Keys: []string{"V"}, Label: "V", What: "verify", Group: keys.Look, Short: true,
		WhyNot: func() string { return VerifyUnavailable(&s.sources, s.job.Job) },
		Do: func(string) tea.Cmd {
			was := s.open()
			s.verifying = was != page(p)
			if s.verifying && !p.result.Pending() && (p.opened || !p.result.Known) {
				p.result.Outdate()
				p.compared.Close()
				p.compared = fetch.Answer[verify.Result]{}
				p.progress.Store(nil)
			}
			p.opened = p.opened || s.verifying
			s.at = s.indexOf(Resources)
			if s.open() != was {
				was.leave()
			}
			s.answers++
			return s.opened()
		}}
}

// VerifyUnavailable says why a job cannot be verified, empty if it can.
func VerifyUnavailable(sources *Sources, j *job.Job) string {
	switch {
	case j == nil || j.Kind != job.Restore:
		return "only a restore can be verified"
	case sources.Unavailable(cluster.Verification) != "":
		return sources.Unavailable(cluster.Verification)
	case j.Phase == velero.PhaseFailedValidation:
		return j.Name + " failed validation and restored nothing"
	case !j.Terminal():
		return j.Name + " has not ended; verify it then"
	}
	return ""
}

func (p *verifyPage) answers() []answer { return []answer{&p.result, &p.compared} }

func (p *verifyPage) keys(s *Screen) []keys.Binding {
	known := func() bool { return p.result.Known }
	return append(
		s.markKeys(known, p.item, "Nothing is selected here that did not come back or differs.", p.lost),
		p.folds.binding(s, "open or close", known, verifyGroup),
		p.compareKey(s),
	)
}

// item is what a row stands for, as the backup names it, if it did not come back or its contents differ.
func (p *verifyPage) item(key string) []restorespec.Item {
	var k, i int
	kinds := p.shown().Value.Kinds
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
	if differs := slices.Contains(verify.Contents, of.Content) &&
		of.Content != verify.NotCompared; !differs &&
		!of.State.Lost() {
		return nil
	}
	return cluster.SourceItem(kinds[k].Name, of.Namespace, of.Name, of.From)
}

func (p *verifyPage) lost() (all []restorespec.Item) {
	for k := range p.shown().Value.Kinds {
		for i := range p.shown().Value.Kinds[k].Items {
			if p.shown().Value.Kinds[k].Items[i].Lost() {
				all = append(all, p.item(fmt.Sprintf("%d/%d", k, i))...)
			}
		}
	}
	return all
}

func (p *verifyPage) load(s *Screen) tea.Cmd { return p.ask(s, &p.result, nil) }

// ended verifies a restore that ended while its screen was open, once.
func (p *verifyPage) ended(s *Screen) tea.Cmd {
	if !s.ended || p.result.Known || p.result.Err != nil ||
		s.sources.Unavailable(cluster.Comparison)+VerifyUnavailable(&s.sources, s.job.Job) != "" {
		return nil
	}
	return p.load(s)
}

// verdict is how a restore that was verified stands, empty if it was not.
func (p *verifyPage) verdict(s *Screen) string {
	r := p.shown()
	switch key := s.sources.Keys.Key("verify"); {
	case r.Known:
		return human.Capital(
			r.Value.Summary(),
		) + ". " + key + " shows it, as of " + human.Ago(
			r.Read,
			s.sources.Clock(),
		) + "."
	case s.ended && r.Pending():
		return "veltui verifies what came back."
	case s.ended && r.Err != nil:
		return "Not verified: " + r.Err.Error() + "."
	}
	return ""
}

func (p *verifyPage) ask(s *Screen, of *fetch.Answer[verify.Result], far func(string)) tea.Cmd {
	if s.assessed == nil {
		return nil
	}
	j, in := s.job.Job, s.assessed
	return of.Ask(s.asker(), 0, func(ctx context.Context) (verify.Result, error) {
		j, err := s.sources.withVolumes(ctx, j) // those that completed tell that their data came back
		if err != nil {
			return verify.Result{}, err
		}
		return s.sources.Verify(ctx, j, in, func(at live.Progress) { p.progress.Store(&at) }, far)
	})
}

var verifyColumns = []view.ScreenColumn{
	{Width: 1},
	{Width: 1},
	{Title: "RESOURCE", Width: 22, Grow: 1, Limit: 60},
	{Title: "EXPECTED", Width: 8, Right: true},
	{Title: "PRESENT", Width: 7, Right: true},
	{Title: "MISSING", Width: 7, Right: true},
	{Title: "UNKNOWN", Width: 8, Right: true, Priority: 1},
	{Title: "TRANSIENT", Width: 9, Right: true, Priority: 2},
	{Width: 1},
}

func (p *verifyPage) head(c draw.Canvas, _ *Screen) []string {
	if !p.result.Known || p.result.Pending() || p.result.Err != nil {
		return nil
	}
	r := p.shown().Value
	style := c.Theme.Good
	switch {
	case r.Lost() > 0:
		style = c.Theme.Bad
	case !r.Settled() || r.Changed() > 0:
		style = c.Theme.Waiting
	}
	lines := note(c, style, human.Capital(r.Summary()), max(aboutLines(c), 2))
	return append(lines, c.Titles(verifyColumns, view.FitColumns(verifyColumns, c.Width), draw.Sorting{}))
}

const (
	// mostRows bounds the items of a kind, and mostUnseen the unchecked things.
	mostRows   = 500
	mostUnseen = 20
	// manyLost is for how many rows of a kind reasons are not cut.
	manyLost = 8
)

func (p *verifyPage) lines(c draw.Canvas, s *Screen) pager.Source {
	p.folds.settle(s)
	o := verifyOutline{&outline{canvas: c, folds: p.folds}, s.areMarked}
	say := func(style lipgloss.Style, text string) { o.say(note(c, style, text, 6)...) }
	key := s.sources.Keys.Key("verify")
	again := key + " shows Velero's own list; press it twice to check again."
	switch {
	case p.result.Err != nil:
		say(c.Theme.Bad, "veltui cannot tell whether everything came back: "+p.result.Err.Error()+".")
		o.say("")
		say(c.Theme.Dim, again)
		return o
	case !p.result.Known || p.result.Pending():
		text := "Reading what was to come back"
		if at := p.progress.Load(); at != nil {
			text = fmt.Sprintf("Looking for %s in the cluster: %d of %d lists", at.Resource, at.Done, at.Total)
			if at.Done == at.Total {
				text = "Looking at claims and volumes"
			}
		}
		if p.result.Pending() {
			text += ","
		}
		o.say("")
		say(c.Theme.Dim, waiting(c, s, text, p.result.Since()))
		return o
	}
	r := &p.shown().Value
	switch {
	case p.compared.Pending():
		text := "Comparing contents"
		if far := p.far.Load(); far != nil {
			text += " (" + *far + ")"
		}
		say(c.Theme.Dim, waiting(c, s, text, p.compared.Since()))
	case p.compared.Err != nil:
		say(c.Theme.Bad, "Contents were not compared: "+p.compared.Err.Error()+".")
	}
	o.volumes(r)
	for n := range r.Kinds {
		o.kind(strconv.Itoa(n), &r.Kinds[n])
	}
	o.say("")
	say(c.Theme.Dim, r.VolumeWords())
	for n, not := range r.NotSeen {
		if n == mostUnseen {
			say(c.Theme.Waiting, fmt.Sprintf("Not checked: %d more.", len(r.NotSeen)-n))
			break
		}
		say(c.Theme.Waiting, "Not checked: "+not.Resource+human.Clause(" in ", not.Namespace)+": "+not.Why+".")
	}
	for _, text := range r.Notes {
		say(c.Theme.Waiting, text)
	}
	say(
		c.Theme.Dim,
		"Looked "+human.Ago(p.shown().Read, c.Now)+", with "+human.Count(r.Cost.Requests, "request")+". "+again,
	)
	return o
}

// verifyOutline lists kinds and volumes with what came back of them.
type verifyOutline struct {
	*outline
	marked func([]restorespec.Item) bool
}

// rowCount is what the columns count: wanted, there, not back, not seen, come and gone.
type rowCount [5]int

// count adds a row that opens to show all below it, of which the first need a look.
func (o verifyOutline) count(key, name string, count rowCount, all []verifiedRow, need int, byDefault bool) {
	open := o.group(key, byDefault, func(c draw.Canvas, sign string) string {
		style := c.Theme.Text
		if count[2] > 0 {
			style = c.Theme.Bad
		} else if count[0] == 0 {
			style = c.Theme.Dim
		}
		return countRow(
			c,
			verifyColumns,
			sign,
			style,
			name,
			count[:],
			[]lipgloss.Style{c.Theme.Text, c.Theme.Text, c.Theme.Bad, c.Theme.Waiting, c.Theme.Text},
		)
	})
	switch {
	case !open:
	case need == 0 || need == len(all):
		o.list(key, all, need)
	default:
		o.list(key, all[:need], need)
		o.rest(key+"/"+restOf, all[need:], need)
	}
}

// rest adds the rows that need no look as a group of their own, closed at first.
func (o verifyOutline) rest(key string, rest []verifiedRow, need int) {
	count := map[string]int{}
	var words []string
	for _, r := range rest {
		if count[r.words]++; count[r.words] == 1 {
			words = append(words, r.words)
		}
	}
	for i, w := range words {
		words[i] = human.Number(count[w]) + " " + w
	}
	if o.group(key, false, func(c draw.Canvas, sign string) string {
		return "   " + sign + " " + c.Theme.Dim.Render(strings.Join(words, ", "))
	}) {
		o.list(key, rest, need)
	}
}

// restOf is the key of the group of rows that need no look.
const restOf = "rest"

// verifyGroup returns the group that a row belongs to.
func verifyGroup(key string) string {
	if _, in, _ := strings.Cut(key, "/"); in == restOf || strings.HasPrefix(in, restOf+"/") {
		return upTo(2)(key)
	}
	return upTo(1)(key)
}

// list adds rows below a kind's. Those that need a look are not cut if they are few.
func (o verifyOutline) list(key string, rows []verifiedRow, need int) {
	for i, r := range rows {
		if i == mostRows {
			o.add(key+"/more", func(c draw.Canvas) string {
				return c.Theme.Dim.Render(
					fmt.Sprintf("     and %s more: veltui verify --all names all", human.Number(len(rows)-i)),
				)
			})
			return
		}
		own := key + "/" + strconv.Itoa(i)
		if r.settled() || need > manyLost {
			o.add(own, func(c draw.Canvas) string { return r.draw(c, 1)[0] })
			continue
		}
		lines := r.draw(o.canvas, 4)
		o.add(own, func(draw.Canvas) string { return lines[0] })
		o.say(lines[1:]...)
	}
}

// verifiedRow is one item or volume.
type verifiedRow struct {
	sign            verify.State
	words           string
	name, from, why string
	marked          bool
}

// settled reports whether a row needs no look.
func (r verifiedRow) settled() bool { return r.rank() == 2 }

// rank puts what is lost first, then what is not known.
func (r verifiedRow) rank() int {
	switch {
	case r.sign.Lost():
		return 0
	case r.sign == verify.NotLookedAt:
		return 1
	}
	return 2
}

// volumes adds the volumes and their data, open at first if one needs a look.
func (o verifyOutline) volumes(r *verify.Result) {
	if len(r.Volumes)+len(r.Claims)+len(r.Data) == 0 {
		return
	}
	var all []verifiedRow
	add := func(lost bool, words, name, why string) {
		sign := verify.NotLookedAt
		if lost {
			sign = verify.Failed
		}
		all = append(all, verifiedRow{sign: sign, words: words, name: name, why: why})
	}
	for _, d := range r.Data {
		add(d.Lost, "not moved", d.Target, d.Words())
	}
	for _, claim := range r.Claims {
		add(claim.Lost, "not bound", claim.Namespace+"/"+claim.Name, claim.Why)
	}
	there, notSeen := 0, 0
	for _, v := range r.Volumes {
		if v.State == verify.DataFailed { // of which its mover tells
			continue
		}
		row := verifiedRow{sign: likeItems[v.State], words: v.State.Words(), name: v.String(), why: v.Why}
		all = append(all, row)
		switch {
		case v.State == verify.DataUnknown:
			notSeen++
		case row.settled() && v.State != verify.DataLeftOut:
			there++
		}
	}
	slices.SortStableFunc(all, func(x, y verifiedRow) int { return cmp.Compare(x.rank(), y.rank()) })
	need := slices.IndexFunc(all, verifiedRow.settled)
	if need < 0 {
		need = len(all)
	}
	o.count(
		"volumes",
		"data of volumes",
		rowCount{len(r.Volumes), there, r.LostVolumes() + r.LostClaims(), notSeen, 0},
		all,
		need,
		need > 0,
	)
}

// likeItems are the states of items that look like those of volumes.
var likeItems = map[verify.DataState]verify.State{
	verify.DataEmpty:    verify.Failed,
	verify.DataUnknown:  verify.NotLookedAt,
	verify.DataWaiting:  verify.NotLookedAt,
	verify.DataLeftOut:  verify.LeftOut,
	verify.DataExisted:  verify.Existed,
	verify.DataKept:     verify.Existed,
	verify.DataRestored: verify.Restored,
}

// kind adds a kind and its items, open at first if something did not come back.
func (o verifyOutline) kind(key string, k *verify.Kind) {
	all, need := make([]verifiedRow, len(k.Items)), 0
	for i, item := range k.Items {
		all[i] = verifiedRow{
			item.State,
			cmp.Or(shortWords[item.State], item.State.Words()),
			human.Namespaced(item.Namespace, item.Name),
			item.From,
			item.Reason(),
			o.marked(cluster.SourceItem(k.Name, item.Namespace, item.Name, item.From)),
		}
		switch {
		case item.State.Lost() || !slices.Contains(verify.Contents, item.Content):
		case item.Content.Lost():
			all[i].sign, all[i].words = verify.Failed, item.Content.Words()
		default:
			all[i].sign, all[i].words = verify.NotLookedAt, item.Content.Words()
		}
		if !all[i].settled() { // these come first
			need++
		}
	}
	o.count(
		key,
		k.Name,
		rowCount{k.Wanted(), k.There(), k.Lost(), k.Count[verify.NotLookedAt], k.Count[verify.Passing]},
		all,
		need,
		k.Lost()+k.Differing() > 0,
	)
}

// shortWords stand for the words of states that are longer than a row's thirteen cells.
var shortWords = map[verify.State]string{verify.Differs: "differs", verify.Passing: "comes, goes"}

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
	head = markRow(c, r.marked, head)
	name, more := c.Theme.Text.Render(r.name), fromWhy(r.from, r.why)
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
