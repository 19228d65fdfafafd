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

// Superseded: what an attempt wrote to has changed or is gone, so that the attempt can have
// no further effect, and whether it was applied cannot be found out.
const Superseded State = "superseded"

type Fate struct {
	Sent    Sent
	Known   bool   // false while the attempt may still have an effect, or cannot be traced
	Phase   string // the job's, empty if it was not read
	Message string // one sentence
}

// IsHere reports whether an attempt was made on the engine's cluster.
func (f *Engine) IsHere(a *Attempt) bool {
	here := f.access.Identity()
	if a.ClusterUID != "" && here.UID != "" && a.ClusterUID != string(here.UID) {
		return false
	}
	return a.Cluster != "" && session.SameServer(a.Cluster, here.Server)
}

// Settle finds out what became of an unfinished attempt on the engine's cluster. Where it can
// have no further effect, it notes so in the audit log, which finishes the attempt.
func (f *Engine) Settle(ctx context.Context, a *Attempt) (Fate, error) {
	if err := f.access.Check(ctx); err != nil {
		return Fate{}, err
	}
	if !f.IsHere(a) {
		return Fate{Sent: Doubtful, Message: "it was made on another cluster"}, nil
	}
	s, err := f.traceAll(ctx, a)
	if err == nil && a.altered && s.Sent == NotSent {
		s.Sent, s.Message = Doubtful, "an answer was not what was requested, and whether it was applied cannot be found out"
	}
	if err == nil {
		err = f.settlePolicy(ctx, a, &s)
	}
	if err != nil || !s.Known {
		return s, err
	}
	state := Unfinished
	if s.Sent == Doubtful {
		state = Superseded
	}
	end := a.Entry
	end.Commands = nil
	end.Time, end.Event, end.State, end.Sent, end.Phase = f.o.Now().UTC(), "end", state, s.Sent, s.Phase
	end.Message = "looked up after veltui had ended: " + s.Message
	if !a.WasSent() && s.Sent == Landed {
		end.State = CarriedOut
	}
	err = appendEntry(filepath.Join(f.o.AuditDir, LogFile), end)
	if err == nil {
		removeLock(f.o.AuditDir, a.Attempt)
	}
	return s, err
}

func (f *Engine) traceAll(ctx context.Context, a *Attempt) (Fate, error) {
	s := Fate{Sent: NotSent, Known: true, Message: "nothing was sent"}
	if !a.WasSent() && len(a.checks) > 0 {
		return f.traceChecks(ctx, a)
	}
	found := map[Sent]int{}
	for _, sent := range a.sends {
		one, err := f.trace(ctx, a, sent)
		if err != nil {
			return Fate{}, fmt.Errorf("reading what became of it: %w", err)
		}
		found[one.Sent]++
		s.Known, s.Phase = s.Known && one.Known, cmp.Or(s.Phase, one.Phase)
	}
	switch {
	case !a.WasSent():
	case !s.Known:
		s.Sent, s.Message = Doubtful, "it is unknown whether it was applied"
	case found[Doubtful] > 0:
		s.Sent, s.Message = Doubtful, "it can no longer be applied, and whether it was cannot be found out"
	case found[Landed] == len(a.sends):
		s.Sent, s.Message = Landed, "it was applied"
	case found[Landed] > 0:
		s.Sent, s.Message = Partly, "it was applied in part"
	default:
		s.Message = "it was not applied, and no longer can be"
	}
	return s, nil
}

// underWay is how long a dry run without an answer may be under way. An API server ends requests after a minute.
const underWay = 10 * time.Minute

// traceChecks finds out whether one of the dry runs of an attempt that sent nothing else was carried out.
func (f *Engine) traceChecks(ctx context.Context, a *Attempt) (Fate, error) {
	s := Fate{Sent: NotSent, Known: true, Message: "only a dry run was sent, and it wrote nothing"}
	var landed []string
	for _, sent := range a.checks {
		one, err := f.trace(ctx, a, sent)
		if err != nil {
			return Fate{}, fmt.Errorf("reading what became of its dry run: %w", err)
		}
		s.Phase = cmp.Or(s.Phase, one.Phase)
		isOver := f.o.Now().Sub(sent.Time) > underWay
		switch {
		case one.Sent == Landed:
			landed = append(landed, cmp.Or(sent.Target, strings.ToLower(sent.Kind)+"/"+sent.Name))
		case one.Sent == Doubtful && one.Known && sent.Object == nil:
			s.Sent, s.Message = Doubtful, "only a dry run was sent; whether that changed it can no longer be found out"
		case one.Sent == Doubtful && !isOver:
			s.Known = false
		}
	}
	switch {
	case len(landed) == len(a.checks):
		s.Sent = Landed
	case len(landed) > 0:
		s.Sent = Partly
	case !s.Known:
		s.Sent, s.Message = Doubtful, "only a dry run was sent, and it has written nothing so far"
	}
	if len(landed) > 0 {
		s.Known, s.Message = true, "the dry run was carried out: it has written "+human.List(
			landed,
			5,
		)+"; what it was: veltui audit"
	}
	return s, nil
}

func (f *Engine) trace(ctx context.Context, a *Attempt, sent Entry) (Fate, error) {
	if slices.ContainsFunc(a.landed, func(e Entry) bool { return e.Target == sent.Target }) {
		return Fate{Sent: Landed, Known: true}, nil
	}
	s := Fate{Sent: Doubtful}
	w, err := readWrite(sent)
	if err != nil {
		return s, nil
	}
	now, err := f.read(ctx, w.object())
	switch {
	case isGone(err):
		now = nil
	case err != nil:
		return Fate{}, err
	case sent.Target == "":
		s.Phase = phaseOf(now)
	}
	switch found := w.find(now); {
	case found == landed:
		s.Sent, s.Known = Landed, true
	case sent.Object != nil: // it may still be under way, or have been made and deleted
		s.Known = f.o.Now().Sub(sent.Time) > presumedDead
	case now == nil || now.GetUID() != w.object().GetUID(): // another cluster may have the address of the one where it was
		s.Known, s.Phase = a.ClusterUID != "" && a.ClusterUID == string(f.access.Identity().UID), ""
	case found == lost:
		s.Sent, s.Known = NotSent, true
	default:
		s.Known = found != pending // which may still land
	}
	return s, nil
}

var errUnreadable = errors.New("the audit log does not tell what was sent")

// readWrite is the request of an entry, as far as it takes to find out what became of it.
func readWrite(sent Entry) (write, error) {
	if sent.Object != nil {
		wanted := &unstructured.Unstructured{}
		a, err := applicableNamed(Name(sent.Action))
		if err == nil {
			err = json.Unmarshal(sent.Object, &wanted.Object)
		}
		if err != nil {
			return nil, err
		}
		return &creation{wanted: wanted, mark: a.marks().attempt(), attempt: sent.Attempt, began: sent.Time}, nil
	}
	seen := bare(jobKind(job.Kind(sent.Kind)), sent.Namespace, sent.Name)
	if d := sent.Delete; d != nil && d.UID != nil && d.ResourceVersion != nil {
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
		seen = bare(velero.VolumeKinds[i].GroupVersionKind(), sent.Namespace, name)
	}
	p := &patch{seen: seen, attempt: sent.Attempt}
	var operations []operation
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
		case o.Op == "add" && isNote && strings.HasSuffix(mark, marks("").attempt()):
			if attempts, _ := readAttempts(text); len(attempts) > 0 && attempts[0] == sent.Attempt {
				p.mark = strings.ReplaceAll(mark, "~1", "/")
				seen.SetAnnotations(map[string]string{p.mark: strings.Join(attempts[1:], " ")})
			}
		}
	}
	if seen.GetUID() == "" || seen.GetResourceVersion() == "" || p.mark == "" {
		return nil, errUnreadable
	}
	return p, nil
}

// Describe says what an unfinished attempt was about, in now's time zone.
func (a *Attempt) Describe(now time.Time) string {
	at := a.Time.In(now.Location())
	when, end, did := at.Format("15:04"), "was not completed", "change"
	if now.Sub(at) > 12*time.Hour {
		when = at.Format("2006-01-02 15:04")
	}
	if a.ended {
		end = "ended in doubt"
	}
	if a.leftover() != nil && a.ended {
		end = "left a ConfigMap"
	}
	switch Name(a.Action) {
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

// refuseAnother refuses a creation under a default name, which ends with the time, where an earlier attempt has created
// an object from the same source under such a name, or may have.
func (f *Engine) refuseAnother(ctx context.Context, p *Plan) {
	if !p.request.Unnamed || !p.Possible() || f.o.AuditDir == "" {
		return
	}
	source := func(name string) string { return name[:max(len(name)-len("20060102150405"), 0)] }
	unfinished, _, err := UnfinishedAttempts(f.o.AuditDir, f.o.Now())
	if err != nil {
		p.Refuse(
			cannotTell("whether an earlier attempt has created one", err.Error()),
			"Give a NAME: it is created only if nothing has it.",
		)
		return
	}
	for i, a := range slices.Concat(p.request.Earlier, unfinished) {
		if a.Action != string(Create) || a.Kind != string(p.Kind) || a.Namespace != p.Namespace || a.Name == p.Name ||
			source(a.Name) != source(p.Name) ||
			!f.IsHere(&a) {
			continue
		}
		if i >= len(p.request.Earlier) {
			if fate, err := f.Settle(ctx, &a); err == nil && fate.Sent != Landed && (fate.Known || !a.WasSent()) {
				continue
			}
		}
		p.Refuse(
			fmt.Sprintf("an earlier attempt has created %s %s, or may have", p.Kind.Word(), sanitize.String(a.Name)),
			"Give that NAME (veltui "+p.Kind.Word()+" create NAME): it is created only if nothing has it. Another NAME "+
				"makes another one.",
		)
		return
	}
}

// Refuse makes a plan that was possible one that creates nothing.
func (p *Plan) Refuse(why, advice string) {
	p.Title, p.Refusal, p.Advice = "create nothing", why, advice
	p.Will, p.WillNot, p.Then, p.Commands = nil, nil, nil, nil
}
