package assess

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/watch"
)

// silentCluster is a cluster whose jobs are silent from noon on, seen each second, with what its server has logged.
type silentCluster struct {
	Estimates
	scheduler LookScheduler
	jobs      []*job.Job
	logs      func(j *job.Job, now time.Time) velero.JobLog
	unread    bool // the logs may not be read
	readings  int
}

func everyJob(*job.Job) bool { return true }

// assess judges the cluster some time after noon, and reads the logs that are due, whose answer takes no time.
func (c *silentCluster) assess(after time.Duration) *Assessment {
	now := noon.Add(after)
	snap := snapshotOf(now, c.jobs...)
	snap.Server.Name, snap.Server.Container = "velero-0", "velero"
	snap.Server.Pods = []velero.ServerPod{snap.Server.ServerPod}
	a := c.AssessSnapshot(snap, now)
	due := c.scheduler.NextLogs(a, everyJob, now)
	if len(due) == 0 {
		return a
	}
	c.readings++
	read := LogReading{At: now, Logs: map[types.UID]velero.JobLog{}}
	for _, j := range due {
		read.Logs[j.UID] = c.logs(j, now)
	}
	if c.scheduler.FinishLogs(!c.unread); c.unread {
		read = LogReading{At: now, Err: "forbidden"}
	}
	c.RecordLogs(read)
	return c.AssessSnapshot(snap, now)
}

// findReason returns how long after noon the first job's verdict has a reason, with a look each second.
func (c *silentCluster) findReason(t *testing.T, reason diagnosis.Reason) time.Duration {
	t.Helper()
	for after := 5 * time.Second; after < time.Hour; after += time.Second {
		if a := c.assess(after); a.AssessJob(a.Snapshot.Jobs[0]).Verdict.Reason == reason {
			return after
		}
	}
	t.Fatalf("nothing says %s", reason)
	return 0
}

func gaveUpAt(at time.Duration) func(*job.Job, time.Time) velero.JobLog {
	return func(_ *job.Job, now time.Time) velero.JobLog {
		if now.Before(noon.Add(at)) {
			return velero.JobLog{Last: velero.LogLine{At: noon, Level: "info", Text: "restore completed"}}
		}
		return velero.JobLog{
			GaveUp: velero.LogLine{
				At: noon.Add(at), Level: "info", Text: "Error updating restore's status from InProgress to Finalizing",
				Error: "connection refused",
			},
			LostPhase: velero.PhaseFinalizing,
		}
	}
}

// A lost status patch is found soon after the server has logged that it gave up, whenever that is: Velero retries for
// 195 s, and gives up at once on an error that is no outage.
func TestLostPatchIsFoundSoonAfterItsLogLine(t *testing.T) {
	var delays []time.Duration
	for _, gaveUp := range []time.Duration{
		6 * time.Second, 40 * time.Second, 133 * time.Second, 195 * time.Second, 210 * time.Second,
	} {
		c := &silentCluster{
			jobs: []*job.Job{restore(veleroapi.RestorePhaseInProgress, 1000, 998, 999, 1000)},
			logs: gaveUpAt(gaveUp),
		}
		delay := c.findReason(t, diagnosis.LostPatch) - gaveUp
		delays = append(delays, delay)
		t.Logf("given up after %s: found %s later, with %d readings of the log", gaveUp, delay, c.readings)
		if c.readings > 25 {
			t.Errorf("%d readings", c.readings)
		}
	}
	slices.Sort(delays)
	if median := delays[len(delays)/2]; median > 20*time.Second || delays[len(delays)-1] > 30*time.Second {
		t.Errorf("found %v after the line", delays)
	}
}

// The log is read for all silent jobs at once, seldom once the silence is long, and not at all where nobody is silent
// or no server is seen.
func TestLogReadings(t *testing.T) {
	var many []*job.Job
	for i := range 12 {
		j := *restore(veleroapi.RestorePhaseInProgress, 1000, 998, 999)
		j.UID = types.UID(rune('a' + i))
		many = append(many, &j)
	}
	nothing := func(*job.Job, time.Time) velero.JobLog { return velero.JobLog{} }
	for name, test := range map[string]struct {
		c          *silentCluster
		span       time.Duration
		least, max int
	}{
		"a minute":           {&silentCluster{jobs: many[:1]}, time.Minute, 4, 6},
		"an hour":            {&silentCluster{jobs: many[:1]}, time.Hour, 30, 60},
		"twelve jobs":        {&silentCluster{jobs: many}, time.Hour, 30, 60},
		"it may not be read": {&silentCluster{jobs: many, unread: true}, time.Hour, 5, 16},
		"a queued job":       {&silentCluster{jobs: []*job.Job{restore(veleroapi.RestorePhaseNew, 0, 0)}}, time.Hour, 0, 0},
		"an ended job":       {&silentCluster{jobs: []*job.Job{restore(veleroapi.RestorePhaseCompleted, 9, 9)}}, time.Hour, 0, 0},
		"no job":             {&silentCluster{}, time.Hour, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			test.c.logs = nothing
			for after := time.Duration(0); after < test.span; after += 5 * time.Second {
				test.c.assess(after)
			}
			if test.c.readings < test.least || test.c.readings > test.max {
				t.Errorf("%d readings in %s", test.c.readings, test.span)
			}
		})
	}
	var scheduler LookScheduler
	a := new(Estimates).AssessSnapshot(snapshotOf(noon.Add(time.Hour), many...), noon.Add(time.Hour))
	if due := scheduler.NextLogs(a, everyJob, noon.Add(time.Hour)); len(due) > 0 {
		t.Errorf("the log of no server is read: %v", due)
	}
	stale := snapshotOf(noon.Add(time.Hour), many...)
	stale.Server.Pods, stale.Health = []velero.ServerPod{{Name: "velero-0"}}, watch.Health{State: watch.Stale, Since: noon}
	a = new(Estimates).AssessSnapshot(stale, noon.Add(time.Hour))
	if due := scheduler.NextLogs(a, everyJob, noon.Add(time.Hour)); len(due) > 0 {
		t.Errorf("it is read while the API server is away: %v", due)
	}
}

// A job that has paused before is silent for longer before that is unusual.
func TestUnusualSilence(t *testing.T) {
	steady := restore(veleroapi.RestorePhaseInProgress, 1000, 1, 2, 3, 4)
	if got := unusualSilence(steady); got != velero.MinUnusualSilence {
		t.Errorf("a job that moves each second: %s", got)
	}
	slow := restore(veleroapi.RestorePhaseInProgress, 1000, append([]int{1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}, 3)...)
	if got := unusualSilence(slow); got != 32*time.Second {
		t.Errorf("a job that pauses for 16 s: %s", got)
	}
}

// A job that cannot be finalized without its store says so soon after the server has logged it.
func TestStoreFailureIsFoundSoonAfterItsLogLine(t *testing.T) {
	c := &silentCluster{jobs: []*job.Job{restore(veleroapi.RestorePhaseFinalizing, 9, 9)}}
	failed := velero.LogLine{At: noon.Add(30 * time.Second), Level: "error", Text: "error getting volumeInfo", Error: "away"}
	c.logs = func(_ *job.Job, now time.Time) velero.JobLog {
		if now.Before(failed.At) {
			return velero.JobLog{}
		}
		return velero.JobLog{StoreFailure: failed}
	}
	if found := c.findReason(t, diagnosis.LocationUnavailable); found > 50*time.Second {
		t.Errorf("found after %s", found)
	}
}

// What the log says of a silent job holds for more jobs than get a closer look.
func TestLogSettlesVerdictsOfManyJobs(t *testing.T) {
	var c silentCluster
	for i := range 12 {
		j := *restore(veleroapi.RestorePhaseInProgress, 0, 0)
		j.UID = types.UID(rune('a' + i))
		c.jobs = append(c.jobs, &j)
	}
	c.logs = func(_ *job.Job, now time.Time) velero.JobLog {
		return velero.JobLog{
			Last:          velero.LogLine{At: noon, Level: "info", Text: "waiting informer cache sync ..."},
			ListFailure:   velero.LogLine{At: now.Add(-10 * time.Second), Level: "error", Error: "failed to list widgets"},
			UnlistedSince: noon,
		}
	}
	a := c.assess(5 * time.Minute)
	for _, j := range a.Snapshot.Active {
		if v := a.AssessJob(j).Verdict; v.Reason != diagnosis.KindNotListed {
			t.Errorf("%s: %s, %s", j.UID, v.Reason, v.Text)
		}
	}
}
