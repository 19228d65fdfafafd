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

// ThemeAuto picks the theme dark or light by the terminal's background.
const ThemeAuto = "auto"

// Suffixes of the themes for one background, except for the themes dark and light.
const darkSuffix, lightSuffix = "-dark", "-light"

// Theme has a style for each meaning. All styles come from a theme.
type Theme struct {
	Text, Strong, Dim, Accent, Selected lipgloss.Style
	Good, Running, Waiting, Bad         lipgloss.Style
	BarFull, BarEmpty                   lipgloss.Style

	sixteenColors *Theme
}

// ForSixteenColors returns the theme for sixteen colours or fewer, whose look depends on the terminal.
func (t *Theme) ForSixteenColors() *Theme {
	return cmp.Or(t.sixteenColors, t)
}

type styleSpec struct {
	Color         string     `json:"color,omitempty"`
	Background    string     `json:"background,omitempty"`
	Bold          bool       `json:"bold,omitempty"`
	Faint         bool       `json:"faint,omitempty"`
	Reverse       bool       `json:"reverse,omitempty"`
	Underline     bool       `json:"underline,omitempty"`
	SixteenColors *styleSpec `json:"basic,omitempty"` // stands in where the terminal has only sixteen colours
}

func (t styleSpec) lipglossStyle() lipgloss.Style {
	s := lipgloss.NewStyle().Bold(t.Bold).Faint(t.Faint).Reverse(t.Reverse).Underline(t.Underline)
	if t.Color != "" {
		s = s.Foreground(lipgloss.Color(t.Color))
	}
	if t.Background != "" {
		s = s.Background(lipgloss.Color(t.Background))
	}
	return s
}

// ThemeNames returns the names of the built-in themes. For a name without "-dark" or "-light" the background decides.
func ThemeNames() []string {
	entries, err := assets.Themes.ReadDir("themes")
	if err != nil {
		return nil
	}
	var names []string
	for _, entry := range entries {
		name := strings.TrimSuffix(entry.Name(), path.Ext(entry.Name()))
		if family, ok := strings.CutSuffix(name, darkSuffix); ok {
			names = append(names, family)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// ResolveTheme returns the theme of a name on a background, and whether the background decides.
func ResolveTheme(name string, dark bool) (theme string, byBackground bool) {
	switch {
	case name != "" && name != ThemeAuto:
		if _, err := assets.Themes.ReadFile("themes/" + name + darkSuffix + ".yaml"); err != nil {
			return name, false
		}
	case dark:
		return "dark", true
	default:
		return "light", true
	}
	if dark {
		return name + darkSuffix, true
	}
	return name + lightSuffix, true
}

func LoadTheme(name string) (*Theme, error) {
	data, err := assets.Themes.ReadFile("themes/" + name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf(
			"there is no theme %q; choose one of %s, %s",
			name,
			ThemeAuto,
			strings.Join(ThemeNames(), ", "),
		)
	}
	theme := &Theme{sixteenColors: &Theme{}}
	if err := theme.parseStyles(data); err != nil {
		return nil, fmt.Errorf("reading theme %s: %w", name, err)
	}
	return theme, nil
}

// ParseTheme parses the file of a user's own theme. Styles that it leaves out are those of the theme mono.
func ParseTheme(data []byte) (*Theme, error) {
	theme, err := LoadTheme("mono")
	if err != nil {
		return nil, err
	}
	return theme, theme.parseStyles(data)
}

func StyleNames() []string { return slices.Sorted(maps.Keys((&Theme{}).stylesByName())) }

func (t *Theme) parseStyles(data []byte) error {
	var styles map[string]styleSpec
	if err := yaml.UnmarshalStrict(data, &styles); err != nil {
		return err
	}
	meanings, basic := t.stylesByName(), t.sixteenColors.stylesByName()
	for meaning, t := range styles {
		if meanings[meaning] == nil {
			return fmt.Errorf("there is no style %q", meaning)
		}
		*meanings[meaning], *basic[meaning] = t.lipglossStyle(), cmp.Or(t.SixteenColors, &t).lipglossStyle()
	}
	return nil
}

func (t *Theme) stylesByName() map[string]*lipgloss.Style {
	return map[string]*lipgloss.Style{
		"text": &t.Text, "strong": &t.Strong, "dim": &t.Dim, "accent": &t.Accent, "selected": &t.Selected,
		"good": &t.Good, "running": &t.Running, "waiting": &t.Waiting, "bad": &t.Bad,
		"barFull": &t.BarFull, "barEmpty": &t.BarEmpty,
	}
}

// ToneStyle returns the style of a tone.
func (t *Theme) ToneStyle(tone view.Tone) lipgloss.Style {
	return *[...]*lipgloss.Style{&t.Text, &t.Strong, &t.Dim, &t.Good, &t.Running, &t.Waiting, &t.Bad}[tone]
}

// Glyphs are the signs of a frame. Every glyph has an ASCII twin of the same width.
type Glyphs struct {
	Cursor, Attention             string
	Done, Failed, PartiallyFailed string
	Current, Ahead, Skipped       string
	Fact, Unproven                string
	BarFull, BarEmpty             string
	BarParts                      []string // growing parts of a cell, without the empty and the full one
	SparkBars                     []string // the growing bars of a sparkline
	Rule, BoxSide, Stage          string
	Approx, Ellipsis              string
	Ascending, Descending         string
	Marked                        string
	BoxCorners                    [4]string // of a box: top left and right, bottom left and right
}

var UnicodeGlyphs = Glyphs{
	Cursor: "▸", Attention: "!",
	Done: "✓", Failed: "✗", PartiallyFailed: "◑",
	Current: "▶", Ahead: "·", Skipped: "-",
	Fact: "•", Unproven: "?",
	BarFull: "█", BarEmpty: "─",
	BarParts:  []string{"▏", "▎", "▍", "▌", "▋", "▊", "▉"},
	SparkBars: []string{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
	Rule:      "─", BoxSide: "│", Stage: "─",
	Approx: "≈", Ellipsis: "…", Ascending: "▴", Descending: "▾",
	Marked: "*", BoxCorners: [4]string{"╭", "╮", "╰", "╯"},
}

var ASCIIGlyphs = Glyphs{
	Cursor: ">", Attention: "!",
	Done: "+", Failed: "x", PartiallyFailed: "%",
	Current: ">", Ahead: ".", Skipped: "-",
	Fact: "*", Unproven: "?",
	BarFull: "#", BarEmpty: "-",
	SparkBars: []string{"1", "2", "3", "4", "5", "6", "7", "8"},
	Rule:      "-", BoxSide: "|", Stage: "-",
	Approx: "~", Ellipsis: "~", Ascending: "^", Descending: "v",
	Marked: "*", BoxCorners: [4]string{"+", "+", "+", "+"},
}
