package collector

import (
	"encoding/binary"
	"slices"
)

// Need is something that an item needs or uses up in the target.
type Need struct {
	Kind   NeedKind
	Name   string
	Amount int64
}

// NeedKind is the kind of a Need; it defines what Name and Amount mean.
type NeedKind uint8

// These are the kinds of needs, as found in the bodies of a backup. CPU is in thousandths of a core, memory and
// storage are in bytes.
const (
	NeedStorageClass   NeedKind = iota // the class of a claim: Name; Amount is 1 if its legacy annotation names it
	NeedDefaultClass                   // a claim that names no class
	NeedStorage                        // what a claim requests: Amount
	NeedCSIData                        // a claim whose data is in a CSI snapshot, or was moved from one
	NeedVolume                         // the volume that a claim is bound to: Name
	NeedRetainedVolume                 // a volume that is retained when its claim is deleted
	NeedSnapshotClass                  // the class of a snapshot or its content: Name
	NeedCSIDriver                      // the CSI driver of a volume, a snapshot's content or a class: Name
	NeedServiceType                    // ClusterIP, NodePort, LoadBalancer or ExternalName: Name
	// NeedNodePort is a port of a Service on every node: Amount. Kubernetes chose it,
	// and Velero drops it unless the restore preserves node ports.
	NeedNodePort
	NeedKeptNodePort // a node port that the Service's author chose: Velero keeps it
	// NeedWebhookService is the Service behind an admission or conversion webhook, as "namespace/name". Amount is 1 if
	// all requests that it applies to fail while it does not answer.
	NeedWebhookService
	// NeedContainer, NeedInitContainer and NeedSidecar are a container of a pod, an init container, and an init
	// container that keeps running. NeedPodResources is a pod's spec.resources, NeedOverhead the overhead of its runtime
	// class. The requests and limits of each follow it.
	NeedContainer
	NeedInitContainer
	NeedSidecar
	NeedPodResources
	NeedOverhead
	// NeedCPURequest to NeedMemoryLimit are the requests and limits of the preceding container or pod, where set:
	// Amount.
	NeedCPURequest
	NeedMemoryRequest
	NeedCPULimit
	NeedMemoryLimit
	// NeedPodSecurity holds the fields of a pod that Pod Security checks, as JSON: Name. It is empty if too long.
	NeedPodSecurity
	NeedPriorityClass  // the priority class of a pod: Name
	NeedActiveDeadline // a pod that ends after activeDeadlineSeconds
	// NeedBlockVolume is a claim of volumeMode Block, NeedAccessMode an access mode of a claim: Name.
	NeedBlockVolume
	NeedAccessMode
	// NeedMadeClass is the class of a claim that Kubernetes makes later, from a template of a StatefulSet or for a pod:
	// Name; Amount is 1 if its legacy annotation names it. NeedMadeDefaultClass is such a claim that names no class.
	NeedMadeClass
	NeedMadeDefaultClass
	// NeedServiceAccount to NeedClaim are the objects that pods need to start, in the namespace of the item: Name. They
	// are those of a pod, or of the pods that a workload makes.
	NeedServiceAccount
	NeedPullSecret
	NeedSecret
	NeedConfigMap
	NeedClaim
	NeedRuntimeClass // the runtime class of a pod, or of the pods that a workload makes: Name
	NeedStatus       // a custom resource with a status
	// NeedRules holds what decides about other objects, as JSON: Name. It is the labels and the spec of a quota, of a
	// limit range, of an admission policy or of its binding, the webhooks of a configuration, and the conversion and
	// versions of a CRD with a conversion webhook. It is empty if too long.
	NeedRules
	NeedIsDefault // a storage class that is the default
	needKinds
)

// needsOf holds the needs of one item: a set of facts.
type needsOf struct{ Item, Set uint32 }

// storedVersion is an API version in which the backup holds a resource.
type storedVersion struct {
	Resource, Version uint32 // strings
	Preferred         bool
}

// PreferredVersion returns the API version, such as "v1", in which the backup holds the items of a resource
// ("deployments.apps"); empty if the archive does not have it.
func (x *Index) PreferredVersion(resource string) string {
	for _, v := range x.Stored {
		if v.Preferred && string(x.Strings.bytesOf(v.Resource)) == resource {
			return x.Strings.string(v.Version)
		}
	}
	return ""
}

// APIVersions returns all API versions in which the backup holds a resource: several if the backup was made with the
// feature flag EnableAPIGroupVersions.
func (x *Index) APIVersions(resource string) (all []string) {
	for _, v := range x.Stored {
		if string(x.Strings.bytesOf(v.Resource)) == resource {
			all = append(all, x.Strings.string(v.Version))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// EachItemNeeds calls visit for each item that is to be restored and needs something, in the order of EachItem. The
// slice is reused. The only error is the cause of the context given to [Index.DetermineFates].
func (f *Fates) EachItemNeeds(visit func(Item, []Need)) error {
	x, next := f.simulation.index, 0
	var needs []Need
	item := uint32(0)
	return f.EachItem(func(i Item) {
		for next < len(x.Needs) && x.Needs[next].Item < item {
			next++
		}
		if next < len(x.Needs) && x.Needs[next].Item == item && i.Fate == ToRestore && !i.IsMirrorPod {
			needs = x.decodeNeeds(needs[:0], x.Needs[next].Set)
			visit(i, needs)
		}
		item++
	})
}

func (x *Index) decodeNeeds(needs []Need, set uint32) []Need {
	_ = eachFact(x.Facts.bytesOf(set), func(kind NeedKind, name uint32, amount int64) bool {
		needs = append(needs, Need{kind, x.Strings.string(name), amount})
		return true
	})
	return needs
}

// eachFact calls visit for each fact of a set, and reports whether the set is well-formed.
func eachFact(set []byte, visit func(kind NeedKind, name uint32, amount int64) bool) bool {
	for len(set) > 0 {
		kind := NeedKind(set[0])
		name, n := binary.Uvarint(set[1:])
		if n <= 0 || name > 1<<32-1 || kind >= needKinds {
			return false
		}
		amount, m := binary.Varint(set[1+n:])
		if m <= 0 || !visit(kind, uint32(name), amount) {
			return false
		}
		set = set[1+n+m:]
	}
	return true
}

// addNeeds records the needs of an object. Equal sets are stored once: most pods need the same as others.
func (b *indexBuilder) addNeeds(item uint32, o *parsedObject) {
	if len(o.needs) == 0 {
		return
	}
	b.packed = b.packed[:0]
	for _, need := range o.needs {
		b.packed = append(b.packed, byte(need.Kind))
		b.packed = binary.AppendUvarint(b.packed, uint64(b.strings.internID([]byte(need.Name))))
		b.packed = binary.AppendVarint(b.packed, need.Amount)
	}
	b.needs = append(b.needs, needsOf{item, b.facts.internID(b.packed)})
}

// IsServed reports whether the target serves a resource ("deployments.apps") when its turn comes: either now, or once
// the restore has restored its CRD.
func (f *Fates) IsServed(resource string) bool {
	if f.served == nil {
		f.served = map[string]bool{}
		for _, known := range f.simulation.targetResources {
			f.served[known.GroupResource()] = true
		}
	}
	return f.served[resource]
}
