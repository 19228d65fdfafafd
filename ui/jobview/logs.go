package jobview

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/stored/logs"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/ui/keys"
	"github.com/veltui/veltui/ui/pager"
)

// logsPage shows what Velero logged of the job.
type logsPage struct {
	still
	// log is the current one, nil for none; before is the last one until log has lines.
	log, before *jobLog
	least       logs.Level
	volumes     bool
	// at is the line of the Store that the user has jumped to, -1 for none.
	at int
	// target is the message whose line is looked for, nil for none, and found that line, -1 for none.
	target *logTarget
	found  fetch.Answer[int]
	// saving is how saving went, in a sentence, and saved what is said of it or of another key, empty for nothing.
	saving   fetch.Answer[string]
	saved    string
	savedBad bool
}

// redrawn is how often a log that grows is drawn anew at most.
const redrawn = 100 * time.Millisecond

func (p *logsPage) load(s *Screen) tea.Cmd {
	switch l := p.log; {
	case s.sources.Unavailable(cluster.Logs) != "":
	case l == nil, l.live && s.job.Terminal(), l.reading.Due(s.sources.Clock(), 0):
		return p.begin(s)
	}
	return p.seek(s)
}

func (p *logsPage) begin(s *Screen) tea.Cmd {
	p.found.Close()
	if p.log != nil {
		p.log.stop()
		if p.before.close(); p.log.store != nil {
			p.before = p.log
		}
	}
	l := &jobLog{live: !s.job.Terminal(), grown: fetch.NewProgress[struct{}](), drawn: map[int]logs.Line{}}
	l.origin.Store(&logs.Origin{})
	p.log, p.at = l, -1
	store, err := logs.NewStore("", 0)
	if err == nil {
		l.store, l.view = store, logs.NewView(store, p.least)
	}
	q := logs.Query{Job: s.job.Job, Follow: true, Volumes: p.volumes}
	read := l.reading.Ask(s.askerFor(l.handleRead), 0, func(ctx context.Context) (struct{}, error) {
		if err != nil {
			return struct{}{}, err
		}
		return struct{}{}, s.sources.ReadLog(
			ctx,
			q,
			logs.Output{Line: l.add, Origin: func(from logs.Origin) { l.origin.Store(&from) }},
		)
	})
	return tea.Batch(read, l.grown.Follow(s.asker(), redrawn, func(struct{}) bool {
		l.view.Update()
		s.answers++
		return true
	}))
}

// leave ends what only an open page may ask for.
func (p *logsPage) leave() {
	p.found.Close()
	p.before.close()
	if p.before = nil; p.log != nil && p.log.live {
		p.log.close()
		p.log = nil
	}
	p.saved, p.target = "", nil
}

func (p *logsPage) answers() []answer { return []answer{p} }

// Close withdraws and drops the logs, and Forget those that could not be read.
func (p *logsPage) Close() {
	p.found.Close()
	p.saving.Close()
	p.before.close()
	p.log.close()
	p.log, p.before = nil, nil
}

func (p *logsPage) Forget() {
	if p.log != nil && (p.log.reading.Err != nil || p.log.origin.Load().NotStored != nil) {
		p.Close()
	}
}

// shown is the log that is drawn: the one before until the new one has lines or has ended.
func (p *logsPage) shown() *jobLog {
	if p.log != nil && p.before != nil && (p.log.store == nil || p.log.view.Seen() == 0) &&
		(p.log.reading.Pending() || p.log.reading.Err != nil) {
		return p.before
	}
	return p.log
}

func (p *logsPage) keys(s *Screen) []keys.Binding {
	there := func() bool { l := p.shown(); return l != nil && l.store != nil && l.view.Seen() > 0 }
	copied := copyKeys(
		s,
		there,
		func() (string, string) { return p.line(s) },
		func() (string, string) { return p.part(s) },
	)
	whole := func() bool { return there() && s.Selected() != "" }
	copied[0].Short = true
	return append(copied, []keys.Binding{
		{
			Name:  "open",
			Keys:  []string{"enter", "right"},
			Label: "enter",
			What:  "whole line",
			Group: keys.Look,
			Short: true,
			On:    whole,
			Do:    keys.Run(s.ToggleWhole),
		},
		s.Wrapping(true),
		{
			Name:  "level",
			Keys:  []string{"L"},
			Label: "L",
			What:  "level",
			Group: keys.Look,
			Short: true,
			On:    there,
			Do:    keys.Run(func() { p.nextLevel(s) }),
		},
		{
			Name:  "follow",
			Keys:  []string{"F"},
			Label: "F",
			What:  "follow the end of a log that grows",
			Group: keys.Look,
			On:    func() bool { return s.Grows },
			Do: keys.Run(func() {
				if s.Follow = !s.Follow; s.Follow {
					s.Move(keys.Bottom)
				}
			}),
		},
		{
			Name:  "next-error",
			Keys:  []string{"E"},
			Label: "E",
			What:  "next error",
			Group: keys.Look,
			Short: true,
			On:    there,
			Do:    keys.Run(func() { p.nextError(s) }),
		},
		{Name: "volume-logs", Keys: []string{"o"}, Label: "o", What: "logs of volumes too, or not", Group: keys.Look,
			On: func() bool {
				return s.sources.Unavailable(cluster.Logs) == "" && s.job.Job != nil && len(s.job.Volumes) > 0
			},
			Do: func(string) tea.Cmd { p.volumes = !p.volumes; return p.begin(s) }},
		{
			Name:  "save",
			Keys:  []string{"s"},
			Label: "s",
			What:  "save",
			Group: keys.Look,
			Short: true,
			On:    there,
			Do:    func(string) tea.Cmd { return p.save(s) },
		},
	}...)
}

// line is the selected line.
func (p *logsPage) line(s *Screen) (what, text string) {
	var at int
	if _, err := fmt.Sscan(s.Selected(), &at); err != nil {
		return "", ""
	}
	return "one line", p.shown().store.Text(at, mostCopied)
}

// part is as much as can be copied from the first visible line on, and before it if there is room.
func (p *logsPage) part(s *Screen) (what, text string) {
	l := p.shown()
	l.view.Update() // the heading counts what has come since, too
	n := l.view.Len()
	from, _ := s.Visible()
	from = max(min(from, n-1), 0)
	to, room := from, MaxCopied
	var before, after []string
	fits := func(row int, into *[]string) bool {
		text := l.text(row)
		if room -= len(text) + 1; room < 0 {
			return false
		}
		*into = append(*into, text)
		return true
	}
	for to < n && fits(to, &after) {
		to++
	}
	for to == n && from > 0 && fits(from-1, &before) {
		from--
	}
	slices.Reverse(before)
	what = "all of the log"
	if to-from < n {
		what = fmt.Sprintf("only lines %d to %d of %d (s saves all)", from+1, to, n)
	}
	return what, strings.Join(append(before, after...), "\n")
}

// nextLevel shows lines from the next level on, and keeps the place.
func (p *logsPage) nextLevel(s *Screen) {
	next := map[logs.Level]logs.Level{
		logs.NoLevel: logs.Info,
		logs.Info:    logs.Warning,
		logs.Warning: logs.Error,
		logs.Error:   logs.NoLevel,
	}
	l := p.shown()
	from, _ := s.Visible()
	line := max(0, l.view.Index(from))
	follows := s.Follow
	p.useLevel(next[p.least])
	s.Unselect()
	s.Show(p.source(s, l))
	row, _ := l.view.Row(line)
	s.Move(keys.Top)
	s.GoTo(min(row, l.view.Len()-1))
	s.Follow = follows
}

// useLevel leaves out the lines below a level.
func (p *logsPage) useLevel(least logs.Level) {
	p.least, p.saved = least, ""
	for _, l := range []*jobLog{p.log, p.before} {
		if l != nil && l.store != nil {
			l.view = logs.NewView(l.store, p.least)
			l.view.Update()
		}
	}
}

// nextError goes to the first error after the last one or the top of the window, and round the end.
func (p *logsPage) nextError(s *Screen) {
	l := p.shown()
	from, to := s.Visible()
	if row, exact := l.view.Row(p.at); p.at >= 0 && exact && row >= from && row < to {
		from = row + 1
	}
	row := l.view.FirstError(from)
	if row < 0 {
		row = l.view.FirstError(0)
	}
	if row < 0 {
		p.saved, p.savedBad = "There is no error in this log.", false
		return
	}
	p.at, p.saved = l.view.Index(row), ""
	s.GoTo(row)
}

// save writes all of the log to a new file, once its path is confirmed.
func (p *logsPage) save(s *Screen) tea.Cmd {
	l := p.shown()
	return saveAs(s.newFile("veltui", ".log"), func(path string) tea.Cmd {
		p.saving.Outdate()
		return p.saving.Ask(s.askerFor(p.handleSaved), 0, func(context.Context) (string, error) {
			path, err := filepath.Abs(path)
			if err == nil {
				err = l.store.Save(path)
			}
			return "Saved to " + path + " (" + human.Bytes(l.store.Size()) + ").", err
		})
	})
}

func (p *logsPage) handleSaved() {
	p.saved, p.savedBad = p.saving.Value, p.saving.Err != nil
	if p.savedBad {
		p.saved = "Not saved: " + p.saving.Err.Error()
	}
}

// saveAs asks for the path of a file before do writes it.
func saveAs(name string, do func(path string) tea.Cmd) tea.Cmd {
	return func() tea.Msg { return keys.SaveAs{Name: name, Do: do} }
}

// newFile names a file about the job, without what file systems do not take.
func (s *Screen) newFile(prefix, ext string) string {
	name := strings.Map(func(r rune) rune {
		if r == '-' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, s.job.Name)
	return strings.Join(
		[]string{prefix, s.job.Kind.Word(), name, s.sources.Clock().Format("20060102-150405")},
		"-",
	) + ext
}

func (p *logsPage) head(c draw.Canvas, s *Screen) []string {
	l := p.shown()
	if l == nil || l.store == nil {
		return nil
	}
	p.place(s, l)
	from := l.origin.Load()
	parts := []string{c.Theme.Strong.Render(sourceWords(l, from))}
	if l.view.Seen() > 0 {
		words := human.Count(l.store.Lines(), "line")
		if n := l.store.Count(logs.Error); n > 0 {
			words += ", " + c.Theme.Bad.Render(human.Count(n, "error"))
		}
		if n := l.store.Count(logs.Warning); n > 0 {
			words += ", " + c.Theme.Waiting.Render(human.Count(n, "warning"))
		}
		parts = append(parts, words)
	}
	if p.least != logs.NoLevel {
		parts = append(parts, c.Theme.Accent.Render("level "+p.least.String()+" and above"))
	}
	if zone := zoneWords(c.Now); zone != "" {
		parts = append(parts, c.Theme.Dim.Render(zone))
	}
	switch {
	case s.Grows && s.Follow:
		parts = append(parts, c.Theme.Running.Render("following"))
	case s.Grows:
		parts = append(parts, c.Theme.Dim.Render("F follows"))
	}
	lines := []string{" " + c.Cut(strings.Join(parts, c.Theme.Dim.Render("  ")), c.Width-1)}
	say := func(style lipgloss.Style, text string) { lines = append(lines, note(c, style, text, 2)...) }
	if from.NotStored != nil && l.view.Seen() > 0 {
		say(
			c.Theme.Waiting,
			"These lines are what the server's pods still have: the stored log cannot be read: "+from.NotStored.Error(),
		)
	}
	if p.log != nil && p.log.reading.Err != nil && l.view.Seen() > 0 {
		say(c.Theme.Bad, "The log ends here: "+p.log.reading.Err.Error())
	}
	say(c.Theme.Waiting, l.store.Kept())
	if style := c.Theme.Good; p.saved != "" {
		if p.savedBad {
			style = c.Theme.Bad
		}
		say(style, p.saved)
	}
	return lines
}

func (p *logsPage) lines(c draw.Canvas, s *Screen) pager.Source {
	l := p.shown()
	if why := p.empty(s, l); why != "" {
		s.Grows, s.Follow = false, false
		return pager.Plain(append([]string{""}, c.Note(c.Theme.Dim, why, 2, 8)...))
	}
	p.place(s, l)
	source := p.source(s, l)
	if l == p.log {
		source.silence = l.silence(c)
	}
	return source
}

// place has the window follow a log that grows, from its first lines on.
func (p *logsPage) place(s *Screen, l *jobLog) {
	s.Grows = l == p.log && l.live && l.reading.Pending() && l.view.Seen() > 0
	if !l.placed && l.view.Seen() > 0 {
		l.placed = true
		s.Follow = s.Grows
	}
	s.Follow = s.Follow && s.Grows
}

// empty says why there is nothing to show, and what would help.
func (p *logsPage) empty(s *Screen, l *jobLog) string {
	word := s.job.Kind.Word()
	switch {
	case s.sources.Unavailable(cluster.Logs) != "":
		return "Logs are not read here."
	case l == nil:
	case l.store != nil && l.view.Seen() > 0 && l.view.Len() == 0:
		return fmt.Sprintf(
			"None of %s is of level %s or above. Press %s to see others.",
			human.Count(l.store.Lines(), "line"),
			p.least,
			s.sources.Keys.Key("level"),
		)
	case l.store != nil && l.view.Seen() > 0:
		return ""
	case l.reading.Err != nil:
		return "The log cannot be read: " + l.reading.Err.Error() + ". veltui tries again in a minute; press " +
			s.sources.Keys.Key("reconnect") + " to try now."
	case !l.reading.Pending():
		return "Nothing was logged about this " + word + "."
	case l.live && len(l.origin.Load().Pods) > 0:
		return "The server has logged nothing about this " + word + " so far. New lines appear here."
	}
	return "Reading the log..."
}
