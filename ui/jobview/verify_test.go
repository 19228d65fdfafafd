package jobview

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/verify"
	"github.com/veltui/veltui/internal/velero/veleroapi"
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

func (f *fakeVerifier) UnavailableReason(p cluster.Capability) string {
	if p == cluster.CapabilityComparison {
		return f.unavailable
	}
	return f.unread.UnavailableReason(p)
}

func (f *fakeVerifier) VerifyRestore(
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
		result.CountByContent = map[verify.ContentState]int{verify.Changed: 7}
		return result, f.err
	}
	progress(live.Progress{Done: 3, Total: 9, Resource: "secrets"})
	return f.result, f.err
}

// pressed presses a key of the screen that acts now.
func (s *Screen) pressed(t *testing.T, name string) tea.Cmd {
	t.Helper()
	for _, k := range s.Bindings() {
		if k.Name == name && (k.Active == nil || k.Active()) {
			return k.Do(k.Keys[0])
		}
	}
	t.Fatalf("no key %s acts now", name)
	return nil
}

func verifyScreen(t *testing.T, v *fakeVerifier, phase veleroapi.RestorePhase) (*Screen, func() string, *[]tea.Msg) {
	t.Helper()
	began, ended := metav1.NewTime(noon.Add(-time.Hour)), metav1.NewTime(noon.Add(-50*time.Minute))
	s, c := shown(
		t,
		job.Observation{Restore: &veleroapi.Restore{ObjectMeta: meta(), Spec: veleroapi.RestoreSpec{BackupName: "b"},
			Status: veleroapi.RestoreStatus{Phase: phase, StartTimestamp: &began, CompletionTimestamp: &ended}}},
	)
	var answers []tea.Msg
	s.dependencies.Backend, s.dependencies.Keys = v, keys.Overrides{}
	s.dependencies.Start = func(read func(context.Context) tea.Msg) (tea.Cmd, context.CancelFunc) {
		answers = append(answers, read(t.Context()))
		return func() tea.Msg { return nil }, func() {}
	}
	return s, func() string { return ansi.Strip(s.View(c)) }, &answers
}

func TestVerifyShowsWhatDidNotComeBackFirst(t *testing.T) {
	v := &fakeVerifier{result: verify.Result{
		CountByState: map[verify.State]int{verify.Gone: 1, verify.Restored: 2, verify.Unchecked: 1},
		Kinds: []verify.Kind{
			{Name: "services", CountByState: map[verify.State]int{verify.Gone: 1, verify.Restored: 1}, Items: []verify.Item{
				{
					Namespace: "shop",
					Name:      "web",
					State:     verify.Gone,
					Why:       "Velero created it, and it is not there now",
				},
				{Namespace: "shop", Name: "db", State: verify.Restored},
			}},
			{
				Name:         "configmaps",
				CountByState: map[verify.State]int{verify.Restored: 1},
				Items:        []verify.Item{{Namespace: "shop", Name: "cm", State: verify.Restored}},
			},
			{
				Name:         "secrets",
				CountByState: map[verify.State]int{verify.Unchecked: 1},
				Items:        []verify.Item{{Namespace: "shop", Name: "s", State: verify.Unchecked}},
			},
		},
		Unchecked: []live.Unchecked{{Resource: "secrets", Namespace: "shop", Why: "you may not list it"}},
		Cost:      live.Cost{Requests: 5},
	}}
	s, view, answers := verifyScreen(t, v, veleroapi.RestorePhaseCompleted)
	s.pressed(t, "verify")
	if s.currentPage() != jobPage(&s.verifyPage) || v.asked != 1 ||
		!strings.Contains(view(), "Looking for secrets: 3 of 9 lists") {
		t.Fatalf("asked %d times:\n%s", v.asked, view())
	}
	(*answers)[0].(fetch.Message).Deliver()
	for _, says := range []string{"1 of 4 items did not come back; 1 could not be looked for", "gone          shop/web: Velero created it",
		"configmaps", "Unchecked: secrets in shop: you may not list it.", "with 5 requests. V shows Velero's own list"} {
		if !strings.Contains(view(), says) {
			t.Errorf("it does not say %q:\n%s", says, view())
		}
	}
	if strings.Contains(view(), "shop/cm") {
		t.Errorf("a kind that lost nothing is open:\n%s", view())
	}
	s.FetchMissing()
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
	s, view, answers := verifyScreen(t, v, veleroapi.RestorePhaseCompleted)
	s.pressed(t, "verify")
	(*answers)[0].(fetch.Message).Deliver()
	if !strings.Contains(view(), "--no-artifacts") {
		t.Errorf("%s", view())
	}
}

func TestOnlyEndedRestoresAreVerified(t *testing.T) {
	s, _, _ := verifyScreen(t, &fakeVerifier{}, veleroapi.RestorePhaseInProgress)
	for _, k := range s.Bindings() {
		if k.Name == "verify" && k.UnavailableReason() == "" {
			t.Error("a restore that goes on has the key")
		}
	}
}

func TestContentsAreComparedWhenAsked(t *testing.T) {
	v := &fakeVerifier{result: verify.Result{CountByState: map[verify.State]int{verify.Restored: 2}}}
	s, view, answers := verifyScreen(t, v, veleroapi.RestorePhaseCompleted)
	left := 0
	back := s.verifyPage.backOrCancelAction(s, func(string) tea.Cmd { left++; return nil })
	s.pressed(t, "verify")
	(*answers)[0].(fetch.Message).Deliver()
	s.pressed(t, "compare")
	if v.compared != 1 || !strings.Contains(view(), "Comparing contents (reading the backup: 3.0 MB)") ||
		!strings.Contains(view(), "All of 2 items came back") {
		t.Fatalf("compared %d times:\n%s", v.compared, view())
	}
	back("left")
	if back("esc"); left != 1 || s.verifyPage.isComparing(s) {
		t.Errorf("esc leaves the page (%d) and does not stop the comparison", left)
	}
	if (*answers)[1].(fetch.Message).Deliver(); strings.Contains(view(), "changed") {
		t.Errorf("it shows a comparison that was stopped:\n%s", view())
	}
	s.FetchMissing()
	s.pressed(t, "compare")
	(*answers)[2].(fetch.Message).Deliver()
	if v.asked != 3 || !strings.Contains(view(), "All of 2 items came back; 7 are changed") {
		t.Errorf("asked %d times:\n%s", v.asked, view())
	}
	if back("esc"); left != 2 {
		t.Error("esc does not leave the page")
	}
	v.unavailable = "read-only"
	for _, k := range s.Bindings() {
		if k.Name == "compare" && k.UnavailableReason() != "read-only" {
			t.Errorf("%q", k.UnavailableReason())
		}
	}
}

// TestARestoreThatEndsIsVerifiedOnce where its screen is open, but not where that would change the cluster, nor one that
// had ended before.
func TestARestoreThatEndsIsVerifiedOnce(t *testing.T) {
	for name, c := range map[string]struct {
		before      veleroapi.RestorePhase
		unavailable string
		want        int
	}{
		"it ends":                   {veleroapi.RestorePhaseInProgress, "", 1},
		"it had ended":              {veleroapi.RestorePhaseCompleted, "", 0},
		"read-only or no artifacts": {veleroapi.RestorePhaseInProgress, "read-only", 0},
	} {
		t.Run(name, func(t *testing.T) {
			v := &fakeVerifier{
				unavailable: c.unavailable,
				result:      verify.Result{CountByState: map[verify.State]int{verify.Restored: 2, verify.Gone: 1}},
			}
			s, view, answers := verifyScreen(t, v, c.before)
			s.FetchMissing()
			began, ended := metav1.NewTime(noon.Add(-time.Hour)), metav1.NewTime(noon.Add(-50*time.Minute))
			done, _ := shown(
				t,
				job.Observation{Restore: &veleroapi.Restore{
					ObjectMeta: meta(),
					Spec:       veleroapi.RestoreSpec{BackupName: "b"},
					Status: veleroapi.RestoreStatus{
						Phase:               veleroapi.RestorePhaseCompleted,
						StartTimestamp:      &began,
						CompletionTimestamp: &ended,
					},
				}},
			)
			s.SetAssessment(done.assessment)
			for range 3 {
				s.FetchMissing()
			}
			for _, a := range *answers {
				a.(fetch.Message).Deliver()
			}
			s.FetchMissing()
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
					s.currentPage() == jobPage(&s.verifyPage) && !strings.Contains(view(), "1 of 3 items did not come back") {
					t.Errorf("V pressed %d times: asked %d times, want %d\n%s", n+1, v.asked, want, view())
				}
			}
		})
	}
}
