package diagnosis

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

func line(text string, minutes float64) velero.LogLine {
	return velero.LogLine{At: minutesAgo(minutes), Level: "info", Text: text}
}

// clockAhead is a server whose node has another clock.
func clockAhead(by time.Duration) func(*World) {
	return func(e *World) { e.ServerClockOffset = by }
}

func TestServersLog(t *testing.T) {
	dead := spec{name: "crm", kind: job.Restore, phase: "InProgress", started: 60, changed: 10, done: 7, total: 9}
	moving := dead
	moving.volumes = []job.Volume{volume(velero.PodVolumeRestore, "data", "InProgress", 1, 9, 50, 10)}
	collecting := spec{name: "crm", kind: job.Backup, phase: "InProgress", started: 60, changed: 60, total: -1}
	gaveUp := func(to string, minutes float64) velero.JobLog {
		return velero.JobLog{
			Last:      line("restore completed", 9.9),
			GaveUp:    line("Error updating", minutes),
			LostPhase: to,
		}
	}
	for _, c := range []struct {
		name   string
		job    spec
		log    velero.JobLog
		env    World
		state  State
		reason Reason
		says   string
	}{
		{"the log says it gave up, long before any limit", dead, gaveUp("FinalizingPartiallyFailed", 7), healthy(), Stuck, LostPatch, "its status 7m ago"},
		{"it does not name the phase", dead, gaveUp("", 7), healthy(), Stuck, LostPatch, "its next phase"},
		{"a volume has not ended, and finalize refuses until it has", moving, gaveUp("FinalizingPartiallyFailed", 7), healthy(), Stuck, LostPatch, "Wait until its volumes have ended"},
		{"it was to be Failed", collecting, velero.JobLog{GaveUp: line("x", 7), LostPhase: "Failed", Failure: "backup already exists in object storage"},
			healthy(), Stuck, LostPatch, "older backup of this name"},
		{"the job was written after that", dead, gaveUp("Finalizing", 20), healthy(), Quiet, SlowItem, ""},
		{"the server restarted after that", dead, gaveUp("Finalizing", 7), with(restarted(5)), Orphaned, ServerRestarted, ""},
		{"the CRD refused it", dead, velero.JobLog{GaveUp: velero.LogLine{At: minutesAgo(7), Error: `status.phase: Unsupported value: "Finalizing"`}, LostPhase: "Finalizing"},
			healthy(), Stuck, SchemaTooOld, "CRD"},
		{"a line of a time to come", dead, gaveUp("Finalizing", -30), healthy(), Quiet, SlowItem, ""},
		{"the server's clock is ahead", dead, gaveUp("Finalizing", -23), with(clockAhead(30 * time.Minute)), Stuck, LostPatch, "7m ago"},
		{"written after that, by a clock that is ahead", dead, gaveUp("Finalizing", -15), with(clockAhead(30 * time.Minute)), Quiet, SlowItem, ""},
		{"since when the server runs is not known", dead, gaveUp("Finalizing", 7), with(func(e *World) { e.Server.StartedAt = time.Time{} }), Quiet, SlowItem, ""},
		{"logged in a time to come", collecting, velero.JobLog{Last: line("Listing items", -30)}, healthy(), Quiet, CollectingItems, ""},
		{"logged long ago, by a clock that is ahead", collecting, velero.JobLog{Last: line("Listing items", 0)}, with(clockAhead(30 * time.Minute)), Quiet, CollectingItems, ""},
		{"logged now, by a clock that is behind", collecting, velero.JobLog{Last: line("Listing items", 30)}, with(clockAhead(-30 * time.Minute)), Progressing, LogMoving, ""},
		{"silent, but the log moves", dead, velero.JobLog{Last: line("Restored 8 items", 0.1)}, healthy(), Progressing, LogMoving, "6s ago: Restored 8 items"},
		{"it logs that it waits", dead, velero.JobLog{Last: line("Waiting for VolumeSnapshotContents x", 0.1)}, healthy(), Waiting, LogMoving, "Waiting for"},
		{"beyond each limit, but the log moves", spec{name: "crm", kind: job.Restore, phase: "InProgress", started: 900, changed: 800, done: 7, total: 9},
			velero.JobLog{Last: line("Restored 8 items", 1)}, healthy(), Progressing, LogMoving, ""},
		{"the log is silent too", collecting, velero.JobLog{Last: line("Listing items", 30)}, healthy(), Quiet, CollectingItems, "Listing items"},
		{"a hook by annotation runs", spec{name: "crm", kind: job.Backup, phase: "InProgress", started: 60, changed: 40, done: 7, total: 9},
			velero.JobLog{Last: line("running exec hook", 38), Hook: velero.LoggedHook{At: minutesAgo(38), Pod: "shop/db-0", Phase: "pre", Timeout: 2 * time.Hour}},
			healthy(), Waiting, RunningHook, "pre-hook of pod shop/db-0 runs for 38m of 2h"},
		{"a hook by annotation, by a clock that is ahead", spec{name: "crm", kind: job.Backup, phase: "InProgress", started: 60, changed: 40, done: 7, total: 9},
			velero.JobLog{Last: line("running exec hook", 8), Hook: velero.LoggedHook{At: minutesAgo(8), Pod: "shop/db-0", Phase: "pre", Timeout: 2 * time.Hour}},
			with(clockAhead(30 * time.Minute)), Waiting, RunningHook, "runs for 38m of 2h"},
	} {
		t.Run(c.name, func(t *testing.T) {
			j, env := c.job.job(t), c.env
			env.Evidence = map[types.UID]JobEvidence{j.UID: {NamespacesChecked: true, LogChecked: true, ServerLog: c.log}}
			v := Judge(j, env)
			text := v.Summary() + v.Advice
			for _, f := range v.Facts {
				text += "\n" + f.Text
			}
			if v.State() != c.state || v.Reason != c.reason || !strings.Contains(text, c.says) {
				t.Errorf(
					"it is %s (%s), want %s (%s) and %q:\n%s",
					v.State(),
					v.Reason,
					c.state,
					c.reason,
					c.says,
					text,
				)
			}
		})
	}
}

func TestUnreadLogIsNoNo(t *testing.T) {
	j := spec{name: "crm", kind: job.Restore, phase: "InProgress", started: 60, changed: 10, done: 7, total: 9}.job(t)
	env := healthy()
	without := Judge(j, env)
	env.Evidence = map[types.UID]JobEvidence{j.UID: {LogUnchecked: "pods/log is forbidden"}}
	v := Judge(j, env)
	if v.State() != without.State() || v.Reason != without.Reason {
		t.Errorf("it is %s (%s), want %s (%s)", v.State(), v.Reason, without.State(), without.Reason)
	}
	for _, f := range v.Facts {
		if f.Source == SourceLog && !f.Supports && strings.Contains(f.Text, "forbidden") {
			return
		}
	}
	t.Errorf("nothing names the log: %+v", v.Facts)
}
