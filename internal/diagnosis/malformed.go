package diagnosis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/decode"
)

// maxMalformed is how many malformed resources are named besides the job's own.
const maxMalformed = 3

// MalformedResource is a resource with a field that Velero's types cannot hold.
type MalformedResource struct {
	// Ref is the resource as KIND/NAME.
	Ref   string
	Field decode.MalformedField
}

// String names the resource, the field and what is wrong with the field.
func (m MalformedResource) String() string { return m.Ref + " (" + m.Field.String() + ")" }

// isOfKind reports whether the resource is of one of the kinds.
func (m MalformedResource) isOfKind(kinds ...job.Kind) bool {
	return slices.ContainsFunc(kinds, func(k job.Kind) bool { return strings.HasPrefix(m.Ref, k.Noun()+"/") })
}

// FindMalformedBlockers returns the malformed resources that may keep a running server from working on a job: its
// controllers read backups for a backup, and both kinds for a restore (restore_controller.go fetchBackupInfo gets the
// backup from the cache).
func (e *World) FindMalformedBlockers(kind job.Kind) (found []MalformedResource) {
	kinds := []job.Kind{job.Backup}
	if kind == job.Restore {
		kinds = append(kinds, job.Restore)
	}
	for _, m := range e.MalformedResources {
		if m.isOfKind(kinds...) {
			found = append(found, m)
		}
	}
	return found
}

// noteMalformed names what Velero cannot read: the job, volumes, and resources that hide their kind from the typed
// informers.
func (a *jobJudge) noteMalformed() {
	for _, m := range a.j.MalformedFields {
		a.AddSupport(SourceWatch, a.Now, "%s; %s", m, decode.ServerWarning)
	}
	own := map[string]bool{strings.ToLower(string(a.j.Kind)) + "/" + a.j.Name: true}
	named := 0
	for _, v := range a.j.Volumes {
		if v.MalformedField == (decode.MalformedField{}) {
			continue
		}
		ref := v.Ref().String()
		own[ref] = true
		if named++; named <= maxMalformed {
			a.AddSupport(SourceWatch, a.Now, "%s: %s; %s", ref, v.MalformedField, decode.ServerWarning)
		}
	}
	if a.j.IsTerminal() {
		return
	}
	for _, m := range a.world.MalformedResources {
		if own[m.Ref] {
			continue
		}
		if named++; named > maxMalformed {
			return
		}
		a.AddSupport(
			SourceWatch,
			a.Now,
			"%s: %s; %s, and then sees nothing of that kind",
			m.Ref,
			m.Field,
			decode.ServerWarning,
		)
	}
}

// judgeMalformed judges a job that Velero cannot read, unless it read the job before. A newer Velero may be able to.
func (a *jobJudge) judgeMalformed() Verdict {
	a.noteServer()
	a.noteCounts()
	what := fmt.Sprintf("%s. %s", a.j.MalformedFields[0], decode.ServerWarning)
	if a.hasMovedRecently() && job.StageOf(a.j.Phase) != job.StageQueued {
		v := a.judgeProgressing()
		v.Text += "; " + what
		return v
	}
	const advice = "Correct the field. A restart of the Velero server does not help: it fails on the resource again."
	if v, known := velero.ParseVersion(a.world.Server.Version); known && velero.LatestReviewedVersion.Before(v) {
		a.AddDoubt(SourceSchema, a.Now, "Velero %s may read what %s cannot", v, velero.LatestReviewedVersion)
		return a.Conclude(Unknown, MalformedSpec, advice, "%s", what).withAction(FixField)
	}
	fact := Fact{
		Supports: true,
		Source:   SourceWatch,
		At:       a.Now,
		Text:     fmt.Sprintf("%s; %s", a.j.MalformedFields[0], decode.ServerWarning),
	}
	return a.proveStuck(ProveRefused(fact), MalformedSpec, advice, "%s", what).withAction(FixField)
}
