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

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// restorePolicy looks at what stands in the way of the ConfigMap with a restore's resource policy.
func (g *gathering) restorePolicy() {
	o, e := g.e.proposal, g.e
	if o.request.Policy == nil {
		return
	}
	switch version, known := velero.ParseVersion(e.Server.Version); {
	case known && !version.ReadsRestorePolicies():
		o.refuse(refuse("Upgrade Velero, or restore by namespaces, kinds and labels.",
			"Velero %s cannot restore selected objects: restores have had a resource policy since v1.18.3", version))
	case !known:
		o.ledger.Doubts(
			diagnosis.SourcePod,
			e.At,
			"cannot tell whether Velero restores selected objects, as it has since v1.18.3: an older one restores nothing",
		)
	}
	var why string
	name := o.request.Policy.GetName()
	now, err := g.read(g.ctx, o.request.Policy)
	switch {
	case isGone(err):
	case !g.seen("reading a ConfigMap", err, &why):
		o.refuse(permission(No, rightTo("get", corev1.SchemeGroupVersion, "configmaps", g.o.Namespace), why))
	default:
		if !madeBy(now, o.attempt) {
			o.refuse(
				refuse(
					"Choose another name for the restore, or look at it: kubectl get configmap "+name+" -n "+g.o.Namespace,
					"there is a ConfigMap %s",
					name,
				),
			)
		}
	}
	g.mayDo(rightTo("create", corev1.SchemeGroupVersion, "configmaps", g.o.Namespace))
	remove := rightTo("delete", corev1.SchemeGroupVersion, "configmaps", g.o.Namespace)
	remove.Name = name
	g.mayDo(remove)
}

// removePolicy deletes the ConfigMap of a restore that Velero has begun, which reads it no more
// (pkg/controller/restore_controller.go validateAndComplete, 1.18.3), or that was not made.
func (x *execution) removePolicy() {
	begun := x.out.Sent == Landed && x.out.Phase != "" && x.out.Phase != velero.PhaseNew
	if x.policy == nil || !begun && x.out.Sent != Partly {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), parting)
	defer cancel()
	err := x.refresh(ctx) // the credentials may be somebody else's by now
	if err == nil {
		err = x.f.writer.remove(ctx, x.policy)
	}
	if err == nil {
		entry := x.entry("removed", nil)
		entry.Target = targetOf(x.policy)
		err = x.audit.write(entry)
	}
	if err != nil {
		x.warn("cannot delete ConfigMap %s, which veltui tries again at its next start: %v", x.policy.GetName(), err)
	}
}

func targetOf(o *unstructured.Unstructured) string {
	return strings.ToLower(o.GetKind()) + "/" + o.GetName()
}

// isPolicy reports whether the target of a write is the ConfigMap of a restore: of what veltui creates it
// deletes no other.
func isPolicy(target string) bool { return strings.HasPrefix(target, "configmap/") }

// madeBy reports whether an attempt has created an object.
func madeBy(o *unstructured.Unstructured, attempt string) bool {
	attempts, _ := attemptsOf(o, created.attempt())
	return attempt != "" && slices.Contains(attempts, attempt)
}

// remove deletes an object that veltui has created, and no other of its name.
func (w *writer) remove(ctx context.Context, o *unstructured.Unstructured) error {
	if w == nil {
		return ErrReadOnly
	}
	if err := w.access.Check(ctx); err != nil {
		return err
	}
	uid := o.GetUID()
	_, err := w.access.get().Delete(ctx, o, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	if err != nil && !isGone(err) && !apierrors.IsConflict(err) {
		return err
	}
	now := bare(o.GroupVersionKind(), o.GetNamespace(), o.GetName())
	if is := w.access.get().Get(ctx, now); isGone(is) || is == nil && now.GetUID() != uid {
		return nil
	}
	return cmp.Or(err, errors.New("it is still there")) // an answer may be a proxy's
}

// settlePolicy deletes the ConfigMap that an attempt has left, once Velero reads it no more or nothing can come of the
// attempt. Until then the fate is not known.
func (f *Engine) settlePolicy(ctx context.Context, a *Attempt, s *Fate) error {
	sent := a.leftover()
	if sent == nil {
		return nil
	}
	var policy unstructured.Unstructured
	if err := json.Unmarshal(sent.Object, &policy); err != nil {
		return fmt.Errorf("reading the log: %w", err)
	}
	fate, err := f.trace(ctx, a, *sent)
	if err != nil {
		return err
	}
	wasSent := slices.ContainsFunc(a.sends, func(e Entry) bool { return e.Target == "" })
	wasMade := slices.ContainsFunc(a.landed, func(e Entry) bool { return e.Target == "" })
	made, err := f.read(ctx, bare(jobKind(job.Kind(a.Kind)), a.Namespace, a.Name))
	waits := err == nil && (phaseOf(made) == "" || phaseOf(made) == velero.PhaseNew)
	mayCome := isGone(err) && wasSent && !wasMade && f.o.Now().Sub(sent.Time) <= presumedDead
	switch {
	case err != nil && !isGone(err):
		return err
	case !fate.Known || waits || mayCome:
		s.Known = false
		s.Message += "; ConfigMap " + policy.GetName() + " stays until Velero has begun the restore"
		return nil
	}
	now, err := f.read(ctx, &policy)
	if err == nil && madeBy(now, a.Attempt) {
		err = f.writer.remove(ctx, now)
	}
	if err != nil && !isGone(err) {
		return fmt.Errorf("deleting ConfigMap %s: %w", policy.GetName(), err)
	}
	if !wasSent {
		s.Sent, s.Message = NotSent, "the restore was not created"
	}
	s.Message += "; ConfigMap " + policy.GetName() + " is deleted"
	removed := a.Entry
	removed.Time, removed.Event, removed.Target = f.o.Now().UTC(), "removed", targetOf(&policy)
	return appendEntry(filepath.Join(f.o.AuditDir, LogFile), removed)
}
