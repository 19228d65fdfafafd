package watch

import (
	"fmt"
	"sync"
	"testing"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	velerov2alpha1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v2alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/testbed"
)

// BenchmarkFirstList is what it takes to read many volumes from a real API
// server, the server's own work included, until all is live.
func BenchmarkFirstList(b *testing.B) {
	const many, writers = 3000, 16
	plane := shared.For(b)
	api, err := client.New(plane.Config(), client.Options{Scheme: testbed.Scheme()})
	if err != nil {
		b.Fatal(err)
	}
	ns := shared.Name("first-list")
	if err := plane.Namespace(b.Context(), ns); err != nil {
		b.Fatal(err)
	}
	now := metav1.Now()
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			for n := i; n < many; n += writers {
				u := dataUpload(
					ns,
					fmt.Sprintf("upload-%05d", n),
					velerov1.BackupUIDLabel,
					"u",
					velerov1.BackupNameLabel,
					"nightly",
					velerov1.AsyncOperationIDLabel,
					fmt.Sprintf("du-%d", n),
				)
				u.Spec.CSISnapshot = &velerov2alpha1.CSISnapshotSpec{
					VolumeSnapshot: "velero-data",
					StorageClass:   "fast",
					SnapshotClass:  "snap",
				}
				u.Status = velerov2alpha1.DataUploadStatus{
					Phase:               velerov2alpha1.DataUploadPhaseCompleted,
					SnapshotID:          "7a9c",
					Node:                "n1",
					StartTimestamp:      &now,
					CompletionTimestamp: &now,
					AcceptedTimestamp:   &now,
				}
				if err := api.Create(b.Context(), u); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.ReportAllocs()
	for b.Loop() {
		w, err := New(b.Context(), Options{Config: plane.Config(), Namespace: ns, Window: 5 * time.Millisecond})
		if err != nil {
			b.Fatal(err)
		}
		for {
			s, err := w.Next(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			if isLive(s) {
				break
			}
		}
		w.Stop()
	}
}
