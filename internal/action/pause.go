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
// (pkg/cmd/cli/schedule/pause.go; 1.12 to 1.18.3), and leave everything else as it is, whereas that command also
// resets spec.skipImmediately.
type pauseAction struct {
	baseApplicable
	pauseKind Kind
}

func (a pauseAction) actionKind() Kind { return a.pauseKind }

func (pauseAction) restsOnAges(*Evidence) bool { return false }

func (pauseAction) refusedTitle() string { return "leave it as it is" }

func (pauseAction) annotationPrefix() annotationPrefix { return pausedPrefix }

func (a pauseAction) buildChanges(
	p *Plan,
	_ *unstructured.Unstructured,
	_ attemptStamp,
) ([]patchOperation, [][2]string) {
	changes := []patchOperation{{"add", "/spec/paused", a.pauseKind == Pause}}
	if a.pauseKind == Unpause && p.request.SkipImmediately {
		changes = append(changes, patchOperation{"add", "/spec/skipImmediately", true})
	}
	return changes, [][2]string{{"-to", string(a.pauseKind)}}
}

func (a pauseAction) eventReason() string { return human.Capitalize(string(a.pauseKind)) + "d" }

func (a pauseAction) doneText(*Plan) string { return string(a.pauseKind) + "d it" }

func (pauseAction) doneByOtherText(now *unstructured.Unstructured) string {
	return "did the same or the opposite (" + now.GetAnnotations()[string(pausedPrefix)+"-to"] + ")"
}

// NewNamedObject returns a Velero object with only a kind and a name, for [Engine.ProposePlan].
func NewNamedObject(kind, name string) *unstructured.Unstructured {
	return newObject(jobGVK(job.Kind(kind)), "", name)
}

func (pauseAction) gatherFacts(g *gatherer) {
	g.runQueries(
		func() { g.fetchSchedule(g.evidence.proposal.object.GetName()) },
		func() { g.checkRequestAccess("patch", "Schedule") },
		g.noteServers,
		g.noteManagers,
	)
}

// noteManagers notes which other tool manages the schedule and would overwrite a change.
func (g *gatherer) noteManagers() {
	labels, notes := g.evidence.Object.GetLabels(), g.evidence.Object.GetAnnotations()
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
		g.evidence.proposal.facts.AddDoubt(
			diagnosis.SourceAPI,
			g.evidence.Now,
			"%s manages the schedule and may undo the change: change it there too",
			by,
		)
	}
}

func (pauseAction) fillPlan(e *Evidence, p *Plan) bool {
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
	text, startsRun := describeFirstRun(o, e.Now, p.request.SkipImmediately)
	p.Afterwards, p.startsRun = append(p.Afterwards, text), startsRun
	if p.request.SkipImmediately {
		p.Will = append(p.Will, "set spec.skipImmediately: Velero leaves out what was missed, and takes the field back")
	}
	return true
}

// describeFirstRun says when the schedule makes its first backup once it is unpaused, and whether that is soon
// (pkg/controller/schedule_controller.go Reconcile, ifDue, getNextRunTime; 1.16 to 1.18.3). A schedule without a next
// run is always due.
func describeFirstRun(o *proposal, at time.Time, skip bool) (text string, startsRun bool) {
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
		return "it makes no backup: " + sanitize.String(err.Error()), false
	}
	zone := ", if its server's time zone is UTC"
	if strings.Contains(s.Spec.Schedule, "TZ=") || strings.Contains(s.Spec.Schedule, "@every") {
		zone = ""
	}
	next := table.NextRun(s)
	due := "a run is due since " + human.ClockTime(next, at) + zone + ": Velero starts it "
	switch {
	case skip && strings.Contains(s.Spec.Schedule, "@every"):
		// Name no time: it changes while the plan is read.
		return "the next run is one interval after Velero sees it: " + sanitize.String(s.Spec.Schedule), false
	case next.IsZero():
		return "it makes a backup about once a minute, always: no date fits " + sanitize.String(
			s.Spec.Schedule,
		) + ", and Velero takes that for due", true
	case !next.After(at) && o.blockingBackup != "":
		return due + "once backup " + o.blockingBackup + " has ended", true
	case !next.After(at) && skipsByDefault:
		return due + "within a minute, unless its server runs with --schedule-skip-immediately", true
	case !next.After(at):
		return due + "within a minute; veltui schedule unpause --skip-immediately leaves it out", true
	default:
		return "the next run is at " + human.ClockTime(next, at) + zone, false
	}
}

func (pauseAction) observeEffect(ctx context.Context, x *execution, late bool) error {
	o, err := x.readSubject(ctx)
	if err != nil {
		return err
	}
	is, _, _ := unstructured.NestedBool(o.Object, "spec", "paused")
	done := strings.ToLower(string(x.plan.Action)) + "d"
	switch {
	case is != (x.plan.Action == Pause):
		return x.endExecution(StateReverted, "somebody changed it back; it was %s by veltui before", done)
	case x.hasObservedEnough() || late:
		return x.endExecution(
			StateSettled,
			"it is %s, and stayed so for %s",
			done,
			human.Duration(x.engine.options.ObserveFor),
		)
	}
	return nil
}
