//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/e2e/seed"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// restored are the phases of a restore that runs to its end.
var restored = []string{"", "InProgress", "Finalizing", "Completed"}

// to maps every namespace of the seed to one that ends in suffix.
func to(suffix string) map[string]string {
	mapping := map[string]string{}
	for _, namespace := range seed.NamespaceNames() {
		mapping[namespace] = namespace + "-" + suffix
	}
	return mapping
}

// unthrottled are flags with which the server asks of the API server as fast as
// it can: what is compared here is how many items there are and what becomes of
// them, and not how long they take.
var unthrottled = []string{"--client-qps=1000", "--client-burst=1000"}

func TestRestores(t *testing.T) {
	must(t, theLab.EnsureVelero(patient(t), unthrottled...))
	yes, no := true, false
	web := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web", "team": "red"}}
	for _, tt := range []struct {
		name string
		spec veleroapi.RestoreSpec
		// least is how many items there are at least by the seed.
		least int
	}{
		{"mapped", veleroapi.RestoreSpec{IncludedNamespaces: seed.NamespaceNames(), NamespaceMapping: to("mapped")}, 1700},
		{"resources", veleroapi.RestoreSpec{
			IncludedNamespaces: []string{"shop"}, IncludedResources: []string{"configmaps", "secrets"}, NamespaceMapping: to("resources"),
		}, 700},
		{"selector", veleroapi.RestoreSpec{IncludedNamespaces: []string{"shop"}, LabelSelector: web, NamespaceMapping: to("selector")}, 30},
		{"or-selectors", veleroapi.RestoreSpec{
			IncludedNamespaces: []string{"billing"}, NamespaceMapping: to("or"),
			OrLabelSelectors: []*metav1.LabelSelector{web, {MatchLabels: map[string]string{"app": "db"}}},
		}, 30},
		{"cluster-on", veleroapi.RestoreSpec{IncludedNamespaces: []string{"ops"}, IncludeClusterResources: &yes, NamespaceMapping: to("on")}, 200},
		{"cluster-off", veleroapi.RestoreSpec{IncludedNamespaces: []string{"ops"}, IncludeClusterResources: &no, NamespaceMapping: to("off")}, 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fullBackup(t)
			tt.spec.BackupName = full
			guess, err := estimateSpec(t, tt.spec)
			must(t, err)
			waited := startWaiting(t, "restore/"+tt.name, 0, "Completed")
			h := restore(t, tt.name, tt.spec, nil)
			wantEnd(t, h, "Completed")
			waited()
			wantTold(t, h)
			wantPhases(t, h, restored)
			wantWhole(t, h, tt.least)
			wantEstimate(t, guess, h)
		})
	}
}

// wantWhole checks that a restore came to its own final total, never showed
// fewer items than before, and restored at least so many.
func wantWhole(t *testing.T, h lab.History, least int) {
	t.Helper()
	last := h.LastState().Progress
	if last == nil || last.Done != last.Total || last.Done < least {
		t.Fatalf("final progress %v, want at least %d items, all done", last, least)
	}
	done := 0
	for _, s := range h.DistinctStates() {
		if s.Progress == nil {
			continue
		}
		if s.Progress.Done < done {
			t.Errorf("items went back from %d to %d", done, s.Progress.Done)
		}
		done = s.Progress.Done
	}
}

// TestRestoreAgainstQuota restores into a namespace that refuses most of it.
func TestRestoreAgainstQuota(t *testing.T) {
	fullBackup(t)
	const target = "ops-quota"
	ctx := patient(t)
	must(t, theLab.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: target}}))
	must(t, theLab.Client.Create(ctx, &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: target, Name: "few"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/configmaps": resource.MustParse("5")}},
	}))
	h := restore(t, "quota", veleroapi.RestoreSpec{
		BackupName: full, IncludedNamespaces: []string{"ops"}, IncludedResources: []string{"configmaps"},
		NamespaceMapping: map[string]string{"ops": target},
	}, nil)
	wantEnd(t, h, "PartiallyFailed")
	wantTold(t, h)
	wantPhases(t, h, []string{"", "InProgress", "FinalizingPartiallyFailed", "PartiallyFailed"})
	wantWhole(t, h, 90) // what failed counts as restored
	if errors := h.StatusNumber("errors"); errors < 80 {
		t.Errorf("%d errors, want one for each of the 90 ConfigMaps that the quota refuses", errors)
	}
	wantResults(t, h, "quota", target)
	wantWaited(t, "restore/quota", exitPartiallyFailed)
	wantPages(t, h, "quota", target)
	wantListOf(t, full)
}

// TestFailedValidation makes jobs that Velero refuses. What veltui is asked to
// estimate of such a restore it must refuse too.
func TestFailedValidation(t *testing.T) {
	fullBackup(t)
	both := []string{"shop"}
	web := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	for _, tt := range []struct {
		name string
		spec veleroapi.RestoreSpec
	}{
		{"invalid", veleroapi.RestoreSpec{IncludedNamespaces: both, ExcludedNamespaces: both}},
		{"invalid-nodes", veleroapi.RestoreSpec{IncludedResources: []string{"configmaps", "nodes"}}},
		{"invalid-resources", veleroapi.RestoreSpec{IncludedResources: []string{"pods"}, ExcludedResources: []string{"pods"}}},
		{"invalid-stars", veleroapi.RestoreSpec{IncludedResources: []string{"*", "pods"}}},
		{"invalid-exclude", veleroapi.RestoreSpec{ExcludedNamespaces: []string{"*"}}},
		{"invalid-selectors", veleroapi.RestoreSpec{LabelSelector: web, OrLabelSelectors: []*metav1.LabelSelector{web}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.spec.BackupName = full
			_, err := estimateSpec(t, tt.spec)
			if err == nil || !strings.Contains(err.Error(), "Velero refuses this restore: ") {
				t.Errorf("veltui estimate said %v, want that Velero would refuse it", err)
			}
			h := restore(t, tt.name, tt.spec, nil)
			wantEnd(t, h, "FailedValidation")
			wantTold(t, h)
			wantPhases(t, h, []string{"", "FailedValidation"})
		})
	}
	t.Run("backup", func(t *testing.T) {
		h := backup(t, "invalid", veleroapi.BackupSpec{IncludedNamespaces: both, ExcludedNamespaces: both}, nil)
		wantEnd(t, h, "FailedValidation")
		wantTold(t, h)
		wantPhases(t, h, backupPhases(t, "FailedValidation"))
	})
}

// TestRestoresWaitForTheWorker holds one restore while two more are created:
// Velero has one worker, and says nothing of those that wait for it.
func TestRestoresWaitForTheWorker(t *testing.T) {
	fullBackup(t)
	spec := func(suffix string) veleroapi.RestoreSpec {
		return veleroapi.RestoreSpec{
			BackupName:         full,
			IncludedNamespaces: []string{"media"},
			IncludedResources:  []string{"configmaps"},
			NamespaceMapping:   to(suffix),
		}
	}
	createRestore(t, "worker-1", spec("w1"), lab.Annotations{lab.HoldAnnotation: "worker"})
	await(
		t,
		"Restore",
		"worker-1",
		"be held with some items done",
		func(h lab.History) bool { return h.LastState().Progress != nil },
	)
	createRestore(t, "worker-2", spec("w2"), nil)
	createRestore(t, "worker-3", spec("w3"), nil)
	await(t, "Restore", "worker-3", "be seen", func(h lab.History) bool { return len(h) > 0 })
	must(t, theLab.OpenGate("worker"))

	first, second, third := ended(
		t,
		"Restore",
		"worker-1",
	), ended(
		t,
		"Restore",
		"worker-2",
	), ended(
		t,
		"Restore",
		"worker-3",
	)
	for _, h := range []lab.History{first, second, third} {
		wantEnd(t, h, "Completed")
		wantTold(t, h)
		wantPhases(t, h, restored)
	}
	if began, freed := second.FirstInPhase("InProgress"), first.FirstInPhase("Finalizing"); began.Before(freed) {
		t.Errorf("the second restore began %s before the first had left the worker", freed.Sub(began))
	}
}
