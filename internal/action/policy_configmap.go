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

// checkRestorePolicy checks what prevents the ConfigMap with a restore's resource policy.
func (g *gatherer) checkRestorePolicy() {
	o, e := g.evidence.proposal, g.evidence
	if o.request.PolicyConfigMap == nil {
		return
	}
	switch version, known := velero.ParseVersion(e.Server.Version); {
	case known && !version.ReadsRestorePolicies():
		o.noteRefusal(newRefusal("Upgrade Velero, or restore by namespaces, kinds and labels.",
			"Velero %s cannot restore selected objects: restores have had a resource policy since v1.18.3", version))
	case !known:
		o.facts.AddDoubt(
			diagnosis.SourcePod,
			e.Now,
			"cannot tell whether Velero restores selected objects, as it has since v1.18.3: an older one restores nothing",
		)
	}
	var why string
	name := o.request.PolicyConfigMap.GetName()
	now, err := g.readObject(g.ctx, o.request.PolicyConfigMap)
	switch {
	case isServerNotFound(err):
	case !g.checkAnswer("reading a ConfigMap", err, &why):
		o.noteRefusal(
			checkPermission(No, newAccessRight("get", corev1.SchemeGroupVersion, "configmaps", g.options.Namespace), why),
		)
	default:
		if !isCreatedByAttempt(now, o.policyAttempt) {
			o.noteRefusal(
				newRefusal(
					"Choose another name for the restore, or look at it: kubectl get configmap "+name+" -n "+g.options.Namespace,
					"there is a ConfigMap %s",
					name,
				),
			)
		}
	}
	g.noteAccess(newAccessRight("create", corev1.SchemeGroupVersion, "configmaps", g.options.Namespace))
	remove := newAccessRight("delete", corev1.SchemeGroupVersion, "configmaps", g.options.Namespace)
	remove.Name = name
	g.noteAccess(remove)
}

// removePolicy deletes the ConfigMap of a restore that Velero has begun, and therefore no longer reads it
// (pkg/controller/restore_controller.go validateAndComplete, 1.18.3), or of a restore that was not created.
func (x *execution) removePolicy() {
	begun := x.outcome.Sent == Landed && x.outcome.Phase != "" && x.outcome.Phase != velero.PhaseNew
	if x.policyConfigMap == nil || !begun && x.outcome.Sent != PartlyLanded {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), finalReadTimeout)
	defer cancel()
	err := x.refreshConnection(ctx) // the credentials may belong to somebody else by now
	if err == nil {
		err = x.engine.writer.deleteObject(ctx, x.policyConfigMap)
	}
	if err == nil {
		entry := x.newEntry("removed", nil)
		entry.Target = targetText(x.policyConfigMap)
		err = x.auditLog.writeEntry(entry)
	}
	if err != nil {
		x.addWarning(
			"cannot delete ConfigMap %s, which veltui tries again at its next start: %v",
			x.policyConfigMap.GetName(),
			err,
		)
	}
}

func targetText(o *unstructured.Unstructured) string {
	return strings.ToLower(o.GetKind()) + "/" + o.GetName()
}

// isPolicyTarget reports whether the target of a write is the ConfigMap of a restore: the only created object that
// veltui deletes.
func isPolicyTarget(target string) bool { return strings.HasPrefix(target, "configmap/") }

// isCreatedByAttempt reports whether an attempt has created an object.
func isCreatedByAttempt(o *unstructured.Unstructured, attempt string) bool {
	attempts, _ := markedAttempts(o, createdPrefix.attemptKey())
	return attempt != "" && slices.Contains(attempts, attempt)
}

// deleteObject deletes an object that veltui has created, and no other object of its name.
func (w *writer) deleteObject(ctx context.Context, o *unstructured.Unstructured) error {
	if w == nil {
		return ErrReadOnly
	}
	if err := w.connection.CheckCluster(ctx); err != nil {
		return err
	}
	uid := o.GetUID()
	_, err := w.connection.currentClient().
		Delete(ctx, o, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	if err != nil && !isServerNotFound(err) && !apierrors.IsConflict(err) {
		return err
	}
	now := newObject(o.GroupVersionKind(), o.GetNamespace(), o.GetName())
	if is := w.connection.currentClient().Get(ctx, now); isServerNotFound(is) || is == nil && now.GetUID() != uid {
		return nil
	}
	return cmp.Or(err, errors.New("it is still there")) // the answer may be a proxy's
}

// settlePolicy deletes the ConfigMap that an attempt has left, once Velero no longer reads it or the attempt can have
// no effect. Until then the fate is unknown.
func (f *Engine) settlePolicy(ctx context.Context, a *Attempt, s *AttemptFate) error {
	sent := a.findLeftoverPolicy()
	if sent == nil {
		return nil
	}
	var policy unstructured.Unstructured
	if err := json.Unmarshal(sent.Object, &policy); err != nil {
		return fmt.Errorf("reading the log: %w", err)
	}
	fate, err := f.traceRequest(ctx, a, *sent)
	if err != nil {
		return err
	}
	wasSent := slices.ContainsFunc(a.sentEntries, func(e AuditEntry) bool { return e.Target == "" })
	wasMade := slices.ContainsFunc(a.landedEntries, func(e AuditEntry) bool { return e.Target == "" })
	made, err := f.readObject(ctx, newObject(jobGVK(job.Kind(a.Kind)), a.Namespace, a.Name))
	waits := err == nil && (phaseOf(made) == "" || phaseOf(made) == velero.PhaseNew)
	mayCome := isServerNotFound(err) && wasSent && !wasMade && f.options.Now().Sub(sent.Time) <= maxAttemptAge
	switch {
	case err != nil && !isServerNotFound(err):
		return err
	case !fate.IsKnown || waits || mayCome:
		s.IsKnown = false
		s.Message += "; ConfigMap " + policy.GetName() + " stays until Velero has begun the restore"
		return nil
	}
	now, err := f.readObject(ctx, &policy)
	if err == nil && isCreatedByAttempt(now, a.Attempt) {
		err = f.writer.deleteObject(ctx, now)
	}
	if err != nil && !isServerNotFound(err) {
		return fmt.Errorf("deleting ConfigMap %s: %w", policy.GetName(), err)
	}
	if !wasSent {
		s.Sent, s.Message = NotSent, "the restore was not created"
	}
	s.Message += "; ConfigMap " + policy.GetName() + " is deleted"
	removed := a.AuditEntry
	removed.Time, removed.Event, removed.Target = f.options.Now().UTC(), "removed", targetText(&policy)
	return appendEntry(filepath.Join(f.options.AuditDir, AuditLogFile), removed)
}
