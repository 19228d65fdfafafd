package draw

import (
	"math"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// The highest of a row of bars is full, what is above 0 shows, and what is not
// known is a dot.
func TestHeights(t *testing.T) {
	for _, c := range []struct {
		glyphs *Glyphs
		values []float64
		want   string
	}{
		{&UnicodeGlyphs, []float64{1, 2, 4, 8, 0, -1, math.NaN()}, "▂▃▅█···"},
		{&ASCIIGlyphs, []float64{1, 2, 4, 8, 0}, "2358."},
		{&UnicodeGlyphs, []float64{0, 0}, "··"},
		{&UnicodeGlyphs, []float64{1e-9, 1e9}, "▁█"},
		{&UnicodeGlyphs, nil, ""},
	} {
		if got := (Canvas{Glyphs: c.glyphs}).RenderSparkline(c.values); got != c.want {
			t.Errorf("%v is %s, want %s", c.values, got, c.want)
		}
	}
}

func TestThemesLoad(t *testing.T) {
	if len(ThemeNames()) < 3 {
		t.Fatalf("themes: %v", ThemeNames())
	}
	for _, name := range ThemeNames() {
		stands, _ := ResolveTheme(name, true)
		theme, err := LoadTheme(stands)
		if err != nil {
			t.Fatal(err)
		}
		// Colour 8 is the background itself in a palette in wide use, Solarized
		// Dark; and a selected row must be seen without colour.
		if drawn := theme.Dim.Render(
			"x",
		) + theme.BarEmpty.Render(
			"x",
		) + theme.ForSixteenColors().Dim.Render(
			"x",
		) + theme.ForSixteenColors().BarEmpty.Render(
			"x",
		); strings.Contains(
			drawn,
			"[90m",
		) {
			t.Errorf("theme %s: dim text is drawn in colour 8: %q", name, drawn)
		}
		for _, selected := range []lipgloss.Style{theme.Selected, theme.ForSixteenColors().Selected} {
			if _, none := selected.GetBackground().(lipgloss.NoColor); none && !selected.GetReverse() {
				t.Errorf("theme %s: the selected row does not stand out: %q", name, selected.Render("x"))
			}
		}
	}
	if _, err := LoadTheme("../x"); err == nil {
		t.Error("a theme that is none loads")
	}
}

func TestBarIsFullOnlyAtTheEnd(t *testing.T) {
	for _, g := range []*Glyphs{&UnicodeGlyphs, &ASCIIGlyphs} {
		c := canvas(t, 0, 0)
		c.Glyphs = g
		for width := 1; width < 40; width++ {
			for _, fraction := range []float64{0, 1e-9, 0.5, 0.99, 0.999999, 1} {
				bar := ansi.Strip(c.RenderBar(fraction, width))
				if w := ansi.StringWidth(bar); w != width {
					t.Fatalf("%v at width %d is %d wide", fraction, width, w)
				}
				if full := bar == strings.Repeat(g.BarFull, width); full != (fraction == 1) {
					t.Errorf("%v at width %d draws %q", fraction, width, bar)
				}
			}
		}
	}
}

// What asks for help and what ended badly never look alike, and every sign has
// an ASCII twin of its width.
func TestSigns(t *testing.T) {
	for _, g := range []*Glyphs{&UnicodeGlyphs, &ASCIIGlyphs} {
		for place, signs := range map[string][]string{
			"a row of a table":     {" ", g.Attention, g.Done, g.PartiallyFailed, g.Failed},
			"a line of stages":     {g.Done, g.PartiallyFailed, g.Failed, g.Current, g.Ahead, g.Skipped},
			"an item or operation": {g.Done, g.Failed, g.Current, g.Ahead, g.Skipped, g.Fact},
			"a fact":               {g.Fact, g.Unproven},
			"a bar":                {g.BarFull, g.BarEmpty},
			"a column's title":     {" ", g.Ascending, g.Descending},
			"the left edge":        {" ", g.Cursor, g.Marked, g.Attention},
		} {
			seen := map[string]bool{}
			for _, sign := range signs {
				if seen[sign] || ansi.StringWidth(sign) != 1 {
					t.Errorf("%s: %q stands for two things, or is not one cell wide", place, sign)
				}
				seen[sign] = true
			}
		}
	}
}

func TestSentence(t *testing.T) {
	for words, want := range map[string]string{"": "", "émile woke it": "Émile woke it.", "it is": "It is.", "\xff": "\uFFFD."} {
		if got := FormatSentence(words); got != want {
			t.Errorf("%q: %q, want %q", words, got, want)
		}
	}
}

// A box that is as wide as the terminal has nothing around it; a smaller one has
// whole lines of what is behind above and below, and no torn pieces beside it.
func TestOverLeavesNoTornText(t *testing.T) {
	behind := strings.TrimSuffix(strings.Repeat("a line of the screen behind it that is long\n", 9), "\n")
	for width, want := range map[int]int{40: 0, 30: 6} {
		c := canvas(t, 40, 9)
		box := []string{strings.Repeat("+", width), strings.Repeat("x", width), strings.Repeat("+", width)}
		lines := strings.Split(ansi.Strip(c.OverlayBox(box, behind)), "\n")
		whole := 0
		for _, line := range lines {
			switch {
			case strings.HasPrefix(line, "a line of the screen behind it that is"):
				whole++
			case strings.ContainsAny(line, "abcdefghijklmnopqrstuvw"):
				t.Errorf("torn text: %q", line)
			}
		}
		if whole != want || len(lines) != 9 {
			t.Errorf("box of %d: %d whole lines of %d", width, whole, len(lines))
		}
	}
}

func canvas(t *testing.T, width, height int) Canvas {
	t.Helper()
	theme, err := LoadTheme("dark")
	if err != nil {
		t.Fatal(err)
	}
	return Canvas{Width: width, Height: height, Theme: theme, Glyphs: &UnicodeGlyphs}
}

// A user's theme says what it changes; the rest is as without colour.
func TestUserThemeFillsFromMono(t *testing.T) {
	theme, err := ParseTheme([]byte("bad: {color: 14}\nselected: {underline: true}\n"))
	if err != nil {
		t.Fatal(err)
	}
	mono, err := LoadTheme("mono")
	if err != nil {
		t.Fatal(err)
	}
	if theme.Bad.Render("x") == mono.Bad.Render("x") || theme.ForSixteenColors().Bad.Render("x") == mono.Bad.Render("x") ||
		theme.Strong.Render("x") != mono.Strong.Render("x") {
		t.Errorf("%q %q", theme.Bad.Render("x"), theme.Strong.Render("x"))
	}
	for _, meaning := range StyleNames() {
		if theme.stylesByName()[meaning] == nil {
			t.Errorf("no style %s", meaning)
		}
	}
}

// What is copied from the screen is one command for a shell, or none: never the first
// half of it alone.
func TestCommandOnSeveralLines(t *testing.T) {
	words := []string{
		"restore",
		"create",
		"shop-20261120120000",
		"--from-backup=" + strings.Repeat("nightly-", 12),
		"--include-namespaces=shop",
		"--selector=app in (db,web)",
		"--labels=a=it's",
		"-n",
		"velero",
	}
	quoted := slices.Clone(words)
	quoted[5], quoted[6] = "'"+words[5]+"'", `'--labels=a=it'\''s'`
	for _, width := range []int{8, 30, 40, 51, 80, 200, 1000} {
		lines := Canvas{Width: width}.WrapCommand("printf '%s\n' " + strings.Join(quoted, " "))
		for _, line := range lines {
			if lipgloss.Width(line) > width {
				t.Errorf("%d: %q", width, line)
			}
		}
		if width < 40 {
			continue // the quoted words do not fit
		}
		out, err := exec.CommandContext(t.Context(), "sh", "-c", strings.Join(lines, "\n")).Output()
		if got := strings.Split(strings.TrimSpace(string(out)), "\n"); err != nil || !slices.Equal(got, words) {
			t.Errorf("%d: %v, %q of\n%s", width, err, got, strings.Join(lines, "\n"))
		}
	}
}

// A selected row keeps the styles of its parts, to its end; a bar is never reversed.
func TestSelectedKeepsStyles(t *testing.T) {
	for _, name := range ThemeNames() {
		theme, err := LoadTheme(name)
		if err != nil {
			continue // its background decides
		}
		for _, theme := range []*Theme{theme, theme.ForSixteenColors()} {
			c := Canvas{Width: 30, Theme: theme, Glyphs: &UnicodeGlyphs}
			row := theme.Bad.Render("!") + " name " + c.RenderBar(0.5, 10)
			got := c.HighlightRow(row)
			if plain := ansi.Strip(got); plain != c.FitLeft(ansi.Strip(row), 30) {
				t.Errorf("%s: %q", name, plain)
			}
			on, _, _ := strings.Cut(theme.Selected.Render("x"), "x")
			if !strings.Contains(got, theme.Bad.Render("!")) || !strings.HasPrefix(got, on) ||
				strings.HasSuffix(got, " ") {
				t.Errorf("%s: the sign has lost its style, or the row its own: %q", name, got)
			}
			for _, part := range strings.Split(got, "\x1b[m")[1:] {
				if part != "" && !strings.HasPrefix(part, on) {
					t.Errorf("%s: the row ends before %q", name, part)
				}
			}
			if full := strings.Index(
				got,
				UnicodeGlyphs.BarFull,
			); theme.Selected.GetReverse() &&
				!strings.HasSuffix(got[:full], "\x1b[27m") {
				t.Errorf("%s: the bar is reversed: %q", name, got)
			}
		}
	}
}
