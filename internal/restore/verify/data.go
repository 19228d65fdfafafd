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

// Method is how a volume's data was to come back. The names are API.
type Method string

// How Velero saves and restores data (internal/volume/volumes_information.go, 1.18.3).
// An empty Method is none: the backup does not have the data, or says nothing of it.
const (
	ByPod    Method = "PodVolume"      // it was copied from a pod's volume, and is copied into one
	ByMover  Method = "DataMover"      // a snapshot of it was moved to the storage location (DataUpload, DataDownload)
	ByCSI    Method = "CSISnapshot"    // the claim gets a volume that the CSI driver makes from a snapshot
	ByNative Method = "NativeSnapshot" // Velero has a volume made from a snapshot of the cloud's
)

// DataState is how a volume's data stands. The names are API.
type DataState string

// What may have become of a volume's data. DataEmpty and DataFailed did not come back.
const (
	DataEmpty    DataState = "Empty"    // the volume is there, and nothing brought its data
	DataFailed   DataState = "Failed"   // Velero began to move the data, and it did not complete
	DataUnknown  DataState = "Unknown"  // what became of it is not known
	DataWaiting  DataState = "Waiting"  // it may still come
	DataLeftOut  DataState = "LeftOut"  // nothing brought the data, as the restore or the backup was told
	DataExisted  DataState = "Existed"  // the claim is older, or of another restore, so that this one did nothing to it
	DataKept     DataState = "Kept"     // the claim has its volume of the backup, with whatever is in it now
	DataRestored DataState = "Restored" // Velero, or the driver, brought it
)

// dataOrder is the order in which volumes are told of: what needs a look first.
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

var dataWords = map[DataState]string{
	DataEmpty: "without data", DataFailed: "failed", DataUnknown: "not known", DataWaiting: "waiting",
	DataLeftOut: "left out", DataExisted: "existed", DataKept: "kept", DataRestored: "restored",
}

// Words are the state for people.
func (s DataState) Words() string { return dataWords[s] }

// Lost reports whether a volume in this state did not get its data.
func (s DataState) Lost() bool { return s == DataEmpty || s == DataFailed }

// Volume is a volume of what came back.
type Volume struct {
	Namespace string `json:"namespace"`       // in the target
	Claim     string `json:"claim,omitempty"` // empty for a pod's volume without one
	// Pod and PodVolume are those that the data is copied into; empty for other ways.
	Pod       string    `json:"pod,omitempty"`
	PodVolume string    `json:"podVolume,omitempty"`
	Method    Method    `json:"method,omitempty"`
	State     DataState `json:"state"`
	Why       string    `json:"why,omitempty"` // Why is the reason, empty where the state says all.
}

// String is the volume as NAMESPACE/CLAIM or NAMESPACE/POD:VOLUME.
func (v Volume) String() string {
	if v.Claim != "" {
		return v.Namespace + "/" + v.Claim
	}
	return v.Namespace + "/" + v.Pod + ":" + v.PodVolume
}

// Evidence is what tells of the data of a restore's volumes.
type Evidence struct {
	// Saved is the backup's record of volumes (Velero 1.13 and later), NoSaved why it is not known.
	Saved   []artifact.Volume
	NoSaved string
	// Made is what the restore did with each, and NoMade why that is not known. Velero
	// stores it since 1.14, of restores whose items are done.
	Made   []artifact.Volume
	NoMade string
	// Moved are the PodVolumeRestores and DataDownloads; Unseen those that may not be listed.
	Moved     []job.Volume
	Unseen    map[velero.VolumeKind]bool
	NoVolumes bool // true if the restore was told to restore none
	Completed bool // true if the restore ended in phase Completed, so that nothing failed
}

// HasVolumes reports whether something came back that may have a volume: a claim or a pod.
func (r *Result) HasVolumes() bool {
	return slices.ContainsFunc(
		r.Kinds,
		func(k Kind) bool { return (k.Name == claims || k.Name == pods) && k.There()+k.Count[Differs] > 0 },
	)
}

// VolumeWords says how many claims are bound and volumes got their data; it may be empty.
func (r Result) VolumeWords() string {
	count, by := map[DataState]int{}, map[Method]int{}
	for _, v := range r.Volumes {
		count[v.State]++
		if v.State == DataRestored {
			by[v.Method]++
		}
	}
	var parts []string
	if r.Bound > 0 {
		parts = append(parts, human.Count(r.Bound, "claim")+" bound")
	}
	if len(r.Volumes) > 0 {
		text := fmt.Sprintf(
			"volume data: %s of %s restored",
			human.Number(count[DataRestored]),
			human.Number(len(r.Volumes)),
		)
		var how []string
		for _, m := range []Method{ByPod, ByMover, ByCSI, ByNative} {
			if n := by[m]; n > 0 {
				how = append(how, human.Number(n)+" "+methodWords[m])
			}
		}
		if len(how) > 0 {
			text += " (" + strings.Join(how, ", ") + ")"
		}
		for _, s := range dataOrder {
			if n := count[s]; n > 0 && s != DataRestored {
				text += ", " + human.Number(n) + " " + cmp.Or(longWords[s], s.Words())
			}
		}
		parts = append(parts, text)
	}
	if r.Bytes > 0 {
		parts = append(parts, "Velero moved "+human.Bytes(r.Bytes)+" into "+human.Count(r.Moved, "volume"))
	}
	if len(parts) == 0 {
		return ""
	}
	return human.Capital(strings.Join(parts, "; ")) + "."
}

var methodWords = map[Method]string{
	ByPod:    "copied into a pod",
	ByMover:  "moved from storage",
	ByCSI:    "from a CSI snapshot",
	ByNative: "from a snapshot",
}

// longWords stand in a sentence, for the states that need more words there.
var longWords = map[DataState]string{
	DataLeftOut: "left out as told",
	DataExisted: "there before the restore",
	DataKept:    "with the old volume",
}

// AddVolumes adds how the data of each volume stands, after [Result.AddClaims].
func (r *Result) AddVolumes(in Input, e Evidence) {
	d := newDataJudge(r, in, e)
	for _, i := range r.itemsOf(claims) {
		if isThere(i.State) {
			r.Volumes = append(r.Volumes, d.claim(i))
		}
	}
	for _, i := range r.itemsOf(pods) {
		r.Volumes = append(r.Volumes, d.podVolumes(i)...)
	}
	rank := func(v Volume) int { return slices.Index(dataOrder, v.State) }
	slices.SortStableFunc(r.Volumes, func(x, y Volume) int {
		return cmp.Or(cmp.Compare(rank(x), rank(y)), cmp.Compare(x.String(), y.String()))
	})
	for _, v := range r.Volumes {
		r.Unknown = r.Unknown || v.State == DataUnknown
	}
	if e.NoSaved != "" {
		r.Notes = append(slices.Clip(r.Notes), "What the backup has of volumes is not known: "+e.NoSaved)
	}
}

func isThere(s State) bool {
	return s == Restored || s == Existed || s == MadeAnew || s == Differs
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
	// Unbindable is why the volume that it names can never be bound to it, empty if it may.
	Unbindable string `json:"-"`
	Lost       bool   `json:"lost,omitempty"` // Lost is true if it cannot be bound as things are.
	Why        string `json:"why"`            // Why is what keeps it from being bound, as far as that is known.
}

// Data is a volume whose data did not come back wholly.
type Data struct {
	Name   string `json:"name"`   // of the PodVolumeRestore or DataDownload
	Target string `json:"target"` // what it fills, as namespace/pvc
	Phase  string `json:"phase"`
	// Done and Total are bytes; Total is 0 where it is not known.
	Done    int64  `json:"bytesDone"`
	Total   int64  `json:"bytesTotal,omitempty"`
	Lost    bool   `json:"lost,omitempty"` // Lost is true if Velero does not go on with it.
	Message string `json:"message,omitempty"`
}

// Words say how far it came and why it ended.
func (d Data) Words() string {
	text := d.Name + " is " + d.Phase
	if amount := human.BytesOf(d.Done, d.Total); amount != "" {
		text += ", " + amount
	}
	return text + human.Clause(": ", d.Message)
}

// Classes are the cluster's volumeBindingModes by storage class; nil if not known.
type Classes map[string]string

// ClaimsThere asks for the claims that were to come back, and are there.
func (r *Result) ClaimsThere() *live.Question {
	q := &live.Question{}
	for _, i := range r.itemsOf(claims) {
		if isThere(i.State) {
			q.Add(claims, i.Namespace, i.Name)
		}
	}
	return q
}

const (
	claims = "persistentvolumeclaims"
	pods   = "pods"
)

func (r *Result) itemsOf(resource string) []Item {
	for _, k := range r.Kinds {
		if k.Name == resource {
			return k.Items
		}
	}
	return nil
}

// AddClaims adds the claims of the cluster that were to come back. all may hold others too.
func (r *Result) AddClaims(all []Claim, classes Classes) {
	wanted := map[[2]string]bool{}
	r.claims = map[[2]string]Claim{}
	for _, i := range r.itemsOf(claims) {
		wanted[[2]string{i.Namespace, i.Name}] = i.State != LeftOut
	}
	for _, c := range all {
		if !wanted[[2]string{c.Namespace, c.Name}] {
			continue
		}
		delete(wanted, [2]string{c.Namespace, c.Name}) // a list that is read again has it twice
		if c.Phase == "Bound" {
			r.claims[[2]string{c.Namespace, c.Name}] = c
			r.Bound++
			continue
		}
		mode, known := classes[c.Class]
		switch {
		case c.Unbindable != "":
			c.Lost, c.Why = true, "volume "+c.Volume+" can never be bound to it: "+c.Unbindable
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
		r.claims[[2]string{c.Namespace, c.Name}] = c
		r.Claims = append(r.Claims, c)
	}
	slices.SortStableFunc(r.Claims, func(x, y Claim) int {
		return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name))
	})
}

// AddData adds the volumes whose data the restore moved.
func (r *Result) AddData(volumes []job.Volume) {
	for i := range volumes {
		v := &volumes[i]
		if v.Phase == velero.VolumeCompleted {
			r.Moved++
			r.Bytes += v.Done
			continue
		}
		r.Data = append(
			r.Data,
			Data{
				Name:    v.Name,
				Target:  v.Target,
				Phase:   cmp.Or(v.Phase, velero.VolumeNew),
				Done:    v.Done,
				Total:   v.Total,
				Message: v.Message,
				Lost:    v.Ended() || !r.SoFar,
			},
		)
	}
	slices.SortFunc(
		r.Data,
		func(x, y Data) int { return cmp.Or(cmp.Compare(x.Target, y.Target), cmp.Compare(x.Name, y.Name)) },
	)
}

// dataOf are the kinds that tell how moving data into volumes went, and the kind of
// item that Velero makes them for: a PodVolumeRestore for a volume of a pod, a
// DataDownload for a claim (pkg/podvolume and pkg/restore/actions/csi, 1.18.3).
var dataOf = map[string]string{
	"podvolumerestores.velero.io": pods,
	"datadownloads.velero.io":     claims,
}

// AddUnseenData notes a kind that could not be looked at, if it tells of what was to come back.
func (r *Result) AddUnseenData(resource, why string) {
	for _, k := range r.Kinds {
		if k.Name == dataOf[resource] && k.Wanted() > 0 {
			r.Unknown = true
			r.NotSeen = append(slices.Clip(r.NotSeen), live.NotSeen{Resource: resource, Why: why})
		}
	}
}
