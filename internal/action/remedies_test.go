package action

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/decode"
)

// mover is a volume that last changed that long before now, with its resource.
func mover(kind velero.VolumeKind, name, phase string, silent time.Duration) change {
	return func(e *Evidence) {
		j := *e.Job
		j.Volumes = append(
			slices.Clone(j.Volumes),
			job.Volume{Kind: kind, Name: name, UID: types.UID("uid-" + name), Phase: phase,
				Target: "shop/" + name, Created: began, LastChanged: now.Add(-silent)},
		)
		e.Job = &j
		if v := j.Volumes[len(j.Volumes)-1]; !v.HasEnded() {
			e.AllOpenVolumes = append(e.AllOpenVolumes, v)
		}
		o := newObject(kind.GroupVersionKind(), "velero", name)
		o.SetUID(types.UID("uid-" + name))
		o.SetResourceVersion("9")
		if e.volumeObjects == nil {
			e.volumeObjects, e.MayCancel = map[velero.VolumeRef]*unstructured.Unstructured{}, map[velero.VolumeKind]TriState{}
		}
		e.volumeObjects[velero.VolumeRef{Kind: kind, Name: name}] = o
		e.MayCancel[kind] = Yes
	}
}

func asked(name string) change {
	return func(e *Evidence) {
		for i := range e.Job.Volumes {
			if e.Job.Volumes[i].Name == name {
				e.Job.Volumes[i].CancelRequested = true
			}
		}
	}
}

func agents(nodes ...string) change {
	return func(e *Evidence) {
		e.Agents = nil
		for _, n := range nodes {
			e.Agents = append(e.Agents, velero.NodeAgent{Node: n, Ready: true, StartedAt: began.Add(-time.Hour)})
		}
	}
}

func veleroVersion(tag string) change { return func(e *Evidence) { e.Server.Version = tag } }
func others(o ...OtherJob) change     { return func(e *Evidence) { e.OtherJobs = o } }
func hidden(e *Evidence)              { e.Server, e.PodsUnchecked = velero.Server{}, "pods is forbidden" }

func malformedSpec(e *Evidence) {
	e.MalformedJobs = []diagnosis.MalformedResource{
		{
			Ref: "backup/tenant-x",
			Field: decode.MalformedField{
				Field: "spec.ttl",
				Value: `"30d"`,
				Error: `time: unknown unit "d" in duration "30d"`,
			},
		},
	}
}

func hook(h velero.RestoreHook) change {
	return func(e *Evidence) {
		h.Pod, h.Created = "web/cms-0", began
		e.RestoreHooks = append(e.RestoreHooks, h)
	}
}

func nothingBackedUp(e *Evidence) { e.StoredCounts = &job.StoredCounts{ItemsKnown: true} }
func readOnly(e *Evidence) {
	e.Location = &diagnosis.LocationStatus{Name: "s3", Phase: "Available", AccessMode: "ReadOnly"}
}

func olderFiles(e *Evidence) {
	for i := range e.Artifacts {
		e.Artifacts[i].LastModified = began.Add(-24 * time.Hour)
	}
}

func itemsKnown(e *Evidence) {
	j := *e.Job
	j.Items = job.Items{Known: true, Done: 3, Total: 9}
	e.Job = &j
}

// pod is the pod that moves an upload.
func pod(name string, phase velero.MoverPhase) change {
	return func(e *Evidence) {
		e.MoverPods = map[velero.VolumeRef]velero.Mover{{Kind: velero.DataUpload, Name: name}: {Phase: phase}}
	}
}

// node puts all volumes of the job on a node.
func node(name string) change {
	return func(e *Evidence) {
		for i := range e.Job.Volumes {
			e.Job.Volumes[i].Node, e.Job.Volumes[i].Started = name, began
		}
		for i := range e.AllOpenVolumes {
			e.AllOpenVolumes[i].Node = name
		}
	}
}

func prepares(limit time.Duration) change {
	return func(e *Evidence) { e.Agents[0].Flags.PrepareTimeout = limit }
}

// elsewhere is a volume of another job.
func elsewhere(kind velero.VolumeKind, phase string) change {
	return func(e *Evidence) {
		e.AllOpenVolumes = append(
			e.AllOpenVolumes,
			job.Volume{Kind: kind, Name: "of-another-job", Phase: phase, Node: "n1", LastChanged: now},
		)
	}
}

func thirdParty(e *Evidence) {
	for i := range e.Job.Volumes {
		e.Job.Volumes[i].DataMover = "storvault"
	}
}

// byHand is a phase that a person wrote, and when Velero wrote last.
func byHand(set, velero time.Time) change {
	return func(e *Evidence) {
		at, wrote := metav1.NewTime(set), metav1.NewTime(velero)
		e.LastVeleroWrite = velero
		e.Object.SetManagedFields([]metav1.ManagedFieldsEntry{
			{Manager: "veltui", Time: &at, FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:phase":{}}}`)},
			{Manager: "velero-server", Time: &wrote, FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:progress":{}}}`)}})
	}
}

// Each row is a state of the world and the remedies for it: the action, with a
// ! before it if veltui only advises it.
func TestRemedies(t *testing.T) {
	const b, r = job.Backup, job.Restore
	const hour = time.Hour
	const waits = "WaitingForPluginOperations"
	du := func(silent time.Duration) change { return mover(velero.DataUpload, "du", "InProgress", silent) }
	v1183 := veleroVersion("v1.18.3")
	for _, c := range []struct {
		name    string
		kind    job.Kind
		phase   string
		changes []change
		want    string
		says    string // a part of why, or of the refusal
	}{
		{"ready to start, forgotten by a restart", b, "ReadyToStart", []change{restarted}, "wake", "ReadyToStart for 50m"},
		{"ready to start, the server that queued it", b, "ReadyToStart", []change{alive}, "wake !restart", "holds a slot of the queue"},
		{"ready to start a moment ago", b, "ReadyToStart", []change{alive, lookedAt(11 * time.Minute)}, "", ""},
		{"ready to start, no server", b, "ReadyToStart", []change{down}, "", ""},
		{"ready to start, pods hidden", b, "ReadyToStart", []change{hidden}, "wake", ""},
		{"ready to start, no right", b, "ReadyToStart", []change{restarted, func(e *Evidence) { e.MayPatch = No }}, "!wake", "you may not patch backups.velero.io"},
		{"ready to start, being deleted", b, "ReadyToStart", []change{alive, deleting}, "", ""},
		{"ready to start, the server is blind", b, "ReadyToStart", []change{alive, malformedSpec}, "", ""},
		{"no restore is ever ready to start", r, "ReadyToStart", []change{restarted}, "", ""},

		{"backup finalizing for long", b, "Finalizing", []change{alive}, "wake", "Finalizing for 50m"},
		{"backup finalizing with operations", b, "Finalizing", []change{alive, lookedAt(30 * time.Minute), volume(velero.DataUpload, "Completed")}, "", ""},
		{"backup finalizing for very long", b, "Finalizing", []change{alive, lookedAt(2 * time.Hour)}, "wake !restart", "a patch that always fails"},
		{"the same behind another one", b, "Finalizing", []change{alive, lookedAt(2 * time.Hour), others(OtherJob{Kind: b, Name: "x2", Phase: "Finalizing"})}, "wake", ""},
		{"the same, the server is blind", b, "Finalizing", []change{alive, lookedAt(2 * time.Hour), malformedSpec}, "", ""},
		{"the same, a status subresource", b, "Finalizing", []change{alive, lookedAt(2 * time.Hour), func(e *Evidence) { e.HasStatusSubresource = true }}, "wake", ""},
		{"the same, the CRD is too old", b, "Finalizing", []change{alive, lookedAt(2 * time.Hour), func(e *Evidence) { e.AllowedPhases = []string{"Finalizing", "Failed"} }}, "wake", ""},
		{"finalizing lately", r, "FinalizingPartiallyFailed", []change{alive, lookedAt(14 * time.Minute)}, "", ""},
		{"restore finalizing for long: it waits for claims or hooks", r, "FinalizingPartiallyFailed", []change{alive}, "", ""},
		{"restore finalizing, its hook cannot run, 1.18.1", r, "Finalizing", []change{alive, veleroVersion("v1.18.1"), hook(velero.RestoreHook{State: velero.HookNeverRuns, BlockedReason: "ImagePullBackOff"})}, "!restart", "whose container cannot start: ImagePullBackOff"},
		{"the same, bounded since 1.18.3", r, "Finalizing", []change{alive, veleroVersion("v1.18.3"), hook(velero.RestoreHook{State: velero.HookNeverRuns, BlockedReason: "ImagePullBackOff"})}, "", ""},
		{"the same, a version nobody knows", r, "Finalizing", []change{alive, veleroVersion("main"), hook(velero.RestoreHook{State: velero.HookNeverRuns, BlockedReason: "ImagePullBackOff"})}, "", ""},
		{"the same, it gives up on the pod", r, "Finalizing", []change{alive, veleroVersion("v1.18.1"), hook(velero.RestoreHook{State: velero.HookNeverRuns, BlockedReason: "ImagePullBackOff", Timeout: time.Minute})}, "", ""},
		{"restore finalizing, its hook runs", r, "Finalizing", []change{alive, veleroVersion("v1.18.1"), hook(velero.RestoreHook{State: velero.HookRunning})}, "", ""},
		{"finalizing, no server", r, "Finalizing", []change{down}, "", ""},

		{"quiet on a live server, nothing stored", r, "InProgress", []change{alive}, "", ""},
		{"complete: finalize it", r, "InProgress", []change{alive, stored}, "", ""},
		{"stored, but nothing was backed up", b, "InProgress", []change{alive, stored, nothingBackedUp}, "!restart", "its results are stored"},
		{"stored, but no operations", b, "InProgress", []change{alive, stored, file("ItemOperations", job.Presence{State: job.Absent})}, "!restart", ""},
		{"the same, and uploads still move", b, "InProgress", []change{alive, stored, file("ItemOperations", job.Presence{State: job.Absent}), mover(velero.DataUpload, "du", "InProgress", 0)}, "", ""},
		{"the same, the location is read-only", b, "InProgress", []change{alive, stored, nothingBackedUp, readOnly}, "", ""},
		{"the same, the location is not known", b, "InProgress", []change{alive, stored, nothingBackedUp, func(e *Evidence) { e.Location = nil }}, "", ""},
		{"the same, the CRD is too old", b, "InProgress", []change{alive, stored, nothingBackedUp, func(e *Evidence) { e.AllowedPhases = []string{"InProgress", "Failed"} }}, "", ""},
		{"stored a moment ago", b, "InProgress", []change{alive, stored, nothingBackedUp, lookedAt(12 * time.Minute)}, "", ""},
		{"its name is taken", b, "InProgress", []change{alive, stored, olderFiles}, "!restart", "its name is taken in the object store"},
		{"its name is taken, but it goes on", b, "InProgress", []change{alive, stored, olderFiles, itemsKnown}, "", ""},
		{"complete, operations open", b, "InProgress", []change{alive, stored, counts(job.StoredCounts{Operations: job.Operations{Attempted: 2}})}, "", ""},
		{"still moving", r, "InProgress", []change{alive, lookedAt(14 * time.Minute)}, "", ""},
		{"orphaned: finalize it", b, "InProgress", []change{restarted}, "", ""},
		{"no server", b, "InProgress", []change{down}, "", ""},
		{"pods hidden", b, "InProgress", []change{hidden}, "", ""},

		{"operations within their limit", b, "WaitingForPluginOperations", []change{alive, lookedAt(4*time.Hour + 20*time.Minute)}, "", ""},
		{"operations far past their limit", b, "WaitingForPluginOperations", []change{alive, lookedAt(5 * time.Hour)}, "!restart", "past their limit of 4h"},
		{"the same, a read-only location", b, "WaitingForPluginOperations", []change{alive, lookedAt(5 * time.Hour), readOnly}, "", ""},

		{"new, the worker hangs", r, "New", []change{alive}, "!restart", "4128"},
		{"new, another one is at work", r, "New", []change{alive, others(OtherJob{Kind: r, Name: "x2", Phase: "InProgress"})}, "", ""},
		{"new, one that a person ended is still at work", r, "New", []change{alive, others(OtherJob{Kind: r, Name: "x2", Phase: "Failed", IsRunning: true})}, "", ""},
		{"queued, another one starts", b, "Queued", []change{alive, others(OtherJob{Kind: b, Name: "x2", Phase: "ReadyToStart"})}, "", ""},
		{"queued, only others that wait", b, "Queued", []change{alive, others(OtherJob{Kind: b, Name: "x2", Phase: "Queued"}, OtherJob{Kind: b, Name: "x3", Phase: "Finalizing"})}, "!restart", ""},
		{"queued, others hidden", b, "Queued", []change{alive, func(e *Evidence) { e.OtherJobsUnchecked = "forbidden" }}, "", ""},

		{"an upload that nothing carries", b, waits, []change{alive, agents("n1"), v1183, du(hour)}, "cancel-volumes", "1 data upload: unchanged for 1h; no pod moves it any more"},
		{"its mover runs", b, waits, []change{alive, agents("n1"), v1183, du(hour), pod("du", velero.MoverRunning)}, "", ""},
		{"its mover has failed", b, waits, []change{alive, agents("n1"), v1183, du(hour), pod("du", velero.MoverFailed)}, "cancel-volumes", "has failed"},
		{"its mover has succeeded", b, waits, []change{alive, agents("n1"), v1183, du(hour), pod("du", velero.MoverSucceeded), node("n1")}, "!restart-node-agent", "the pods of 1 data upload have succeeded"},
		{"the same, its node-agent is away", b, waits, []change{alive, agents("n2"), v1183, du(hour), pod("du", velero.MoverSucceeded), node("n1")}, "", ""},
		{"an old Velero, its node-agent runs since before", b, waits, []change{alive, agents("n1"), veleroVersion("v1.14.1"), du(hour), node("n1")}, "", ""},
		{"an old Velero, its node-agent is away", b, waits, []change{alive, agents("n2"), veleroVersion("v1.14.1"), du(hour), node("n1")}, "cancel-volumes", "no node-agent runs on its node"},
		{"an upload moves", b, waits, []change{alive, agents("n1"), v1183, du(40 * time.Minute)}, "", ""},
		{"an upload that is not prepared", b, waits, []change{alive, agents("n1"), v1183, mover(velero.DataUpload, "du", "Accepted", 40*time.Minute)}, "cancel-volumes", "being prepared for 40m"},
		{"the same, the node-agents allow an hour", b, waits, []change{alive, agents("n1"), v1183, mover(velero.DataUpload, "du", "Accepted", 40*time.Minute), prepares(time.Hour)}, "", ""},
		{"an upload that is being prepared", b, waits, []change{alive, agents("n1"), v1183, mover(velero.DataUpload, "du", "Accepted", 30*time.Minute)}, "", ""},
		{"prepared, another backup's upload has the slot", b, waits, []change{alive, agents("n1"), v1183, mover(velero.DataUpload, "du", "Prepared", 2*hour), elsewhere(velero.DataUpload, "InProgress")}, "", ""},
		{"prepared, a restore's download has the slot", b, waits, []change{alive, agents("n1"), v1183, mover(velero.DataUpload, "du", "Prepared", 2*hour), node("n1"), elsewhere(velero.DataDownload, "InProgress")}, "", ""},
		{"prepared, the slot is free", b, waits, []change{alive, agents("n1"), v1183, mover(velero.DataUpload, "du", "Prepared", 2*hour), node("n1")}, "cancel-volumes", "its slot looks free"},
		{"new, others are being prepared", b, waits, []change{alive, agents("n1"), v1183, mover(velero.DataUpload, "du", "New", 2*hour), elsewhere(velero.PodVolumeBackup, "Prepared")}, "", ""},
		{"no phase, others are being prepared", b, waits, []change{alive, agents("n1"), v1183, mover(velero.DataUpload, "du", "", 2*hour), elsewhere(velero.PodVolumeBackup, "Accepted")}, "", ""},
		{"new, not all volumes are known", b, waits, []change{alive, agents("n1"), v1183, mover(velero.DataUpload, "du", "New", 2*hour), func(e *Evidence) { e.AllOpenVolumesListed = Unknown }}, "", ""},
		{"a pod volume without node-agent on its node", b, "InProgress", []change{alive, agents("n1"), v1183, mover(velero.PodVolumeBackup, "pvb", "New", 50*time.Minute), node("n3")}, "cancel-volumes", "no node-agent runs on its node n3"},
		{"asked already", b, waits, []change{alive, agents("n1"), v1183, du(hour), asked("du")}, "", ""},
		{"ended already", b, waits, []change{alive, agents("n1"), v1183, mover(velero.DataUpload, "du", "Failed", hour)}, "", ""},
		{"nobody to hear it", b, waits, []change{alive, v1183, du(hour)}, "!cancel-volumes", "no node-agent"},
		{"a third-party data mover is not judged", b, waits, []change{alive, v1183, du(2 * hour), thirdParty}, "", ""},
		{"pods hidden, an upload is silent", b, waits, []change{hidden, v1183, du(hour)}, "", ""},
		{"no right to cancel", b, waits, []change{alive, agents("n1"), v1183, du(hour), func(e *Evidence) { e.MayCancel[velero.DataUpload] = No }},
			"!cancel-volumes", "you may not patch datauploads"},
		{"no server, a download goes nowhere", r, waits, []change{down, agents("n1"), mover(velero.DataDownload, "dd", "New", hour)}, "cancel-volumes", ""},

		{"failed, but an upload goes on", b, "Failed", []change{restarted, agents("n1"), du(0)}, "cancel-volumes", "the backup has ended, but 1 of its volumes"},
		{"failed by hand, and Velero goes on", b, "Failed", []change{alive, agents("n1"), du(0), byHand(now.Add(-20*time.Minute), now.Add(-time.Minute))}, "", ""},
		{"failed by hand under a live server", b, "Failed", []change{alive, agents("n1"), du(0), byHand(now.Add(-20*time.Minute), now.Add(-30*time.Minute))}, "", ""},
		{"failed by hand, that server is gone", b, "Failed", []change{restarted, agents("n1"), du(0), byHand(now.Add(-20*time.Minute), now.Add(-55*time.Minute))}, "cancel-volumes", ""},
		{"failed", b, "Failed", []change{alive}, "", ""},

		{"pod volume backup, 1.18.3", b, "InProgress", []change{alive, agents("n1"), v1183, mover(velero.PodVolumeBackup, "pvb", "InProgress", hour)}, "cancel-volumes", ""},
		{"pod volume backup, 1.18.2", b, "InProgress", []change{alive, agents("n1"), veleroVersion("v1.18.2"), mover(velero.PodVolumeBackup, "pvb", "InProgress", hour)}, "!cancel-volumes", "Do not wait for Velero's timeout"},
		{"pod volume backup, 1.17.0", b, "InProgress", []change{alive, agents("n1"), veleroVersion("v1.17.0"), mover(velero.PodVolumeBackup, "pvb", "InProgress", hour)}, "!cancel-volumes", "v1.17.0 waits for hours"},
		{"pod volume restore, 1.17.0", r, "InProgress", []change{alive, agents("n1"), veleroVersion("v1.17.0"), mover(velero.PodVolumeRestore, "pvr", "InProgress", hour)}, "cancel-volumes", ""},
		{"pod volume backup, 1.16.2", b, "InProgress", []change{alive, agents("n2"), veleroVersion("v1.16.2"), mover(velero.PodVolumeBackup, "pvb", "InProgress", hour), node("n1")}, "!cancel-volumes", "cannot cancel"},
		{"pod volume restore whose pod has not started", r, "InProgress", []change{alive, agents("n1"), v1183, mover(velero.PodVolumeRestore, "pvr", "New", hour)}, "", ""},
		{"a pod volume whose node-agent was replaced just now", b, "InProgress", []change{alive, agents("n1"), v1183, mover(velero.PodVolumeBackup, "pvb", "New", hour), node("n3"),
			func(e *Evidence) { e.Agents = append(e.Agents, velero.NodeAgent{Node: "n3", Created: e.Now}) }}, "", ""},
		{"an upload that Velero cannot read hides all", b, waits, []change{alive, agents("n1"), v1183, du(hour),
			func(e *Evidence) {
				e.MalformedVolumes = []diagnosis.MalformedResource{{Ref: "dataupload/tenant", Field: decode.MalformedField{Field: "spec.operationTimeout"}}}
			}},
			"!cancel-volumes", "no node-agent would hear it: Velero cannot read dataupload/tenant"},
		{"pod volume, version unknown", r, "InProgress", []change{alive, agents("n2"), veleroVersion("main"), mover(velero.PodVolumeRestore, "pvr", "InProgress", hour), node("n1")}, "!cancel-volumes", "knows the server's version"},
		{"both kinds, 1.18.1", b, "InProgress", []change{alive, agents("n1"), veleroVersion("v1.18.1"), du(hour), mover(velero.PodVolumeBackup, "pvb", "InProgress", hour)}, "cancel-volumes", ""},

		{"completed", b, "Completed", []change{alive}, "", ""},
		{"deleting", b, "Deleting", []change{alive}, "", ""},
		{"of the future", b, "Polishing", []change{alive}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got, said []string
			for _, w := range remedies(evidence(t, c.kind, c.phase, c.changes...), Request{Context: "prod east"}) {
				checkRemedy(t, &w)
				mark := "!"
				if w.IsPossible() {
					mark = ""
				}
				got, said = append(got, mark+string(w.Action)), append(said, w.EvidenceText, w.Refusal, w.Advice)
			}
			if strings.Join(got, " ") != c.want || !strings.Contains(strings.Join(said, "\n"), c.says) {
				t.Errorf("%v, want %q, saying %q; said\n%s", got, c.want, c.says, strings.Join(said, "\n"))
			}
		})
	}
}

func deleting(e *Evidence) { j := *e.Job; j.Deleting = true; e.Job = &j }

// checkRemedy holds for every remedy, whatever its evidence.
func checkRemedy(t *testing.T, w *Plan) {
	t.Helper()
	switch {
	case w.Title == "" || w.EvidenceText == "":
		t.Errorf("a remedy without words: %+v", w)
	case w.IsPossible() == (w.Refusal != ""):
		t.Errorf("refusal %q, targets %d", w.Refusal, len(w.targets))
	case w.IsPossible() && (len(w.Will) == 0 || len(w.WillNot)+len(w.Afterwards) == 0 || len(w.Commands) != len(w.targets)):
		t.Errorf("says too little: %+v", w)
	case w.Action == Restart && (w.IsPossible() || len(w.Commands) == 0):
		t.Errorf("a restart that veltui would do, or without a command: %+v", w)
	case !w.IsEquivalent(w):
		t.Error("a remedy is not the same as itself")
	}
	for _, v := range w.Volumes {
		if podVolumeRisk(&w.evidence, v.Kind) != "" {
			t.Errorf("cancels pod volumes with server %q", w.evidence.Server.Version)
		}
	}
	for _, command := range w.Commands {
		if !strings.HasPrefix(command, "kubectl --context 'prod east' -n velero ") {
			t.Errorf("command %s", command)
		}
		if out, err := exec.Command("sh", "-n", "-c", command).CombinedOutput(); err != nil {
			t.Errorf("%s: %v, %s", command, err, out)
		}
	}
}

// One volume is cancelled under the same proof as all of them, and no other is ever a target.
func TestCancelNamedVolume(t *testing.T) {
	changes := []change{
		alive,
		agents("n1"),
		veleroVersion("v1.18.1"),
		mover(velero.DataUpload, "stalled", "InProgress", time.Hour),
		mover(
			velero.DataUpload,
			"also",
			"InProgress",
			time.Hour,
		),
		mover(velero.DataUpload, "moves", "InProgress", time.Minute),
		mover(
			velero.DataUpload,
			"ended",
			"Completed",
			time.Hour,
		),
		mover(velero.PodVolumeBackup, "pvb", "InProgress", time.Hour),
		mover(
			velero.DataUpload,
			"twice",
			"InProgress",
			time.Hour,
		),
		mover(velero.PodVolumeBackup, "twice", "InProgress", time.Hour),
		mover(velero.DataUpload, "asked", "InProgress", time.Hour),
		asked("asked"),
	}
	for name, want := range map[string]string{
		"stalled": "", "dataupload/stalled": "", "DataUpload/also": "", "DATAUPLOAD/twice": "",
		"moves": "moves is InProgress and last changed 1m ago: nothing proves that it alone has stalled",
		"ended": "ended has ended: it is Completed", "asked": "somebody has requested to cancel asked already",
		"pvb": "Velero v1.18.1 waits for hours", "twice": "twice is InProgress and last changed 1h ago: nothing proves that it alone",
		"datadownload/stalled": "the backup has no volume datadownload/stalled", "n\x1bone": "the backup has no volume n",
	} {
		e := evidence(t, job.Backup, "InProgress", changes...)
		w, ok := PlanFor(CancelVolumes, e, Request{Context: "prod east", Volume: name})
		if !ok || w.Refusal != want && (want == "" || !strings.HasPrefix(w.Refusal, want)) ||
			want != "" && w.Advice == "" ||
			strings.Contains(w.Refusal, "\x1b") {
			t.Errorf("%s: %v %q, %q", name, ok, w.Refusal, w.Advice)
		}
		checkRemedy(t, &w)
		if want == "" &&
			(len(w.targets) != 1 || !matchesVolumeName(&w.Volumes[0], name) || len(w.Volumes) != 1 || !strings.Contains(w.Title, w.Volumes[0].Name)) ||
			want != "" && len(w.targets) > 0 {
			t.Errorf("%s: %s: targets %v", name, w.Title, w.targets)
		}
	}
	e := evidence(
		t,
		job.Backup,
		"InProgress",
		append(changes, func(e *Evidence) { e.VolumesListed, e.VolumesUnchecked = Unknown, "forbidden" })...)
	if w, _ := PlanFor(
		CancelVolumes,
		e,
		Request{Volume: "gone"},
	); !strings.HasPrefix(
		w.Refusal,
		"cannot tell which volumes it has",
	) {
		t.Errorf("%q", w.Refusal)
	}
}

func TestCancelLeavesDangerousVolumesAlone(t *testing.T) {
	e := evidence(
		t,
		job.Backup,
		"InProgress",
		alive,
		agents("n1"),
		veleroVersion("v1.18.1"),
		mover(
			velero.DataUpload,
			"du-1",
			"InProgress",
			time.Hour,
		),
		mover(velero.DataUpload, "du-2", "InProgress", time.Minute),
		mover(velero.PodVolumeBackup, "pvb", "InProgress", time.Hour),
	)
	w := planOf(CancelVolumes, remedies(e, Request{}))
	if len(w.targets) != 1 || w.targets[0].GetName() != "du-1" || len(w.Commands) != 1 ||
		!strings.Contains(w.Commands[0], "patch datauploads.velero.io du-1") {
		t.Fatalf("targets %v, commands %v", w.targets, w.Commands)
	}
	if text := strings.Join(
		w.WillNot,
		"\n",
	); !strings.Contains(
		text,
		"cancel 1 pod volume backup: Velero v1.18.1 waits for hours",
	) {
		t.Errorf("does not say what it leaves alone:\n%s", text)
	}
}

// A restart costs what is in progress, and nothing else.
func TestRestartNamesWhatItFails(t *testing.T) {
	e := evidence(t, job.Backup, "InProgress", alive, stored, nothingBackedUp, others(
		OtherJob{
			Kind:  job.Backup,
			Name:  "night",
			Phase: "InProgress",
		},
		OtherJob{Kind: job.Backup, Name: "waits", Phase: "WaitingForPluginOperations"},
		OtherJob{Kind: job.Backup, Name: "q", Phase: "Queued"},
		OtherJob{Kind: job.Restore, Name: "n", Phase: "New"},
	), func(e *Evidence) { e.Server.Deployment = "velero" })
	w := planOf(Restart, remedies(e, Request{Context: "prod"}))
	if fmt.Sprint(w.FailingJobs) != "[backup/x backup/night]" ||
		fmt.Sprint(w.Commands) != "[kubectl --context prod -n velero rollout restart deployment/velero]" {
		t.Errorf("fails %v, commands %v", w.FailingJobs, w.Commands)
	}
	e.Server.Deployment, e.OtherJobsUnchecked = "", "backups is forbidden"
	w = planOf(Restart, remedies(e, Request{}))
	if fmt.Sprint(w.Commands) != "[kubectl -n velero delete pod velero-1]" ||
		!strings.Contains(w.Will[0], "cannot list them all") {
		t.Errorf("will %v, commands %v", w.Will, w.Commands)
	}
}

func TestRemediesNeedAReasonOfOneLine(t *testing.T) {
	e := evidence(t, job.Backup, "ReadyToStart", restarted)
	for reason, want := range map[string]bool{"INC-1": true, "": true, "a\nb": false, "\x1b[2J": false, strings.Repeat("x", 501): false, "\xff": false} {
		if w := planOf(Wake, remedies(e, Request{Reason: reason})); w.IsPossible() != want {
			t.Errorf("reason %q: refusal %q", reason, w.Refusal)
		}
	}
}

// Whatever the combination, a remedy that veltui applies leaves a job alone that may
// be at work.
func TestRemediesNeverTouchWhatMoves(t *testing.T) {
	phases := append(
		[]string{"", "New", "Queued", "ReadyToStart", "InProgress", "Deleting", "FailedValidation", "Odd"},
		phaseOrder...)
	servers := []change{alive, restarted, down, hidden}
	kinds := []velero.VolumeKind{
		velero.DataUpload,
		velero.DataDownload,
		velero.PodVolumeBackup,
		velero.PodVolumeRestore,
	}
	applied := 0
	for _, kind := range []job.Kind{job.Backup, job.Restore} {
		for _, phase := range phases {
			for _, server := range servers {
				for _, volume := range kinds {
					for _, volumePhase := range []string{"", "New", "Accepted", "Prepared", "InProgress", "Canceling", "Canceled", "Completed", "Failed", "Odd"} {
						for _, tag := range []string{"", "v1.16.0", "v1.17.2", "v1.18.3"} {
							for _, silent := range []time.Duration{0, 10 * time.Minute, 2 * time.Hour} {
								e := evidence(
									t,
									kind,
									phase,
									server,
									agents("n"),
									veleroVersion(tag),
									mover(volume, "v", volumePhase, silent),
									lookedAt(20*time.Minute),
								)
								e.Now = now
								for _, w := range remedies(e, Request{Context: "prod east"}) {
									switch {
									case !w.IsPossible():
									case w.Action == CancelVolumes && !e.Job.IsTerminal() && silent < time.Hour:
										t.Errorf(
											"%s %q: cancels a volume that is %s for %s",
											kind,
											phase,
											volumePhase,
											silent,
										)
									case w.Action == Wake && !slices.Contains([]string{"ReadyToStart", "Finalizing", "FinalizingPartiallyFailed"}, phase):
										t.Errorf("%s %q: wakes it", kind, phase)
									default:
										applied++
									}
								}
							}
						}
					}
				}
			}
		}
	}
	if applied < 100 {
		t.Errorf("only %d remedies", applied)
	}
}

// A wake, a restart or a cancel is offered only where it can work.
func TestRemediesThatCannotWork(t *testing.T) {
	flags := func(args ...string) change {
		return func(e *Evidence) { e.Server.Flags = velero.ParseServerFlags(args) }
	}
	ready := evidence(t, job.Backup, "ReadyToStart", restarted, veleroVersion("v1.18.3"), lookedAt(5*time.Hour))
	if _, ok := PlanFor(Wake, ready, Request{}); !ok {
		t.Fatal("a forgotten backup is not woken")
	}
	for name, c := range map[string]struct {
		phase  string
		change []change
	}{
		"rolled back to 1.17":            {"ReadyToStart", []change{veleroVersion("v1.17.2")}},
		"rolled back to 1.14":            {"ReadyToStart", []change{veleroVersion("v1.14.1")}},
		"restore-only, ready":            {"ReadyToStart", []change{flags("server", "--restore-only")}},
		"restore-only, finalizing":       {"Finalizing", []change{flags("server", "--restore-only=true")}},
		"backup controller disabled":     {"ReadyToStart", []change{flags("server", "--disable-controllers=schedule,backup")}},
		"finalizer disabled":             {"FinalizingPartiallyFailed", []change{flags("server", "--disable-controllers", "backup-finalizer")}},
		"its location is gone":           {"Finalizing", []change{func(e *Evidence) { e.LocationMissing = true }}},
		"woken, and the worker is taken": {"ReadyToStart", []change{wokenAgain, func(e *Evidence) { e.OtherJobs = []OtherJob{{Kind: job.Backup, Name: "o", Phase: "InProgress"}} }}},
	} {
		e := evidence(
			t,
			job.Backup,
			c.phase,
			append(
				[]change{restarted, veleroVersion("v1.18.3"), flags("server"), lookedAt(5 * time.Hour)},
				c.change...)...)
		for _, action := range []Kind{Wake, Restart} {
			if p, ok := PlanFor(
				action,
				e,
				Request{},
			); ok && p.Refusal == "" &&
				!(action == Restart && strings.HasPrefix(name, "its location")) {
				t.Errorf("%s: %s is offered: %s", name, action, p.EvidenceText)
			}
		}
	}
	for flag, on := range map[string]bool{"--restore-only": true, "--restore-only=false": false, "--restore-only=true": true, "--disable-controllers=gc": false} {
		if f := velero.ParseServerFlags(
			[]string{"server", flag, "--log-level=info"},
		); f.RunsController(
			velero.BackupController,
		) == on {
			t.Errorf("%s: runs the backup controller: %v", flag, !on)
		}
	}
}

// wokenAgain is a write after the server's start.
func wokenAgain(e *Evidence) {
	e.Object = e.Object.DeepCopy()
	started := metav1.NewTime(e.Server.Pods[0].StartedAt.Add(time.Minute))
	e.Object.SetManagedFields(
		append(
			e.Object.GetManagedFields(),
			metav1.ManagedFieldsEntry{
				Manager:   "veltui",
				Operation: metav1.ManagedFieldsOperationUpdate,
				Time:      &started,
			},
		),
	)
}

// A write after a restart is a sign of work for as long as the pod before it may run
// on, and not for ever.
func TestWritesAfterARestart(t *testing.T) {
	for _, c := range []struct {
		name         string
		grace, wrote time.Duration // after the start of the server
		now          time.Duration
		want         jobOwner
	}{
		{"the old pod wrote a moment ago", 30 * time.Second, 20 * time.Second, time.Minute, ownerAlive},
		{"half an hour later", 30 * time.Second, 20 * time.Second, 30 * time.Minute, ownerRestarted},
		{"within the chart's grace", time.Hour, 20 * time.Minute, 50 * time.Minute, ownerAlive},
		{"after it", time.Hour, 20 * time.Minute, 3 * time.Hour, ownerRestarted},
		{"a label hours later", 30 * time.Second, 5 * time.Hour, 6 * time.Hour, ownerRestarted},
		{"a count hours later", 30 * time.Second, 5 * time.Hour, 6 * time.Hour, ownerAlive},
		{"a label just now", 30 * time.Second, 5 * time.Hour, 5*time.Hour + time.Minute, ownerAlive},
	} {
		start := began.Add(time.Hour)
		e := evidence(t, job.Backup, "InProgress", restarted, func(e *Evidence) {
			e.Server = serverOf(velero.ServerPod{Name: "velero-1", StartedAt: start, Created: start, TerminationGracePeriod: c.grace})
			e.LastVeleroWrite, e.Now = start.Add(c.wrote), start.Add(c.now)
			if strings.HasPrefix(c.name, "a label") {
				e.Job.Object.SetLabels(map[string]string{"velero.io/gc-failure": "BSLReadOnly"})
			}
		})
		if got := e.findJobOwner(); got != c.want {
			t.Errorf("%s: owner %d, want %d", c.name, got, c.want)
		}
	}
}
