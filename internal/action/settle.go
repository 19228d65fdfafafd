package action

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/session"
	"github.com/veltui/veltui/internal/velero"
)

// StateSuperseded means that the target of an attempt has changed or no longer exists, so the attempt can have no
// further effect, and whether it was applied cannot be found out.
const StateSuperseded OutcomeState = "superseded"

type AttemptFate struct {
	Sent    SentState
	IsKnown bool   // false while the attempt may still have an effect, or cannot be traced
	Phase   string // the job's, empty if it was not read
	Message string // one sentence
}

// IsSameCluster reports whether an attempt was made on the engine's cluster.
func (f *Engine) IsSameCluster(a *Attempt) bool {
	here := f.connection.Identity()
	if a.ClusterUID != "" && here.UID != "" && a.ClusterUID != string(here.UID) {
		return false
	}
	return a.Cluster != "" && session.IsSameServer(a.Cluster, here.Server)
}

// SettleAttempt finds out what became of an unfinished attempt on the engine's cluster. If the attempt can have no
// further effect, it records that in the audit log, which finishes the attempt.
func (f *Engine) SettleAttempt(ctx context.Context, a *Attempt) (AttemptFate, error) {
	if err := f.connection.CheckCluster(ctx); err != nil {
		return AttemptFate{}, err
	}
	if !f.IsSameCluster(a) {
		return AttemptFate{Sent: Doubtful, Message: "it was made on another cluster"}, nil
	}
	s, err := f.traceAttempt(ctx, a)
	if err == nil && a.answerAltered && s.Sent == NotSent {
		s.Sent, s.Message = Doubtful, "an answer was not what was requested, and whether it was applied cannot be found out"
	}
	if err == nil {
		err = f.settlePolicy(ctx, a, &s)
	}
	if err != nil || !s.IsKnown {
		return s, err
	}
	state := StateUnfinished
	if s.Sent == Doubtful {
		state = StateSuperseded
	}
	end := a.AuditEntry
	end.Commands = nil
	end.Time, end.Event, end.State, end.Sent, end.Phase = f.options.Now().UTC(), "end", state, s.Sent, s.Phase
	end.Message = "looked up after veltui had ended: " + s.Message
	if !a.WasSent() && s.Sent == Landed {
		end.State = StateCarriedOut
	}
	err = appendEntry(filepath.Join(f.options.AuditDir, AuditLogFile), end)
	if err == nil {
		removeLock(f.options.AuditDir, a.Attempt)
	}
	return s, err
}

func (f *Engine) traceAttempt(ctx context.Context, a *Attempt) (AttemptFate, error) {
	s := AttemptFate{Sent: NotSent, IsKnown: true, Message: "nothing was sent"}
	if !a.WasSent() && len(a.dryRunEntries) > 0 {
		return f.traceDryRuns(ctx, a)
	}
	found := map[SentState]int{}
	for _, sent := range a.sentEntries {
		one, err := f.traceRequest(ctx, a, sent)
		if err != nil {
			return AttemptFate{}, fmt.Errorf("reading what became of it: %w", err)
		}
		found[one.Sent]++
		s.IsKnown, s.Phase = s.IsKnown && one.IsKnown, cmp.Or(s.Phase, one.Phase)
	}
	switch {
	case !a.WasSent():
	case !s.IsKnown:
		s.Sent, s.Message = Doubtful, "it is unknown whether it was applied"
	case found[Doubtful] > 0:
		s.Sent, s.Message = Doubtful, "it can no longer be applied, and whether it was cannot be found out"
	case found[Landed] == len(a.sentEntries):
		s.Sent, s.Message = Landed, "it was applied"
	case found[Landed] > 0:
		s.Sent, s.Message = PartlyLanded, "it was applied in part"
	default:
		s.Message = "it was not applied, and no longer can be"
	}
	return s, nil
}

// maxDryRunAge is how long an unanswered dry run may be under way. An API server ends requests after a minute.
const maxDryRunAge = 10 * time.Minute

// traceDryRuns finds out, for an attempt that sent only dry runs, whether one of them was carried out.
func (f *Engine) traceDryRuns(ctx context.Context, a *Attempt) (AttemptFate, error) {
	s := AttemptFate{Sent: NotSent, IsKnown: true, Message: "only a dry run was sent, and it wrote nothing"}
	var landed []string
	for _, sent := range a.dryRunEntries {
		one, err := f.traceRequest(ctx, a, sent)
		if err != nil {
			return AttemptFate{}, fmt.Errorf("reading what became of its dry run: %w", err)
		}
		s.Phase = cmp.Or(s.Phase, one.Phase)
		isOver := f.options.Now().Sub(sent.Time) > maxDryRunAge
		switch {
		case one.Sent == Landed:
			landed = append(landed, cmp.Or(sent.Target, strings.ToLower(sent.Kind)+"/"+sent.Name))
		case one.Sent == Doubtful && one.IsKnown && sent.Object == nil:
			s.Sent, s.Message = Doubtful, "only a dry run was sent; whether that changed it can no longer be found out"
		case one.Sent == Doubtful && !isOver:
			s.IsKnown = false
		}
	}
	switch {
	case len(landed) == len(a.dryRunEntries):
		s.Sent = Landed
	case len(landed) > 0:
		s.Sent = PartlyLanded
	case !s.IsKnown:
		s.Sent, s.Message = Doubtful, "only a dry run was sent, and it has written nothing so far"
	}
	if len(landed) > 0 {
		s.IsKnown, s.Message = true, "the dry run was carried out: it has written "+human.JoinNames(
			landed,
			5,
		)+"; what it was: veltui audit"
	}
	return s, nil
}

func (f *Engine) traceRequest(ctx context.Context, a *Attempt, sent AuditEntry) (AttemptFate, error) {
	if slices.ContainsFunc(a.landedEntries, func(e AuditEntry) bool { return e.Target == sent.Target }) {
		return AttemptFate{Sent: Landed, IsKnown: true}, nil
	}
	s := AttemptFate{Sent: Doubtful}
	w, err := parseWrite(sent)
	if err != nil {
		return s, nil
	}
	now, err := f.readObject(ctx, w.targetObject())
	switch {
	case isServerNotFound(err):
		now = nil
	case err != nil:
		return AttemptFate{}, err
	case sent.Target == "":
		s.Phase = phaseOf(now)
	}
	switch found := w.judgeFate(now); {
	case found == fateLanded:
		s.Sent, s.IsKnown = Landed, true
	case sent.Object != nil: // the request may still be under way, or the object was created and deleted
		s.IsKnown = f.options.Now().Sub(sent.Time) > maxAttemptAge
	// Another cluster may now have the address of the attempt's cluster.
	case now == nil || now.GetUID() != w.targetObject().GetUID():
		s.IsKnown, s.Phase = a.ClusterUID != "" && a.ClusterUID == string(f.connection.Identity().UID), ""
	case found == fateLost:
		s.Sent, s.IsKnown = NotSent, true
	default:
		s.IsKnown = found != fatePending // a pending request may still land
	}
	return s, nil
}

var errUnreadable = errors.New("the audit log does not tell what was sent")

// parseWrite returns the request of an entry, as far as needed to find out what became of it.
func parseWrite(sent AuditEntry) (write, error) {
	if sent.Object != nil {
		wanted := &unstructured.Unstructured{}
		a, err := findApplicable(Kind(sent.Action))
		if err == nil {
			err = json.Unmarshal(sent.Object, &wanted.Object)
		}
		if err != nil {
			return nil, err
		}
		return &creation{
			wanted:     wanted,
			attemptKey: a.annotationPrefix().attemptKey(),
			attempt:    sent.Attempt,
			startedAt:  sent.Time,
		}, nil
	}
	seen := newObject(jobGVK(job.Kind(sent.Kind)), sent.Namespace, sent.Name)
	if d := sent.DeletePreconditions; d != nil && d.UID != nil && d.ResourceVersion != nil {
		seen.SetUID(*d.UID)
		seen.SetResourceVersion(*d.ResourceVersion)
		return &deletion{seen}, nil
	}
	if kind, name, found := strings.Cut(sent.Target, "/"); found {
		i := slices.IndexFunc(
			velero.VolumeKinds[:],
			func(k velero.VolumeKind) bool { return strings.EqualFold(string(k), kind) },
		)
		if i < 0 {
			return nil, errUnreadable
		}
		seen = newObject(velero.VolumeKinds[i].GroupVersionKind(), sent.Namespace, name)
	}
	p := &patch{seen: seen, attempt: sent.Attempt}
	var operations []patchOperation
	if err := json.Unmarshal(sent.Patch, &operations); err != nil {
		return nil, err
	}
	for _, o := range operations {
		text, _ := o.Value.(string)
		mark, isNote := strings.CutPrefix(o.Path, "/metadata/annotations/")
		switch {
		case o.Op == "test" && o.Path == "/metadata/uid":
			seen.SetUID(types.UID(text))
		case o.Op == "test" && o.Path == "/metadata/resourceVersion":
			seen.SetResourceVersion(text)
		case o.Op == "add" && isNote && strings.HasSuffix(mark, annotationPrefix("").attemptKey()):
			if attempts, _ := parseAttempts(text); len(attempts) > 0 && attempts[0] == sent.Attempt {
				p.attemptKey = strings.ReplaceAll(mark, "~1", "/")
				seen.SetAnnotations(map[string]string{p.attemptKey: strings.Join(attempts[1:], " ")})
			}
		}
	}
	if seen.GetUID() == "" || seen.GetResourceVersion() == "" || p.attemptKey == "" {
		return nil, errUnreadable
	}
	return p, nil
}

// FormatSummary says what an unfinished attempt was about, in now's time zone.
func (a *Attempt) FormatSummary(now time.Time) string {
	when, end, did := human.ClockTime(a.Time, now), "was not completed", "change"
	if a.endedInDoubt {
		end = "ended in doubt"
	}
	if a.findLeftoverPolicy() != nil && a.endedInDoubt {
		end = "left a ConfigMap"
	}
	switch Kind(a.Action) {
	case Finalize, Wake, Create, Pause, Unpause:
		did = a.Action
	case CancelVolumes:
		did = "cancel volumes of"
	case DeleteBackup, DeleteRestore:
		did = "delete"
	}
	if a.DryRun {
		did += " (dry run only)"
	}
	return fmt.Sprintf(
		"An attempt at %s to %s %s/%s in context %s %s",
		when,
		did,
		strings.ToLower(a.Kind),
		a.Name,
		cmp.Or(a.Context, "?"),
		end,
	)
}

// refuseSecondCreation refuses a creation under a generated name, which ends with the time, if an earlier attempt has
// created an object from the same source under such a name, or may have.
func (f *Engine) refuseSecondCreation(ctx context.Context, p *Plan) {
	if !p.request.NameGenerated || !p.IsPossible() || f.options.AuditDir == "" {
		return
	}
	source := func(name string) string { return name[:max(len(name)-len("20060102150405"), 0)] }
	unfinished, _, err := UnfinishedAttempts(f.options.AuditDir, f.options.Now())
	if err != nil {
		p.RefuseCreation(
			cannotTellText("whether an earlier attempt has created one", err.Error()),
			"Give a NAME: it is created only if nothing has it.",
		)
		return
	}
	for i, a := range slices.Concat(p.request.EarlierAttempts, unfinished) {
		if a.Action != string(Create) || a.Kind != string(p.Kind) || a.Namespace != p.Namespace || a.Name == p.Name ||
			source(a.Name) != source(p.Name) ||
			!f.IsSameCluster(&a) {
			continue
		}
		if i >= len(p.request.EarlierAttempts) {
			if fate, err := f.SettleAttempt(ctx, &a); err == nil && fate.Sent != Landed && (fate.IsKnown || !a.WasSent()) {
				continue
			}
		}
		p.RefuseCreation(
			fmt.Sprintf("an earlier attempt has created %s %s, or may have", p.Kind.Noun(), sanitize.String(a.Name)),
			"Give that NAME (veltui "+p.Kind.Noun()+" create NAME): it is created only if nothing has it. Another NAME "+
				"makes another one.",
		)
		return
	}
}

// RefuseCreation turns a possible plan into one that creates nothing.
func (p *Plan) RefuseCreation(why, advice string) {
	p.Title, p.Refusal, p.Advice = "create nothing", why, advice
	p.Will, p.WillNot, p.Afterwards, p.Commands = nil, nil, nil, nil
}
