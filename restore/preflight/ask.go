package preflight

import (
	"maps"
	"slices"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/restore/target"
)

// rootCA is what Kubernetes puts into every namespace itself.
const rootCA = "kube-root-ca.crt"

// Ask is what has to be known of the target for a restore; velero is the namespace of Velero. Its
// error is the cause of the context of fates.
func Ask(fates *collector.Fates, spec velerov1.RestoreSpec, velero string) (*target.Question, target.Around, error) {
	q, around, within := &target.Question{}, target.Around{}, map[string]bool{}
	err := fates.Each(func(i collector.Item) {
		if !isRestored(i) {
			return
		}
		q.Add(i.Resource, i.Target, i.Name)
		if i.Target != "" {
			within[i.Target] = true
		}
	})
	if err != nil {
		return nil, around, err
	}
	err = fates.Needs(func(_ collector.Item, needs []collector.Need) {
		for _, n := range needs {
			switch n.Kind {
			case collector.NeedStorageClass, collector.NeedDefaultClass:
				around.Storage = true
			case collector.NeedSnapshotClass, collector.NeedDriver:
				around.Snapshots = true
			case collector.NeedKeptNodePort:
				around.NodePorts = true
			case collector.NeedNodePort:
				around.NodePorts = around.NodePorts || preservesPorts(spec)
			case collector.NeedWebhookService:
				around.WebhookServices = append(around.WebhookServices, n.Name)
			}
		}
	})
	around.Velero = velero
	around.Within = slices.Sorted(maps.Keys(within))
	return q, around, err
}

// isRestored says whether Velero tries to create an item. Namespaces are not asked
// for as items: all of them are listed.
func isRestored(i collector.Item) bool {
	return i.Fate == collector.ToRestore && !i.Mirror && i.Resource != target.Namespaces && !(i.Resource == "configmaps" && i.Name == rootCA)
}

func preservesPorts(spec velerov1.RestoreSpec) bool {
	return spec.PreserveNodePorts != nil && *spec.PreserveNodePorts
}
