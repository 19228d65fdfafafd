package draw

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

func TestCutMiddleFitsItsWidth(t *testing.T) {
	c := Canvas{Glyphs: &UnicodeGlyphs}
	for _, s := range []string{"", "shop", "everything-to-dr-20261123072919", "バックアップ-二〇二六年", "aバックアップ-二〇二六年", strings.Repeat("e\u0301", 20), "🚀🚀🚀🚀🚀-ship"} {
		whole := ansi.StringWidth(s)
		for width := range 40 {
			got := c.TruncateMiddle(s, width)
			switch cells := ansi.StringWidth(got); {
			case whole <= width && got != s:
				t.Errorf("%q fits in %d cells and became %q", s, width, got)
			case cells > width, whole > width && cells < width-2:
				t.Errorf("%q in %d cells: %q of %d", s, width, got, cells)
			}
		}
	}
	if got := c.TruncateMiddle("everything-to-dr-20261123072919", 20); got != "everythin…1123072919" {
		t.Errorf("%q", got)
	}
}
