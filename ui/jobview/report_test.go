package jobview

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/ui/keys"
)

type fakeReporter struct {
	unread
	text         string
	err, unsaved error
	saved        string
}

func (f *fakeReporter) BuildReport(_ context.Context, a *assess.Assessment, j assess.JudgedJob) (string, error) {
	if a == nil || j.Name != "x" {
		return "", errors.New("it was asked for another job")
	}
	return f.text, f.err
}

func (f *fakeReporter) SaveFile(name string, data []byte) (string, error) {
	f.saved = name + ": " + string(data)
	return name, f.unsaved
}

// follow runs a command and what comes of it, and returns the last notice and what goes
// to the clipboard.
func (s *Screen) follow(cmd tea.Cmd) (notice, copied string) {
	for cmds := []tea.Cmd{cmd}; len(cmds) > 0; cmds = cmds[1:] {
		if cmds[0] == nil {
			continue
		}
		switch m := cmds[0]().(type) {
		case tea.BatchMsg:
			cmds = append(cmds, m...)
		case keys.SaveAsMsg:
			cmds = append(cmds, m.WriteFile("/home/jane/"+m.ProposedPath))
		case NoticeMsg:
			notice = m.Text
		case fetch.Message:
			again, _ := m.Deliver()
			cmds = append(cmds, again)
		default:
			copied = fmt.Sprint(m) // the message of tea.SetClipboard has no name
		}
	}
	return notice, copied
}

func reportScreen(t *testing.T, r *fakeReporter) *Screen {
	t.Helper()
	s, _ := shown(
		t,
		job.Observation{
			Restore: &veleroapi.Restore{
				ObjectMeta: meta(),
				Status:     veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseInProgress},
			},
		},
	)
	s.dependencies.Backend, s.dependencies.Keys = r, keys.Overrides{}
	s.dependencies.Start = func(read func(context.Context) tea.Msg) (tea.Cmd, context.CancelFunc) {
		ctx, cancel := context.WithCancel(t.Context())
		return func() tea.Msg { return read(ctx) }, cancel
	}
	return s
}

// confirmed is what follows once the proposed path is confirmed.
func confirmed(asked tea.Cmd) tea.Cmd {
	msg := asked().(keys.SaveAsMsg)
	return msg.WriteFile("/home/jane/" + msg.ProposedPath)
}

func TestReportIsSavedThenCopied(t *testing.T) {

	name := "veltui-report-restore-x-" + noon.Format("20060102-150405") + ".md"
	r := &fakeReporter{text: "# Report on restore x"}
	s := reportScreen(t, r)
	for _, k := range s.Bindings() {
		if k.Name == "copy-report" && k.Active() {
			t.Error("there is a report to copy before there is one")
		}
	}
	if asked, ok := s.pressed(t, "report")().(keys.SaveAsMsg); !ok || asked.ProposedPath != name || r.saved != "" {
		t.Errorf("without a question for the path %q is saved", r.saved)
	}
	if notice, _ := s.follow(
		s.pressed(t, "report"),
	); r.saved != "/home/jane/"+name+": # Report on restore x" || !strings.HasPrefix(notice, "The report is in /home/jane/"+name) ||
		!strings.HasSuffix(notice, "P copies it.") {
		t.Errorf("%q is saved, and veltui says %q", r.saved, notice)
	}
	if notice, copied := s.follow(
		s.pressed(t, "copy-report"),
	); copied != r.text ||
		!strings.Contains(notice, "the report, 21 bytes") {
		t.Errorf("%q is copied, and veltui says %q", copied, notice)
	}
	s.dependencies.ClipboardUnavailable = "this terminal has none."
	if notice, copied := s.follow(
		s.pressed(t, "copy-report"),
	); copied != "" ||
		!strings.Contains(notice, "Not copied: this terminal has none.") {
		t.Errorf("%q is copied, and veltui says %q", copied, notice)
	}
}

func TestReportSaysWhyNot(t *testing.T) {
	for _, c := range []struct {
		reporter fakeReporter
		says     string
	}{
		{fakeReporter{err: errors.New("the kubeconfig is gone")}, "There is no report: the kubeconfig is gone"},
		{fakeReporter{text: "#", unsaved: errors.New("x.md exists")}, "The report is not saved: x.md exists. P copies it."},
		{fakeReporter{text: strings.Repeat("x", MaxCopyBytes+1)}, "It is too large for a terminal's clipboard."},
	} {
		s := reportScreen(t, &c.reporter)
		if notice, _ := s.follow(s.pressed(t, "report")); !strings.HasSuffix(notice, c.says) {
			t.Errorf("veltui says %q, want %q", notice, c.says)
		}
	}
}

// TestReportIsCancelled holds that the key cancels a report that is being made, as
// leaving the job does, and that what comes of it afterwards is saved and said nowhere.
func TestReportIsCancelled(t *testing.T) {
	for name, cancel := range map[string]func(*Screen){
		"by the key":     func(s *Screen) { s.follow(s.pressed(t, "report")) },
		"by leaving it":  func(s *Screen) { s.Close() },
		"and made again": func(s *Screen) { s.pressed(t, "report"); confirmed(s.pressed(t, "report")) },
	} {
		r := &fakeReporter{text: "# Report"}
		s := reportScreen(t, r)
		made := confirmed(s.pressed(t, "report"))
		cancel(s)
		if notice, _ := s.follow(
			made,
		); r.saved != "" || s.reportAnswer.Value.text != "" ||
			!strings.HasPrefix(notice, "Making the report on restore x. It can take") {
			t.Errorf("%s: saved is %q, and veltui says %q", name, r.saved, notice)
		}
	}
}
