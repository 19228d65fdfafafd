package watch

import (
	"fmt"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/testbed"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// BenchmarkFirstList is what it takes to read many volumes from a real API
// server, the server's own work included, until all is live.
func BenchmarkFirstList(b *testing.B) {
	const many, writers = 3000, 16
	plane := shared.ControlPlane(b)
	api, err := client.New(plane.RESTConfig(), client.Options{Scheme: testbed.Scheme()})
	if err != nil {
		b.Fatal(err)
	}
	ns := shared.Name("first-list")
	if err := plane.EnsureNamespace(b.Context(), ns); err != nil {
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
					veleroapi.BackupUIDLabel,
					"u",
					veleroapi.BackupNameLabel,
					"nightly",
					veleroapi.AsyncOperationIDLabel,
					fmt.Sprintf("du-%d", n),
				)
				u.Spec.CSISnapshot = &veleroapi.CSISnapshotSpec{
					VolumeSnapshot: "velero-data",
					StorageClass:   "fast",
					SnapshotClass:  "snap",
				}
				u.Status = veleroapi.DataUploadStatus{
					Phase:               veleroapi.DataUploadPhaseCompleted,
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
		w, err := New(b.Context(), Options{Config: plane.RESTConfig(), Namespace: ns, BatchWindow: 5 * time.Millisecond})
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
