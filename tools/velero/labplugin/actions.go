package main

import (
	"errors"
	"time"

	"github.com/sirupsen/logrus"
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"github.com/vmware-tanzu/velero/pkg/plugin/velero"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
)

// appliesTo is the same for both actions. Velero itself applies the selector,
// so objects without the label cost no call to the plugin.
func appliesTo() (velero.ResourceSelector, error) {
	return velero.ResourceSelector{LabelSelector: actedLabel}, nil
}

type backupAction struct{ log logrus.FieldLogger }

func (a *backupAction) Name() string { return "lab.veltui.io/backup" }

// AppliesTo fails while the gate noSelectorGate is open. Velero asks every action
// before it collects anything, and a backup then fails as a whole, with no error
// in its log.
func (a *backupAction) AppliesTo() (velero.ResourceSelector, error) {
	if open, err := gateOpen(noSelectorGate); open || err != nil {
		return velero.ResourceSelector{}, errors.Join(
			errors.New("the plugin of the lab does not know what it applies to"),
			err,
		)
	}
	return appliesTo()
}

func (a *backupAction) Execute(
	item runtime.Unstructured,
	backup *velerov1.Backup,
) (runtime.Unstructured, []velero.ResourceIdentifier, string, []velero.ResourceIdentifier, error) {
	switch backup.Status.Phase {
	case velerov1.BackupPhaseFinalizing, velerov1.BackupPhaseFinalizingPartiallyFailed:
		return item, nil, "", nil, nil // no operation may begin any more
	}
	operation, err := carryOut(backup.Annotations, item)
	return item, nil, operation, nil, err
}

func (a *backupAction) Progress(id string, backup *velerov1.Backup) (velero.OperationProgress, error) {
	return progress(id, backup.Annotations, time.Now())
}

func (a *backupAction) Cancel(string, *velerov1.Backup) error { return nil }

type restoreAction struct{ log logrus.FieldLogger }

func (a *restoreAction) Name() string { return "lab.veltui.io/restore" }

func (a *restoreAction) AppliesTo() (velero.ResourceSelector, error) { return appliesTo() }

func (a *restoreAction) Execute(
	in *velero.RestoreItemActionExecuteInput,
) (*velero.RestoreItemActionExecuteOutput, error) {
	out := velero.NewRestoreItemActionExecuteOutput(in.Item)
	var err error
	out.OperationID, err = carryOut(in.Restore.Annotations, in.Item)
	return out, err
}

func (a *restoreAction) Progress(id string, restore *velerov1.Restore) (velero.OperationProgress, error) {
	return progress(id, restore.Annotations, time.Now())
}

func (a *restoreAction) Cancel(string, *velerov1.Restore) error { return nil }

func (a *restoreAction) AreAdditionalItemsReady([]velero.ResourceIdentifier, *velerov1.Restore) (bool, error) {
	return true, nil
}

// carryOut takes the time that the job's annotations order for one item, and
// begins its operation if they order one.
func carryOut(annotations map[string]string, item runtime.Unstructured) (operation string, err error) {
	object, err := meta.Accessor(item)
	if err != nil {
		return "", err
	}
	o, err := parseOrder(annotations)
	if err != nil {
		return "", err
	}
	if o.only != "" && object.GetLabels()[actedLabel] != o.only {
		return "", nil
	}
	if err := o.delayItem(); err != nil {
		return "", err
	}
	return o.begin(object.GetNamespace()+"/"+object.GetName(), time.Now()), nil
}

// progress reports on an operation. Everything it needs is in the identifier
// and the job, so that it survives a restart of the server.
func progress(id string, annotations map[string]string, now time.Time) (velero.OperationProgress, error) {
	o, err := parseOrder(annotations)
	if err != nil {
		return velero.OperationProgress{}, err
	}
	return o.progress(id, now)
}
