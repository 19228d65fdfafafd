package action

import (
	"context"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero"
)

// pauseAction is Pause or Unpause. Both write spec.paused, as `velero schedule pause` does
// (pkg/cmd/cli/schedule/pause.go; 1.12 to 1.18.3), and leave all else, where that also resets spec.skipImmediately.
type pauseAction struct {
	baseApplicable
	as Name
}

func (a pauseAction) name() Name { return a.as }

func (pauseAction) restsOnAges(*Evidence) bool { return false }

func (pauseAction) refusedTitle() string { return "leave it as it is" }

func (pauseAction) marks() marks { return paused }

func (a pauseAction) changes(p *Plan, _ *unstructured.Unstructured, _ stamp) ([]operation, [][2]string) {
	changes := []operation{{"add", "/spec/paused", a.as == Pause}}
	if a.as == Unpause && p.request.SkipImmediately {
		changes = append(changes, operation{"add", "/spec/skipImmediately", true})
	}
	return changes, [][2]string{{"-to", string(a.as)}}
}

func (a pauseAction) event() string { return human.Capital(string(a.as)) + "d" }

func (a pauseAction) did(*Plan) string { return string(a.as) + "d it" }

func (pauseAction) othersDid(now *unstructured.Unstructured) string {
	return "did the same or the opposite (" + now.GetAnnotations()[string(paused)+"-to"] + ")"
}

// Named names an object of Velero's, for [Engine.Propose].
func Named(kind, name string) *unstructured.Unstructured {
	return bare(jobKind(job.Kind(kind)), "", name)
}

func (pauseAction) gather(g *gathering) {
	g.ask(
		func() { g.readSchedule(g.e.proposal.asked.GetName()) },
		func() { g.may("patch", "Schedule") },
		g.servers,
		g.owners,
	)
}

// owners notes who else keeps the schedule as it is, and would write over a change.
func (g *gathering) owners() {
	labels, notes := g.e.Object.GetLabels(), g.e.Object.GetAnnotations()
	var by string
	switch {
	case notes["argocd.argoproj.io/tracking-id"] != "" || labels["argocd.argoproj.io/instance"] != "":
		by = "Argo CD"
	case labels["kustomize.toolkit.fluxcd.io/name"] != "" || labels["helm.toolkit.fluxcd.io/name"] != "":
		by = "Flux"
	case labels["app.kubernetes.io/managed-by"] == "Helm" || notes["meta.helm.sh/release-name"] != "":
		by = "Helm"
	}
	if by != "" {
		g.e.proposal.ledger.Doubts(
			diagnosis.SourceAPI,
			g.e.At,
			"%s manages the schedule and may undo the change: change it there too",
			by,
		)
	}
}

func (pauseAction) fill(e *Evidence, p *Plan) bool {
	o := e.proposal
	if o.schedule.Spec.Paused == (p.Action == Pause) {
		p.Refusal = "schedule " + p.Name + " is " + string(p.Action) + "d already"
		return true
	}
	p.Title, p.targets = string(p.Action)+" schedule "+p.Name, []*unstructured.Unstructured{e.Object}
	if p.Action == Pause {
		p.Will = append(
			p.Will,
			"set spec.paused, only if nothing has changed the schedule since",
			"let it make no more backups until it is unpaused",
		)
		p.WillNot = append(p.WillNot, "stop or delete backups that it has made: they run on, and expire as before")
		return true
	}
	p.Will = append(p.Will, "take back spec.paused, only if nothing has changed the schedule since")
	p.Then = append(p.Then, firstRun(o, e.At, p.request.SkipImmediately))
	if p.request.SkipImmediately {
		p.Will = append(p.Will, "set spec.skipImmediately: Velero leaves out what was missed, and takes the field back")
	}
	return true
}

// firstRun says when the schedule makes its first backup once it is unpaused
// (pkg/controller/schedule_controller.go Reconcile, ifDue, getNextRunTime; 1.16 to 1.18.3). No next run is always due.
func firstRun(o *proposal, at time.Time, skip bool) string {
	s := o.schedule.DeepCopy()
	skipsByDefault := s.Spec.SkipImmediately == nil
	if s.Spec.SkipImmediately != nil && *s.Spec.SkipImmediately {
		skip = true
	}
	if skip {
		now := metav1.NewTime(at)
		s.Status.LastSkipped = &now
	}
	table, err := velero.ParseTimetable(s.Spec.Schedule, time.UTC)
	if err != nil {
		return "it makes no backup: " + sanitize.String(err.Error())
	}
	zone := ", if its server's time zone is UTC"
	if strings.Contains(s.Spec.Schedule, "TZ=") || strings.Contains(s.Spec.Schedule, "@every") {
		zone = ""
	}
	next := table.NextRun(s)
	due := "a run is due since " + human.Clock(next, at) + zone + ": Velero starts it "
	switch {
	case skip && strings.Contains(s.Spec.Schedule, "@every"): // no moment: it changes while the plan is read
		return "the next run is one interval after Velero sees it: " + sanitize.String(s.Spec.Schedule)
	case next.IsZero():
		return "it makes a backup about once a minute, always: no date fits " + sanitize.String(
			s.Spec.Schedule,
		) + ", and Velero takes that for due"
	case !next.After(at) && o.holdup != "":
		return due + "once backup " + o.holdup + " has ended"
	case !next.After(at) && skipsByDefault:
		return due + "within a minute, unless its server runs with --schedule-skip-immediately"
	case !next.After(at):
		return due + "within a minute; veltui schedule unpause --skip-immediately leaves it out"
	default:
		return "the next run is at " + human.Clock(next, at) + zone
	}
}

func (pauseAction) observe(ctx context.Context, x *execution, late bool) error {
	o, err := x.readSubject(ctx)
	if err != nil {
		return err
	}
	is, _, _ := unstructured.NestedBool(o.Object, "spec", "paused")
	done := strings.ToLower(string(x.plan.Action)) + "d"
	switch {
	case is != (x.plan.Action == Pause):
		return x.stop(Reverted, "somebody changed it back; it was %s by veltui before", done)
	case x.observed() || late:
		return x.stop(Settled, "it is %s, and stayed so for %s", done, human.Duration(x.f.o.Observe))
	}
	return nil
}
