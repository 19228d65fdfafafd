package dialog

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/ui/keys"
)

func (d *Dialog) Keys() []keys.Binding { return d.keys }

func (d *Dialog) HasHelp() bool {
	return d.stage == Choosing || d.stage == Unseen || d.stage == Ended || d.stage == Summary
}

// Swallows reports whether the stage is still deaf to a key, and counts the key.
func (d *Dialog) Swallows() bool {
	if d.deaf {
		d.pressed = d.options.Clock()
	}
	return d.deaf
}

func (d *Dialog) Deaf() bool { return d.deaf }

func (d *Dialog) bindings() []keys.Binding {
	on := func(stages ...Stage) func() bool { return func() bool { return slices.Contains(stages, d.stage) } }
	act := func(do func() tea.Cmd) func(string) tea.Cmd {
		return func(string) tea.Cmd {
			d.say("")
			return do()
		}
	}
	impossible := keys.Unless(func() bool { return d.plan().Possible() }, "veltui cannot do this, for the reason above")
	unreadable := keys.Unless(d.options.Readable, "the terminal is too small to show the plan")
	noOption := keys.Unless(func() bool { return len(d.choices) > 1 }, "the evidence supports no other option")
	noJob := keys.Unless(func() bool { return len(d.options.Jobs) > 1 }, "no other job is marked")
	noCommand := keys.Unless(func() bool { return len(d.plan().Commands) > 0 }, "there is no command for it")
	notStop := keys.Unless(func() bool { return !d.stopping }, "it is already stopping")
	plan, ended := on(Choosing), on(Unseen, Ended, Summary)
	// Whether another job comes next is asked before a key, or after a change.
	between := func() bool { return d.stage == Choosing || d.stage == Unseen || d.next() != nil }
	all := []keys.Binding{
		{
			Keys:   []string{"enter", "tab"},
			Label:  "enter",
			What:   "type the name",
			Short:  true,
			On:     plan,
			WhyNot: impossible,
			Do:     act(d.startTyping),
		},
		{
			Keys:   []string{"enter"},
			Label:  "enter",
			What:   "confirm",
			Short:  true,
			Writes: true,
			On:     on(Typing),
			WhyNot: unreadable,
			Do:     act(d.confirm),
		},
		{Keys: []string{"enter"}, Label: "enter", WhatNow: d.onward, Short: true, On: ended, Do: act(d.goOn)},
		{
			Keys:  []string{"esc"},
			Label: "esc",
			What:  "back",
			Short: true,
			On:    on(Looking, Choosing, Unseen, Ended, Summary),
			Do:    act(d.back),
		},
		{
			Name:   "dry-run",
			Keys:   []string{"d"},
			Label:  "d",
			What:   "dry run",
			Short:  true,
			On:     plan,
			WhyNot: impossible,
			Do:     act(func() tea.Cmd { return d.begin(true) }),
		},
		{
			Name:   "next-option",
			Keys:   []string{"w"},
			Label:  "w",
			What:   "next option",
			Short:  true,
			On:     plan,
			WhyNot: noOption,
			Do:     act(d.nextOption),
		},
		{
			Name:   "next-job",
			Keys:   []string{"n"},
			Label:  "n",
			What:   "next job",
			Short:  true,
			On:     between,
			WhyNot: noJob,
			Do:     act(d.nextJob),
		},
		{
			Name:   "copy-command",
			Keys:   []string{"y"},
			Label:  "y",
			What:   "copy command",
			Short:  true,
			On:     plan,
			WhyNot: noCommand,
			Do:     act(d.copyCommand),
		},
		{
			Name:  "look-again",
			Keys:  []string{"r"},
			Label: "r",
			What:  "look again",
			On:    on(Choosing, Unseen, Ended),
			Do:    act(d.look),
		},
		{
			Keys:  []string{"esc"},
			Label: "esc",
			What:  "back to the plan",
			Short: true,
			On:    on(Typing),
			Do:    act(d.stopTyping),
		},
		{
			Keys:  []string{"esc", "enter"},
			Label: "esc",
			What:  "close, and watch on",
			Short: true,
			On:    d.holds,
			Do:    act(d.leaveBehind),
		},
		{
			Keys:   []string{"esc"},
			Label:  "esc",
			What:   "stop",
			Short:  true,
			On:     func() bool { return d.stage == Applying && !d.holds() },
			WhyNot: notStop,
			Do:     act(d.askToStop),
		},
	}
	for i := range all {
		all[i].Group = keys.Change
	}
	all = append(all, keys.Where(on(Typing), keys.Scrolling(d.scroll)...)...)
	return append(all, keys.Where(func() bool { return d.stage != Typing }, keys.Moving(d.scroll)...)...)
}

func (d *Dialog) scroll(m keys.Motion) {
	keys.Scroll(&d.view, m)
	d.asked = false
}

// Wheel scrolls what is read, and does nothing else.
func (d *Dialog) Wheel(lines int) { d.view.SetYOffset(d.view.YOffset() + lines) }

// Type takes a key that is no binding. Any key means that an application shall go on.
func (d *Dialog) Type(msg tea.Msg) tea.Cmd {
	d.asked = false
	if d.stage != Typing {
		return nil
	}
	d.say("")
	var cmd tea.Cmd
	d.input, cmd = d.input.Update(msg)
	return cmd
}

// Paste takes pasted text into the field. It never confirms.
func (d *Dialog) Paste(msg tea.PasteMsg) tea.Cmd {
	if d.stage == Choosing {
		d.warn("Press enter first, then paste.")
		return nil
	}
	msg.Content = strings.TrimSpace(msg.Content)
	return d.Type(msg)
}

func (d *Dialog) close() tea.Cmd {
	d.closed = true
	return nil
}

// back leaves the dialog; after several jobs what became of each is said.
func (d *Dialog) back() tea.Cmd {
	d.found.Close()
	worked := slices.ContainsFunc(d.results, func(result string) bool { return result != "" })
	if d.stage == Summary || len(d.options.Jobs) == 1 || !worked {
		return d.close()
	}
	return d.enter(Summary)
}

func (d *Dialog) nextJob() tea.Cmd {
	if d.results[d.at] == "" {
		d.results[d.at] = "skipped"
		if len(d.choices) > 0 && !d.choices[0].Possible() {
			d.results[d.at] = "refused: " + refusal(&d.choices[0])
		}
	}
	if d.at == len(d.options.Jobs)-1 {
		return d.back()
	}
	d.at++
	return d.look()
}

func (d *Dialog) nextOption() tea.Cmd {
	d.chosen = (d.chosen + 1) % len(d.choices)
	d.view.GotoTop()
	d.input.Reset()
	return nil
}

func (d *Dialog) startTyping() tea.Cmd { return tea.Batch(d.input.Focus(), d.enter(Typing)) }

func (d *Dialog) stopTyping() tea.Cmd {
	d.input.Blur()
	return d.enter(Choosing)
}

func (d *Dialog) confirm() tea.Cmd {
	switch text := strings.TrimSpace(d.input.Value()); text {
	case "":
		d.warn("You typed nothing, so nothing was done.")
	case d.wanted():
		return d.begin(false)
	default:
		d.warn(fmt.Sprintf("That is not %s, so nothing was done.", d.wanted()))
	}
	return nil
}

// goOn is what enter does after an end: one next thing.
func (d *Dialog) goOn() tea.Cmd {
	switch next := d.next(); {
	case d.stage == Unseen:
		return d.look()
	case next != nil:
		cmd := d.choose([]action.Plan{*next})
		d.say("The job has changed, so this is a new plan. Review it again.")
		return cmd
	case d.stage == Ended && len(d.options.Jobs) > 1:
		return d.nextJob()
	}
	return d.close()
}

func (d *Dialog) onward() string {
	switch {
	case d.stage == Unseen:
		return "look again"
	case d.next() != nil:
		return "see the new plan"
	case d.stage == Ended && d.at < len(d.options.Jobs)-1:
		return "next job"
	case d.stage == Ended && len(d.options.Jobs) > 1:
		return "summary"
	}
	return "close"
}

// askToStop stops on the second esc: a torn arrow key begins with one. A dry run stops at once.
func (d *Dialog) askToStop() tea.Cmd {
	if !d.asked && !d.run.dryRun {
		d.asked = true
		return nil
	}
	d.stopRun()
	return nil
}

func (d *Dialog) stopRun() {
	d.asked, d.stopping = false, true
	d.run.stop()
}

// Leave quits on q, twice while something is written, or at once, when the application has ended.
func (d *Dialog) Leave(atOnce bool) tea.Cmd {
	switch {
	case d.run == nil:
		d.found.Close()
		return tea.Quit
	case d.leaving && atOnce:
		return tea.Quit
	case d.asked, d.stopping, atOnce, d.run.dryRun:
		d.leaving = true
		d.stopRun()
	default:
		d.asked = true
	}
	return nil
}

func (d *Dialog) copyCommand() tea.Cmd {
	text := sanitize.Text(strings.Join(d.plan().Commands, "\n")) // a terminal may act on what is pasted
	if !slices.Contains(d.parting, text) {
		d.parting = append(d.parting, text)
	}
	if d.options.NoClipboard {
		d.say("This terminal has no clipboard. veltui prints the command on exit.")
		return nil
	}
	d.say("The command is in the clipboard if your terminal supports OSC 52. veltui also prints it on exit.")
	return tea.SetClipboard(text)
}
