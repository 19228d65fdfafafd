package cmd

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/veltui/veltui/action"
	"github.com/veltui/veltui/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/sanitize"
)

// print writes an answer as text or, with json or yaml, as a document.
func (c *stdio) print(output string, data any, text func(*lines)) error {
	if output == "json" || output == "yaml" {
		return printDocument(c.streams.Out, output, data)
	}
	l := lines{w: c.streams.Out}
	text(&l)
	return l.err
}

type lines struct {
	w   io.Writer
	err error
}

// add writes one line; a leading line feed makes an empty one before it.
func (l *lines) add(format string, args ...any) {
	text, gap := strings.CutPrefix(fmt.Sprintf(format, args...), "\n")
	if l.err == nil && gap {
		_, l.err = fmt.Fprintln(l.w)
	}
	if l.err == nil {
		_, l.err = fmt.Fprintln(l.w, sanitize.String(text))
	}
}

func (l *lines) list(title string, items []string) {
	if len(items) == 0 {
		return
	}
	l.add("\n%s", title)
	for _, item := range items {
		l.add("  - %s", item)
	}
}

func (l *lines) facts(facts []diagnosis.Fact, now time.Time) {
	var known, other []string
	for _, f := range facts {
		text := fmt.Sprintf("%s (%s%s)", f.Text, f.Source, factAge(f.At, now))
		if f.Holds {
			known = append(known, text)
		} else {
			other = append(other, text)
		}
	}
	l.list("facts:", known)
	l.list("unknown or contradicting:", other)
}

func factAge(at, now time.Time) string {
	switch {
	case at.IsZero():
		return ""
	case now.Sub(at) < time.Second:
		return ", now"
	}
	return ", " + human.Ago(at, now)
}

var actionFlags = map[action.Name]string{action.Wake: "--wake", action.CancelVolumes: "--cancel-volumes"}

// consequences are the titles of what a plan will do, will not do, and of what comes then.
var consequences = [...]string{"it will", "it will not", "afterwards"}

// remedies prints all plans but that of the action that was asked for.
func (l *lines) remedies(plans []action.Plan, asked action.Name) {
	title := "\noption: %s"
	for i := range plans {
		w := &plans[i]
		if w.Action == asked {
			continue
		}
		l.add(title, w.Title)
		title = "\nanother option: %s"
		l.add("  %s", w.Why)
		for i, items := range [][]string{w.Will, w.WillNot, w.Then} {
			for _, item := range items {
				l.add("  - %s: %s", consequences[i], item)
			}
		}
		if w.Refusal != "" {
			l.add("  %s. %s", w.Refusal, w.Advice)
		} else {
			l.command("  ", w.Veltui("finalize", w.Kind.Word()+"/"+w.Name, actionFlags[w.Action]))
			l.add("  or:")
		}
		for _, c := range w.Commands {
			l.command("  ", c)
		}
	}
}

// command writes a command that can be copied whole: it is never shortened.
func (l *lines) command(indent, command string) {
	if l.err == nil {
		_, l.err = fmt.Fprintln(l.w, indent+sanitize.Whole(command))
	}
}
