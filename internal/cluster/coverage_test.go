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
	l := &coverageLook{found: &coverage.Cluster{Unseen: map[string]string{}, Misread: map[string]string{}}}
	l.unread(coverage.Claims, "", live.MisreadError{"shop/data": "spec.x is 7"})
	l.unread(coverage.StorageClasses, "", live.MisreadError{"fast": "provisioner is 7"})
	l.unread(coverage.Pods, "", errors.New("you may not list it"))
	if got := fmt.Sprint(
		l.found.Misread,
		l.found.Unseen,
	); got != "map[persistentvolumeclaims shop/data:spec.x is 7] map[pods:you may not list it storageclasses.storage.k8s.io:fast: provisioner is 7]" {
		t.Error(got)
	}
}
