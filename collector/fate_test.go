package collector

import (
	"path/filepath"
	"testing"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// TestFates holds what is said of each item to the estimate of the same restore,
// on the captures of real ones.
func TestFates(t *testing.T) {
	x := readCapture(t, Limits{})
	dirs, err := filepath.Glob("testdata/restores/*")
	if err != nil || len(dirs) < 9 {
		t.Fatalf("captures: %v, %v", dirs, err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			var restore veleroapi.Restore
			load(t, filepath.Join(dir, "restore.yaml"), &restore)
			spec := RestoreInput{Restore: restore.Spec, ExistingNamespaces: ParseNamespaces(captureNamespaces)}
			e := estimate(t, x, spec, Discovery{})
			counts := map[Fate]int{}
			seen := 0
			fates, err := x.DetermineFates(t.Context(), spec, Discovery{})
			if len(e.Refusals) > 0 {
				if err == nil {
					t.Error("it is refused, and its items have fates")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			err = fates.EachItem(func(i Item) {
				seen++
				if i.Resource != dirNamespaces {
					counts[i.Fate]++
				}
				if target := restore.Spec.NamespaceMapping[i.Namespace]; i.Name == "" ||
					i.Resource != dirNamespaces &&
						(target != "" && i.TargetNamespace != target || i.Namespace == "" && i.TargetNamespace != "") {
					t.Errorf("%+v", i)
				}
			})
			want := 0
			for _, r := range e.Resources {
				if r.Resource != dirNamespaces {
					want += r.Items
				}
			}
			if err != nil || seen != x.ItemCount() || counts[ToRestore] != want {
				t.Errorf(
					"%d of %d items, %d to restore, the estimate has %d: %v, %v",
					seen,
					x.ItemCount(),
					counts[ToRestore],
					want,
					counts,
					err,
				)
			}
			for kind, resource := range map[[2]string]string{{"apps", "Deployment"}: "deployments.apps", {"", "Endpoints"}: "endpoints",
				{"example.com", "Policy"}: "policies.example.com", {"a.io", "Gateway"}: "gateways.a.io", {"", "Bus"}: "buses", {"", ""}: ""} {
				if got := fates.Kinds.GuessResource(kind[0], kind[1]); got != resource {
					t.Errorf("%v is %s", kind, got)
				}
			}
		})
	}
}

// TestKindsThatAreNotServed holds that the names of Kubernetes' own kinds do not
// depend on the target.
func TestKindsThatAreNotServed(t *testing.T) {
	x := readCapture(t, Limits{})
	fates, err := x.DetermineFates(
		t.Context(),
		RestoreInput{},
		Discovery{IsLive: true, Resources: []Resource{{"", "pods", "pod", "Pod", nil, true}}},
	)
	if err != nil || fates.Kinds.GuessResource("", "Endpoints") != "endpoints" {
		t.Errorf("%s, %v", fates.Kinds.GuessResource("", "Endpoints"), err)
	}
}

// TestFateOfFilters has each rule leave something out.
func TestFateOfFilters(t *testing.T) {
	x := readCapture(t, Limits{})
	no := false
	for _, c := range []struct {
		spec     veleroapi.RestoreSpec
		resource string
		space    string
		want     Fate
	}{
		{veleroapi.RestoreSpec{IncludedNamespaces: []string{"shop"}}, "configmaps", "ops", NamespaceExcluded},
		{veleroapi.RestoreSpec{IncludedNamespaces: []string{"shop"}}, "configmaps", "shop", ToRestore},
		{veleroapi.RestoreSpec{ExcludedResources: []string{"cm"}}, "configmaps", "shop", KindExcluded},
		{veleroapi.RestoreSpec{IncludeClusterResources: &no}, "customresourcedefinitions.apiextensions.k8s.io", "", ClusterExcluded},
	} {
		n := 0
		fates, err := x.DetermineFates(t.Context(), RestoreInput{Restore: c.spec}, Discovery{})
		if err != nil {
			t.Fatal(err)
		}
		err = fates.EachItem(func(i Item) {
			if i.Resource == c.resource && i.Namespace == c.space {
				n++
				if i.Fate != c.want {
					t.Errorf("%+v, want %d", i, c.want)
				}
			}
		})
		if err != nil || n == 0 {
			t.Errorf("%s in %q: %d items, %v", c.resource, c.space, n, err)
		}
	}
}

// TestJobsThatAreCleanedUp: the cluster deletes a job with a TTL, or of a CronJob, once it has ended, and no other.
func TestJobsThatAreCleanedUp(t *testing.T) {
	x := mustRead(t, buildArchive(t, twice([]file{
		namespaced(dirJobs, "a", "ttl", `{"kind":"Job","metadata":{},"spec":{"ttlSecondsAfterFinished":0,"suspend":true}}`),
		namespaced(dirJobs, "a", "owned", `{"kind":"Job","metadata":{"ownerReferences":[{"kind":"X"},{"kind":"CronJob"}]}}`),
		namespaced(dirJobs, "a", "kept", `{"kind":"Job","metadata":{"ownerReferences":[{"kind":"X"}]},"spec":{"suspend":true}}`),
		namespaced(dirJobs, "a", "null", `{"kind":"Job","metadata":{},"spec":{"ttlSecondsAfterFinished":null}}`),
		namespaced(dirPods, "a", "pod", podJSON("Running")),
	})...))
	fates, err := x.DetermineFates(t.Context(), RestoreInput{}, Discovery{})
	if err != nil {
		t.Fatal(err)
	}
	cleaned := map[string]bool{}
	if err := fates.EachItem(func(i Item) { cleaned[i.Name] = i.IsCleanedUp }); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"ttl": true, "owned": true, "kept": false, "null": false, "pod": false} {
		if got, known := cleaned[name]; got != want || !known {
			t.Errorf("%s: %t, known %t", name, got, known)
		}
	}
}
