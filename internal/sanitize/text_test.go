package sanitize

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// payloads are the ways to attack a terminal through text that we know of.
var payloads = map[string]struct{ in, want string }{
	"plain":                {"nightly-crm", "nightly-crm"},
	"accents and wide":     {"Sicherung für 日本 ✓", "Sicherung für 日本 ✓"},
	"colour":               {"a\x1b[31mb", `a\x1b[31mb`},
	"clear screen":         {"\x1b[2J\x1b[H", `\x1b[2J\x1b[H`},
	"clipboard (OSC 52)":   {"\x1b]52;c;cm0gLXJm\x07", `\x1b]52;c;cm0gLXJm\x07`},
	"title (OSC 0)":        {"\x1b]0;owned\x1b\\", `\x1b]0;owned\x1b\`},
	"hyperlink (OSC 8)":    {"\x1b]8;;http://x\x07y", `\x1b]8;;http://x\x07y`},
	"device status report": {"\x1b[6n", `\x1b[6n`},
	"DCS":                  {"\x1bP+q544e\x1b\\", `\x1bP+q544e\x1b\`},
	"unterminated OSC":     {"x\x1b]0;", `x\x1b]0;`},
	"C1 as UTF-8":          {"\u009b31m\u009d0;x\u009c", `\u009b31m\u009d0;x\u009c`},
	"C1 raw":               {"\x9b31m", `\x9b31m`},
	"carriage return":      {"safe\rgone", "safe gone"},
	"CRLF":                 {"a\r\nb", "a b"},
	"backspace":            {"ab\b\bcd", `ab\x08\x08cd`},
	"line and tab":         {"a\nb\tc", "a b c"},
	"NUL, BEL, DEL":        {"\x00\x07\x7f", `\x00\x07\x7f`},
	"bidi override":        {"txt.\u202eexe", `txt.\u202eexe`},
	"bidi isolate":         {"\u2066a\u2069", `\u2066a\u2069`},
	"bidi marks":           {"\u200e\u200f\u061c", `\u200e\u200f\u061c`},
	"zero width":           {"pro\u200bd\u2060\ufeff", `pro\u200bd\u2060\ufeff`},
	"tag characters":       {"a\U000e0041\U000e007f", `a\U000e0041\U000e007f`},
	"separators":           {"a\u2028b\u2029c", `a\u2028b\u2029c`},
	"variation selector":   {"a\ufe0f\U000e0100", `a\ufe0f\U000e0100`},
	"soft hyphen":          {"a\u00adb", `a\u00adb`},
	"hangul filler":        {"a\u3164b", `a\u3164b`},
	"invalid UTF-8":        {"a\xff\xc3(\xed\xa0\x80", `a\xff\xc3(\xed\xa0\x80`},
	"replacement rune":     {"a\ufffdb", "a\ufffdb"},
	"stacked marks": {
		"e" + strings.Repeat("\u0301", 6),
		"e" + strings.Repeat("\u0301", maxMarks) + `\u0301\u0301`,
	},
	"mark on nothing":     {"\u0301a\u200b\u0301", `\u0301a\u200b\u0301`},
	"half-width voicing":  {"ｶ\uff9e\uff9e", `ｶ\uff9e\uff9e`},
	"sara am":             {"\u0e19\u0e33\u0eb3", "\u0e19" + `\u0e33\u0eb3`},
	"skin tones":          {"👍\U0001f3fb\U0001f3ff", `👍\U0001f3fb\U0001f3ff`},
	"jamo":                {"\u1100\u1100\u1161\u11a8", `\u1100\u1100\u1161\u11a8`},
	"spacing marks":       {"\u0915\u093e\u0903", "\u0915" + `\u093e\u0903`},
	"virama pairs":        {"\u0915\u094d\u0937\u094d\u0937", "\u0915\u094d" + `\u0937\u094d\u0937`},
	"flags":               {"🇩🇪", `\U0001f1e9\U0001f1ea`},
	"joined emoji":        {"👩\u200d👩", `👩\u200d\U0001f469`},
	"private and unknown": {"a\ue000\U0010fffd\u0378\ufffe", `a\ue000\U0010fffd\u0378\ufffe`},
	"empty":               {"", ""},
}

func TestStringMakesPayloadsVisible(t *testing.T) {
	for name, p := range payloads {
		t.Run(name, func(t *testing.T) {
			if got := String(p.in); got != p.want {
				t.Errorf("String(%q) = %q, want %q", p.in, got, p.want)
			}
		})
	}
}

func TestTextKeepsItsLines(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"a\nb\n", "a\nb\n"},
		{"a\r\nb\rc", "a\nb c"},
		{"\tx\x1b[0m", "\tx" + `\x1b[0m`},
		{"", ""},
		{"\n\n\u0301", "\n\n" + `\u0301`},
		{"é\r\né", "é\né"},
	} {
		if got := Text(c.in); got != c.want {
			t.Errorf("Text(%q) = %q, want %q", c.in, got, c.want)
		}
	}
	if n := len(Text(strings.Repeat("abc\n", 1<<20))); n != 4<<20 {
		t.Errorf("Text cut a text to %d bytes", n)
	}
	if n := len(FullLine(strings.Repeat("x\n", MaxLineRunes))); n != 2*MaxLineRunes {
		t.Errorf("Whole cut a line to %d bytes", n)
	}
}

// TestWidthIsAgreed holds clean text to one width: as clusters, which is how
// we lay out, and as runes, which is how terminals without Unicode's clusters
// add up. It tries every code point alone, behind each kind of character, and
// by the hundred.
func TestWidthIsAgreed(t *testing.T) {
	before, step := []string{"", "\u0915\u094d", "👍"}, rune(1)
	if testing.Short() {
		step = 29
	}
	for r := rune(0x20); r <= unicode.MaxRune; r += step {
		if r >= 0x3400 && r < 0x9f00 || r >= 0xac80 && r < 0xd700 || r >= 0xd800 && r <= 0xdfff ||
			r >= 0x12000 && r < 0x1b000 && r != 0x16ff0 ||
			r >= 0x20100 && r < 0x2f000 ||
			r >= 0xe1000 {
			continue // more of the same
		}
		for _, b := range before {
			checkWidth(t, b+string(r))
		}
		if unicode.IsGraphic(r) && r < 0x3400 {
			checkWidth(t, "a"+strings.Repeat(string(r), 20))
		}
	}
	if testing.Short() {
		t.Skip("a sample of them passed")
	}
}

// TestNothingJoins holds clean texts to staying what they are beside others.
func TestNothingJoins(t *testing.T) {
	for r := rune(0x20); r <= unicode.MaxRune; r++ {
		if isHarmful(r) {
			continue
		}
		clean := String(string(r))
		for _, other := range []string{"a", " ", "─", "가", "👍"} {
			for _, pair := range [][2]string{{other, clean}, {clean, other}} {
				if cluster, _ := ansi.FirstGraphemeCluster(
					pair[0]+pair[1],
					ansi.GraphemeWidth,
				); len(
					cluster,
				) > len(
					pair[0],
				) {
					t.Errorf("%U: %+q joins %+q", r, pair[1], pair[0])
				}
			}
		}
	}
}

func checkWidth(t *testing.T, s string) {
	t.Helper()
	clean := String(s)
	clusters, runes := ansi.StringWidth(clean), ansi.StringWidthWc(clean)
	if clusters != runes {
		t.Fatalf("%+q: %d cells as clusters, %d as runes", clean, clusters, runes)
	}
	for rest := clean; rest != ""; {
		cluster, cells := ansi.FirstGraphemeCluster(rest, ansi.GraphemeWidth)
		if utf8.RuneCountInString(cluster) > 1+maxMarks || cells < 1 || cells > 2 {
			t.Fatalf("%+q: a character of %d runes and %d cells", clean, utf8.RuneCountInString(cluster), cells)
		}
		rest = rest[len(cluster):]
	}
}

func TestCutEndsInAnEllipsis(t *testing.T) {
	for _, c := range []struct {
		in    string
		limit int
		want  string
	}{
		{"abcdef", 6, "abcdef"},
		{"abcdef", 5, "abcd…"},
		{"日本語", 2, "日…"},
		{"日本語", 3, "日本語"},
		{"ab\x1b", 4, `ab\…`},
		{"abc", 1, "…"},
		{"abc", 0, ""},
		{"", 3, ""},
	} {
		if got := Truncate(c.in, c.limit); got != c.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.in, c.limit, got, c.want)
		}
	}
	if n := utf8.RuneCountInString(String(strings.Repeat("x", 10_000))); n != MaxLineRunes {
		t.Errorf("10,000 characters became %d, want %d", n, MaxLineRunes)
	}
}

func TestCleanStringsCostNothing(t *testing.T) {
	for _, s := range []string{"velero.io/backup-uid", "Sicherung für 日本"} {
		if n := testing.AllocsPerRun(100, func() { String(s) }); n != 0 {
			t.Errorf("String(%q) allocates %v times", s, n)
		}
	}
}

// assertHarmless fails if anything that this package exists to stop is in s.
func assertHarmless(t *testing.T, s string, limit int, allowed string) {
	t.Helper()
	if !utf8.ValidString(s) {
		t.Fatalf("%q is not UTF-8", s)
	}
	if n := utf8.RuneCountInString(s); n > limit {
		t.Fatalf("%d runes came out, the limit is %d", n, limit)
	}
	for _, r := range s {
		if strings.ContainsRune(allowed, r) {
			continue
		}
		switch {
		case r < 0x20, r >= 0x7f && r <= 0x9f,
			r >= 0x200b && r <= 0x200f, r >= 0x2028 && r <= 0x202e,
			r >= 0x2060 && r <= 0x206f, r == 0x061c, r == 0xfeff,
			r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0000 && r <= 0xe0fff,
			unicode.Is(unicode.Cf, r):
			t.Fatalf("%U came out in %q", r, s)
		}
	}
}

func FuzzString(f *testing.F) {
	for _, p := range payloads {
		f.Add(p.in, 80)
	}
	f.Add(strings.Repeat("e\u0301\u0301\u0301\u0301\u0301", 30), 17)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit %= MaxLineRunes
		one := Truncate(s, limit)
		assertHarmless(t, one, max(limit, 0), "")
		if again := Truncate(one, limit); again != one {
			t.Fatalf("not idempotent: %q became %q", one, again)
		}
		text := Text(s)
		assertHarmless(t, text, 10*len(s), layoutChars)
		if again := Text(text); again != text {
			t.Fatalf("not idempotent: %q became %q", text, again)
		}
		if a, b := ansi.StringWidth(one), ansi.StringWidthWc(one); a != b {
			t.Fatalf("%+q has %d or %d cells", one, a, b)
		}
	})
}

func BenchmarkStringClean(b *testing.B) {
	for b.Loop() {
		String("nightly-crm-20261121031500")
	}
}
