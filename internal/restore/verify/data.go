package verify

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/velero"
)

// Method is the way in which a volume's data was to come back. The names are API.
type Method string

// How Velero saves and restores data (internal/volume/volumes_information.go, 1.18.3). An empty Method means none:
// the backup does not have the data, or says nothing about it.
const (
	MethodPodVolume Method = "PodVolume" // it was copied from a pod's volume, and is copied into one
	// a snapshot of it was moved to the storage location (DataUpload, DataDownload)
	MethodDataMover      Method = "DataMover"
	MethodCSISnapshot    Method = "CSISnapshot"    // Velero has a volume made from a snapshot in the cloud
	MethodNativeSnapshot Method = "NativeSnapshot" // Velero has a volume made from a snapshot of the cloud's
)

// DataState is what became of a volume's data. The names are API.
type DataState string

// The states of a volume's data. DataEmpty and DataFailed did not come back.
const (
	DataEmpty    DataState = "Empty"    // the volume is there, and nothing brought its data
	DataFailed   DataState = "Failed"   // Velero began to move the data, and it did not complete
	DataUnknown  DataState = "Unknown"  // what became of it is unknown
	DataWaiting  DataState = "Waiting"  // it may still come
	DataLeftOut  DataState = "LeftOut"  // nothing brought the data, as the restore or the backup was told to leave it out
	DataExisted  DataState = "Existed"  // the claim is older, or belongs to another restore, so this one did nothing to it
	DataKept     DataState = "Kept"     // the claim has its volume of the backup, with the volume's current data
	DataRestored DataState = "Restored" // Velero, or the driver, brought it
)

// dataOrder is the order in which volumes are listed: what needs attention first.
var dataOrder = []DataState{
	DataEmpty,
	DataFailed,
	DataUnknown,
	DataWaiting,
	DataLeftOut,
	DataExisted,
	DataKept,
	DataRestored,
}

var dataLabels = map[DataState]string{
	DataEmpty: "without data", DataFailed: "failed", DataUnknown: "not known", DataWaiting: "waiting",
	DataLeftOut: "left out", DataExisted: "existed", DataKept: "kept", DataRestored: "restored",
}

// Label returns the state in words.
func (s DataState) Label() string { return dataLabels[s] }

// IsLost reports whether a volume in this state did not get its data.
func (s DataState) IsLost() bool { return s == DataEmpty || s == DataFailed }

// VolumeData is a volume of what came back.
type VolumeData struct {
	Namespace string `json:"namespace"`       // in the target
	Claim     string `json:"claim,omitempty"` // empty for a pod's volume without one
	// Pod and PodVolume are those that the data is copied into; empty for other ways.
	Pod       string    `json:"pod,omitempty"`
	PodVolume string    `json:"podVolume,omitempty"`
	Method    Method    `json:"method,omitempty"`
	State     DataState `json:"state"`
	Why       string    `json:"why,omitempty"` // Why is the reason, empty where the state says all.
}

// String returns the volume as NAMESPACE/CLAIM or NAMESPACE/POD:VOLUME.
func (v VolumeData) String() string {
	if v.Claim != "" {
		return v.Namespace + "/" + v.Claim
	}
	return v.Namespace + "/" + v.Pod + ":" + v.PodVolume
}

// DataEvidence is what is known about the data of a restore's volumes.
type DataEvidence struct {
	// BackupVolumes is the backup's record of volumes (Velero 1.13 and later); BackupVolumesUnchecked says why it is
	// unknown.
	BackupVolumes          []artifact.VolumeInfo
	BackupVolumesUnchecked string
	// RestoredVolumes is what the restore did with each volume; RestoredVolumesUnchecked says why that is unknown.
	// Velero stores it since 1.14, for restores whose items are done.
	RestoredVolumes          []artifact.VolumeInfo
	RestoredVolumesUnchecked string
	// Transfers are the PodVolumeRestores and DataDownloads; UncheckedKinds are the kinds that may not be listed.
	Transfers      []job.Volume
	UncheckedKinds map[velero.VolumeKind]bool
	VolumesLeftOut bool // true if the restore was told to restore none
	Completed      bool // true if the restore ended in phase Completed, so that nothing failed
}

// HasVolumes reports whether something came back that may have a volume: a claim or a pod.
func (r *Result) HasVolumes() bool {
	return slices.ContainsFunc(
		r.Kinds,
		func(k Kind) bool {
			return (k.Name == claims || k.Name == pods) && k.CountPresent()+k.CountByState[Differs] > 0
		},
	)
}

// VolumeSummary says how many claims are bound and how many volumes got their data; it may be empty.
func (r Result) VolumeSummary() string {
	count, by := map[DataState]int{}, map[Method]int{}
	for _, v := range r.Volumes {
		count[v.State]++
		if v.State == DataRestored {
			by[v.Method]++
		}
	}
	var parts []string
	if r.BoundCount > 0 {
		parts = append(parts, human.Count(r.BoundCount, "claim")+" bound")
	}
	if len(r.Volumes) > 0 {
		text := fmt.Sprintf(
			"volume data: %s of %s restored",
			human.Number(count[DataRestored]),
			human.Number(len(r.Volumes)),
		)
		var how []string
		for _, m := range []Method{MethodPodVolume, MethodDataMover, MethodCSISnapshot, MethodNativeSnapshot} {
			if n := by[m]; n > 0 {
				how = append(how, human.Number(n)+" "+methodLabels[m])
			}
		}
		if len(how) > 0 {
			text += " (" + strings.Join(how, ", ") + ")"
		}
		for _, s := range dataOrder {
			if n := count[s]; n > 0 && s != DataRestored {
				text += ", " + human.Number(n) + " " + cmp.Or(longDataLabels[s], s.Label())
			}
		}
		parts = append(parts, text)
	}
	if r.MovedBytes > 0 {
		parts = append(parts, "Velero moved "+human.Bytes(r.MovedBytes)+" into "+human.Count(r.MovedCount, "volume"))
	}
	if len(parts) == 0 {
		return ""
	}
	return human.Capitalize(strings.Join(parts, "; ")) + "."
}

var methodLabels = map[Method]string{
	MethodPodVolume:      "copied into a pod",
	MethodDataMover:      "moved from storage",
	MethodCSISnapshot:    "from a CSI snapshot",
	MethodNativeSnapshot: "from a snapshot",
}

// longDataLabels replace the labels of some states in sentences, which need more words.
var longDataLabels = map[DataState]string{
	DataLeftOut: "left out as told",
	DataExisted: "there before the restore",
	DataKept:    "with the old volume",
}

// AddVolumes adds the state of each volume's data. Call it after [Result.AddClaims].
func (r *Result) AddVolumes(in Input, e DataEvidence) {
	d := newDataJudge(r, in, e)
	for _, i := range r.findItems(claims) {
		if isPresent(i.State) {
			r.Volumes = append(r.Volumes, d.judgeClaim(i))
		}
	}
	for _, i := range r.findItems(pods) {
		r.Volumes = append(r.Volumes, d.judgePodVolumes(i)...)
	}
	rank := func(v VolumeData) int { return slices.Index(dataOrder, v.State) }
	slices.SortStableFunc(r.Volumes, func(x, y VolumeData) int {
		return cmp.Or(cmp.Compare(rank(x), rank(y)), cmp.Compare(x.String(), y.String()))
	})
	for _, v := range r.Volumes {
		r.Incomplete = r.Incomplete || v.State == DataUnknown
	}
	if e.BackupVolumesUnchecked != "" {
		r.Notes = append(slices.Clip(r.Notes), "What the backup has of volumes is not known: "+e.BackupVolumesUnchecked)
	}
}

func isPresent(s State) bool {
	return s == Restored || s == Existed || s == CreatedByOthers || s == Differs
}

// Claim is a claim that is there and not bound.
type Claim struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Phase     string `json:"phase"`
	Class     string `json:"class,omitempty"`
	// Volume is its volume, Snapshot the VolumeSnapshot that it is made from; or empty.
	Volume   string    `json:"-"`
	Snapshot string    `json:"-"`
	UID      types.UID `json:"-"`
	// Maker is the StatefulSet or the pod of the restore that made the claim, empty for an item of the restore.
	Maker string `json:"madeBy,omitempty"`
	// UnbindableReason is why the volume that it names can never be bound to it, empty if it may.
	UnbindableReason string `json:"-"`
	Lost             bool   `json:"lost,omitempty"` // Lost is true if it cannot be bound as things are.
	Why              string `json:"why"`            // Why is what keeps it from being bound, as far as that is known.
}

// IncompleteTransfer is a volume whose data did not come back wholly.
type IncompleteTransfer struct {
	Name   string `json:"name"`   // of the PodVolumeRestore or DataDownload
	Target string `json:"target"` // what it fills, as namespace/pvc
	Phase  string `json:"phase"`
	// Done and Total are bytes; Total is 0 where it is not known.
	Done    int64  `json:"bytesDone"`
	Total   int64  `json:"bytesTotal,omitempty"`
	Lost    bool   `json:"lost,omitempty"` // Lost is true if Velero does not go on with it.
	Message string `json:"message,omitempty"`
}

// Summary says how far the transfer came and why it ended.
func (d IncompleteTransfer) Summary() string {
	text := d.Name + " is " + d.Phase
	if amount := human.BytesProgress(d.Done, d.Total); amount != "" {
		text += ", " + amount
	}
	return text + human.Prefixed(": ", d.Message)
}

// BindingModes are the cluster's volumeBindingModes by storage class; nil if unknown.
type BindingModes map[string]string

// BuildClaimQuery returns the query for the claims that were to come back, and are there.
func (r *Result) BuildClaimQuery() *live.Query {
	q := &live.Query{}
	for _, i := range r.findItems(claims) {
		if isPresent(i.State) {
			q.AddItem(claims, i.Namespace, i.Name)
		}
	}
	return q
}

const (
	claims = "persistentvolumeclaims"
	pods   = "pods"
)

func (r *Result) findItems(resource string) []Item {
	for _, k := range r.Kinds {
		if k.Name == resource {
			return k.Items
		}
	}
	return nil
}

// FindStatefulSets returns the names of the StatefulSets of the restore that are there, by namespace.
func (r *Result) FindStatefulSets() map[string][]string {
	sets := map[string][]string{}
	for _, i := range r.findItems("statefulsets.apps") {
		if isPresent(i.State) {
			sets[i.Namespace] = append(sets[i.Namespace], i.Name)
		}
	}
	return sets
}

// AddClaims adds the claims of the cluster that were to come back. all may contain other claims.
func (r *Result) AddClaims(all []Claim, classes BindingModes) {
	wanted := map[[2]string]bool{}
	r.claims = map[[2]string]Claim{}
	for _, i := range r.findItems(claims) {
		wanted[[2]string{i.Namespace, i.Name}] = i.State != LeftOut
	}
	for _, c := range all {
		key := [2]string{c.Namespace, c.Name}
		// A list that is read again contains the claim twice, and a template's claim may be an item.
		if _, seen := r.claims[key]; seen || wanted[key] != (c.Maker == "") {
			continue
		}
		if c.Phase == "Bound" {
			r.claims[key] = c
			r.BoundCount++
			continue
		}
		mode, known := classes[c.Class]
		switch {
		case c.UnbindableReason != "":
			c.Lost, c.Why = true, "volume "+c.Volume+" can never be bound to it: "+c.UnbindableReason
		case c.Phase == "Lost":
			c.Lost, c.Why = true, "its volume is gone"
		case c.Volume != "":
			c.Why = "it waits for its volume " + c.Volume
		case c.Class == "":
			c.Why = "it names no storage class: it waits for a volume that fits, or for a default class"
		case classes != nil && !known:
			c.Lost, c.Why = true, "the cluster has no storage class "+c.Class
		case mode == "WaitForFirstConsumer":
			c.Why = "its class waits for a pod that uses it"
		default:
			c.Why = "it waits for its volume"
		}
		if c.Maker != "" {
			c.Why = c.Maker + " made it; " + c.Why
		}
		r.claims[key] = c
		r.Claims = append(r.Claims, c)
	}
	slices.SortStableFunc(r.Claims, func(x, y Claim) int {
		return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name))
	})
}

// AddTransfers adds the volumes whose data the restore moved.
func (r *Result) AddTransfers(volumes []job.Volume) {
	for i := range volumes {
		v := &volumes[i]
		if v.Phase == velero.VolumeCompleted {
			r.MovedCount++
			r.MovedBytes += v.Done
			continue
		}
		r.IncompleteTransfers = append(
			r.IncompleteTransfers,
			IncompleteTransfer{
				Name:    v.Name,
				Target:  v.Target,
				Phase:   cmp.Or(v.Phase, velero.VolumeNew),
				Done:    v.Done,
				Total:   v.Total,
				Message: v.Message,
				Lost:    v.HasEnded() || !r.InProgress,
			},
		)
	}
	slices.SortFunc(
		r.IncompleteTransfers,
		func(x, y IncompleteTransfer) int {
			return cmp.Or(cmp.Compare(x.Target, y.Target), cmp.Compare(x.Name, y.Name))
		},
	)
}

// transferItemKinds maps the kinds that tell how data was moved into volumes to the kind of item that Velero creates
// them for: a PodVolumeRestore for a volume of a pod, a DataDownload for a claim (pkg/podvolume and
// pkg/restore/actions/csi, 1.18.3).
var transferItemKinds = map[string]string{
	"podvolumerestores.velero.io": pods,
	"datadownloads.velero.io":     claims,
}

// AddUncheckedTransfers notes a kind that could not be checked, if it tells about items that were to come back.
func (r *Result) AddUncheckedTransfers(resource, why string) {
	for _, k := range r.Kinds {
		if k.Name == transferItemKinds[resource] && k.CountWanted() > 0 {
			r.Incomplete = true
			r.Unchecked = append(slices.Clip(r.Unchecked), live.Unchecked{Resource: resource, Why: why})
		}
	}
}
