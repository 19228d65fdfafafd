package coverage

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// These are the resources in a [Cluster].
const (
	Namespaces              = "namespaces"
	Claims                  = "persistentvolumeclaims"
	Volumes                 = "persistentvolumes"
	Pods                    = "pods"
	StorageClasses          = "storageclasses.storage.k8s.io"
	SnapshotClasses         = "volumesnapshotclasses.snapshot.storage.k8s.io"
	Schedules               = "schedules.velero.io"
	VolumeSnapshotLocations = "volumesnapshotlocations.velero.io"
)

// Workloads are the resources of workloads besides [Pods].
var Workloads = []string{"deployments.apps", "statefulsets.apps", "daemonsets.apps", "cronjobs.batch", "jobs.batch"}

// kinds are the kinds of the judged and predicted objects, by resource.
var kinds = map[string]string{
	Namespaces: "Namespace", Claims: "PersistentVolumeClaim", Pods: "Pod",
	"deployments.apps": "Deployment", "statefulsets.apps": "StatefulSet", "daemonsets.apps": "DaemonSet",
	"cronjobs.batch": "CronJob", "jobs.batch": "Job",
}

// SnapshotClass is a VolumeSnapshotClass. Default is true if Velero's label or Kubernetes' annotation marks it as
// default.
type SnapshotClass struct {
	Name, Driver string
	Default      bool
}

// Cluster is the part of a cluster's contents that backups depend on.
type Cluster struct {
	// Objects are namespaces, claims, pods and workloads, by resource, then by NAMESPACE/NAME, or NAME for namespaces.
	Objects map[string]map[string]metav1.Object
	Volumes map[string]*corev1.PersistentVolume
	// Provisioners maps storage classes to their provisioners.
	Provisioners            map[string]string
	SnapshotClasses         []SnapshotClass
	VolumeSnapshotLocations []string // VolumeSnapshotLocations
	// Policies are the resource policies in ConfigMaps of Velero's namespace, by name.
	Policies        map[string]*Policy
	Kinds           collector.Discovery
	VeleroNamespace string // Velero's namespace
	Server          velero.Server
	// SelectedNamespaces are the namespaces with any item that the selectors of the predicted schedule match, nil if
	// unknown.
	SelectedNamespaces map[string]bool
	// Unchecked are the resources that could not be read, with the reasons.
	Unchecked map[string]string
	// PartlyRead are the claims, volumes and pods that could be read only in part, by RESOURCE NAMESPACE/NAME, with the
	// reasons.
	PartlyRead map[string]string
}

// AddObject adds an object. Claims and pods must have their corev1 types; for all others the metadata suffices.
func (c *Cluster) AddObject(resource string, o metav1.Object) {
	if c.Objects[resource] == nil {
		c.Objects[resource] = map[string]metav1.Object{}
	}
	c.Objects[resource][human.Namespaced(o.GetNamespace(), o.GetName())] = o
}

// uncheckedTexts says what could not be read, or not in full.
func (c *Cluster) uncheckedTexts() (all []string) {
	for _, unread := range []map[string]string{c.Unchecked, c.PartlyRead} {
		for what, why := range unread {
			all = append(all, what+": "+why)
		}
	}
	return all
}

// Schedule is a schedule and what is known about its next run.
type Schedule struct {
	*veleroapi.Schedule
	NextRun           time.Time
	RunAfter          func(time.Time) time.Time // the first run after a time, zero if there is none
	LastEndedRunStart time.Time                 // when its newest run that has ended began
	LastRunGone       time.Time                 // when its last run began, if the backup is not there any more
	InvalidReason     string                    // why it makes no backups, empty if it makes them
	RefusalReason     string                    // why Velero refuses its backups, empty if it accepts them
}

// PolicyName returns the name of the ConfigMap with its resource policy, empty for none.
func (s *Schedule) PolicyName() string {
	if r := s.Spec.Template.ResourcePolicy; r != nil && strings.EqualFold(r.Kind, "configmap") {
		return r.Name
	}
	return ""
}

// clusterIndex is a Cluster with lookups derived from its pods and labels.
type clusterIndex struct {
	*Cluster
	mounts   map[string][]mount // by claim
	agents   map[string]bool    // the nodes with a running node-agent
	excluded []string           // the namespaces excluded by their label
}

// mount is a pod's volume of a claim.
type mount struct {
	pod    *corev1.Pod
	volume string
}

func newClusterIndex(c *Cluster) *clusterIndex {
	x := &clusterIndex{Cluster: c, mounts: map[string][]mount{}, agents: map[string]bool{}}
	for name, n := range c.Objects[Namespaces] {
		if isExcludedByLabel(n) {
			x.excluded = append(x.excluded, name)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.Objects[Pods])) {
		p := c.Objects[Pods][key].(*corev1.Pod)
		for claim, volume := range mountedClaims(p) {
			x.mounts[claim] = append(x.mounts[claim], mount{p, volume})
		}
		// pkg/nodeagent/node_agent.go, isRunningInNode
		if p.Namespace == c.VeleroNamespace && p.Labels["role"] == "node-agent" && isPodRunning(p) {
			x.agents[p.Spec.NodeName] = true
		}
	}
	return x
}

// mountedClaims iterates over the claims that a pod mounts, with the names of its volumes.
func mountedClaims(p *corev1.Pod) func(yield func(claim, volume string) bool) {
	return func(yield func(claim, volume string) bool) {
		for _, v := range p.Spec.Volumes {
			if v.PersistentVolumeClaim != nil && !yield(p.Namespace+"/"+v.PersistentVolumeClaim.ClaimName, v.Name) {
				return
			}
		}
	}
}

func isExcludedByLabel(o metav1.Object) bool {
	return o.GetLabels()[veleroapi.ExcludeFromBackupLabel] == "true"
}

// isPodRunning follows pkg/util/kube/pod.go, IsPodRunning.
func isPodRunning(p *corev1.Pod) bool {
	return p.Spec.NodeName != "" && p.Status.Phase == corev1.PodRunning
}

func isBound(c *corev1.PersistentVolumeClaim) bool {
	return c.Spec.VolumeName != "" && c.Status.Phase == corev1.ClaimBound
}

// hasController reports whether a workload belongs to another, which is judged instead.
func hasController(workload metav1.Object) bool { return metav1.GetControllerOf(workload) != nil }
