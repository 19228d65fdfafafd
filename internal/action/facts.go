package action

import (
	"slices"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// Facts are the evidence in words. Those that do not hold are unknown, or speak against finalizing.
func (p *Plan) Facts() []diagnosis.Fact {
	l := ledger{e: &p.evidence}
	if found := p.evidence.proposal; found != nil {
		for _, f := range found.ledger.Facts() {
			l.Note(f.Holds, f.Source, f.At, "%s", f.Text)
		}
	} else {
		l.job(p.To)
	}
	if note := velero.UnreadNote(p.evidence.Server.Version); note != "" {
		l.Doubts(diagnosis.SourcePod, p.evidence.At, "%s", note)
	}
	doubt := p.evidence.skew.doubt()
	if a, err := actionNamed(p.Action); err == nil && !a.restsOnAges(&p.evidence) {
		doubt = p.evidence.skew.remark()
	}
	if doubt != "" {
		l.Doubts(diagnosis.SourceAPI, p.evidence.At, "%s", doubt)
	}
	return l.Facts()
}

// job is what is known of a job that would be written as to.
func (l *ledger) job(to string) {
	l.progress()
	l.volumes()
	l.namespaces()
	l.storage()
	l.server()
	l.log()
	l.api(to)
}

type ledger struct {
	diagnosis.Ledger
	e *Evidence
}

func (l *ledger) doubt(source, what, why string) {
	l.Doubts(source, l.e.At, "%s", cannotTell(what, why))
}

func (l *ledger) progress() {
	e, j := l.e, l.e.Job
	phase := j.Phase
	if phase == "" {
		phase = "none yet"
	}
	l.Supports(diagnosis.SourceAPI, e.At, "phase %s", phase)
	if j.Items.Known {
		l.Supports(
			diagnosis.SourceAPI,
			j.QuietSince(),
			"%d of %d items, unchanged for %s",
			j.Items.Done,
			j.Items.Total,
			human.Duration(e.quiet()),
		)
	} else {
		// Velero writes it before the first item: a backup without it may have failed before.
		l.Note(
			j.Kind != job.Backup || j.Phase != velero.PhaseInProgress,
			diagnosis.SourceAPI,
			j.QuietSince(),
			"no item count, unchanged for %s",
			human.Duration(e.quiet()),
		)
	}
}

func (l *ledger) volumes() {
	e := l.e
	switch moving := e.moving(); {
	case e.Volumes != Yes:
		l.doubt(diagnosis.SourceAPI, "whether volumes are still moving", e.VolumesWhy)
	case len(moving) > 0:
		l.Doubts(diagnosis.SourceAPI, e.At, "%s not ended", human.Plural(len(moving), "volume has", "volumes have"))
	default:
		l.Supports(diagnosis.SourceAPI, e.At, diagnosis.NoVolumeMoves)
	}
	if ops := e.Job.Operations; ops.Attempted > 0 {
		l.Supports(diagnosis.SourceAPI, e.At, "%d of %d operations ended", ops.Completed+ops.Failed, ops.Attempted)
	}
	if loc := e.Location; loc != nil {
		readOnly := ""
		if loc.AccessMode == string(velerov1.BackupStorageLocationAccessModeReadOnly) {
			readOnly = " and read-only"
		}
		l.Note(
			loc.Phase == velero.LocationAvailable && (readOnly == "" || e.Job.Kind == job.Restore),
			diagnosis.SourceAPI,
			loc.LastValidated,
			"storage location %s is %s%s%s",
			loc.Name,
			loc.Phase,
			readOnly,
			because(loc.Message),
		)
	} else if e.LocationWhy != "" {
		l.doubt(diagnosis.SourceAPI, "whether the storage location is available", e.LocationWhy)
	}
}

func (l *ledger) namespaces() {
	e := l.e
	switch {
	case e.Job.Kind != job.Restore || e.Job.Terminal():
	case !e.NamespacesSeen && proof(e).refusal == "": // all is restored, so that it waits for none
	case !e.NamespacesSeen:
		l.doubt(
			diagnosis.SourceNamespaces,
			"whether it restores into a namespace that is being deleted",
			e.NamespacesWhy,
		)
	case len(e.Terminating) > 0:
		l.Doubts(
			diagnosis.SourceNamespaces,
			e.At,
			"%s: Velero waits up to 10 minutes for each item in it (Velero issues 5697, 8234)",
			human.Plural(
				len(e.Terminating),
				"namespace that it restores into is being deleted",
				"namespaces that it restores into are being deleted",
			)+" ("+human.List(
				e.Terminating,
				5,
			)+")",
		)
	default:
		l.Supports(diagnosis.SourceNamespaces, e.At, "no namespace that it restores into is being deleted")
	}
}

func (l *ledger) storage() {
	e := l.e
	for _, a := range e.Artifacts {
		switch {
		case a.State == job.Absent:
			l.Doubts(diagnosis.SourceStorage, e.At, "%s is not stored", a.Target)
		case a.State != job.Present:
			l.doubt(diagnosis.SourceStorage, "whether "+a.Target+" is stored", a.Why)
		case a.LastModified.After(e.began()):
			l.Supports(diagnosis.SourceStorage, a.LastModified, "%s is stored, newer than the job's start", a.Target)
		default:
			l.Doubts(
				diagnosis.SourceStorage,
				a.LastModified,
				"%s is stored, but may be older than the job's start",
				a.Target,
			)
		}
	}
	if len(e.Artifacts) == 0 && !e.Job.Terminal() && e.Job.Stage != job.StageQueued {
		l.Doubts(diagnosis.SourceStorage, e.At, diagnosis.ResultsUnchecked)
	}
	if e.Counts != nil && e.Counts.ItemsKnown {
		l.Note(
			e.Counts.Items > 0 || e.Job.Kind == job.Restore,
			diagnosis.SourceStorage,
			e.At,
			"its stored resource list names %s",
			human.Count(e.Counts.Items, "item"),
		)
	}
	if e.Counts != nil {
		l.Supports(
			diagnosis.SourceStorage,
			e.At,
			"its results report %s and %s",
			human.Count(e.Counts.Errors, "error"),
			human.Count(e.Counts.Warnings, "warning"),
		)
	} else if e.CountsWhy != "" {
		l.Doubts(diagnosis.SourceStorage, e.At, "cannot read its results: %s", e.CountsWhy)
	}
}

func (l *ledger) server() {
	e := l.e
	switch s := e.Server; {
	case !s.Visible:
		l.doubt(diagnosis.SourcePod, "whether a Velero server is running", e.PodsWhy)
	case len(s.Pods) == 0:
		l.Supports(diagnosis.SourcePod, e.At, "no pod was recognised as a running Velero server%s", because(s.Waiting))
	default:
		for _, c := range s.Pods {
			when := "before"
			if c.StartedAt.After(e.began()) {
				when = "after"
			}
			l.Supports(
				diagnosis.SourcePod,
				c.StartedAt,
				"Velero server %s is running, since %s the job started",
				c.Name,
				when,
			)
		}
	}
	if e.owner() == ownerAlive &&
		slices.ContainsFunc(e.Server.Pods, func(c velero.ServerPod) bool { return c.StartedAt.After(e.began()) }) {
		l.Doubts(diagnosis.SourceAPI, e.VeleroWrote, "Velero changed the job after that server started")
	}
	if s := e.Server; s.LastTermination != "" {
		l.Supports(diagnosis.SourcePod, s.LastTerminationAt, "%s", diagnosis.RestartedText(s.ServerPod))
	}
	if s, fresh := e.lifeSign(); fresh && !e.Job.Terminal() {
		l.Doubts(diagnosis.SourceAPI, s.at, "%s %s ago", s.what, human.Duration(max(0, e.At.Sub(s.at))))
	}
	for _, m := range e.Malformed {
		l.Doubts(diagnosis.SourceAPI, e.At, "a Velero server cannot read %s", m)
	}
}

func (l *ledger) log() {
	e := l.e
	switch {
	case e.gaveUp():
		l.Supports(diagnosis.SourceLog, e.Log.GaveUp.At, "%s", diagnosis.GaveUpText(e.Log.GaveUp))
	case !e.LogSeen && e.LogWhy != "":
		l.Doubts(diagnosis.SourceLog, e.At, "what the server's log says could not be read%s", because(e.LogWhy))
	case e.LogSeen && !e.Log.Last.At.IsZero():
		l.Note(
			e.At.Sub(e.Log.Last.At) >= velero.Lifeless,
			diagnosis.SourceLog,
			e.Log.Last.At,
			"%s",
			diagnosis.LoggedText(e.Log.Last),
		)
	}
}

func (l *ledger) api(to string) {
	e, as := l.e, human.Clause(", as ", l.e.By)
	switch e.MayPatch {
	case Yes:
		l.Supports(diagnosis.SourceRBAC, e.At, "you may patch it%s", as)
	case No:
		l.Doubts(diagnosis.SourceRBAC, e.At, "you may not patch it%s%s", as, because(e.MayPatchWhy))
	default:
		l.doubt(diagnosis.SourceRBAC, "whether you may patch it", e.MayPatchWhy)
	}
	switch {
	case e.Phases == nil:
		l.doubt(diagnosis.SourceSchema, "before the dry run which phases the CRD allows", e.PhasesWhy)
	case slices.Contains(e.Phases, to):
		l.Supports(diagnosis.SourceSchema, e.At, "the CRD allows %s", to)
	default:
		l.schema()
	}
}

// schema names the phases still to come that the CRD does not allow. An older Velero does not use them either.
func (l *ledger) schema() {
	e := l.e
	missing := slices.DeleteFunc(
		slices.Clone(onward),
		func(phase string) bool { return slices.Contains(e.Phases, phase) },
	)
	if len(missing) == 0 {
		l.Supports(diagnosis.SourceSchema, e.At, "the CRD allows all phases that may follow")
		return
	}
	l.Doubts(
		diagnosis.SourceSchema,
		e.At,
		"the CRD does not allow %s: if the server is newer than it, its last patch was refused (Velero issue 6170)",
		strings.Join(missing, ", "),
	)
}
