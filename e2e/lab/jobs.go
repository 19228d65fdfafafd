package lab

import (
	"context"
	"fmt"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The annotations that order something of the lab's plugin, which acts on
// objects with the label seed.ActedLabel (see tools/velero/labplugin).
const (
	// Only names the value of the label that is acted on; all without it.
	Only = "lab.veltui.io/only"
	// Pace is how long each acted item takes.
	Pace = "lab.veltui.io/pace"
	// Hold names the gate at which each acted item waits.
	Hold = "lab.veltui.io/hold"
	// Operation is how long the operation takes that each acted item begins.
	Operation = "lab.veltui.io/operation"
	// OperationHold names the gate before which no operation ends.
	OperationHold = "lab.veltui.io/operation-hold"
	// OperationError is the message with which operations fail.
	OperationError = "lab.veltui.io/operation-error"
)

// NoSelector is the gate that, open, makes the lab's plugin fail when Velero
// asks which resources it applies to, which fails every backup.
const NoSelector = "no-selector"

// Annotations are put on a Backup or Restore when it is created.
type Annotations map[string]string

// CreateBackup creates a Backup as the velero CLI does.
func (l *Lab) CreateBackup(ctx context.Context, name string, spec velerov1.BackupSpec, annotations Annotations) error {
	if spec.StorageLocation == "" {
		spec.StorageLocation = Location
	}
	backup := &velerov1.Backup{
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
	spec velerov1.RestoreSpec,
	annotations Annotations,
) error {
	restore := &velerov1.Restore{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name, Annotations: annotations},
		Spec:       spec,
	}
	if err := l.Client.Create(ctx, restore); err != nil {
		return fmt.Errorf("creating restore %s: %w", name, err)
	}
	return nil
}

// Live reads a Backup or Restore as it is now: a history of one event.
func (l *Lab) Live(ctx context.Context, kind, name string) (History, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(velerov1.SchemeGroupVersion.WithKind(kind))
	if err := l.Client.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: name}, object); err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", kind, name, err)
	}
	return History{{At: time.Now(), Type: watch.Modified, Object: object}}, nil
}

// AwaitSync waits until Velero has twice compared its Backups with what is
// stored, the second time wholly after this call.
func (l *Lab) AwaitSync(ctx context.Context) error {
	seen := map[time.Time]bool{}
	return poll(ctx, "velero to synchronise its backups", func() (bool, error) {
		var location velerov1.BackupStorageLocation
		err := l.Client.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: Location}, &location)
		if last := location.Status.LastSyncedTime; last != nil {
			seen[last.Time] = true
		}
		return len(seen) > 2, err
	})
}

// AwaitLocation waits until the storage location is in a phase.
func (l *Lab) AwaitLocation(ctx context.Context, phase velerov1.BackupStorageLocationPhase) error {
	return poll(ctx, "the storage location to be "+string(phase), func() (bool, error) {
		var location velerov1.BackupStorageLocation
		err := l.Client.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: Location}, &location)
		return location.Status.Phase == phase, err
	})
}

// Remove deletes an object and waits until it is gone.
func (l *Lab) Remove(ctx context.Context, object client.Object) error {
	if err := l.Client.Delete(ctx, object); err != nil {
		return fmt.Errorf("removing %s: %w", object.GetName(), err)
	}
	return l.AwaitGone(ctx, object)
}

// AwaitGone waits until an object that somebody deletes is gone.
func (l *Lab) AwaitGone(ctx context.Context, object client.Object) error {
	return poll(ctx, object.GetName()+" to go", func() (bool, error) {
		err := l.Client.Get(ctx, client.ObjectKeyFromObject(object), object)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}
