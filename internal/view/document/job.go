package document

import (
	"math"
	"time"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero/decode"
)

// JobList is what `get -o json` prints of several jobs.
type JobList = List[Job]

// List is what `get -o json` prints of several resources.
type List[T any] struct {
	Header
	Items []T `json:"items"`
	// Malformed are all resources in Velero's namespace with a field that
	// Velero cannot read, each with its first.
	Malformed []Malformed `json:"malformed,omitempty"`
}

// NewList returns an empty list of a kind.
func NewList[T any](kind string) List[T] {
	return List[T]{Header: NewHeader(kind + "List"), Items: []T{}}
}

// Head is what every document about a job says of it.
type Head struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	// Phase is Velero's, empty until Velero looked at the resource.
	Phase            string   `json:"phase"`
	Stage            string   `json:"stage"`
	Warnings         int      `json:"warnings"`
	Errors           int      `json:"errors"`
	FailureReason    string   `json:"failureReason,omitempty"`
	ValidationErrors []string `json:"validationErrors,omitempty"`
	BackupName       string   `json:"backupName,omitempty"`
	ScheduleName     string   `json:"scheduleName,omitempty"`
	CreatedAt        Moment   `json:"createdAt,omitzero"`
	StartedAt        Moment   `json:"startedAt,omitzero"`
	CompletedAt      Moment   `json:"completedAt,omitzero"`
	ChangedAt        Moment   `json:"changedAt,omitzero"`
}

// NewHead returns the head of a job's document.
func NewHead(j *job.Job) Head {
	return Head{
		Kind: string(
			j.Kind,
		),
		Namespace:        j.Namespace,
		Name:             j.Name,
		UID:              string(j.UID),
		Phase:            j.Phase,
		Stage:            string(j.Stage),
		Warnings:         j.Warnings,
		Errors:           j.Errors,
		FailureReason:    j.FailureReason,
		ValidationErrors: j.ValidationErrors,
		BackupName:       j.BackupName,
		ScheduleName:     j.ScheduleName,
		CreatedAt: Moment{
			j.Created,
		},
		StartedAt:   Moment{j.Started},
		CompletedAt: Moment{j.Completed},
		ChangedAt:   Moment{j.LastChanged},
	}
}

// Job is one job. Absent numbers are not known; Velero leaves zeros out of its resources, veltui does not.
type Job struct {
	// APIVersion is there where a job that was named or watched stands alone.
	APIVersion string `json:"apiVersion,omitempty"`
	// Context is the kubeconfig context that leads to the job's cluster.
	Context string `json:"context,omitempty"`
	Head
	// Fraction is the present stage's, from 0 to 1; 1 only once all is done.
	Fraction      *Number             `json:"fraction,omitempty"`
	Items         *job.Items          `json:"items,omitempty"`
	Volumes       []Volume            `json:"volumes"`
	Operations    job.Operations      `json:"operations"`
	Queue         *assess.QueueStatus `json:"queue,omitempty"`
	RatePerSecond *Number             `json:"ratePerSecond,omitempty"`
	RateUnit      string              `json:"rateUnit,omitempty"`
	ETASeconds    *int64              `json:"etaSeconds,omitempty"`
	// ETALowSeconds and ETAHighSeconds are there while the ETA is rough.
	ETALowSeconds  *int64 `json:"etaLowSeconds,omitempty"`
	ETAHighSeconds *int64 `json:"etaHighSeconds,omitempty"`
	// Stuck is true for a job in trouble: its verdict is stuck or orphaned, or
	// was when the API server was last heard.
	Stuck   bool     `json:"stuck"`
	Verdict *Verdict `json:"verdict,omitempty"`
	Summary string   `json:"summary"`
	Deleted bool     `json:"deleted,omitempty"`
	// DeletionRequestedAt is there while the job is being deleted.
	DeletionRequestedAt Moment `json:"deletionRequestedAt,omitzero"`
	// Malformed are fields that Velero cannot read; they count as not set.
	Malformed []Malformed `json:"malformed,omitempty"`
}

// NewJob returns a job as scripts see it.
func NewJob(j assess.JudgedJob, volumes []assess.JudgedVolume) Job {
	d := Job{
		Head: NewHead(
			j.Job,
		),
		Volumes:             convertAll(volumes, NewVolume),
		Operations:          j.Operations,
		ETASeconds:          secondsLeft(j.ETA),
		Stuck:               j.IsTroubled(),
		Summary:             j.Verdict.Summary(),
		DeletionRequestedAt: Moment{j.DeletionRequestedAt},
		Malformed:           NewMalformed(j.MalformedFields),
	}
	if j.FractionKnown {
		d.Fraction = new(Number(j.Fraction))
	}
	if j.Items.Known {
		d.Items = new(j.Items)
	}
	if j.Queue.IsWaiting {
		d.Queue = new(j.Queue)
	}
	if j.Rate.Known {
		d.RatePerSecond, d.RateUnit = new(Number(j.Rate.PerSecond)), string(j.Rate.Unit)
	}
	if j.ETA.Rough {
		d.ETALowSeconds, d.ETAHighSeconds = new(
			int64(j.ETA.Low/time.Second),
		), new(
			int64(math.Ceil(j.ETA.High.Seconds())),
		)
	}
	if j.Verdict.State() != "" {
		d.Verdict = new(NewVerdict(j.Verdict))
	}
	return d
}

// Place says where the document stands, as that of a [Thing].
func (d *Job) Place(context string, deleted, alone bool) {
	if d.Context, d.Deleted = context, deleted; alone {
		d.APIVersion = apiVersion
	}
}

// Volume is one volume of a job.
type Volume struct {
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	Target string `json:"target"`
	// Claim is the PVC as namespace/name, where the resource says it.
	Claim      string `json:"claim,omitempty"`
	Phase      string `json:"phase"`
	Node       string `json:"node,omitempty"`
	BytesDone  int64  `json:"bytesDone"`
	BytesTotal int64  `json:"bytesTotal"`
	// Uploader is that of pod volumes, DataMover another than Velero's own.
	Uploader  string `json:"uploader,omitempty"`
	DataMover string `json:"dataMover,omitempty"`
	// SnapshotHandle is that of the snapshot in the backup repository.
	SnapshotHandle string `json:"snapshotHandle,omitempty"`
	// OperationID is that of the item operation that waits for the volume.
	OperationID string `json:"operationID,omitempty"`
	// RatePerSecond is in bytes.
	RatePerSecond *Number `json:"ratePerSecond,omitempty"`
	ETASeconds    *int64  `json:"etaSeconds,omitempty"`
	// Reason and Cause say what a volume that has not ended does or waits for.
	Reason  string `json:"reason,omitempty"`
	Cause   string `json:"cause,omitempty"`
	Stuck   bool   `json:"stuck,omitempty"`
	Message string `json:"message,omitempty"`
	// Malformed is a field that Velero cannot read.
	Malformed []Malformed `json:"malformed,omitempty"`
}

// NewVolume returns a volume of a job.
func NewVolume(v assess.JudgedVolume) Volume {
	d := Volume{
		Kind: string(
			v.Kind,
		),
		Name:           v.Name,
		Target:         v.Target,
		Phase:          v.Phase,
		Node:           v.Node,
		BytesDone:      v.Done,
		BytesTotal:     v.Total,
		Uploader:       v.Uploader,
		DataMover:      v.DataMover,
		SnapshotHandle: v.SnapshotHandle,
		OperationID:    v.OperationID,
		ETASeconds:     secondsLeft(v.ETA),
		Reason:         v.Verdict.Reason.String(),
		Cause:          v.Verdict.Cause,
		Stuck:          v.Verdict.Stuck,
		Message:        v.Message,
	}
	if v.Claim != "" {
		d.Claim = v.Namespace + "/" + v.Claim
	}
	if v.MalformedField != (decode.MalformedField{}) {
		d.Malformed = NewMalformed([]decode.MalformedField{v.MalformedField})
	}
	if v.Rate.Known {
		d.RatePerSecond = new(Number(v.Rate.PerSecond))
	}
	return d
}

func secondsLeft(left assess.TimeLeft) *int64 {
	if !left.Known {
		return nil
	}
	return new(int64(left.Left / time.Second))
}

// Malformed is a field that Velero's types cannot hold.
type Malformed struct {
	// Context is the kubeconfig context that leads to the resource's cluster, in a list of jobs.
	Context string `json:"context,omitempty"`
	// Resource is KIND/NAME; it is left out where the field's owner is at hand.
	Resource string `json:"resource,omitempty"`
	decode.MalformedField
}

// NewMalformed returns the malformed fields of one resource.
func NewMalformed(fields []decode.MalformedField) []Malformed {
	return convertAll(fields, func(m decode.MalformedField) Malformed { return Malformed{MalformedField: m} })
}

// NewMalformedResources returns malformed fields of resources of any kind.
func NewMalformedResources(found []diagnosis.MalformedResource, context string) []Malformed {
	return convertAll(found, func(m diagnosis.MalformedResource) Malformed { return Malformed{context, m.Ref, m.Field} })
}
