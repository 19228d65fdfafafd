package finalize

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero"
)

// mover is a volume that last changed that long before now, with its resource.
func mover(kind velero.VolumeKind, name, phase string, silent time.Duration) change {
	return func(e *Evidence) {
		j := *e.Job
		j.Volumes = append(slices.Clone(j.Volumes), job.Volume{Kind: kind, Name: name, UID: types.UID("uid-" + name), Phase: phase,
			Target: "shop/" + name, Created: began, Changed: now.Add(-silent)})
		e.Job = &j
		o := bare(kind.GroupVersionKind(), "velero", name)
		o.SetUID(types.UID("uid-" + name))
		o.SetResourceVersion("9")
		if e.volumes == nil {
			e.volumes, e.MayCancel = map[volumeKey]*unstructured.Unstructured{}, map[velero.VolumeKind]Answer{}
		}
		e.volumes[volumeKey{kind, name}] = o
		e.MayCancel[kind] = Yes
	}
}

func asked(name string) change {
	return func(e *Evidence) {
		for i := range e.Job.Volumes {
			if e.Job.Volumes[i].Name == name {
				e.Job.Volumes[i].CancelAsked = true
			}
		}
	}
}

func agents(nodes ...string) change   { return func(e *Evidence) { e.NodeAgents = nodes } }
func veleroVersion(tag string) change { return func(e *Evidence) { e.Server.Version = tag } }
func others(o ...Other) change        { return func(e *Evidence) { e.Others = o } }
func hidden(e *Evidence)              { e.Server = Server{Why: "pods is forbidden"} }

// Each row is a state of the world and the ways out of it: the action, with a
// ! before it if veltui does not take it itself.
func TestWays(t *testing.T) {
	const b, r = job.Backup, job.Restore
	const hour = time.Hour
	du := func(silent time.Duration) change { return mover(velero.DataUpload, "du", "InProgress", silent) }
	for _, c := range []struct {
		name    string
		kind    job.Kind
		phase   string
		changes []change
		want    string
		says    string // a part of why, or of the refusal
	}{
		{"ready to start, forgotten by a restart", b, "ReadyToStart", []change{restarted}, "wake", "ReadyToStart for 50m"},
		{"ready to start, a live server", b, "ReadyToStart", []change{alive}, "wake", ""},
		{"ready to start a moment ago", b, "ReadyToStart", []change{alive, lookedAt(11 * time.Minute)}, "", ""},
		{"ready to start, no server", b, "ReadyToStart", []change{down}, "", ""},
		{"ready to start, pods hidden", b, "ReadyToStart", []change{hidden}, "wake", ""},
		{"ready to start, no right", b, "ReadyToStart", []change{alive, func(e *Evidence) { e.MayPatch = No }}, "!wake", "you may not patch backups.velero.io"},
		{"ready to start, being deleted", b, "ReadyToStart", []change{alive, deleting}, "", ""},
		{"no restore is ever ready to start", r, "ReadyToStart", []change{alive}, "", ""},

		{"finalizing for long", b, "Finalizing", []change{alive}, "wake !restart", "patch without end"},
		{"finalizing lately", r, "FinalizingPartiallyFailed", []change{alive, lookedAt(14 * time.Minute)}, "", ""},
		{"restore finalizing, a hook", r, "FinalizingPartiallyFailed", []change{alive}, "wake !restart", "9744"},
		{"finalizing, no server", r, "Finalizing", []change{down}, "", ""},

		{"quiet on a live server", r, "InProgress", []change{alive}, "!restart", "nothing has changed for 50m"},
		{"still moving", r, "InProgress", []change{alive, lookedAt(14 * time.Minute)}, "", ""},
		{"Velero may still be writing", b, "InProgress", []change{alive, resourceTimeoutOf("2h"), lookedAt(20 * time.Minute)}, "", ""},
		{"it may wait for a namespace", r, "InProgress", []change{alive, lookedAt(22 * time.Minute), func(e *Evidence) { e.Terminating = []string{"shop"} }}, "", ""},
		{"too long for that", r, "InProgress", []change{alive, func(e *Evidence) { e.Terminating = []string{"shop"} }}, "!restart", ""},
		{"orphaned: finalize it", b, "InProgress", []change{restarted}, "", ""},
		{"no server", b, "InProgress", []change{down}, "", ""},
		{"pods hidden", b, "InProgress", []change{hidden}, "", ""},

		{"new, the worker hangs", r, "New", []change{alive}, "!restart", "4128"},
		{"new, another one is at work", r, "New", []change{alive, others(Other{r, "x2", "InProgress"})}, "", ""},
		{"queued, another one starts", b, "Queued", []change{alive, others(Other{b, "x2", "ReadyToStart"})}, "", ""},
		{"queued, only others that wait", b, "Queued", []change{alive, others(Other{b, "x2", "Queued"}, Other{b, "x3", "Finalizing"})}, "!restart", ""},
		{"queued, others hidden", b, "Queued", []change{alive, func(e *Evidence) { e.OthersWhy = "forbidden" }}, "", ""},

		{"an upload stands still", b, "WaitingForPluginOperations", []change{alive, agents("n1"), du(hour)}, "cancel-volumes", "1 data upload: no change for 60m"},
		{"an upload moves", b, "WaitingForPluginOperations", []change{alive, agents("n1"), du(40 * time.Minute)}, "", ""},
		{"an upload that is not prepared", b, "WaitingForPluginOperations", []change{alive, agents("n1"), mover(velero.DataUpload, "du", "Accepted", 40*time.Minute)}, "cancel-volumes", ""},
		{"an upload that is being prepared", b, "WaitingForPluginOperations", []change{alive, agents("n1"), mover(velero.DataUpload, "du", "Accepted", 30*time.Minute)}, "", ""},
		{"asked already", b, "WaitingForPluginOperations", []change{alive, agents("n1"), du(hour), asked("du")}, "", ""},
		{"ended already", b, "WaitingForPluginOperations", []change{alive, agents("n1"), mover(velero.DataUpload, "du", "Failed", hour)}, "", ""},
		{"nobody to hear it", b, "WaitingForPluginOperations", []change{alive, du(hour)}, "!cancel-volumes", "no node-agent"},
		{"somebody else's data mover hears it", b, "WaitingForPluginOperations", []change{alive, du(hour), func(e *Evidence) {
			o := e.volumes[volumeKey{velero.DataUpload, "du"}]
			o.Object["spec"] = map[string]any{"datamover": "other.io/mover"}
		}}, "cancel-volumes", ""},
		{"pods hidden, upload stands still", b, "WaitingForPluginOperations", []change{hidden, du(hour)}, "cancel-volumes", ""},
		{"no right to cancel", b, "WaitingForPluginOperations", []change{alive, agents("n1"), du(hour), func(e *Evidence) { e.MayCancel[velero.DataUpload] = No }},
			"!cancel-volumes", "you may not patch datauploads"},
		{"no server, a download goes nowhere", r, "WaitingForPluginOperations", []change{down, agents("n1"), mover(velero.DataDownload, "dd", "New", hour)}, "cancel-volumes", ""},

		{"ended, but an upload goes on", b, "Failed", []change{alive, agents("n1"), du(0)}, "cancel-volumes", "the backup has ended, but 1 volume"},
		{"ended", b, "Failed", []change{alive}, "", ""},

		{"pod volume, 1.18.3", b, "InProgress", []change{alive, agents("n1"), veleroVersion("v1.18.3"), mover(velero.PodVolumeBackup, "pvb", "InProgress", hour)}, "cancel-volumes !restart", ""},
		{"pod volume, 1.18.2", b, "InProgress", []change{alive, agents("n1"), veleroVersion("v1.18.2"), mover(velero.PodVolumeBackup, "pvb", "InProgress", hour)}, "!cancel-volumes !restart", "9464"},
		{"pod volume, 1.17.0", b, "InProgress", []change{alive, agents("n1"), veleroVersion("v1.17.0"), mover(velero.PodVolumeBackup, "pvb", "InProgress", hour)}, "!cancel-volumes !restart", "v1.17.0 waits for hours"},
		{"pod volume, 1.16.2", b, "InProgress", []change{alive, agents("n1"), veleroVersion("v1.16.2"), mover(velero.PodVolumeBackup, "pvb", "InProgress", hour)}, "!cancel-volumes !restart", "cannot cancel"},
		{"pod volume, version unknown", r, "InProgress", []change{alive, agents("n1"), veleroVersion("main"), mover(velero.PodVolumeRestore, "pvr", "InProgress", hour)}, "!cancel-volumes !restart", "version is known"},
		{"both kinds, 1.18.1", b, "InProgress", []change{alive, agents("n1"), veleroVersion("v1.18.1"), du(hour), mover(velero.PodVolumeBackup, "pvb", "InProgress", hour)}, "cancel-volumes !restart", ""},

		{"completed", b, "Completed", []change{alive}, "", ""},
		{"deleting", b, "Deleting", []change{alive}, "", ""},
		{"of the future", b, "Polishing", []change{alive}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got, said []string
			for _, w := range Ways(evidence(t, c.kind, c.phase, c.changes...), Request{Context: "prod east"}) {
				checkWay(t, &w)
				mark := "!"
				if w.CanTake() {
					mark = ""
				}
				got, said = append(got, mark+string(w.Action)), append(said, w.Why, w.Refusal)
			}
			if strings.Join(got, " ") != c.want || !strings.Contains(strings.Join(said, "\n"), c.says) {
				t.Errorf("%v, want %q, saying %q; said\n%s", got, c.want, c.says, strings.Join(said, "\n"))
			}
		})
	}
}

func deleting(e *Evidence) { j := *e.Job; j.Deleting = true; e.Job = &j }

// checkWay holds for every way, whatever its evidence.
func checkWay(t *testing.T, w *Way) {
	t.Helper()
	switch {
	case w.Title == "" || w.Why == "":
		t.Errorf("a way without words: %+v", w)
	case w.CanTake() == (w.Refusal != ""):
		t.Errorf("refusal %q, targets %d", w.Refusal, len(w.targets))
	case w.CanTake() && (len(w.Will) == 0 || len(w.WillNot)+len(w.Then) == 0 || len(w.Commands) != len(w.targets)):
		t.Errorf("says too little: %+v", w)
	case w.Action == Restart && (w.CanTake() || len(w.Commands) == 0):
		t.Errorf("a restart that veltui would do, or without a command: %+v", w)
	case !w.Same(w):
		t.Error("a way is not the same as itself")
	}
	for _, v := range w.Volumes {
		if isPodVolume(v.Kind) && podVolumeRisk(&w.evidence) != "" {
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

func TestCancelLeavesDangerousVolumesAlone(t *testing.T) {
	e := evidence(t, job.Backup, "InProgress", alive, agents("n1"), veleroVersion("v1.18.1"),
		mover(velero.DataUpload, "du-1", "InProgress", time.Hour), mover(velero.DataUpload, "du-2", "InProgress", time.Minute),
		mover(velero.PodVolumeBackup, "pvb", "InProgress", time.Hour))
	w := wayOf(CancelVolumes, Ways(e, Request{}))
	if len(w.targets) != 1 || w.targets[0].GetName() != "du-1" || len(w.Commands) != 1 || !strings.Contains(w.Commands[0], "patch datauploads.velero.io du-1") {
		t.Fatalf("targets %v, commands %v", w.targets, w.Commands)
	}
	if text := strings.Join(w.WillNot, "\n"); !strings.Contains(text, "cancel 1 pod volume backup: Velero v1.18.1 waits for hours") {
		t.Errorf("does not say what it leaves alone:\n%s", text)
	}
}

// A restart costs what is in progress, and nothing else.
func TestRestartNamesWhatItFails(t *testing.T) {
	e := evidence(t, job.Restore, "InProgress", alive, others(
		Other{job.Backup, "night", "InProgress"}, Other{job.Backup, "waits", "WaitingForPluginOperations"}, Other{job.Backup, "q", "Queued"},
		Other{job.Restore, "n", "New"}), func(e *Evidence) { e.Server.Deployment = "velero" })
	w := wayOf(Restart, Ways(e, Request{Context: "prod"}))
	if fmt.Sprint(w.Fails) != "[restore/x backup/night]" || fmt.Sprint(w.Commands) != "[kubectl --context prod -n velero rollout restart deployment/velero]" {
		t.Errorf("fails %v, commands %v", w.Fails, w.Commands)
	}
	e.Server.Deployment, e.OthersWhy = "", "backups is forbidden"
	w = wayOf(Restart, Ways(e, Request{}))
	if fmt.Sprint(w.Commands) != "[kubectl -n velero delete pod velero-1]" || !strings.Contains(w.Will[0], "could not all be listed") {
		t.Errorf("will %v, commands %v", w.Will, w.Commands)
	}
}

func TestWaysWantAReasonOfOneLine(t *testing.T) {
	e := evidence(t, job.Backup, "ReadyToStart", alive)
	for reason, want := range map[string]bool{"INC-1": true, "": true, "a\nb": false, "\x1b[2J": false, strings.Repeat("x", 501): false, "\xff": false} {
		if w := wayOf(Wake, Ways(e, Request{Reason: reason})); w.CanTake() != want {
			t.Errorf("reason %q: refusal %q", reason, w.Refusal)
		}
	}
}

// Whatever the combination, a way that veltui takes leaves a job alone that may
// be at work.
func TestWaysNeverTouchWhatMoves(t *testing.T) {
	phases := append([]string{"", "New", "Queued", "ReadyToStart", "InProgress", "Deleting", "FailedValidation", "Odd"}, onward...)
	servers := []change{alive, restarted, down, hidden}
	kinds := []velero.VolumeKind{velero.DataUpload, velero.DataDownload, velero.PodVolumeBackup, velero.PodVolumeRestore}
	taken := 0
	for _, kind := range []job.Kind{job.Backup, job.Restore} {
		for _, phase := range phases {
			for _, server := range servers {
				for _, volume := range kinds {
					for _, volumePhase := range []string{"", "New", "Accepted", "Prepared", "InProgress", "Canceling", "Canceled", "Completed", "Failed", "Odd"} {
						for _, tag := range []string{"", "v1.16.0", "v1.17.2", "v1.18.3"} {
							for _, silent := range []time.Duration{0, 10 * time.Minute, 2 * time.Hour} {
								e := evidence(t, kind, phase, server, agents("n"), veleroVersion(tag), mover(volume, "v", volumePhase, silent), lookedAt(20*time.Minute))
								e.At = now
								for _, w := range Ways(e, Request{Context: "prod east"}) {
									switch {
									case !w.CanTake():
									case w.Action == CancelVolumes && !e.Job.Terminal() && silent < time.Hour:
										t.Errorf("%s %q: cancels a volume that is %s for %s", kind, phase, volumePhase, silent)
									case w.Action == Wake && !slices.Contains([]string{"ReadyToStart", "Finalizing", "FinalizingPartiallyFailed"}, phase):
										t.Errorf("%s %q: wakes it", kind, phase)
									default:
										taken++
									}
								}
							}
						}
					}
				}
			}
		}
	}
	if taken < 100 {
		t.Errorf("only %d ways", taken)
	}
}
