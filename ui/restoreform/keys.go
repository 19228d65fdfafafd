package restoreform

import (
	"context"
	"errors"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/human"
	"github.com/veltui/veltui/sanitize"
	"github.com/veltui/veltui/ui/keys"
)

// Keys are the form's own keys.
func (f *Form) Keys() []keys.Binding { return f.keys }

func (f *Form) bindings() []keys.Binding {
	act := func(do func() tea.Cmd) func(string) tea.Cmd {
		return func(string) tea.Cmd {
			leaving := f.leaving
			f.settle()
			f.leaving = leaving
			return do()
		}
	}
	atCommand := func() bool { return !f.Typing() }
	return []keys.Binding{
		{Keys: []string{"tab"}, Label: "tab", What: "next, or complete", WhatNow: f.tabSays, Group: keys.Move, Short: true, Do: act(f.complete)},
		{Keys: []string{"shift+tab"}, Label: "shift+tab", What: "previous field", Group: keys.Move, Do: act(func() tea.Cmd { return f.move(f.focus - 1) })},
		{Keys: []string{"up"}, Label: "up", What: "previous field", Group: keys.Move, Do: act(func() tea.Cmd { return f.move(f.focus - 1) })},
		{Keys: []string{"down", "enter"}, Label: "down enter", What: "next field", Group: keys.Move, Do: act(func() tea.Cmd { return f.move(f.focus + 1) })},
		{Keys: []string{"pgup"}, Label: "pgup", What: "scroll the preview up", Group: keys.Move, Do: act(func() tea.Cmd { return f.scroll(-f.page) })},
		{Keys: []string{"pgdown"}, Label: "pgdn", What: "scroll the preview down", Group: keys.Move, Do: act(func() tea.Cmd { return f.scroll(f.page) })},
		{Name: "save-restore", Keys: []string{"ctrl+s"}, Label: "ctrl+s", What: "save YAML", Group: keys.Look, Short: true, Do: act(f.save)},
		{Name: "copy-restore", Keys: []string{"ctrl+y"}, Label: "ctrl+y", What: "copy command", Group: keys.Look, Short: true, Do: act(f.copy)},
		{Keys: []string{"y"}, Label: "y", What: "copy command", Group: keys.Look, On: atCommand, Do: act(f.copy)},
		{Keys: []string{"esc"}, Label: "esc", What: "back", Group: keys.Look, Short: true, Do: func(string) tea.Cmd { return f.leave() }},
	}
}

// leave goes back; what was typed is not thrown away with one key.
func (f *Form) leave() tea.Cmd {
	if f.changed && !f.leaving {
		f.say(true, "esc again leaves the form; what you typed is lost. Any other key goes on.")
		f.leaving = true
		return nil
	}
	return f.options.Back()
}

// move goes to another field.
func (f *Form) move(to int) tea.Cmd {
	f.leaving = false
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
	f.leaving = false
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
	if at := y - f.rowsAt + f.firstRow; x < f.rowsWidth && y >= f.rowsAt && y < f.rowsAt+f.shownRows && at < len(f.rows) {
		f.move(at)
	}
}

func (f *Form) save() tea.Cmd {
	f.leaving = false
	if f.options.Previewer == nil {
		f.say(true, "veltui cannot save files here.")
		return nil
	}
	text, err := f.ready(f.yaml)
	if err != nil {
		f.say(true, "Not saved: "+err.Error()+".")
		return nil
	}
	name := f.draft.Restore.Name + ".yaml"
	cmd, _ := f.options.Start(func(context.Context) tea.Msg {
		path, err := f.options.Previewer.Save(name, []byte(text))
		return saved{f, text, path, err}
	})
	return cmd
}

func (f *Form) copy() tea.Cmd {
	f.leaving = false
	text, err := f.ready(func() (string, error) {
		line, _ := f.command()
		return sanitize.Text(line), nil // a terminal may act on what is pasted
	})
	switch {
	case err != nil:
		f.say(true, "Not copied: "+err.Error()+".")
		return nil
	case f.options.WhyNoClipboard != "":
		f.parting = text
		f.tell("Not copied: " + f.options.WhyNoClipboard + " veltui prints the command on exit.")
		f.bad = true
		return nil
	}
	f.parting = text
	f.tell("The command is in the clipboard if your terminal supports OSC 52. veltui also prints it on exit.")
	return tea.SetClipboard(text)
}

// ready makes a text of the form, unless a field is wrong.
func (f *Form) ready(text func() (string, error)) (string, error) {
	if wrong := f.wrong(); len(wrong) > 0 {
		return "", errors.New("correct " + human.List(wrong, 3) + " first")
	}
	return text()
}
