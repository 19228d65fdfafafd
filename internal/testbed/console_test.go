package testbed

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/vt"
)

// A cluster is drawn whole, wherever a busy machine cuts the output in two.
func TestConsoleDrawsClustersWhole(t *testing.T) {
	const text = "\x1b[2mcafe\u0301 \x1b[0m👩\u200d👩\u200d👧 नमस्ते\x1b]2;title\x07 end\x1b[?25h"
	draw := func(chunks ...string) string {
		c := &Console{emulator: vt.NewEmulator(40, 2)}
		for _, chunk := range chunks {
			c.drawOutput([]byte(chunk), false)
		}
		c.drawOutput(nil, true)
		return c.ScreenText()
	}
	want := draw(text)
	if !strings.Contains(want, "cafe\u0301") {
		t.Fatalf("the screen shows %q", want)
	}
	for i := range text {
		if got := draw(text[:i], text[i:]); got != want {
			t.Errorf("cut at %q, the screen shows\n%q, want\n%q", text[:i], got, want)
		}
	}
}

// What ends with a control sequence is drawn at once.
func TestConsoleHoldsOnlyClusters(t *testing.T) {
	for text, held := range map[string]int{"frame\x1b[?2026l": 0, "line\r\n": 0, "\x1b(B": 0, "prompt: ": 1, "cafe": 1, "नम": 6} {
		if got := len(text) - graphemeStart([]byte(text)); got != held {
			t.Errorf("%q: %d bytes held, want %d", text, got, held)
		}
	}
}
