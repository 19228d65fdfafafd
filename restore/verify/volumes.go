package verify

import (
	"cmp"
	"slices"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/restore/target"
	"github.com/veltui/veltui/velero"
)

// Claim is a claim that is there and not bound.
type Claim struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Phase     string `json:"phase"`
	Class     string `json:"class,omitempty"`
	// Volume is its volume, Snapshot the VolumeSnapshot that it is made from; or empty.
	Volume   string `json:"-"`
	Snapshot string `json:"-"`
	// Lost is true if it cannot be bound as things are.
	Lost bool `json:"lost,omitempty"`
	// Why is what keeps it from being bound, as far as that is known.
	Why string `json:"why"`
}

// Data is a volume whose data did not come back wholly.
type Data struct {
	Name   string `json:"name"`   // of the PodVolumeRestore or DataDownload
	Target string `json:"target"` // what it fills, as namespace/pvc
	Phase  string `json:"phase"`
	// Done and Total are bytes; Total is 0 where it is not known.
	Done  int64 `json:"bytesDone"`
	Total int64 `json:"bytesTotal,omitempty"`
	// Lost is true if Velero does not go on with it.
	Lost    bool   `json:"lost,omitempty"`
	Message string `json:"message,omitempty"`
}

// Words say how far it came and why it ended.
func (d Data) Words() string {
	text := d.Name + " is " + d.Phase
	if amount := human.BytesOf(d.Done, d.Total); amount != "" {
		text += ", " + amount
	}
	if d.Message != "" {
		text += ": " + d.Message
	}
	return text
}

// Classes are the cluster's volumeBindingModes by storage class; nil if not known.
type Classes map[string]string

// ClaimNamespaces are those in which claims are that were to come back, and are there.
func (r *Result) ClaimNamespaces() []string {
	var all []string
	for _, i := range r.itemsOf(claims) {
		if isThere(i.State) {
			all = append(all, i.Namespace)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
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
		r.claims[[2]string{c.Namespace, c.Name}] = c
		if c.Phase == "Bound" {
			r.Bound++
			continue
		}
		mode, known := classes[c.Class]
		switch {
		case c.Phase == "Lost":
			c.Lost, c.Why = true, "its volume is gone"
		case c.Class == "":
			c.Why = "it names no storage class: it waits for a volume that fits, or for a default class"
		case classes != nil && !known:
			c.Lost, c.Why = true, "the cluster has no storage class "+c.Class
		case mode == "WaitForFirstConsumer":
			c.Why = "its class waits for a pod that uses it"
		default:
			c.Why = "it waits for its volume"
		}
		r.Claims = append(r.Claims, c)
	}
	slices.SortFunc(r.Claims, func(x, y Claim) int {
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
		r.Data = append(r.Data, Data{Name: v.Name, Target: v.Target, Phase: cmp.Or(v.Phase, velero.VolumeNew), Done: v.Done, Total: v.Total, Message: v.Message, Lost: v.Ended() || !r.SoFar})
	}
	slices.SortFunc(r.Data, func(x, y Data) int { return cmp.Or(cmp.Compare(x.Target, y.Target), cmp.Compare(x.Name, y.Name)) })
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
			r.NotSeen = append(slices.Clip(r.NotSeen), target.NotSeen{Resource: resource, Why: why})
		}
	}
}
