package artifact

import (
	"context"
	"strings"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
)

// Operation is one asynchronous item operation (pkg/itemoperation/{shared,backup_operation,restore_operation}.go).
type Operation struct {
	ID string
	// Action is the plugin that began it.
	Action string
	// Group, Resource, Namespace and Name are the item's.
	Group, Resource, Namespace, Name string
	// Phase is New, InProgress, Completed or Failed.
	Phase string
	Error string
	// Done and Total are counted in Units; Total is 0 if the plugin does not say.
	Done, Total        int64
	Units, Description string
	// Updates names the items that the backup stores anew after it, as resource.group namespace/name.
	Updates string
	// Created, Started and Updated are zero if not said.
	Created, Started, Updated time.Time
}

// storedOperation is an operation as stored. The item's Go type has no names for JSON.
type storedOperation struct {
	Spec struct {
		BackupItemAction   string       `json:"backupItemAction"`
		RestoreItemAction  string       `json:"restoreItemAction"`
		OperationID        string       `json:"operationID"`
		ResourceIdentifier storedItem   `json:"resourceIdentifier"`
		PostOperationItems []storedItem `json:"postOperationItems"`
	} `json:"spec"`
	Status struct {
		Phase          string `json:"phase"`
		Error          string `json:"error"`
		NCompleted     int64  `json:"nCompleted"`
		NTotal         int64  `json:"nTotal"`
		OperationUnits string `json:"operationUnits"`
		Description    string `json:"description"`
		Created        moment `json:"created"`
		Started        moment `json:"started"`
		Updated        moment `json:"updated"`
	} `json:"status"`
}

type storedItem struct{ Group, Resource, Namespace, Name string }

func (i storedItem) String() string {
	return i.Resource + human.Clause(".", i.Group) + " " + human.Namespaced(i.Namespace, i.Name)
}

func (s *storedOperation) operation() Operation {
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
	o.Updates = strings.Join(updates, ", ")
	return o
}

// ItemOperations fetches the operations of a job. While they run, asking makes Velero store what it knows:
// the numbers are live.
func (f *Fetcher) ItemOperations(ctx context.Context, kind job.Kind, name string) (operations []Operation, err error) {
	target := targetOf(
		kind,
		name,
		velerov1.DownloadTargetKindBackupItemOperations,
		velerov1.DownloadTargetKindRestoreItemOperations,
	)
	err = f.load(ctx, target, readList(&operations, (*storedOperation).operation))
	return operations, err
}
