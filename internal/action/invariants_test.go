package action

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/decode"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// situation is one point of the decision space. Invariants read it, not the
// evidence that is made of it, so that they do not repeat the rules.
type situation struct {
	kind      job.Kind
	phase     string
	server    string
	sign      string
	proof     string
	ops       string
	volumes   string
	location  string
	version   string
	right     string
	hooks     bool
	log       string
	around    string
	requested string
}

func (s situation) String() string {
	return fmt.Sprintf(
		"%s %q server=%s sign=%s proof=%s operations=%s volumes=%s location=%s version=%s right=%s hooks=%v log=%q around=%q --phase %q",
		s.kind,
		s.phase,
		s.server,
		s.sign,
		s.proof,
		s.ops,
		s.volumes,
		s.location,
		s.version,
		s.right,
		s.hooks,
		s.log,
		s.around,
		s.requested,
	)
}

var (
	everyPhase = []string{
		"",
		"New",
		"Queued",
		"ReadyToStart",
		"InProgress",
		"WaitingForPluginOperations",
		"WaitingForPluginOperationsPartiallyFailed",
		"Finalizing",
		"FinalizingPartiallyFailed",
		"Completed",
		"PartiallyFailed",
		"Failed",
		"FailedValidation",
		"Deleting",
		"Unheard",
	}
	everyServer = []string{"hidden", "none", "crashing", "alive", "restarted", "restarting", "start unknown"}
	everySign   = []string{"none", "job", "volume", "location", "file", "future"}
	everyProof  = []string{
		"not asked",
		"all",
		"absent",
		"unknown",
		"older",
		"no operations file",
		"empty list",
		"list unknown",
		"no counts",
		"errors",
	}
	everyOps     = []string{"none", "open", "failed"}
	everyVolumes = []string{
		"none",
		"unlisted",
		"uploading",
		"waits for other",
		"pod volume",
		"new",
		"new pod volume",
		"ended",
	}
	everyLocation = []string{"writable", "read-only", "unavailable", "unknown"}
	everyVersion  = []string{"v1.12.4", "v1.14.1", "v1.16.2", "v1.17.1", "v1.18.0", "v1.18.3", "v1.19.0", "sha256"}
	everyRight    = []string{"yes", "no", "unknown", "status subresource", "old CRD"}
	// everyLog is what the server's log tells of the job: that the server gave up
	// writing the status with the phase after "lost", and what came after that.
	everyLog = []string{
		"unread",
		"silent",
		"fresh line",
		"lost",
		"lost Finalizing",
		"lost FinalizingPartiallyFailed",
		"lost WaitingForPluginOperations",
		"lost WaitingForPluginOperationsPartiallyFailed",
		"lost PartiallyFailed",
		"lost Failed",
		"lost Finalizing, then a line",
		"lost Finalizing, then a write",
		"lost Finalizing, then a file",
		"lost Finalizing, then a start",
	}
	// loggedPhases are those in which the log, and what is around, may matter.
	loggedPhases = []string{
		"New",
		"ReadyToStart",
		"InProgress",
		"WaitingForPluginOperationsPartiallyFailed",
		"Finalizing",
		"Failed",
	}
	// everyAround is what else is in Velero's namespace: objects that Velero
	// cannot read, and node-agents.
	everyAround = []string{
		"fine",
		"malformed backup",
		"malformed restore",
		"malformed volume",
		"no node-agent",
		"node-agent starts",
	}
	everyRequest = []string{
		"",
		"Failed",
		"PartiallyFailed",
		"Finalizing",
		"FinalizingPartiallyFailed",
		"WaitingForPluginOperations",
		"Completed",
		"FailedValidation",
		"nonsense",
	}
)

// space makes evidence; the jobs and objects are made once and shared, as
// nothing that plans changes them.
type space struct {
	base map[string]Evidence
	logs map[string]velero.JobLog
}

func newSpace(t *testing.T) *space {
	s := &space{map[string]Evidence{}, map[string]velero.JobLog{}}
	for _, kind := range []job.Kind{job.Backup, job.Restore} {
		for _, phase := range everyPhase {
			for _, hooks := range []bool{false, true} {
				s.base[fmt.Sprint(kind, phase, hooks)] = evidence(
					t,
					kind,
					phase,
					lookedAt(24*time.Hour),
					func(e *Evidence) {
						if r, ok := e.Job.Object.(*veleroapi.Restore); ok && hooks {
							r.Spec.Hooks.Resources = []veleroapi.RestoreResourceHookSpec{{Name: "h"}}
						}
					},
				)
			}
		}
		for _, log := range everyLog {
			s.logs[fmt.Sprint(kind, log)] = velero.ReadJobLog(logText(kind, log), string(kind), "velero", "x", began)
		}
	}
	return s
}

// freshAge is how old fresh signs are; the server gives up after them, or in
// gaveUpEarly, before all of them and before the start of a server.
const freshAge = time.Minute

var (
	lookedAgain = began.Add(24 * time.Hour)
	gaveUpEarly = began.Add(30 * time.Minute)
)

// named is the phase that the log names as lost, and then what followed.
func (s situation) named() (phase, then string) {
	lost, then, _ := strings.Cut(s.log, ", then ")
	if phase, ok := strings.CutPrefix(lost, "lost "); ok {
		return phase, then
	}
	return "", then
}

// logText is a log as Velero writes it.
func logText(kind job.Kind, log string) string {
	line := func(at time.Time, msg, key string) string {
		return fmt.Sprintf(
			"time=%q level=error msg=%q %s=velero/x error=\"timed out\"\n",
			at.UTC().Format(time.RFC3339),
			msg,
			key,
		)
	}
	capital, key := "error", "backuprequest"
	if kind == job.Restore {
		capital, key = "Error", "Restore"
	}
	at := lookedAgain.Add(-freshAge / 2)
	phase, then := situation{log: log}.named()
	if then != "" {
		at = gaveUpEarly
	}
	text := line(began.Add(time.Minute), "1 item so far", kind.Noun())
	switch {
	case log == "unread", log == "silent":
		return ""
	case phase != "":
		text += line(at, capital+" updating "+kind.Noun()+"'s status from InProgress to "+phase, key)
	case log == "lost":
		text += line(at, capital+" updating "+kind.Noun()+"'s final status", key)
	}
	if log == "fresh line" || then == "a line" {
		text += line(lookedAgain.Add(-freshAge), "another item", kind.Noun())
	}
	return text
}

func (sp *space) evidence(s situation) Evidence {
	e := sp.base[fmt.Sprint(s.kind, s.phase, s.hooks)]
	j := *e.Job
	e.Job = &j
	e.Agents = []velero.NodeAgent{{Node: "n1", Ready: true, StartedAt: began.Add(-time.Hour)}}
	start := map[string]time.Time{
		"alive":      began.Add(-time.Hour),
		"restarted":  began.Add(time.Hour),
		"restarting": e.Now.Add(-time.Minute),
	}
	switch s.server {
	case "none":
		e.Server = serverOf()
	case "crashing":
		e.Server = velero.NewServer(
			[]velero.ServerPod{{Name: "velero-1", WaitingReason: "CrashLoopBackOff", Restarts: 9}},
			e.Now,
		)
	case "alive", "restarted", "restarting":
		e.Server = serverOf(velero.ServerPod{Name: "velero-1", StartedAt: start[s.server], Created: start[s.server]})
	case "start unknown":
		e.Server = serverOf(velero.ServerPod{Name: "velero-1"})
	}
	e.Server.Version = s.version
	sp.proof(&e, s)
	sp.volumes(&e, &j, s)
	sp.around(&e, s)
	switch s.sign {
	case "job":
		e.LastVeleroWrite = e.Now.Add(-freshAge)
	case "future":
		e.LastVeleroWrite = e.Now.Add(time.Hour)
	case "location":
		e.LastLocationWrite = e.Now.Add(-freshAge)
	}
	sp.log(&e, s)
	switch s.location {
	case "read-only":
		e.Location = &diagnosis.LocationStatus{Name: "s3", Phase: "Available", AccessMode: "ReadOnly"}
	case "unavailable":
		e.Location = &diagnosis.LocationStatus{Name: "s3", Phase: "Unavailable", AccessMode: "ReadWrite"}
	case "unknown":
		e.Location, e.LocationUnchecked = nil, "forbidden"
	}
	switch s.right {
	case "no":
		e.MayPatch = No
	case "unknown":
		e.MayPatch = Unknown
	case "status subresource":
		e.HasStatusSubresource = true
	case "old CRD":
		e.AllowedPhases = []string{"New", "InProgress", "Completed"}
	}
	return e
}

func (sp *space) log(e *Evidence, s situation) {
	if s.log == "unread" {
		e.LogUnchecked = "forbidden"
		return
	}
	e.LogChecked, e.ServerLog = true, sp.logs[fmt.Sprint(s.kind, s.log)]
	switch _, then := s.named(); then {
	case "a write":
		e.LastVeleroWrite = job.LatestTime(e.LastVeleroWrite, e.Now.Add(-freshAge))
	case "a file":
		if s.isStored() {
			e.Artifacts = slices.Clone(e.Artifacts)
			e.Artifacts[0].LastModified = e.Now.Add(-freshAge)
		}
	case "a start":
		if len(e.Server.Pods) > 0 {
			start := began.Add(time.Hour)
			e.Server = serverOf(
				append(
					slices.Clone(e.Server.Pods),
					velero.ServerPod{Name: "velero-2", StartedAt: start, Created: start},
				)...)
			e.Server.Version = s.version
		}
	}
}

func (sp *space) around(e *Evidence, s situation) {
	switch s.around {
	case "malformed backup", "malformed restore":
		e.MalformedJobs = []diagnosis.MalformedResource{
			{Ref: strings.TrimPrefix(s.around, "malformed ") + "/other", Field: decode.MalformedField{Field: "spec.ttl"}},
		}
	case "malformed volume":
		for _, k := range []velero.VolumeKind{velero.DataUpload, velero.DataDownload, velero.PodVolumeBackup, velero.PodVolumeRestore} {
			e.MalformedVolumes = append(
				e.MalformedVolumes,
				diagnosis.MalformedResource{
					Ref:   velero.VolumeRef{Kind: k, Name: "other"}.String(),
					Field: decode.MalformedField{Field: "spec.operationTimeout"},
				},
			)
		}
	case "no node-agent":
		e.Agents = nil
	case "node-agent starts":
		e.Agents = []velero.NodeAgent{
			{Node: "n2", Ready: true, StartedAt: began.Add(-time.Hour)},
			{Node: "n1", Created: e.Now},
		}
	}
}

func (sp *space) proof(e *Evidence, s situation) {
	if s.proof == "not asked" {
		return
	}
	stored(e)
	set := func(i int, p job.Presence) { e.Artifacts[i].Presence = p }
	switch s.proof {
	case "absent":
		set(0, job.Presence{State: job.Absent})
	case "unknown":
		set(0, job.Presence{Unchecked: "no answer"})
	case "older":
		for i := range e.Artifacts {
			set(i, job.Presence{State: job.Present, LastModified: began.Add(-time.Hour)})
		}
	case "no operations file":
		i := slices.IndexFunc(
			e.Artifacts,
			func(a Artifact) bool { return strings.HasSuffix(a.Target, "ItemOperations") },
		)
		set(i, job.Presence{State: job.Absent})
	case "empty list":
		e.StoredCounts.Items = 0
	case "list unknown":
		e.StoredCounts.Items, e.StoredCounts.ItemsKnown = 0, false
	case "no counts":
		e.StoredCounts = nil
	case "errors":
		e.StoredCounts.Errors = 3
	}
	if e.StoredCounts != nil {
		e.StoredCounts.Operations = map[string]job.Operations{"none": {}, "open": {Attempted: 2, Completed: 1}, "failed": {Attempted: 2, Completed: 1, Failed: 1}}[s.ops]
	}
	if s.sign == "file" && e.Artifacts[0].State == job.Present && s.proof != "older" {
		set(0, job.Presence{State: job.Present, LastModified: e.Now.Add(-freshAge)})
	}
}

func (sp *space) volumes(e *Evidence, j *job.Job, s situation) {
	quiet := e.Now.Add(-10 * time.Hour)
	if s.sign == "volume" {
		quiet = e.Now.Add(-freshAge)
	}
	mover, pod := velero.DataUpload, velero.PodVolumeBackup
	if s.kind == job.Restore {
		mover, pod = velero.DataDownload, velero.PodVolumeRestore
	}
	own := job.Volume{Kind: mover, Name: "own", Node: "n1", Created: began, LastChanged: quiet}
	other := job.Volume{
		Kind:        velero.DataUpload,
		Name:        "other",
		Node:        "n1",
		Phase:       "InProgress",
		Created:     began,
		LastChanged: quiet,
	}
	switch s.volumes {
	case "none":
		return
	case "unlisted":
		e.VolumesListed, e.VolumesUnchecked, e.AllOpenVolumesListed = Unknown, "forbidden", Unknown
		return
	case "uploading":
		own.Phase = "InProgress"
	case "waits for other":
		own.Phase = "Prepared"
		e.AllOpenVolumes = append(e.AllOpenVolumes, other)
	case "pod volume":
		own.Kind, own.Phase = pod, "InProgress"
	case "new":
		own.Phase, own.Node = "New", ""
	case "new pod volume":
		own.Kind, own.Phase, own.Node = pod, "New", ""
	case "ended":
		own.Phase = "Completed"
	}
	j.Volumes = []job.Volume{own}
	if !own.HasEnded() {
		e.AllOpenVolumes = append(e.AllOpenVolumes, own)
	}
	e.volumeObjects = map[velero.VolumeRef]*unstructured.Unstructured{
		own.Ref(): newObject(own.Kind.GroupVersionKind(), "velero", own.Name),
	}
	e.MayCancel = map[velero.VolumeKind]TriState{own.Kind: Yes}
}

// invariant is what no situation may break; broken is why one does.
type invariant struct {
	says   string
	broken func(s situation, p *Plan) bool
}

func (s situation) begun() bool {
	return !slices.Contains([]string{"", "New", "Queued", "ReadyToStart"}, s.phase)
}

func (s situation) terminal() bool { return velero.IsTerminalPhase(s.phase) }

// alive: the server was there when the job began, or something wrote to the job
// after the server's start, so that somebody older is still at work.
func (s situation) alive() bool {
	wrote := s.written()
	return s.server == "alive" || wrote && (s.server == "restarted" || s.server == "restarting")
}

// written: the job was written, or a file of it stored, a minute ago.
func (s situation) written() bool {
	_, then := s.named()
	file := s.isStored() && (s.sign == "file" || then == "a file")
	return s.sign == "job" || s.sign == "future" || then == "a write" || file
}

// isStored: a file of this job was seen in the object store.
func (s situation) isStored() bool {
	return !slices.Contains([]string{"not asked", "absent", "unknown", "older"}, s.proof)
}

// logged: the server logged about its work on the job a minute ago.
func (s situation) logged() bool {
	return s.log == "fresh line" || s.log == "lost Finalizing, then a line"
}

// provenLost: the server that works on the job says that it gave up, and nothing
// came after that.
func (s situation) provenLost() bool {
	_, then := s.named()
	return strings.HasPrefix(s.log, "lost") && then == "" && s.sign != "future"
}

// next is the phase that what is stored speaks for.
func (s situation) next() string {
	phase := "Finalizing"
	if s.ops == "open" {
		phase = "WaitingForPluginOperations"
	}
	if s.ops != "none" && s.ops != "open" || s.proof == "errors" {
		phase += "PartiallyFailed"
	}
	return phase
}

// contradicted: the log names another lost phase than what is stored speaks for.
func (s situation) contradicted() bool {
	phase, then := s.named()
	return phase != "" && then != "a line" && phase != s.next()
}

// malformedJob: an object that a server reads for this job's kind is malformed.
func (s situation) malformedJob() bool {
	return s.around == "malformed backup" || s.around == "malformed restore" && s.kind == job.Restore
}

// stored: everything is stored, newer than the job, and says what was done.
func (s situation) stored() bool {
	return s.proof == "all" || s.proof == "errors" ||
		s.kind == job.Restore && (s.proof == "empty list" || s.proof == "list unknown")
}

// fresh: something that works on the job wrote a minute ago. Of a location that
// says nothing where a server that runs or has just run explains it.
func (s situation) fresh() bool {
	if s.written() || s.logged() {
		return true
	}
	switch s.sign {
	case "volume":
		return s.volumes != "none" && s.volumes != "unlisted"
	case "location":
		return s.server == "none" || s.server == "crashing"
	}
	return false
}

func says(lines []string, part string) bool {
	return slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, part) })
}

// invariants of finalizing.
var finalizeInvariants = []invariant{
	{"Completed and FailedValidation are never written", func(_ situation, p *Plan) bool {
		return p.ToPhase == "Completed" || p.ToPhase == "FailedValidation"
	}},
	{"a job that has ended, is deleted or is in an unknown phase is never written", func(s situation, p *Plan) bool {
		return p.ToPhase != "" && (s.terminal() || s.phase == "Deleting" || s.phase == "Unheard")
	}},
	{
		"a job is moved on only with proof that all is stored and that something was backed up",
		func(s situation, p *Plan) bool {
			return p.Effect() == EffectNudge && !s.stored()
		},
	},
	{"a job whose volumes outnumber its stored operations is never moved on", func(s situation, p *Plan) bool {
		return p.Effect() == EffectNudge && s.ops == "none" &&
			slices.Contains([]string{"uploading", "waits for other", "new", "ended"}, s.volumes)
	}},
	{
		"a job is moved on only while all of its volumes are known and no pod volume moves",
		func(s situation, p *Plan) bool {
			return p.Effect() == EffectNudge &&
				slices.Contains([]string{"unlisted", "pod volume", "new pod volume"}, s.volumes)
		},
	},
	{"a job is moved on only to a server that runs", func(s situation, p *Plan) bool {
		return p.Effect() == EffectNudge && !s.alive() && s.server != "restarted"
	}},
	{"a backup is moved on only where its location is Available and ReadWrite", func(s situation, p *Plan) bool {
		return p.Effect() == EffectNudge && s.kind == job.Backup && s.location != "writable"
	}},
	{"a restore is moved on only where its location is Available", func(s situation, p *Plan) bool {
		return p.Effect() == EffectNudge && s.kind == job.Restore && (s.location == "unavailable" || s.location == "unknown")
	}},
	{
		"no final phase while anything that works on the job wrote in the last five minutes",
		func(s situation, p *Plan) bool {
			return p.Effect() == EffectEnd && s.fresh()
		},
	},
	{
		"a job is moved on only where nothing wrote, logged or stored a file in the last five minutes, or where the server's log says after that that it gave up",
		func(s situation, p *Plan) bool {
			return p.Effect() == EffectNudge && (s.logged() || s.written() && !s.provenLost())
		},
	},
	{"a job is never moved on to another phase than the server's log names as lost", func(s situation, p *Plan) bool {
		return p.Effect() == EffectNudge && s.contradicted()
	}},
	{
		"a job that the server's log says was to be finalized is only given up when that is asked for, while a server runs",
		func(s situation, p *Plan) bool {
			phase, then := s.named()
			return p.Effect() == EffectEnd && s.phase == "InProgress" && s.server == "restarted" && s.requested == "" &&
				phase != "" &&
				phase != "Failed" &&
				then != "a line"
		},
	},
	{
		"a job is moved on only while its server can read all backups, and of a restore all restores",
		func(s situation, p *Plan) bool {
			return p.Effect() == EffectNudge && s.malformedJob()
		},
	},
	{
		"no final phase where no server was recognised and its volumes could not be listed",
		func(s situation, p *Plan) bool {
			return p.Effect() == EffectEnd && s.volumes == "unlisted" && (s.server == "none" || s.server == "crashing")
		},
	},
	{"nothing is written while the servers, or their starts, are not known", func(s situation, p *Plan) bool {
		return p.ToPhase != "" && (s.server == "hidden" || s.server == "start unknown")
	}},
	{
		"a backup that is ready to start is never given up under the server that queued it",
		func(s situation, p *Plan) bool {
			return p.ToPhase != "" && s.phase == "ReadyToStart" && s.server == "alive"
		},
	},
	{
		"no final phase on a job in progress under the server that was there when it began",
		func(s situation, p *Plan) bool {
			return p.Effect() == EffectEnd && s.phase == "InProgress" && (s.server == "alive" || s.server == "restarting")
		},
	},
	{"nothing is written on a job that Velero ends by itself while a server runs", func(s situation, p *Plan) bool {
		live := s.server == "alive" || s.server == "restarted" || s.server == "restarting"
		return p.ToPhase != "" && live && (strings.HasPrefix(s.phase, "Waiting") || strings.HasPrefix(s.phase, "Finalizing"))
	}},
	{"a job that has not begun is only given up when that is asked for", func(s situation, p *Plan) bool {
		return p.ToPhase != "" && !s.begun() && (s.requested != "Failed" || p.ToPhase != "Failed")
	}},
	{
		"a job that may be complete after a restart is only given up when that is asked for",
		func(s situation, p *Plan) bool {
			return p.Effect() == EffectEnd && s.phase == "InProgress" && s.server == "restarted" && s.requested == "" &&
				slices.Contains([]string{"unknown", "no operations file", "no counts"}, s.proof)
		},
	},
	{
		"PartiallyFailed is only written with proof, and never without Velero's finalizer where data movers were at work",
		func(s situation, p *Plan) bool {
			movers := slices.Contains(
				[]string{"uploading", "waits for other", "new", "ended", "unlisted"},
				s.volumes,
			) ||
				s.ops != "none" && s.stored()
			return p.ToPhase == "PartiallyFailed" && s.phase == "InProgress" && (!s.stored() || movers)
		},
	},
	{
		"nothing is written without the right to, where the CRD does not allow it, or where the CRD would drop it",
		func(s situation, p *Plan) bool {
			return p.ToPhase != "" && s.right != "yes" && s.right != "old CRD" || p.ToPhase != "" && s.right == "old CRD"
		},
	},
	{"what was asked for is written, or nothing", func(s situation, p *Plan) bool {
		return p.ToPhase != "" && s.requested != "" && p.ToPhase != s.requested
	}},
	{"every refusal names its reason and what would help", func(_ situation, p *Plan) bool {
		return p.Effect() == EffectRefuse && (p.Refusal == "" || p.Advice == "")
	}},
	{"every plan says why, what it does, what it does not, and the kubectl command", func(_ situation, p *Plan) bool {
		return p.Effect() != EffectRefuse &&
			(p.EvidenceText == "" || len(p.Will) == 0 || len(p.WillNot) == 0 || len(p.Commands) != 1 || !p.IsPossible())
	}},
	{"ending a backup that names no location says that Velero cannot delete it", func(s situation, p *Plan) bool {
		return p.Effect() == EffectEnd && s.kind == job.Backup && !says(p.Afterwards, "Velero cannot delete it")
	}},
	{"ending a backup as Failed says that it cannot be restored from", func(s situation, p *Plan) bool {
		return p.ToPhase == "Failed" && s.kind == job.Backup && s.begun() && !says(p.Afterwards, "cannot restore from it")
	}},
	{"ending a job over older files of its name says that deleting it deletes those", func(s situation, p *Plan) bool {
		return p.Effect() == EffectEnd && s.proof == "older" && !says(p.Afterwards, "older")
	}},
	{"ending or moving on a restore with hooks says that hooks will not run", func(s situation, p *Plan) bool {
		return p.ToPhase != "" && s.kind == job.Restore && s.hooks && s.begun() && !s.alive() &&
			!says(p.WillNot, "run hooks")
	}},
}

// invariants of the other actions.
var remedyInvariants = []invariant{
	{"a volume is never cancelled while another may hold its slot", func(s situation, p *Plan) bool {
		return p.Action == CancelVolumes && p.IsPossible() && s.volumes == "waits for other" && !s.terminal()
	}},
	{"a volume is never cancelled while it was written in the last five minutes", func(s situation, p *Plan) bool {
		return p.Action == CancelVolumes && p.IsPossible() && s.sign == "volume" && !s.terminal()
	}},
	{
		"a volume is never cancelled where no node-agent would hear it: none runs, or Velero cannot read a volume of that kind",
		func(s situation, p *Plan) bool {
			return p.Action == CancelVolumes && p.IsPossible() &&
				(s.around == "malformed volume" || s.around == "no node-agent" && s.server != "hidden")
		},
	},
	{
		"a volume that waits for a node-agent is never cancelled while one starts that may begin it",
		func(s situation, p *Plan) bool {
			return p.Action == CancelVolumes && p.IsPossible() && s.around == "node-agent starts" &&
				strings.HasPrefix(s.volumes, "new") &&
				!s.terminal()
		},
	},
	{
		"a pod volume restore is never cancelled because nobody begins it: its restored pod may still have to start",
		func(s situation, p *Plan) bool {
			return p.Action == CancelVolumes && s.kind == job.Restore && s.volumes == "new pod volume" && !s.terminal()
		},
	},
	{
		"no volume is cancelled where not all of them could be listed or the pods not seen",
		func(s situation, p *Plan) bool {
			return p.Action == CancelVolumes && p.IsPossible() &&
				(s.volumes == "unlisted" || s.server == "hidden" && !s.terminal())
		},
	},
	{
		"the volumes of a job that ended other than Failed are cancelled only where they cannot move any more",
		func(s situation, p *Plan) bool {
			return p.Action == CancelVolumes && p.IsPossible() && s.terminal() && s.phase != "Failed" &&
				(s.sign == "volume" || s.volumes == "waits for other")
		},
	},
	{
		"pod volume backups are not cancelled where Velero cannot, or then waits for hours",
		func(s situation, p *Plan) bool {
			able := []string{"v1.18.3", "v1.19.0"}
			if s.terminal() { // nothing waits for them any more
				able = append(able, "v1.17.1", "v1.18.0")
			}
			return p.Action == CancelVolumes && p.IsPossible() && s.kind == job.Backup &&
				strings.HasSuffix(s.volumes, "pod volume") &&
				!slices.Contains(able, s.version)
		},
	},
	{
		"only a backup is woken, only where it waits for Velero to look, and only with a server",
		func(s situation, p *Plan) bool {
			waits := s.phase == "ReadyToStart" || strings.HasPrefix(s.phase, "Finalizing")
			return p.Action == Wake && (s.kind != job.Backup || !waits || s.server == "none" || s.server == "crashing")
		},
	},
	{"veltui restarts nothing itself, and says so", func(_ situation, p *Plan) bool {
		return (p.Action == Restart || p.Action == RestartNodeAgent) &&
			(p.IsPossible() || p.Refusal == "" || len(p.Commands) == 0)
	}},
	{
		"a restart is never advised while volumes of the job move or could not be listed",
		func(s situation, p *Plan) bool {
			return p.Action == Restart && s.phase == "InProgress" &&
				!slices.Contains([]string{"none", "ended"}, s.volumes)
		},
	},
	{
		"a restart is never advised while the server's log shows that it works on the job",
		func(s situation, p *Plan) bool {
			return p.Action == Restart && s.begun() && s.logged()
		},
	},
	{
		"a restart is never advised while the server that starts could not read a backup or a restore",
		func(s situation, p *Plan) bool {
			return p.Action == Restart && (s.around == "malformed backup" || s.around == "malformed restore")
		},
	},
	{
		"a restart is never advised where it does not help: no server, an old CRD, a status subresource",
		func(s situation, p *Plan) bool {
			live := s.server == "alive" || s.server == "restarted"
			return p.Action == Restart && (!live || s.right == "old CRD" || s.right == "status subresource")
		},
	},
	{
		"a restart is never advised for a backup that the restarted server has forgotten",
		func(s situation, p *Plan) bool {
			return p.Action == Restart && s.phase == "ReadyToStart" && !s.alive()
		},
	},
	{"a restart is never advised in place of moving the job on", func(s situation, p *Plan) bool {
		return p.Action == Restart && s.phase == "InProgress" && s.stored() && s.ops != "none" &&
			s.location == "writable" &&
			s.right == "yes" &&
			!s.contradicted()
	}},
	{"a restart of a server over a job in progress says which jobs it fails", func(s situation, p *Plan) bool {
		return p.Action == Restart && s.phase == "InProgress" && len(p.FailingJobs) == 0
	}},
	{"nothing is written without the right to", func(s situation, p *Plan) bool {
		return p.Action == Wake && p.IsPossible() && (s.right == "no" || s.right == "unknown")
	}},
	{"every plan says why, what it does and how; every refusal what would help", func(_ situation, p *Plan) bool {
		return p.EvidenceText == "" && p.Refusal == "" || p.Refusal != "" && p.Advice == "" ||
			p.IsPossible() && (len(p.Will) == 0 || len(p.Commands) == 0)
	}},
	{"no action but finalizing writes a phase", func(_ situation, p *Plan) bool { return p.ToPhase != "" }},
}

// part is a part of the space: all that it does not name is taken in full.
type part struct {
	phases, versions, rights []string
	hooks                    []bool
	logs, arounds, requests  []string
}

// every calls f with each situation of a part, from all processors. stride
// above one leaves out all but every stride-th.
func (w part) every(stride int64, f func(situation)) (n int64) {
	work := make(chan situation, 64)
	var done sync.WaitGroup
	var count atomic.Int64
	each := int64(len(everyProof) * len(everyOps) * len(everyVolumes) * len(everyLocation) * len(w.requests))
	for range runtime.GOMAXPROCS(0) {
		done.Go(func() {
			for s := range work {
				// Only what is taken is made: going through all that is left out
				// would cost the race detector half a minute.
				end := count.Add(each)
				for at := ((end-each)/stride + 1) * stride; at <= end; at += stride {
					i := int(end - at)
					for _, of := range []struct {
						value *string
						all   []string
					}{{&s.proof, everyProof}, {&s.ops, everyOps}, {&s.volumes, everyVolumes}, {&s.location, everyLocation}, {&s.requested, w.requests}} {
						*of.value, i = of.all[i%len(of.all)], i/len(of.all)
					}
					f(s)
				}
			}
		})
	}
	for _, kind := range []job.Kind{job.Backup, job.Restore} {
		for _, phase := range w.phases {
			for _, server := range everyServer {
				for _, sign := range everySign {
					for _, version := range w.versions {
						for _, right := range w.rights {
							for _, hook := range w.hooks {
								for _, log := range w.logs {
									for _, around := range w.arounds {
										work <- situation{kind: kind, phase: phase, server: server, sign: sign, version: version, right: right, hooks: hook, log: log, around: around}
									}
								}
							}
						}
					}
				}
			}
		}
	}
	close(work)
	done.Wait()
	return count.Load() / stride
}

// TestInvariants holds the plans of all situations against what must never be.
// It takes a sample of them, see [sampleStride] and docs/dev/invariants.md.
func TestInvariants(t *testing.T) {
	stride := int64(sampleStride(29, 293, 4999))
	most := int64(sampleStride(29, 293, 499)) // the stride of the parts that need more
	// Almost nothing stays in memory: half of the time would go into collecting
	// a few megabytes again and again.
	defer debug.SetGCPercent(debug.SetGCPercent(2000))
	sp := newSpace(t)
	var mu sync.Mutex
	broken := map[string]int{}
	check := func(s situation, p *Plan, all []invariant) {
		for _, i := range all {
			if !i.broken(s, p) {
				continue
			}
			mu.Lock()
			if broken[i.says]++; broken[i.says] <= 3 {
				t.Errorf(
					"%s: broken by %v:\n%s to %q, refusal %q, why %q, then %q",
					i.says,
					s,
					p.Action,
					p.ToPhase,
					p.Refusal,
					p.EvidenceText,
					p.Afterwards,
				)
			}
			mu.Unlock()
		}
	}
	var plans atomic.Int64
	finalizes := func(s situation) {
		p, ok := PlanFor(Finalize, sp.evidence(s), Request{Phase: s.requested})
		if !ok {
			t.Error("finalizing has neither a plan nor a refusal")
		}
		if p.Effect() != EffectRefuse {
			plans.Add(1)
		}
		check(s, &p, finalizeInvariants)
	}
	remedies := func(s situation) {
		for _, p := range BuildPlans(sp.evidence(s), Request{})[1:] {
			plans.Add(1)
			check(s, &p, remedyInvariants)
		}
	}
	no, both, yes, one, unread, fine := []bool{
		false,
	}, []bool{
		false,
		true,
	}, []string{
		"yes",
	}, []string{
		"v1.18.3",
	}, []string{
		"unread",
	}, []string{
		"fine",
	}
	var n int64
	for _, w := range []part{
		{everyPhase, one, yes, no, unread, fine, everyRequest},
		{everyPhase, one, everyRight, both, unread, fine, []string{"", "Failed"}},
		{loggedPhases, one, yes, no, everyLog, fine, []string{"", "Failed"}},
	} {
		n += w.every(stride, finalizes)
	}
	// Few situations of these parts can be moved on, so that they need more.
	for _, w := range []part{
		{[]string{"InProgress"}, one, yes, no, everyLog, fine, []string{"", "Finalizing"}},
		{[]string{"InProgress"}, one, yes, no, []string{"silent", "lost"}, everyAround, []string{""}},
	} {
		n += w.every(min(stride, most), finalizes)
	}
	for _, w := range []part{
		{everyPhase, everyVersion, yes, both, unread, fine, []string{""}},
		{everyPhase, one, everyRight, no, unread, fine, []string{""}},
		{loggedPhases, one, yes, no, everyLog, fine, []string{""}},
		{loggedPhases, []string{"v1.14.1", "v1.18.3"}, yes, no, unread, everyAround, []string{""}},
	} {
		n += w.every(stride, remedies)
	}
	t.Logf("%d situations, %d plans, %d invariants", n, plans.Load(), len(finalizeInvariants)+len(remedyInvariants))
	if plans.Load() == 0 {
		t.Error("no situation has a plan")
	}
	if testing.Short() {
		t.Skip("a sample of them passed")
	}
}
