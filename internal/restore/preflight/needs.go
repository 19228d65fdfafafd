package preflight

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/stored/artifact"
)

// namespaceDemand is the sum of what the new items of a namespace request.
type namespaceDemand struct {
	podDemand
	scoped                   map[podScope]*podDemand
	unansweredPods           int // pods for which no dry run has answered
	storage                  int64
	storageByClass           map[string]int64 // by storage class
	claimsByClass            map[string]int
	nodePorts, loadBalancers int
}

// podDemand is the sum of what pods request.
type podDemand struct {
	// compute is what a quota counts of pods, and missingCount the number of pods with a container that does not give
	// the amount: CPU request, memory request, CPU limit, memory limit.
	compute      [4]int64
	missingCount [4]int
	pods         int
}

func (d *podDemand) addDemand(o podDemand) {
	for n := range o.compute {
		addCapped(&d.compute[n], o.compute[n])
		d.missingCount[n] += o.missingCount[n]
	}
	d.pods += o.pods
}

// maxSum keeps sums from overflowing.
const maxSum = 1 << 60

func addCapped(to *int64, n int64) { *to = min(*to+n, maxSum) }

// storageNeeds is what claims and snapshots need.
type storageNeeds struct {
	classes, retained, snapshots, drivers groups
	changedClasses, changedTemplates      groups // claims and StatefulSets, by "from to", where Velero changes the class
	snapshotContents                      groups // contents of snapshots, by driver
	emptyVolumes, claimsWithoutClass      group
	// claims that never bind or may not bind, and claims that take the volume of another claim
	unbound, maybeUnbound, takenVolumes group
	agentPods, movedClaims              group  // pods and claims whose data a node-agent brings
	nativeClaims                        group  // claims whose volumes are made of native snapshots
	crashCount                          int    // claims of claimsWithoutClass on which Velero's server crashes
	ports                               groups // by namespace
	webhooks                            groups // by Service
}

func (c *checker) checkNeeds() error {
	s, made := &storageNeeds{}, newMadeNeeds()
	err := c.eachItemNeeds(func(i collector.Item, needs []collector.Need) {
		if !isRestored(i) || !c.willCreate(i) || c.isRejected(i.Resource, i.TargetNamespace, i.Name) {
			return
		}
		d := c.demands[i.TargetNamespace]
		if d == nil {
			d = &namespaceDemand{
				scoped:         map[podScope]*podDemand{},
				storageByClass: map[string]int64{},
				claimsByClass:  map[string]int{},
			}
			c.demands[i.TargetNamespace] = d
		}
		c.collectNeeds(s, d, i, needs)
		c.collectMade(s, made, i, needs)
	})
	if err != nil || c.Environment == nil {
		return err
	}
	c.checkStorage(s)
	c.checkUnbound(s)
	c.checkAgents(s)
	c.checkSnapshotLocations(s)
	c.checkPorts(s)
	c.checkRestoredWebhooks(s)
	return c.checkMade(made)
}

func (c *checker) collectNeeds(s *storageNeeds, d *namespaceDemand, i collector.Item, needs []collector.Need) {
	switch i.Resource {
	case pods:
		c.collectPod(s, d, i, needs)
		return
	case claims:
		c.collectClaim(s, d, i, needs)
		return
	}
	for _, n := range needs {
		switch n.Kind {
		case collector.NeedSnapshotClass:
			s.snapshots.addItem(n.Name, i.TargetNamespace, i.Name)
		case collector.NeedCSIDriver:
			if i.Resource == snapshotContents {
				s.snapshotContents.addItem(n.Name, i.TargetNamespace, i.Name)
			}
			// A new volume takes the driver of its class, and a class without claims needs no driver.
			if i.Resource != live.StorageClasses && (i.Resource != volumes || c.retainedVolumes[i.Name]) {
				s.drivers.addItem(n.Name, i.TargetNamespace, i.Name)
			}
		case collector.NeedServiceType:
			if n.Name == "LoadBalancer" {
				d.loadBalancers++
			}
		case collector.NeedNodePort:
			d.nodePorts++
			if preservesPorts(c.Restore) {
				c.collectPort(s, i, n.Amount)
			}
		case collector.NeedKeptNodePort:
			d.nodePorts++
			c.collectPort(s, i, n.Amount)
		case collector.NeedWebhookService:
			if n.Amount == 1 {
				s.webhooks.addItem(n.Name, "", i.Name)
			}
		}
	}
}

func (c *checker) collectClaim(s *storageNeeds, d *namespaceDemand, i collector.Item, needs []collector.Need) {
	class, volume, size := "", "", int64(0)
	unnamed, inSnapshot, legacy := false, false, false
	var modes claimModes
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
		case collector.NeedBlockVolume:
			modes.block = true
		case collector.NeedAccessMode:
			modes.access = append(modes.access, corev1.PersistentVolumeAccessMode(n.Name))
		case collector.NeedCSIData:
			inSnapshot = true
			if c.skipsCSI() {
				s.emptyVolumes.addItem(i.TargetNamespace, i.Name)
			}
		}
	}
	changed, there := "", false
	if a := c.Environment; a != nil {
		// Velero reads and changes only spec.storageClassName; Kubernetes goes by the annotation.
		if to := a.StorageClassMap[class]; to != "" && !legacy {
			class, changed = to, class+" to "+to
		}
		_, there = a.StorageClasses[class]
	}
	refused := c.refuseClaim(i, size)
	if refused {
		c.newItems[i.TargetNamespace][claims]--
	} else {
		addCapped(&d.storage, size)
	}
	gets := c.claimVolumeSource(volume, inSnapshot)
	named := &class
	if unnamed {
		named = nil
	}
	c.collectBinding(s, i, volume, named, size, modes, gets)
	c.collectDataCarriers(s, i, volume, inSnapshot, gets)
	switch {
	case unnamed && gets == sourceNewVolume:
		s.claimsWithoutClass.addItem(i.TargetNamespace, i.Name)
		if method := c.savedVolumes[volume].Method; method == artifact.MethodPodVolumeBackup ||
			method == artifact.MethodCSISnapshot {
			s.crashCount++
		}
	case class == "":
	default:
		if !refused {
			sum := d.storageByClass[class]
			addCapped(&sum, size)
			d.storageByClass[class] = sum
			d.claimsByClass[class]++
		}
		switch {
		case changed != "" && !c.isAvailable(live.StorageClasses, class, there):
			s.changedClasses.addItem(changed, i.TargetNamespace, i.Name)
		case gets == sourceNewVolume:
			s.classes.addItem(class, i.TargetNamespace, i.Name)
		case gets == sourceUnknown:
			s.retained.addItem(class, i.TargetNamespace, i.Name)
		}
	}
}

// isAvailable reports whether the target has a cluster-scoped object, or the restore brings it.
func (c *checker) isAvailable(resource, name string, there bool) bool {
	return there || c.provided[resource][name]
}

// checkChangedClasses finds items of which Velero's action changes the class to one that is missing
// (pkg/restore/actions/change_storageclass_action.go, isStorageClassExist).
func (c *checker) checkChangedClasses(resource, kind string, changed groups) {
	for change, g := range changed.sortedByKey() {
		c.addFinding(g.fillFinding(Finding{
			Severity: Obstacle,
			Reason:   StorageClassMissing,
			Resource: resource,
			Sentence: fmt.Sprintf("A ConfigMap has Velero change storage class %s, which does not exist. Velero has an error "+
				"for each %s, and restores none of them.", change, kind),
			Remedy: "Create the class, or correct the ConfigMap with the label velero.io/change-storage-class: " +
				"RestoreItemAction in the namespace of Velero.",
		}))
	}
}

func (c *checker) checkStorage(s *storageNeeds) {
	a := c.Environment
	if s.emptyVolumes.count > 0 {
		c.addFinding(s.emptyVolumes.fillFinding(Finding{
			Severity: Obstacle,
			Reason:   VolumesEmpty,
			Resource: claims,
			Sentence: fmt.Sprintf(
				"The data of %s is in CSI snapshots or was moved from them, and the Velero server runs without the feature "+
					"flag EnableCSI. Velero restores the claims, and their volumes are empty.",
				human.Count(s.emptyVolumes.count, "claim"),
			),
			Remedy: "Start the Velero server with --features=EnableCSI before you restore.",
		}))
	}
	if a.WasChecked(live.StorageClasses, "") {
		c.checkChangedClasses(claims, "claim", s.changedClasses)
		c.checkChangedClasses(statefulSets, "StatefulSet", s.changedTemplates)
		if s.claimsWithoutClass.count > 0 && !c.hasDefaultClass() {
			c.addFinding(s.claimsWithoutClass.fillFinding(Finding{
				Severity: Obstacle,
				Reason:   DefaultClassMissing,
				Resource: claims,
				Sentence: fmt.Sprintf(
					"%s no storage class, and the cluster has no default one. They stay Pending.",
					human.CountForms(s.claimsWithoutClass.count, "claim names", "claims name"),
				) + c.crashText(
					s.crashCount,
				),
				Remedy: "Mark a storage class as the default (annotation storageclass.kubernetes.io/is-default-class: \"true\").",
			}))
		}
		missing := func(of groups, severity Severity, then string) {
			for class, g := range of.sortedByKey() {
				if c.hasStorageClass(class) {
					continue
				}
				c.addFinding(g.fillFinding(Finding{
					Severity: severity,
					Reason:   StorageClassMissing,
					Resource: claims,
					Sentence: fmt.Sprintf(
						"Storage class %s does not exist, and %s it. %s",
						class,
						human.CountForms(g.count, "claim wants", "claims want"),
						then,
					),
					Remedy: "Create the class, or have Velero change it: a ConfigMap in the namespace of Velero, with the " +
						"labels velero.io/plugin-config: \"\" and velero.io/change-storage-class: RestoreItemAction, " +
						"whose data maps " + class + " to one that exists.",
				}))
			}
		}
		if a.WasChecked(live.ConfigMaps, "") {
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
	c.checkSnapshotClasses(s)
	if a.WasChecked(live.CSIDrivers, "") {
		for driver, g := range s.drivers.sortedByKey() {
			if !c.isAvailable(live.CSIDrivers, driver, a.Drivers[driver]) {
				c.addFinding(g.fillFinding(Finding{
					Severity: Doubt,
					Reason:   DriverMissing,
					Resource: live.CSIDrivers,
					Sentence: fmt.Sprintf(
						"The cluster has no CSIDriver %s, and %s it. Without the driver no pod gets these volumes.",
						driver,
						human.CountForms(g.count, "item needs", "items need"),
					),
					Remedy: "Install the CSI driver, or leave these volumes out.",
				}))
			}
		}
	}
}

func (c *checker) collectPort(s *storageNeeds, i collector.Item, port int64) {
	if c.Environment == nil {
		return
	}
	holder, taken := c.Environment.NodePorts[port]
	if c.isAnswered(i.Resource, i.TargetNamespace, i.Name) {
		return
	}
	if taken && holder != i.TargetNamespace+"/"+i.Name {
		s.ports.addItem(i.TargetNamespace, i.TargetNamespace, i.Name).addReasons(fmt.Sprintf("%d by %s", port, holder))
	}
}

func (c *checker) checkPorts(s *storageNeeds) {
	remedy := "Change or delete the Service that holds the port, or leave this one out."
	if preservesPorts(c.Restore) {
		remedy = "Restore without --preserve-nodeports, or free the ports."
	}
	for _, g := range s.ports.sortedByKey() {
		c.addFinding(g.fillFinding(Finding{
			Severity: Obstacle,
			Reason:   NodePortTaken,
			Resource: live.Services,
			Sentence: fmt.Sprintf(
				"Node ports are taken: %s. Kubernetes is expected to refuse the Services that Velero restores with them.",
				human.Shorten(g.joinReasons(", "), 300),
			),
			Remedy: remedy,
		}))
	}
}
