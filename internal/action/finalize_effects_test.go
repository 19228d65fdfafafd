package action

import (
	"strings"
	"testing"
	"time"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

func named(location string) change {
	return func(e *Evidence) {
		j := *e.Job
		j.StorageLocation = location
		e.Job = &j
	}
}

func hooksAsked(e *Evidence) {
	r := e.Job.Object.(*veleroapi.Restore).DeepCopy()
	r.Spec.Hooks.Resources = []veleroapi.RestoreResourceHookSpec{{Name: "reindex"}}
	j := *e.Job
	j.Object = r
	e.Job = &j
}

// What a phase brings about is said before anybody agrees to it.
func TestConsequences(t *testing.T) {
	const b, r = job.Backup, job.Restore
	for _, c := range []struct {
		name    string
		kind    job.Kind
		phase   string
		changes []change
		ask     string
		says    string // in what it does not do, or what follows
		silent  string // in neither
	}{
		{"a backup given up before it began", b, "New", []change{alive}, "Failed", "Velero cannot delete it, because it names no storage location, and never expires it; to remove it: kubectl -n velero delete backups.velero.io x", "cannot restore from it"},
		{"one that names a location", b, "New", []change{alive, named("s3")}, "Failed", "a final phase stays", "Velero cannot delete it"},
		{"a backup that failed", b, "InProgress", []change{restarted, notStored, named("s3")}, "", "Velero versions after 1.18 cannot restore from it", "Velero cannot delete it"},
		{"a backup whose name is taken", b, "InProgress", []change{restarted, named("s3"), stored, olderFiles}, "", "deletes the older one's files", ""},
		{"a restore whose name was used", r, "InProgress", []change{restarted, stored, olderFiles}, "", "results of an older restore of this name", "cannot restore from it"},
		{"a restore that is nudged after a restart", r, "InProgress", []change{restarted, stored, hooksAsked}, "", "run hooks that have not run", ""},
		{"the same, whether it has hooks is not known", r, "InProgress", []change{restarted, stored, func(e *Evidence) { e.HooksChecked = false }}, "", "run hooks that have not run", ""},
		{"the same, without hooks", r, "InProgress", []change{restarted, stored}, "", "item and hook counts", "run hooks"},
		{"a restore that is nudged on its own server", r, "InProgress", []change{alive, stored, hooksAsked}, "", "item and hook counts", "run hooks"},
		{"a restore that is ended", r, "Finalizing", []change{down, hooksAsked}, "PartiallyFailed", "run hooks that have not run", ""},
	} {
		p := draft(evidence(t, c.kind, c.phase, c.changes...), Request{Phase: c.ask})
		said := strings.Join(append(p.WillNot, p.Afterwards...), "\n")
		if p.Effect() == EffectRefuse || !strings.Contains(said, c.says) ||
			c.silent != "" && strings.Contains(said, c.silent) {
			t.Errorf("%s: %s %q, says\n%s", c.name, p.Action, p.Refusal, said)
		}
	}
}

// Advice on what to do in place of finalizing does no harm either.
func TestAdvice(t *testing.T) {
	const b, r = job.Backup, job.Restore
	for _, c := range []struct {
		name    string
		kind    job.Kind
		phase   string
		changes []change
		says    string
	}{
		{"its name is taken", b, "InProgress", []change{alive, stored, olderFiles}, "Do not delete it through Velero: that deletes the older backup of this name"},
		{"not begun, no location", b, "New", []change{alive}, "To remove it, use kubectl"},
		{"forgotten", b, "ReadyToStart", []change{restarted}, "wake it"},
		{"read-only", b, "InProgress", []change{alive, stored, readOnly}, "Restarting the server would mark a complete backup Failed"},
		{"blind", b, "InProgress", []change{alive, stored, malformedSpec}, "Restarting the server does not help"},
		{"finalizing, 1.18.3", r, "Finalizing", []change{alive, veleroVersion("v1.18.3"), hooksAsked}, "until the server's --resource-timeout"},
		{"finalizing, 1.18.1", r, "Finalizing", []change{alive, veleroVersion("v1.18.1"), hooksAsked}, "then the hooks never run"},
		{"finalizing, its hook hangs", r, "Finalizing", []change{alive, veleroVersion("v1.18.1"), hook(velero.RestoreHook{State: velero.HookNeverRuns, BlockedReason: "ImagePullBackOff"})}, "Get pod "},
		{"finalizing, no hooks", r, "Finalizing", []change{alive}, "waits for volume claims"},
		{"the server panics", r, "Finalizing", []change{crashing}, "this restore crashes the server at every start"},
	} {
		p := draft(evidence(t, c.kind, c.phase, c.changes...), Request{})
		if p.Effect() != EffectRefuse || !strings.Contains(p.Advice, c.says) {
			t.Errorf("%s: %s, advises %q", c.name, p.Action, p.Advice)
		}
	}
}

func TestCancelTiming(t *testing.T) {
	for says, changes := range map[string][]change{
		"they end within 5 minutes, most of them at once":  {node("n1"), agents("n1")},
		"on a node without a node-agent end after an hour": {node("n3"), agents("n1")},
	} {
		e := evidence(
			t,
			job.Backup,
			"WaitingForPluginOperations",
			append(
				[]change{alive, veleroVersion("v1.18.3"), mover(velero.DataUpload, "du", "InProgress", time.Hour)},
				changes...)...)
		if w := planOf(CancelVolumes, remedies(e, Request{})); !strings.Contains(strings.Join(w.Afterwards, "\n"), says) {
			t.Errorf("%q, want %q", w.Afterwards, says)
		}
	}
}
