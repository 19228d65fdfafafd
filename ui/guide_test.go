package ui

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/ui/guide"
)

// The guide follows what is on the screen, takes few lines and can be hidden.
func TestGuideFollowsTheScreen(t *testing.T) {
	guided := func(o *Options) {
		o.Guide = &guide.Guide{
			Title:       "Demo",
			JobName:     "crm-rollback",
			FindHint:    "find it",
			OpenHint:    "<open> opens",
			ActHint:     "<finalize> acts",
			ConfirmHint: "confirm",
			DoneHint:    "done",
		}
	}
	for _, c := range []struct {
		name          string
		width, height int
		pressed       []string
		says          string
	}{
		{"on the list", 80, 24, nil, "Demo 1/4 (x hides this): enter opens"},
		{"another row", 80, 24, []string{"end"}, "Demo 1/4 (x hides this): find it"},
		{"another tab", 80, 24, []string{"5"}, ""},
		{"the job's screen", 80, 24, []string{"home", "enter"}, "Demo 2/4 (x hides this): f acts"},
		{"help", 80, 24, []string{"?"}, ""},
		{"hidden", 80, 24, []string{"x"}, ""},
		{"a low terminal", 80, 23, nil, ""},
		{"a narrow terminal", 59, 24, nil, ""},
	} {
		m := screen(t, stageful(), c.width, c.height, guided)
		m.options.Guide.JobName = m.dashboard.selectedJob().Name
		press(t, m, c.pressed...)
		m.isFrameStale = true
		frame := ansi.Strip(checkFrame(t, m))
		if c.says == "" && strings.Contains(frame, "Demo") || !strings.Contains(frame, c.says) {
			t.Errorf("%s: want %q\n%s", c.name, c.says, frame)
		}
	}
}

func TestNobodyElseIsGuided(t *testing.T) {
	m := screen(t, stageful(), 80, 24)
	for _, b := range m.activeBindings() {
		if b.Label == "x" {
			t.Errorf("%q acts without a guide", b.CurrentDescription())
		}
	}
}

// The step about the dialog is that of finalizing the guide's job, of no other change.
func TestGuideInDialogs(t *testing.T) {
	for key, want := range map[string]bool{"f": true, "X": false} {
		b := newBench(t, 80, 40, func(o *Options) {
			o.Guide = &guide.Guide{Title: "Demo", JobName: "crm-old", ConfirmHint: "confirm it"}
		})
		press(t, b.Model, key)
		if findScreen[*dialogScreen](b.Model) == nil {
			t.Fatalf("%s opens no dialog", key)
		}
		if got := strings.Contains(b.frame(), "confirm it"); got != want {
			t.Errorf("%s: %v\n%s", key, got, b.frame())
		}
	}
}
