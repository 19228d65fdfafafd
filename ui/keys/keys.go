package keys

import (
	"cmp"
	"slices"
	"strings"

	"charm.land/bubbles/v2/textinput"
	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/ui/draw"
)

// Binding is one key binding as data; functions tell what depends on the screen's state.
type Binding struct {
	Name        string   // that of its action in Actions; empty where its keys cannot be chosen
	Keys        []string // the names that Bubble Tea gives the keys
	Label, What string   // what help says: the key, and what it does
	Group       string
	Brief       string                   // stands for What in the footer
	Short       bool                     // bindings are named in the footer
	Fits        func() bool              // says whether the footer shall name it now; nil is always
	Writes      bool                     // true for what leads to a change of the cluster
	Always      bool                     // bindings work even while a dialog is deaf
	Do          func(key string) tea.Cmd // acts on the key
	On          func() bool              // says whether there is such a binding now; nil is always
	WhyNot      func() string            // says why it cannot be used now, empty if it can; nil is always
	WhatNow     func() string            // stands for What where that changes
}

// The groups of the help screen, in their order.
const (
	Move     = "Moving"
	Look     = "Looking"
	Change   = "Changing"
	App      = "veltui"
	Commands = "Commands" // those that are typed behind `:`
)

var groups = []string{Look, Change, Move, App, Commands}

// Why says why a binding cannot be used now, empty if it can.
func (b *Binding) Why() string {
	if b.WhyNot == nil {
		return ""
	}
	return b.WhyNot()
}

// Says is what a binding does, in a word or two.
func (b *Binding) Says() string {
	if b.WhatNow == nil {
		return b.What
	}
	return b.WhatNow()
}

func (b *Binding) on() bool { return b.On == nil || b.On() }

// Find is the binding of a key that there is now, or nil. The first one wins.
func Find(bindings []Binding, key string) *Binding {
	return first(bindings, func(b *Binding) bool { return slices.Contains(b.Keys, key) })
}

// Named is the binding of an action that there is now, or nil.
func Named(bindings []Binding, action string) *Binding {
	return first(bindings, func(b *Binding) bool { return b.Name == action })
}

func first(bindings []Binding, wanted func(*Binding) bool) *Binding {
	for i := range bindings {
		if b := &bindings[i]; wanted(b) && b.on() {
			return b
		}
	}
	return nil
}

// Run makes a Do of something that needs neither the key nor a command.
func Run(do func()) func(string) tea.Cmd {
	return func(string) tea.Cmd {
		do()
		return nil
	}
}

// Unless makes a WhyNot: why, where a condition does not hold.
func Unless(holds func() bool, why string) func() string { return Either(holds, "", why) }

// Either makes a WhatNow: one text where a condition holds, else another.
func Either(holds func() bool, yes, no string) func() string {
	return func() string {
		if holds() {
			return yes
		}
		return no
	}
}

// Motion is a way to move through what a screen shows.
type Motion int

const (
	Up Motion = iota
	Down
	PageUp
	PageDown
	HalfUp // half a page
	HalfDown
	Top
	Bottom
)

// Lines is how many lines a motion goes down, with so many in half a page, a page and all.
func (m Motion) Lines(half, page, all int) int {
	lines := [...]int{
		Up:       -1,
		Down:     1,
		PageUp:   -page,
		PageDown: page,
		HalfUp:   -half,
		HalfDown: half,
		Top:      -all,
		Bottom:   all,
	}
	return lines[m]
}

// Moving are the bindings that move through a screen, the same for all of them.
func Moving(move func(Motion)) []Binding {
	moving := motions(
		move,
		[][]string{
			{"up", "k"},
			{"down", "j"},
			{"pgup", "ctrl+b"},
			{"pgdown", "ctrl+f", "space"},
			{"ctrl+u"},
			{"ctrl+d"},
			{"home", "g"},
			{"end", "G"},
		},
		[]string{"up k", "down j", "pgup ctrl+b", "pgdn ctrl+f", "ctrl+u", "ctrl+d", "g home", "G end"},
		[]string{
			"up",
			"down",
			"a page up",
			"a page down",
			"half a page up",
			"half a page down",
			"to the top",
			"to the end",
		},
	)
	for i, name := range []string{
		"up", "down", "page-up", "page-down", "half-page-up", "half-page-down", "top", "bottom",
	} {
		moving[i].Name = name
	}
	return moving
}

// Scrolling scrolls what is above a text field, which takes all letters.
func Scrolling(move func(Motion)) []Binding {
	return motions(move, [][]string{{"up"}, {"down"}, {"pgup"}, {"pgdown"}}, []string{"up", "down", "pgup", "pgdn"},
		[]string{"scroll up", "scroll down", "scroll a page up", "scroll a page down"})
}

func motions(move func(Motion), names [][]string, labels, what []string) []Binding {
	bindings := make([]Binding, len(names))
	for i := range names {
		bindings[i] = Binding{
			Keys:  names[i],
			Label: labels[i],
			What:  what[i],
			Group: Move,
			Do:    Run(func() { move(Motion(i)) }),
		}
	}
	return bindings
}

// Field makes a text field whose cursor does not blink: an idle screen is silent.
func Field() textinput.Model {
	input := textinput.New()
	input.Prompt = ""
	styles := input.Styles()
	styles.Cursor.Blink = false
	input.SetStyles(styles)
	return input
}

func Scroll(v *viewport.Model, m Motion) {
	v.SetYOffset(v.YOffset() + m.Lines(v.Height()/2, v.Height(), v.TotalLineCount()))
}

func Where(on func() bool, bindings ...Binding) []Binding {
	for i := range bindings {
		bindings[i].On = on
	}
	return bindings
}

const labelAt, whatAt = 4, 20

// twoColumns is from when on help has two.
const twoColumns = 100

// Help lists the present bindings by group, why some cannot be used, and the tables' signs: the screen's own keys
// first, in two columns where there is room.
func Help(c draw.Canvas, bindings []Binding) []string {
	column := c
	if c.Width >= twoColumns {
		column = c.Sized(c.Width/2, 0)
	}
	var blocks [][]string
	total := 0
	for _, group := range groups {
		listed, seen := []string{"  " + c.Theme.Strong.Render(group)}, map[string]bool{}
		for i := range bindings {
			if b := &bindings[i]; b.Group == group && b.on() && !seen[b.Label+b.Name] {
				seen[b.Label+b.Name] = true
				listed = append(listed, b.help(column)...)
			}
		}
		if len(listed) > 1 {
			blocks = append(blocks, append(listed, ""))
		}
	}
	blocks = append(blocks, append(signs(column), ""))
	for _, block := range blocks {
		total += len(block)
	}
	var columns [2][]string
	at := 0
	for _, block := range blocks {
		if column.Width < c.Width && len(columns[0])+len(block)/2 > total/2 {
			at = 1
		}
		columns[at] = append(columns[at], block...)
	}
	return append([]string{""}, column.Beside(columns[0], "", columns[1])...)
}

func (b *Binding) help(c draw.Canvas) []string {
	var lines []string
	label := strings.Repeat(" ", labelAt) + c.Cell(c.Theme.Accent, b.Label, whatAt-labelAt, false)
	if lipgloss.Width(b.Label) >= whatAt-labelAt { // many keys were chosen
		lines = []string{strings.Repeat(" ", labelAt) + c.Theme.Accent.Render(b.Label)}
		label = strings.Repeat(" ", whatAt)
	}
	for _, line := range c.Sized(c.Width-whatAt, 0).Wrap(b.Says(), 4) {
		lines = append(lines, label+line)
		label = strings.Repeat(" ", whatAt)
	}
	if why := b.Why(); why != "" {
		for _, line := range c.Sized(c.Width-whatAt, 0).Para(c.Theme.Waiting, "not now: "+why, 4) {
			lines = append(lines, strings.Repeat(" ", whatAt)+line)
		}
	}
	return lines
}

func signs(c draw.Canvas) []string {
	g, t := c.Glyphs, c.Theme
	lines := []string{"  " + t.Strong.Render("Signs")}
	for _, sign := range [][2]string{
		{t.Bad.Render(g.Attention), "stuck, orphaned or malformed: see the line below the table"},
		{
			t.Good.Render(g.Done) + " " + t.Waiting.Render(g.Partly) + " " + t.Bad.Render(g.Failed),
			"ended: Completed, PartiallyFailed, Failed",
		},
		{t.Text.Render(g.Approx), "veltui's own estimate, not yet Velero's number"},
		{"R B", "restore, backup"},
		{t.Accent.Render(g.Marked), "marked, to be finalized or deleted"},
	} {
		for i, line := range c.Sized(c.Width-whatAt, 0).Wrap(sign[1], 3) {
			if i > 0 {
				sign[0] = ""
			}
			lines = append(lines, strings.Repeat(" ", labelAt)+c.Fit(sign[0], whatAt-labelAt)+line)
		}
	}
	return lines
}

// Footer names the short bindings that can be used now, in one line: those of the screen, then where else to go,
// then / : ? q. What does not fit goes from the end; help and quit, and what writes, stay.
func Footer(c draw.Canvas, bindings []Binding) string {
	var shown []*Binding
	for i := range bindings {
		if b := &bindings[i]; b.Short && b.on() && b.Why() == "" && (b.Fits == nil || b.Fits()) {
			shown = append(shown, b)
		}
	}
	slices.SortStableFunc(shown, func(a, b *Binding) int { return a.rank() - b.rank() })
	line := func() string {
		parts := make([]string, len(shown))
		for i, b := range shown {
			parts[i] = c.Theme.Accent.Render(b.Label) + " " + cmp.Or(b.Brief, b.Says())
		}
		return " " + strings.Join(parts, "  ")
	}
	for len(shown) > 2 && lipgloss.Width(line()) > c.Width {
		last := len(shown) - 3
		for last > 0 && shown[last].Writes {
			last--
		}
		shown = slices.Delete(shown, last, last+1)
	}
	return c.Cut(line(), c.Width)
}

// rank orders a footer.
func (b *Binding) rank() int {
	return slices.IndexFunc(
		[][]string{
			{"errors", "logs", "verify"},
			{"back"},
			{"search", "filter"},
			{"command"},
			{"help", "form-help"},
			{"quit"},
		},
		func(names []string) bool { return slices.Contains(names, b.Name) },
	)
}
