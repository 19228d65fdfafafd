package preflight

import (
	"fmt"
	"maps"
	"slices"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/stored/artifact"
)

// demand is what the new items of a namespace ask for.
type demand struct {
	podDemand
	scoped                   map[podScope]*podDemand
	unasked                  int // how many pods no dry run has answered for
	storage                  int64
	storageOf                map[string]int64 // by storage class
	claimsOf                 map[string]int
	nodePorts, loadBalancers int
	claims                   []claimNeed
}

// podDemand is what pods ask for.
type podDemand struct {
	// compute is what a quota counts of pods, and without how many of them have a container that
	// does not say it: CPU request, memory request, CPU limit, memory limit.
	compute [4]int64
	without [4]int
	pods    int
}

func (d *podDemand) add(o podDemand) {
	for n := range o.compute {
		add(&d.compute[n], o.compute[n])
		d.without[n] += o.without[n]
	}
	d.pods += o.pods
}

type claimNeed struct {
	name    string
	storage int64
}

// most keeps sums within their numbers.
const most = 1 << 60

func add(to *int64, n int64) { *to = min(*to+n, most) }

// storage is what claims and snapshots need.
type storage struct {
	classes, retained, snapshots, drivers groups
	changed                               groups // by "from to", where Velero changes the class
	contents                              groups // contents of snapshots, by driver
	empty, noClass                        group
	// claims that never bind, or may not, and those that take the volume of another
	unbound, unsure, taken group
	pods, moved            group  // pods and claims whose data a node-agent brings
	natives                group  // claims whose volumes are made of native snapshots
	crashes                int    // of noClass, those on which Velero's server crashes
	ports                  groups // by namespace
	hooks                  groups // by Service
}

func (c *check) needs() error {
	s := &storage{}
	err := c.Fates.Needs(func(i collector.Item, needs []collector.Need) {
		if !isRestored(i) || !c.create(i) {
			return
		}
		d := c.wants[i.Target]
		if d == nil {
			d = &demand{scoped: map[podScope]*podDemand{}, storageOf: map[string]int64{}, claimsOf: map[string]int{}}
			c.wants[i.Target] = d
		}
		c.need(s, d, i, needs)
	})
	if err != nil || c.Around == nil {
		return err
	}
	c.findStorage(s)
	c.findUnbound(s)
	c.findAgents(s)
	c.findLocations(s)
	c.findPorts(s)
	c.findHooks(s)
	return nil
}

func (c *check) need(s *storage, d *demand, i collector.Item, needs []collector.Need) {
	switch i.Resource {
	case pods:
		c.addPod(s, d, i, needs)
		return
	case claims:
		c.claim(s, d, i, needs)
		return
	}
	for _, n := range needs {
		switch n.Kind {
		case collector.NeedSnapshotClass:
			s.snapshots.add(n.Name, i.Target, i.Name)
		case collector.NeedDriver:
			if i.Resource == contents {
				s.contents.add(n.Name, i.Target, i.Name)
			}
			// A new volume takes the driver of its class, and a class without claims needs none.
			if i.Resource != live.StorageClasses && (i.Resource != volumes || c.retained[i.Name]) {
				s.drivers.add(n.Name, i.Target, i.Name)
			}
		case collector.NeedServiceType:
			if n.Name == "LoadBalancer" {
				d.loadBalancers++
			}
		case collector.NeedNodePort:
			d.nodePorts++
			if preservesPorts(c.Restore) {
				c.port(s, i, n.Amount)
			}
		case collector.NeedKeptNodePort:
			d.nodePorts++
			c.port(s, i, n.Amount)
		case collector.NeedWebhookService:
			if n.Amount == 1 {
				s.hooks.add(n.Name, "", i.Name)
			}
		}
	}
}

func (c *check) claim(s *storage, d *demand, i collector.Item, needs []collector.Need) {
	class, volume, size := "", "", int64(0)
	unnamed, inSnapshot, legacy := false, false, false
	for _, n := range needs {
		switch n.Kind {
		case collector.NeedStorageClass:
			class, legacy = n.Name, n.Amount == 1
		case collector.NeedDefaultClass:
			unnamed = true
		case collector.NeedVolume:
			volume = n.Name
		case collector.NeedStorage:
			size = n.Amount
		case collector.NeedCSIData:
			inSnapshot = true
			if c.skipsCSI() {
				s.empty.add(i.Target, i.Name)
			}
		}
	}
	changed, there := "", false
	if a := c.Around; a != nil {
		// Velero reads and changes spec.storageClassName alone, and Kubernetes goes by the annotation.
		if to := a.ClassMap[class]; to != "" && !legacy {
			class, changed = to, class+" to "+to
		}
		_, there = a.StorageClasses[class]
	}
	c.rangesOf(i.Target)
	add(&d.storage, size)
	d.claims = append(d.claims, claimNeed{i.Name, size})
	gets := c.volumeOf(volume, inSnapshot)
	named := &class
	if unnamed {
		named = nil
	}
	c.bind(s, i, volume, named, size, gets)
	c.carried(s, i, volume, inSnapshot, gets)
	switch {
	case unnamed && gets == newVolume:
		s.noClass.add(i.Target, i.Name)
		if method := c.saved[volume].Method; method == artifact.ByPod || method == artifact.ByCSI {
			s.crashes++
		}
	case class == "":
	default:
		sum := d.storageOf[class]
		add(&sum, size)
		d.storageOf[class] = sum
		d.claimsOf[class]++
		switch {
		case changed != "" && !c.has(live.StorageClasses, class, there):
			s.changed.add(changed, i.Target, i.Name)
		case gets == newVolume:
			s.classes.add(class, i.Target, i.Name)
		case gets == eitherVolume:
			s.retained.add(class, i.Target, i.Name)
		}
	}
}

// has says whether the target has a thing of the whole cluster, or the restore brings it.
func (c *check) has(resource, name string, there bool) bool {
	return there || c.brings[resource][name]
}

func (c *check) findStorage(s *storage) {
	a := c.Around
	if s.empty.count > 0 {
		c.find(s.empty.fill(Finding{
			Severity: Obstacle,
			Reason:   VolumesEmpty,
			Resource: claims,
			Sentence: fmt.Sprintf(
				"The data of %s is in CSI snapshots or was moved from them, and the Velero server runs without the feature "+
					"flag EnableCSI. Velero restores the claims, and their volumes are empty.",
				human.Count(s.empty.count, "claim"),
			),
			Remedy: "Start the Velero server with --features=EnableCSI before you restore.",
		}))
	}
	if a.Saw(live.StorageClasses, "") {
		for change, g := range s.changed.sorted() {
			c.find(g.fill(Finding{
				Severity: Obstacle,
				Reason:   StorageClassMissing,
				Resource: claims,
				Sentence: fmt.Sprintf(
					"A ConfigMap has Velero change storage class %s, which does not exist. Velero has an error for each claim, "+
						"and restores none of them.",
					change,
				),
				Remedy: "Create the class, or correct the ConfigMap with the label velero.io/change-storage-class: " +
					"RestoreItemAction in the namespace of Velero.",
			}))
		}
		defaults := slices.Contains(slices.Collect(maps.Values(a.StorageClasses)), true)
		if s.noClass.count > 0 && !defaults {
			c.find(s.noClass.fill(Finding{
				Severity: Obstacle,
				Reason:   DefaultClassMissing,
				Resource: claims,
				Sentence: fmt.Sprintf(
					"%s no storage class, and the cluster has no default one. They stay Pending.",
					human.Plural(s.noClass.count, "claim names", "claims name"),
				) + c.crash(
					s.crashes,
				),
				Remedy: "Mark a storage class as the default (annotation storageclass.kubernetes.io/is-default-class: \"true\").",
			}))
		}
		missing := func(of groups, severity Severity, then string) {
			for class, g := range of.sorted() {
				if _, there := a.StorageClasses[class]; c.has(live.StorageClasses, class, there) {
					continue
				}
				c.find(g.fill(Finding{
					Severity: severity,
					Reason:   StorageClassMissing,
					Resource: claims,
					Sentence: fmt.Sprintf(
						"Storage class %s does not exist, and %s it. %s",
						class,
						human.Plural(g.count, "claim wants", "claims want"),
						then,
					),
					Remedy: "Create the class, or have Velero change it: a ConfigMap in the namespace of Velero, with the " +
						"labels velero.io/plugin-config: \"\" and velero.io/change-storage-class: RestoreItemAction, " +
						"whose data maps " + class + " to one that exists.",
				}))
			}
		}
		if a.Saw(live.ConfigMaps, "") {
			missing(s.classes, Obstacle, "They stay Pending.")
		} else {
			missing(
				s.classes,
				Doubt,
				"They stay Pending, unless Velero changes the class: its ConfigMap for that could not be read.",
			)
		}
		missing(
			s.retained,
			Doubt,
			"Their volumes were kept (reclaim policy Retain), or may be in native snapshots, and Velero's record of that "+
				"is not known; where Velero does neither keep nor restore them, the claims stay Pending.",
		)
	}
	c.findSnapshotClasses(s)
	if a.Saw(live.Drivers, "") {
		for driver, g := range s.drivers.sorted() {
			if !c.has(live.Drivers, driver, a.Drivers[driver]) {
				c.find(g.fill(Finding{
					Severity: Doubt,
					Reason:   DriverMissing,
					Resource: live.Drivers,
					Sentence: fmt.Sprintf(
						"The cluster has no CSIDriver %s, and %s it. Without the driver no pod gets these volumes.",
						driver,
						human.Plural(g.count, "item needs", "items need"),
					),
					Remedy: "Install the CSI driver, or leave these volumes out.",
				}))
			}
		}
	}
}

func (c *check) port(s *storage, i collector.Item, port int64) {
	if c.Around == nil {
		return
	}
	holder, taken := c.Around.NodePorts[port]
	if c.answered(i.Resource, i.Target, i.Name) {
		return
	}
	if taken && holder != i.Target+"/"+i.Name {
		s.ports.add(i.Target, i.Target, i.Name).because(fmt.Sprintf("%d by %s", port, holder))
	}
}

func (c *check) findPorts(s *storage) {
	remedy := "Change or delete the Service that holds the port, or leave this one out."
	if preservesPorts(c.Restore) {
		remedy = "Restore without --preserve-nodeports, or free the ports."
	}
	for _, g := range s.ports.sorted() {
		c.find(g.fill(Finding{
			Severity: Obstacle,
			Reason:   NodePortTaken,
			Resource: live.Services,
			Sentence: fmt.Sprintf(
				"Node ports are taken: %s. Kubernetes refuses the Services that Velero restores with them.",
				human.Shorten(g.why(", "), 300),
			),
			Remedy: remedy,
		}))
	}
}
