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
	// At is by the clock of Source; Velero's own times are corrected if its clock is known to be off.
	At     time.Time
	Source EventSource
	Text   string
	Tone   EventTone
}

// EventSource is the source of an event, whose clock its time is by.
type EventSource string

// Times of FromCluster and FromVeltui are by the API server's clock, others by that of the machine that wrote them.
const (
	FromCluster EventSource = "cluster"    // the API server recorded it
	FromVelero  EventSource = "velero"     // the server wrote it into a status
	FromAgent   EventSource = "node-agent" // a node-agent wrote it into a status
	FromNode    EventSource = "node"       // the kubelet reports it about a container
	FromLog     EventSource = "log"        // the server's log
	FromVeltui  EventSource = "seen"       // veltui saw it while it ran
)

// EventTone is what an event means for the job.
type EventTone int

const (
	Neutral EventTone = iota
	Good
	Bad
)

// Timeline is what happened to a job, its volumes and operations, and to what it depends on.
type Timeline struct {
	Events []Event
	// Notes say what the times cannot tell, and what is omitted.
	Notes []string
}

// maxTimelineVolumes is how many volumes are named, open and failed ones first.
const maxTimelineVolumes = 400

// BuildTimeline returns the job's timeline. operations are its item operations, nil if unknown.
func (a *Assessment) BuildTimeline(j *job.Job, operations []artifact.Operation) Timeline {
	l := timelineBuilder{assessment: a, j: j}
	l.addServer()
	l.addLocation()
	l.addResource()
	l.addVolumes()
	l.addOperations(operations)
	l.addSeenChanges()
	l.addLog()
	l.addEnd()
	l.noteClocks()
	l.noteUnchecked()
	// Of the events of one second, those added later came later.
	slices.Reverse(l.Events)
	slices.SortStableFunc(l.Events, func(x, y Event) int { return y.At.Compare(x.At) })
	return l.Timeline
}

// timelineBuilder builds a timeline: events of one second in their order.
type timelineBuilder struct {
	Timeline
	assessment *Assessment
	j          *job.Job
}

func (l *timelineBuilder) addEvent(at time.Time, source EventSource, tone EventTone, format string, args ...any) {
	if at.IsZero() {
		return
	}
	if source == FromVelero || source == FromLog {
		at = at.Add(-l.assessment.World.ServerClockOffset)
	}
	l.Events = append(l.Events, Event{At: at, Source: source, Text: fmt.Sprintf(format, args...), Tone: tone})
}

// isAfterEnd reports whether a time is after the job's end, where it no longer matters.
func (l *timelineBuilder) isAfterEnd(at time.Time) bool {
	return l.j.IsTerminal() && !l.j.Completed.IsZero() && at.After(l.j.Completed.Add(time.Minute))
}

func (l *timelineBuilder) addServer() {
	now := l.assessment.Snapshot.Server
	seen := slices.Clone(l.assessment.Snapshot.Events)
	for _, s := range []watch.ClusterEvent{
		{At: now.LastTerminationAt, Kind: watch.EventServerStop, Name: now.Name, Reason: now.LastTerminationReason},
		{At: now.StartedAt, Kind: watch.EventServerStart, Name: now.Name},
	} {
		if !slices.Contains(seen, s) {
			seen = append(seen, s)
		}
	}
	for _, s := range seen {
		switch {
		case l.isAfterEnd(s.At):
		case s.Kind == watch.EventServerStop:
			l.addEvent(s.At, FromNode, Bad, "Velero's server stopped: %s (pod %s)", s.Reason, s.Name)
		case s.Kind == watch.EventServerStart:
			l.addEvent(s.At, FromNode, Neutral, "Velero's server started (pod %s)", s.Name)
		}
	}
}

func (l *timelineBuilder) addLocation() {
	env := l.assessment.World
	location, known := env.Locations[cmp.Or(l.j.StorageLocation, env.LocationByBackup[l.j.BackupName])]
	if !known || l.isAfterEnd(location.LastValidated) {
		return
	}
	tone, phase := Neutral, cmp.Or(location.Phase, "no phase yet")
	if location.Phase != velero.LocationAvailable && location.Phase != "" {
		tone, phase = Bad, phase+reasonClause(location.Message)
	}
	l.addEvent(location.LastValidated, FromVelero, tone, "storage location %s was last checked: %s", location.Name, phase)
}

func reasonClause(why string) string { return human.Prefixed(": ", why) }

func (l *timelineBuilder) addResource() {
	j := l.j
	switch {
	case isSynced(j):
		l.addEvent(j.Created, FromCluster, Neutral, "its resource was created: Velero found the backup in the object store")
	case j.Kind == job.Backup && j.ScheduleName != "":
		l.addEvent(j.Created, FromCluster, Neutral, "created by schedule %s", j.ScheduleName)
	case j.ScheduleName != "":
		l.addEvent(
			j.Created,
			FromCluster,
			Neutral,
			"created%s, to restore the newest backup of schedule %s",
			l.creatorText(),
			j.ScheduleName,
		)
	case j.BackupName != "":
		l.addEvent(j.Created, FromCluster, Neutral, "created%s, to restore backup %s", l.creatorText(), j.BackupName)
	default:
		l.addEvent(j.Created, FromCluster, Neutral, "created%s", l.creatorText())
	}
	l.addEvent(j.Started, FromVelero, Neutral, "Velero began to work on it")
	if j.Object != nil {
		for _, m := range j.Object.GetManagedFields() {
			if m.Time == nil || !m.Time.After(j.Created) {
				continue
			}
			what := "last wrote it"
			if writesStatus(m) {
				what = "last wrote its status"
			}
			l.addEvent(m.Time.Time, FromCluster, Neutral, "%s %s", m.Manager, what)
		}
		if at := j.Object.GetDeletionTimestamp(); at != nil {
			l.addEvent(at.Time, FromCluster, Bad, "somebody asked to delete its resource")
		}
	}
	if j.Kind != job.Backup {
		return
	}
	for _, d := range l.assessment.World.DeletionRequests {
		if d.Backup != j.Name {
			continue
		}
		tone, text := Neutral, cmp.Or(d.Phase, velero.PhaseNew)
		if len(d.Errors) > 0 {
			tone, text = Bad, text+reasonClause(human.JoinNames(d.Errors, 2))
		}
		l.addEvent(d.Created, FromCluster, tone, "deletion of the backup and its data was asked for (%s): %s", d.Name, text)
	}
}

// isSynced reports whether Velero found a backup in the object store and created its resource.
func isSynced(j *job.Job) bool {
	return j.Kind == job.Backup && !j.Completed.IsZero() && j.Created.After(j.Completed)
}

func (l *timelineBuilder) creatorText() string {
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

func (l *timelineBuilder) addVolumes() {
	list := make([]*job.Volume, len(l.j.Volumes))
	for i := range list {
		list[i] = &l.j.Volumes[i]
	}
	if len(list) > maxTimelineVolumes {
		ok := func(v *job.Volume) int {
			if v.HasEnded() && v.Phase == velero.VolumeCompleted {
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
		l.addEvent(v.Created, FromCluster, Neutral, "%s for %s was created", v.Kind, v.Target)
		l.addEvent(v.Accepted, FromAgent, Neutral, "%s: a node-agent accepted it", v.Target)
		l.addEvent(v.Started, FromAgent, Neutral, "%s: its data began to move%s", v.Target, human.Prefixed(" on ", v.Node))
		switch {
		case !v.HasEnded():
		case v.Phase == velero.VolumeCompleted:
			l.addEvent(v.Completed, FromAgent, Good, "%s: Completed%s", v.Target, movedText(v))
		default:
			l.addEvent(v.Completed, FromAgent, Bad, "%s: %s%s", v.Target, v.Phase, reasonClause(v.Message))
		}
	}
}

func movedText(v *job.Volume) string {
	if v.Total <= 0 {
		return ""
	}
	text := ", " + human.Bytes(v.Total)
	if took := v.Completed.Sub(v.Started); !v.Started.IsZero() && took > 0 {
		text += " in " + human.Duration(took)
	}
	return text
}

func (l *timelineBuilder) addOperations(operations []artifact.Operation) {
	for i := range operations {
		o := &operations[i]
		item := strings.TrimPrefix(o.Namespace+"/"+o.Name, "/")
		l.addEvent(o.Created, FromVelero, Neutral, "%s began an operation for %s %s", o.Action, o.Resource, item)
		switch o.Phase {
		case velero.OperationCompleted:
			l.addEvent(o.Updated, FromVelero, Good, "the operation for %s %s was Completed", o.Resource, item)
		case velero.OperationFailed, velero.VolumeCanceled:
			l.addEvent(
				o.Updated,
				FromVelero,
				Bad,
				"the operation for %s %s: %s%s",
				o.Resource,
				item,
				o.Phase,
				reasonClause(o.Error),
			)
		default:
			l.addEvent(
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

func (l *timelineBuilder) addSeenChanges() {
	for _, s := range l.j.SeenChanges {
		switch s.ChangeKind {
		case job.SeenPhase:
			l.addEvent(
				s.At,
				FromVeltui,
				phaseTone(s.To),
				"phase %s -> %s",
				cmp.Or(s.From, velero.PhaseNew),
				cmp.Or(s.To, velero.PhaseNew),
			)
		case job.SeenTotal:
			l.addEvent(
				s.At,
				FromVeltui,
				Neutral,
				"Velero revised the number of items from %d to %d",
				s.FromItems,
				s.ToItems,
			)
		case job.SeenVolumePhase:
			l.addEvent(
				s.At,
				FromVeltui,
				phaseTone(s.To),
				"%s %s: %s -> %s",
				s.VolumeKind,
				s.Volume,
				cmp.Or(s.From, velero.VolumeNew),
				s.To,
			)
		}
	}
	location := cmp.Or(l.j.StorageLocation, l.assessment.World.LocationByBackup[l.j.BackupName])
	for _, s := range l.assessment.Snapshot.Events {
		switch {
		case l.isAfterEnd(s.At) || !s.Until.IsZero() && s.Until.Before(l.j.Created):
		case s.Kind == watch.EventLocationPhase && s.Name == location:
			l.addEvent(
				s.At,
				FromVeltui,
				phaseTone(s.To),
				"storage location %s: %s -> %s%s",
				s.Name,
				cmp.Or(s.From, "no phase"),
				cmp.Or(s.To, "no phase"),
				reasonClause(s.Reason),
			)
		case s.Kind == watch.EventOutage:
			l.addEvent(s.At, FromVeltui, Bad, "veltui no longer reached the API server%s", reasonClause(s.Reason))
			if !s.Until.IsZero() {
				l.addEvent(s.Until, FromVeltui, Good, "all was live again, after %s", human.Duration(s.Until.Sub(s.At)))
			}
		}
	}
}

func phaseTone(phase string) EventTone {
	switch phase {
	case velero.PhaseCompleted, velero.LocationAvailable:
		return Good
	case velero.PhaseFailed,
		velero.PhasePartiallyFailed,
		velero.PhaseFinalizingPartiallyFailed,
		velero.PhaseWaitingForPluginOperationsPartiallyFailed,
		velero.PhaseFailedValidation,
		velero.LocationUnavailable,
		velero.VolumeCanceled,
		velero.VolumeCanceling:
		return Bad
	}
	return Neutral
}

func (l *timelineBuilder) addLog() {
	look, looked := l.assessment.closerLooks[l.j.UID]
	if !looked || !look.Evidence.LogChecked {
		return
	}
	found := look.Evidence.ServerLog
	if found.Hook.Pod != "" {
		l.addEvent(
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
		l.addEvent(
			found.Last.At,
			FromLog,
			Neutral,
			"the server logged about it: %s%s",
			found.Last.Text,
			reasonClause(found.Last.Error),
		)
	}
	l.addEvent(
		found.GaveUp.At,
		FromLog,
		Bad,
		"the server gave up writing its status: %s%s",
		found.GaveUp.Text,
		reasonClause(found.GaveUp.Error),
	)
}

func (l *timelineBuilder) addEnd() {
	j := l.j
	if !j.IsTerminal() {
		return
	}
	text, tone := "it ended as "+j.Phase, Good
	if j.Phase != velero.PhaseCompleted {
		tone = Bad
	}
	if j.Errors > 0 {
		text += ", " + human.Count(j.Errors, "error")
	}
	if j.Warnings > 0 {
		text += ", " + human.Count(j.Warnings, "warning")
	}
	l.addEvent(j.Completed, FromVelero, tone, "%s%s", text, reasonClause(j.FailureReason))
	if j.Completed.IsZero() {
		l.Notes = append(
			l.Notes,
			fmt.Sprintf("When it ended is not known: a job that is %s may have no completion time.", j.Phase),
		)
	}
}

// minClockSkew is the difference from which two clocks count as different: statuses have whole seconds.
const minClockSkew = 3 * time.Second

func (l *timelineBuilder) noteClocks() {
	if ahead := l.assessment.World.ServerClockOffset; ahead != 0 {
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
	if j := l.j; !j.Started.IsZero() && j.Created.Sub(j.Started) >= minClockSkew && !isSynced(j) {
		l.Notes = append(
			l.Notes,
			fmt.Sprintf(
				"Velero says that it began %s before the API server created it: their clocks differ.",
				human.Duration(j.Created.Sub(j.Started)),
			),
		)
	}
}

func (l *timelineBuilder) noteUnchecked() {
	wanted := []string{watch.Pods, watch.StorageLocations, watch.PodVolumeRestores, watch.DataDownloads}
	if l.j.Kind == job.Backup {
		wanted = []string{watch.Pods, watch.StorageLocations, watch.PodVolumeBackups, watch.DataUploads, watch.DeleteRequests}
	}
	var hidden []string
	for _, s := range l.assessment.Snapshot.Sources {
		if s.State == watch.SourceForbidden && slices.Contains(wanted, s.Resource) {
			hidden = append(hidden, s.Resource)
		}
	}
	if len(hidden) > 0 {
		l.Notes = append(
			l.Notes,
			fmt.Sprintf(
				"You may not list %s, so what happened to them is missing here (list and watch would help).",
				human.JoinNames(hidden, len(hidden)),
			),
		)
	}
	if look, looked := l.assessment.closerLooks[l.j.UID]; looked && look.Evidence.LogUnchecked != "" {
		l.Notes = append(l.Notes, "The server's log is missing here: "+look.Evidence.LogUnchecked+".")
	}
}
