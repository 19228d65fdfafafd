package lab

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// The annotations that order something of the lab's plugin, which acts on
// objects with the label seed.ActedLabel (see tools/velero/labplugin).
const (
	// OnlyAnnotation names the value of the label that is acted on; all without it.
	OnlyAnnotation = "lab.veltui.io/only"
	// PaceAnnotation is how long each acted item takes.
	PaceAnnotation = "lab.veltui.io/pace"
	// HoldAnnotation names the gate at which each acted item waits.
	HoldAnnotation = "lab.veltui.io/hold"
	// OperationAnnotation is how long the operation takes that each acted item begins.
	OperationAnnotation = "lab.veltui.io/operation"
	// OperationHoldAnnotation names the gate before which no operation ends.
	OperationHoldAnnotation = "lab.veltui.io/operation-hold"
	// OperationErrorAnnotation is the message with which operations fail.
	OperationErrorAnnotation = "lab.veltui.io/operation-error"
)

// NoSelectorGate is the gate that, open, makes the lab's plugin fail when Velero
// asks which resources it applies to, which fails every backup.
const NoSelectorGate = "no-selector"

// Annotations are put on a Backup or Restore when it is created.
type Annotations map[string]string

// CreateBackup creates a Backup as the velero CLI does.
func (l *Lab) CreateBackup(ctx context.Context, name string, spec veleroapi.BackupSpec, annotations Annotations) error {
	if spec.StorageLocation == "" {
		spec.StorageLocation = LocationName
	}
	backup := &veleroapi.Backup{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name, Annotations: annotations},
		Spec:       spec,
	}
	if err := l.Client.Create(ctx, backup); err != nil {
		return fmt.Errorf("creating backup %s: %w", name, err)
	}
	return nil
}

// CreateRestore creates a Restore as the velero CLI does.
func (l *Lab) CreateRestore(
	ctx context.Context,
	name string,
	spec veleroapi.RestoreSpec,
	annotations Annotations,
) error {
	restore := &veleroapi.Restore{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name, Annotations: annotations},
		Spec:       spec,
	}
	if err := l.Client.Create(ctx, restore); err != nil {
		return fmt.Errorf("creating restore %s: %w", name, err)
	}
	return nil
}

// ReadJob reads a Backup or Restore as it is now: a history of one event.
func (l *Lab) ReadJob(ctx context.Context, kind, name string) (History, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(veleroapi.GroupVersion.WithKind(kind))
	if err := l.Client.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: name}, object); err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", kind, name, err)
	}
	return History{{At: time.Now(), Type: watch.Modified, Object: object}}, nil
}

// AwaitBackupSync waits until Velero has twice compared its Backups with what is
// stored, the second time wholly after this call.
func (l *Lab) AwaitBackupSync(ctx context.Context) error {
	seen := map[time.Time]bool{}
	return pollUntil(ctx, "velero to synchronise its backups", func() (bool, error) {
		var location veleroapi.BackupStorageLocation
		err := l.Client.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: LocationName}, &location)
		if last := location.Status.LastSyncedTime; last != nil {
			seen[last.Time] = true
		}
		return len(seen) > 2, err
	})
}

// AwaitLocation waits until the storage location is in a phase.
func (l *Lab) AwaitLocation(ctx context.Context, phase veleroapi.BackupStorageLocationPhase) error {
	return pollUntil(ctx, "the storage location to be "+string(phase), func() (bool, error) {
		var location veleroapi.BackupStorageLocation
		err := l.Client.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: LocationName}, &location)
		return location.Status.Phase == phase, err
	})
}

// DeleteAndWait deletes an object and waits until it is gone.
func (l *Lab) DeleteAndWait(ctx context.Context, object client.Object) error {
	if err := l.Client.Delete(ctx, object); err != nil {
		return fmt.Errorf("removing %s: %w", object.GetName(), err)
	}
	return l.AwaitDeleted(ctx, object)
}

// AwaitDeleted waits until an object that somebody deletes is gone.
func (l *Lab) AwaitDeleted(ctx context.Context, object client.Object) error {
	return pollUntil(ctx, object.GetName()+" to go", func() (bool, error) {
		err := l.Client.Get(ctx, client.ObjectKeyFromObject(object), object)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}
