package coverage

import (
	"maps"
	"slices"
	"strings"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/velero"
)

// The resources that a [Cluster] holds.
const (
	Namespaces      = "namespaces"
	Claims          = "persistentvolumeclaims"
	Volumes         = "persistentvolumes"
	Pods            = "pods"
	StorageClasses  = "storageclasses.storage.k8s.io"
	SnapshotClasses = "volumesnapshotclasses.snapshot.storage.k8s.io"
	Schedules       = "schedules.velero.io"
	SnapshotPlaces  = "volumesnapshotlocations.velero.io"
)

// Workloads are the resources of workloads besides [Pods].
var Workloads = []string{"deployments.apps", "statefulsets.apps", "daemonsets.apps", "cronjobs.batch", "jobs.batch"}

// kinds are those that are judged and predicted, by resource.
var kinds = map[string]string{
	Namespaces: "Namespace", Claims: "PersistentVolumeClaim", Pods: "Pod",
	"deployments.apps": "Deployment", "statefulsets.apps": "StatefulSet", "daemonsets.apps": "DaemonSet",
	"cronjobs.batch": "CronJob", "jobs.batch": "Job",
}

// SnapshotClass is a VolumeSnapshotClass. Default is true if Velero's label or Kubernetes' annotation marks it.
type SnapshotClass struct {
	Name, Driver string
	Default      bool
}

// Cluster is what a cluster holds, as far as backups depend on it.
type Cluster struct {
	// Objects are namespaces, claims, pods and workloads, by resource, then by NAMESPACE/NAME, or NAME for namespaces.
	Objects map[string]map[string]metav1.Object
	Volumes map[string]*corev1.PersistentVolume
	// Classes are the provisioners of storage classes.
	Classes         map[string]string
	SnapshotClasses []SnapshotClass
	SnapshotPlaces  []string // VolumeSnapshotLocations
	// Policies are the policies of ConfigMaps in Velero's namespace, by name.
	Policies map[string]*Policy
	Kinds    collector.Discovery
	Velero   string // its namespace
	Server   velero.Server
	// Selected are the namespaces with any item that the selectors of the predicted schedule select, nil if not known.
	Selected map[string]bool
	// Unseen are the resources that could not be read, and why.
	Unseen map[string]string
	// Misread are claims, volumes and pods that could be read in part only, by RESOURCE NAMESPACE/NAME, and why.
	Misread map[string]string
}

// Put adds an object. Claims and pods must be of their types of corev1; of all others the metadata suffices.
func (c *Cluster) Put(resource string, o metav1.Object) {
	if c.Objects[resource] == nil {
		c.Objects[resource] = map[string]metav1.Object{}
	}
	c.Objects[resource][human.Namespaced(o.GetNamespace(), o.GetName())] = o
}

// unread says what could not be read, or not in full.
func (c *Cluster) unread() (all []string) {
	for _, unread := range []map[string]string{c.Unseen, c.Misread} {
		for what, why := range unread {
			all = append(all, what+": "+why)
		}
	}
	return all
}

// Schedule is a schedule and what is known of its next run.
type Schedule struct {
	*velerov1.Schedule
	Next    time.Time
	After   func(time.Time) time.Time // the first run after a moment, zero if there is none
	Last    time.Time                 // when its newest run that has ended began
	Invalid string                    // why it makes no backups, empty if it does
	Refused string                    // why Velero refuses its backups, empty if it does not
}

// Policy is the name of the ConfigMap with its resource policy, empty for none.
func (s *Schedule) Policy() string {
	if r := s.Spec.Template.ResourcePolicy; r != nil && strings.EqualFold(r.Kind, "configmap") {
		return r.Name
	}
	return ""
}

// index is a Cluster with what pods and labels say.
type index struct {
	*Cluster
	mounts   map[string][]mount // by claim
	agents   map[string]bool    // the nodes with a running node-agent
	excluded []string           // the namespaces that are labelled so
}

// mount is a pod's volume of a claim.
type mount struct {
	pod    *corev1.Pod
	volume string
}

func newIndex(c *Cluster) *index {
	x := &index{Cluster: c, mounts: map[string][]mount{}, agents: map[string]bool{}}
	for name, n := range c.Objects[Namespaces] {
		if labelledOut(n) {
			x.excluded = append(x.excluded, name)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.Objects[Pods])) {
		p := c.Objects[Pods][key].(*corev1.Pod)
		for claim, volume := range claimsOf(p) {
			x.mounts[claim] = append(x.mounts[claim], mount{p, volume})
		}
		// pkg/nodeagent/node_agent.go, isRunningInNode
		if p.Namespace == c.Velero && p.Labels["role"] == "node-agent" && running(p) {
			x.agents[p.Spec.NodeName] = true
		}
	}
	return x
}

// claimsOf goes through the claims that a pod mounts, with the names of its volumes.
func claimsOf(p *corev1.Pod) func(yield func(claim, volume string) bool) {
	return func(yield func(claim, volume string) bool) {
		for _, v := range p.Spec.Volumes {
			if v.PersistentVolumeClaim != nil && !yield(p.Namespace+"/"+v.PersistentVolumeClaim.ClaimName, v.Name) {
				return
			}
		}
	}
}

func labelledOut(o metav1.Object) bool {
	return o.GetLabels()[velerov1.ExcludeFromBackupLabel] == "true"
}

// running is as in pkg/util/kube/pod.go, IsPodRunning.
func running(p *corev1.Pod) bool { return p.Spec.NodeName != "" && p.Status.Phase == corev1.PodRunning }

func bound(c *corev1.PersistentVolumeClaim) bool {
	return c.Spec.VolumeName != "" && c.Status.Phase == corev1.ClaimBound
}

// owned reports whether a workload belongs to another, which is judged in its stead.
func owned(workload metav1.Object) bool { return metav1.GetControllerOf(workload) != nil }
