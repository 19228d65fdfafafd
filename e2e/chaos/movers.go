package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// volumeBytes is how large every volume is said to be.
const volumeBytes = 1 << 30

// moverOrder is how the pods behave that move the volumes of a backup.
type moverOrder struct {
	// length is how long one volume takes.
	length time.Duration
	// hangs is true for pods that never report.
	hangs bool
}

// moverPods play the pods that the node-agent makes for DataUploads: they run,
// report and end.
type moverPods struct {
	mu     sync.Mutex
	orders map[string]moverOrder
	// started are the DataUploads whose pod runs, since when, and reported those
	// that were reported to have begun.
	started  map[types.UID]time.Time
	reported map[types.UID]bool
}

func newMoverPods() *moverPods {
	return &moverPods{orders: map[string]moverOrder{}, started: map[types.UID]time.Time{}, reported: map[types.UID]bool{}}
}

// setOrder says how the volumes of a backup are moved.
func (p *moverPods) setOrder(backup string, m moverOrder) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.orders[backup] = m
}

func (p *moverPods) orderFor(backup string) moverOrder {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.orders[backup]
}

// playPods plays until ctx ends. What fails, as while the API server is away, is
// tried again.
func (p *moverPods) playPods(ctx context.Context, l *lab.Lab) {
	for ; ctx.Err() == nil; sleepContext(ctx, 500*time.Millisecond) {
		attempt, cancel := context.WithTimeout(ctx, 10*time.Second)
		var list veleroapi.DataUploadList
		if err := l.Client.List(attempt, &list, client.InNamespace(lab.Namespace)); err == nil {
			for i := range list.Items {
				u := &list.Items[i]
				_ = p.advanceUpload(attempt, l, u, p.orderFor(u.Labels[veleroapi.BackupNameLabel]))
			}
		}
		cancel()
	}
}

// advanceUpload does the next thing that the pod of an upload does.
func (p *moverPods) advanceUpload(ctx context.Context, l *lab.Lab, u *veleroapi.DataUpload, m moverOrder) error {
	began, started := p.started[u.UID]
	switch u.Status.Phase {
	case veleroapi.DataUploadPhaseAccepted:
		if started {
			return nil
		}
		if err := l.RunPod(ctx, lab.Namespace, u.Name); err != nil {
			return err
		}
		p.started[u.UID] = time.Now()
	case veleroapi.DataUploadPhaseInProgress:
		if m.hangs {
			return nil
		}
		if !p.reported[u.UID] {
			p.started[u.UID], p.reported[u.UID] = time.Now(), true
			return createMoverEvent(ctx, l, u, "Data-Path-Started", "")
		}
		passed := time.Since(began)
		if passed < m.length {
			share := int64(float64(passed) / float64(m.length) * volumeBytes)
			if int(passed.Seconds())%5 != 0 {
				return nil
			}
			return createMoverEvent(
				ctx,
				l,
				u,
				"Data-Path-Progress",
				fmt.Sprintf(`{"doneBytes":%d,"totalBytes":%d}`, share, volumeBytes),
			)
		}
		result, err := json.Marshal(
			map[string]any{
				"snapshotID": strings.ToLower(u.Name),
				"source":     map[string]any{"byPath": "/data"},
				"totalBytes": volumeBytes,
			},
		)
		if err != nil {
			return err
		}
		if err := createMoverEvent(ctx, l, u, "Data-Path-Stopped", ""); err != nil {
			return err
		}
		return l.EndPod(ctx, lab.Namespace, u.Name, 0, string(result))
	}
	return nil
}

// createMoverEvent makes the event by which a mover pod reports to the node-agent.
func createMoverEvent(ctx context.Context, l *lab.Lab, u *veleroapi.DataUpload, reason, message string) error {
	return l.Client.Create(ctx, &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, GenerateName: u.Name + "-"},
		InvolvedObject: corev1.ObjectReference{
			Kind:       "DataUpload",
			APIVersion: "velero.io/v2alpha1",
			Namespace:  lab.Namespace,
			Name:       u.Name,
			UID:        u.UID,
		},
		Reason:  reason,
		Message: message,
		Type:    corev1.EventTypeNormal,
	})
}
