package action

import (
	"slices"
	"strings"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// Facts returns the evidence in words. Facts that do not hold are unknown, or speak against finalizing.
func (p *Plan) Facts() []diagnosis.Fact {
	l := planFacts{evidence: &p.evidence}
	if found := p.evidence.proposal; found != nil {
		for _, f := range found.facts.Facts() {
			l.AddFact(f.Supports, f.Source, f.At, "%s", f.Text)
		}
	} else {
		l.addJob(p.ToPhase)
	}
	if note := velero.UnreviewedVersionNote(p.evidence.Server.Version); note != "" {
		l.AddDoubt(diagnosis.SourcePod, p.evidence.Now, "%s", note)
	}
	doubt := p.evidence.clockSkew.doubtText()
	if a, err := findAction(p.Action); err == nil && !a.restsOnAges(&p.evidence) {
		doubt = p.evidence.clockSkew.remarkText()
	}
	if doubt != "" {
		l.AddDoubt(diagnosis.SourceAPI, p.evidence.Now, "%s", doubt)
	}
	return l.Facts()
}

// addJob adds what is known of a job in which the phase to would be written.
func (l *planFacts) addJob(to string) {
	l.addProgress()
	l.addVolumes()
	l.addNamespaces()
	l.addStorage()
	l.addServer()
	l.addServerLog()
	l.addAPI(to)
}

type planFacts struct {
	diagnosis.FactCollector
	evidence *Evidence
}

func (l *planFacts) addDoubt(source, what, why string) {
	l.AddDoubt(source, l.evidence.Now, "%s", cannotTellText(what, why))
}

func (l *planFacts) addProgress() {
	e, j := l.evidence, l.evidence.Job
	phase := j.Phase
	if phase == "" {
		phase = "none yet"
	}
	l.AddSupport(diagnosis.SourceAPI, e.Now, "phase %s", phase)
	if j.Items.Known {
		l.AddSupport(
			diagnosis.SourceAPI,
			j.QuietSince(),
			"%d of %d items, unchanged for %s",
			j.Items.Done,
			j.Items.Total,
			human.Duration(e.quietDuration()),
		)
	} else {
		// Velero writes the progress before the first item: a backup without it may have failed earlier.
		l.AddFact(
			j.Kind != job.Backup || j.Phase != velero.PhaseInProgress,
			diagnosis.SourceAPI,
			j.QuietSince(),
			"no item count, unchanged for %s",
			human.Duration(e.quietDuration()),
		)
	}
}

func (l *planFacts) addVolumes() {
	e := l.evidence
	switch moving := e.unendedVolumes(); {
	case e.VolumesListed != Yes:
		l.addDoubt(diagnosis.SourceAPI, "whether volumes are still moving", e.VolumesUnchecked)
	case len(moving) > 0:
		l.AddDoubt(diagnosis.SourceAPI, e.Now, "%s not ended", human.CountForms(len(moving), "volume has", "volumes have"))
	default:
		l.AddSupport(diagnosis.SourceAPI, e.Now, diagnosis.NoVolumeMoves)
	}
	if ops := e.Job.Operations; ops.Attempted > 0 {
		l.AddSupport(diagnosis.SourceAPI, e.Now, "%d of %d operations ended", ops.Completed+ops.Failed, ops.Attempted)
	}
	if loc := e.Location; loc != nil {
		readOnly := ""
		if loc.AccessMode == string(veleroapi.BackupStorageLocationAccessModeReadOnly) {
			readOnly = " and read-only"
		}
		l.AddFact(
			loc.Phase == velero.LocationAvailable && (readOnly == "" || e.Job.Kind == job.Restore),
			diagnosis.SourceAPI,
			loc.LastValidated,
			"storage location %s is %s%s%s",
			loc.Name,
			loc.Phase,
			readOnly,
			causeSuffix(loc.Message),
		)
	} else if e.LocationUnchecked != "" {
		l.addDoubt(diagnosis.SourceAPI, "whether the storage location is available", e.LocationUnchecked)
	}
}

func (l *planFacts) addNamespaces() {
	e := l.evidence
	switch {
	case e.Job.Kind != job.Restore || e.Job.IsTerminal():
	case !e.NamespacesChecked && checkAllFilesStored(e).refusal == "": // all is restored: no waiting for namespaces
	case !e.NamespacesChecked:
		l.addDoubt(
			diagnosis.SourceNamespaces,
			"whether it restores into a namespace that is being deleted",
			e.NamespacesUnchecked,
		)
	case len(e.TerminatingNamespaces) > 0:
		l.AddDoubt(
			diagnosis.SourceNamespaces,
			e.Now,
			"%s: Velero waits up to 10 minutes for each item in it (Velero issues 5697, 8234)",
			human.CountForms(
				len(e.TerminatingNamespaces),
				"namespace that it restores into is being deleted",
				"namespaces that it restores into are being deleted",
			)+" ("+human.JoinNames(
				e.TerminatingNamespaces,
				5,
			)+")",
		)
	default:
		l.AddSupport(diagnosis.SourceNamespaces, e.Now, "no namespace that it restores into is being deleted")
	}
}

func (l *planFacts) addStorage() {
	e := l.evidence
	for _, a := range e.Artifacts {
		switch {
		case a.State == job.Absent:
			l.AddDoubt(diagnosis.SourceStorage, e.Now, "%s is not stored", a.Target)
		case a.State != job.Present:
			l.addDoubt(diagnosis.SourceStorage, "whether "+a.Target+" is stored", a.Unchecked)
		case a.LastModified.After(e.startTime()):
			l.AddSupport(diagnosis.SourceStorage, a.LastModified, "%s is stored, newer than the job's start", a.Target)
		default:
			l.AddDoubt(
				diagnosis.SourceStorage,
				a.LastModified,
				"%s is stored, but may be older than the job's start",
				a.Target,
			)
		}
	}
	if len(e.Artifacts) == 0 && !e.Job.IsTerminal() && e.Job.Stage != job.StageQueued {
		l.AddDoubt(diagnosis.SourceStorage, e.Now, diagnosis.ResultsUnchecked)
	}
	if e.StoredCounts != nil && e.StoredCounts.ItemsKnown {
		l.AddFact(
			e.StoredCounts.Items > 0 || e.Job.Kind == job.Restore,
			diagnosis.SourceStorage,
			e.Now,
			"its stored resource list names %s",
			human.Count(e.StoredCounts.Items, "item"),
		)
	}
	if e.StoredCounts != nil {
		l.AddSupport(
			diagnosis.SourceStorage,
			e.Now,
			"its results report %s and %s",
			human.Count(e.StoredCounts.Errors, "error"),
			human.Count(e.StoredCounts.Warnings, "warning"),
		)
	} else if e.CountsUnchecked != "" {
		l.AddDoubt(diagnosis.SourceStorage, e.Now, "cannot read its results: %s", e.CountsUnchecked)
	}
}

func (l *planFacts) addServer() {
	e := l.evidence
	switch s := e.Server; {
	case !s.Visible:
		l.addDoubt(diagnosis.SourcePod, "whether a Velero server is running", e.PodsUnchecked)
	case len(s.Pods) == 0:
		l.AddSupport(
			diagnosis.SourcePod,
			e.Now,
			"no pod was recognised as a running Velero server%s",
			causeSuffix(s.WaitingReason),
		)
	default:
		for _, c := range s.Pods {
			when := "before"
			if c.StartedAt.After(e.startTime()) {
				when = "after"
			}
			l.AddSupport(
				diagnosis.SourcePod,
				c.StartedAt,
				"Velero server %s is running, since %s the job started",
				c.Name,
				when,
			)
		}
	}
	if e.findJobOwner() == ownerAlive &&
		slices.ContainsFunc(e.Server.Pods, func(c velero.ServerPod) bool { return c.StartedAt.After(e.startTime()) }) {
		l.AddDoubt(diagnosis.SourceAPI, e.LastVeleroWrite, "Velero changed the job after that server started")
	}
	if s := e.Server; s.LastTerminationReason != "" {
		l.AddSupport(diagnosis.SourcePod, s.LastTerminationAt, "%s", diagnosis.RestartedText(s.ServerPod))
	}
	if s, fresh := e.newestLifeSign(); fresh && !e.Job.IsTerminal() {
		l.AddDoubt(diagnosis.SourceAPI, s.at, "%s %s ago", s.text, human.Duration(max(0, e.Now.Sub(s.at))))
	}
	for _, m := range e.MalformedJobs {
		l.AddDoubt(diagnosis.SourceAPI, e.Now, "a Velero server cannot read %s", m)
	}
}

func (l *planFacts) addServerLog() {
	e := l.evidence
	switch {
	case e.hasServerGivenUp():
		l.AddSupport(diagnosis.SourceLog, e.ServerLog.GaveUp.At, "%s", diagnosis.GaveUpText(e.ServerLog.GaveUp))
	case !e.LogChecked && e.LogUnchecked != "":
		l.AddDoubt(diagnosis.SourceLog, e.Now, "what the server's log says could not be read%s", causeSuffix(e.LogUnchecked))
	case e.LogChecked && !e.ServerLog.Last.At.IsZero():
		l.AddFact(
			e.Now.Sub(e.ServerLog.Last.At) >= velero.LifelessAfter,
			diagnosis.SourceLog,
			e.ServerLog.Last.At,
			"%s",
			diagnosis.LoggedText(e.ServerLog.Last),
		)
	}
}

func (l *planFacts) addAPI(to string) {
	e, as := l.evidence, human.Prefixed(", as ", l.evidence.Username)
	switch e.MayPatch {
	case Yes:
		l.AddSupport(diagnosis.SourceRBAC, e.Now, "you may patch it%s", as)
	case No:
		l.AddDoubt(diagnosis.SourceRBAC, e.Now, "you may not patch it%s%s", as, causeSuffix(e.MayPatchReason))
	default:
		l.addDoubt(diagnosis.SourceRBAC, "whether you may patch it", e.MayPatchReason)
	}
	switch {
	case e.AllowedPhases == nil:
		l.addDoubt(diagnosis.SourceSchema, "before the dry run which phases the CRD allows", e.PhasesUnchecked)
	case slices.Contains(e.AllowedPhases, to):
		l.AddSupport(diagnosis.SourceSchema, e.Now, "the CRD allows %s", to)
	default:
		l.addSchema()
	}
}

// addSchema adds the phases still to come that the CRD does not allow. An older Velero does not use them either.
func (l *planFacts) addSchema() {
	e := l.evidence
	missing := slices.DeleteFunc(
		slices.Clone(phaseOrder),
		func(phase string) bool { return slices.Contains(e.AllowedPhases, phase) },
	)
	if len(missing) == 0 {
		l.AddSupport(diagnosis.SourceSchema, e.Now, "the CRD allows all phases that may follow")
		return
	}
	l.AddDoubt(
		diagnosis.SourceSchema,
		e.Now,
		"the CRD does not allow %s: if the server is newer than it, its last patch was refused (Velero issue 6170)",
		strings.Join(missing, ", "),
	)
}
