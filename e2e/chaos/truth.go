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

// fateMargin is how long a change may take to be recorded.
const fateMargin = 5 * time.Second

// truth is what the whole recording shows.
type truth struct {
	story            Story
	begin, end       time.Time
	jobs             map[string]*course
	names            []string
	faults, failures []string
}

// course is what became of one job.
type course struct {
	changes []change
	fate    *due
	// refuted says how Velero went on with the job after the fate that the story
	// gave it: it lives.
	refuted string
	repairs []time.Time
	// shocks are the moments at which a fault began that makes Velero look at
	// everything anew.
	shocks []time.Time
	edits  map[string]bool
	uid    string
	// over is true once it ended, or was deleted.
	over bool
	// silent is the longest time between two changes before it ended.
	silent time.Duration
	last   status
}

// change is a step that Velero took with a job.
type change struct {
	at   time.Time
	what string
}

// due is a fate that has come.
type due struct {
	Fate
	at, expected time.Time
	// stale is for how long since then nothing was heard.
	stale time.Duration
	// woken is when the shock began after which Velero went on with the job, and
	// revived when it did; both are zero where it never did. Between the two the
	// job is neither dead nor known to live.
	woken, revived time.Time
}

// holds reports whether the job is dead at a moment.
func (d *due) holds(now time.Time) bool {
	return !now.Before(d.at) && (d.woken.IsZero() || now.Before(d.woken))
}

// wakes reports whether the job is between a shock and Velero's going on.
func (d *due) wakes(now time.Time) bool {
	return !d.woken.IsZero() && !now.Before(d.woken) && now.Before(d.revived)
}

// fateAt is the job's fate if it holds at a moment.
func (c *course) fateAt(now time.Time) *due {
	if c.fate == nil || !c.fate.holds(now) {
		return nil
	}
	return c.fate
}

// continues is when Velero next goes on with the job by itself: before its fate,
// and before anybody helped. shock is true if a fault began meanwhile that makes
// Velero look at everything anew, so that it may not have been by itself.
func (c *course) continues(now time.Time) (next change, shock, ok bool) {
	i := slices.IndexFunc(c.changes, func(s change) bool { return s.at.After(now) })
	if i < 0 {
		return next, false, false
	}
	next = c.changes[i]
	dies := c.fate != nil && now.Before(c.fate.at) && !next.at.Before(c.fate.at)
	if dies || c.fate != nil && c.fate.wakes(now) || between(c.repairs, now, next.at) {
		return next, false, false
	}
	return next, between(c.shocks, now.Add(time.Nanosecond), next.at), true
}

// settle holds the job's fate against what Velero did with it afterwards. What it
// wrote in the same moment may have been on its way. How it went on by itself
// refutes the fate; if it did after a shock, the fate held until that.
func (c *course) settle() {
	i := slices.IndexFunc(c.changes, func(s change) bool { return s.at.After(c.fate.at.Add(fateMargin)) })
	switch {
	case i < 0 && c.over: // what an earlier fault had begun ended it in the same moment
		c.fate.woken, c.fate.revived = c.fate.at, c.changes[len(c.changes)-1].at
		return
	case i < 0 || between(c.repairs, c.fate.at, c.changes[i].at):
		return
	}
	next := c.changes[i]
	for _, at := range c.shocks { // in their order; those before the last woke nothing
		if at.After(c.fate.at) && !at.After(next.at) {
			c.fate.woken, c.fate.revived = at, next.at
		}
	}
	if c.fate.woken.IsZero() {
		c.fate, c.refuted = nil, next.what
	}
}

// between reports whether one of the moments lies between two others.
func between(moments []time.Time, from, to time.Time) bool {
	return slices.ContainsFunc(moments, func(at time.Time) bool { return !at.Before(from) && !at.After(to) })
}

// shocks are the faults after which Velero looks at everything anew: a server that
// starts, and informers that lost their watch, list all objects (client-go
// tools/cache/reflector.go), and one failed call of an operation's Progress ends the
// operation (pkg/controller/backup_operations_controller.go
// getBackupItemOperationProgress).
var shocks = []Act{CrashServer, CrashWithMark, SecondServer, PauseServer, PauseAPIServer, KillAPIServer, PauseEtcd}

// isShock reports whether a fault's entry is the beginning of one.
func isShock(e Entry) bool {
	return strings.HasSuffix(e.Text, " begins") &&
		slices.ContainsFunc(shocks, func(a Act) bool { return strings.HasPrefix(e.Text, string(a)+"-") })
}

// learn reads the truth from a recording.
func learn(entries []Entry) truth {
	t := truth{jobs: map[string]*course{}}
	for _, e := range entries {
		if e.Kind == EditEntry { // the watch may have been faster
			c := t.job(e.Job)
			c.edits[e.Version] = true
			c.repairs = append(c.repairs, e.At)
		}
	}
	volumes := volumes{owners: map[string]string{}, last: map[string]status{}}
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
		case FateEntry:
			fate := *e.Fate
			fate.After = max(fate.After, fate.Cause.seenAfter(t.story.Limits)) // today it may be later
			t.job(e.Job).fate = &due{Fate: fate, at: e.At, expected: e.At.Add(fate.After)}
		case ObjectEntry:
			t.see(e, volumes)
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
		if c.fate != nil {
			c.settle()
		}
	}
	t.forget()
	return t
}

// forget drops what ended before the story began.
func (t *truth) forget() {
	t.names = slices.DeleteFunc(t.names, func(name string) bool {
		c := t.jobs[name]
		return c.over && c.fate == nil && len(c.changes) > 0 && c.changes[len(c.changes)-1].at.Before(t.begin)
	})
}

func (t *truth) job(name string) *course {
	c := t.jobs[name]
	if c == nil {
		c = &course{edits: map[string]bool{}}
		t.jobs[name] = c
		t.names = append(t.names, name)
	}
	return c
}

// volumes are the resources that move a job's data.
type volumes struct {
	// owners are the jobs by their uid, and last what each volume was, by its own.
	owners map[string]string
	last   map[string]status
}

// see takes in an event of a job, or of a volume that is moved for one.
func (t *truth) see(e Entry, v volumes) {
	o := e.Object
	switch o.GetKind() {
	case "Backup", "Restore":
		name := jobName(o)
		v.owners[string(o.GetUID())] = name
		t.job(name).see(e)
	case "DataUpload", "DataDownload", "PodVolumeBackup", "PodVolumeRestore":
		now, uid := statusOf(o), string(o.GetUID())
		name := v.owners[cmp.Or(o.GetLabels()["velero.io/backup-uid"], o.GetLabels()["velero.io/restore-uid"])]
		if c := t.jobs[name]; c != nil && now != v.last[uid] {
			c.changes = append(c.changes, change{e.At, o.GetKind() + " " + o.GetName() + " is " + now.phase})
		}
		v.last[uid] = now
	}
}

// status is what shows that Velero goes on with a job.
type status struct{ phase, rest string }

// statusOf leaves out the place in the queue, which changes for others' sake.
func statusOf(o *unstructured.Unstructured) status {
	all, _, _ := unstructured.NestedMap(o.Object, "status")
	phase, _ := all["phase"].(string)
	delete(all, "phase")
	delete(all, "queuePosition")
	if len(all) == 0 {
		return status{phase: phase}
	}
	return status{phase, fmt.Sprint(all)}
}

func (c *course) see(e Entry) {
	o, now := e.Object, statusOf(e.Object)
	if c.uid != string(o.GetUID()) {
		c.uid, c.last, c.over = string(o.GetUID()), status{}, false
		c.changes = append(c.changes, change{at: e.At, what: "it was created"})
	}
	before := c.over
	c.over = ended(o) || e.Type == watch.Deleted
	switch {
	case e.Type == watch.Deleted:
		c.changes = append(c.changes, change{e.At, "it was deleted"})
	case now == c.last || c.edits[o.GetResourceVersion()]:
	default:
		what := "it is " + now.phase
		if now.phase == c.last.phase {
			what = "its status changed while " + now.phase
		}
		c.changes = append(c.changes, change{e.At, what})
	}
	if n := len(c.changes); n > 1 && !before {
		c.silent = max(c.silent, c.changes[n-1].at.Sub(c.changes[n-2].at))
	}
	c.last = now
}
