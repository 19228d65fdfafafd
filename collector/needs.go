package collector

import (
	"encoding/binary"
	"slices"
)

// Need is something that an item needs in the target, or takes there.
type Need struct {
	Kind   NeedKind
	Name   string
	Amount int64
}

// NeedKind says what a Need is, and what its Name and Amount mean.
type NeedKind uint8

// The kinds of needs, as the bodies of a backup tell them. CPU is in thousandths
// of a core, memory and storage are in bytes.
const (
	NeedStorageClass  NeedKind = iota // the class of a claim: Name; Amount is 1 if its legacy annotation says it
	NeedDefaultClass                  // a claim that names no class
	NeedStorage                       // what a claim requests: Amount
	NeedCSIData                       // a claim whose data is in a CSI snapshot, or was moved from one
	NeedVolume                        // the volume that a claim is bound to: Name
	NeedRetained                      // a volume that is kept when its claim goes
	NeedSnapshotClass                 // the class of a snapshot or its content: Name
	NeedDriver                        // the CSI driver of a volume, a snapshot's content or a class: Name
	NeedServiceType                   // ClusterIP, NodePort, LoadBalancer or ExternalName: Name
	// NeedNodePort is a port of a Service on every node: Amount. Kubernetes chose it,
	// and Velero drops it unless the restore preserves node ports.
	NeedNodePort
	NeedKeptNodePort // one that the Service's author chose: Velero keeps it
	// NeedWebhookService is the Service behind an admission webhook, as
	// "namespace/name". Amount is 1 if requests fail while it does not answer.
	NeedWebhookService
	// NeedContainer, NeedInitContainer and NeedSidecar are a container of a pod, an init
	// container, and one that goes on running. NeedPodResources is spec.resources of a
	// pod, NeedOverhead what its runtime class takes. What each asks for follows.
	NeedContainer
	NeedInitContainer
	NeedSidecar
	NeedPodResources
	NeedOverhead
	// NeedCPURequest to NeedMemoryLimit are what the one before asks for, where given: Amount.
	NeedCPURequest
	NeedMemoryRequest
	NeedCPULimit
	NeedMemoryLimit
	// NeedPodSecurity is what Pod Security looks at of a pod, as JSON: Name. It is empty if too long.
	NeedPodSecurity
	// NeedEnforcedLevel and NeedEnforcedVersion are a namespace's labels for Pod Security.
	NeedEnforcedLevel
	NeedEnforcedVersion
	NeedPriorityClass // the priority class of a pod: Name
	NeedDeadline      // a pod that ends after activeDeadlineSeconds
	needKinds
)

// needsOf are the needs of one item: a set of facts.
type needsOf struct{ Item, Set uint32 }

// storedVersion is an API version in which the backup holds a resource.
type storedVersion struct {
	Resource, Version uint32 // strings
	Preferred         bool
}

// Version is the API version, such as "v1", in which the backup holds the items
// of a resource ("deployments.apps"); empty if the archive does not tell.
func (x *Index) Version(resource string) string {
	for _, v := range x.Stored {
		if v.Preferred && string(x.Strings.bytes(v.Resource)) == resource {
			return x.Strings.string(v.Version)
		}
	}
	return ""
}

// Versions are all API versions in which the backup holds a resource: several
// where it was made with the feature flag EnableAPIGroupVersions.
func (x *Index) Versions(resource string) (all []string) {
	for _, v := range x.Stored {
		if string(x.Strings.bytes(v.Resource)) == resource {
			all = append(all, x.Strings.string(v.Version))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Needs goes through the items that the restore is to restore and that need something, in the order
// of Each. The slice is used again. Its only error is the cause of the context.
func (f *Fates) Needs(visit func(Item, []Need)) error {
	x, next := f.r.x, 0
	var needs []Need
	item := uint32(0)
	return f.Each(func(i Item) {
		for next < len(x.Needs) && x.Needs[next].Item < item {
			next++
		}
		if next < len(x.Needs) && x.Needs[next].Item == item && i.Fate == ToRestore && !i.Mirror {
			needs = x.needsIn(needs[:0], x.Needs[next].Set)
			visit(i, needs)
		}
		item++
	})
}

func (x *Index) needsIn(needs []Need, set uint32) []Need {
	_ = eachFact(x.Facts.bytes(set), func(kind NeedKind, name uint32, amount int64) bool {
		needs = append(needs, Need{kind, x.Strings.string(name), amount})
		return true
	})
	return needs
}

// eachFact goes through a set of facts, and reports whether it is well made.
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

// addNeeds keeps what an object needs. Most pods need what others need, so sets are kept once.
func (b *builder) addNeeds(item uint32, o *object) {
	if len(o.needs) == 0 {
		return
	}
	b.packed = b.packed[:0]
	for _, need := range o.needs {
		b.packed = append(b.packed, byte(need.Kind))
		b.packed = binary.AppendUvarint(b.packed, uint64(b.strings.id([]byte(need.Name))))
		b.packed = binary.AppendVarint(b.packed, need.Amount)
	}
	b.needs = append(b.needs, needsOf{item, b.facts.id(b.packed)})
}

// Serves reports whether the target serves a resource ("deployments.apps") when
// its turn comes: it does now, or the restore brings the CRD.
func (f *Fates) Serves(resource string) bool {
	if f.served == nil {
		f.served = map[string]bool{}
		for _, known := range f.r.target {
			f.served[known.GroupResource()] = true
		}
	}
	return f.served[resource]
}
