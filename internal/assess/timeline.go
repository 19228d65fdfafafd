package assess

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/watch"
)

type Event struct {
	// At is in the clock of Source; Velero's own times are put right where its clock is known to be off.
	At     time.Time
	Source EventSource
	Text   string
	Mood   EventMood
}

// EventSource is who says so, and whose clock the time is of.
type EventSource string

// Times of FromCluster and FromVeltui are in the API server's clock, others in that of the machine that wrote them.
const (
	FromCluster EventSource = "cluster"    // the API server noted it
	FromVelero  EventSource = "velero"     // the server wrote it into a status
	FromAgent   EventSource = "node-agent" // a node-agent wrote it into a status
	FromNode    EventSource = "node"       // the kubelet says so of a container
	FromLog     EventSource = "log"        // the server's log
	FromVeltui  EventSource = "seen"       // veltui saw it while it ran
)

// EventMood is how an event bears on the job.
type EventMood int

const (
	Neutral EventMood = iota
	Good
	Bad
)

// Timeline is what happened to a job, its volumes and operations, and what it depends on.
type Timeline struct {
	Events []Event
	// Notes say what the times cannot tell, and what is left out.
	Notes []string
}

// maxTimelineVolumes is how many volumes are named, open and failed ones first.
const maxTimelineVolumes = 400

// Timeline is the job's. operations are its item operations, nil if unknown.
func (a *Assessment) Timeline(j *job.Job, operations []artifact.Operation) Timeline {
	l := telling{a: a, j: j}
	l.server()
	l.location()
	l.resource()
	l.volumes()
	l.operations(operations)
	l.seen()
	l.log()
	l.ends()
	l.clocks()
	l.unseen()
	// Of what happened in the same second, what was told later came later.
	slices.Reverse(l.Events)
	slices.SortStableFunc(l.Events, func(x, y Event) int { return y.At.Compare(x.At) })
	return l.Timeline
}

// telling is a timeline in the making: events of one second in their order.
type telling struct {
	Timeline
	a *Assessment
	j *job.Job
}

func (l *telling) tell(at time.Time, source EventSource, mood EventMood, format string, args ...any) {
	if at.IsZero() {
		return
	}
	if source == FromVelero || source == FromLog {
		at = at.Add(-l.a.Environment.ServerAhead)
	}
	l.Events = append(l.Events, Event{At: at, Source: source, Text: fmt.Sprintf(format, args...), Mood: mood})
}

// over reports whether a time is after the job's end, where it no longer matters.
func (l *telling) over(at time.Time) bool {
	return l.j.Terminal() && !l.j.Completed.IsZero() && at.After(l.j.Completed.Add(time.Minute))
}

func (l *telling) server() {
	now := l.a.Snapshot.Server
	seen := slices.Clone(l.a.Snapshot.Seen)
	for _, s := range []watch.Seen{
		{At: now.LastTerminationAt, What: watch.SeenServerStop, Name: now.Name, Why: now.LastTermination},
		{At: now.StartedAt, What: watch.SeenServerStart, Name: now.Name},
	} {
		if !slices.Contains(seen, s) {
			seen = append(seen, s)
		}
	}
	for _, s := range seen {
		switch {
		case l.over(s.At):
		case s.What == watch.SeenServerStop:
			l.tell(s.At, FromNode, Bad, "Velero's server stopped: %s (pod %s)", s.Why, s.Name)
		case s.What == watch.SeenServerStart:
			l.tell(s.At, FromNode, Neutral, "Velero's server started (pod %s)", s.Name)
		}
	}
}

func (l *telling) location() {
	env := l.a.Environment
	location, known := env.Locations[cmp.Or(l.j.StorageLocation, env.BackupLocations[l.j.BackupName])]
	if !known || l.over(location.LastValidated) {
		return
	}
	mood, phase := Neutral, cmp.Or(location.Phase, "no phase yet")
	if location.Phase != velero.LocationAvailable && location.Phase != "" {
		mood, phase = Bad, phase+reason(location.Message)
	}
	l.tell(location.LastValidated, FromVelero, mood, "storage location %s was last checked: %s", location.Name, phase)
}

func reason(why string) string { return human.Clause(": ", why) }

func (l *telling) resource() {
	j := l.j
	switch {
	case synced(j):
		l.tell(j.Created, FromCluster, Neutral, "its resource was created: Velero found the backup in the object store")
	case j.Kind == job.Backup && j.ScheduleName != "":
		l.tell(j.Created, FromCluster, Neutral, "created by schedule %s", j.ScheduleName)
	case j.ScheduleName != "":
		l.tell(
			j.Created,
			FromCluster,
			Neutral,
			"created%s, to restore the newest backup of schedule %s",
			l.creator(),
			j.ScheduleName,
		)
	case j.BackupName != "":
		l.tell(j.Created, FromCluster, Neutral, "created%s, to restore backup %s", l.creator(), j.BackupName)
	default:
		l.tell(j.Created, FromCluster, Neutral, "created%s", l.creator())
	}
	l.tell(j.Started, FromVelero, Neutral, "Velero began to work on it")
	if j.Object != nil {
		for _, m := range j.Object.GetManagedFields() {
			if m.Time == nil || !m.Time.After(j.Created) {
				continue
			}
			what := "last wrote it"
			if writesStatus(m) {
				what = "last wrote its status"
			}
			l.tell(m.Time.Time, FromCluster, Neutral, "%s %s", m.Manager, what)
		}
		if at := j.Object.GetDeletionTimestamp(); at != nil {
			l.tell(at.Time, FromCluster, Bad, "somebody asked to delete its resource")
		}
	}
	if j.Kind != job.Backup {
		return
	}
	for _, d := range l.a.Environment.Deletions {
		if d.Backup != j.Name {
			continue
		}
		mood, text := Neutral, cmp.Or(d.Phase, velero.PhaseNew)
		if len(d.Errors) > 0 {
			mood, text = Bad, text+reason(human.List(d.Errors, 2))
		}
		l.tell(d.Created, FromCluster, mood, "deletion of the backup and its data was asked for (%s): %s", d.Name, text)
	}
}

// synced reports whether Velero found a backup in the object store and made its resource.
func synced(j *job.Job) bool {
	return j.Kind == job.Backup && !j.Completed.IsZero() && j.Created.After(j.Completed)
}

func (l *telling) creator() string {
	if l.j.Object == nil {
		return ""
	}
	for _, m := range l.j.Object.GetManagedFields() {
		if m.Time != nil && !m.Time.After(l.j.Created) && m.Manager != "" {
			return " by " + m.Manager
		}
	}
	return ""
}

// writesStatus reports whether the fields of a manager are those of the status.
func writesStatus(m metav1.ManagedFieldsEntry) bool {
	return m.Subresource == "status" || m.FieldsV1 != nil && strings.Contains(m.FieldsV1.GetRawString(), `"f:status"`)
}

func (l *telling) volumes() {
	list := make([]*job.Volume, len(l.j.Volumes))
	for i := range list {
		list[i] = &l.j.Volumes[i]
	}
	if len(list) > maxTimelineVolumes {
		ok := func(v *job.Volume) int {
			if v.Ended() && v.Phase == velero.VolumeCompleted {
				return 1
			}
			return 0
		}
		slices.SortStableFunc(list, func(v, w *job.Volume) int { return cmp.Compare(ok(v), ok(w)) })
		l.Notes = append(
			l.Notes,
			fmt.Sprintf(
				"Of %s only %d are shown here; the Volumes page has all.",
				human.Count(len(list), "volume"),
				maxTimelineVolumes,
			),
		)
		list = list[:maxTimelineVolumes]
	}
	for _, v := range list {
		l.tell(v.Created, FromCluster, Neutral, "%s for %s was created", v.Kind, v.Target)
		l.tell(v.Accepted, FromAgent, Neutral, "%s: a node-agent accepted it", v.Target)
		l.tell(v.Started, FromAgent, Neutral, "%s: its data began to move%s", v.Target, human.Clause(" on ", v.Node))
		switch {
		case !v.Ended():
		case v.Phase == velero.VolumeCompleted:
			l.tell(v.Completed, FromAgent, Good, "%s: Completed%s", v.Target, moved(v))
		default:
			l.tell(v.Completed, FromAgent, Bad, "%s: %s%s", v.Target, v.Phase, reason(v.Message))
		}
	}
}

func moved(v *job.Volume) string {
	if v.Total <= 0 {
		return ""
	}
	text := ", " + human.Bytes(v.Total)
	if took := v.Completed.Sub(v.Started); !v.Started.IsZero() && took > 0 {
		text += " in " + human.Duration(took)
	}
	return text
}

func (l *telling) operations(operations []artifact.Operation) {
	for i := range operations {
		o := &operations[i]
		item := strings.TrimPrefix(o.Namespace+"/"+o.Name, "/")
		l.tell(o.Created, FromVelero, Neutral, "%s began an operation for %s %s", o.Action, o.Resource, item)
		switch o.Phase {
		case velero.OperationCompleted:
			l.tell(o.Updated, FromVelero, Good, "the operation for %s %s was Completed", o.Resource, item)
		case velero.OperationFailed, velero.VolumeCanceled:
			l.tell(
				o.Updated,
				FromVelero,
				Bad,
				"the operation for %s %s: %s%s",
				o.Resource,
				item,
				o.Phase,
				reason(o.Error),
			)
		default:
			l.tell(
				o.Updated,
				FromVelero,
				Neutral,
				"the operation for %s %s was last updated: %s",
				o.Resource,
				item,
				o.Phase,
			)
		}
	}
}

func (l *telling) seen() {
	for _, s := range l.j.Seen {
		switch s.What {
		case job.SeenPhase:
			l.tell(
				s.At,
				FromVeltui,
				phaseMood(s.To),
				"phase %s -> %s",
				cmp.Or(s.From, velero.PhaseNew),
				cmp.Or(s.To, velero.PhaseNew),
			)
		case job.SeenTotal:
			l.tell(
				s.At,
				FromVeltui,
				Neutral,
				"Velero revised the number of items from %d to %d",
				s.FromItems,
				s.ToItems,
			)
		case job.SeenVolumePhase:
			l.tell(
				s.At,
				FromVeltui,
				phaseMood(s.To),
				"%s %s: %s -> %s",
				s.Kind,
				s.Volume,
				cmp.Or(s.From, velero.VolumeNew),
				s.To,
			)
		}
	}
	location := cmp.Or(l.j.StorageLocation, l.a.Environment.BackupLocations[l.j.BackupName])
	for _, s := range l.a.Snapshot.Seen {
		switch {
		case l.over(s.At) || !s.Until.IsZero() && s.Until.Before(l.j.Created):
		case s.What == watch.SeenLocation && s.Name == location:
			l.tell(
				s.At,
				FromVeltui,
				phaseMood(s.To),
				"storage location %s: %s -> %s%s",
				s.Name,
				cmp.Or(s.From, "no phase"),
				cmp.Or(s.To, "no phase"),
				reason(s.Why),
			)
		case s.What == watch.SeenOutage:
			l.tell(s.At, FromVeltui, Bad, "veltui no longer reached the API server%s", reason(s.Why))
			if !s.Until.IsZero() {
				l.tell(s.Until, FromVeltui, Good, "all was live again, after %s", human.Duration(s.Until.Sub(s.At)))
			}
		}
	}
}

func phaseMood(phase string) EventMood {
	switch phase {
	case velero.PhaseCompleted, velero.LocationAvailable:
		return Good
	case velero.PhaseFailed,
		velero.PhasePartiallyFailed,
		velero.PhaseFinalizingPartly,
		velero.PhaseWaitingPartly,
		velero.PhaseFailedValidation,
		velero.LocationUnavailable,
		velero.VolumeCanceled,
		velero.VolumeCanceling:
		return Bad
	}
	return Neutral
}

func (l *telling) log() {
	look, looked := l.a.looks[l.j.UID]
	if !looked || !look.Evidence.LogSeen {
		return
	}
	found := look.Evidence.Log
	if found.Hook.Pod != "" {
		l.tell(
			found.Hook.At,
			FromLog,
			Neutral,
			"%s-hook %s began in pod %s",
			found.Hook.Phase,
			found.Hook.Name,
			found.Hook.Pod,
		)
	}
	if found.Last.At != found.GaveUp.At {
		l.tell(
			found.Last.At,
			FromLog,
			Neutral,
			"the server logged about it: %s%s",
			found.Last.Text,
			reason(found.Last.Error),
		)
	}
	l.tell(
		found.GaveUp.At,
		FromLog,
		Bad,
		"the server gave up writing its status: %s%s",
		found.GaveUp.Text,
		reason(found.GaveUp.Error),
	)
}

func (l *telling) ends() {
	j := l.j
	if !j.Terminal() {
		return
	}
	text, mood := "it ended as "+j.Phase, Good
	if j.Phase != velero.PhaseCompleted {
		mood = Bad
	}
	if j.Errors > 0 {
		text += ", " + human.Count(j.Errors, "error")
	}
	if j.Warnings > 0 {
		text += ", " + human.Count(j.Warnings, "warning")
	}
	l.tell(j.Completed, FromVelero, mood, "%s%s", text, reason(j.FailureReason))
	if j.Completed.IsZero() {
		l.Notes = append(
			l.Notes,
			fmt.Sprintf("When it ended is not known: a job that is %s may have no completion time.", j.Phase),
		)
	}
}

// leastApart is from when on two clocks differ: statuses have whole seconds.
const leastApart = 3 * time.Second

func (l *telling) clocks() {
	if ahead := l.a.Environment.ServerAhead; ahead != 0 {
		way := "ahead of"
		if ahead < 0 {
			way = "behind"
		}
		l.Notes = append(
			l.Notes,
			fmt.Sprintf(
				"The clock of Velero's server is %s %s the API server's. Velero's times are put right by that.",
				human.Duration(ahead.Abs()),
				way,
			),
		)
		return
	}
	if j := l.j; !j.Started.IsZero() && j.Created.Sub(j.Started) >= leastApart && !synced(j) {
		l.Notes = append(
			l.Notes,
			fmt.Sprintf(
				"Velero says that it began %s before the API server created it: their clocks differ.",
				human.Duration(j.Created.Sub(j.Started)),
			),
		)
	}
}

func (l *telling) unseen() {
	wanted := []string{watch.Pods, watch.Locations, watch.PodVolumeRestores, watch.DataDownloads}
	if l.j.Kind == job.Backup {
		wanted = []string{watch.Pods, watch.Locations, watch.PodVolumeBackups, watch.DataUploads, watch.Deletions}
	}
	var hidden []string
	for _, s := range l.a.Snapshot.Sources {
		if s.State == watch.SourceForbidden && slices.Contains(wanted, s.Resource) {
			hidden = append(hidden, s.Resource)
		}
	}
	if len(hidden) > 0 {
		l.Notes = append(
			l.Notes,
			fmt.Sprintf(
				"You may not list %s, so what happened to them is missing here (list and watch would help).",
				human.List(hidden, len(hidden)),
			),
		)
	}
	if look, looked := l.a.looks[l.j.UID]; looked && look.Evidence.LogWhy != "" {
		l.Notes = append(l.Notes, "The server's log is missing here: "+look.Evidence.LogWhy+".")
	}
}
