package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// movingJobs are jobs whose progress is written until they are stopped, each in a
// rhythm of its own.
type movingJobs struct {
	b             *bench
	objects       []client.Object
	cancel        context.CancelFunc
	activeWriters sync.WaitGroup
	// written counts the updates, and failed what went wrong with them.
	written, failed atomic.Int64
	began           time.Time
}

// startRestores makes running restores, and writes their progress every pace.
func (b *bench) startRestores(
	ctx context.Context,
	namespace string,
	from, to int,
	pace time.Duration,
) (*movingJobs, error) {
	m := &movingJobs{b: b, began: time.Now()}
	now := metav1.Now()
	ctx, m.cancel = context.WithCancel(ctx)
	for i := from; i < to; i++ {
		perSecond := 5 + 2*i
		total := perSecond * (300 + 100*i)
		r := &veleroapi.Restore{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("moving-%02d", i)},
			Spec:       veleroapi.RestoreSpec{BackupName: "crm-weekly"},
			Status: veleroapi.RestoreStatus{
				Phase:          veleroapi.RestorePhaseInProgress,
				StartTimestamp: &now,
				Progress:       &veleroapi.RestoreProgress{TotalItems: total},
			},
		}
		if err := m.addObject(ctx, r, pace, func(elapsed time.Duration) string {
			done := min(int(elapsed.Seconds()*float64(perSecond)), total)
			return fmt.Sprintf(`{"progress":{"itemsRestored":%d,"totalItems":%d}}`, done, total)
		}); err != nil {
			m.stopAndDelete()
			return nil, err
		}
	}
	return m, nil
}

// startUploads adds the DataUploads of one running backup.
func (m *movingJobs) startUploads(ctx context.Context, namespace string, n int, pace time.Duration) error {
	now := metav1.Now()
	ctx, cancel := context.WithCancel(ctx)
	restores := m.cancel
	m.cancel = func() { cancel(); restores() }
	backup := &veleroapi.Backup{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "moving-backup"},
		Spec:       veleroapi.BackupSpec{StorageLocation: "default"},
		Status: veleroapi.BackupStatus{
			Phase:                         veleroapi.BackupPhaseWaitingForPluginOperations,
			StartTimestamp:                &now,
			Progress:                      &veleroapi.BackupProgress{TotalItems: 900, ItemsBackedUp: 900},
			BackupItemOperationsAttempted: n,
		},
	}
	if err := m.b.client.Create(ctx, backup); err != nil {
		return err
	}
	m.objects = append(m.objects, backup)
	for i := range n {
		u := &veleroapi.DataUpload{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace,
				Name:      fmt.Sprintf("moving-%02d", i),
				Labels: map[string]string{
					veleroapi.BackupUIDLabel:  string(backup.UID),
					veleroapi.BackupNameLabel: backup.Name,
				},
			},
			Spec: veleroapi.DataUploadSpec{
				SourcePVC:             fmt.Sprintf("data-%02d", i),
				SourceNamespace:       "shop",
				BackupStorageLocation: "default",
				DataMover:             "velero",
			},
			Status: veleroapi.DataUploadStatus{
				Phase:          veleroapi.DataUploadPhaseInProgress,
				Node:           "node-1",
				StartTimestamp: &now,
			},
		}
		if err := m.addObject(ctx, u, pace, func(elapsed time.Duration) string {
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

// addObject makes an object and begins to write its status.
func (m *movingJobs) addObject(
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
	m.activeWriters.Go(func() {
		if sleepContext(ctx, offset) != nil {
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
			if err := m.b.patchStatus(ctx, copied, status(time.Since(m.began))); err == nil {
				m.written.Add(1)
			} else if ctx.Err() == nil {
				m.failed.Add(1)
			}
		}
	})
	return nil
}

// updatesPerSecond is how many updates a second were written so far.
func (m *movingJobs) updatesPerSecond() float64 {
	return float64(m.written.Load()) / time.Since(m.began).Seconds()
}

// stopAndDelete ends the writing and takes the objects away.
func (m *movingJobs) stopAndDelete() {
	m.cancel()
	m.activeWriters.Wait()
	for _, o := range m.objects {
		if err := client.IgnoreNotFound(m.b.client.Delete(context.Background(), o)); err != nil {
			m.b.logProgress("deleting %s: %v", o.GetName(), err)
		}
	}
}
