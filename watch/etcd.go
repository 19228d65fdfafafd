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

// The API of OpenShift's etcd backups. Only v1alpha1 was ever published.
var (
	etcdBackupGroup   = schema.GroupVersion{Group: "operator.openshift.io", Version: "v1alpha1"}
	etcdScheduleGroup = schema.GroupVersion{Group: "config.openshift.io", Version: "v1alpha1"}
)

var etcdKinds = []*kind{
	openShiftKind(etcd.Backups, etcdBackupGroup.WithKind("EtcdBackup")),
	openShiftKind(etcd.Schedules, etcdScheduleGroup.WithKind("Backup")),
	newKind[batchv1.Job](
		etcd.Jobs,
		batchv1.SchemeGroupVersion,
		kind{namespace: etcd.Namespace, selector: etcd.JobSelector, strip: stripEtcd},
	),
	newKind[batchv1.CronJob](
		etcd.CronJobs,
		batchv1.SchemeGroupVersion,
		kind{namespace: etcd.Namespace, selector: etcd.CronJobSelector, strip: stripEtcd},
	),
	newKind[corev1.PersistentVolumeClaim](
		etcd.Claims,
		corev1.SchemeGroupVersion,
		kind{namespace: etcd.Namespace, strip: stripEtcd},
	),
	newKind[corev1.Pod](
		etcd.Pods,
		corev1.SchemeGroupVersion,
		kind{namespace: etcd.Namespace, selector: etcd.PodSelector, strip: stripEtcd},
	),
}

func openShiftKind(resource string, gvk schema.GroupVersionKind) *kind {
	k := newKind[unstructured.Unstructured](resource, gvk.GroupVersion(), kind{clusterScoped: true, strip: stripEtcd})
	k.gvk = gvk
	return k
}

func stripEtcd(o client.Object) bool {
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

// servedEtcdKinds returns the kinds to read. One feature gate brings both CRDs, so mostly one question settles it.
func servedEtcdKinds(ctx context.Context, c rest.Interface) ([]*kind, error) {
	for i, k := range etcdKinds[:2] {
		there, err := serves(ctx, c, k)
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

// serves asks whether the API server has a kind. Where discovery is forbidden, it counts as missing.
func serves(ctx context.Context, c rest.Interface, k *kind) (bool, error) {
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

// etcdRetry is the pause between attempts to find the kinds. After the last, only a retry asks again.
var etcdRetry = wait.Backoff{Duration: 2 * time.Second, Factor: 2, Jitter: 0.2, Steps: 5, Cap: 30 * time.Second}

type etcdWatch struct {
	store *Store
	now   func() time.Time
	log   *slog.Logger
	kick  chan struct{}

	mu      sync.Mutex
	sources []*source
	logs    map[string]etcd.Log // the ends of the logs that were read, by existing pod
	known   *etcd.Cluster       // made of the store's version, nil if a log was read since
	version int
}

// newEtcdWatch returns one that signals another store's readers.
func newEtcdWatch(beside *Store, now func() time.Time, log *slog.Logger) *etcdWatch {
	store := newStore(etcdKinds, now, 0)
	store.dirty = beside.dirty
	return &etcdWatch{store: store, now: now, log: log, kick: make(chan struct{}, 1), logs: map[string]etcd.Log{}}
}

// run follows the kinds until ctx ends. Where they are missing, it looks again when asked to, and after an outage.
func (w *etcdWatch) run(ctx context.Context, c rest.Interface) {
	for backoff := etcdRetry; ctx.Err() == nil; {
		found, err := servedEtcdKinds(ctx, c)
		select {
		case <-w.kick: // asked while the question was under way
		default:
		}
		if err == nil {
			w.follow(ctx, c, found)
		}
		var again <-chan time.Time
		if err != nil && backoff.Steps > 0 {
			w.log.Debug("cannot find out whether the cluster has etcd backups", "err", err)
			again = time.After(backoff.Step())
		}
		select {
		case <-again:
		case <-w.kick:
		case <-ctx.Done():
		}
	}
}

func (w *etcdWatch) follow(ctx context.Context, c rest.Interface, found []*kind) {
	sources := make([]*source, len(found))
	for i, k := range found {
		sources[i] = newSource(k, w.store, w.now, w.log)
	}
	w.mu.Lock()
	changed := len(w.sources)+len(sources) > 0
	w.sources = sources
	w.mu.Unlock()
	if changed {
		w.store.signal()
	}
	var all sync.WaitGroup
	for _, s := range sources {
		all.Go(func() { s.run(ctx, c, etcd.Namespace) })
	}
	all.Wait()
}

func (w *etcdWatch) retry() {
	notify(w.kick)
	w.mu.Lock()
	defer w.mu.Unlock()
	retryUnless(w.sources, SourceLive)
}

// snapshot returns nil until each kind has been heard of, and where OpenShift's are missing.
func (w *etcdWatch) snapshot(beat livenessState) *etcd.Cluster {
	w.mu.Lock()
	sources := w.sources
	w.mu.Unlock()
	var unseen []etcd.Unseen
	var stale time.Time
	there := false
	for _, s := range sources {
		now := s.status()
		switch now.State {
		case SourceSyncing:
			return nil
		case SourceForbidden, SourceMissing:
			unseen = append(
				unseen,
				etcd.Unseen{Resource: now.Resource, Missing: now.State == SourceMissing, Why: now.Err},
			)
		case SourceStale:
			if stale.IsZero() || now.Since.Before(stale) {
				stale = now.Since
			}
		}
		if now.State != SourceMissing && (now.Resource == etcd.Backups || now.Resource == etcd.Schedules) {
			there = true
		}
	}
	if !there {
		return nil
	}
	if beat.lost {
		stale = beat.answeredAt.Add(beat.offset)
	}
	known := *w.cluster()
	known.Unseen, known.StaleSince = unseen, stale
	return &known
}

func (w *etcdWatch) cluster() *etcd.Cluster {
	w.mu.Lock()
	defer w.mu.Unlock()
	objects, version := w.store.etcdObjects()
	if w.known != nil && w.version == version {
		return w.known
	}
	maps.DeleteFunc(w.logs, func(pod string, _ etcd.Log) bool {
		return !slices.ContainsFunc(objects.Pods, func(p *corev1.Pod) bool { return p.Name == pod })
	})
	w.known, w.version = etcd.Read(objects, nil).WithLogs(maps.Clone(w.logs)), version
	return w.known
}

// etcdObjects returns the objects of etcd backups, and the store's version.
func (s *Store) etcdObjects() (etcd.Objects, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return etcd.Objects{
		Backups: keptOf[*unstructured.Unstructured](
			s,
			etcd.Backups,
		).byName(),
		Schedules: keptOf[*unstructured.Unstructured](s, etcd.Schedules).byName(),
		Jobs: keptOf[*batchv1.Job](
			s,
			etcd.Jobs,
		).byName(),
		CronJobs: keptOf[*batchv1.CronJob](s, etcd.CronJobs).byName(),
		Claims: keptOf[*corev1.PersistentVolumeClaim](
			s,
			etcd.Claims,
		).byName(),
		Pods: keptOf[*corev1.Pod](s, etcd.Pods).byName(),
	}, s.version
}

const etcdLogPatience = 10 * time.Second

// ReadEtcdLog reads the end of a pod's log of an etcd backup. The next snapshot has it, or the error.
func (w *Watcher) ReadEtcdLog(ctx context.Context, pod string) {
	w.mu.Lock()
	c := w.present
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, etcdLogPatience)
	defer cancel()
	log := (&EtcdReader{c.rest}).Log(ctx, pod)
	w.etcd.mu.Lock()
	w.etcd.logs[pod], w.etcd.known = log, nil
	w.etcd.mu.Unlock()
	w.store.signal()
}

// ErrNoEtcdBackups says that the cluster has none of the kinds.
var ErrNoEtcdBackups = errors.New("this cluster has no etcd backups of OpenShift: it does not serve " + etcd.Backups)

// EtcdReader reads OpenShift's etcd backups once, and the logs of their pods.
type EtcdReader struct{ rest rest.Interface }

// NewEtcdReader does not use the connection.
func NewEtcdReader(cfg *rest.Config) (*EtcdReader, error) {
	over, err := session.HTTPClient(cfg, session.TransportOptions{})
	if err != nil {
		return nil, err
	}
	c, err := client.New(cfg, over, nil)
	if err != nil {
		return nil, err
	}
	return &EtcdReader{c.REST}, nil
}

// Read reads everything once and names forbidden kinds. It fails with [ErrNoEtcdBackups] where there is nothing.
func (r *EtcdReader) Read(ctx context.Context) (*etcd.Cluster, error) {
	found, err := servedEtcdKinds(ctx, r.rest)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, ErrNoEtcdBackups
	}
	store := newStore(etcdKinds, time.Now, 0)
	var unseen []etcd.Unseen
	for _, k := range found {
		list := store.list(k)
		_, err := newReader(k, r.rest, etcd.Namespace).all(ctx, list)
		switch {
		case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
			unseen = append(
				unseen,
				etcd.Unseen{Resource: k.resource, Missing: apierrors.IsNotFound(err), Why: words(err)},
			)
		case err != nil:
			return nil, fmt.Errorf("listing %s: %w", k.resource, err)
		}
		list.done()
	}
	objects, _ := store.etcdObjects()
	return etcd.Read(objects, unseen), nil
}

// How much of a pod's log is read: the program reports a failure at its very end.
const etcdLogLines, etcdLogBytes = "40", "65536"

func (r *EtcdReader) Log(ctx context.Context, pod string) etcd.Log {
	answer := r.rest.Get().AbsPath("/api/v1/namespaces", etcd.Namespace, "pods", pod, "log").
		Param("container", "cluster-backup").Param("tailLines", etcdLogLines).Param("limitBytes", etcdLogBytes).Do(ctx)
	text, err := answer.Raw()
	if err != nil {
		err = cmp.Or(answer.Error(), err) // Raw leaves out the server's reason
		return etcd.Log{Unread: words(err), Forbidden: apierrors.IsForbidden(err)}
	}
	log := etcd.ReadLog(string(text))
	log.Failure = sanitize.String(log.Failure)
	return log
}
