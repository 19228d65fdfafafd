package cmd

import (
	"fmt"

	"github.com/veltui/veltui/action"
	"github.com/veltui/veltui/internal/sanitize"
)

// actionFlags are the flags of finalize that ask for another action.
var actionFlags = map[action.Name]string{action.Wake: "--wake", action.CancelVolumes: "--cancel-volumes"}

// remedies lists what else the evidence calls for, each with its commands, but
// for the action that was asked for.
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
		l.consequences(w, "  ")
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

func (l *lines) consequences(w *action.Plan, indent string) {
	for _, part := range []struct {
		title string
		items []string
	}{{"it will", w.Will}, {"it will not", w.WillNot}, {"afterwards", w.Then}} {
		for _, item := range part.items {
			l.add("%s- %s: %s", indent, part.title, item)
		}
	}
}

// command writes a command that can be copied whole: it is never shortened.
func (l *lines) command(indent, command string) {
	if l.err == nil {
		_, l.err = fmt.Fprintln(l.w, indent+sanitize.Whole(command))
	}
}
