package diagnosis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/decode"
)

// maxMalformed is how many malformed resources are named beside the job's own.
const maxMalformed = 3

// Malformed is a resource with a field that Velero's types cannot hold.
type Malformed struct {
	// Ref names it as KIND/NAME.
	Ref   string
	Field decode.Malformed
}

// String names the resource, the field and what is wrong with that.
func (m Malformed) String() string { return m.Ref + " (" + m.Field.String() + ")" }

// of reports whether the resource is of one of the kinds.
func (m Malformed) of(kinds ...job.Kind) bool {
	return slices.ContainsFunc(kinds, func(k job.Kind) bool { return strings.HasPrefix(m.Ref, k.Word()+"/") })
}

// BlindingJobs are the malformed resources that may keep a running server from working on a job: its controllers read
// backups for a backup, and both for a restore (restore_controller.go fetchBackupInfo gets the backup from the cache).
func (e *Environment) BlindingJobs(kind job.Kind) (found []Malformed) {
	kinds := []job.Kind{job.Backup}
	if kind == job.Restore {
		kinds = append(kinds, job.Restore)
	}
	for _, m := range e.Malformed {
		if m.of(kinds...) {
			found = append(found, m)
		}
	}
	return found
}

// noteMalformed names what Velero cannot read: the job, volumes, and what hides its kind from the typed informers.
func (a *assessment) noteMalformed() {
	for _, m := range a.j.Malformed {
		a.Supports(SourceWatch, a.Now, "%s; %s", m, decode.ServerWarning)
	}
	own := map[string]bool{strings.ToLower(string(a.j.Kind)) + "/" + a.j.Name: true}
	named := 0
	for _, v := range a.j.Volumes {
		if v.Malformed == (decode.Malformed{}) {
			continue
		}
		ref := v.Ref().String()
		own[ref] = true
		if named++; named <= maxMalformed {
			a.Supports(SourceWatch, a.Now, "%s: %s; %s", ref, v.Malformed, decode.ServerWarning)
		}
	}
	if a.j.Terminal() {
		return
	}
	for _, m := range a.env.Malformed {
		if own[m.Ref] {
			continue
		}
		if named++; named > maxMalformed {
			return
		}
		a.Supports(
			SourceWatch,
			a.Now,
			"%s: %s; %s, and then sees nothing of that kind",
			m.Ref,
			m.Field,
			decode.ServerWarning,
		)
	}
}

// malformed: Velero cannot read the job, unless it read it before. A newer one may.
func (a *assessment) malformed() Verdict {
	a.noteServer()
	a.noteCounts()
	what := fmt.Sprintf("%s. %s", a.j.Malformed[0], decode.ServerWarning)
	if a.fresh() && job.StageOf(a.j.Phase) != job.StageQueued {
		v := a.progressing()
		v.Text += "; " + what
		return v
	}
	const advice = "Correct the field. A restart of the Velero server does not help: it fails on the resource again."
	if v, known := velero.ParseVersion(a.env.Server.Version); known && velero.Current.Before(v) {
		a.Doubts(SourceSchema, a.Now, "Velero %s may read what %s cannot", v, velero.Current)
		return a.Conclude(Unknown, MalformedSpec, advice, "%s", what).withAction(FixField)
	}
	fact := Fact{
		Holds:  true,
		Source: SourceWatch,
		At:     a.Now,
		Text:   fmt.Sprintf("%s; %s", a.j.Malformed[0], decode.ServerWarning),
	}
	return a.stuck(ByRefusal(fact), MalformedSpec, advice, "%s", what).withAction(FixField)
}
