package cmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/testbed"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// merge is a merge patch.
type merge = map[string]any

// marked are the annotations of a change by a user.
func marked(mark, user string, more ...string) merge {
	notes := merge{
		"veltui.io/" + mark + "-by":      user,
		"veltui.io/" + mark + "-at":      "2026-01-01T00:00:00Z",
		"veltui.io/" + mark + "-reason":  "INC-1",
		"veltui.io/" + mark + "-attempt": "one",
	}
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
	config, err := b.AddUser(user)
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
	ended := on(restore("limited-ended", veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseFailed}))
	begun := on(restore("limited-begun", veleroapi.RestoreStatus{}))
	backup := &veleroapi.Backup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "limited-wake"},
		Status:     veleroapi.BackupStatus{Phase: veleroapi.BackupPhaseFinalizing},
	}
	waiting := on(backup)
	moving := on(
		&veleroapi.DataUpload{
			ObjectMeta: ofBackup("limited-du", types.UID("of-nobody")),
			Spec:       veleroapi.DataUploadSpec{SourcePVC: "pg"},
			Status:     veleroapi.DataUploadStatus{Phase: veleroapi.DataUploadPhaseInProgress},
		},
	)

	metadata := func(notes merge) merge { return merge{"metadata": merge{"annotations": notes}} }
	status := func(fields merge) merge { return merge{"status": fields} }
	spec := func(fields merge) merge { return merge{"spec": fields} }
	end := joined(
		metadata(marked("finalized", user, "from", "InProgress", "to", "Failed")),
		status(
			merge{
				"phase":                          "Failed",
				"completionTimestamp":            "2026-01-01T00:00:00Z",
				"failureReason":                  "given up",
				"errors":                         4,
				"restoreItemOperationsAttempted": 2,
			},
		),
	)
	nudge := joined(
		metadata(marked("finalized", user, "from", "InProgress", "to", "Finalizing")),
		status(merge{"phase": "Finalizing", "warnings": 1}),
	)
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
	earlier := on(
		by(
			&veleroapi.Backup{
				ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "limited-earlier"},
				Status:     veleroapi.BackupStatus{Phase: veleroapi.BackupPhaseFinalizing},
			},
			marked("finalized", "jane", "from", "InProgress", "to", "Finalizing"),
			marked("woken", "jane"),
		),
	)
	cancelledEarlier := on(
		by(&veleroapi.DataUpload{
			ObjectMeta: ofBackup("limited-cancelled", types.UID("of-nobody")),
			Spec:       veleroapi.DataUploadSpec{SourcePVC: "pg", Cancel: true},
			Status: veleroapi.DataUploadStatus{
				Phase: veleroapi.DataUploadPhaseInProgress,
			},
		}, marked("cancelled", "jane")),
	)
	again := func(mark string, more ...string) merge {
		return metadata(joined(marked(mark, user, more...), merge{"veltui.io/" + mark + "-attempt": "two one"}))
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

		{
			"Completed",
			restoring,
			joined(
				end,
				joined(status(merge{"phase": "Completed"}), metadata(merge{"veltui.io/finalized-to": "Completed"})),
			),
			false,
		},
		{
			"New",
			restoring,
			joined(nudge, joined(status(merge{"phase": "New"}), metadata(merge{"veltui.io/finalized-to": "New"}))),
			false,
		},
		{
			"over a final phase",
			ended,
			joined(
				end,
				joined(
					status(merge{"phase": "PartiallyFailed"}),
					metadata(merge{"veltui.io/finalized-to": "PartiallyFailed"}),
				),
			),
			false,
		},
		{
			"a phase that goes on, of what has not begun",
			begun,
			joined(
				giveUp,
				joined(status(merge{"phase": "Finalizing"}), metadata(merge{"veltui.io/finalized-to": "Finalizing"})),
			),
			false,
		},
		{"no phase", restoring, joined(end, status(merge{"phase": nil})), false},
		{
			"no status",
			restoring,
			joined(metadata(marked("finalized", user, "from", "InProgress", "to", "Failed")), merge{"status": nil}),
			false,
		},
		{"without annotations", restoring, status(merge{"phase": "Failed"}), false},
		{"without an attempt", restoring, joined(end, metadata(merge{"veltui.io/finalized-attempt": nil})), false},
		{"in another's name", restoring, joined(end, metadata(merge{"veltui.io/finalized-by": "somebody"})), false},
		{
			"another phase in the annotations",
			restoring,
			joined(end, metadata(merge{"veltui.io/finalized-to": "PartiallyFailed"})),
			false,
		},
		{"fewer errors", restoring, joined(end, status(merge{"errors": 2})), false},
		{"no count of errors", restoring, joined(end, status(merge{"errors": nil})), false},
		{
			"counts without a phase",
			restoring,
			joined(metadata(marked("finalized", user)), status(merge{"errors": 9})),
			false,
		},
		{
			"a reason of failure without a final phase",
			restoring,
			joined(nudge, status(merge{"failureReason": "x"})),
			false,
		},
		{
			"another field of the status",
			restoring,
			joined(end, status(merge{"validationErrors": []string{"x"}})),
			false,
		},
		{"progress", restoring, joined(end, status(merge{"progress": merge{"itemsRestored": 9}})), false},
		{"the spec of a job", restoring, joined(end, spec(merge{"backupName": "another"})), false},
		{"the spec of a job alone", waiting, spec(merge{"ttl": "1h"}), false},
		{"a label", restoring, joined(end, merge{"metadata": merge{"labels": merge{"team": "b"}}}), false},
		{"a label less", restoring, joined(end, merge{"metadata": merge{"labels": nil}}), false},
		{
			"a finalizer",
			waiting,
			joined(wake, merge{"metadata": merge{"finalizers": []string{"example.org/stay"}}}),
			false,
		},
		{
			"an owner",
			waiting,
			joined(
				wake,
				merge{
					"metadata": merge{
						"ownerReferences": []merge{{"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "b"}},
					},
				},
			),
			false,
		},
		{"another annotation", waiting, joined(wake, metadata(merge{"note": "x"})), false},
		{"an annotation less", restoring, joined(end, metadata(merge{"note": nil})), false},
		{
			"an annotation of veltui's for volumes",
			waiting,
			joined(wake, metadata(merge{"veltui.io/cancelled-by": user})),
			false,
		},
		{"woken in another's name", waiting, joined(wake, metadata(merge{"veltui.io/woken-by": "somebody"})), false},
		{"woken, with the phase", restoring, joined(end, wake), false},
		{"woken, as if it were the attempt of another", earlier, metadata(marked("woken", user)), false},
		{
			"finalized, and the phase stays",
			restoring,
			metadata(marked("finalized", user, "from", "InProgress", "to", "InProgress")),
			false,
		},
		{
			"finalized, with the attempt of another",
			earlier,
			joined(endEarlier, metadata(merge{"veltui.io/finalized-attempt": "one"})),
			false,
		},
		{
			"finalized from another phase",
			restoring,
			joined(end, metadata(merge{"veltui.io/finalized-from": "New"})),
			false,
		},
		{"finalized from no phase", restoring, joined(end, metadata(merge{"veltui.io/finalized-from": nil})), false},
		{"finalized at no time", restoring, joined(end, metadata(merge{"veltui.io/finalized-at": "yesterday"})), false},
		{"cancelled without spec.cancel", moving, metadata(marked("cancelled", user)), false},
		{"cancelled once more", cancelledEarlier, again("cancelled"), false},
		{"cancelling without annotations", moving, spec(merge{"cancel": true}), false},
		{"cancelling without annotations where there are some", cancelledEarlier, spec(merge{"cancel": false}), false},
		{"not cancelling", moving, joined(cancel, spec(merge{"cancel": false})), false},
		{"the spec of a volume", moving, joined(cancel, spec(merge{"sourcePVC": "another"})), false},
		{"the status of a volume", moving, joined(cancel, status(merge{"phase": "Completed"})), false},
		{
			"a label of a volume",
			moving,
			joined(cancel, merge{"metadata": merge{"labels": merge{veleroapi.BackupUIDLabel: "another"}}}),
			false,
		},
	}
	// Times that the API server takes and Go does not, or reads as another.
	for _, at := range []string{"2026-01-01t00:00:00Z", "2026-01-01T00:00:00z", "2026-01-01T00:00:00+99:99", "2026-01-01T00:00:00+01:00", "2026-01-01T00:00:00.5Z",
		"2026-01-01T24:00:00Z", "2026-01-01T23:59:60Z", "2026-01-01 00:00:00Z", "0000-01-01T00:00:00Z", "12026-01-01T00:00:00Z", " 2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z\n"} {
		cases = append(
			cases,
			policyCase{
				"finalized at " + at,
				restoring,
				joined(end, metadata(merge{"veltui.io/finalized-at": at})),
				false,
			},
			policyCase{"woken at " + at, waiting, joined(wake, metadata(merge{"veltui.io/woken-at": at})), false},
		)
		if strings.ContainsAny(at, "t+z") && !strings.Contains(at, " ") {
			cases = append(
				cases,
				policyCase{
					"completed at " + at,
					restoring,
					joined(end, status(merge{"completionTimestamp": at})),
					false,
				},
			)
		}
	}
	// Texts that are long, or do more than say something.
	for name, text := range map[string]string{"long": strings.Repeat("x", 3000), "an escape": "a\x1b]0;b\x07", "lines": "a\r\nb", "a bidi control": "a\u202eb", "a C1 control": "a\u009bb", "a line separator": "a\u2028b", "a tab": "a\tb"} {
		cases = append(
			cases,
			policyCase{
				"a reason with " + name,
				waiting,
				joined(wake, metadata(merge{"veltui.io/woken-reason": text})),
				false,
			},
			policyCase{
				"an attempt with " + name,
				waiting,
				joined(wake, metadata(merge{"veltui.io/woken-attempt": text})),
				false,
			},
			policyCase{
				"a reason of failure with " + name,
				restoring,
				joined(end, status(merge{"failureReason": text})),
				false,
			},
		)
	}
	for _, count := range []any{1000001, int64(9223372036854775807)} {
		cases = append(
			cases,
			policyCase{fmt.Sprintf("%v errors", count), restoring, joined(end, status(merge{"errors": count})), false},
		)
	}
	cases = append(
		cases,
		policyCase{
			"a reason in another script",
			waiting,
			joined(wake, metadata(merge{"veltui.io/woken-reason": "停止 – éè 🙂"})),
			true,
		},
		policyCase{
			"an attempt in place of that of another",
			earlier,
			joined(again("woken"), metadata(merge{"veltui.io/woken-attempt": "two"})),
			false,
		},
		policyCase{
			"an attempt as if none before another were left out",
			earlier,
			joined(again("woken"), metadata(merge{"veltui.io/woken-attempt": "two one ."})),
			false,
		},
		policyCase{
			"an attempt before one that is not there",
			earlier,
			joined(again("woken"), metadata(merge{"veltui.io/woken-attempt": "two three one"})),
			false,
		},
		policyCase{
			"a long attempt",
			waiting,
			joined(wake, metadata(merge{"veltui.io/woken-attempt": strings.Repeat("x", 65)})),
			false,
		},
		policyCase{
			"nine attempts",
			waiting,
			joined(wake, metadata(merge{"veltui.io/woken-attempt": "1 2 3 4 5 6 7 8 9"})),
			false,
		},
		policyCase{
			"an attempt behind that of another",
			earlier,
			joined(again("woken"), metadata(merge{"veltui.io/woken-attempt": "one two ."})),
			false,
		},
	)
	// Who wrote what.
	writers := func(entries ...any) merge { return merge{"metadata": merge{"managedFields": entries}} }
	server := merge{
		"manager":    "velero-server",
		"operation":  "Update",
		"apiVersion": "velero.io/v1",
		"time":       "2020-01-01T00:00:00Z",
		"fieldsType": "FieldsV1",
		"fieldsV1":   merge{"f:status": merge{"f:startTimestamp": merge{}}},
	}
	for name, forged := range map[string]merge{"emptied": writers(merge{}), "forged": writers(server)} {
		cases = append(
			cases,
			policyCase{"writers " + name, restoring, forged, false},
			policyCase{"waking, with writers " + name, waiting, joined(wake, forged), false},
			policyCase{"ending, with writers " + name, restoring, joined(end, forged), false},
		)
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
		case !c.allowed && apierrors.IsInvalid(err):
			// The API server itself refuses it before.
		case !c.allowed && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "ValidatingAdmissionPolicy") || strings.Contains(err.Error(), "resulted in error")):
			t.Errorf("%s: not refused as it should be: %v", c.name, err)
		}
		// Velero's server is not named.
		if err := send(b.client, c.of, c.patch); apierrors.IsForbidden(err) {
			t.Errorf("%s, by somebody else: %v", c.name, err)
		}
	}
}

// TestPolicyOnCreateAndDelete: nobody who is named creates or deletes what Velero
// works on, or writes an Event in another's name, whatever rights they have.
func TestPolicyOnCreateAndDelete(t *testing.T) {
	b := control(t)
	const user = "limited-creator"
	b.apply(t, user, "policy", "--user", user, "-o", "json")
	everything := rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}
	config, err := b.AddUserWithRules(t.Context(), user, "velero", everything)
	if err != nil {
		t.Fatal(err)
	}
	limited, err := client.New(config, client.Options{Scheme: testbed.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	existing := restore("limited-existing", veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseFailed})
	b.create(t, existing)
	meta := metav1.ObjectMeta{Namespace: "velero", Name: "limited-new"}
	event := func(message string, change ...func(*corev1.Event)) *corev1.Event {
		e := &corev1.Event{
			ObjectMeta:     meta,
			InvolvedObject: corev1.ObjectReference{Kind: "Restore", Namespace: "velero", Name: "limited-existing"},
			Type:           corev1.EventTypeWarning,
			Reason:         "Woken",
			Message:        message,
			Source:         corev1.EventSource{Component: "veltui"},
		}
		for _, c := range change {
			c(e)
		}
		return e
	}
	creator := func(by string, change ...func(*metav1.ObjectMeta)) metav1.ObjectMeta {
		m := meta
		m.Annotations = map[string]string{
			"veltui.io/created-by":      by,
			"veltui.io/created-at":      "2026-01-01T00:00:00Z",
			"veltui.io/created-reason":  "INC-1",
			"veltui.io/created-attempt": "one .",
		}
		for _, c := range change {
			c(&m)
		}
		return m
	}
	requester := func(by string, change ...func(*metav1.ObjectMeta)) metav1.ObjectMeta {
		m := meta
		m.Labels = map[string]string{veleroapi.BackupNameLabel: "limited", veleroapi.BackupUIDLabel: "b-1"}
		m.Annotations = map[string]string{
			"veltui.io/deleted-by":      by,
			"veltui.io/deleted-at":      "2026-01-01T00:00:00Z",
			"veltui.io/deleted-reason":  "INC-1",
			"veltui.io/deleted-attempt": "one .",
		}
		for _, c := range change {
			c(&m)
		}
		return m
	}
	deletion := func(m metav1.ObjectMeta) client.Object {
		return &veleroapi.DeleteBackupRequest{
			ObjectMeta: m,
			Spec:       veleroapi.DeleteBackupRequestSpec{BackupName: "limited"},
		}
	}
	selection := func(m metav1.ObjectMeta) *corev1.ConfigMap {
		if m.Labels = map[string]string{"veltui.io/selection": "true"}; m.Name == meta.Name {
			m.Name = "veltui-new"
		}
		return &corev1.ConfigMap{ObjectMeta: m, Data: map[string]string{"policy": "{}"}}
	}
	refused := func(c client.Client, o client.Object) bool {
		err := c.Create(t.Context(), o.DeepCopyObject().(client.Object), client.DryRunAll)
		return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy")
	}
	eventually(t, "the policy is in force", func() bool {
		return refused(limited, &veleroapi.Backup{ObjectMeta: meta}) && refused(limited, event("somebody woke it"))
	})
	for name, c := range map[string]struct {
		object  client.Object
		allowed bool
	}{
		"a backup":         {&veleroapi.Backup{ObjectMeta: meta}, false},
		"a marked backup":  {&veleroapi.Backup{ObjectMeta: creator(user)}, true},
		"another's backup": {&veleroapi.Backup{ObjectMeta: creator("jane")}, false},
		"a begun backup":   {&veleroapi.Backup{ObjectMeta: creator(user), Status: veleroapi.BackupStatus{Phase: veleroapi.BackupPhaseCompleted}}, false},
		"a restore":        {&veleroapi.Restore{ObjectMeta: meta, Spec: veleroapi.RestoreSpec{BackupName: "b"}}, false},
		"a marked restore": {&veleroapi.Restore{ObjectMeta: creator(user), Spec: veleroapi.RestoreSpec{BackupName: "b"}}, true},
		"a restore with a finalizer": {&veleroapi.Restore{ObjectMeta: creator(user, func(m *metav1.ObjectMeta) { m.Finalizers = []string{"a.b/c"} }),
			Spec: veleroapi.RestoreSpec{BackupName: "b"}}, false},
		"a restore without a reason": {&veleroapi.Restore{ObjectMeta: creator(user, func(m *metav1.ObjectMeta) { delete(m.Annotations, "veltui.io/created-reason") }),
			Spec: veleroapi.RestoreSpec{BackupName: "b"}}, false},
		"a schedule":                 {&veleroapi.Schedule{ObjectMeta: meta, Spec: veleroapi.ScheduleSpec{Schedule: "@daily"}}, false},
		"a deletion":                 {deletion(meta), false},
		"a marked deletion":          {deletion(requester(user)), true},
		"another's deletion":         {deletion(requester("jane")), false},
		"a deletion under any name":  {deletion(requester(user, func(m *metav1.ObjectMeta) { m.Name = "any" })), false},
		"a deletion without the uid": {deletion(requester(user, func(m *metav1.ObjectMeta) { delete(m.Labels, veleroapi.BackupUIDLabel) })), false},
		"a deletion with a label":    {deletion(requester(user, func(m *metav1.ObjectMeta) { m.Labels["a"] = "b" })), false},
		"a deletion of nothing":      {&veleroapi.DeleteBackupRequest{ObjectMeta: requester(user)}, false},
		"a deletion that is done": {&veleroapi.DeleteBackupRequest{ObjectMeta: requester(user), Spec: veleroapi.DeleteBackupRequestSpec{BackupName: "limited"},
			Status: veleroapi.DeleteBackupRequestStatus{Phase: veleroapi.DeleteBackupRequestPhaseProcessed}}, false},
		"a selection":                           {selection(creator(user)), true},
		"another's selection":                   {selection(creator("jane")), false},
		"a selection elsewhere":                 {selection(creator(user, func(m *metav1.ObjectMeta) { m.Name = "other" })), false},
		"a ConfigMap":                           {&corev1.ConfigMap{ObjectMeta: creator(user)}, false},
		"a download":                            {&veleroapi.DownloadRequest{ObjectMeta: meta, Spec: veleroapi.DownloadRequestSpec{Target: veleroapi.DownloadTarget{Kind: veleroapi.DownloadTargetKindBackupLog, Name: "b"}}}, true},
		"an own event":                          {event(user + " woke it: INC-1"), true},
		"another's event":                       {event("jane woke it"), false},
		"a name that begins so":                 {event(user + "s woke it"), false},
		"an event of others":                    {event(user+" woke it", func(e *corev1.Event) { e.Source.Component = "velero-server" }), false},
		"another reason":                        {event(user+" woke it", func(e *corev1.Event) { e.Reason = "Killing" }), false},
		"a long event":                          {event(user + " " + strings.Repeat("x", 3000)), false},
		"an escape":                             {event(user + " \x1b[2J"), false},
		"a backup that somebody else finalized": {&veleroapi.Backup{ObjectMeta: creator(user, func(m *metav1.ObjectMeta) { m.Annotations["veltui.io/finalized-by"] = "jane" })}, false},
		"a backup with a note":                  {&veleroapi.Backup{ObjectMeta: creator(user, func(m *metav1.ObjectMeta) { m.Annotations["team"] = "shop" })}, true},
	} {
		if got := refused(limited, c.object); got == c.allowed {
			t.Errorf("%s: refused %v", name, got)
		}
		if refused(b.client, c.object) {
			t.Errorf("%s: refused for somebody who is not named", name)
		}
	}
	// What the CRDs take and Velero's types do not would end Velero's informers: they list all or nothing.
	for _, c := range []struct {
		kind, body string
		allowed    bool
	}{
		{"Restore", `{"spec":{"backupName":"b","itemOperationTimeout":"4h0m0s","hooks":{"resources":[{"name":"r","postHooks":[
			{"exec":{"command":["x"],"execTimeout":"1m30.5s","waitTimeout":"0s"}},{"init":{"timeout":"10m","initContainers":[{"name":"a","image":"b"}]}}]}]},"uploaderConfig":{"parallelFilesDownload":4}}}`, true},
		{"Restore", `{"spec":{"backupName":"b","hooks":{},"itemOperationTimeout":"1.5\u00b5s"},"status":{}}`, true},
		{"Backup", `{"spec":{"ttl":"876000h0m0s","csiSnapshotTimeout":"10m0s","hooks":{"resources":[{"name":"r","pre":[{"exec":{"command":["x"],"timeout":"100ms"}}]}]},"metadata":{},"uploaderConfig":null},"status":null}`, true},
		{"Restore", `{"spec":{"backupName":"b"},"status":{"startTimestamp":"2026-01-01t00:00:00z"}}`, false},
		{"Backup", `{"status":{"completionTimestamp":"2026-01-01T00:00:00+99:99"}}`, false},
		{"Backup", `{"status":{"errors":1}}`, false},
		{"Restore", `{"spec":{"backupName":"b","itemOperationTimeout":"soon"}}`, false},
		{"Restore", `{"spec":{"backupName":"b","hooks":{"resources":[{"name":"r","postHooks":[{"exec":{"command":["x"],"execTimeout":"soon"}}]}]}}}`, false},
		{"Restore", `{"spec":{"backupName":"b","hooks":{"resources":[{"name":"r"},{"name":"r","postHooks":[{"init":{}},{"exec":{"command":["x"],"waitTimeout":"1"}}]}]}}}`, false},
		{"Restore", `{"spec":{"backupName":"b","hooks":{"resources":[{"name":"r","postHooks":[{"init":{"timeout":"1d"}}]}]}}}`, false},
		{"Restore", `{"spec":{"backupName":"b","uploaderConfig":{"parallelFilesDownload":1e19}}}`, false},
		{"Backup", `{"spec":{"ttl":"soon"}}`, false},
		{"Backup", `{"spec":{"ttl":""}}`, false},
		{"Backup", `{"spec":{"ttl":"9999999h"}}`, false},
		{"Backup", `{"spec":{"ttl":"999999h999999h999999h"}}`, false},
		{"Backup", `{"spec":{"csiSnapshotTimeout":"10"}}`, false},
		{"Backup", `{"spec":{"uploaderConfig":{"parallelFilesUpload":1e19}}}`, false},
		{"Backup", `{"spec":{"hooks":{"resources":[{"name":"r","pre":[{"exec":{"command":["x"],"timeout":"soon"}}]}]}}}`, false},
		{"Backup", `{"spec":{"hooks":{"resources":[{"name":"r","post":[{"exec":{"command":["x"],"timeout":"soon"}}]}]}}}`, false},
		{"Backup", `{"spec":{"orLabelSelectors":[null]}}`, false},
	} {
		var o unstructured.Unstructured
		if err := json.Unmarshal(
			[]byte(`{"apiVersion":"velero.io/v1","kind":"`+c.kind+`",`+c.body[1:]),
			&o.Object,
		); err != nil {
			t.Fatal(err)
		}
		o.SetNamespace("velero")
		o.SetName("limited-raw")
		o.SetAnnotations(creator(user).Annotations)
		if err := limited.Create(t.Context(), &o); (err == nil) != c.allowed {
			t.Errorf("%s %s: %v", c.kind, c.body, err)
		}
		if err := errors.Join(
			b.client.List(t.Context(), &veleroapi.RestoreList{}),
			b.client.List(t.Context(), &veleroapi.BackupList{}),
		); err != nil {
			t.Errorf("%s %s: then Velero reads nothing any more: %v", c.kind, c.body, err)
		}
		_ = b.client.Delete(t.Context(), &o)
	}
	running := restore("limited-running", veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseInProgress})
	b.create(t, running)
	kept := &veleroapi.Backup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "limited-kept"},
		Status:     veleroapi.BackupStatus{Phase: veleroapi.BackupPhaseCompleted},
	}
	b.create(t, kept)
	asSeen := func(o client.Object) client.DeleteOption {
		uid, version := o.GetUID(), o.GetResourceVersion()
		return client.Preconditions{UID: &uid, ResourceVersion: &version}
	}
	uid := existing.GetUID()
	for name, c := range map[string]struct {
		object  client.Object
		option  client.DeleteOption
		allowed bool
	}{
		"a restore":                {existing, client.DryRunAll, false},
		"a restore, by its uid":    {existing, client.Preconditions{UID: &uid}, false},
		"a restore as it was seen": {existing, asSeen(existing), true},
		"a restore that runs":      {running, asSeen(running), false},
		"a backup":                 {kept, asSeen(kept), false},
	} {
		if err := limited.Delete(
			t.Context(),
			c.object,
			c.option,
			client.DryRunAll,
		); apierrors.IsForbidden(
			err,
		) == c.allowed {
			t.Errorf("deleting %s: %v", name, err)
		}
	}
	foreign := selection(creator("jane", func(m *metav1.ObjectMeta) { m.Name = "veltui-foreign" }))
	own := selection(creator(user, func(m *metav1.ObjectMeta) { m.Name = "veltui-own" }))
	b.create(t, foreign)
	b.create(t, own)
	if err := limited.Delete(t.Context(), foreign); !apierrors.IsForbidden(err) {
		t.Errorf("deleting another's selection: %v", err)
	}
	if err := limited.Delete(t.Context(), own); err != nil {
		t.Errorf("deleting a selection: %v", err)
	}
	if err := limited.DeleteAllOf(
		t.Context(),
		&veleroapi.Restore{},
		client.InNamespace("velero"),
		client.DryRunAll,
	); !apierrors.IsForbidden(
		err,
	) {
		t.Errorf("deleting all: %v", err)
	}
}

// TestPolicyOnSchedules: who is named may pause them and let them go on, in their own name, and no more.
func TestPolicyOnSchedules(t *testing.T) {
	b := control(t)
	const user = "limited-pauser"
	b.apply(t, user, "policy", "--user", user, "-o", "json")
	config, err := b.AddUserWithRules(
		t.Context(),
		user,
		"velero",
		rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}},
	)
	if err != nil {
		t.Fatal(err)
	}
	limited, err := client.New(config, client.Options{Scheme: testbed.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	schedule := &veleroapi.Schedule{
		ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "limited-schedule"},
		Spec:       veleroapi.ScheduleSpec{Schedule: "@daily"},
	}
	b.create(t, schedule)
	tries := func(c client.Client, change merge) error {
		data, err := json.Marshal(change)
		if err != nil {
			t.Fatal(err)
		}
		return c.Patch(t.Context(), schedule.DeepCopy(), client.RawPatch(types.MergePatchType, data), client.DryRunAll)
	}
	marks := merge{"metadata": merge{"annotations": marked("paused", user, "to", "pause")}}
	pause := joined(marks, merge{"spec": merge{"paused": true}})
	eventually(
		t,
		"the policy is in force",
		func() bool { return apierrors.IsForbidden(tries(limited, merge{"spec": merge{"paused": true}})) },
	)
	for _, c := range []struct {
		name    string
		change  merge
		allowed bool
	}{
		{"paused as veltui does", pause, true},
		{"without marks", merge{"spec": merge{"paused": true}}, false},
		{"marks alone", marks, false},
		{"in another's name", joined(pause, merge{"metadata": merge{"annotations": merge{"veltui.io/paused-by": "jane"}}}), false},
		{"said to be unpaused", joined(pause, merge{"metadata": merge{"annotations": merge{"veltui.io/paused-to": "unpause"}}}), false},
		{"and another expression", joined(pause, merge{"spec": merge{"schedule": "@hourly"}}), false},
		{"and another template", joined(pause, merge{"spec": merge{"template": merge{"ttl": "1h"}}}), false},
		{"and what is due left out", joined(pause, merge{"spec": merge{"skipImmediately": true}}), false},
		{"and a label", joined(pause, merge{"metadata": merge{"labels": merge{"a": "b"}}}), false},
		{"and a status", joined(pause, merge{"status": merge{"phase": "Enabled"}}), false},
	} {
		err := tries(limited, c.change)
		if refused := apierrors.IsForbidden(err); refused == c.allowed || err != nil && !refused {
			t.Errorf("%s: %v", c.name, err)
		}
		if err := tries(b.client, c.change); err != nil {
			t.Errorf("%s, by somebody else: %v", c.name, err)
		}
	}
}

// TestPolicyKeepsJobsReadable: whatever the policy lets pass, typed lists of backups
// and restores are still decoded, and nothing but what is documented has changed.
func TestPolicyKeepsJobsReadable(t *testing.T) {
	t.Parallel()
	b := control(t)
	const user = "limited-generator"
	b.apply(t, user, "operator", "--user", user, "-o", "json")
	b.apply(t, user, "policy", "--user", user, "-o", "json")
	config, err := b.AddUser(user)
	if err != nil {
		t.Fatal(err)
	}
	limited, err := client.New(config, client.Options{Scheme: testbed.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	const seed = 20261123
	random := rand.New(rand.NewPCG(seed, 7))
	pick := func(of ...any) any { return of[random.IntN(len(of))] }
	times := []any{
		"2026-01-01T00:00:00Z",
		"2026-01-01T00:00:00Z",
		"2026-06-30T23:59:59Z",
		"2026-01-01t00:00:00z",
		"2026-01-01T00:00:00+99:99",
		"2026-02-30T00:00:00Z",
		"0001-01-01T00:00:00Z",
		"9999-12-31T23:59:59Z",
		"x",
		nil,
		"2026-01-01T00:00:00.123456789Z",
	}
	counts := []any{0, 4, 7, 1000, 1e3, 1e6, 1e19, -1, "4", nil, 4.5, int64(9223372036854775807)}
	texts := []any{
		"given up",
		"x",
		"é",
		"",
		"\x00",
		"a\u202eb",
		strings.Repeat("é", 1024),
		strings.Repeat("x", 5000),
		nil,
		7,
	}
	phases := []any{"Failed", "Failed", "PartiallyFailed", "Failed", "Finalizing", "Completed", nil}
	tries, passed := 150, 0
	if testing.Short() || !testbed.WantsMore() {
		tries = 40
	}
	eventually(t, "the policy is in force", func() bool {
		r := inProgress("limited-probe", time.Hour)
		b.create(t, r)
		err := limited.Patch(
			t.Context(),
			r,
			client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`)),
			client.DryRunAll,
		)
		_ = b.client.Delete(t.Context(), r)
		return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy")
	})
	for i := range tries {
		r := inProgress(fmt.Sprintf("limited-generated-%d", i), time.Hour)
		b.create(t, r)
		phase := pick(phases...)
		notes := marked("finalized", user, "from", "InProgress", "to", fmt.Sprint(phase))
		if random.IntN(3) == 0 {
			notes["veltui.io/finalized-"+fmt.Sprint(pick("by", "at", "reason", "attempt"))] = pick(
				append(texts, times...)...)
		}
		fields := merge{"phase": phase}
		for _, name := range []string{"errors", "warnings", "restoreItemOperationsAttempted"} {
			if random.IntN(2) == 0 {
				fields[name] = pick(counts...)
			}
		}
		if random.IntN(3) > 0 {
			fields["completionTimestamp"] = pick(times...)
		}
		if random.IntN(3) > 0 {
			fields["failureReason"] = pick(texts...)
		}
		if random.IntN(8) == 0 {
			fields["startTimestamp"] = pick(times...)
		}
		data, err := json.Marshal(merge{"metadata": merge{"annotations": notes}, "status": fields})
		if err != nil {
			t.Fatal(err)
		}
		before := r.DeepCopy()
		if limited.Patch(
			t.Context(),
			r,
			client.RawPatch(types.MergePatchType, data),
			client.FieldOwner("veltui"),
		) == nil {
			passed++
			if !reflect.DeepEqual(r.Spec, before.Spec) || !reflect.DeepEqual(r.Labels, before.Labels) ||
				!before.Status.StartTimestamp.Equal(r.Status.StartTimestamp) {
				t.Errorf("seed %d, %d: more has changed with %s", seed, i, data)
			}
		}
		if i%10 != 0 && r.ResourceVersion == before.ResourceVersion {
			_ = b.client.Delete(t.Context(), r)
			continue // nothing was written
		}
		var restores veleroapi.RestoreList
		var backups veleroapi.BackupList
		if err := errors.Join(
			b.client.List(t.Context(), &restores, client.InNamespace("velero")),
			b.client.List(t.Context(), &backups, client.InNamespace("velero")),
		); err != nil {
			t.Fatalf("seed %d, %d: after %s no list can be read: %v", seed, i, data, err)
		}
		_ = b.client.Delete(t.Context(), r)
	}
	if passed == 0 || passed == tries {
		t.Errorf("%d of %d passed", passed, tries)
	}
	t.Logf("seed %d: %d of %d generated patches passed", seed, passed, tries)
	if testing.Short() {
		t.Skip("a sample of them passed")
	}
}

// TestPolicyLetsLaterPatchesPass: whoever wrote before, and however many, what the API
// server then notes of them keeps nobody from waking a job.
func TestPolicyLetsLaterPatchesPass(t *testing.T) {
	b := control(t)
	const user = "limited-later"
	b.apply(t, user, "operator", "--user", user, "-o", "json")
	b.apply(t, user, "policy", "--user", user, "-o", "json")
	config, err := b.AddUser(user)
	if err != nil {
		t.Fatal(err)
	}
	limited, err := client.New(config, client.Options{Scheme: testbed.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	backup := &veleroapi.Backup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "limited-later"},
		Status:     veleroapi.BackupStatus{Phase: veleroapi.BackupPhaseFinalizing},
	}
	b.create(t, backup)
	wake := func(attempt string) error {
		data, _ := json.Marshal(
			merge{
				"metadata": merge{
					"annotations": joined(marked("woken", user), merge{"veltui.io/woken-attempt": attempt}),
				},
			},
		)
		return limited.Patch(
			t.Context(),
			backup.DeepCopy(),
			client.RawPatch(types.MergePatchType, data),
			client.FieldOwner("veltui"),
		)
	}
	eventually(t, "the rights are granted", func() bool { return wake("zero .") == nil })
	attempts := []string{"zero"}
	for i := range 14 {
		note := fmt.Sprintf(`{"metadata":{"annotations":{"note-%d":"x"}},"status":{"warnings":%d}}`, i, i)
		if err := b.client.Patch(
			t.Context(),
			backup.DeepCopy(),
			client.RawPatch(types.MergePatchType, []byte(note)),
			client.FieldOwner(fmt.Sprintf("writer-%d", i)),
		); err != nil {
			t.Fatal(err)
		}
		attempts = append([]string{fmt.Sprintf("later-%d", i)}, attempts[:min(len(attempts), 7)]...)
		if err := wake(strings.Join(attempts, " ") + " ."); err != nil {
			t.Fatalf("after %d writers: %v", i+1, err)
		}
	}
	// kubectl with the printed command takes over what veltui wrote.
	data, _ := json.Marshal(
		merge{
			"metadata": merge{
				"annotations": joined(
					marked("woken", user),
					merge{
						"veltui.io/woken-attempt": "by-kubectl " + strings.Join(attempts[:7], " ") + " .",
						"veltui.io/woken-reason":  "another",
						"veltui.io/woken-at":      "2026-01-02T00:00:00Z",
					},
				),
			},
		},
	)
	if err := limited.Patch(
		t.Context(),
		backup.DeepCopy(),
		client.RawPatch(types.MergePatchType, data),
		client.FieldOwner("kubectl-patch"),
	); err != nil {
		t.Errorf("kubectl: %v", err)
	}
}
