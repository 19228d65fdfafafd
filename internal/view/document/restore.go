package document

import (
	"time"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/preflight"
	"github.com/veltui/veltui/internal/restore/verify"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// Estimate is what `estimate -o json` prints.
type Estimate struct {
	Header
	// Items is the totalItems that Velero will end with.
	Items int `json:"items"`
	// Resources are in the order in which they are restored.
	Resources   []collector.ResourceCount `json:"resources"`
	Assumptions []string                  `json:"assumptions"`
	Partial     bool                      `json:"partial"`
}

// NewEstimate returns an estimate.
func NewEstimate(e collector.Estimate) Estimate {
	return Estimate{
		NewHeader("Estimate"),
		e.Total,
		append([]collector.ResourceCount{}, e.Resources...),
		append([]string{}, e.Assumptions...),
		e.Partial,
	}
}

// Preflight is what `preflight -o json` prints.
type Preflight struct {
	Header
	Backup string `json:"backup"`
	// NamespaceMapping and ExistingResourcePolicy are the restore's.
	NamespaceMapping       map[string]string    `json:"namespaceMapping,omitempty"`
	ExistingResourcePolicy veleroapi.PolicyType `json:"existingResourcePolicy,omitempty"`
	// Items is how many items the restore would try to restore, absent if that could not be found out.
	Items     *int                  `json:"items,omitempty"`
	Obstacles int                   `json:"obstacles"`
	Doubts    int                   `json:"doubts"`
	Findings  []preflight.Finding   `json:"findings"`
	NotSeen   []preflight.Unchecked `json:"notSeen"`
	// Existing is what Velero does with each object that exists, with --compare.
	Existing []preflight.ExistingObject `json:"existing,omitempty"`
	// DryRun is what the API server answered, with --dry-run.
	DryRun *preflight.DryRun `json:"dryRun,omitempty"`
}

// NewPreflight returns what stands in the way of a restore.
func NewPreflight(restore veleroapi.RestoreSpec, r *preflight.Result) Preflight {
	return Preflight{
		Header: NewHeader(
			"Preflight",
		),
		Backup:                 restore.BackupName,
		NamespaceMapping:       restore.NamespaceMapping,
		ExistingResourcePolicy: restore.ExistingResourcePolicy,
		Items:                  r.Items,
		Obstacles:              r.CountSeverity(preflight.Obstacle),
		Doubts:                 r.CountSeverity(preflight.Doubt),
		Findings: append(
			[]preflight.Finding{},
			r.Findings...),
		NotSeen:  append([]preflight.Unchecked{}, r.Unchecked...),
		Existing: r.Existing,
		DryRun:   r.DryRun,
	}
}

// Verification is what `verify -o json` prints.
type Verification struct {
	Header
	// Job is the same as in a JobList.
	Job Job `json:"job"`
	// SoFar is true of a restore that has not ended.
	SoFar bool `json:"soFar"`
	// Wanted is how many items were to come back, and LostItems how many of them did
	// not. LostClaims are claims that cannot be bound, and LostVolumes volumes that did
	// not get their data: their claims and pods may be there.
	Wanted      int `json:"wanted"`
	LostItems   int `json:"lostItems"`
	LostClaims  int `json:"lostClaims"`
	LostVolumes int `json:"lostVolumes"`
	// With --compare, LostContents are items that are there without what the backup holds of
	// them, and Changed those with other content. Contents are the items by their content;
	// NotCompared are also those that existed and that only --compare can tell about.
	LostContents int                         `json:"lostContents,omitempty"`
	Changed      int                         `json:"changed,omitempty"`
	Contents     map[verify.ContentState]int `json:"contents,omitempty"`
	// Counts are the items by state.
	Counts    map[verify.State]int `json:"counts"`
	Resources []VerifiedKind       `json:"resources"`
	Claims    VerifiedClaims       `json:"claims"`
	Data      VerifiedData         `json:"data"`
	// Volumes are those of what came back, and how each got its data.
	Volumes  []VerifiedVolume `json:"volumes"`
	NotSeen  []live.Unchecked `json:"notSeen"`
	Notes    []string         `json:"notes"`
	LookedAt Moment           `json:"lookedAt"`
	// Requests and Bytes are what looking cost.
	Requests int   `json:"requests"`
	Bytes    int64 `json:"bytes"`
}

// VerifiedKind is the items of one resource.
type VerifiedKind struct {
	Resource string               `json:"resource"`
	Counts   map[verify.State]int `json:"counts"`
	// Items are all but those that the restore left out.
	Items []VerifiedItem `json:"items"`
}

// VerifiedItem is an item of a restore. Lost is true if it did not come back, or lost its content.
type VerifiedItem struct {
	verify.Item
	Lost bool `json:"lost,omitempty"`
}

// VerifiedClaims are claims. NotBound are also those that can never be bound.
type VerifiedClaims struct {
	Bound    int            `json:"bound"`
	NotBound []verify.Claim `json:"notBound"`
}

// VerifiedData is the data that Velero moves. NotCompleted are also those that failed.
type VerifiedData struct {
	Completed    int                         `json:"completed"`
	Bytes        int64                       `json:"bytes"`
	NotCompleted []verify.IncompleteTransfer `json:"notCompleted"`
}

// VerifiedVolume is a volume. Lost is true if its data did not come back.
type VerifiedVolume struct {
	verify.VolumeData
	Lost bool `json:"lost,omitempty"`
}

// NewVerification returns what came back of a restore.
func NewVerification(j assess.JudgedJob, volumes []assess.JudgedVolume, r *verify.Result) Verification {
	d := Verification{
		Header:       NewHeader("Verification"),
		Job:          NewJob(j, volumes),
		SoFar:        r.InProgress,
		Wanted:       r.CountWanted(),
		LostItems:    r.CountLostItems(),
		LostClaims:   r.CountLostClaims(),
		LostVolumes:  r.CountLostVolumes(),
		Counts:       r.CountByState,
		LostContents: r.CountLostContents(),
		Changed:      r.CountChanged(),
		Contents:     r.CountByContent,
		Claims:       VerifiedClaims{r.BoundCount, append([]verify.Claim{}, r.Claims...)},
		Data: VerifiedData{
			r.MovedCount,
			r.MovedBytes,
			append([]verify.IncompleteTransfer{}, r.IncompleteTransfers...),
		},
		Volumes: convertAll(
			r.Volumes,
			func(v verify.VolumeData) VerifiedVolume { return VerifiedVolume{v, v.State.IsLost()} },
		),
		NotSeen:  append([]live.Unchecked{}, r.Unchecked...),
		Notes:    append([]string{}, r.Notes...),
		LookedAt: Moment{r.CheckedAt.Round(time.Second)},
		Requests: r.Cost.Requests,
		Bytes:    r.Cost.Bytes,
	}
	d.Resources = convertAll(r.Kinds, func(k verify.Kind) VerifiedKind {
		kind := VerifiedKind{Resource: k.Name, Counts: k.CountByState, Items: []VerifiedItem{}}
		for _, i := range k.Items {
			if i.State != verify.LeftOut {
				kind.Items = append(kind.Items, VerifiedItem{i, i.IsLost()})
			}
		}
		return kind
	})
	return d
}
