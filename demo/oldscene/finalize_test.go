package oldscene

import (
	"testing"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/artifact"
	"github.com/veltui/veltui/finalize"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/testbed"
)

// What the past left behind can be finalized: the simulated finalizer ends the
// nudged restore in the phase that it would have had, and the backup that
// nobody works on lets the one behind it begin.
func TestTroubleCanBeFinalized(t *testing.T) {
	config := testbed.ForTest(t, testbed.Options{}).Config()
	api, _ := stage(t, Options{Config: config, Speed: 1, Quiet: true})
	artifacts, err := artifact.New(artifact.Options{Config: config, Namespace: Namespace})
	if err != nil {
		t.Fatal(err)
	}
	storage := finalize.Storage{Artifacts: artifacts}
	f, err := finalize.New(finalize.Options{Config: config, Namespace: Namespace, Prober: storage, Counter: storage,
		AuditDir: t.TempDir(), Observe: time.Second, Poll: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	carryOut := func(kind job.Kind, name, from, to string) finalize.Outcome {
		t.Helper()
		evidence, err := f.Gather(t.Context(), kind, name)
		if err != nil {
			t.Fatal(err)
		}
		plan := finalize.Draft(evidence, finalize.Request{})
		if plan.From != from || plan.To != to {
			t.Fatalf("%s: from %s to %q; refused: %s", name, plan.From, plan.To, plan.Refusal)
		}
		outcome, err := f.Execute(t.Context(), plan, false, nil)
		if err != nil || outcome.State != finalize.Settled {
			t.Fatalf("%s: %v, %+v", name, err, outcome)
		}
		return outcome
	}
	if o := carryOut(job.Restore, "crm-old", "InProgress", "FinalizingPartiallyFailed"); o.Phase != "PartiallyFailed" {
		t.Errorf("crm-old ended %s", o.Phase)
	}
	var crm velerov1.Restore
	if err := api.Get(t.Context(), client.ObjectKey{Namespace: Namespace, Name: "crm-old"}, &crm); err != nil {
		t.Fatal(err)
	}
	if crm.Status.Errors == 0 || crm.Status.CompletionTimestamp == nil || crm.Status.FailureReason != "" {
		t.Errorf("crm-old: %+v", crm.Status)
	}

	orphan := orphanOf(t, api)
	behind := &velerov1.Backup{}
	behind.Namespace, behind.Name = Namespace, "behind-the-orphan"
	behind.Spec.IncludedNamespaces = orphan.Spec.IncludedNamespaces
	if err := api.Create(t.Context(), behind); err != nil {
		t.Fatal(err)
	}
	waitFor(t, api, behind, "waits in the queue", func() bool { return behind.Status.Phase == velerov1.BackupPhaseQueued })
	carryOut(job.Backup, orphan.Name, "InProgress", "Failed")
	waitFor(t, api, behind, "begins", func() bool { return behind.Status.StartTimestamp != nil })
}

// orphanOf is the backup whose server is gone.
func orphanOf(t *testing.T, api client.Client) *velerov1.Backup {
	t.Helper()
	var list velerov1.BackupList
	if err := api.List(t.Context(), &list, client.InNamespace(Namespace)); err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		if b := &list.Items[i]; b.Status.Phase == velerov1.BackupPhaseInProgress && time.Since(b.Status.StartTimestamp.Time) > 50*time.Minute {
			return b
		}
	}
	t.Fatal("there is no orphan")
	return nil
}

func waitFor(t *testing.T, api client.Client, o client.Object, what string, met func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !met(); time.Sleep(50 * time.Millisecond) {
		if err := api.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(end) {
			t.Fatalf("%s: not within two minutes that it %s", o.GetName(), what)
		}
	}
}
