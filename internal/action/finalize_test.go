package action

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

type change = func(*Evidence)

// The table of docs/finalize.md, and what else may keep a plan from being made.
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
		{"new, live", r, "New", []change{alive}, "", "", "is running and will"},
		{"new, live, given up", r, "New", []change{alive}, "Failed", "Failed", ""},
		{"no phase, live, given up", r, "", []change{alive}, "Failed", "Failed", ""},
		{"new, down", r, "New", []change{down}, "", "", "when its server runs again"},
		{"new, down, given up", b, "New", []change{down}, "Failed", "Failed", ""},
		{"new, asked for more", b, "New", []change{down}, "PartiallyFailed", "", "would be wrong"},
		{"queued", b, "Queued", []change{alive}, "", "", "is running and will"},
		{"queued, given up", b, "Queued", []change{alive}, "Failed", "Failed", ""},
		{"ready to start is woken first", b, "ReadyToStart", []change{restarted}, "", "", "forgets such a backup"},
		{"ready to start, given up", b, "ReadyToStart", []change{restarted}, "Failed", "Failed", ""},

		{"ready to start, the server that queued it lives", b, "ReadyToStart", []change{alive}, "", "", "the server that queued it is running"},
		{"the same, given up", b, "ReadyToStart", []change{alive}, "Failed", "", "it would keep its slot"},
		{"ready to start, the server has just restarted", b, "ReadyToStart", []change{startedAgo(time.Minute)}, "Failed", "", "just restarted"},
		{"ready to start, no server", b, "ReadyToStart", []change{down}, "Failed", "Failed", ""},
		{"given up, but Velero wrote a moment ago", b, "Queued", []change{alive, wroteAgo(time.Minute)}, "Failed", "", "Velero wrote to it 1m ago"},

		// Signs of life, whatever the pods look like.
		{"down, but Velero wrote a moment ago", b, "InProgress", []change{down, wroteAgo(time.Second)}, "", "", "no pod was recognised as a Velero server, but something is working on it: Velero wrote to it 1s ago"},
		{"down, asked for Failed", r, "InProgress", []change{down, wroteAgo(4 * time.Minute)}, "Failed", "", "something is working on it"},
		{"down for five minutes", r, "InProgress", []change{down, wroteAgo(5 * time.Minute)}, "Failed", "Failed", ""},
		{"down, but a location was validated", b, "InProgress", []change{down, validatedAgo(time.Minute)}, "", "", "a storage location was validated or synced 1m ago"},
		{"down, a location validated in the future of our clock", b, "InProgress", []change{down, validatedAgo(-time.Minute)}, "", "", "validated or synced 0s ago"},
		{"a crash loop validates at each start", r, "Finalizing", []change{crashing, validatedAgo(3 * time.Minute), endedAgo(2 * time.Minute)}, "PartiallyFailed", "PartiallyFailed", ""},
		{"down, but a volume was written", b, "InProgress", []change{down, mover(velero.PodVolumeBackup, "pvb", "InProgress", time.Minute)}, "", "", "PodVolumeBackup pvb was written 1m ago"},
		{"down, but a volume ended a moment ago", r, "WaitingForPluginOperations", []change{down, mover(velero.DataDownload, "dd", "Completed", time.Minute)}, "PartiallyFailed", "", "DataDownload dd was written"},
		{"down, but a file was stored a moment ago", r, "InProgress", []change{down, stored, file("Results", job.Presence{State: job.Present, LastModified: now.Add(-time.Minute)})}, "", "", "RestoreResults was stored"},
		{"down, the server ended a moment ago", b, "InProgress", []change{down, endedAgo(time.Minute)}, "", "", "another may be starting"},
		{"down, locations hidden", b, "InProgress", []change{down, func(e *Evidence) { e.LocationsListed = Unknown }}, "", "", "writes to a storage location"},
		{"down, who wrote is not noted", b, "InProgress", []change{down, func(e *Evidence) { e.Object.SetManagedFields(nil); e.Now = began.Add(11 * time.Minute) }}, "", "", "something is working on it"},
		{"restarted, a recognised server explains the location", b, "InProgress", []change{restarted, notStored, validatedAgo(time.Second)}, "", "Failed", ""},
		{"restarted, but a volume of it moves", b, "InProgress", []change{restarted, mover(velero.DataUpload, "du", "InProgress", 10*time.Second)}, "Failed", "", "DataUpload du was written"},
		{"by the clocks the server may have been there before", b, "InProgress", []change{startedAfter(time.Minute)}, "", "", "clocks may differ"},
		{"the same, but its pod is younger", b, "InProgress", []change{startedAfter(time.Minute), notStored, podCreatedAfter(30 * time.Second)}, "", "Failed", ""},

		// What is stored is not enough.
		{"nothing was backed up", b, "InProgress", []change{alive, stored, nothingBackedUp}, "", "", "nothing was backed up"},
		{"nothing was backed up, asked for a nudge", b, "InProgress", []change{alive, stored, nothingBackedUp}, "Finalizing", "", "nothing was backed up"},
		{"nothing was backed up, then a restart", b, "InProgress", []change{restarted, stored, nothingBackedUp}, "", "Failed", ""},
		{"nothing was backed up, no server", b, "InProgress", []change{down, stored, nothingBackedUp}, "", "Failed", ""},
		{"whether anything was backed up is not known", b, "InProgress", []change{alive, stored, func(e *Evidence) { e.StoredCounts = &job.StoredCounts{} }}, "", "", "from its stored resource list whether anything was backed up"},
		{"a restore of nothing", r, "InProgress", []change{alive, stored, nothingBackedUp}, "", "Finalizing", ""},
		{"operations are not stored", b, "InProgress", []change{alive, stored, file("ItemOperations", job.Presence{State: job.Absent})}, "", "", "its operations are unknown"},
		{"the same, then a restart", b, "InProgress", []change{restarted, stored, file("ItemOperations", job.Presence{State: job.Absent})}, "", "", "it may be complete"},
		{"a restore's operations are not stored", r, "InProgress", []change{alive, stored, file("ItemOperations", job.Presence{State: job.Absent})}, "", "", "its operations are unknown"},
		{"native snapshots are not stored", b, "InProgress", []change{alive, stored, file("VolumeSnapshots", job.Presence{State: job.Absent})}, "", "", "BackupVolumeSnapshots is not stored"},
		{"uploads without operations", b, "InProgress", []change{alive, stored, volume(velero.DataUpload, "Completed")}, "", "", "1 volume that a data mover moves, but its stored list of operations has only 0"},
		{"the same, then a restart", b, "InProgress", []change{restarted, stored, volume(velero.DataUpload, "Completed")}, "", "", "it may be complete"},
		{"volumes hidden, then a restart", b, "InProgress", []change{restarted, stored, func(e *Evidence) { e.VolumesListed = Unknown }}, "", "", "cannot tell which volumes it has"},

		// Where the location stands.
		{"read-only location", b, "InProgress", []change{alive, stored, readOnly}, "", "", "s3 is read-only"},
		{"read-only location, then a restart", b, "InProgress", []change{restarted, stored, readOnly}, "", "", "it may be complete"},
		{"the same, given up", b, "InProgress", []change{restarted, stored, readOnly}, "Failed", "Failed", ""},
		{"a restore from a read-only location", r, "InProgress", []change{alive, stored, readOnly}, "", "Finalizing", ""},
		{"location not known", b, "InProgress", []change{alive, stored, func(e *Evidence) { e.Location = nil }}, "", "", "cannot tell the state of its storage location"},
		{"location not validated yet", b, "InProgress", []change{alive, stored, func(e *Evidence) { e.Location = &diagnosis.LocationStatus{Name: "s3"} }}, "", "", "not validated yet"},
		{"access mode not given", b, "InProgress", []change{alive, stored, func(e *Evidence) { e.Location = &diagnosis.LocationStatus{Name: "s3", Phase: "Available"} }}, "", "Finalizing", ""},
		{"the server is blind", b, "InProgress", []change{alive, stored, malformedSpec}, "", "", "cannot read backup/tenant-x"},
		{"the server is blind while it finalizes", b, "Finalizing", []change{alive, malformedSpec}, "", "", "cannot read backup/tenant-x"},

		// InProgress, nobody works on it, nothing stored.
		{"orphaned", r, "InProgress", []change{restarted, notStored}, "", "Failed", ""},
		{"orphaned, nobody looked at what is stored", r, "InProgress", []change{restarted}, "", "", "it may be complete"},
		{"orphaned, asked for", b, "InProgress", []change{restarted}, "Failed", "Failed", ""},
		{"orphaned, no proof for more", b, "InProgress", []change{restarted}, "PartiallyFailed", "", "requires proof"},
		{"orphaned, no proof for a nudge", b, "InProgress", []change{restarted}, "Finalizing", "", "has not checked"},
		{"orphaned, not stored", r, "InProgress", []change{restarted, stored, file("ResourceList", job.Presence{State: job.Absent})}, "", "Failed", ""},
		{"orphaned, of an older one", r, "InProgress", []change{restarted, stored, file("Results", job.Presence{State: job.Present, LastModified: began})}, "", "Failed", ""},
		{"orphaned, the store did not answer", r, "InProgress", []change{restarted, stored, file("ResourceList", job.Presence{Unchecked: "no answer"})}, "", "", "it may be complete: cannot tell whether RestoreResourceList is stored: no answer"},
		{"the same, given up", r, "InProgress", []change{restarted, stored, file("ResourceList", job.Presence{Unchecked: "no answer"})}, "Failed", "Failed", ""},
		{"orphaned, undated", b, "InProgress", []change{restarted, stored, file("Results", job.Presence{State: job.Present})}, "", "", "it may be complete"},
		{"orphaned, results unreadable", b, "InProgress", []change{restarted, stored, func(e *Evidence) { e.StoredCounts = nil }}, "", "", "it may be complete"},
		{"orphaned, location gone", b, "InProgress", []change{restarted, stored, func(e *Evidence) { e.Location = &diagnosis.LocationStatus{Name: "s3", Phase: "Unavailable"} }}, "", "", "it may be complete"},
		{"just restarted", r, "InProgress", []change{func(e *Evidence) {
			e.Server = serverOf(velero.ServerPod{Name: "v", StartedAt: now.Add(-time.Minute)})
		}}, "", "", "just restarted"},
		{"restarted, yet Velero wrote after", r, "InProgress", []change{restarted, func(e *Evidence) { e.LastVeleroWrite = now.Add(-10 * time.Minute) }}, "", "", "has not checked"},
		{"roll-out: the old server still runs", r, "InProgress", []change{func(e *Evidence) {
			e.Server = serverOf(velero.ServerPod{Name: "old", StartedAt: began.Add(-time.Hour)}, velero.ServerPod{Name: "new", StartedAt: now.Add(-20 * time.Minute)})
		}}, "Failed", "", "may still work on it"},
		{"down", b, "InProgress", []change{down}, "", "Failed", ""},

		// InProgress on a live server, nothing stored.
		{"alive, not looked at", b, "InProgress", []change{alive}, "", "", "has not checked"},
		{"alive, not stored", b, "InProgress", []change{alive, stored, file("ResourceList", job.Presence{State: job.Absent})}, "", "", "BackupResourceList is not stored"},
		{"alive, unknown", r, "InProgress", []change{alive, stored, file("VolumeInfo", job.Presence{Unchecked: "403"})}, "", "", "RestoreVolumeInfo is stored: 403"},
		{"alive, undated", r, "InProgress", []change{alive, stored, file("Results", job.Presence{State: job.Present})}, "", "", "its age is unknown"},
		{"alive, of an older one", r, "InProgress", []change{alive, stored, file("Results", job.Presence{State: job.Present, LastModified: began})}, "", "", "older than this restore"},
		{"alive, asked for Failed", b, "InProgress", []change{alive}, "Failed", "", "may still work on it"},
		{"alive, volume moves", b, "InProgress", []change{alive, stored, volume(velero.PodVolumeBackup, "InProgress")}, "", "", "1 volume has not ended"},
		{"alive, volumes hidden", b, "InProgress", []change{alive, stored, func(e *Evidence) { e.VolumesListed = Unknown; e.VolumesUnchecked = "forbidden" }}, "", "", "forbidden"},
		{"alive, changed lately", b, "InProgress", []change{alive, stored, lookedAt(14 * time.Minute)}, "", "", "last changed 4m ago"},
		{"alive, stored lately", b, "InProgress", []change{alive, stored, file("Results", job.Presence{State: job.Present, LastModified: now.Add(-time.Minute)})}, "", "", "last changed 1m ago"},
		{"alive, still retrying for long", b, "InProgress", []change{alive, stored, resourceTimeoutOf("2h"), lookedAt(20 * time.Minute)}, "", "", "last changed 10m ago"},

		// InProgress on a live server, all stored: nudge.
		{"lost patch of a backup", b, "InProgress", []change{alive, stored}, "", "Finalizing", ""},
		{"lost patch of a restore", r, "InProgress", []change{alive, stored}, "", "Finalizing", ""},
		{"with errors", r, "InProgress", []change{alive, stored, errs}, "", "FinalizingPartiallyFailed", ""},
		{"with open operations", b, "InProgress", []change{alive, stored, openOps}, "", "WaitingForPluginOperations", ""},
		{"with failed operations", b, "InProgress", []change{alive, stored, badOps}, "", "WaitingForPluginOperationsPartiallyFailed", ""},
		{"data movers go on in Waiting", b, "InProgress", []change{alive, stored, openOps, volume(velero.DataUpload, "InProgress")}, "", "WaitingForPluginOperations", ""},
		{"lost patch, then a restart", b, "InProgress", []change{restarted, stored}, "", "Finalizing", ""},
		{"the same, given up", b, "InProgress", []change{restarted, stored}, "Failed", "Failed", ""},
		{"lost patch, Failed would lie", b, "InProgress", []change{alive, stored}, "Failed", "", "finish it from Finalizing"},
		{"lost patch, wrong nudge", b, "InProgress", []change{alive, stored, errs}, "Finalizing", "", "FinalizingPartiallyFailed"},
		{"results unreadable", b, "InProgress", []change{alive, stored, func(e *Evidence) { e.StoredCounts = nil; e.CountsUnchecked = "broken gzip" }}, "", "", "broken gzip"},
		{"location gone", b, "InProgress", []change{alive, stored, func(e *Evidence) { e.Location = &diagnosis.LocationStatus{Name: "s3", Phase: "Unavailable"} }}, "", "", "s3 is unavailable"},

		// InProgress, dead for good, all stored.
		{"down, stored", b, "InProgress", []change{down, stored}, "", "PartiallyFailed", ""},
		{"down, stored, restore", r, "InProgress", []change{down, stored}, "PartiallyFailed", "PartiallyFailed", ""},
		{"down, stored, data mover", b, "InProgress", []change{down, stored, volume(velero.DataUpload, "Completed")}, "", "Failed", ""},
		{"down, data mover, asked for more", b, "InProgress", []change{down, stored, volume(velero.DataUpload, "Completed")}, "PartiallyFailed", "", "data mover"},
		{"down, volumes hidden count as data mover", b, "InProgress", []change{down, stored, func(e *Evidence) { e.VolumesListed = Unknown }}, "", "", "its volumes move"},
		{"down, no proof for more", b, "InProgress", []change{down}, "PartiallyFailed", "", "requires proof"},
		{"down, nudge", b, "InProgress", []change{down, stored}, "Finalizing", "", "could continue from Finalizing"},

		// Waiting*.
		{"waiting, alive", b, "WaitingForPluginOperations", []change{alive}, "Failed", "", "ends it when its operations end"},
		{"waiting, restarted", r, "WaitingForPluginOperations", []change{restarted}, "Failed", "", "ends it when its operations end"},
		{"waiting, down", b, "WaitingForPluginOperations", []change{down}, "", "", "continues with it by itself"},
		{"waiting, down for good", b, "WaitingForPluginOperations", []change{down}, "PartiallyFailed", "PartiallyFailed", ""},
		{"waiting, down for good, data mover", b, "WaitingForPluginOperations", []change{down, volume(velero.DataUpload, "InProgress")}, "PartiallyFailed", "", "would be wrong"},
		{"the same as Failed", b, "WaitingForPluginOperations", []change{down, volume(velero.DataUpload, "InProgress")}, "Failed", "Failed", ""},
		{"restore waiting, down, download moves", r, "WaitingForPluginOperationsPartiallyFailed", []change{down, volume(velero.DataDownload, "InProgress")}, "PartiallyFailed", "", "data download has not ended"},
		{"restore waiting, down, cancelled", r, "WaitingForPluginOperationsPartiallyFailed", []change{down, volume(velero.DataDownload, "Canceled")}, "PartiallyFailed", "PartiallyFailed", ""},

		// Finalizing*.
		{"finalizing, alive", r, "Finalizing", []change{alive}, "PartiallyFailed", "", "would overwrite"},
		{"backup finalizing, restarted", b, "FinalizingPartiallyFailed", []change{restarted}, "Failed", "", "would overwrite"},
		{"finalizing, down", r, "Finalizing", []change{down}, "", "", "continues with it by itself"},
		{"finalizing, down for good", r, "Finalizing", []change{down}, "PartiallyFailed", "PartiallyFailed", ""},
		{"backup finalizing, down, data mover", b, "FinalizingPartiallyFailed", []change{down, volume(velero.DataUpload, "Completed")}, "PartiallyFailed", "", "would be wrong"},
		{"backup finalizing, down, files gone", b, "Finalizing", []change{down, stored, file("Results", job.Presence{State: job.Absent})}, "PartiallyFailed", "", "would be wrong"},

		// No matter of the phase.
		{"deleting", b, "Deleting", []change{alive}, "Failed", "", "has begun to delete it"},
		{"completed", b, "Completed", []change{down}, "Failed", "", "has ended"},
		{"failed", r, "Failed", []change{down}, "Finalizing", "", "has ended"},
		{"failed validation", r, "FailedValidation", []change{down}, "", "", "has ended"},
		{"partly failed", b, "PartiallyFailed", []change{down}, "", "", "has ended"},
		{"phase of the future", b, "Polishing", []change{down}, "Failed", "", `does not know phase "Polishing"`},

		// Never offered.
		{"completed backup", b, "InProgress", []change{down, stored}, "Completed", "", "veltui never writes Completed on a backup"},
		{"completed restore", r, "Finalizing", []change{down, stored}, "Completed", "", "veltui never writes Completed on a restore"},
		{"failed validation asked for", b, "New", []change{down}, "FailedValidation", "", "spec is invalid"},
		{"back to new", r, "InProgress", []change{down}, "New", "", "finalize cannot write phase"},
		{"nonsense", r, "InProgress", []change{down}, "failed", "", "finalize cannot write phase"},

		// What keeps any plan from being made.
		{"pods hidden", r, "InProgress", []change{func(e *Evidence) { e.Server, e.PodsUnchecked = velero.Server{}, "pods is forbidden" }}, "Failed", "", "pods is forbidden"},
		{"server of unknown age", r, "InProgress", []change{func(e *Evidence) {
			e.Server = serverOf(velero.ServerPod{Name: "v"})
		}}, "", "", "its start time is unknown"},
		{"no right", r, "InProgress", []change{restarted, func(e *Evidence) { e.MayPatch = No }}, "", "", "you may not patch restores.velero.io"},
		{"right unknown", r, "InProgress", []change{restarted, func(e *Evidence) { e.MayPatch = Unknown }}, "", "", "whether you may patch"},
		{"status subresource", r, "InProgress", []change{restarted, notStored, func(e *Evidence) { e.HasStatusSubresource = true }}, "", "", "status subresource"},
		{"old CRD", b, "InProgress", []change{alive, stored, func(e *Evidence) { e.AllowedPhases = []string{"InProgress", "Completed", "Failed"} }}, "", "", "does not allow phase Finalizing"},
		{"CRD unknown", b, "InProgress", []change{restarted, notStored, func(e *Evidence) { e.PhasesUnchecked = "forbidden" }}, "", "Failed", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := draft(evidence(t, c.kind, c.phase, c.changes...), Request{Phase: c.ask})
			checkPlan(t, &p)
			if p.ToPhase != c.want || !strings.Contains(p.Refusal, c.refusal) {
				t.Errorf("%s -> %q, refusal %q; want %q, %q", c.phase, p.ToPhase, p.Refusal, c.want, c.refusal)
			}
		})
	}
}

// checkPlan holds for every plan, whatever its evidence.
func checkPlan(t *testing.T, p *Plan) {
	t.Helper()
	switch {
	case (p.Effect() == EffectRefuse) != (p.Refusal != "") || (p.Effect() == EffectRefuse) != (p.ToPhase == ""):
		t.Errorf("action %s, to %q, refusal %q", p.Action, p.ToPhase, p.Refusal)
	case p.ToPhase == "Completed" || p.ToPhase == "FailedValidation":
		t.Errorf("writes %s", p.ToPhase)
	case (p.Effect() == EffectEnd) != velero.IsTerminalPhase(p.ToPhase) && p.Effect() != EffectRefuse:
		t.Errorf("action %s to %s", p.Action, p.ToPhase)
	case p.Effect() != EffectRefuse && (len(p.Will) == 0 || len(p.WillNot) == 0 || len(p.Commands) == 0 || p.Reason == ""):
		t.Errorf("a plan without words: %+v", p)
	case p.Effect() == EffectRefuse && (len(p.Will) > 0 || len(p.Commands) != 0):
		t.Errorf("a refusal with a plan: %+v", p)
	case len(p.Facts()) == 0:
		t.Error("no facts")
	}
	if p.ToPhase == "" {
		return
	}
	// A confirmed plan is still the same one when it is applied.
	later := p.evidence
	later.Now = later.Now.Add(61 * time.Second)
	if q, _ := PlanFor(p.Action, later, p.request); q.ToPhase == p.ToPhase && !q.IsEquivalent(p) {
		t.Errorf("a minute later it is another plan: %q, then %q", p.Reason, q.Reason)
	}
}

func resourceTimeoutOf(d string) change {
	return func(e *Evidence) {
		e.Job.Object.SetAnnotations(map[string]string{veleroapi.ResourceTimeoutAnnotation: d})
	}
}

// Whatever the combination, the rules hold that protect data.
func TestDraftNeverBreaksTheRules(t *testing.T) {
	phases := append(
		[]string{"", "New", "Queued", "ReadyToStart", "InProgress", "Deleting", "Completed", "FailedValidation", "Odd"},
		phaseOrder...)
	servers := []change{alive, restarted, down, func(*Evidence) {}}
	storage := []change{func(*Evidence) {}, stored, func(e *Evidence) { stored(e); e.Artifacts[0].State = job.Absent }}
	volumes := []change{
		func(*Evidence) {},
		volume(velero.DataUpload, "InProgress"),
		volume(velero.DataDownload, "Completed"),
		volume(velero.PodVolumeBackup, "InProgress"),
	}
	plans := 0
	for _, kind := range []job.Kind{job.Backup, job.Restore} {
		for _, phase := range phases {
			for _, ask := range append([]string{""}, phases...) {
				for si, server := range servers {
					for sj, store := range storage {
						for _, volumes := range volumes {
							e := evidence(t, kind, phase, server, store, volumes)
							p := draft(e, Request{Phase: ask})
							checkPlan(t, &p)
							if p.Effect() == EffectRefuse {
								continue
							}
							plans++
							switch {
							case si == 3:
								t.Errorf("%s %q with an unknown server: %s", kind, phase, p.ToPhase)
							case velero.IsTerminalPhase(phase) || phase == "Deleting" || phase == "Odd":
								t.Errorf("%s %q: %s", kind, phase, p.ToPhase)
							case p.Effect() == EffectNudge && (sj != 1 || si == 2 || phase != "InProgress"):
								t.Errorf("%s %q nudged to %s without proof or server", kind, phase, p.ToPhase)
							case p.Effect() == EffectEnd && si == 0 && !slices.Contains(phases[:4], phase):
								t.Errorf("%s %q ended as %s under a live server", kind, phase, p.ToPhase)
							case ask != "" && p.ToPhase != ask:
								t.Errorf("asked for %s, got %s", ask, p.ToPhase)
							case p.ToPhase == "PartiallyFailed" && kind == job.Backup && e.mayHaveDataMover():
								t.Errorf("%s %q: %s with a data mover", kind, phase, p.ToPhase)
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
		p := draft(evidence(t, job.Restore, "InProgress", restarted), Request{Reason: reason})
		if p.Effect() != EffectRefuse || !strings.Contains(p.Refusal, "one line") {
			t.Errorf("reason %q: %s", reason, p.Action)
		}
	}
}

func TestPatchWindowFollowsVelerosHelper(t *testing.T) {
	for timeout, want := range map[string]time.Duration{"": 5 * time.Minute, "5s": 5 * time.Minute, "10m": 5 * time.Minute, "1h": 5 * time.Minute, "nonsense": 5 * time.Minute} {
		e := evidence(t, job.Backup, "InProgress", resourceTimeoutOf(timeout))
		if got := statusPatchWindow(&e); got != want {
			t.Errorf("resource timeout %q: %s, want %s", timeout, got, want)
		}
	}
	e := evidence(t, job.Backup, "InProgress", resourceTimeoutOf("2h"))
	if got := statusPatchWindow(&e); got < 976*time.Second || got > 1080*time.Second {
		t.Errorf("resource timeout 2h: %s, want the 976 s of its last attempt and jitter", got)
	}
}

func startedAgo(ago time.Duration) change {
	return func(e *Evidence) {
		e.Server = serverOf(velero.ServerPod{Name: "v", StartedAt: now.Add(-ago)})
	}
}

// startedAfter is a server that started that long after the job, by its node's
// clock.
func startedAfter(d time.Duration) change {
	return func(e *Evidence) {
		lastWrittenAt(e, began)
		e.Server = serverOf(velero.ServerPod{Name: "v", StartedAt: began.Add(d)})
	}
}

func podCreatedAfter(d time.Duration) change {
	return func(e *Evidence) { e.Server.Pods[0].Created = began.Add(d) }
}

func wroteAgo(ago time.Duration) change {
	return func(e *Evidence) { e.LastVeleroWrite = now.Add(-ago) }
}
func validatedAgo(ago time.Duration) change {
	return func(e *Evidence) { e.LastLocationWrite = now.Add(-ago) }
}

func endedAgo(ago time.Duration) change {
	return func(e *Evidence) { e.Server.LastTerminationReason, e.Server.LastStopped = "Error", now.Add(-ago) }
}

func crashing(e *Evidence) {
	e.Server = velero.NewServer([]velero.ServerPod{{Name: "velero-1", WaitingReason: "CrashLoopBackOff", Restarts: 26}}, e.Now)
}

// A DownloadRequest for the list of operations makes Velero store it again, so a
// fresh one may be veltui's own doing.
func TestListOfOperationsIsNoSignOfLife(t *testing.T) {
	fresh := job.Presence{State: job.Present, LastModified: now.Add(-time.Second)}
	for target, want := range map[string]bool{"ItemOperations": false, "ResourceList": true} {
		for _, kind := range []job.Kind{job.Backup, job.Restore} {
			e := evidence(t, kind, "WaitingForPluginOperations", restarted, stored, file(target, fresh))
			if s, alive := e.newestLifeSign(); alive != want {
				t.Errorf("%s%s stored a second ago: %+v, a sign of life %v, want %v", kind, target, s, alive, want)
			}
			if got := e.findJobOwner() == ownerAlive; got != want {
				t.Errorf("%s%s stored a second ago: worked on by the server %v, want %v", kind, target, got, want)
			}
		}
	}
}
