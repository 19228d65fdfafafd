package results

import (
	"cmp"
	"slices"
	"strings"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/velero"
)

// OperationError is what an item operation that failed said.
type OperationError struct {
	Resource Resource
	Text     string
}

// HasOperationErrors reports whether a job's status counts more errors than its results have, and item operations
// failed: Velero adds their errors to status.errors and never to the results (Reconcile of
// pkg/controller/backup_operations_controller.go and restore_operations_controller.go, 1.11 to 1.18).
func HasOperationErrors(j *job.Job, sections []MessageSection) bool {
	stored, _ := CountMessages(sections)
	return j.Errors > stored && j.Operations.Failed > 0
}

// AddOperationErrors adds what the job's failed item operations said, behind the errors of the results. operations may
// be unknown: then the volumes that the operations moved have the reasons.
func AddOperationErrors(j *job.Job, sections []MessageSection, operations []artifact.Operation) []MessageSection {
	if !HasOperationErrors(j, sections) {
		return sections
	}
	errs := operationErrors(j, operations)
	if len(errs) == 0 {
		return sections
	}
	s := MessageSection{
		Severity: Error,
		Place:    operationsPlace,
		Count:    len(errs),
		Messages: groupOperationErrors(errs),
	}
	at := 0
	for at < len(sections) && sections[at].Severity == Error {
		at++
	}
	return slices.Insert(slices.Clone(sections), at, s)
}

// operationsPlace is where the errors of item operations are from.
const operationsPlace = "item operations"

func groupOperationErrors(errs []OperationError) []Message {
	rows := make([]row, len(errs))
	for i, e := range errs {
		rows[i] = row{scope: ScopeOperation, named: e.Resource, text: e.Text, message: e.Text}
	}
	return buildMessages(Error, rows, nil, groupRows)
}

// operationErrors returns what the failed operations said, with the messages of their volumes. Without a list of
// operations that has one, it returns the messages of the volumes alone.
func operationErrors(j *job.Job, operations []artifact.Operation) (errs []OperationError) {
	byID, byClaim := map[string]*job.Volume{}, map[Resource]*job.Volume{}
	var alone []OperationError
	for i := range j.Volumes {
		v := &j.Volumes[i]
		if !v.HasFailed() || v.Kind != velero.DataUpload && v.Kind != velero.DataDownload {
			continue
		}
		claim := Resource{Kind: "persistentvolumeclaims", Namespace: v.Namespace, Name: v.Claim}
		byID[v.OperationID], byClaim[claim] = v, v
		alone = append(alone, OperationError{claim, v.Phase + human.Prefixed(": ", v.Message)})
	}
	for _, o := range operations {
		if o.Phase != velero.OperationFailed && (o.Phase != "" || o.Error == "") {
			continue
		}
		item := Resource{Kind: o.Resource + human.Prefixed(".", o.Group), Namespace: o.Namespace, Name: o.Name}
		text := o.Error
		if v := cmp.Or(byID[o.ID], byClaim[item]); v != nil && v.Message != text {
			text = strings.TrimPrefix(text+human.Prefixed(": ", v.Message), ": ")
		}
		errs = append(errs, OperationError{item, text})
	}
	if len(errs) == 0 {
		return alone
	}
	return errs
}

// ObjectNames returns the names of objects that the messages of a job may have.
func ObjectNames(j *job.Job) []string {
	names := []string{j.Name, j.BackupName}
	for i := range j.Volumes {
		v := &j.Volumes[i]
		names = append(names, v.Name, v.Namespace, v.Claim, v.Pod, v.PodVolume, v.Node, v.SnapshotHandle)
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}
