package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	velerov2alpha1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v2alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// moving are jobs whose progress is written until they are stopped, each in a
// rhythm of its own.
type moving struct {
	b       *bench
	objects []client.Object
	cancel  context.CancelFunc
	all     sync.WaitGroup
	// written counts the updates, and failed what went wrong with them.
	written, failed atomic.Int64
	began           time.Time
}

// restores makes running restores, and writes their progress every pace.
func (b *bench) restores(ctx context.Context, namespace string, from, to int, pace time.Duration) (*moving, error) {
	m := &moving{b: b, began: time.Now()}
	now := metav1.Now()
	ctx, m.cancel = context.WithCancel(ctx)
	for i := from; i < to; i++ {
		perSecond := 5 + 2*i
		total := perSecond * (300 + 100*i)
		r := &velerov1.Restore{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("moving-%02d", i)},
			Spec:       velerov1.RestoreSpec{BackupName: "crm-weekly"},
			Status: velerov1.RestoreStatus{
				Phase:          velerov1.RestorePhaseInProgress,
				StartTimestamp: &now,
				Progress:       &velerov1.RestoreProgress{TotalItems: total},
			},
		}
		if err := m.add(ctx, r, pace, func(elapsed time.Duration) string {
			done := min(int(elapsed.Seconds()*float64(perSecond)), total)
			return fmt.Sprintf(`{"progress":{"itemsRestored":%d,"totalItems":%d}}`, done, total)
		}); err != nil {
			m.stop()
			return nil, err
		}
	}
	return m, nil
}

// uploads adds the DataUploads of one running backup.
func (m *moving) uploads(ctx context.Context, namespace string, n int, pace time.Duration) error {
	now := metav1.Now()
	ctx, cancel := context.WithCancel(ctx)
	restores := m.cancel
	m.cancel = func() { cancel(); restores() }
	backup := &velerov1.Backup{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "moving-backup"},
		Spec:       velerov1.BackupSpec{StorageLocation: "default"},
		Status: velerov1.BackupStatus{
			Phase:                         velerov1.BackupPhaseWaitingForPluginOperations,
			StartTimestamp:                &now,
			Progress:                      &velerov1.BackupProgress{TotalItems: 900, ItemsBackedUp: 900},
			BackupItemOperationsAttempted: n,
		},
	}
	if err := m.b.client.Create(ctx, backup); err != nil {
		return err
	}
	m.objects = append(m.objects, backup)
	for i := range n {
		u := &velerov2alpha1.DataUpload{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace,
				Name:      fmt.Sprintf("moving-%02d", i),
				Labels: map[string]string{
					velerov1.BackupUIDLabel:  string(backup.UID),
					velerov1.BackupNameLabel: backup.Name,
				},
			},
			Spec: velerov2alpha1.DataUploadSpec{
				SourcePVC:             fmt.Sprintf("data-%02d", i),
				SourceNamespace:       "shop",
				BackupStorageLocation: "default",
				DataMover:             "velero",
			},
			Status: velerov2alpha1.DataUploadStatus{
				Phase:          velerov2alpha1.DataUploadPhaseInProgress,
				Node:           "node-1",
				StartTimestamp: &now,
			},
		}
		if err := m.add(ctx, u, pace, func(elapsed time.Duration) string {
			return fmt.Sprintf(
				`{"progress":{"bytesDone":%d,"totalBytes":%d}}`,
				min(elapsed.Milliseconds()<<15, 50<<30),
				int64(50<<30),
			)
		}); err != nil {
			return err
		}
	}
	return nil
}

// add makes an object and begins to write its status.
func (m *moving) add(
	ctx context.Context,
	o client.Object,
	pace time.Duration,
	status func(elapsed time.Duration) string,
) error {
	if err := m.b.client.Create(ctx, o); err != nil {
		return err
	}
	offset := pace * time.Duration(len(m.objects)%10) / 10
	m.objects = append(m.objects, o)
	m.all.Go(func() {
		if pause(ctx, offset) != nil {
			return
		}
		ticker := time.NewTicker(pace)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			copied := o.DeepCopyObject().(client.Object)
			if err := m.b.patch(ctx, copied, status(time.Since(m.began))); err == nil {
				m.written.Add(1)
			} else if ctx.Err() == nil {
				m.failed.Add(1)
			}
		}
	})
	return nil
}

// rate is how many updates a second were written so far.
func (m *moving) rate() float64 { return float64(m.written.Load()) / time.Since(m.began).Seconds() }

// stop ends the writing and takes the objects away.
func (m *moving) stop() {
	m.cancel()
	m.all.Wait()
	for _, o := range m.objects {
		if err := client.IgnoreNotFound(m.b.client.Delete(context.Background(), o)); err != nil {
			m.b.say("deleting %s: %v", o.GetName(), err)
		}
	}
}
