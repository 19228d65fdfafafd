package artifact

import (
	"context"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// Operation is one asynchronous item operation (pkg/itemoperation/{shared,backup_operation,restore_operation}.go).
type Operation struct {
	ID string
	// Action is the plugin that started it.
	Action string
	// Group, Resource, Namespace and Name are the item's.
	Group, Resource, Namespace, Name string
	// Phase is New, InProgress, Completed or Failed.
	Phase string
	Error string
	// Done and Total are counted in Units; Total is 0 if the plugin does not say.
	Done, Total        int64
	Units, Description string
	// PostOperationItems names the items that the backup stores again after the operation, as resource.group
	// namespace/name.
	PostOperationItems string
	// Created, Started and Updated are zero if not said.
	Created, Started, Updated time.Time
}

// storedOperation is an operation as stored. The Go type of its item has no JSON names.
type storedOperation struct {
	Spec struct {
		BackupItemAction   string       `json:"backupItemAction"`
		RestoreItemAction  string       `json:"restoreItemAction"`
		OperationID        string       `json:"operationID"`
		ResourceIdentifier storedItem   `json:"resourceIdentifier"`
		PostOperationItems []storedItem `json:"postOperationItems"`
	} `json:"spec"`
	Status struct {
		Phase          string      `json:"phase"`
		Error          string      `json:"error"`
		NCompleted     int64       `json:"nCompleted"`
		NTotal         int64       `json:"nTotal"`
		OperationUnits string      `json:"operationUnits"`
		Description    string      `json:"description"`
		Created        lenientTime `json:"created"`
		Started        lenientTime `json:"started"`
		Updated        lenientTime `json:"updated"`
	} `json:"status"`
}

type storedItem struct{ Group, Resource, Namespace, Name string }

func (i storedItem) String() string {
	return i.Resource + human.Prefixed(".", i.Group) + " " + human.Namespaced(i.Namespace, i.Name)
}

func (s *storedOperation) toOperation() Operation {
	spec, status := &s.Spec, &s.Status
	o := Operation{
		ID: spec.OperationID, Action: spec.BackupItemAction + spec.RestoreItemAction,
		Group: spec.ResourceIdentifier.Group, Resource: spec.ResourceIdentifier.Resource,
		Namespace: spec.ResourceIdentifier.Namespace, Name: spec.ResourceIdentifier.Name,
		Phase: status.Phase, Error: status.Error,
		Done: status.NCompleted, Total: status.NTotal,
		Units: status.OperationUnits, Description: status.Description,
		Created: status.Created.Time, Started: status.Started.Time, Updated: status.Updated.Time,
	}
	var updates []string
	for _, item := range spec.PostOperationItems {
		updates = append(updates, item.String())
	}
	o.PostOperationItems = strings.Join(updates, ", ")
	return o
}

// FetchItemOperations fetches the operations of a job. While operations run, the request makes Velero store their
// current state: the numbers are live.
func (f *Fetcher) FetchItemOperations(
	ctx context.Context,
	kind job.Kind,
	name string,
) (operations []Operation, err error) {
	target := newTarget(
		kind,
		name,
		veleroapi.DownloadTargetKindBackupItemOperations,
		veleroapi.DownloadTargetKindRestoreItemOperations,
	)
	err = f.fetchJSON(ctx, target, readList(&operations, (*storedOperation).toOperation))
	return operations, err
}
