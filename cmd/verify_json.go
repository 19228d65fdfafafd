package cmd

import (
	"time"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/restore/verify"
)

// verifyDocument is what `verify -o json` prints.
type verifyDocument struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Job is the same as in a JobList.
	Job jobItem `json:"job"`
	// SoFar is true of a restore that has not ended.
	SoFar bool `json:"soFar"`
	// Wanted is how many items were to come back, and LostItems how many of them did
	// not. LostClaims are claims that cannot be bound, and LostVolumes volumes that did
	// not get their data: their claims and pods may be there.
	Wanted      int `json:"wanted"`
	LostItems   int `json:"lostItems"`
	LostClaims  int `json:"lostClaims"`
	LostVolumes int `json:"lostVolumes"`
	// Counts are the items by state.
	Counts    map[verify.State]int `json:"counts"`
	Resources []verifiedKindJSON   `json:"resources"`
	Claims    verifiedClaimsJSON   `json:"claims"`
	Data      verifiedDataJSON     `json:"data"`
	// Volumes are those of what came back, and how each got its data.
	Volumes  []volumeDataJSON      `json:"volumes"`
	NotSeen  []verifiedNotSeenJSON `json:"notSeen"`
	Notes    []string              `json:"notes"`
	LookedAt *moment               `json:"lookedAt"`
	// Requests and Bytes are what looking cost.
	Requests int   `json:"requests"`
	Bytes    int64 `json:"bytes"`
}

type verifiedKindJSON struct {
	Resource string               `json:"resource"`
	Counts   map[verify.State]int `json:"counts"`
	// Items are all but those that the restore left out.
	Items []verifiedItemJSON `json:"items"`
}

type verifiedItemJSON struct {
	Namespace string       `json:"namespace,omitempty"`
	Name      string       `json:"name"`
	From      string       `json:"from,omitempty"`
	State     verify.State `json:"state"`
	Lost      bool         `json:"lost,omitempty"`
	Why       string       `json:"why,omitempty"`
}

type verifiedClaimsJSON struct {
	Bound int `json:"bound"`
	// NotBound are the others, also those that can never be bound.
	NotBound []verifiedClaimJSON `json:"notBound"`
}

type verifiedClaimJSON struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Phase     string `json:"phase"`
	Class     string `json:"class,omitempty"`
	Lost      bool   `json:"lost,omitempty"`
	Why       string `json:"why"`
}

type verifiedDataJSON struct {
	Completed int   `json:"completed"`
	Bytes     int64 `json:"bytes"`
	// NotCompleted are the others, also those that failed.
	NotCompleted []verifiedVolumeJSON `json:"notCompleted"`
}

type verifiedVolumeJSON struct {
	Name       string `json:"name"`
	Target     string `json:"target"`
	Phase      string `json:"phase"`
	BytesDone  int64  `json:"bytesDone"`
	BytesTotal int64  `json:"bytesTotal,omitempty"`
	Lost       bool   `json:"lost,omitempty"`
	Message    string `json:"message,omitempty"`
}

type volumeDataJSON struct {
	Namespace string           `json:"namespace"`
	Claim     string           `json:"claim,omitempty"`
	Pod       string           `json:"pod,omitempty"`
	PodVolume string           `json:"podVolume,omitempty"`
	Method    verify.Method    `json:"method,omitempty"`
	State     verify.DataState `json:"state"`
	Lost      bool             `json:"lost,omitempty"`
	Why       string           `json:"why,omitempty"`
}

type verifiedNotSeenJSON struct {
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"`
	Why       string `json:"why"`
}

func (r verified) document(volumes []assess.Volume) verifyDocument {
	d := verifyDocument{
		APIVersion: apiVersion, Kind: "Verification", Job: itemOf(r.Judged, volumes), SoFar: r.SoFar,
		Wanted: r.Wanted(), LostItems: r.LostItems(), LostClaims: r.LostClaims(), LostVolumes: r.LostVolumes(), Counts: r.Count, Resources: []verifiedKindJSON{},
		Claims: verifiedClaimsJSON{Bound: r.Bound, NotBound: []verifiedClaimJSON{}},
		Data:   verifiedDataJSON{Completed: r.Moved, Bytes: r.Bytes, NotCompleted: []verifiedVolumeJSON{}}, Volumes: []volumeDataJSON{}, NotSeen: []verifiedNotSeenJSON{},
		Notes: append([]string{}, r.Notes...), LookedAt: stamp(r.At.Round(time.Second)), Requests: r.Cost.Requests, Bytes: r.Cost.Bytes,
	}
	for _, k := range r.Kinds {
		kind := verifiedKindJSON{Resource: k.Name, Counts: k.Count, Items: []verifiedItemJSON{}}
		for _, i := range k.Items {
			if i.State != verify.LeftOut {
				kind.Items = append(kind.Items, verifiedItemJSON{i.Namespace, i.Name, i.From, i.State, i.State.Lost(), i.Why})
			}
		}
		d.Resources = append(d.Resources, kind)
	}
	for _, c := range r.Claims {
		d.Claims.NotBound = append(d.Claims.NotBound, verifiedClaimJSON{c.Namespace, c.Name, c.Phase, c.Class, c.Lost, c.Why})
	}
	for _, v := range r.Result.Data {
		d.Data.NotCompleted = append(d.Data.NotCompleted, verifiedVolumeJSON{v.Name, v.Target, v.Phase, v.Done, v.Total, v.Lost, v.Message})
	}
	for _, v := range r.Result.Volumes {
		d.Volumes = append(d.Volumes, volumeDataJSON{v.Namespace, v.Claim, v.Pod, v.PodVolume, v.Method, v.State, v.State.Lost(), v.Why})
	}
	for _, not := range r.NotSeen {
		d.NotSeen = append(d.NotSeen, verifiedNotSeenJSON(not))
	}
	return d
}
