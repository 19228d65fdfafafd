package cmd

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	velerov2alpha1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v2alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/testbed"
)

// merge is a merge patch.
type merge = map[string]any

// marked are the annotations of a change by a user.
func marked(mark, user string, more ...string) merge {
	notes := merge{"veltui.io/" + mark + "-by": user, "veltui.io/" + mark + "-at": "2026-01-01T00:00:00Z", "veltui.io/" + mark + "-reason": "INC-1", "veltui.io/" + mark + "-attempt": "one"}
	for i := 0; i < len(more); i += 2 {
		notes["veltui.io/"+mark+"-"+more[i]] = more[i+1]
	}
	return notes
}

// joined is one patch with the fields of another in it.
func joined(base, more merge) merge {
	out := merge{}
	for k, v := range base {
		out[k] = v
	}
	for k, v := range more {
		inner, isMap := v.(merge)
		old, wasMap := out[k].(merge)
		if isMap && wasMap {
			v = joined(old, inner)
		}
		out[k] = v
	}
	return out
}

// TestPolicy: what veltui writes passes, anything else is refused, each case
// by one difference; who is not named may do all of it. That veltui's own
// commands pass is shown by TestRoles.
func TestPolicy(t *testing.T) {
	b := control(t)
	const user = "limited"
	b.apply(t, user, "operator", "--user", user, "-o", "json")
	b.apply(t, user, "policy", "--user", user, "-o", "json")
	config, err := b.User(user)
	if err != nil {
		t.Fatal(err)
	}
	limited, err := client.New(config, client.Options{Scheme: testbed.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	on := func(o client.Object) func() client.Object {
		b.create(t, o)
		return func() client.Object { return o.DeepCopyObject().(client.Object) }
	}
	stuck := inProgress("limited-stuck", time.Hour)
	stuck.Status.Errors = 3
	stuck.Labels, stuck.Annotations = map[string]string{"team": "a"}, map[string]string{"note": "b"}
	restoring := on(stuck)
	ended := on(restore("limited-ended", velerov1.RestoreStatus{Phase: velerov1.RestorePhaseFailed}))
	begun := on(restore("limited-begun", velerov1.RestoreStatus{}))
	backup := &velerov1.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "limited-wake"}, Status: velerov1.BackupStatus{Phase: velerov1.BackupPhaseFinalizing}}
	waiting := on(backup)
	moving := on(&velerov2alpha1.DataUpload{ObjectMeta: ofBackup("limited-du", types.UID("of-nobody")), Spec: velerov2alpha1.DataUploadSpec{SourcePVC: "pg"},
		Status: velerov2alpha1.DataUploadStatus{Phase: velerov2alpha1.DataUploadPhaseInProgress}})

	metadata := func(notes merge) merge { return merge{"metadata": merge{"annotations": notes}} }
	status := func(fields merge) merge { return merge{"status": fields} }
	spec := func(fields merge) merge { return merge{"spec": fields} }
	end := joined(metadata(marked("finalized", user, "from", "InProgress", "to", "Failed")),
		status(merge{"phase": "Failed", "completionTimestamp": "2026-01-01T00:00:00Z", "failureReason": "given up", "errors": 4, "restoreItemOperationsAttempted": 2}))
	nudge := joined(metadata(marked("finalized", user, "from", "InProgress", "to", "Finalizing")), status(merge{"phase": "Finalizing", "warnings": 1}))
	giveUp := joined(metadata(marked("finalized", user, "to", "Failed")), status(merge{"phase": "Failed"}))
	wake := metadata(marked("woken", user))
	cancel := joined(metadata(marked("cancelled", user)), spec(merge{"cancel": true}))
	// A backup that was put forward, woken and has failed, and a volume that was cancelled, all by another user.
	by := func(o client.Object, notes ...merge) client.Object {
		all := map[string]string{}
		for _, n := range notes {
			for k, v := range n {
				all[k] = v.(string)
			}
		}
		o.SetAnnotations(all)
		return o
	}
	earlier := on(by(&velerov1.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "limited-earlier"}, Status: velerov1.BackupStatus{Phase: velerov1.BackupPhaseFinalizing}},
		marked("finalized", "jane", "from", "InProgress", "to", "Finalizing"), marked("woken", "jane")))
	cancelledEarlier := on(by(&velerov2alpha1.DataUpload{ObjectMeta: ofBackup("limited-cancelled", types.UID("of-nobody")), Spec: velerov2alpha1.DataUploadSpec{SourcePVC: "pg", Cancel: true},
		Status: velerov2alpha1.DataUploadStatus{Phase: velerov2alpha1.DataUploadPhaseInProgress}}, marked("cancelled", "jane")))
	again := func(mark string, more ...string) merge {
		return metadata(joined(marked(mark, user, more...), merge{"veltui.io/" + mark + "-attempt": "two"}))
	}
	endEarlier := joined(again("finalized", "from", "Finalizing", "to", "Failed"), status(merge{"phase": "Failed"}))
	type policyCase struct {
		name    string
		of      func() client.Object
		patch   merge
		allowed bool
	}
	cases := []policyCase{
		{"a final phase", restoring, end, true},
		{"a phase from which Velero goes on", restoring, nudge, true},
		{"giving up what has not begun", begun, giveUp, true},
		{"waking", waiting, wake, true},
		{"cancelling", moving, cancel, true},

		{"waking what another has woken", earlier, again("woken"), true},
		{"finalizing what another has put forward", earlier, endEarlier, true},

		{"Completed", restoring, joined(end, joined(status(merge{"phase": "Completed"}), metadata(merge{"veltui.io/finalized-to": "Completed"}))), false},
		{"New", restoring, joined(nudge, joined(status(merge{"phase": "New"}), metadata(merge{"veltui.io/finalized-to": "New"}))), false},
		{"over a final phase", ended, joined(end, joined(status(merge{"phase": "PartiallyFailed"}), metadata(merge{"veltui.io/finalized-to": "PartiallyFailed"}))), false},
		{"a phase that goes on, of what has not begun", begun, joined(giveUp, joined(status(merge{"phase": "Finalizing"}), metadata(merge{"veltui.io/finalized-to": "Finalizing"}))), false},
		{"no phase", restoring, joined(end, status(merge{"phase": nil})), false},
		{"no status", restoring, joined(metadata(marked("finalized", user, "from", "InProgress", "to", "Failed")), merge{"status": nil}), false},
		{"without annotations", restoring, status(merge{"phase": "Failed"}), false},
		{"without an attempt", restoring, joined(end, metadata(merge{"veltui.io/finalized-attempt": nil})), false},
		{"in another's name", restoring, joined(end, metadata(merge{"veltui.io/finalized-by": "somebody"})), false},
		{"another phase in the annotations", restoring, joined(end, metadata(merge{"veltui.io/finalized-to": "PartiallyFailed"})), false},
		{"fewer errors", restoring, joined(end, status(merge{"errors": 2})), false},
		{"no count of errors", restoring, joined(end, status(merge{"errors": nil})), false},
		{"counts without a phase", restoring, joined(metadata(marked("finalized", user)), status(merge{"errors": 9})), false},
		{"a reason of failure without a final phase", restoring, joined(nudge, status(merge{"failureReason": "x"})), false},
		{"another field of the status", restoring, joined(end, status(merge{"validationErrors": []string{"x"}})), false},
		{"progress", restoring, joined(end, status(merge{"progress": merge{"itemsRestored": 9}})), false},
		{"the spec of a job", restoring, joined(end, spec(merge{"backupName": "another"})), false},
		{"the spec of a job alone", waiting, spec(merge{"ttl": "1h"}), false},
		{"a label", restoring, joined(end, merge{"metadata": merge{"labels": merge{"team": "b"}}}), false},
		{"a label less", restoring, joined(end, merge{"metadata": merge{"labels": nil}}), false},
		{"a finalizer", waiting, joined(wake, merge{"metadata": merge{"finalizers": []string{"example.org/stay"}}}), false},
		{"an owner", waiting, joined(wake, merge{"metadata": merge{"ownerReferences": []merge{{"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "b"}}}}), false},
		{"another annotation", waiting, joined(wake, metadata(merge{"note": "x"})), false},
		{"an annotation less", restoring, joined(end, metadata(merge{"note": nil})), false},
		{"an annotation of veltui's for volumes", waiting, joined(wake, metadata(merge{"veltui.io/cancelled-by": user})), false},
		{"woken in another's name", waiting, joined(wake, metadata(merge{"veltui.io/woken-by": "somebody"})), false},
		{"woken, with the phase", restoring, joined(end, wake), false},
		{"woken, as if it were the attempt of another", earlier, metadata(marked("woken", user)), false},
		{"finalized, and the phase stays", restoring, metadata(marked("finalized", user, "from", "InProgress", "to", "InProgress")), false},
		{"finalized, with the attempt of another", earlier, joined(endEarlier, metadata(merge{"veltui.io/finalized-attempt": "one"})), false},
		{"finalized from another phase", restoring, joined(end, metadata(merge{"veltui.io/finalized-from": "New"})), false},
		{"finalized from no phase", restoring, joined(end, metadata(merge{"veltui.io/finalized-from": nil})), false},
		{"finalized at no time", restoring, joined(end, metadata(merge{"veltui.io/finalized-at": "yesterday"})), false},
		{"cancelled without spec.cancel", moving, metadata(marked("cancelled", user)), false},
		{"cancelled once more", cancelledEarlier, again("cancelled"), false},
		{"cancelling without annotations", moving, spec(merge{"cancel": true}), false},
		{"cancelling without annotations where there are some", cancelledEarlier, spec(merge{"cancel": false}), false},
		{"not cancelling", moving, joined(cancel, spec(merge{"cancel": false})), false},
		{"the spec of a volume", moving, joined(cancel, spec(merge{"sourcePVC": "another"})), false},
		{"the status of a volume", moving, joined(cancel, status(merge{"phase": "Completed"})), false},
		{"a label of a volume", moving, joined(cancel, merge{"metadata": merge{"labels": merge{velerov1.BackupUIDLabel: "another"}}}), false},
	}
	// Each annotation: not left out, not alone, and neither rewritten nor removed later.
	for _, m := range []struct {
		mark  string
		of    func() client.Object
		patch merge
		later func() client.Object
		parts []string
	}{
		{"finalized", restoring, end, earlier, []string{"by", "at", "reason", "attempt", "from", "to"}},
		{"woken", waiting, wake, earlier, []string{"by", "at", "reason", "attempt"}},
		{"cancelled", moving, cancel, cancelledEarlier, []string{"by", "at", "reason", "attempt"}},
	} {
		for _, part := range m.parts {
			k := "veltui.io/" + m.mark + "-" + part
			value := map[string]string{"by": user, "at": "2026-02-02T00:00:00Z", "from": "New", "to": "Failed"}[part]
			if value == "" {
				value = "another"
			}
			cases = append(cases,
				policyCase{"without " + k, m.of, joined(m.patch, metadata(merge{k: nil})), false},
				policyCase{"empty " + k, m.of, joined(m.patch, metadata(merge{k: ""})), false},
				policyCase{"only " + k, m.of, metadata(merge{k: value}), false},
				policyCase{"rewriting " + k, m.later, metadata(merge{k: value}), false},
				policyCase{"removing " + k, m.later, metadata(merge{k: nil}), false})
		}
	}
	send := func(c client.Client, of func() client.Object, patch merge) error {
		data, err := json.Marshal(patch)
		if err != nil {
			t.Fatal(err)
		}
		return c.Patch(t.Context(), of(), client.RawPatch(types.MergePatchType, data), client.DryRunAll)
	}
	eventually(t, "the rights are granted", func() bool {
		return send(limited, moving, cancel) == nil && send(limited, waiting, wake) == nil
	})
	eventually(t, "the policy is in force", func() bool {
		return apierrors.IsForbidden(send(limited, waiting, metadata(merge{"note": "x"})))
	})
	for _, c := range cases {
		err := send(limited, c.of, c.patch)
		switch {
		case c.allowed && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case !c.allowed && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "ValidatingAdmissionPolicy") || strings.Contains(err.Error(), "resulted in error")):
			t.Errorf("%s: not refused as it should be: %v", c.name, err)
		}
		// Velero's server is not named.
		if err := send(b.client, c.of, c.patch); err != nil {
			t.Errorf("%s, by somebody else: %v", c.name, err)
		}
	}
}
