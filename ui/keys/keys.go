package keys

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/textinput"
	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/ui/draw"
)

// Binding is one key binding as data; its functions return what depends on the screen's state.
type Binding struct {
	Name               string   // the name of its action in Actions; empty if its keys cannot be chosen
	Keys               []string // Bubble Tea's names of the keys
	Label, Description string   // the text in help: the key, and what it does
	Group              string
	FooterText         string                   // replaces Description in the footer
	InFooter           bool                     // true if the footer names the binding
	ShowInFooter       func() bool              // reports whether the footer should name it now; nil is always
	DropsFirst         bool                     // true if the footer names it only where there is room for all others
	Writes             bool                     // true if it leads to a change of the cluster
	WorksDuringGrace   bool                     // true if it works even while a dialog ignores keys
	Do                 func(key string) tea.Cmd // handles the key
	Active             func() bool              // reports whether the binding exists now; nil is always
	Unavailable        func() string            // returns why it cannot be used now, empty if it can; nil is always
	DynamicDescription func() string            // replaces Description where it changes
}

// The groups of the help screen, in their order.
const (
	GroupMove     = "Moving"
	GroupLook     = "Looking"
	GroupChange   = "Changing"
	GroupApp      = "veltui"
	GroupCommands = "Commands" // those typed behind `:`
)

var groupOrder = []string{GroupLook, GroupChange, GroupMove, GroupApp, GroupCommands}

// UnavailableReason returns why a binding cannot be used now, empty if it can.
func (b *Binding) UnavailableReason() string {
	if b.Unavailable == nil {
		return ""
	}
	return b.Unavailable()
}

// CurrentDescription returns what a binding does, in a word or two.
func (b *Binding) CurrentDescription() string {
	if b.DynamicDescription == nil {
		return b.Description
	}
	return b.DynamicDescription()
}

func (b *Binding) isActive() bool { return b.Active == nil || b.Active() }

// FindByKey returns the first active binding of a key, or nil.
func FindByKey(bindings []Binding, key string) *Binding {
	return findFirst(bindings, func(b *Binding) bool { return slices.Contains(b.Keys, key) })
}

// FindByAction returns the first active binding of an action, or nil.
func FindByAction(bindings []Binding, action string) *Binding {
	return findFirst(bindings, func(b *Binding) bool { return b.Name == action })
}

func findFirst(bindings []Binding, wanted func(*Binding) bool) *Binding {
	for i := range bindings {
		if b := &bindings[i]; wanted(b) && b.isActive() {
			return b
		}
	}
	return nil
}

// DoFunc returns a Do for an action that needs no key and returns no command.
func DoFunc(do func()) func(string) tea.Cmd {
	return func(string) tea.Cmd {
		do()
		return nil
	}
}

// BurstInterval is the longest time between the keys of an escape sequence that arrives in pieces, and of a paste
// that the terminal does not mark. The user has not pressed those keys.
const BurstInterval = 100 * time.Millisecond

// UnavailableUnless returns an Unavailable that gives the reason why unless holds reports true.
func UnavailableUnless(holds func() bool, why string) func() string {
	return ChooseText(holds, "", why)
}

// ChooseText returns a DynamicDescription that depends on a condition.
func ChooseText(holds func() bool, yes, no string) func() string {
	return func() string {
		if holds() {
			return yes
		}
		return no
	}
}

// Motion is a way to move through a screen.
type Motion int

const (
	Up Motion = iota
	Down
	PageUp
	PageDown
	HalfPageUp // half a page
	HalfPageDown
	Top
	Bottom
)

// LineOffset returns the number of lines that a motion goes down, given the lines of half a page, a page and all.
func (m Motion) LineOffset(half, page, all int) int {
	lines := [...]int{
		Up:           -1,
		Down:         1,
		PageUp:       -page,
		PageDown:     page,
		HalfPageUp:   -half,
		HalfPageDown: half,
		Top:          -all,
		Bottom:       all,
	}
	return lines[m]
}

// MotionBindings returns the keys that move through a screen, the same for all screens.
func MotionBindings(move func(Motion)) []Binding {
	moving := newMotionBindings(
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

// ScrollBindings returns the keys that scroll above a text field, which takes all letters.
func ScrollBindings(move func(Motion)) []Binding {
	return newMotionBindings(
		move,
		[][]string{{"up"}, {"down"}, {"pgup"}, {"pgdown"}},
		[]string{"up", "down", "pgup", "pgdn"},
		[]string{"scroll up", "scroll down", "scroll a page up", "scroll a page down"},
	)
}

func newMotionBindings(move func(Motion), names [][]string, labels, what []string) []Binding {
	bindings := make([]Binding, len(names))
	for i := range names {
		bindings[i] = Binding{
			Keys:        names[i],
			Label:       labels[i],
			Description: what[i],
			Group:       GroupMove,
			Do:          DoFunc(func() { move(Motion(i)) }),
		}
	}
	return bindings
}

// NewTextField returns a text field whose cursor does not blink, so that an idle screen draws nothing.
func NewTextField() textinput.Model {
	input := textinput.New()
	input.Prompt = ""
	styles := input.Styles()
	styles.Cursor.Blink = false
	input.SetStyles(styles)
	return input
}

func ScrollViewport(v *viewport.Model, m Motion) {
	v.SetYOffset(v.YOffset() + m.LineOffset(v.Height()/2, v.Height(), v.TotalLineCount()))
}

func ActiveWhen(on func() bool, bindings ...Binding) []Binding {
	for i := range bindings {
		bindings[i].Active = on
	}
	return bindings
}

const labelColumn, descriptionColumn = 4, 20

// twoColumnWidth is the smallest width at which help has two columns.
const twoColumnWidth = 100

// RenderHelp lists the active bindings by group, with why some cannot be used, and the tables' signs: the screen's
// own keys first, in two columns where there is room.
func RenderHelp(c draw.Canvas, bindings []Binding) []string {
	column := c
	if c.Width >= twoColumnWidth {
		column = c.WithSize(c.Width/2, 0)
	}
	var blocks [][]string
	total := 0
	for _, group := range groupOrder {
		listed, seen := []string{"  " + c.Theme.Strong.Render(group)}, map[string]bool{}
		for i := range bindings {
			if b := &bindings[i]; b.Group == group && b.isActive() && !seen[b.Label+b.Name] {
				seen[b.Label+b.Name] = true
				listed = append(listed, b.renderHelp(column)...)
			}
		}
		if len(listed) > 1 {
			blocks = append(blocks, append(listed, ""))
		}
	}
	blocks = append(blocks, append(renderSigns(column), ""))
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
	return append([]string{""}, column.JoinColumns(columns[0], "", columns[1])...)
}

func (b *Binding) renderHelp(c draw.Canvas) []string {
	var lines []string
	label := strings.Repeat(" ", labelColumn) + c.RenderCell(c.Theme.Accent, b.Label, descriptionColumn-labelColumn, false)
	if lipgloss.Width(b.Label) >= descriptionColumn-labelColumn { // many keys were chosen
		lines = []string{strings.Repeat(" ", labelColumn) + c.Theme.Accent.Render(b.Label)}
		label = strings.Repeat(" ", descriptionColumn)
	}
	for _, line := range c.WithSize(c.Width-descriptionColumn, 0).WrapText(b.CurrentDescription(), 4) {
		lines = append(lines, label+line)
		label = strings.Repeat(" ", descriptionColumn)
	}
	if why := b.UnavailableReason(); why != "" {
		for _, line := range c.WithSize(c.Width-descriptionColumn, 0).RenderParagraph(c.Theme.Waiting, "not now: "+why, 4) {
			lines = append(lines, strings.Repeat(" ", descriptionColumn)+line)
		}
	}
	return lines
}

func renderSigns(c draw.Canvas) []string {
	g, t := c.Glyphs, c.Theme
	lines := []string{"  " + t.Strong.Render("Signs")}
	for _, sign := range [][2]string{
		{t.Bad.Render(g.Attention), "stuck, orphaned or malformed: see the line below the table"},
		{
			t.Good.Render(g.Done) + " " + t.Waiting.Render(g.PartiallyFailed) + " " + t.Bad.Render(g.Failed),
			"ended: Completed, PartiallyFailed, Failed",
		},
		{t.Text.Render(g.Approx), "veltui's own estimate, not yet Velero's number"},
		{"R B", "restore, backup"},
		{t.Accent.Render(g.Marked), "marked, to be finalized or deleted"},
	} {
		for i, line := range c.WithSize(c.Width-descriptionColumn, 0).WrapText(sign[1], 3) {
			if i > 0 {
				sign[0] = ""
			}
			lines = append(lines, strings.Repeat(" ", labelColumn)+c.FitLeft(sign[0], descriptionColumn-labelColumn)+line)
		}
	}
	return lines
}

// RenderFooter draws the footer's bindings that can be used now, in one line: those of the screen, then the way to
// other screens, then / : ? q. If there is too little room, it drops bindings from the end, first those that drop
// first, but never help, quit and other bindings that change the cluster.
func RenderFooter(c draw.Canvas, bindings []Binding) string {
	var shown []*Binding
	for i := range bindings {
		if b := &bindings[i]; b.InFooter && b.isActive() && b.UnavailableReason() == "" &&
			(b.ShowInFooter == nil || b.ShowInFooter()) {
			shown = append(shown, b)
		}
	}
	slices.SortStableFunc(shown, func(a, b *Binding) int { return a.footerRank() - b.footerRank() })
	line := func() string {
		parts := make([]string, len(shown))
		for i, b := range shown {
			parts[i] = c.Theme.Accent.Render(b.Label) + " " + cmp.Or(b.FooterText, b.CurrentDescription())
		}
		return " " + strings.Join(parts, "  ")
	}
	for len(shown) > 2 && lipgloss.Width(line()) > c.Width {
		last := lastDroppable(shown, func(b *Binding) bool { return b.DropsFirst })
		if last < 0 {
			last = max(lastDroppable(shown, func(b *Binding) bool { return !b.Writes }), 0)
		}
		shown = slices.Delete(shown, last, last+1)
	}
	return c.Truncate(line(), c.Width)
}

// lastDroppable returns the index of the last binding before help and quit that may be dropped, -1 if there is none.
func lastDroppable(shown []*Binding, mayDrop func(*Binding) bool) int {
	for i := len(shown) - 3; i >= 0; i-- {
		if mayDrop(shown[i]) {
			return i
		}
	}
	return -1
}

// footerRank returns the binding's rank in the order of the footer.
func (b *Binding) footerRank() int {
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
