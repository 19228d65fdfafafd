package action

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// The kubectl command must survive a shell, whatever is in it.
func TestCommandSurvivesAShell(t *testing.T) {
	for _, reason := range []string{"plain", "it's `dead` $(reboot) \"quoted\" \\ !", "ünïcödé; rm -rf ~"} {
		p := draft(
			evidence(t, job.Restore, "InProgress", restarted, notStored),
			Request{Reason: reason, Context: "prod east's"},
		)
		out, err := exec.Command("sh", "-c", `kubectl() { for a in "$@"; do printf '%s\0' "$a"; done; }; `+p.Commands[0]).
			Output()
		if err != nil {
			t.Fatalf("%s: %v", p.Commands[0], err)
		}
		args := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		want := []string{
			"--context",
			"prod east's",
			"-n",
			"velero",
			"patch",
			"restores.velero.io",
			"x",
			"--type=json",
			"-p",
		}
		if len(args) != len(want)+1 || strings.Join(args[:len(want)], "|") != strings.Join(want, "|") {
			t.Fatalf("the shell made %q of %s", args, p.Commands[0])
		}
		var ops []patchOperation
		if err := json.Unmarshal([]byte(args[len(want)]), &ops); err != nil {
			t.Fatalf("%s: %v", args[len(want)], err)
		}
		got := map[string]any{}
		for _, o := range ops {
			got[o.Op+" "+o.Path] = o.Value
		}
		if got["test /metadata/uid"] != "u-1" || got["test /metadata/resourceVersion"] != "77" ||
			got["test /status/phase"] != "InProgress" || got["add /status/phase"] != "Failed" {
			t.Errorf("patch %v", got)
		}
		if why, _ := got["add /status/failureReason"].(string); !strings.Contains(why, reason) {
			t.Errorf("failure reason %q", why)
		}
	}
}

// What a person copies says as much about who did it as what veltui writes:
// `veltui rbac policy` refuses less. Nothing of an earlier action is left.
func TestCommandsSayWhoDoesIt(t *testing.T) {
	earlier := func(e *Evidence) {
		e.Username = "jane"
		for _, m := range []annotationPrefix{finalizedPrefix, wokenPrefix, cancelledPrefix} {
			notes := e.Object.GetAnnotations()
			if notes == nil {
				notes = map[string]string{}
			}
			notes[string(m)+"-by"], notes[string(m)+"-from"] = "bob", "New"
			e.Object.SetAnnotations(notes)
		}
	}
	for action, e := range map[Kind]Evidence{
		Finalize:      evidence(t, job.Restore, "InProgress", restarted, notStored, earlier),
		Wake:          evidence(t, job.Backup, "ReadyToStart", restarted, earlier),
		CancelVolumes: evidence(t, job.Backup, "InProgress", alive, veleroVersion("v1.18.3"), agents("n1"), mover(velero.DataUpload, "du", "InProgress", time.Hour), earlier),
	} {
		p, _ := PlanFor(action, e, Request{})
		if len(p.Commands) != 1 {
			t.Errorf("%s: %q", action, p.Commands)
			continue
		}
		applied, err := findApplicable(action)
		if err != nil {
			t.Fatal(err)
		}
		for part, value := range map[string]string{"by": "jane", "at": e.Now.UTC().Format(time.RFC3339), "attempt": "kubectl-" + e.Now.UTC().Format("20060102T150405Z") + " .", "reason": p.Reason} {
			text, _ := json.Marshal(value)
			if want := strings.ReplaceAll(
				string(applied.annotationPrefix()),
				"/",
				"~1",
			) + "-" + part + `","value":` + string(
				text,
			); !strings.Contains(
				p.Commands[0],
				want,
			) {
				t.Errorf("%s: %s is not in %s", action, want, p.Commands[0])
			}
		}
		e.Username = ""
		if p, _ = PlanFor(
			action,
			e,
			Request{},
		); action != CancelVolumes &&
			!strings.Contains(p.Commands[0], `-by","value":""`) {
			t.Errorf("%s: another's name is left: %s", action, p.Commands[0])
		}
	}
}

func TestWordsOfAPlan(t *testing.T) {
	queued := func(e *Evidence) { e.QueuedBackups = []string{"night-1", "night-2"} }
	p := draft(
		evidence(t, job.Backup, "InProgress", alive, stored, counts(job.StoredCounts{Errors: 3}), queued),
		Request{},
	)
	text := strings.Join(append(append(p.Will, p.WillNot...), p.Afterwards...), "\n")
	for _, want := range []string{"from InProgress to FinalizingPartiallyFailed", "set errors to 3", "sets it to PartiallyFailed",
		"Velero refuses to delete it", "night-1 and night-2"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not said in\n%s", want, text)
		}
	}
}

func TestHolds(t *testing.T) {
	nudge := Plan{ToPhase: velero.PhaseFinalizing}
	end := Plan{ToPhase: velero.PhaseFailed}
	for _, c := range []struct {
		plan       Plan
		phase      string
		held, over bool
	}{
		{nudge, "Finalizing", true, false},
		{nudge, "Completed", true, true},
		{nudge, "InProgress", false, false},
		{nudge, "WaitingForPluginOperations", false, false},
		{nudge, "", false, false},
		{Plan{ToPhase: velero.PhaseWaitingForPluginOperations}, "FinalizingPartiallyFailed", true, false},
		{end, "Failed", true, true},
		{end, "Completed", false, false},
		{end, "InProgress", false, false},
	} {
		if held, over := c.plan.judgePhase(c.phase); held != c.held || over != c.over {
			t.Errorf("%s after %s: held %v, over %v", c.phase, c.plan.ToPhase, held, over)
		}
	}
}
