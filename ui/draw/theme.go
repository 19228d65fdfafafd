package draw

import (
	"fmt"
	"path"
	"strings"

	"charm.land/lipgloss/v2"
	"sigs.k8s.io/yaml"

	"github.com/veltui/veltui/assets"
)

// ThemeAuto picks dark or light by the terminal's background.
const ThemeAuto = "auto"

// Theme is everything that is a matter of taste in how a frame looks: a style
// for each meaning. Styles are used nowhere else.
type Theme struct {
	Text, Strong, Dim, Accent, Selected lipgloss.Style
	Good, Running, Waiting, Bad         lipgloss.Style
	BarFull, BarEmpty                   lipgloss.Style
}

// token is one entry of a theme file.
type token struct {
	Color     string `json:"color,omitempty"`
	Bold      bool   `json:"bold,omitempty"`
	Faint     bool   `json:"faint,omitempty"`
	Reverse   bool   `json:"reverse,omitempty"`
	Underline bool   `json:"underline,omitempty"`
}

func (t token) style() lipgloss.Style {
	s := lipgloss.NewStyle().Bold(t.Bold).Faint(t.Faint).Reverse(t.Reverse).Underline(t.Underline)
	if t.Color != "" {
		s = s.Foreground(lipgloss.Color(t.Color))
	}
	return s
}

// Themes are the names of the built-in themes.
func Themes() []string {
	entries, err := assets.Themes.ReadDir("themes")
	if err != nil {
		return nil
	}
	var names []string
	for _, entry := range entries {
		names = append(names, strings.TrimSuffix(entry.Name(), path.Ext(entry.Name())))
	}
	return names
}

// LoadTheme reads a built-in theme by its name.
func LoadTheme(name string) (*Theme, error) {
	data, err := assets.Themes.ReadFile("themes/" + name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("there is no theme %q; choose one of %s, %s", name, ThemeAuto, strings.Join(Themes(), ", "))
	}
	var styles map[string]token
	if err := yaml.UnmarshalStrict(data, &styles); err != nil {
		return nil, fmt.Errorf("reading theme %s: %w", name, err)
	}
	theme := &Theme{}
	for meaning, style := range map[string]*lipgloss.Style{
		"text": &theme.Text, "strong": &theme.Strong, "dim": &theme.Dim, "accent": &theme.Accent, "selected": &theme.Selected,
		"good": &theme.Good, "running": &theme.Running, "waiting": &theme.Waiting, "bad": &theme.Bad,
		"barFull": &theme.BarFull, "barEmpty": &theme.BarEmpty,
	} {
		*style = styles[meaning].style()
		delete(styles, meaning)
	}
	for meaning := range styles {
		return nil, fmt.Errorf("reading theme %s: there is no style %q", name, meaning)
	}
	return theme, nil
}
