//go:build e2e

package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/veltui/veltui/e2e/lab"
)

// explained is what `veltui explain -o json` prints.
type explained struct {
	Verdict struct {
		State  string `json:"state"`
		Reason string `json:"reason"`
		Facts  []struct {
			Text  string `json:"text"`
			Holds bool   `json:"holds"`
		} `json:"facts"`
		Advice string `json:"advice"`
	} `json:"verdict"`
	Finalize struct {
		Action string `json:"action"`
		From   string `json:"from"`
		To     string `json:"to"`
	} `json:"finalize"`
	// printed is all of it, as text.
	printed string
}

// explain runs `veltui explain` at the cluster of a kubeconfig, and checks that
// the exit code says the same as the verdict.
func explain(t *testing.T, kubeconfig, job string, flags ...string) explained {
	t.Helper()
	code, printed := runVeltuiAt(t, kubeconfig, append([]string{"explain", job, "-o", "json"}, flags...)...)
	e := explained{printed: printed}
	if err := json.Unmarshal(document(printed), &e); err != nil {
		t.Fatalf("veltui explain %s ended with %d: %v:\n%s", job, code, err, printed)
	}
	if stuck := slices.Contains(dead, e.Verdict.State); stuck != (code == exitRefused) {
		t.Errorf("veltui explain %s ended with %d and the verdict %q", job, code, e.Verdict.State)
	}
	t.Logf("%s is %s (%s): %s", job, e.Verdict.State, e.Verdict.Reason, e.Verdict.Advice)
	return e
}

// dead are the verdicts that say that a job does not move by itself.
var dead = []string{"stuck", "orphaned"}

// wantAlive checks that a job is not called dead, and that what was said of it
// holds all words.
func (e explained) wantAlive(t *testing.T, words ...string) {
	t.Helper()
	if slices.Contains(dead, e.Verdict.State) || e.Verdict.State == "" {
		t.Errorf("the verdict is %q:\n%s", e.Verdict.State, e.printed)
	}
	e.wantWords(t, words...)
}

// wantWords checks that the explanation names something.
func (e explained) wantWords(t *testing.T, words ...string) {
	t.Helper()
	if missing := slices.DeleteFunc(
		words,
		func(w string) bool { return strings.Contains(e.printed, w) },
	); len(
		missing,
	) > 0 {
		t.Errorf("the explanation does not say %q:\n%s", missing, e.printed)
	}
}

// shifted starts a view of the cluster at another time, for one test.
func shifted(t *testing.T, name string, s lab.TimeShift) (kubeconfig string) {
	t.Helper()
	p, err := theLab.StartShiftProxy(name, s)
	must(t, err)
	t.Cleanup(p.Close)
	return p.Kubeconfig
}

// older makes the objects that it names older by a duration. Velero's pods are
// older still, so that whoever works on a job was there before it.
func older(by time.Duration, named func(kind, name string) bool) lab.TimeShift {
	return lab.TimeShift{AgeOf: func(kind, name string) time.Duration {
		switch {
		case named(kind, name):
			return by
		case kind == "Pod":
			return by + time.Hour
		}
		return 0
	}}
}

// wantRefused checks that veltui finalize refuses, and that the job stays as it
// is but for what Velero writes.
func wantRefused(t *testing.T, kubeconfig, kind, name string, flags ...string) (printed string) {
	t.Helper()
	before := liveJob(t, kind, name).LastState().Phase
	job := strings.ToLower(kind) + "/" + name
	code, printed := runVeltuiAt(
		t,
		kubeconfig,
		append([]string{"finalize", job, "--yes", "--reason", "end-to-end test", "--observe", "1s"}, flags...)...)
	if code != exitRefused {
		t.Errorf("veltui finalize %s %q ended with %d, want %d (refused):\n%s", job, flags, code, exitRefused, printed)
	}
	after := liveJob(t, kind, name)
	if phase := after.LastState().Phase; phase != before {
		t.Errorf("%s is %s, was %s", job, phase, before)
	}
	for key := range after.LastEvent().Object.GetAnnotations() {
		if strings.HasPrefix(key, "veltui.io/") {
			t.Errorf("%s has the annotation %s", job, key)
		}
	}
	t.Logf("%s %q: %s", job, flags, refusal(printed))
	return printed
}

// refusal is the line in which veltui says why it refuses, empty if it does not.
func refusal(printed string) string {
	for line := range strings.Lines(printed) {
		if strings.HasPrefix(line, "refused:") {
			return strings.TrimSpace(line)
		}
	}
	return ""
}
