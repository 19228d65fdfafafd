package draw

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"sigs.k8s.io/yaml"

	"github.com/veltui/veltui/assets"
	"github.com/veltui/veltui/internal/view"
)

// ThemeAuto picks dark or light by the terminal's background.
const ThemeAuto = "auto"

// Names of themes for one background end so, but for dark and light.
const onDark, onLight = "-dark", "-light"

// Theme has a style for each meaning. Styles are used nowhere else.
type Theme struct {
	Text, Strong, Dim, Accent, Selected lipgloss.Style
	Good, Running, Waiting, Bad         lipgloss.Style
	BarFull, BarEmpty                   lipgloss.Style

	basic *Theme
}

// Basic is the theme for sixteen colours or fewer, whose look is up to the terminal.
func (t *Theme) Basic() *Theme {
	return cmp.Or(t.basic, t)
}

type token struct {
	Color     string `json:"color,omitempty"`
	Ground    string `json:"background,omitempty"`
	Bold      bool   `json:"bold,omitempty"`
	Faint     bool   `json:"faint,omitempty"`
	Reverse   bool   `json:"reverse,omitempty"`
	Underline bool   `json:"underline,omitempty"`
	Basic     *token `json:"basic,omitempty"` // stands in where the terminal has only sixteen colours
}

func (t token) style() lipgloss.Style {
	s := lipgloss.NewStyle().Bold(t.Bold).Faint(t.Faint).Reverse(t.Reverse).Underline(t.Underline)
	if t.Color != "" {
		s = s.Foreground(lipgloss.Color(t.Color))
	}
	if t.Ground != "" {
		s = s.Background(lipgloss.Color(t.Ground))
	}
	return s
}

// Themes are the built-in ones. Without "-dark" or "-light" the background decides.
func Themes() []string {
	entries, err := assets.Themes.ReadDir("themes")
	if err != nil {
		return nil
	}
	var names []string
	for _, entry := range entries {
		name := strings.TrimSuffix(entry.Name(), path.Ext(entry.Name()))
		if family, ok := strings.CutSuffix(name, onDark); ok {
			names = append(names, family)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// ThemeFor is the theme of a name on a background, and whether the background decides.
func ThemeFor(name string, dark bool) (theme string, byBackground bool) {
	switch {
	case name != "" && name != ThemeAuto:
		if _, err := assets.Themes.ReadFile("themes/" + name + onDark + ".yaml"); err != nil {
			return name, false
		}
	case dark:
		return "dark", true
	default:
		return "light", true
	}
	if dark {
		return name + onDark, true
	}
	return name + onLight, true
}

func LoadTheme(name string) (*Theme, error) {
	data, err := assets.Themes.ReadFile("themes/" + name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf(
			"there is no theme %q; choose one of %s, %s",
			name,
			ThemeAuto,
			strings.Join(Themes(), ", "),
		)
	}
	theme := &Theme{basic: &Theme{}}
	if err := theme.read(data); err != nil {
		return nil, fmt.Errorf("reading theme %s: %w", name, err)
	}
	return theme, nil
}

// ParseTheme reads the file of a user's own theme. What it leaves out is as in mono.
func ParseTheme(data []byte) (*Theme, error) {
	theme, err := LoadTheme("mono")
	if err != nil {
		return nil, err
	}
	return theme, theme.read(data)
}

func Meanings() []string { return slices.Sorted(maps.Keys((&Theme{}).styles())) }

func (t *Theme) read(data []byte) error {
	var styles map[string]token
	if err := yaml.UnmarshalStrict(data, &styles); err != nil {
		return err
	}
	meanings, basic := t.styles(), t.basic.styles()
	for meaning, t := range styles {
		if meanings[meaning] == nil {
			return fmt.Errorf("there is no style %q", meaning)
		}
		*meanings[meaning], *basic[meaning] = t.style(), cmp.Or(t.Basic, &t).style()
	}
	return nil
}

func (t *Theme) styles() map[string]*lipgloss.Style {
	return map[string]*lipgloss.Style{
		"text": &t.Text, "strong": &t.Strong, "dim": &t.Dim, "accent": &t.Accent, "selected": &t.Selected,
		"good": &t.Good, "running": &t.Running, "waiting": &t.Waiting, "bad": &t.Bad,
		"barFull": &t.BarFull, "barEmpty": &t.BarEmpty,
	}
}

// Tone returns the style of a tone.
func (t *Theme) Tone(tone view.Tone) lipgloss.Style {
	return *[...]*lipgloss.Style{&t.Text, &t.Strong, &t.Dim, &t.Good, &t.Running, &t.Waiting, &t.Bad}[tone]
}

// Glyphs are the signs of a frame. Every one has an ASCII twin of the same width.
type Glyphs struct {
	Cursor, Attention     string
	Done, Failed, Partly  string
	Now, Ahead, Skipped   string
	Fact, Open            string
	BarFull, BarEmpty     string
	BarParts              []string // growing parts of a cell, without empty and full
	Heights               []string // of a bar in a row of bars, growing
	Rule, Side, Stage     string
	Approx, Ellipsis      string
	Ascending, Descending string
	Marked                string
	Corners               [4]string // of a box: above left and right, below left and right
}

var Unicode = Glyphs{
	Cursor: "▸", Attention: "!",
	Done: "✓", Failed: "✗", Partly: "◑",
	Now: "▶", Ahead: "·", Skipped: "-",
	Fact: "•", Open: "?",
	BarFull: "█", BarEmpty: "─",
	BarParts: []string{"▏", "▎", "▍", "▌", "▋", "▊", "▉"},
	Heights:  []string{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
	Rule:     "─", Side: "│", Stage: "─",
	Approx: "≈", Ellipsis: "…", Ascending: "▴", Descending: "▾",
	Marked: "*", Corners: [4]string{"╭", "╮", "╰", "╯"},
}

var ASCII = Glyphs{
	Cursor: ">", Attention: "!",
	Done: "+", Failed: "x", Partly: "%",
	Now: ">", Ahead: ".", Skipped: "-",
	Fact: "*", Open: "?",
	BarFull: "#", BarEmpty: "-",
	Heights: []string{"1", "2", "3", "4", "5", "6", "7", "8"},
	Rule:    "-", Side: "|", Stage: "-",
	Approx: "~", Ellipsis: "~", Ascending: "^", Descending: "v",
	Marked: "*", Corners: [4]string{"+", "+", "+", "+"},
}
