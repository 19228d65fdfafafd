package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// recordingMargin is how long a change may take to be recorded.
const recordingMargin = 5 * time.Second

// recordedTruth is what the whole recording shows.
type recordedTruth struct {
	story            Story
	begin, end       time.Time
	jobs             map[string]*jobCourse
	names            []string
	faults, failures []string
}

// jobCourse is what became of one job.
type jobCourse struct {
	changes []jobChange
	death   *deathState
	// refutation says how Velero went on with the job after the fate that the story
	// gave it: it lives.
	refutation string
	repairs    []time.Time
	// shocks are the moments at which a fault began that makes Velero look at
	// everything anew.
	shocks []time.Time
	edits  map[string]bool
	uid    string
	// hasEnded is true once it ended, or was deleted.
	hasEnded bool
	// longestSilence is the longest time between two changes before it ended.
	longestSilence time.Duration
	lastStatus     jobStatus
}

// jobChange is a step that Velero took with a job.
type jobChange struct {
	at   time.Time
	what string
}

// deathState is a fate that has come.
type deathState struct {
	Death
	at, expected time.Time
	// staleTime is for how long since then nothing was heard.
	staleTime time.Duration
	// woken is when the shock began after which Velero went on with the job, and
	// revived when it did; both are zero where it never did. Between the two the
	// job is neither dead nor known to live.
	woken, revived time.Time
}

// isDeadAt reports whether the job is dead at a moment.
func (d *deathState) isDeadAt(now time.Time) bool {
	return !now.Before(d.at) && (d.woken.IsZero() || now.Before(d.woken))
}

// isWakingAt reports whether the job is between a shock and Velero's going on.
func (d *deathState) isWakingAt(now time.Time) bool {
	return !d.woken.IsZero() && !now.Before(d.woken) && now.Before(d.revived)
}

// deathAt is the job's fate if it holds at a moment.
func (c *jobCourse) deathAt(now time.Time) *deathState {
	if c.death == nil || !c.death.isDeadAt(now) {
		return nil
	}
	return c.death
}

// nextProgress is when Velero next goes on with the job by itself: before its fate,
// and before anybody helped. shock is true if a fault began meanwhile that makes
// Velero look at everything anew, so that it may not have been by itself.
func (c *jobCourse) nextProgress(now time.Time) (next jobChange, shock, ok bool) {
	i := slices.IndexFunc(c.changes, func(s jobChange) bool { return s.at.After(now) })
	if i < 0 {
		return next, false, false
	}
	next = c.changes[i]
	dies := c.death != nil && now.Before(c.death.at) && !next.at.Before(c.death.at)
	if dies || c.death != nil && c.death.isWakingAt(now) || anyBetween(c.repairs, now, next.at) {
		return next, false, false
	}
	return next, anyBetween(c.shocks, now.Add(time.Nanosecond), next.at), true
}

// checkDeath holds the job's fate against what Velero did with it afterwards. What it
// wrote in the same moment may have been on its way. How it went on by itself
// refutes the fate; if it did after a shock, the fate held until that.
func (c *jobCourse) checkDeath() {
	i := slices.IndexFunc(c.changes, func(s jobChange) bool { return s.at.After(c.death.at.Add(recordingMargin)) })
	switch {
	case i < 0 && c.hasEnded: // what an earlier fault had begun ended it in the same moment
		c.death.woken, c.death.revived = c.death.at, c.changes[len(c.changes)-1].at
		return
	case i < 0 || anyBetween(c.repairs, c.death.at, c.changes[i].at):
		return
	}
	next := c.changes[i]
	for _, at := range c.shocks { // in their order; those before the last woke nothing
		if at.After(c.death.at) && !at.After(next.at) {
			c.death.woken, c.death.revived = at, next.at
		}
	}
	if c.death.woken.IsZero() {
		c.death, c.refutation = nil, next.what
	}
}

// anyBetween reports whether one of the moments lies between two others.
func anyBetween(moments []time.Time, from, to time.Time) bool {
	return slices.ContainsFunc(moments, func(at time.Time) bool { return !at.Before(from) && !at.After(to) })
}

// shockActs are the faults after which Velero looks at everything anew: a server that
// starts, and informers that lost their watch, list all objects (client-go
// tools/cache/reflector.go), and one failed call of an operation's Progress ends the
// operation (pkg/controller/backup_operations_controller.go
// getBackupItemOperationProgress).
var shockActs = []Act{CrashServer, CrashWithMark, SecondServer, PauseServer, PauseAPIServer, KillAPIServer, PauseEtcd}

// isShock reports whether a fault's entry is the beginning of one.
func isShock(e Entry) bool {
	return strings.HasSuffix(e.Text, " begins") &&
		slices.ContainsFunc(shockActs, func(a Act) bool { return strings.HasPrefix(e.Text, string(a)+"-") })
}

// readTruth reads the truth from a recording.
func readTruth(entries []Entry) recordedTruth {
	t := recordedTruth{jobs: map[string]*jobCourse{}}
	for _, e := range entries {
		if e.Kind == EditEntry { // the watch may have been faster
			c := t.courseOf(e.Job)
			c.edits[e.Version] = true
			c.repairs = append(c.repairs, e.At)
		}
	}
	volumes := volumeTracker{owners: map[string]string{}, last: map[string]jobStatus{}}
	for _, e := range entries {
		switch e.Kind {
		case StoryEntry:
			t.story = *e.Story
		case BeginEntry:
			t.begin = e.At
		case EndEntry:
			t.end = e.At
		case FaultEntry:
			t.faults = append(t.faults, e.Text)
		case FailureEntry:
			t.failures = append(t.failures, e.Text)
		case DeathEntry:
			fate := *e.Death
			fate.DetectableAfter = max(fate.DetectableAfter, fate.Cause.detectionDelay(t.story.Limits)) // today it may be later
			t.courseOf(e.Job).death = &deathState{Death: fate, at: e.At, expected: e.At.Add(fate.DetectableAfter)}
		case ObjectEntry:
			t.addEvent(e, volumes)
		}
	}
	if t.end.IsZero() && len(entries) > 0 {
		t.end = entries[len(entries)-1].At
	}
	for _, e := range entries {
		for name, c := range t.jobs {
			switch {
			case e.Kind == RepairEntry && (e.Job == "" || e.Job == name):
				c.repairs = append(c.repairs, e.At)
			case e.Kind == FaultEntry && isShock(e):
				c.shocks = append(c.shocks, e.At)
			}
		}
	}
	for _, c := range t.jobs {
		if c.death != nil {
			c.checkDeath()
		}
	}
	t.dropEarlyJobs()
	return t
}

// dropEarlyJobs drops what ended before the story began.
func (t *recordedTruth) dropEarlyJobs() {
	t.names = slices.DeleteFunc(t.names, func(name string) bool {
		c := t.jobs[name]
		return c.hasEnded && c.death == nil && len(c.changes) > 0 && c.changes[len(c.changes)-1].at.Before(t.begin)
	})
}

func (t *recordedTruth) courseOf(name string) *jobCourse {
	c := t.jobs[name]
	if c == nil {
		c = &jobCourse{edits: map[string]bool{}}
		t.jobs[name] = c
		t.names = append(t.names, name)
	}
	return c
}

// volumeTracker are the resources that move a job's data.
type volumeTracker struct {
	// owners are the jobs by their uid, and last what each volume was, by its own.
	owners map[string]string
	last   map[string]jobStatus
}

// addEvent takes in an event of a job, or of a volume that is moved for one.
func (t *recordedTruth) addEvent(e Entry, v volumeTracker) {
	o := e.Object
	switch o.GetKind() {
	case "Backup", "Restore":
		name := jobName(o)
		v.owners[string(o.GetUID())] = name
		t.courseOf(name).addEvent(e)
	case "DataUpload", "DataDownload", "PodVolumeBackup", "PodVolumeRestore":
		now, uid := statusOf(o), string(o.GetUID())
		name := v.owners[cmp.Or(o.GetLabels()["velero.io/backup-uid"], o.GetLabels()["velero.io/restore-uid"])]
		if c := t.jobs[name]; c != nil && now != v.last[uid] {
			c.changes = append(c.changes, jobChange{e.At, o.GetKind() + " " + o.GetName() + " is " + now.phase})
		}
		v.last[uid] = now
	}
}

// jobStatus is what shows that Velero goes on with a job.
type jobStatus struct{ phase, rest string }

// statusOf leaves out the place in the queue, which changes for others' sake.
func statusOf(o *unstructured.Unstructured) jobStatus {
	all, _, _ := unstructured.NestedMap(o.Object, "status")
	phase, _ := all["phase"].(string)
	delete(all, "phase")
	delete(all, "queuePosition")
	if len(all) == 0 {
		return jobStatus{phase: phase}
	}
	return jobStatus{phase, fmt.Sprint(all)}
}

func (c *jobCourse) addEvent(e Entry) {
	o, now := e.Object, statusOf(e.Object)
	if c.uid != string(o.GetUID()) {
		c.uid, c.lastStatus, c.hasEnded = string(o.GetUID()), jobStatus{}, false
		c.changes = append(c.changes, jobChange{at: e.At, what: "it was created"})
	}
	before := c.hasEnded
	c.hasEnded = hasEnded(o) || e.Type == watch.Deleted
	switch {
	case e.Type == watch.Deleted:
		c.changes = append(c.changes, jobChange{e.At, "it was deleted"})
	case now == c.lastStatus || c.edits[o.GetResourceVersion()]:
	default:
		what := "it is " + now.phase
		if now.phase == c.lastStatus.phase {
			what = "its status changed while " + now.phase
		}
		c.changes = append(c.changes, jobChange{e.At, what})
	}
	if n := len(c.changes); n > 1 && !before {
		c.longestSilence = max(c.longestSilence, c.changes[n-1].at.Sub(c.changes[n-2].at))
	}
	c.lastStatus = now
}
