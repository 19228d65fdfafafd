package demo

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestLiving: what was backed up is still there, so that a restore has a target.
func TestLiving(t *testing.T) {
	objects, err := recordedObjects()
	if err != nil || len(objects) < 2000 {
		t.Fatalf("%d objects, %v", len(objects), err)
	}
	for _, o := range objects {
		if o.GetNamespace() == "velero" {
			t.Errorf("%s %s is beside what the demo plays", o.GetKind(), o.GetName())
		}
	}
	r := start(t, Options{})
	claims, err := r.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}).
		List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, claim := range claims.Items {
		found[claim.GetNamespace()+"/"+claim.GetName()] = true
	}
	for _, claim := range []string{"shop/data-shop-db-0", "billing/data-1", "crm/data-crm-db-0", "erp/data-erp-db-0"} {
		if !found[claim] {
			t.Errorf("no claim %s among %d", claim, len(found))
		}
	}
}

// TestContentsAreWhatIsListed: a backup's tarball has the items that its resource list names.
func TestContentsAreWhatIsListed(t *testing.T) {
	r := start(t, Options{})
	made := artifactBuilder{r.cluster, r.store}
	for _, name := range []string{"crm-nightly-5", "all-weekly-4"} {
		backup, ok := made.findJob("backup", name)
		if !ok {
			t.Fatalf("there is no %s", name)
		}
		files := 0
		for contents := tar.NewReader(bytes.NewReader(made.buildTarball(backup))); ; files++ {
			header, err := contents.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(header.Name, "-preferredversion") || strings.HasPrefix(header.Name, "metadata/") {
				files--
			}
		}
		if listed := len(made.backedUpItems(backup)); files != listed || listed != backup.itemCount() {
			t.Errorf("%s: %d files, %d items listed, %d counted", name, files, listed, backup.itemCount())
		}
	}
}
