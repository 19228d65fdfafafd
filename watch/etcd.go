package watch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/etcd"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/session"
)

// These are the API groups of OpenShift's etcd backups. Only v1alpha1 was ever published.
var (
	etcdBackupGroup   = schema.GroupVersion{Group: "operator.openshift.io", Version: "v1alpha1"}
	etcdScheduleGroup = schema.GroupVersion{Group: "config.openshift.io", Version: "v1alpha1"}
)

var etcdKinds = []*kind{
	newOpenShiftKind(etcd.ResourceBackups, etcdBackupGroup.WithKind("EtcdBackup")),
	newOpenShiftKind(etcd.ResourceSchedules, etcdScheduleGroup.WithKind("Backup")),
	newKind[batchv1.Job](
		etcd.ResourceJobs,
		batchv1.SchemeGroupVersion,
		kind{namespace: etcd.Namespace, labelSelector: etcd.JobSelector, strip: stripEtcdObject},
	),
	newKind[batchv1.CronJob](
		etcd.ResourceCronJobs,
		batchv1.SchemeGroupVersion,
		kind{namespace: etcd.Namespace, labelSelector: etcd.CronJobSelector, strip: stripEtcdObject},
	),
	newKind[corev1.PersistentVolumeClaim](
		etcd.ResourceClaims,
		corev1.SchemeGroupVersion,
		kind{namespace: etcd.Namespace, strip: stripEtcdObject},
	),
	newKind[corev1.Pod](
		etcd.ResourcePods,
		corev1.SchemeGroupVersion,
		kind{namespace: etcd.Namespace, labelSelector: etcd.PodSelector, strip: stripEtcdObject},
	),
}

func newOpenShiftKind(resource string, gvk schema.GroupVersionKind) *kind {
	k := newKind[unstructured.Unstructured](
		resource,
		gvk.GroupVersion(),
		kind{clusterScoped: true, strip: stripEtcdObject},
	)
	k.gvk = gvk
	return k
}

func stripEtcdObject(o client.Object) bool {
	o.SetManagedFields(nil)
	switch o := o.(type) {
	case *batchv1.Job:
		deadline := corev1.PodSpec{ActiveDeadlineSeconds: o.Spec.Template.Spec.ActiveDeadlineSeconds}
		o.Spec = batchv1.JobSpec{BackoffLimit: o.Spec.BackoffLimit, Template: corev1.PodTemplateSpec{Spec: deadline}}
	case *batchv1.CronJob:
		o.Spec.JobTemplate = batchv1.JobTemplateSpec{}
	case *corev1.Pod:
		o.Spec, o.Annotations = corev1.PodSpec{NodeName: o.Spec.NodeName}, nil
	}
	return true
}

// servedEtcdKinds returns the kinds to read. One feature gate installs both CRDs, so one request is mostly enough.
func servedEtcdKinds(ctx context.Context, c rest.Interface) ([]*kind, error) {
	for i, k := range etcdKinds[:2] {
		there, err := servesKind(ctx, c, k)
		switch {
		case err != nil:
			return nil, err
		case !there && i == 0:
			return nil, nil
		case !there:
			return slices.Delete(slices.Clone(etcdKinds), i, i+1), nil
		}
	}
	return etcdKinds, nil
}

// servesKind reports whether the API server serves a kind. Where discovery is forbidden, the kind counts as missing.
func servesKind(ctx context.Context, c rest.Interface, k *kind) (bool, error) {
	body, err := c.Get().AbsPath("/apis/" + k.gvk.GroupVersion().String()).Do(ctx).Raw()
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return false, nil
	}
	var list metav1.APIResourceList
	if err == nil {
		err = json.Unmarshal(body, &list)
	}
	if err != nil {
		return false, fmt.Errorf("asking which kinds %s has: %w", k.gvk.GroupVersion(), err)
	}
	name := schema.ParseGroupResource(k.resource).Resource
	return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == name }), nil
}

// etcdDiscoveryBackoff is the backoff between attempts to find the kinds. After the last attempt, only a retry asks
// again.
var etcdDiscoveryBackoff = wait.Backoff{
	Duration: 2 * time.Second,
	Factor:   2,
	Jitter:   0.2,
	Steps:    5,
	Cap:      30 * time.Second,
}

type etcdWatch struct {
	store    *Store
	now      func() time.Time
	log      *slog.Logger
	retryNow chan struct{}

	mu            sync.Mutex
	sources       []*source
	logs          map[string]etcd.BackupLog // the ends of the logs read so far, by the name of an existing pod
	cachedCluster *etcd.Cluster             // built from the store at version, nil if a log was read since
	cachedVersion int
}

// newEtcdWatch returns a watch whose store signals the readers of another store.
func newEtcdWatch(beside *Store, now func() time.Time, log *slog.Logger) *etcdWatch {
	store := newStore(etcdKinds, now, 0)
	store.updates = beside.updates
	return &etcdWatch{
		store:    store,
		now:      now,
		log:      log,
		retryNow: make(chan struct{}, 1),
		logs:     map[string]etcd.BackupLog{},
	}
}

// watchEtcd follows the kinds until ctx ends. Where they are missing, it checks again when asked to, and after an
// outage.
func (w *etcdWatch) watchEtcd(ctx context.Context, c rest.Interface) {
	for backoff := etcdDiscoveryBackoff; ctx.Err() == nil; {
		found, err := servedEtcdKinds(ctx, c)
		select {
		case <-w.retryNow: // kicked while the request was under way
		default:
		}
		if err == nil {
			w.followSources(ctx, c, found)
		}
		var again <-chan time.Time
		if err != nil && backoff.Steps > 0 {
			w.log.Debug("cannot find out whether the cluster has etcd backups", "err", err)
			again = time.After(backoff.Step())
		}
		select {
		case <-again:
		case <-w.retryNow:
		case <-ctx.Done():
		}
	}
}

func (w *etcdWatch) followSources(ctx context.Context, c rest.Interface, found []*kind) {
	sources := make([]*source, len(found))
	for i, k := range found {
		sources[i] = newSource(k, w.store, w.now, w.log)
	}
	w.mu.Lock()
	changed := len(w.sources)+len(sources) > 0
	w.sources = sources
	w.mu.Unlock()
	if changed {
		w.store.signalUpdate()
	}
	var all sync.WaitGroup
	for _, s := range sources {
		all.Go(func() { s.runReflector(ctx, c, etcd.Namespace) })
	}
	all.Wait()
}

func (w *etcdWatch) retrySources() {
	trySend(w.retryNow)
	w.mu.Lock()
	defer w.mu.Unlock()
	retrySourcesUnless(w.sources, SourceLive)
}

// buildCluster returns nil until each kind has been read or refused, and where OpenShift's kinds are missing.
func (w *etcdWatch) buildCluster(beat livenessState) *etcd.Cluster {
	w.mu.Lock()
	sources := w.sources
	w.mu.Unlock()
	var unseen []etcd.UncheckedResource
	var stale time.Time
	there := false
	for _, s := range sources {
		now := s.currentStatus()
		switch now.State {
		case SourceSyncing:
			return nil
		case SourceForbidden, SourceMissing:
			unseen = append(
				unseen,
				etcd.UncheckedResource{Resource: now.Resource, IsMissing: now.State == SourceMissing, Reason: now.Err},
			)
		case SourceStale:
			if stale.IsZero() || now.Since.Before(stale) {
				stale = now.Since
			}
		}
		if now.State != SourceMissing && (now.Resource == etcd.ResourceBackups || now.Resource == etcd.ResourceSchedules) {
			there = true
		}
	}
	if !there {
		return nil
	}
	if beat.lost {
		stale = beat.answeredAt.Add(beat.offset)
	}
	known := *w.currentCluster()
	known.Unchecked, known.StaleSince = unseen, stale
	return &known
}

func (w *etcdWatch) currentCluster() *etcd.Cluster {
	w.mu.Lock()
	defer w.mu.Unlock()
	objects, version := w.store.etcdObjects()
	if w.cachedCluster != nil && w.cachedVersion == version {
		return w.cachedCluster
	}
	maps.DeleteFunc(w.logs, func(pod string, _ etcd.BackupLog) bool {
		return !slices.ContainsFunc(objects.Pods, func(p *corev1.Pod) bool { return p.Name == pod })
	})
	w.cachedCluster, w.cachedVersion = etcd.NewCluster(objects, nil).WithLogs(maps.Clone(w.logs)), version
	return w.cachedCluster
}

// etcdObjects returns the objects of etcd backups and the store's version.
func (s *Store) etcdObjects() (etcd.Objects, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return etcd.Objects{
		Backups: keptObjectsOf[*unstructured.Unstructured](
			s,
			etcd.ResourceBackups,
		).sortedByName(),
		Schedules: keptObjectsOf[*unstructured.Unstructured](s, etcd.ResourceSchedules).sortedByName(),
		Jobs: keptObjectsOf[*batchv1.Job](
			s,
			etcd.ResourceJobs,
		).sortedByName(),
		CronJobs: keptObjectsOf[*batchv1.CronJob](s, etcd.ResourceCronJobs).sortedByName(),
		Claims: keptObjectsOf[*corev1.PersistentVolumeClaim](
			s,
			etcd.ResourceClaims,
		).sortedByName(),
		Pods: keptObjectsOf[*corev1.Pod](s, etcd.ResourcePods).sortedByName(),
	}, s.version
}

const etcdLogTimeout = 10 * time.Second

// ReadEtcdLog reads the end of the log of an etcd backup's pod. The next snapshot has the log, or the error.
func (w *Watcher) ReadEtcdLog(ctx context.Context, pod string) {
	w.mu.Lock()
	c := w.currentConnection
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, etcdLogTimeout)
	defer cancel()
	log := (&EtcdBackupReader{c.rest}).ReadLog(ctx, pod)
	w.etcd.mu.Lock()
	w.etcd.logs[pod], w.etcd.cachedCluster = log, nil
	w.etcd.mu.Unlock()
	w.store.signalUpdate()
}

// ErrNoEtcdBackups means that the cluster serves none of the kinds.
var ErrNoEtcdBackups = errors.New(
	"this cluster has no etcd backups of OpenShift: it does not serve " + etcd.ResourceBackups,
)

// EtcdBackupReader reads OpenShift's etcd backups once, and the logs of their pods.
type EtcdBackupReader struct{ rest rest.Interface }

// NewEtcdBackupReader returns a reader. It does not send a request.
func NewEtcdBackupReader(cfg *rest.Config) (*EtcdBackupReader, error) {
	over, err := session.HTTPClient(cfg, session.TransportOptions{})
	if err != nil {
		return nil, err
	}
	c, err := client.New(cfg, over, nil)
	if err != nil {
		return nil, err
	}
	return &EtcdBackupReader{c.REST}, nil
}

// Read reads everything once and names forbidden kinds. It fails with [ErrNoEtcdBackups] where no kind is served.
func (r *EtcdBackupReader) Read(ctx context.Context) (*etcd.Cluster, error) {
	found, err := servedEtcdKinds(ctx, r.rest)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, ErrNoEtcdBackups
	}
	store := newStore(etcdKinds, time.Now, 0)
	var unseen []etcd.UncheckedResource
	for _, k := range found {
		list := store.startList(k)
		_, err := newKindReader(k, r.rest, etcd.Namespace).readAll(ctx, list)
		switch {
		case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
			unseen = append(
				unseen,
				etcd.UncheckedResource{Resource: k.resource, IsMissing: apierrors.IsNotFound(err), Reason: formatError(err)},
			)
		case err != nil:
			return nil, fmt.Errorf("listing %s: %w", k.resource, err)
		}
		list.finishList()
	}
	objects, _ := store.etcdObjects()
	return etcd.NewCluster(objects, unseen), nil
}

// These are the limits of what is read of a pod's log: the program reports a failure at its very end.
const etcdLogLines, etcdLogBytes = "40", "65536"

func (r *EtcdBackupReader) ReadLog(ctx context.Context, pod string) etcd.BackupLog {
	answer := r.rest.Get().AbsPath("/api/v1/namespaces", etcd.Namespace, "pods", pod, "log").
		Param("container", "cluster-backup").Param("tailLines", etcdLogLines).Param("limitBytes", etcdLogBytes).Do(ctx)
	text, err := answer.Raw()
	if err != nil {
		err = cmp.Or(answer.Error(), err) // Raw leaves out the server's reason
		return etcd.BackupLog{Unchecked: formatError(err), IsForbidden: apierrors.IsForbidden(err)}
	}
	log := etcd.ParseBackupLog(string(text))
	log.Failure = sanitize.String(log.Failure)
	return log
}
