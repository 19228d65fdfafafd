package cluster

import (
	"errors"
	"fmt"
	"testing"

	"github.com/veltui/veltui/internal/assess/coverage"
	"github.com/veltui/veltui/internal/restore/live"
)

// TestMisreadCostsItself: a claim, volume or pod that cannot be read in full leaves the others of its kind read. Of
// other kinds, each can decide about many claims.
func TestMisreadCostsItself(t *testing.T) {
	l := &coverageReader{cluster: &coverage.Cluster{Unchecked: map[string]string{}, PartlyRead: map[string]string{}}}
	l.noteUnchecked(coverage.Claims, "", live.MisreadError{"shop/data": "spec.x is 7"})
	l.noteUnchecked(coverage.StorageClasses, "", live.MisreadError{"fast": "provisioner is 7"})
	l.noteUnchecked(coverage.Pods, "", errors.New("you may not list it"))
	if got := fmt.Sprint(
		l.cluster.PartlyRead,
		l.cluster.Unchecked,
	); got != "map[persistentvolumeclaims shop/data:spec.x is 7] map[pods:you may not list it storageclasses.storage.k8s.io:fast: provisioner is 7]" {
		t.Error(got)
	}
}
