package collector

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
)

// TestBodies reads what is wanted, once, and nothing of version directories.
func TestBodies(t *testing.T) {
	archive := buildArchive(t,
		file{"resources/pods/v1-preferredversion/namespaces/shop/a.json", "no"},
		file{"resources/pods/namespaces/shop/a.json", "a"},
		file{"resources/pods/namespaces/shop/b.json", "b"},
		file{"resources/nodes/cluster/n.json", "n"},
		file{"resources/nodes/cluster/long.json", "too long"})
	var got []string
	err := VisitBodies(t.Context(), bytes.NewReader(archive), Limits{ObjectBytes: 4},
		func(_, _, name string) bool { return name != "b" },
		func(resource, namespace, name string, body []byte) {
			got = append(got, fmt.Sprintf("%s %s/%s %s", resource, namespace, name, body))
		})
	if want := []string{"pods shop/a a", "nodes /n n", "nodes /long "}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	if err := VisitBodies(
		t.Context(),
		bytes.NewReader(archive[:len(archive)/2]),
		Limits{},
		func(_, _, _ string) bool { return true },
		func(_, _, _ string, _ []byte) {},
	); err == nil {
		t.Error("half an archive is none")
	}
}
