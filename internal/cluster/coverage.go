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

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
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
	"github.com/veltui/veltui/watch"
)

// Coverage judges what a cluster holds by what is stored of its backups. say is told what is read.
func (c *Cluster) Coverage(
	ctx context.Context,
	a *assess.Assessment,
	o coverage.Options,
	say func(string),
) (*coverage.Result, error) {
	l, err := c.lookAtCluster(ctx, a, o.Only, say)
	if err != nil {
		return nil, err
	}
	o.Now, o.Copies = a.Environment.Now, a.Copies()
	judge := coverage.NewJudge(l.found, a.CoverageSchedules(), a.Backups(), o)
	if err := c.readRecords(ctx, a, judge, say); err != nil {
		return nil, err
	}
	result := judge.Result()
	result.Requests = l.Cost().Requests
	return result, nil
}

// Predict says what the next backup of a schedule takes.
func (c *Cluster) Predict(
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
	l, err := c.lookAtCluster(ctx, a, nil, say)
	if err != nil {
		return nil, err
	}
	l.selected(ctx, all[i])
	if err := l.Wait(ctx); err != nil {
		return nil, err
	}
	return new(coverage.Predict(l.found, all[i])), nil
}

// mostAtOnce is how many backups, or lists, are read at once.
const mostAtOnce = 8

// readRecords reads the records of backups, newest first. The first is read alone, as it may decide everything.
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
	records := c.Records.of(ctx, conn)
	queue, at, read := a.Backups(), 1, 0
	say(fmt.Sprintf("reading what backups hold: at most %s left", human.Number(len(queue))))
	refused := error(nil)
	for len(queue) > 0 {
		var batch []*velerov1.Backup
		for ; len(queue) > 0 && len(batch) < at; queue = queue[1:] {
			if judge.Needs(queue[0]) {
				batch = append(batch, queue[0])
			}
		}
		at = min(2*at, mostAtOnce)
		found, errs := make([]*coverage.Record, len(batch)), make([]error, len(batch))
		var running sync.WaitGroup
		for i, b := range batch {
			running.Go(func() { found[i], errs[i] = c.record(ctx, records, a.Snapshot.Namespace, b, refused) })
		}
		running.Wait()
		late := OutOfTime(ctx)
		switch {
		case late != nil:
			refused = cmp.Or(refused, late) // what is on disk is read on
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		for i, b := range batch {
			if errs[i] == nil {
				judge.Add(b, found[i])
				continue
			}
			if judge.Unread(b, cmp.Or(late, errs[i])); late != nil {
				continue
			}
			if errors.Is(errs[i], artifact.ErrForbidden) || c.ReadOnly {
				refused = errs[i] // so are all others, but for those on disk
			}
		}
		read += len(batch)
		say(fmt.Sprintf("reading what backups hold: %d read, at most %s left", read, human.Number(len(queue))))
	}
	return nil
}

// ErrOutOfTime is the cause of the end of a context of [WithTimeout]: what was not read by then is unknown.
var ErrOutOfTime = errors.New("not read in time")

// WithTimeout limits how long what a command asks for may take; 0 is no limit.
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

// OutOfTime is the cause of a context that ended by [ErrOutOfTime], else nil.
func OutOfTime(ctx context.Context) error {
	if cause := context.Cause(ctx); errors.Is(cause, ErrOutOfTime) {
		return cause
	}
	return nil
}

// record reads what is stored of a backup, once.
func (c *Cluster) record(
	ctx context.Context, records Records, namespace string, b *velerov1.Backup, refused error,
) (*coverage.Record, error) {
	if r := records.load(b.UID); r != nil {
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
		func(f *artifact.Fetcher, ctx context.Context, kind job.Kind, name string) ([]artifact.Resources, error) {
			return f.ResourcesOf(ctx, kind, name, coverage.Wanted)
		},
	)
	if err != nil {
		return nil, err
	}
	volumes, err := c.StoredVolumes(ctx, j)
	if err != nil && !errors.Is(err, artifact.ErrAbsent) {
		return nil, err
	}
	r := coverage.NewRecord(list, volumes, err != nil)
	if b.Status.Errors > 0 {
		results, err := readArtifact(ctx, c, j, (*artifact.Fetcher).Results)
		if err != nil && !errors.Is(err, artifact.ErrAbsent) {
			return nil, err
		}
		r.AddErrors(results.Errors.All())
	}
	records.store(b.UID, r)
	return r, nil
}

// coverageLook reads what a cluster holds.
type coverageLook struct {
	*live.Lists
	found *coverage.Cluster
}

// lookAtCluster reads what the cluster holds, in some namespaces or in all.
func (c *Cluster) lookAtCluster(
	ctx context.Context,
	a *assess.Assessment,
	only []string,
	say func(string),
) (*coverageLook, error) {
	reader, served, err := c.target(ctx)
	if err != nil {
		return nil, err
	}
	l := &coverageLook{found: &coverage.Cluster{
		Objects:  map[string]map[string]metav1.Object{},
		Volumes:  map[string]*corev1.PersistentVolume{},
		Classes:  map[string]string{},
		Policies: map[string]*coverage.Policy{},
		Unseen:   map[string]string{},
		Misread:  map[string]string{},
		Kinds:    collector.LiveDiscovery(served.Lists),
		Velero:   a.Snapshot.Namespace,
		Server:   a.Environment.Server,
	}}
	l.Lists = reader.Lists(served, l.unread)
	l.Began = func(resource string) { say("reading " + resource) }
	if a.Unseen(watch.Schedules) {
		l.found.Unseen[watch.Schedules] = "you may not list it"
	}
	l.inCluster(ctx)
	if len(only) == 0 {
		only = []string{metav1.NamespaceAll}
	}
	for _, n := range only {
		l.inNamespace(ctx, n)
	}
	if !slices.Contains(only, metav1.NamespaceAll) && !slices.Contains(only, l.found.Velero) { // for the node-agents
		live.Each(ctx, l.Lists, coverage.Pods, l.found.Velero, "", l.pod)
	}
	policies := []string{a.Environment.Server.Flags.VolumePolicies}
	for _, s := range a.CoverageSchedules() {
		policies = append(policies, s.Policy())
	}
	slices.Sort(policies)
	for _, name := range slices.Compact(policies) {
		if name != "" {
			l.policy(ctx, c, name)
		}
	}
	return l, l.Wait(ctx)
}

// unread notes what could not be read. Of claims, volumes and pods, one that cannot be read in full costs
// only what depends on it.
func (l *coverageLook) unread(resource, _ string, err error) {
	var misread live.MisreadError
	if !errors.As(err, &misread) ||
		!slices.Contains([]string{coverage.Claims, coverage.Volumes, coverage.Pods}, resource) {
		l.found.Unseen[resource] = err.Error()
		return
	}
	for name, why := range misread {
		l.found.Misread[resource+" "+name] = why
	}
}

func (l *coverageLook) inCluster(ctx context.Context) {
	f := l.found
	live.Each(
		ctx,
		l.Lists,
		coverage.Namespaces,
		"",
		"",
		func(n *metav1.PartialObjectMetadata) { f.Put(coverage.Namespaces, n) },
	)
	live.Each(ctx, l.Lists, coverage.Volumes, "", "", func(v *corev1.PersistentVolume) {
		f.Volumes[v.Name] = &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{CreationTimestamp: v.CreationTimestamp, Labels: v.Labels},
			Spec:       v.Spec,
		}
	})
	live.Each(
		ctx,
		l.Lists,
		coverage.StorageClasses,
		"",
		"",
		func(c *storagev1.StorageClass) { f.Classes[c.Name] = c.Provisioner },
	)
	live.Each(
		ctx,
		l.Lists,
		coverage.SnapshotPlaces,
		f.Velero,
		"",
		func(m *metav1.PartialObjectMetadata) { f.SnapshotPlaces = append(f.SnapshotPlaces, m.Name) },
	)
	live.Each(ctx, l.Lists, coverage.SnapshotClasses, "", "", func(c *live.SnapshotClass) {
		_, label := c.Labels[velerov1.VolumeSnapshotClassSelectorLabel]
		_, annotation := c.Annotations[velerov1.VolumeSnapshotClassKubernetesAnnotation]
		f.SnapshotClasses = append(
			f.SnapshotClasses,
			coverage.SnapshotClass{Name: c.Name, Driver: c.Driver, Default: label || annotation},
		)
	})
}

func (l *coverageLook) inNamespace(ctx context.Context, namespace string) {
	live.Each(ctx, l.Lists, coverage.Pods, namespace, "", l.pod)
	live.Each(
		ctx,
		l.Lists,
		coverage.Claims,
		namespace,
		"",
		func(c *corev1.PersistentVolumeClaim) { l.found.Put(coverage.Claims, c) },
	)
	for _, resource := range coverage.Workloads {
		live.Each(ctx, l.Lists, resource, namespace, "", func(m *metav1.PartialObjectMetadata) {
			if metav1.GetControllerOf(m) == nil {
				l.found.Put(resource, m)
			}
		})
	}
}

// pod keeps of a pod what decides about its volumes.
func (l *coverageLook) pod(p *corev1.Pod) {
	kept := &corev1.Pod{
		ObjectMeta: p.ObjectMeta,
		Spec:       corev1.PodSpec{NodeName: p.Spec.NodeName},
		Status:     corev1.PodStatus{Phase: p.Status.Phase},
	}
	maps.DeleteFunc(kept.Annotations, func(key, _ string) bool {
		return key != velerov1.VolumesToBackupAnnotation && key != velerov1.VolumesToExcludeAnnotation
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
	l.found.Put(coverage.Pods, kept)
}

// policy reads a ConfigMap of resource policies. One that does not exist is refused like an empty one.
func (l *coverageLook) policy(ctx context.Context, c *Cluster, name string) {
	l.Start(ctx, "configmaps/"+name, l.found.Velero, func() (func(), error) {
		api, err := c.api()
		if err != nil {
			return nil, err
		}
		configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: l.found.Velero, Name: name}}
		configMap.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		switch err := api.Get(ctx, configMap); {
		case apierrors.IsForbidden(err):
			return nil, fmt.Errorf("you may not read ConfigMap %s in namespace %s", name, l.found.Velero)
		case err != nil && !apierrors.IsNotFound(err):
			return nil, sanitize.Error(err)
		}
		return func() { l.found.Policies[name] = coverage.ParsePolicy(name, configMap.Data) }, nil
	})
}

// selected finds the namespaces with any object that a schedule's selectors select.
func (l *coverageLook) selected(ctx context.Context, s *coverage.Schedule) {
	selectors, resources := coverage.Selects(l.found, s)
	if len(selectors) > 0 {
		l.found.Selected = map[string]bool{}
	}
	for _, selector := range selectors {
		for _, resource := range resources {
			live.Each(
				ctx,
				l.Lists,
				resource,
				metav1.NamespaceAll,
				selector,
				func(m *metav1.PartialObjectMetadata) { l.found.Selected[m.Namespace] = true },
			)
		}
	}
}
