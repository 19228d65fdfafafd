package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	velerov2alpha1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v2alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/e2e/lab"
)

// volumeBytes is how large every volume is said to be.
const volumeBytes = 1 << 30

// mover is how the pods behave that move the volumes of a backup.
type mover struct {
	// length is how long one volume takes.
	length time.Duration
	// hangs is true for pods that never report.
	hangs bool
}

// movers play the pods that the node-agent makes for DataUploads: they run,
// report and end.
type movers struct {
	mu     sync.Mutex
	orders map[string]mover
	// started are the DataUploads whose pod runs, since when, and reported those
	// that were reported to have begun.
	started  map[types.UID]time.Time
	reported map[types.UID]bool
}

func newMovers() *movers {
	return &movers{orders: map[string]mover{}, started: map[types.UID]time.Time{}, reported: map[types.UID]bool{}}
}

// order says how the volumes of a backup are moved.
func (p *movers) order(backup string, m mover) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.orders[backup] = m
}

func (p *movers) of(backup string) mover {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.orders[backup]
}

// play plays until ctx ends. What fails, as while the API server is away, is
// tried again.
func (p *movers) play(ctx context.Context, l *lab.Lab) {
	for ; ctx.Err() == nil; sleep(ctx, 500*time.Millisecond) {
		attempt, cancel := context.WithTimeout(ctx, 10*time.Second)
		var list velerov2alpha1.DataUploadList
		if err := l.Client.List(attempt, &list, client.InNamespace(lab.Namespace)); err == nil {
			for i := range list.Items {
				u := &list.Items[i]
				_ = p.move(attempt, l, u, p.of(u.Labels[velerov1.BackupNameLabel]))
			}
		}
		cancel()
	}
}

// move does the next thing that the pod of an upload does.
func (p *movers) move(ctx context.Context, l *lab.Lab, u *velerov2alpha1.DataUpload, m mover) error {
	began, started := p.started[u.UID]
	switch u.Status.Phase {
	case velerov2alpha1.DataUploadPhaseAccepted:
		if started {
			return nil
		}
		if err := l.RunPod(ctx, lab.Namespace, u.Name); err != nil {
			return err
		}
		p.started[u.UID] = time.Now()
	case velerov2alpha1.DataUploadPhaseInProgress:
		if m.hangs {
			return nil
		}
		if !p.reported[u.UID] {
			p.started[u.UID], p.reported[u.UID] = time.Now(), true
			return report(ctx, l, u, "Data-Path-Started", "")
		}
		passed := time.Since(began)
		if passed < m.length {
			share := int64(float64(passed) / float64(m.length) * volumeBytes)
			if int(passed.Seconds())%5 != 0 {
				return nil
			}
			return report(
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
		if err := report(ctx, l, u, "Data-Path-Stopped", ""); err != nil {
			return err
		}
		return l.EndPod(ctx, lab.Namespace, u.Name, 0, string(result))
	}
	return nil
}

// report makes the event by which a mover pod reports to the node-agent.
func report(ctx context.Context, l *lab.Lab, u *velerov2alpha1.DataUpload, reason, message string) error {
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
