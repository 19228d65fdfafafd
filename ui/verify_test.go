package ui

import (
	"fmt"
	"strings"
	"testing"

	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/verify"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// verified answers what a verification found.
// TestVerifyFrames draws a restore of which something of each kind did not come back,
// and one of which all did.
func TestVerifyFrames(t *testing.T) {
	const quota = "is forbidden: exceeded quota: compute, requested: count/secrets=1, used: count/secrets=4, limited: count/secrets=4"
	kind := func(name string, items ...verify.Item) verify.Kind {
		k := verify.Kind{Name: name, CountByState: map[verify.State]int{}, Items: items}
		for i := range k.Items {
			if k.Items[i].Namespace == "" {
				k.Items[i].Namespace = "shop"
			}
			k.CountByState[k.Items[i].State]++
		}
		return k
	}
	result := func(kinds ...verify.Kind) verify.Result {
		r := verify.Result{Kinds: kinds, CountByState: map[verify.State]int{}, CheckedAt: noon, Cost: live.Cost{Requests: 14}}
		for _, k := range kinds {
			for state, n := range k.CountByState {
				r.CountByState[state] += n
			}
		}
		return r
	}
	whole := []verify.Item{
		{Name: "web", State: verify.Restored},
		{Name: "api", State: verify.Restored},
		{Name: "old", State: verify.LeftOut, Why: "the restore's label selector does not select it"},
	}
	some := result(
		kind(
			"secrets",
			verify.Item{Name: "tls", State: verify.Failed, Why: quota},
			verify.Item{
				Name:  "token",
				State: verify.Differs,
				Why:   "already exists. Warning: the in-cluster version is different than the backed-up version",
			},
			verify.Item{Name: "kept", State: verify.Restored},
			verify.Item{Name: "other", State: verify.LeftOut},
		),
		kind(
			"services",
			append(
				[]verify.Item{{Name: "svc-2", State: verify.Gone, Why: "Velero created it, and it is not there now"}},
				whole...)...),
		kind("configmaps", verify.Item{Name: "settings", State: verify.Unchecked, Why: "you may not list it"}),
		kind("deployments.apps", whole...),
		kind("persistentvolumeclaims", whole[:2]...),
		kind(
			"replicasets.apps",
			verify.Item{
				Name:  "web-5d4f",
				State: verify.Transient,
				Why:   "deployments/web makes these, and gives each another name",
			},
		),
	)
	some.Unchecked = []live.Unchecked{{Resource: "configmaps", Namespace: "shop", Why: "you may not list it"}}
	some.BoundCount = 3
	some.Claims = []verify.Claim{
		{Namespace: "shop", Name: "cache", Phase: "Pending", Why: "the cluster has no storage class fast", Lost: true},
	}
	some.IncompleteTransfers = []verify.IncompleteTransfer{
		{
			Name:    "shop-restore-2-x7k2p",
			Target:  "shop/db-0:data",
			Phase:   "Failed",
			Done:    3 << 30,
			Total:   20 << 30,
			Message: "no space left on device",
			Lost:    true,
		},
	}
	some.MovedCount, some.MovedBytes = 1, 6<<30
	some.Volumes = []verify.VolumeData{
		{
			Namespace: "shop",
			Claim:     "uploads",
			State:     verify.DataEmpty,
			Why:       "the backup skipped it: volumeSnapshot: not satisfy the criteria for VolumePolicy or the legacy snapshot way",
		},
		{
			Namespace: "shop",
			Claim:     "data-db-0",
			Pod:       "db-0",
			PodVolume: "data",
			Method:    verify.MethodPodVolume,
			State:     verify.DataFailed,
		},
		{
			Namespace: "shop",
			Claim:     "cache",
			State:     verify.DataLeftOut,
			Why:       "the backup skipped it: any: item has label velero.io/exclude-from-backup=true",
		},
		{
			Namespace: "shop",
			Claim:     "spool",
			Pod:       "mail-0",
			PodVolume: "spool",
			Method:    verify.MethodPodVolume,
			State:     verify.DataRestored,
		},
	}
	all := result(kind("deployments.apps", whole...), kind("services", whole...))
	compared := result(
		kind(
			"configmaps",
			verify.Item{
				Name:    "emptied",
				State:   verify.Restored,
				Content: verify.Emptied,
				Fields:  []string{"data.a", "data.b"},
			},
			verify.Item{
				Name:    "settings",
				State:   verify.Restored,
				Content: verify.Changed,
				Fields:  []string{"data.level"},
			},
			verify.Item{Name: "same", State: verify.Restored, Content: verify.Same},
		),
		kind(
			"deployments.apps",
			append(
				[]verify.Item{
					{Name: "scaled", State: verify.Restored, Content: verify.Scaled, Fields: []string{"spec.replicas"}},
				},
				whole...)...),
	)
	compared.CountByContent = map[verify.ContentState]int{verify.Emptied: 1, verify.Changed: 1, verify.Scaled: 1, verify.Same: 3}
	for n := range compared.Kinds {
		compared.Kinds[n].CountByContent = map[verify.ContentState]int{verify.Changed: 1}
	}
	for _, s := range []struct {
		name   string
		result verify.Result
		keys   []string
	}{
		{"job-verify", some, nil},
		{"job-verify-open", some, []string{"down", "down", "down", "down", "enter"}},
		{"job-verify-all", all, nil},
		{"job-verify-compared", compared, []string{"c"}},
	} {
		for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}, {40, 12}} {
			if size[0] != 80 && s.keys != nil {
				continue
			}
			name := fmt.Sprintf("%s-%dx%d", s.name, size[0], size[1])
			t.Run(name, func(t *testing.T) {
				m := opened(
					t,
					opsTrial(veleroapi.RestorePhasePartiallyFailed),
					&complaints{},
					size[0],
					size[1],
					"V",
					func(o *Options) { fake(o).verified = s.result },
				)
				obey(t, m, press(t, m, s.keys...))
				frame := plain(checkFrame(t, m))
				if strings.Contains(frame, "Reading what") {
					t.Fatalf("the answer is not drawn:\n%s", frame)
				}
				golden(t, name, frame)
			})
		}
	}
}
