package cmd

import (
	"math"
	"time"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/diagnosis"
	"github.com/veltui/veltui/velero/decode"
)

// APIVersion is that of every document veltui prints.
const apiVersion = "veltui/v1"

// jobList is what `get -o json` prints. Fields are added to it, never renamed.
type jobList struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Items      []jobItem `json:"items"`
	// Malformed are all resources in Velero's namespace with a field that
	// Velero cannot read, each with its first.
	Malformed []malformedJSON `json:"malformed,omitempty"`
}

// jobItem is one job. Absent numbers are not known; Velero leaves zeros out of
// its resources, veltui does not.
type jobItem struct {
	// Context is the kubeconfig context that leads to the job's cluster.
	Context   string `json:"context,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	// Phase is Velero's, empty until Velero looked at the resource.
	Phase string `json:"phase"`
	Stage string `json:"stage"`
	// Fraction is the present stage's, from 0 to 1; 1 only once all is done.
	Fraction         *number        `json:"fraction,omitempty"`
	Items            *itemsJSON     `json:"items,omitempty"`
	Volumes          []volumeJSON   `json:"volumes"`
	Operations       operationsJSON `json:"operations"`
	Queue            *queueJSON     `json:"queue,omitempty"`
	Warnings         int            `json:"warnings"`
	Errors           int            `json:"errors"`
	FailureReason    string         `json:"failureReason,omitempty"`
	ValidationErrors []string       `json:"validationErrors,omitempty"`
	BackupName       string         `json:"backupName,omitempty"`
	ScheduleName     string         `json:"scheduleName,omitempty"`
	CreatedAt        *moment        `json:"createdAt,omitempty"`
	StartedAt        *moment        `json:"startedAt,omitempty"`
	CompletedAt      *moment        `json:"completedAt,omitempty"`
	ChangedAt        *moment        `json:"changedAt,omitempty"`
	RatePerSecond    *number        `json:"ratePerSecond,omitempty"`
	RateUnit         string         `json:"rateUnit,omitempty"`
	ETASeconds       *int64         `json:"etaSeconds,omitempty"`
	// ETALowSeconds and ETAHighSeconds are there while the ETA is rough.
	ETALowSeconds  *int64 `json:"etaLowSeconds,omitempty"`
	ETAHighSeconds *int64 `json:"etaHighSeconds,omitempty"`
	// Stuck is true for a job in trouble: its verdict is stuck or orphaned, or
	// was when the API server was last heard.
	Stuck   bool         `json:"stuck"`
	Verdict *verdictJSON `json:"verdict,omitempty"`
	Summary string       `json:"summary"`
	Deleted bool         `json:"deleted,omitempty"`
	// DeletionRequestedAt is there while the job is being deleted.
	DeletionRequestedAt *moment `json:"deletionRequestedAt,omitempty"`
	// Malformed are fields that Velero cannot read; they count as not set.
	Malformed []malformedJSON `json:"malformed,omitempty"`
}

type itemsJSON struct {
	Done      int  `json:"done"`
	Total     int  `json:"total"`
	Estimated bool `json:"estimated"`
	// Published is Velero's own total where Total is an estimate beside it.
	Published int `json:"published,omitempty"`
}

type volumeJSON struct {
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
	RatePerSecond *number `json:"ratePerSecond,omitempty"`
	ETASeconds    *int64  `json:"etaSeconds,omitempty"`
	// Reason and Cause say what a volume that has not ended does or waits for.
	Reason  string `json:"reason,omitempty"`
	Cause   string `json:"cause,omitempty"`
	Stuck   bool   `json:"stuck,omitempty"`
	Message string `json:"message,omitempty"`
	// Malformed is a field that Velero cannot read.
	Malformed []malformedJSON `json:"malformed,omitempty"`
}

type operationsJSON struct {
	Attempted int `json:"attempted"`
	Completed int `json:"completed"`
	Failed    int `json:"failed"`
}

type queueJSON struct {
	Position int    `json:"position,omitempty"`
	Reason   string `json:"reason"`
}

type verdictJSON struct {
	State string `json:"state"`
	// Reason is one of those in docs/reasons.md.
	Reason string `json:"reason"`
	// Proof is why the job cannot go on by itself, for one that is stuck or orphaned.
	Proof *proofJSON `json:"proof,omitempty"`
	// Waits are what the job may be waiting for.
	Waits  []waitJSON `json:"waits,omitempty"`
	Facts  []factJSON `json:"facts"`
	Advice string     `json:"advice,omitempty"`
	// Action is what veltui can do about it.
	Action string `json:"action,omitempty"`
}

// proofJSON is a [diagnosis.Proof].
type proofJSON struct {
	// Kind is ownerGone, gaveUp, refused or limitsPassed.
	Kind   string  `json:"kind"`
	Text   string  `json:"text"`
	Source string  `json:"source"`
	At     *moment `json:"at,omitempty"`
}

// waitJSON is a [diagnosis.Wait].
type waitJSON struct {
	Name string `json:"name"`
	For  string `json:"for"`
	// Limit is the setting that bounds it, and Until when that has passed for sure;
	// empty if nothing bounds it.
	Limit string  `json:"limit,omitempty"`
	Until *moment `json:"until,omitempty"`
	// Shown is true if the evidence shows that the job waits for this.
	Shown bool `json:"shown"`
}

// verdictOf is a verdict as a document has it.
func verdictOf(v diagnosis.Verdict) verdictJSON {
	out := verdictJSON{State: string(v.State()), Reason: string(v.Reason), Facts: factsOf(v.Facts), Advice: v.Advice, Action: string(v.Action)}
	if !v.Proof.IsZero() {
		f := v.Proof.Fact()
		out.Proof = &proofJSON{Kind: string(v.Proof.Kind()), Text: f.Text, Source: f.Source, At: stamp(f.At)}
	}
	for _, w := range v.Waits {
		out.Waits = append(out.Waits, waitJSON{Name: string(w.Name), For: w.For, Limit: w.Limit, Until: stamp(w.Until), Shown: w.Shown})
	}
	return out
}

type factJSON struct {
	Text   string  `json:"text"`
	Holds  bool    `json:"holds"`
	Source string  `json:"source"`
	At     *moment `json:"at,omitempty"`
}

// itemOf is a job as scripts see it.
func itemOf(j assess.Judged, volumes []assess.Volume) jobItem {
	item := jobItem{
		Kind: string(j.Kind), Namespace: j.Namespace, Name: j.Name, UID: string(j.UID),
		Phase: j.Phase, Stage: string(j.Stage),
		Volumes:    make([]volumeJSON, 0, len(j.Volumes)),
		Operations: operationsJSON(j.Operations),
		Warnings:   j.Warnings, Errors: j.Errors,
		FailureReason: j.FailureReason, ValidationErrors: j.ValidationErrors,
		Malformed:  malformedOf(j.Malformed),
		BackupName: j.BackupName, ScheduleName: j.ScheduleName,
		DeletionRequestedAt: stamp(j.DeletionAt),
		CreatedAt:           stamp(j.Created), StartedAt: stamp(j.Started), CompletedAt: stamp(j.Completed), ChangedAt: stamp(j.Changed),
	}
	if j.FractionKnown {
		fraction := number(j.Fraction)
		item.Fraction = &fraction
	}
	if j.Items.Known {
		item.Items = &itemsJSON{j.Items.Done, j.Items.Total, j.Items.Estimated, j.Items.Published}
	}
	for _, v := range volumes {
		volume := volumeJSON{
			Reason: string(v.Verdict.Reason), Cause: v.Verdict.Cause, Stuck: v.Verdict.Stuck,
			Kind: string(v.Kind), Name: v.Name, Target: v.Target, Phase: v.Phase, Node: v.Node,
			BytesDone: v.Done, BytesTotal: v.Total, Message: v.Message,
			Uploader: v.Uploader, DataMover: v.DataMover, SnapshotHandle: v.Handle, OperationID: v.Operation,
		}
		if v.Claim != "" {
			volume.Claim = v.Namespace + "/" + v.Claim
		}
		if v.Malformed != (decode.Malformed{}) {
			volume.Malformed = malformedOf([]decode.Malformed{v.Malformed})
		}
		if v.Rate.Known {
			rate := number(v.Rate.PerSecond)
			volume.RatePerSecond = &rate
		}
		volume.ETASeconds = secondsOf(v.ETA)
		item.Volumes = append(item.Volumes, volume)
	}
	if q := j.Queue; q.Waits {
		item.Queue = &queueJSON{q.Position, q.Reason}
	}
	if j.Rate.Known {
		rate := number(j.Rate.PerSecond)
		item.RatePerSecond, item.RateUnit = &rate, string(j.Rate.Unit)
	}
	item.ETASeconds = secondsOf(j.ETA)
	if j.ETA.Rough {
		item.ETALowSeconds, item.ETAHighSeconds = new(int64(j.ETA.Low/time.Second)), new(int64(math.Ceil(j.ETA.High.Seconds())))
	}
	v := j.Verdict
	item.Stuck = j.Troubled()
	item.Summary = v.Summary
	if v.State() != "" {
		verdict := verdictOf(v)
		item.Verdict = &verdict
	}
	return item
}

func secondsOf(left assess.TimeLeft) *int64 {
	if !left.Known {
		return nil
	}
	seconds := int64(left.Left / time.Second)
	return &seconds
}
