package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/assess/coverage"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/watch"
)

// coverageReader reads the objects of a cluster.
type coverageReader struct {
	*live.ListPool
	cluster *coverage.Cluster
}

// readCoverage reads the objects of the cluster, in some namespaces or in all.
func (c *Cluster) readCoverage(
	ctx context.Context,
	a *assess.Assessment,
	only []string,
	say func(string),
) (*coverageReader, error) {
	reader, served, err := c.newLiveReader(ctx)
	if err != nil {
		return nil, err
	}
	l := &coverageReader{cluster: &coverage.Cluster{
		Objects:         map[string]map[string]metav1.Object{},
		Volumes:         map[string]*corev1.PersistentVolume{},
		Provisioners:    map[string]string{},
		Policies:        map[string]*coverage.Policy{},
		Unchecked:       map[string]string{},
		PartlyRead:      map[string]string{},
		Kinds:           collector.LiveDiscovery(served.ResourceLists),
		VeleroNamespace: a.Snapshot.Namespace,
		Server:          a.World.Server,
	}}
	l.ListPool = reader.NewListPool(served, l.noteUnchecked)
	l.OnStart = func(resource string) { say("reading " + resource) }
	if a.IsUnchecked(watch.Schedules) {
		l.cluster.Unchecked[watch.Schedules] = "you may not list it"
	}
	l.readClusterObjects(ctx)
	if len(only) == 0 {
		only = []string{metav1.NamespaceAll}
	}
	for _, n := range only {
		l.readNamespaceObjects(ctx, n)
	}
	if !slices.Contains(only, metav1.NamespaceAll) &&
		!slices.Contains(only, l.cluster.VeleroNamespace) { // for the node-agents
		live.StartVisit(ctx, l.ListPool, coverage.Pods, l.cluster.VeleroNamespace, "", l.addPod)
	}
	policies := []string{a.World.Server.Flags.GlobalVolumePolicies}
	for _, s := range a.CoverageSchedules() {
		policies = append(policies, s.PolicyName())
	}
	slices.Sort(policies)
	for _, name := range slices.Compact(policies) {
		if name != "" {
			l.fetchPolicy(ctx, c, name)
		}
	}
	return l, l.Wait(ctx)
}

// noteUnchecked notes what could not be read. A single claim, volume or pod that cannot be read in full affects only
// what depends on it.
func (l *coverageReader) noteUnchecked(resource, _ string, err error) {
	var misread live.MisreadError
	if !errors.As(err, &misread) ||
		!slices.Contains([]string{coverage.Claims, coverage.Volumes, coverage.Pods}, resource) {
		l.cluster.Unchecked[resource] = err.Error()
		return
	}
	for name, why := range misread {
		l.cluster.PartlyRead[resource+" "+name] = why
	}
}

func (l *coverageReader) readClusterObjects(ctx context.Context) {
	f := l.cluster
	live.StartVisit(
		ctx,
		l.ListPool,
		coverage.Namespaces,
		"",
		"",
		func(n *metav1.PartialObjectMetadata) { f.AddObject(coverage.Namespaces, n) },
	)
	live.StartVisit(ctx, l.ListPool, coverage.Volumes, "", "", func(v *corev1.PersistentVolume) {
		f.Volumes[v.Name] = &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{CreationTimestamp: v.CreationTimestamp, Labels: v.Labels},
			Spec:       v.Spec,
		}
	})
	live.StartVisit(
		ctx,
		l.ListPool,
		coverage.StorageClasses,
		"",
		"",
		func(c *storagev1.StorageClass) { f.Provisioners[c.Name] = c.Provisioner },
	)
	live.StartVisit(
		ctx,
		l.ListPool,
		coverage.VolumeSnapshotLocations,
		f.VeleroNamespace,
		"",
		func(m *metav1.PartialObjectMetadata) {
			f.VolumeSnapshotLocations = append(f.VolumeSnapshotLocations, m.Name)
		},
	)
	live.StartVisit(ctx, l.ListPool, coverage.SnapshotClasses, "", "", func(c *live.SnapshotClass) {
		_, label := c.Labels[veleroapi.VolumeSnapshotClassSelectorLabel]
		_, annotation := c.Annotations[veleroapi.VolumeSnapshotClassKubernetesAnnotation]
		f.SnapshotClasses = append(
			f.SnapshotClasses,
			coverage.SnapshotClass{Name: c.Name, Driver: c.Driver, Default: label || annotation},
		)
	})
}

func (l *coverageReader) readNamespaceObjects(ctx context.Context, namespace string) {
	live.StartVisit(ctx, l.ListPool, coverage.Pods, namespace, "", l.addPod)
	live.StartVisit(
		ctx,
		l.ListPool,
		coverage.Claims,
		namespace,
		"",
		func(c *corev1.PersistentVolumeClaim) { l.cluster.AddObject(coverage.Claims, c) },
	)
	for _, resource := range coverage.Workloads {
		live.StartVisit(ctx, l.ListPool, resource, namespace, "", func(m *metav1.PartialObjectMetadata) {
			if metav1.GetControllerOf(m) == nil {
				l.cluster.AddObject(resource, m)
			}
		})
	}
}

// addPod keeps the part of a pod that determines how its volumes are backed up.
func (l *coverageReader) addPod(p *corev1.Pod) {
	kept := &corev1.Pod{
		ObjectMeta: p.ObjectMeta,
		Spec:       corev1.PodSpec{NodeName: p.Spec.NodeName},
		Status:     corev1.PodStatus{Phase: p.Status.Phase},
	}
	maps.DeleteFunc(kept.Annotations, func(key, _ string) bool {
		return key != veleroapi.VolumesToBackupAnnotation && key != veleroapi.VolumesToExcludeAnnotation
	})
	for _, v := range p.Spec.Volumes {
		if v.PersistentVolumeClaim != nil {
			kept.Spec.Volumes = append(kept.Spec.Volumes, v)
		}
	}
	for _, c := range p.Spec.Containers {
		kept.Spec.Containers = append(
			kept.Spec.Containers,
			corev1.Container{VolumeMounts: c.VolumeMounts, VolumeDevices: c.VolumeDevices},
		)
	}
	l.cluster.AddObject(coverage.Pods, kept)
}

// fetchPolicy reads a ConfigMap of resource policies. A missing ConfigMap is refused like an empty one.
func (l *coverageReader) fetchPolicy(ctx context.Context, c *Cluster, name string) {
	l.StartList(ctx, "configmaps/"+name, l.cluster.VeleroNamespace, func() (func(), error) {
		api, err := c.currentClient()
		if err != nil {
			return nil, err
		}
		configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: l.cluster.VeleroNamespace, Name: name}}
		configMap.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		switch err := api.Get(ctx, configMap); {
		case apierrors.IsForbidden(err):
			return nil, fmt.Errorf("you may not read ConfigMap %s in namespace %s", name, l.cluster.VeleroNamespace)
		case err != nil && !apierrors.IsNotFound(err):
			return nil, sanitize.Error(err)
		}
		return func() { l.cluster.Policies[name] = coverage.ParsePolicy(name, configMap.Data) }, nil
	})
}

// findSelectedNamespaces finds the namespaces with any object that a schedule's selectors match.
func (l *coverageReader) findSelectedNamespaces(ctx context.Context, s *coverage.Schedule) {
	selectors, resources := coverage.DecisiveSelectors(l.cluster, s)
	if len(selectors) > 0 {
		l.cluster.SelectedNamespaces = map[string]bool{}
	}
	for _, selector := range selectors {
		for _, resource := range resources {
			live.StartVisit(
				ctx,
				l.ListPool,
				resource,
				metav1.NamespaceAll,
				selector,
				func(m *metav1.PartialObjectMetadata) { l.cluster.SelectedNamespaces[m.Namespace] = true },
			)
		}
	}
}
