package terminal

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// screen is a terminal that keeps what it is sent.
type screen struct {
	bytes.Buffer
	in io.Reader
}

func (s *screen) Read(p []byte) (int, error) { return s.in.Read(p) }
func (s *screen) Close() error               { return nil }
func (s *screen) Fd() uintptr                { return ^uintptr(0) }

// talker sends one command's message to the terminal and ends.
type talker struct{ cmds []tea.Cmd }

func (t talker) Init() tea.Cmd                       { return tea.Sequence(append(t.cmds, tea.Quit)...) }
func (t talker) Update(tea.Msg) (tea.Model, tea.Cmd) { return t, nil }
func (t talker) View() tea.View                      { return tea.NewView("frame") }

var clipboard = regexp.MustCompile(`\x1b\]52;([^\x07\x1b]*)(\x07|\x1b\\\\)`)

// Beside frames, only one question and clean text for the clipboard reach the
// terminal, whoever sends what.
func TestOnlyCleanTextReachesTheClipboard(t *testing.T) {
	hostile := "kubectl get\r\x1b]52;c;aGk=\x07\u009b31m\u202e\nsecond\tline"
	out := &screen{in: strings.NewReader("")}
	ctx, cancel := context.WithTimeoutCause(t.Context(), patience, errors.New("the program did not end"))
	defer cancel()
	err := Run(ctx, func(err error) { t.Error(err) }, talker{[]tea.Cmd{
		tea.SetClipboard(hostile),
		tea.SetClipboard(strings.Repeat("x", MaxClipboardBytes+1)),
		tea.SetPrimaryClipboard("primary"),
		tea.Raw(ansi.RequestModeSynchronizedOutput),
		tea.Raw("\x1b]0;raw\x07"),
		tea.Println("printed"),
		tea.ReadClipboard,
		tea.ReadPrimaryClipboard,
	}}, Options{Input: out, Output: out})
	if err != nil {
		t.Fatal(err)
	}
	raw := out.String()
	found := clipboard.FindAllStringSubmatch(raw, -1)
	if len(found) != 1 {
		t.Fatalf("%d OSC 52 in %q", len(found), raw)
	}
	selection, encoded, _ := strings.Cut(found[0][1], ";")
	text, err := base64.StdEncoding.DecodeString(encoded)
	if selection != "c" || err != nil ||
		string(text) != `kubectl get \x1b]52;c;aGk=\x07\u009b31m\u202e`+"\nsecond\tline" {
		t.Errorf("copied to %s: %q, %v", selection, text, err)
	}
	if strings.Contains(raw, "raw") || strings.Contains(raw, "printed") ||
		!strings.Contains(raw, ansi.RequestModeSynchronizedOutput) {
		t.Errorf("the terminal was sent %q", raw)
	}
}
