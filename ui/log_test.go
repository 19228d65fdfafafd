package ui

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/view/document"
)

// audited is a log of a patch that landed, a creation in doubt, and an attempt that was not completed.
func audited(t *testing.T) func(*Options) {
	t.Helper()
	dir := t.TempDir()
	one := action.AuditEntry{
		Attempt:   "a1",
		Context:   "prod-east",
		Cluster:   "https://prod-east:6443",
		Action:    "finalize",
		Kind:      "Restore",
		Namespace: "velero",
		Name:      "crm-old",
		By:        "jane",
		From:      "InProgress",
		To:        "Failed",
		Reason:    "INC-4711",
	}
	two := action.AuditEntry{
		Attempt:   "a2",
		Context:   "prod-east",
		Action:    "create",
		Kind:      "Restore",
		Namespace: "velero",
		Name:      "shop-back\x1b[2J",
		By:        "jane",
		Reason:    "it was asked for",
	}
	three := action.AuditEntry{
		Attempt:   "a3",
		Context:   "prod-west",
		Action:    "pause",
		Kind:      "Schedule",
		Namespace: "velero",
		Name:      "nightly",
		By:        "joe",
	}
	var log strings.Builder
	note := func(ago time.Duration, e action.AuditEntry, event string, change func(*action.AuditEntry)) {
		e.Time, e.Event = noon.Add(-ago).UTC(), event
		change(&e)
		data, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&log, "%s\n", data)
	}
	note(
		50*time.Hour,
		one,
		"begin",
		func(e *action.AuditEntry) { e.Commands = []string{"kubectl patch restore crm-old", "kubectl get"} },
	)
	note(50*time.Hour, one, "send", func(e *action.AuditEntry) {
		e.Patch = json.RawMessage(`[{"op":"add","path":"/status/phase","value":"Failed"}]`)
	})
	note(
		50*time.Hour,
		one,
		"end",
		func(e *action.AuditEntry) {
			e.Sent, e.State, e.Message = action.Landed, action.StateSettled, "it stayed so"
		},
	)
	note(time.Hour, two, "begin", func(*action.AuditEntry) {})
	note(time.Hour, two, "send", func(e *action.AuditEntry) { e.Object = json.RawMessage(`{"kind":"Restore"}`) })
	note(time.Hour, two, "end", func(e *action.AuditEntry) { e.Sent, e.State = action.Doubtful, action.StateUnfinished })
	note(time.Minute, three, "begin", func(*action.AuditEntry) {})
	if err := os.WriteFile(filepath.Join(dir, action.AuditLogFile), []byte(log.String()+"no entry\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return func(o *Options) {
		o.LoadAudit = func(about string) (*document.Audit, error) { return document.ReadAudit(dir, about) }
	}
}

// openLogScreen types :log.
func openLogScreen(t *testing.T, m *Model) {
	t.Helper()
	press(t, m, ":")
	typeIn(t, m, "log")
	answered(m, press(t, m, "enter"))
}

// :log shows what `veltui audit` prints, the newest first; enter shows all of an attempt, and y copies its commands.
func TestLog(t *testing.T) {
	m := screen(t, stageful(), 80, 24, audited(t))
	openLogScreen(t, m)
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		m.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		golden(t, fmt.Sprintf("log-%dx%d", size[0], size[1]), plain(checkFrame(t, m)))
	}
	press(t, m, "end", "enter")
	golden(t, "log-details-200x60", plain(checkFrame(t, m)))
	var copied, said string
	for _, c := range press(t, m, "y")().(tea.BatchMsg) {
		switch msg := c(); fmt.Sprintf("%T", msg) {
		case "tea.setClipboardMsg":
			copied = fmt.Sprint(msg)
		default:
			m.Update(msg)
			said = m.notice
		}
	}
	if copied != "kubectl patch restore crm-old\nkubectl get" || !strings.Contains(said, "the command") {
		t.Errorf("copied %q, said %q", copied, said)
	}
	press(t, m, "/", "j", "o", "e", "enter")
	if press(t, m, "esc", "esc"); onTop(m) != "dashboard" {
		t.Errorf("esc leads to %s", onTop(m))
	}
}

func TestLogWithoutEntries(t *testing.T) {
	for want, read := range map[string]func(about string) (*document.Audit, error){
		"veltui has changed nothing from this machine.": func(about string) (*document.Audit, error) { return document.ReadAudit(t.TempDir(), about) },
		"The log cannot be read: it is a folder":        func(string) (*document.Audit, error) { return nil, errors.New("it is a folder") },
	} {
		m := screen(t, stageful(), 80, 24, func(o *Options) { o.LoadAudit = read })
		openLogScreen(t, m)
		press(t, m, "y", "enter")
		if frame := ansi.Strip(checkFrame(t, m)); !strings.Contains(frame, want) {
			t.Errorf("it does not say %q:\n%s", want, frame)
		}
	}
}
