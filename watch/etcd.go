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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/etcd"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/session"
)

// The API of OpenShift's etcd backups. Only v1alpha1 was ever published.
var (
	etcdBackupGroup   = schema.GroupVersion{Group: "operator.openshift.io", Version: "v1alpha1"}
	etcdScheduleGroup = schema.GroupVersion{Group: "config.openshift.io", Version: "v1alpha1"}
)

var (
	etcdBackups   = kind{resource: etcd.Backups, gvk: etcdBackupGroup.WithKind("EtcdBackup"), newObject: newUnstructured, clusterScoped: true}
	etcdSchedules = kind{resource: etcd.Schedules, gvk: etcdScheduleGroup.WithKind("Backup"), newObject: newUnstructured, clusterScoped: true}
	// etcdHelpers are what the operator makes for them.
	etcdHelpers = []kind{
		{resource: etcd.Jobs, gvk: batchv1.SchemeGroupVersion.WithKind("Job"), namespace: etcd.Namespace, selector: etcd.JobSelector,
			newObject: func() client.Object { return &batchv1.Job{} }},
		{resource: etcd.CronJobs, gvk: batchv1.SchemeGroupVersion.WithKind("CronJob"), namespace: etcd.Namespace, selector: etcd.CronJobSelector,
			newObject: func() client.Object { return &batchv1.CronJob{} }},
		{resource: etcd.Claims, gvk: corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"), namespace: etcd.Namespace,
			newObject: func() client.Object { return &corev1.PersistentVolumeClaim{} }},
		{resource: etcd.Pods, gvk: corev1.SchemeGroupVersion.WithKind("Pod"), namespace: etcd.Namespace, selector: etcd.PodSelector,
			newObject: func() client.Object { return &corev1.Pod{} }},
	}
)

func newUnstructured() client.Object { return &unstructured.Unstructured{} }

// etcdKinds are the kinds to read, none where the cluster has no EtcdBackups. One
// feature gate brings both CRDs, so that one question settles it on all other
// clusters.
func etcdKinds(ctx context.Context, c rest.Interface) ([]*kind, error) {
	there, err := serves(ctx, c, etcdBackups)
	if !there || err != nil {
		return nil, err
	}
	found := []*kind{&etcdBackups}
	if there, err = serves(ctx, c, etcdSchedules); err != nil {
		return nil, err
	}
	if there {
		found = append(found, &etcdSchedules)
	}
	for i := range etcdHelpers {
		found = append(found, &etcdHelpers[i])
	}
	return found, nil
}

// serves asks the API server whether it has a kind. Where discovery is not
// allowed, the kind is taken for missing.
func serves(ctx context.Context, c rest.Interface, k kind) (bool, error) {
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

// etcdRetry is the pause between attempts to find out whether the kinds are there.
// After the last, only a retry asks again.
var etcdRetry = wait.Backoff{Duration: 2 * time.Second, Factor: 2, Jitter: 0.2, Steps: 5, Cap: 30 * time.Second}

// etcdWatch follows OpenShift's etcd backups, where there are any.
type etcdWatch struct {
	store *etcdStore
	now   func() time.Time
	log   *slog.Logger
	kick  chan struct{}

	mu      sync.Mutex
	sources []*source
}

func newEtcdWatch(changed func(), now func() time.Time, log *slog.Logger) *etcdWatch {
	return &etcdWatch{store: newEtcdStore(changed), now: now, log: log, kick: make(chan struct{}, 1)}
}

// run looks once whether the kinds are there and follows them until ctx ends.
// Where they are not, it looks again when asked to, and after an outage.
func (w *etcdWatch) run(ctx context.Context, c rest.Interface) {
	for backoff := etcdRetry; ctx.Err() == nil; {
		found, err := etcdKinds(ctx, c)
		select {
		case <-w.kick: // asked while the question was under way, as the first heartbeat does
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

// follow watches the kinds until ctx ends; it returns at once if there are none.
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

// retry looks again for what is not there.
func (w *etcdWatch) retry() {
	select {
	case w.kick <- struct{}{}:
	default:
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.sources {
		if s.status().State != SourceLive {
			s.retry()
		}
	}
}

// snapshot is what is known, nil until each kind has been heard of and where
// neither of OpenShift's is there.
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
			unseen = append(unseen, etcd.Unseen{Resource: now.Resource, Missing: now.State == SourceMissing, Why: now.Err})
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
	known := *w.store.cluster()
	known.Unseen, known.StaleSince = unseen, stale
	return &known
}

// etcdLogPatience is how long the end of a log may take.
const etcdLogPatience = 10 * time.Second

// ReadEtcdLog reads the end of the log of a pod that made an etcd backup. What it
// finds, or why it cannot, is in the next snapshot.
func (w *Watcher) ReadEtcdLog(ctx context.Context, pod string) {
	w.mu.Lock()
	c := w.present
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, etcdLogPatience)
	defer cancel()
	w.etcd.store.setLog(pod, (&EtcdReader{c.rest}).Log(ctx, pod))
}

// etcdStore holds the objects of etcd backups. There are few of them.
type etcdStore struct {
	changed func()

	mu      sync.Mutex
	objects map[string]map[types.UID]client.Object
	// logs are the ends of the logs that were read, by pod; those of pods that are
	// gone are dropped.
	logs map[string]etcd.Log
	// known is what was made of them, nil if they have changed since.
	known *etcd.Cluster
}

func newEtcdStore(changed func()) *etcdStore {
	return &etcdStore{changed: changed, objects: map[string]map[types.UID]client.Object{}}
}

func (s *etcdStore) signal() { s.changed() }

func (s *etcdStore) count(resource string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.objects[resource])
}

// Upsert takes in an object that is new or has changed.
func (s *etcdStore) Upsert(o client.Object) {
	s.change(func() {
		o, _ := unwrap(o)
		if resource := etcdResource(o); resource != "" {
			s.put(resource, o)
		}
	})
}

// Delete takes an object out.
func (s *etcdStore) Delete(o any) {
	if unknown, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = unknown.Obj
	}
	object, ok := o.(client.Object)
	if !ok {
		return
	}
	s.change(func() {
		object, _ := unwrap(object)
		delete(s.objects[etcdResource(object)], uidOf(object))
	})
}

func (s *etcdStore) list(k *kind) listing { return &wholeList{store: s, resource: k.resource} }

// wholeList is a list of one kind: there are few objects of it.
type wholeList struct {
	store    *etcdStore
	resource string
	objects  []client.Object
}

func (l *wholeList) add(o *received) { l.objects = append(l.objects, o) }
func (l *wholeList) remove(o *received) {
	l.objects = slices.DeleteFunc(l.objects, func(other client.Object) bool { return other.GetUID() == o.GetUID() })
}
func (l *wholeList) again(int) { l.objects = nil }
func (l *wholeList) done()     { l.store.Replace(l.resource, l.objects) }

// Replace makes objects all that there is of a kind.
func (s *etcdStore) Replace(resource string, objects []client.Object) {
	s.change(func() {
		delete(s.objects, resource)
		for _, o := range objects {
			o, _ := unwrap(o)
			s.put(resource, o)
		}
	})
}

func (s *etcdStore) change(f func()) {
	s.mu.Lock()
	f()
	s.known = nil
	s.mu.Unlock()
	s.changed()
}

// put keeps an object. The caller holds the lock.
func (s *etcdStore) put(resource string, o client.Object) {
	prepareEtcd(o)
	if s.objects[resource] == nil {
		s.objects[resource] = map[types.UID]client.Object{}
	}
	s.objects[resource][uidOf(o)] = o
}

func (s *etcdStore) cluster() *etcd.Cluster {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = etcd.Read(etcd.Objects{
			Backups: all[*unstructured.Unstructured](s, etcd.Backups), Schedules: all[*unstructured.Unstructured](s, etcd.Schedules),
			Jobs: all[*batchv1.Job](s, etcd.Jobs), CronJobs: all[*batchv1.CronJob](s, etcd.CronJobs),
			Claims: all[*corev1.PersistentVolumeClaim](s, etcd.Claims), Pods: all[*corev1.Pod](s, etcd.Pods),
		}, nil).WithLogs(s.knownLogs())
	}
	return s.known
}

// knownLogs are the logs of the pods that there are. The caller holds the lock.
func (s *etcdStore) knownLogs() map[string]etcd.Log {
	kept := map[string]etcd.Log{}
	for _, o := range s.objects[etcd.Pods] {
		if log, known := s.logs[o.GetName()]; known {
			kept[o.GetName()] = log
		}
	}
	s.logs = kept
	return maps.Clone(kept)
}

// setLog notes the end of a pod's log.
func (s *etcdStore) setLog(pod string, log etcd.Log) {
	s.change(func() {
		if s.logs == nil {
			s.logs = map[string]etcd.Log{}
		}
		s.logs[pod] = log
	})
}

// all are the objects of a kind. The caller holds the lock.
func all[T client.Object](s *etcdStore, resource string) []T {
	var found []T
	for _, o := range s.objects[resource] {
		if o, ok := o.(T); ok {
			found = append(found, o)
		}
	}
	return found
}

func etcdResource(o client.Object) string {
	switch o := o.(type) {
	case *batchv1.Job:
		return etcd.Jobs
	case *batchv1.CronJob:
		return etcd.CronJobs
	case *corev1.PersistentVolumeClaim:
		return etcd.Claims
	case *corev1.Pod:
		return etcd.Pods
	case *unstructured.Unstructured:
		switch o.GroupVersionKind().GroupKind() {
		case etcdBackups.gvk.GroupKind():
			return etcd.Backups
		case etcdSchedules.gvk.GroupKind():
			return etcd.Schedules
		}
	}
	return ""
}

// prepareEtcd drops what nobody looks at and makes every string harmless, in place.
func prepareEtcd(o client.Object) {
	o.SetManagedFields(nil)
	if annotations := o.GetAnnotations(); annotations[corev1.LastAppliedConfigAnnotation] != "" {
		delete(annotations, corev1.LastAppliedConfigAnnotation)
		o.SetAnnotations(annotations)
	}
	switch o := o.(type) {
	case *batchv1.Job:
		o.Spec = batchv1.JobSpec{BackoffLimit: o.Spec.BackoffLimit, Template: deadlineOf(o.Spec.Template)}
	case *batchv1.CronJob:
		o.Spec.JobTemplate = batchv1.JobTemplateSpec{}
	case *corev1.Pod:
		o.Spec, o.Annotations = corev1.PodSpec{NodeName: o.Spec.NodeName}, nil
	}
	sanitize.Object(o)
}

func deadlineOf(t corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{ActiveDeadlineSeconds: t.Spec.ActiveDeadlineSeconds}}
}

// ErrNoEtcdBackups says that the cluster has none of the kinds.
var ErrNoEtcdBackups = errors.New("this cluster has no etcd backups of OpenShift: it does not serve " + etcd.Backups)

// EtcdReader reads OpenShift's etcd backups once, and the logs of their pods.
type EtcdReader struct{ rest rest.Interface }

// NewEtcdReader prepares a reader without using the connection.
func NewEtcdReader(cfg *rest.Config) (*EtcdReader, error) {
	over, err := session.HTTPClient(cfg, session.TransportOptions{})
	if err != nil {
		return nil, err
	}
	c, err := newREST(cfg, over)
	if err != nil {
		return nil, fmt.Errorf("preparing the connection to the API server: %w", err)
	}
	return &EtcdReader{c}, nil
}

// Read reads everything once. What may not be read is named in the answer; the
// error is [ErrNoEtcdBackups] where there is nothing to read.
func (r *EtcdReader) Read(ctx context.Context) (*etcd.Cluster, error) {
	found, err := etcdKinds(ctx, r.rest)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, ErrNoEtcdBackups
	}
	store := newEtcdStore(func() {})
	var unseen []etcd.Unseen
	for _, k := range found {
		list := store.list(k)
		_, err := newReader(k, r.rest, etcd.Namespace).all(ctx, list)
		switch {
		case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
			unseen = append(unseen, etcd.Unseen{Resource: k.resource, Missing: apierrors.IsNotFound(err), Why: words(err)})
		case err != nil:
			return nil, fmt.Errorf("listing %s: %w", k.resource, err)
		}
		list.done()
	}
	known := *store.cluster()
	known.Unseen = unseen
	return &known, nil
}

// How much of a pod's log is read: the program says at its very end whether the
// backup failed.
const etcdLogLines, etcdLogBytes = "40", "65536"

// Log reads the end of the log of a pod that made a backup.
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
