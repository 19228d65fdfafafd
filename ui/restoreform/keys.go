package restoreform

import (
	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/ui/keys"
)

// Keys are the form's own keys.
func (f *Form) Keys() []keys.Binding { return f.keys }

func (f *Form) bindings() []keys.Binding {
	act := func(do func() tea.Cmd) func(string) tea.Cmd {
		return func(string) tea.Cmd {
			f.settle()
			return do()
		}
	}
	atCommand := func() bool { return !f.Typing() }
	return []keys.Binding{
		{Name: "zoom-preview", Keys: []string{"ctrl+p"}, Label: "ctrl+p", What: "whole preview", WhatNow: f.zoomSays, Group: keys.Look, Short: true, Do: act(f.zoom)},
		{Keys: []string{"shift+tab"}, Label: "shift+tab", What: "previous field", Group: keys.Move, On: func() bool { return !f.zoomed }, Do: act(func() tea.Cmd { return f.move(f.focus - 1) })},
		{Keys: []string{"up"}, Label: "up", What: "previous field", Group: keys.Move, Do: act(func() tea.Cmd { return f.step(-1) })},
		{Keys: []string{"down", "enter"}, Label: "down enter", What: "next field", Group: keys.Move, Do: act(func() tea.Cmd { return f.step(1) })},
		{Keys: []string{"pgup"}, Label: "pgup", What: "scroll the preview up", Group: keys.Move, Do: act(func() tea.Cmd { return f.scroll(-f.page) })},
		{Keys: []string{"pgdown"}, Label: "pgdn", What: "scroll the preview down", Group: keys.Move, Do: act(func() tea.Cmd { return f.scroll(f.page) })},
		{Name: "compare-restore", Keys: []string{"ctrl+t"}, Label: "ctrl+t", What: "compare what exists", WhatNow: f.compareSays, Group: keys.Look, Short: true, On: f.canCompare, WhyNot: f.compareUnavailable, Do: act(f.compare)},
		{Name: "save-restore", Keys: []string{"ctrl+s"}, Label: "ctrl+s", What: "save YAML", Group: keys.Look, Short: true, Do: act(f.save)},
		{Name: "copy-restore", Keys: []string{"ctrl+y"}, Label: "ctrl+y", What: "copy command", Group: keys.Look, Short: true, Do: act(f.copy)},
		{Keys: []string{"y"}, Label: "y", What: "copy command", Group: keys.Look, On: atCommand, Do: act(f.copy)},
		{Keys: []string{"tab"}, Label: "tab", What: "next, or complete", WhatNow: f.tabSays, Group: keys.Move, Short: true, On: func() bool { return !f.zoomed }, Do: act(f.complete)},
		{Keys: []string{"q"}, Label: "q", What: "back", Group: keys.Look, On: atCommand, Do: func(string) tea.Cmd { return f.leave() }},
		{Keys: []string{"esc"}, Label: "esc", What: "back", Group: keys.Look, Short: true, Do: func(string) tea.Cmd { return f.leave() }},
	}
}

// zoomSays is what zoom does now.
func (f *Form) zoomSays() string {
	if f.zoomed {
		return "form"
	}
	return "preview"
}

// zoom gives the preview the whole screen, or the form its part of it.
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
		f.comparison.close()
		f.comparison = nil
		f.say(true, "The comparison is cancelled.")
		return nil
	}
	if f.changed && !f.leaving {
		f.say(true, "esc again leaves the form; what you typed is lost. Any other key goes on.")
		f.leaving = true
		return nil
	}
	return f.options.Back()
}

// move goes to another field.
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

// Wheel scrolls the preview.
func (f *Form) Wheel(lines int) {
	f.settle()
	f.scroll(lines)
}

// Click goes to the field that is there.
func (f *Form) Click(x, y int) {
	f.settle()
	if at := y - f.rowsAt; x < f.rowsWidth && at >= 0 && at < len(f.drawn) && f.drawn[at] >= 0 {
		f.move(f.drawn[at])
	}
}
