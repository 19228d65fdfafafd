package draw

import (
	"flag"
	"fmt"
	"image/color"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
)

var update = flag.Bool("update", false, "write the table of contrasts in docs/config.md anew")

// The backgrounds that themes are made for: the terminals' own, and those of
// schemes in wide use. Solarized is of ethanschoonover.com/solarized, the others
// of the scheme that the name says.
var backgrounds = map[string][]ground{
	"dark": {
		{"black", "#000000"},
		{"VS Code", "#1e1e1e"},
		{"Solarized Dark", "#002b36"},
		{"Gruvbox Dark", "#282828"},
		{"Nord", "#2e3440"},
	},
	"light": {{"white", "#ffffff"}, {"Solarized Light", "#fdf6e3"}, {"Gruvbox Light", "#fbf1c7"}},
}

type ground struct{ name, color string }

// palettes are the sixteen colours of terminals, with their black and white
// grounds.
var palettes = []struct {
	name, dark, light string
	colors            string
}{
	// XTerm-col.ad of xterm.
	{
		"xterm",
		"#000000",
		"#ffffff",
		"000000 cd0000 00cd00 cdcd00 0000ee cd00cd 00cdcd e5e5e5 7f7f7f ff0000 00ff00 ffff00 5c5cff ff00ff 00ffff ffffff",
	},
	// default_red, default_grn and default_blu in drivers/tty/vt/vt.c of Linux.
	{
		"Linux console",
		"#000000",
		"#ffffff",
		"000000 aa0000 00aa00 aa5500 0000aa aa00aa 00aaaa aaaaaa 555555 ff5555 55ff55 ffff55 5555ff ff55ff 55ffff ffffff",
	},
	// The defaults in settings.c of PuTTY.
	{
		"PuTTY",
		"#000000",
		"#ffffff",
		"000000 bb0000 00bb00 bbbb00 0000bb bb00bb 00bbbb bbbbbb 555555 ff5555 55ff55 ffff55 5555ff ff55ff 55ffff ffffff",
	},
	// Campbell in src/cascadia/TerminalSettingsModel/defaults.json of Windows Terminal.
	{
		"Windows Terminal",
		"#0c0c0c",
		"#ffffff",
		"0c0c0c c50f1f 13a10e c19c00 0037da 881798 3a96dd cccccc 767676 e74856 16c60c f9f1a5 3b78ff b4009e 61d6d6 f2f2f2",
	},
	// The table of values on ethanschoonover.com/solarized.
	{
		"Solarized",
		"#002b36",
		"#fdf6e3",
		"073642 dc322f 859900 b58900 268bd2 d33682 2aa198 eee8d5 002b36 cb4b16 586e75 657b83 839496 6c71c4 93a1a1 fdf6e3",
	},
}

// rgb is a colour in linear light, from 0 to 1.
type rgb [3]float64

func parse(hex string) rgb {
	n, err := strconv.ParseUint(strings.TrimPrefix(hex, "#"), 16, 24)
	if err != nil {
		panic(err)
	}
	return linear(float64(n>>16)/255, float64(n>>8&255)/255, float64(n&255)/255)
}

func linear(channels ...float64) (c rgb) {
	for i, v := range channels {
		if c[i] = v / 12.92; v > 0.04045 {
			c[i] = math.Pow((v+0.055)/1.055, 2.4)
		}
	}
	return c
}

// contrast is the ratio of WCAG 2.2, "contrast ratio".
func contrast(a, b rgb) float64 {
	luminance := func(c rgb) float64 { return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2] }
	high, low := luminance(a), luminance(b)
	if high < low {
		high, low = low, high
	}
	return (high + 0.05) / (low + 0.05)
}

// drawnIn is the colour of a style: one of its own, or ok is false for the
// terminal's. The first sixteen come from the palette.
func drawnIn(style lipgloss.Style, palette string) (c rgb, ok bool) {
	index, isIndex := style.GetForeground().(interface{ RGBA() (r, g, b, a uint32) })
	if _, none := style.GetForeground().(lipgloss.NoColor); none || !isIndex {
		return rgb{}, false
	}
	if n, basic := basicIndex(style.GetForeground()); basic {
		return parse(strings.Fields(palette)[n]), true
	}
	r, g, b, _ := index.RGBA()
	return linear(float64(r)/0xffff, float64(g)/0xffff, float64(b)/0xffff), true
}

func basicIndex(c color.Color) (int, bool) {
	n, err := strconv.Atoi(fmt.Sprint(c))
	return n, err == nil && n < 16
}

// least is the least contrast that a meaning needs: WCAG 2.2, 1.4.3 for text
// and 1.4.11 for what is no text.
func least(theme, meaning string) float64 {
	switch {
	case strings.HasPrefix(theme, "contrast"):
		return 7 // 1.4.6
	case strings.HasPrefix(meaning, "bar"):
		return 3
	}
	return 4.5
}

// files are the themes that have a file, but for mono, which has no colour.
func files() []string {
	return slices.DeleteFunc(ThemeNames(), func(name string) bool {
		stands, _ := ResolveTheme(name, true)
		return name == "mono" || stands != name
	})
}

func groundOf(theme string) string {
	if strings.HasSuffix(theme, "light") {
		return "light"
	}
	return "dark"
}

var meanings = []string{"text", "strong", "dim", "accent", "good", "running", "waiting", "bad", "barFull", "barEmpty"}

// Each colour of each theme can be read on every background that it is for, and
// docs/config.md has the least of each. What has no colour is the terminal's own text.
func TestContrast(t *testing.T) {
	var table strings.Builder
	table.WriteString("\n| theme | text | bars |\n|---|---|---|\n")
	for _, name := range files() {
		theme, err := LoadTheme(name)
		if err != nil {
			t.Fatal(err)
		}
		lowest := map[bool]float64{false: math.Inf(1), true: math.Inf(1)}
		for _, meaning := range meanings {
			c, ok := drawnIn(*theme.stylesByName()[meaning], "")
			if !ok {
				continue
			}
			bar := strings.HasPrefix(meaning, "bar")
			for _, g := range groundsOf(name, theme) {
				ratio := contrast(c, parse(g.color))
				if want := least(name, meaning); ratio < want {
					t.Errorf("theme %s: %s has %.2f:1 on %s, less than %.1f:1", name, meaning, ratio, g.name, want)
				}
				lowest[bar] = min(lowest[bar], ratio)
			}
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", name, cut(lowest[false]), cut(lowest[true]))
	}
	inDocs(t, "contrast", table.String())
}

// groundsOf are the backgrounds that a theme is for, with that of a selected row if the theme has one.
func groundsOf(name string, theme *Theme) []ground {
	grounds := slices.Clone(backgrounds[groundOf(name)])
	if selected := theme.Selected.GetBackground(); selected != (lipgloss.NoColor{}) {
		r, g, b, _ := selected.RGBA()
		grounds = append(grounds, ground{"a selected row", fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)})
	}
	return grounds
}

// cut writes a ratio that is never more than it is.
func cut(ratio float64) string { return fmt.Sprintf("%.1f", math.Floor(ratio*10)/10) }

// With sixteen colours the palette decides. No palette of those that we know
// leaves a sign below 3:1, and none of the themes uses a colour that is some
// palette's background.
func TestContrastWithSixteenColors(t *testing.T) {
	for _, name := range files() {
		theme, err := LoadTheme(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range palettes {
			on := p.dark
			if groundOf(name) == "light" {
				on = p.light
			}
			for _, meaning := range meanings {
				c, ok := drawnIn(*theme.ForSixteenColors().stylesByName()[meaning], p.colors)
				if ratio := contrast(c, parse(on)); ok && ratio < 3 {
					t.Errorf("theme %s: %s has %.2f:1 in the palette of %s", name, meaning, ratio, p.name)
				}
			}
		}
	}
}

// What deuteranopes and protanopes see of linear light: Machado, Oliveira and
// Fernandes 2009, severity 1.0.
var deficiencies = map[string][3]rgb{
	"deuteranopia": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	"protanopia":   {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"nobody":       {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
}

// leastDifference is how far apart two states' colours are in CIELAB at least;
// about 2 is just noticeable.
const leastDifference = 25

// TestColorblind holds the states of the colorblind themes apart for eyes that
// do not tell red from green.
func TestColorblind(t *testing.T) {
	states := []string{"good", "running", "waiting", "bad"}
	for _, name := range []string{"colorblind-dark", "colorblind-light"} {
		theme, err := LoadTheme(name)
		if err != nil {
			t.Fatal(err)
		}
		for who, seen := range deficiencies {
			for i, a := range states {
				for _, b := range states[:i] {
					x, _ := drawnIn(*theme.stylesByName()[a], "")
					y, _ := drawnIn(*theme.stylesByName()[b], "")
					if d := difference(apply(seen, x), apply(seen, y)); d < leastDifference {
						t.Errorf("theme %s, %s: %s and %s differ by %.1f only", name, who, a, b, d)
					}
				}
			}
		}
	}
}

func apply(m [3]rgb, c rgb) (out rgb) {
	for i := range out {
		out[i] = min(max(m[i][0]*c[0]+m[i][1]*c[1]+m[i][2]*c[2], 0), 1)
	}
	return out
}

// difference is the distance of two colours in CIELAB for D65.
func difference(a, b rgb) float64 {
	lab := func(c rgb) rgb {
		xyz := apply(
			[3]rgb{{0.4339, 0.3762, 0.1899}, {0.2126, 0.7152, 0.0722}, {0.0177, 0.1095, 0.8729}},
			c,
		) // over the white's
		for i, v := range xyz {
			if xyz[i] = math.Cbrt(v); v <= 0.008856 {
				xyz[i] = 7.787*v + 16.0/116
			}
		}
		return rgb{116*xyz[1] - 16, 500 * (xyz[0] - xyz[1]), 200 * (xyz[1] - xyz[2])}
	}
	x, y := lab(a), lab(b)
	return math.Sqrt((x[0]-y[0])*(x[0]-y[0]) + (x[1]-y[1])*(x[1]-y[1]) + (x[2]-y[2])*(x[2]-y[2]))
}

// inDocs holds docs/config.md to a table, between two comments that name it.
func inDocs(t *testing.T, name, table string) {
	t.Helper()
	const path = "../../docs/config.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
	before, rest, ok := strings.Cut(string(text), begin)
	old, after, ok2 := strings.Cut(rest, end)
	switch {
	case !ok || !ok2:
		t.Fatalf("%s has no place for %s", path, begin)
	case old == table+"\n":
	case *update:
		if err := os.WriteFile(path, []byte(before+begin+table+"\n"+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is out of date: go test ./ui/draw -update\nwant:\n%s", path, table)
	}
}

func TestThemeForABackground(t *testing.T) {
	for _, c := range []struct {
		name string
		dark bool
		want string
		by   bool
	}{
		{"auto", true, "dark", true}, {"", false, "light", true}, {"dark", false, "dark", false}, {"mono", false, "mono", false},
		{"contrast", true, "contrast-dark", true}, {"contrast", false, "contrast-light", true}, {"contrast-dark", false, "contrast-dark", false},
	} {
		if got, by := ResolveTheme(c.name, c.dark); got != c.want || by != c.by {
			t.Errorf("%q on dark %t: %s, %t", c.name, c.dark, got, by)
		}
	}
}
