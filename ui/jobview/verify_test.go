package jobview

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/verify"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/ui/keys"
)

type fakeVerifier struct {
	unread
	result verify.Result
	err    error
	asked  int
	// compared counts those with contents; nothing is unasked where unavailable says why.
	compared    int
	unavailable string
}

func (f *fakeVerifier) Unavailable(p cluster.Part) string {
	if p == cluster.Comparison {
		return f.unavailable
	}
	return f.unread.Unavailable(p)
}

func (f *fakeVerifier) Verify(
	_ context.Context,
	_ *job.Job,
	_ *assess.Assessment,
	progress func(live.Progress),
	far func(string),
) (verify.Result, error) {
	f.asked++
	if far != nil {
		f.compared++
		far("reading the backup: 3.0 MB")
		result := f.result
		result.Content = map[verify.Content]int{verify.Changed: 7}
		return result, f.err
	}
	progress(live.Progress{Done: 3, Total: 9, Resource: "secrets"})
	return f.result, f.err
}

// pressed presses a key of the screen that acts now.
func (s *Screen) pressed(t *testing.T, name string) tea.Cmd {
	t.Helper()
	for _, k := range s.Keys() {
		if k.Name == name && (k.On == nil || k.On()) {
			return k.Do(k.Keys[0])
		}
	}
	t.Fatalf("no key %s acts now", name)
	return nil
}

func verifyScreen(t *testing.T, v *fakeVerifier, phase velerov1.RestorePhase) (*Screen, func() string, *[]tea.Msg) {
	t.Helper()
	began, ended := metav1.NewTime(noon.Add(-time.Hour)), metav1.NewTime(noon.Add(-50*time.Minute))
	s, c := shown(
		t,
		job.Input{Restore: &velerov1.Restore{ObjectMeta: meta(), Spec: velerov1.RestoreSpec{BackupName: "b"},
			Status: velerov1.RestoreStatus{Phase: phase, StartTimestamp: &began, CompletionTimestamp: &ended}}},
	)
	var answers []tea.Msg
	s.sources.Inspector, s.sources.Keys = v, keys.Map{}
	s.sources.Start = func(read func(context.Context) tea.Msg) (tea.Cmd, context.CancelFunc) {
		answers = append(answers, read(t.Context()))
		return func() tea.Msg { return nil }, func() {}
	}
	return s, func() string { return ansi.Strip(s.View(c)) }, &answers
}

func TestVerifyShowsWhatDidNotComeBackFirst(t *testing.T) {
	v := &fakeVerifier{result: verify.Result{
		Count: map[verify.State]int{verify.Gone: 1, verify.Restored: 2, verify.NotLookedAt: 1},
		Kinds: []verify.Kind{
			{Name: "services", Count: map[verify.State]int{verify.Gone: 1, verify.Restored: 1}, Items: []verify.Item{
				{
					Namespace: "shop",
					Name:      "web",
					State:     verify.Gone,
					Why:       "Velero created it, and it is not there now",
				},
				{Namespace: "shop", Name: "db", State: verify.Restored},
			}},
			{
				Name:  "configmaps",
				Count: map[verify.State]int{verify.Restored: 1},
				Items: []verify.Item{{Namespace: "shop", Name: "cm", State: verify.Restored}},
			},
			{
				Name:  "secrets",
				Count: map[verify.State]int{verify.NotLookedAt: 1},
				Items: []verify.Item{{Namespace: "shop", Name: "s", State: verify.NotLookedAt}},
			},
		},
		NotSeen: []live.NotSeen{{Resource: "secrets", Namespace: "shop", Why: "you may not list it"}},
		Cost:    live.Cost{Requests: 5},
	}}
	s, view, answers := verifyScreen(t, v, velerov1.RestorePhaseCompleted)
	s.pressed(t, "verify")
	if s.open() != page(&s.verify) || v.asked != 1 ||
		!strings.Contains(view(), "Looking for secrets in the cluster: 3 of 9 lists") {
		t.Fatalf("asked %d times:\n%s", v.asked, view())
	}
	(*answers)[0].(fetch.Message).Deliver()
	for _, says := range []string{"1 of 4 items did not come back; 1 could not be looked for", "gone          shop/web: Velero created it",
		"configmaps", "Not checked: secrets in shop: you may not list it.", "with 5 requests. V shows Velero's own list"} {
		if !strings.Contains(view(), says) {
			t.Errorf("it does not say %q:\n%s", says, view())
		}
	}
	if strings.Contains(view(), "shop/cm") {
		t.Errorf("a kind that lost nothing is open:\n%s", view())
	}
	s.Ask()
	if v.asked != 1 {
		t.Errorf("it asks by itself")
	}
	s.pressed(t, "verify")
	if strings.Contains(view(), "MISSING") {
		t.Errorf("it does not go back:\n%s", view())
	}
	s.pressed(t, "verify")
	if v.asked != 2 {
		t.Errorf("asked %d times", v.asked)
	}
}

func TestVerifySaysWhyNot(t *testing.T) {
	v := &fakeVerifier{err: errors.New("with --no-artifacts veltui does not read what was to come back")}
	s, view, answers := verifyScreen(t, v, velerov1.RestorePhaseCompleted)
	s.pressed(t, "verify")
	(*answers)[0].(fetch.Message).Deliver()
	if !strings.Contains(view(), "--no-artifacts") {
		t.Errorf("%s", view())
	}
}

func TestOnlyEndedRestoresAreVerified(t *testing.T) {
	s, _, _ := verifyScreen(t, &fakeVerifier{}, velerov1.RestorePhaseInProgress)
	for _, k := range s.Keys() {
		if k.Name == "verify" && k.Why() == "" {
			t.Error("a restore that goes on has the key")
		}
	}
}

func TestContentsAreComparedWhenAsked(t *testing.T) {
	v := &fakeVerifier{result: verify.Result{Count: map[verify.State]int{verify.Restored: 2}}}
	s, view, answers := verifyScreen(t, v, velerov1.RestorePhaseCompleted)
	left := 0
	back := s.verify.back(s, func(string) tea.Cmd { left++; return nil })
	s.pressed(t, "verify")
	(*answers)[0].(fetch.Message).Deliver()
	s.pressed(t, "compare")
	if v.compared != 1 || !strings.Contains(view(), "Comparing contents (reading the backup: 3.0 MB)") ||
		!strings.Contains(view(), "All of 2 items came back") {
		t.Fatalf("compared %d times:\n%s", v.compared, view())
	}
	back("left")
	if back("esc"); left != 1 || s.verify.comparing(s) {
		t.Errorf("esc leaves the page (%d) and does not stop the comparison", left)
	}
	if (*answers)[1].(fetch.Message).Deliver(); strings.Contains(view(), "changed") {
		t.Errorf("it shows a comparison that was stopped:\n%s", view())
	}
	s.Ask()
	s.pressed(t, "compare")
	(*answers)[2].(fetch.Message).Deliver()
	if v.asked != 3 || !strings.Contains(view(), "All of 2 items came back; 7 are changed") {
		t.Errorf("asked %d times:\n%s", v.asked, view())
	}
	if back("esc"); left != 2 {
		t.Error("esc does not leave the page")
	}
	v.unavailable = "read-only"
	for _, k := range s.Keys() {
		if k.Name == "compare" && k.Why() != "read-only" {
			t.Errorf("%q", k.Why())
		}
	}
}

// TestARestoreThatEndsIsVerifiedOnce where its screen is open, but not where that would change the cluster, nor one that
// had ended before.
func TestARestoreThatEndsIsVerifiedOnce(t *testing.T) {
	for name, c := range map[string]struct {
		before      velerov1.RestorePhase
		unavailable string
		want        int
	}{
		"it ends":                   {velerov1.RestorePhaseInProgress, "", 1},
		"it had ended":              {velerov1.RestorePhaseCompleted, "", 0},
		"read-only or no artifacts": {velerov1.RestorePhaseInProgress, "read-only", 0},
	} {
		t.Run(name, func(t *testing.T) {
			v := &fakeVerifier{
				unavailable: c.unavailable,
				result:      verify.Result{Count: map[verify.State]int{verify.Restored: 2, verify.Gone: 1}},
			}
			s, view, answers := verifyScreen(t, v, c.before)
			s.Ask()
			began, ended := metav1.NewTime(noon.Add(-time.Hour)), metav1.NewTime(noon.Add(-50*time.Minute))
			done, _ := shown(
				t,
				job.Input{Restore: &velerov1.Restore{
					ObjectMeta: meta(),
					Spec:       velerov1.RestoreSpec{BackupName: "b"},
					Status: velerov1.RestoreStatus{
						Phase:               velerov1.RestorePhaseCompleted,
						StartTimestamp:      &began,
						CompletionTimestamp: &ended,
					},
				}},
			)
			s.Load(done.assessed)
			for range 3 {
				s.Ask()
			}
			for _, a := range *answers {
				a.(fetch.Message).Deliver()
			}
			s.Ask()
			says := strings.Contains(
				strings.Join(strings.Fields(view()), " "),
				"1 of 3 items did not come back. V shows it",
			)
			if v.asked != c.want || v.compared != 0 || says != (c.want > 0) {
				t.Errorf("asked %d times, and it says so: %t\n%s", v.asked, says, view())
			}
			// Who opens the page sees that, and who opens it again has it verified anew.
			for n, want := range []int{max(c.want, 1), max(c.want, 1), max(c.want, 1) + 1} {
				s.pressed(t, "verify")
				for _, a := range *answers {
					a.(fetch.Message).Deliver()
				}
				if v.asked != want ||
					s.open() == page(&s.verify) && !strings.Contains(view(), "1 of 3 items did not come back") {
					t.Errorf("V pressed %d times: asked %d times, want %d\n%s", n+1, v.asked, want, view())
				}
			}
		})
	}
}
