package finalize

import (
	"slices"
	"strings"
	"testing"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/diagnosis"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero"
)

type change = func(*Evidence)

// The table of velero-facts 6.7, and what else may keep a plan from being made.
func TestDraft(t *testing.T) {
	const b, r = job.Backup, job.Restore
	errs := counts(job.StoredCounts{Errors: 3, Warnings: 1})
	openOps := counts(job.StoredCounts{Operations: job.Operations{Attempted: 5, Completed: 2}})
	badOps := counts(job.StoredCounts{Errors: 1, Operations: job.Operations{Attempted: 5, Completed: 2, Failed: 1}})
	for _, c := range []struct {
		name    string
		kind    job.Kind
		phase   string
		changes []change
		ask     string
		want    string // the phase, or empty
		refusal string // a part of it
	}{
		// Not begun: any server, nothing stored.
		{"new, live", r, "New", []change{alive}, "", "", "will take it up"},
		{"new, live, given up", r, "New", []change{alive}, "Failed", "Failed", ""},
		{"no phase, live, given up", r, "", []change{alive}, "Failed", "Failed", ""},
		{"new, down", r, "New", []change{down}, "", "", "when its server runs again"},
		{"new, down, given up", b, "New", []change{down}, "Failed", "Failed", ""},
		{"new, asked for more", b, "New", []change{down}, "PartiallyFailed", "", "would not be true"},
		{"queued", b, "Queued", []change{alive}, "", "", "will take it up"},
		{"queued, given up", b, "Queued", []change{alive}, "Failed", "Failed", ""},
		{"ready to start is woken first", b, "ReadyToStart", []change{restarted}, "", "", "looked at again"},
		{"ready to start, given up", b, "ReadyToStart", []change{restarted}, "Failed", "Failed", ""},

		// InProgress, nobody works on it, nothing stored.
		{"orphaned", r, "InProgress", []change{restarted}, "", "Failed", ""},
		{"orphaned, asked for", b, "InProgress", []change{restarted}, "Failed", "Failed", ""},
		{"orphaned, no proof for more", b, "InProgress", []change{restarted}, "PartiallyFailed", "", "needs proof"},
		{"orphaned, no proof for a nudge", b, "InProgress", []change{restarted}, "Finalizing", "", "not looked at"},
		{"orphaned, not stored", r, "InProgress", []change{restarted, stored, file(1, job.Presence{State: job.Absent})}, "", "Failed", ""},
		{"orphaned, of an older one", r, "InProgress", []change{restarted, stored, file(0, job.Presence{State: job.Present, LastModified: began})}, "", "Failed", ""},
		{"orphaned, the store did not answer", r, "InProgress", []change{restarted, stored, file(1, job.Presence{Why: "no answer"})}, "", "", "it may be complete: whether RestoreResourceList is stored could not be found out: no answer"},
		{"the same, given up", r, "InProgress", []change{restarted, stored, file(1, job.Presence{Why: "no answer"})}, "Failed", "Failed", ""},
		{"orphaned, undated", b, "InProgress", []change{restarted, stored, file(0, job.Presence{State: job.Present})}, "", "", "it may be complete"},
		{"orphaned, results unreadable", b, "InProgress", []change{restarted, stored, func(e *Evidence) { e.Counts = nil }}, "", "", "it may be complete"},
		{"orphaned, location gone", b, "InProgress", []change{restarted, stored, func(e *Evidence) { e.Location = &diagnosis.Location{Name: "s3", Phase: "Unavailable"} }}, "", "", "it may be complete"},
		{"just restarted", r, "InProgress", []change{func(e *Evidence) {
			e.Server = Server{Visible: true, Running: []Container{{"v", now.Add(-time.Minute)}}}
		}}, "", "", "just restarted"},
		{"restarted, yet Velero wrote after", r, "InProgress", []change{restarted, func(e *Evidence) { e.VeleroWrote = now.Add(-10 * time.Minute) }}, "", "", "not looked at"},
		{"roll-out: the old server still runs", r, "InProgress", []change{func(e *Evidence) {
			e.Server = Server{Visible: true, Running: []Container{{"old", began.Add(-time.Hour)}, {"new", now.Add(-20 * time.Minute)}}}
		}}, "Failed", "", "may still work on it"},
		{"down", b, "InProgress", []change{down}, "", "Failed", ""},

		// InProgress on a live server, nothing stored.
		{"alive, not looked at", b, "InProgress", []change{alive}, "", "", "not looked at"},
		{"alive, not stored", b, "InProgress", []change{alive, stored, file(1, job.Presence{State: job.Absent})}, "", "", "BackupResults is not stored"},
		{"alive, unknown", r, "InProgress", []change{alive, stored, file(2, job.Presence{Why: "403"})}, "", "", "RestoreVolumeInfo is stored could not be found out: 403"},
		{"alive, undated", r, "InProgress", []change{alive, stored, file(0, job.Presence{State: job.Present})}, "", "", "since when is not known"},
		{"alive, of an older one", r, "InProgress", []change{alive, stored, file(0, job.Presence{State: job.Present, LastModified: began})}, "", "", "older than this restore"},
		{"alive, asked for Failed", b, "InProgress", []change{alive}, "Failed", "", "may still work on it"},
		{"alive, volume moves", b, "InProgress", []change{alive, stored, volume(velero.PodVolumeBackup, "InProgress")}, "", "", "1 volume is still moving"},
		{"alive, volumes hidden", b, "InProgress", []change{alive, stored, func(e *Evidence) { e.Volumes = Unknown; e.VolumesWhy = "forbidden" }}, "", "", "forbidden"},
		{"alive, changed lately", b, "InProgress", []change{alive, stored, lookedAt(14 * time.Minute)}, "", "", "last sign was 4m ago"},
		{"alive, stored lately", b, "InProgress", []change{alive, stored, file(0, job.Presence{State: job.Present, LastModified: now.Add(-time.Minute)})}, "", "", "last sign was 60s ago"},
		{"alive, still retrying for long", b, "InProgress", []change{alive, stored, resourceTimeoutOf("2h"), lookedAt(20 * time.Minute)}, "", "", "last sign was 10m ago"},

		// InProgress on a live server, all stored: nudge.
		{"lost patch of a backup", b, "InProgress", []change{alive, stored}, "", "Finalizing", ""},
		{"lost patch of a restore", r, "InProgress", []change{alive, stored}, "", "Finalizing", ""},
		{"with errors", r, "InProgress", []change{alive, stored, errs}, "", "FinalizingPartiallyFailed", ""},
		{"with open operations", b, "InProgress", []change{alive, stored, openOps}, "", "WaitingForPluginOperations", ""},
		{"with failed operations", b, "InProgress", []change{alive, stored, badOps}, "", "WaitingForPluginOperationsPartiallyFailed", ""},
		{"data movers go on in Waiting", b, "InProgress", []change{alive, stored, openOps, volume(velero.DataUpload, "InProgress")}, "", "WaitingForPluginOperations", ""},
		{"lost patch, then a restart", b, "InProgress", []change{restarted, stored}, "", "Finalizing", ""},
		{"the same, given up", b, "InProgress", []change{restarted, stored}, "Failed", "Failed", ""},
		{"lost patch, Failed would lie", b, "InProgress", []change{alive, stored}, "Failed", "", "moved on to Finalizing"},
		{"lost patch, wrong nudge", b, "InProgress", []change{alive, stored, errs}, "Finalizing", "", "FinalizingPartiallyFailed"},
		{"results unreadable", b, "InProgress", []change{alive, stored, func(e *Evidence) { e.Counts = nil; e.CountsWhy = "broken gzip" }}, "", "", "broken gzip"},
		{"location gone", b, "InProgress", []change{alive, stored, func(e *Evidence) { e.Location = &diagnosis.Location{Name: "s3", Phase: "Unavailable"} }}, "", "", "s3 is unavailable"},

		// InProgress, dead for good, all stored.
		{"down, stored", b, "InProgress", []change{down, stored}, "", "PartiallyFailed", ""},
		{"down, stored, restore", r, "InProgress", []change{down, stored}, "PartiallyFailed", "PartiallyFailed", ""},
		{"down, stored, data mover", b, "InProgress", []change{down, stored, volume(velero.DataUpload, "Completed")}, "", "Failed", ""},
		{"down, data mover, asked for more", b, "InProgress", []change{down, stored, volume(velero.DataUpload, "Completed")}, "PartiallyFailed", "", "data mover"},
		{"down, volumes hidden count as data mover", b, "InProgress", []change{down, stored, func(e *Evidence) { e.Volumes = Unknown }}, "", "Failed", ""},
		{"down, no proof for more", b, "InProgress", []change{down}, "PartiallyFailed", "", "needs proof"},
		{"down, nudge", b, "InProgress", []change{down, stored}, "Finalizing", "", "no Velero server runs"},

		// Waiting*.
		{"waiting, alive", b, "WaitingForPluginOperations", []change{alive}, "Failed", "", "ends it by itself"},
		{"waiting, restarted", r, "WaitingForPluginOperations", []change{restarted}, "Failed", "", "ends it by itself"},
		{"waiting, down", b, "WaitingForPluginOperations", []change{down}, "", "", "goes on with it by itself"},
		{"waiting, down for good", b, "WaitingForPluginOperations", []change{down}, "PartiallyFailed", "PartiallyFailed", ""},
		{"waiting, down for good, data mover", b, "WaitingForPluginOperations", []change{down, volume(velero.DataUpload, "InProgress")}, "PartiallyFailed", "", "would not be true"},
		{"the same as Failed", b, "WaitingForPluginOperations", []change{down, volume(velero.DataUpload, "InProgress")}, "Failed", "Failed", ""},
		{"restore waiting, down, download moves", r, "WaitingForPluginOperationsPartiallyFailed", []change{down, volume(velero.DataDownload, "InProgress")}, "PartiallyFailed", "", "data download is still moving"},
		{"restore waiting, down, cancelled", r, "WaitingForPluginOperationsPartiallyFailed", []change{down, volume(velero.DataDownload, "Canceled")}, "PartiallyFailed", "PartiallyFailed", ""},

		// Finalizing*.
		{"finalizing, alive", r, "Finalizing", []change{alive}, "PartiallyFailed", "", "would be overwritten"},
		{"backup finalizing, restarted", b, "FinalizingPartiallyFailed", []change{restarted}, "Failed", "", "would be overwritten"},
		{"finalizing, down", r, "Finalizing", []change{down}, "", "", "goes on with it by itself"},
		{"finalizing, down for good", r, "Finalizing", []change{down}, "PartiallyFailed", "PartiallyFailed", ""},
		{"backup finalizing, down, data mover", b, "FinalizingPartiallyFailed", []change{down, volume(velero.DataUpload, "Completed")}, "PartiallyFailed", "", "would not be true"},
		{"backup finalizing, down, files gone", b, "Finalizing", []change{down, stored, file(0, job.Presence{State: job.Absent})}, "PartiallyFailed", "", "would not be true"},

		// No matter of the phase.
		{"deleting", b, "Deleting", []change{alive}, "Failed", "", "its deletion has begun"},
		{"completed", b, "Completed", []change{down}, "Failed", "", "has ended"},
		{"failed", r, "Failed", []change{down}, "Finalizing", "", "has ended"},
		{"failed validation", r, "FailedValidation", []change{down}, "", "", "has ended"},
		{"partly failed", b, "PartiallyFailed", []change{down}, "", "", "has ended"},
		{"phase of the future", b, "Polishing", []change{down}, "Failed", "", `"Polishing" is not known`},

		// Never offered.
		{"completed backup", b, "InProgress", []change{down, stored}, "Completed", "", "Completed is never written on a backup"},
		{"completed restore", r, "Finalizing", []change{down, stored}, "Completed", "", "Completed is never written on a restore"},
		{"failed validation asked for", b, "New", []change{down}, "FailedValidation", "", "spec is wrong"},
		{"back to new", r, "InProgress", []change{down}, "New", "", "not a phase to finalize with"},
		{"nonsense", r, "InProgress", []change{down}, "failed", "", "not a phase to finalize with"},

		// What keeps any plan from being made.
		{"pods hidden", r, "InProgress", []change{func(e *Evidence) { e.Server = Server{Why: "pods is forbidden"} }}, "Failed", "", "pods is forbidden"},
		{"server of unknown age", r, "InProgress", []change{func(e *Evidence) { e.Server = Server{Visible: true, Running: []Container{{"v", time.Time{}}}} }}, "", "", "since when is not known"},
		{"no right", r, "InProgress", []change{restarted, func(e *Evidence) { e.MayPatch = No }}, "", "", "you may not patch restores.velero.io"},
		{"right unknown", r, "InProgress", []change{restarted, func(e *Evidence) { e.MayPatch = Unknown }}, "", "", "whether you may patch"},
		{"status subresource", r, "InProgress", []change{restarted, func(e *Evidence) { e.StatusSubresource = Yes }}, "", "", "status subresource"},
		{"old CRD", b, "InProgress", []change{alive, stored, func(e *Evidence) { e.Phases = []string{"InProgress", "Completed", "Failed"} }}, "", "", "does not know phase Finalizing"},
		{"CRD unknown", b, "InProgress", []change{restarted, func(e *Evidence) { e.PhasesWhy = "forbidden" }}, "", "Failed", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := Draft(evidence(t, c.kind, c.phase, c.changes...), Request{Phase: c.ask})
			checkPlan(t, &p)
			if p.To != c.want || !strings.Contains(p.Refusal, c.refusal) {
				t.Errorf("%s -> %q, refusal %q; want %q, %q", c.phase, p.To, p.Refusal, c.want, c.refusal)
			}
		})
	}
}

// checkPlan holds for every plan, whatever its evidence.
func checkPlan(t *testing.T, p *Plan) {
	t.Helper()
	switch {
	case (p.Action == Refuse) != (p.Refusal != "") || (p.Action == Refuse) != (p.To == ""):
		t.Errorf("action %s, to %q, refusal %q", p.Action, p.To, p.Refusal)
	case p.To == "Completed" || p.To == "FailedValidation":
		t.Errorf("writes %s", p.To)
	case (p.Action == End) != velero.TerminalPhase(p.To) && p.Action != Refuse:
		t.Errorf("action %s to %s", p.Action, p.To)
	case p.Action != Refuse && (len(p.Will) == 0 || len(p.WillNot) == 0 || p.Command == "" || p.Reason == ""):
		t.Errorf("a plan without words: %+v", p)
	case p.Action == Refuse && (len(p.Will) > 0 || p.Command != ""):
		t.Errorf("a refusal with a plan: %+v", p)
	case len(p.Facts()) == 0:
		t.Error("no facts")
	}
}

func resourceTimeoutOf(d string) change {
	return func(e *Evidence) {
		e.Job.Object.SetAnnotations(map[string]string{velerov1.ResourceTimeoutAnnotation: d})
	}
}

// Whatever the combination, the rules hold that protect data.
func TestDraftNeverBreaksTheRules(t *testing.T) {
	phases := append([]string{"", "New", "Queued", "ReadyToStart", "InProgress", "Deleting", "Completed", "FailedValidation", "Odd"}, onward...)
	servers := []change{alive, restarted, down, func(*Evidence) {}}
	storage := []change{func(*Evidence) {}, stored, func(e *Evidence) { stored(e); e.Artifacts[0].State = job.Absent }}
	volumes := []change{func(*Evidence) {}, volume(velero.DataUpload, "InProgress"), volume(velero.DataDownload, "Completed"), volume(velero.PodVolumeBackup, "InProgress")}
	plans := 0
	for _, kind := range []job.Kind{job.Backup, job.Restore} {
		for _, phase := range phases {
			for _, ask := range append([]string{""}, phases...) {
				for si, server := range servers {
					for sj, store := range storage {
						for _, volumes := range volumes {
							e := evidence(t, kind, phase, server, store, volumes)
							p := Draft(e, Request{Phase: ask})
							checkPlan(t, &p)
							if p.Action == Refuse {
								continue
							}
							plans++
							switch {
							case si == 3:
								t.Errorf("%s %q with an unknown server: %s", kind, phase, p.To)
							case velero.TerminalPhase(phase) || phase == "Deleting" || phase == "Odd":
								t.Errorf("%s %q: %s", kind, phase, p.To)
							case p.Action == Nudge && (sj != 1 || si == 2 || phase != "InProgress"):
								t.Errorf("%s %q nudged to %s without proof or server", kind, phase, p.To)
							case p.Action == End && si == 0 && !slices.Contains(phases[:4], phase):
								t.Errorf("%s %q ended as %s under a live server", kind, phase, p.To)
							case ask != "" && p.To != ask:
								t.Errorf("asked for %s, got %s", ask, p.To)
							case p.To == "PartiallyFailed" && kind == job.Backup && e.dataMover():
								t.Errorf("%s %q: %s with a data mover", kind, phase, p.To)
							}
						}
					}
				}
			}
		}
	}
	if plans < 100 {
		t.Errorf("only %d combinations led to a plan", plans)
	}
}

func TestReasonMustBeOneLine(t *testing.T) {
	for _, reason := range []string{"a\nb", "esc \x1b[2J", strings.Repeat("x", 501), "\xff"} {
		p := Draft(evidence(t, job.Restore, "InProgress", restarted), Request{Reason: reason})
		if p.Action != Refuse || !strings.Contains(p.Refusal, "one line") {
			t.Errorf("reason %q: %s", reason, p.Action)
		}
	}
}

func TestPatchWindowFollowsVelerosHelper(t *testing.T) {
	for timeout, want := range map[string]time.Duration{"": 5 * time.Minute, "5s": 5 * time.Minute, "10m": 5 * time.Minute, "1h": 5 * time.Minute, "nonsense": 5 * time.Minute} {
		e := evidence(t, job.Backup, "InProgress", resourceTimeoutOf(timeout))
		if got := patchWindow(e.Job.Object); got != want {
			t.Errorf("resource timeout %q: %s, want %s", timeout, got, want)
		}
	}
	e := evidence(t, job.Backup, "InProgress", resourceTimeoutOf("2h"))
	if got := patchWindow(e.Job.Object); got < 976*time.Second || got > 1080*time.Second {
		t.Errorf("resource timeout 2h: %s, want the 976 s of its last attempt and jitter", got)
	}
}
