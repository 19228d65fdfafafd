package restoreform

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/restorespec"
	"github.com/veltui/veltui/ui/keys"
)

func (f *Form) Keys() []keys.Binding { return f.keys }

func (f *Form) bindings() []keys.Binding {
	act := func(do func() tea.Cmd) func(string) tea.Cmd {
		return func(string) tea.Cmd {
			f.settle()
			return do()
		}
	}
	compared := func() bool { return f.comparison != nil && !f.compares() && !f.comparison.dryRun }
	atCommand := func() bool { return !f.Typing() }
	return []keys.Binding{
		{
			Name:    "zoom-preview",
			Keys:    []string{"ctrl+p"},
			Label:   "ctrl+p",
			What:    "whole preview",
			WhatNow: keys.Either(func() bool { return f.zoomed }, "form", "preview"),
			Group:   keys.Look,
			Short:   true,
			Do:      act(f.zoom),
		},
		{
			Keys:  []string{"shift+tab"},
			Label: "shift+tab",
			What:  "previous field",
			Group: keys.Move,
			On:    func() bool { return !f.zoomed },
			Do:    act(func() tea.Cmd { return f.move(f.focus - 1) }),
		},
		{
			Keys:  []string{"up"},
			Label: "up",
			What:  "previous field",
			Group: keys.Move,
			Do:    act(func() tea.Cmd { return f.step(-1) }),
		},
		{
			Keys:  []string{"down", "enter"},
			Label: "down enter",
			What:  "next field",
			Group: keys.Move,
			Do:    act(func() tea.Cmd { return f.step(1) }),
		},
		{
			Keys:  []string{"pgup"},
			Label: "pgup",
			What:  "scroll the preview up",
			Group: keys.Move,
			Do:    act(func() tea.Cmd { return f.scroll(-f.page) }),
		},
		{
			Keys:  []string{"pgdown"},
			Label: "pgdn",
			What:  "scroll the preview down",
			Group: keys.Move,
			Do:    act(func() tea.Cmd { return f.scroll(f.page) }),
		},
		{
			Name:    "compare-restore",
			Keys:    []string{"ctrl+t"},
			Label:   "ctrl+t",
			What:    "compare what exists",
			WhatNow: keys.Either(compared, "compare again", "compare"),
			Group:   keys.Look,
			Short:   true,
			On:      f.canCompare,
			WhyNot:  f.compareUnavailable,
			Do:      act(f.compare),
		},
		{
			Name:   "dry-run-restore",
			Keys:   []string{"ctrl+r"},
			Label:  "ctrl+r",
			What:   "dry run",
			Group:  keys.Look,
			Short:  true,
			On:     f.canDryRun,
			WhyNot: f.compareUnavailable,
			Do:     act(func() tea.Cmd { return f.dryRun(false) }),
		},
		{
			Name:  "dry-run-secrets",
			Keys:  []string{"ctrl+g"},
			Label: "ctrl+g",
			What:  "dry run with Secrets",
			Group: keys.Look,
			Short: true,
			On:    f.leftSecrets,
			Do:    act(func() tea.Cmd { return f.dryRun(true) }),
		},
		{
			Name:   "start-restore",
			Keys:   []string{"ctrl+o"},
			Label:  "ctrl+o",
			What:   "start it",
			Group:  keys.Change,
			Short:  true,
			Writes: true,
			WhyNot: func() string { return f.options.WhyNotCreate },
			Do:     act(f.create),
		},
		{
			Name:  "save-restore",
			Keys:  []string{"ctrl+s"},
			Label: "ctrl+s",
			What:  "save YAML",
			Group: keys.Look,
			Short: true,
			Do:    act(f.save),
		},
		{
			Name:  "copy-restore",
			Keys:  []string{"ctrl+y"},
			Label: "ctrl+y",
			What:  "copy command",
			Group: keys.Look,
			Short: true,
			Do:    act(f.copy),
		},
		{Keys: []string{"y"}, Label: "y", What: "copy command", Group: keys.Look, On: atCommand, Do: act(f.copy)},
		{
			Keys:    []string{"tab"},
			Label:   "tab",
			What:    "next, or complete",
			WhatNow: keys.Either(f.completable, "complete", "next"),
			Group:   keys.Move,
			Short:   true,
			On:      func() bool { return !f.zoomed },
			Do:      act(f.complete),
		},
		{
			Keys:  []string{"q"},
			Label: "q",
			What:  "back",
			Group: keys.Look,
			On:    atCommand,
			Do:    func(string) tea.Cmd { return f.leave() },
		},
		{
			Keys:  []string{"esc"},
			Label: "esc",
			What:  "back",
			Group: keys.Look,
			Short: true,
			Do:    func(string) tea.Cmd { return f.leave() },
		},
	}
}

func (f *Form) zoom() tea.Cmd {
	f.zoomed, f.top = !f.zoomed, 0
	return nil
}

// step goes to another field, or scrolls where there are none.
func (f *Form) step(by int) tea.Cmd {
	if f.zoomed {
		return f.scroll(by)
	}
	return f.move(f.focus + by)
}

// leave goes back; one key drops neither typed text nor a running comparison.
func (f *Form) leave() tea.Cmd {
	if f.zoomed {
		return f.zoom()
	}
	if f.compares() {
		was := f.comparison.is()
		f.comparison.close()
		f.comparison = nil
		return f.say(true, "The "+was+" is cancelled.")
	}
	if f.changed && !f.leaving {
		f.say(true, "Press esc again to discard the form; any other key continues.")
		f.leaving = true
		return nil
	}
	return f.options.Back()
}

func (f *Form) move(to int) tea.Cmd {
	f.zoomed = false
	f.focus = (to + len(f.rows)) % len(f.rows)
	f.input.Blur()
	if !f.Typing() {
		return nil
	}
	f.input.SetValue(f.rows[f.focus].text)
	f.input.CursorEnd()
	return f.input.Focus()
}

func (f *Form) scroll(by int) tea.Cmd {
	f.top = max(min(f.top+by, f.lines-f.page), 0)
	return nil
}

func (f *Form) Wheel(lines int) {
	f.settle()
	f.scroll(lines)
}

func (f *Form) Click(x, y int) {
	f.settle()
	if at := y - f.rowsAt; x < f.rowsWidth && at >= 0 && at < len(f.drawn) && f.drawn[at] >= 0 {
		f.move(f.drawn[at])
	}
}

// word is what stands before the cursor and is completed: the text from at on.
func (f *Form) word() (at int, word string) {
	r := f.rows[f.focus]
	runes := []rune(f.input.Value())
	text := string(runes[:min(f.input.Position(), len(runes))])
	if r.field == nil || !r.field.Many {
		return 0, text
	}
	at = strings.LastIndexByte(text, ',') + 1
	if or := strings.LastIndex(text, " or "); or >= 0 && r.field.Completes == restorespec.Labels {
		at = max(at, or+len(" or "))
	}
	for at < len(text) && text[at] == ' ' {
		at++
	}
	return at, text[at:]
}

func (f *Form) candidates() []string {
	r := f.rows[f.focus]
	if r.field == nil || !f.Typing() {
		return nil
	}
	_, word := f.word()
	return slices.DeleteFunc(
		slices.Clone(f.values(r.field.Completes)),
		func(value string) bool { return !strings.HasPrefix(value, word) },
	)
}

func (f *Form) values(of restorespec.Source) []string {
	switch of {
	case restorespec.Backups:
		return f.names(func(j *job.Job) string { return j.Name })
	case restorespec.Schedules:
		return f.names(func(j *job.Job) string { return j.ScheduleName })
	case restorespec.Namespaces:
		return f.preview.Namespaces
	case restorespec.Mappings:
		var all []string
		for _, name := range f.preview.Namespaces {
			all = append(all, name+":")
		}
		return all
	case restorespec.Resources:
		return f.preview.Resources
	case restorespec.Labels:
		return f.preview.Labels
	case restorespec.YesNo:
		return []string{"true", "false"}
	case restorespec.Policies:
		return []string{"none", "update"}
	}
	return nil
}

// names are something of all backups, sorted.
func (f *Form) names(of func(*job.Job) string) []string {
	if f.assessed == nil {
		return nil
	}
	var all []string
	for _, j := range f.assessed.Snapshot.Jobs {
		if name := of(j); j.Kind == job.Backup && name != "" {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// completable reports whether the word before the cursor can still become another.
func (f *Form) completable() bool {
	_, word := f.word()
	fit := f.candidates()
	return word != "" && len(fit) > 0 && fit[0] != word
}

// complete completes the word before the cursor as far as it is clear, else goes to the next field.
func (f *Form) complete() tea.Cmd {
	if !f.completable() { // also for shop, though there is shop-2 too
		return f.move(f.focus + 1)
	}
	at, word := f.word()
	fit := f.candidates()
	common := fit[0]
	for _, value := range fit {
		for !strings.HasPrefix(value, common) {
			common = common[:len(common)-1]
		}
	}
	if common == word {
		return f.say(false, "Type on: several names begin with "+word+".")
	}
	value := []rune(f.input.Value())
	end := min(f.input.Position(), len(value))
	done := string(value[:end])[:at] + common
	f.input.SetValue(done + string(value[end:]))
	f.input.SetCursor(len([]rune(done)))
	return f.typed()
}
