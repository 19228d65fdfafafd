package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/assess/coverage"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/watch"
)

// AssessCoverage judges which objects of a cluster its stored backups cover. say is called with what is being read.
func (c *Cluster) AssessCoverage(
	ctx context.Context,
	a *assess.Assessment,
	o coverage.Options,
	say func(string),
) (*coverage.Result, error) {
	l, err := c.readCoverage(ctx, a, o.OnlyNamespaces, say)
	if err != nil {
		return nil, err
	}
	o.Now, o.CopyRules, o.RestoreEnds = a.World.Now, a.CopyRules(), a.RestoreEnds()
	judge := coverage.NewJudge(l.cluster, a.CoverageSchedules(), a.SortedBackups(), o)
	if err := c.readRecords(ctx, a, judge, say); err != nil {
		return nil, err
	}
	result := judge.JudgeAll()
	result.Requests = l.RequestCost().Requests
	return result, nil
}

// PredictBackup predicts what the next backup of a schedule includes.
func (c *Cluster) PredictBackup(
	ctx context.Context,
	a *assess.Assessment,
	schedule string,
	say func(string),
) (*coverage.Prediction, error) {
	all := a.CoverageSchedules()
	i := slices.IndexFunc(all, func(s *coverage.Schedule) bool { return s.Name == schedule })
	if i < 0 {
		return nil, fmt.Errorf("there is no schedule %s in namespace %s", schedule, a.Snapshot.Namespace)
	}
	l, err := c.readCoverage(ctx, a, nil, say)
	if err != nil {
		return nil, err
	}
	l.findSelectedNamespaces(ctx, all[i])
	if err := l.Wait(ctx); err != nil {
		return nil, err
	}
	return new(coverage.Predict(l.cluster, all[i])), nil
}

// maxConcurrentReads is how many backups, or lists, are read at the same time.
const maxConcurrentReads = 8

// readRecords reads the records of backups, newest first. The first record is read alone, as it may settle
// everything.
func (c *Cluster) readRecords(
	ctx context.Context,
	a *assess.Assessment,
	judge *coverage.Judge,
	say func(string),
) error {
	conn, err := c.Connect()
	if err != nil {
		return err
	}
	records := c.CoverageRecords.forCluster(ctx, conn)
	queue, at, read := a.SortedBackups(), 1, 0
	say(fmt.Sprintf("reading what backups hold: at most %s left", human.Number(len(queue))))
	refused := error(nil)
	for len(queue) > 0 {
		var batch []*veleroapi.Backup
		for ; len(queue) > 0 && len(batch) < at; queue = queue[1:] {
			if judge.NeedsBackup(queue[0]) {
				batch = append(batch, queue[0])
			}
		}
		at = min(2*at, maxConcurrentReads)
		found, errs := make([]*coverage.Record, len(batch)), make([]error, len(batch))
		var running sync.WaitGroup
		for i, b := range batch {
			running.Go(func() { found[i], errs[i] = c.fetchRecord(ctx, records, a.Snapshot.Namespace, b, refused) })
		}
		running.Wait()
		late := OutOfTimeCause(ctx)
		switch {
		case late != nil:
			refused = cmp.Or(refused, late) // records on disk are still read
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		for i, b := range batch {
			if errs[i] == nil {
				judge.AddBackup(b, found[i])
				continue
			}
			if judge.RecordUnread(b, cmp.Or(late, errs[i])); late != nil {
				continue
			}
			if errors.Is(errs[i], artifact.ErrForbidden) || c.ReadOnly {
				refused = errs[i] // as are all other backups, except for records on disk
			}
		}
		read += len(batch)
		say(fmt.Sprintf("reading what backups hold: %d read, at most %s left", read, human.Number(len(queue))))
	}
	return nil
}

// ErrOutOfTime is the cause when a context of [WithTimeout] ends: whatever was not read by then is unknown.
var ErrOutOfTime = errors.New("not read in time")

// WithTimeout limits how long the queries of a command may take; 0 means no limit.
func WithTimeout(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(
		ctx,
		limit,
		fmt.Errorf("%w: it took longer than %s", ErrOutOfTime, human.Duration(limit)),
	)
}

// OutOfTimeCause returns the cause of a context that ended with [ErrOutOfTime], else nil.
func OutOfTimeCause(ctx context.Context) error {
	if cause := context.Cause(ctx); errors.Is(cause, ErrOutOfTime) {
		return cause
	}
	return nil
}

// fetchRecord reads what is stored of a backup, once.
func (c *Cluster) fetchRecord(
	ctx context.Context, records CoverageRecords, namespace string, b *veleroapi.Backup, refused error,
) (*coverage.Record, error) {
	if r := records.loadRecord(b.UID); r != nil {
		return r, nil
	}
	if refused != nil {
		return nil, refused
	}
	j := &job.Job{Kind: job.Backup, Namespace: namespace, Name: b.Name}
	list, err := readArtifact(
		ctx,
		c,
		j,
		func(f *artifact.Fetcher, ctx context.Context, kind job.Kind, name string) ([]artifact.KindItems, error) {
			return f.FetchItemsOfKinds(ctx, kind, name, coverage.IsWantedKind)
		},
	)
	if err != nil {
		return nil, err
	}
	volumes, err := c.FetchStoredVolumes(ctx, j)
	if err != nil && !errors.Is(err, artifact.ErrAbsent) {
		return nil, err
	}
	r := coverage.NewRecord(list, volumes, err != nil)
	if b.Status.Errors > 0 {
		results, err := readArtifact(ctx, c, j, (*artifact.Fetcher).FetchResults)
		if err != nil && !errors.Is(err, artifact.ErrAbsent) {
			return nil, err
		}
		r.AddErrors(results.Errors.AllMessages())
	}
	records.saveRecord(b.UID, r)
	return r, nil
}

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
