package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/veltui/veltui/e2e/lab"
)

// kind is what is recorded of one kind of object.
type kind struct {
	schema.GroupVersionResource
	// namespace is empty for kinds that are recorded everywhere.
	namespace string
	// wanted leaves objects out; nil takes all.
	wanted func(*unstructured.Unstructured) bool
}

func resource(group, version, plural, namespace string) kind {
	return kind{
		GroupVersionResource: schema.GroupVersionResource{Group: group, Version: version, Resource: plural},
		namespace:            namespace,
	}
}

// kinds are all that veltui looks at for a verdict.
func kinds() []kind {
	all := []kind{
		resource("", "v1", "pods", ""), resource("", "v1", "namespaces", ""), resource("", "v1", "nodes", ""),
		resource("", "v1", "configmaps", lab.Namespace), resource("", "v1", "events", lab.Namespace),
		resource("apps", "v1", "daemonsets", lab.Namespace), resource("apps", "v1", "deployments", lab.Namespace),
		resource("snapshot.storage.k8s.io", "v1", "volumesnapshots", ""),
	}
	for _, plural := range []string{"backups", "restores", "schedules", "backupstoragelocations", "backuprepositories",
		"deletebackuprequests", "podvolumebackups", "podvolumerestores"} {
		all = append(all, resource("velero.io", "v1", plural, lab.Namespace))
	}
	for _, plural := range []string{"datauploads", "datadownloads"} {
		all = append(all, resource("velero.io", "v2alpha1", plural, lab.Namespace))
	}
	crds := resource("apiextensions.k8s.io", "v1", "customresourcedefinitions", "")
	crds.wanted = func(o *unstructured.Unstructured) bool {
		return !strings.HasSuffix(o.GetName(), ".velero.io") || o.GetName() == "backups.velero.io" ||
			o.GetName() == "restores.velero.io"
	}
	return append(all, crds)
}

// recordedResources are the resources of all kinds that are recorded, as RESOURCE.GROUP.
func recordedResources() (resources []string) {
	for _, k := range kinds() {
		resources = append(resources, k.GroupResource().String())
	}
	return resources
}

// recorder writes down what a client sees of the cluster, and the server's log.
type recorder struct {
	out    *Writer
	lab    *lab.Lab
	cancel context.CancelFunc
	group  sync.WaitGroup
	// connected counts the kinds whose watch is open.
	connected atomic.Int64
	total     int64
	// server is the name of the server's newest pod.
	server atomic.Value
}

// record begins to record and returns once every kind was listed.
func record(ctx context.Context, l *lab.Lab, out *Writer) (*recorder, error) {
	config := l.Config()
	api, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	r := &recorder{out: out, lab: l, cancel: cancel}
	r.server.Store("")
	for _, k := range kinds() {
		s := &stream{
			recorder: r,
			kind:     k,
			seen:     map[types.UID]*unstructured.Unstructured{},
			api:      api.Resource(k.GroupVersionResource),
		}
		if k.namespace != "" {
			s.api = api.Resource(k.GroupVersionResource).Namespace(k.namespace)
		}
		version, err := s.list(ctx)
		if err != nil {
			cancel()
			return nil, fmt.Errorf("recording %s: %w", k.Resource, err)
		}
		r.total++
		r.group.Go(func() { s.follow(ctx, version) })
	}
	r.group.Go(func() { r.beat(ctx, api) })
	r.group.Go(func() { r.tail(ctx, l.VeleroLog, func() string { return r.server.Load().(string) }) })
	r.group.Go(func() { r.tail(ctx, l.SecondServerLog, func() string { return lab.SecondServerPod }) })
	return r, nil
}

func (r *recorder) stop() {
	r.cancel()
	r.group.Wait()
}

// beatEvery is how often the API server is asked whether it answers.
const beatEvery = time.Second

// beat asks for something small that the API server has to read from etcd.
func (r *recorder) beat(ctx context.Context, api dynamic.Interface) {
	namespaces := api.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	for ctx.Err() == nil {
		attempt, cancel := context.WithTimeout(ctx, 5*beatEvery)
		_, err := namespaces.Get(attempt, lab.Namespace, metav1.GetOptions{})
		cancel()
		if err == nil && r.connected.Load() == r.total {
			r.out.Add(Entry{Kind: BeatEntry})
		}
		sleep(ctx, beatEvery)
	}
}

// tail records a log of servers as that of a pod. All first
// servers of a lab write to one file.
func (r *recorder) tail(ctx context.Context, log func(offset int) (string, int, error), pod func() string) {
	for read := 0; ctx.Err() == nil; sleep(ctx, 200*time.Millisecond) {
		text, next, err := log(read)
		if err != nil {
			continue // there is none yet
		}
		whole := text[:strings.LastIndexByte(text, '\n')+1]
		read = next - (len(text) - len(whole))
		for line := range strings.Lines(whole) {
			r.out.Add(Entry{Kind: LogEntry, Pod: lab.Namespace + "/" + pod(), Text: strings.TrimRight(line, "\n")})
		}
	}
}

// stream follows one kind.
type stream struct {
	*recorder
	kind
	api  dynamic.ResourceInterface
	seen map[types.UID]*unstructured.Unstructured
}

// follow watches from a version on. After an outage it lists the kind again, as
// any client must, and records what has changed.
func (s *stream) follow(ctx context.Context, version string) {
	for ctx.Err() == nil {
		w, err := s.api.Watch(ctx, metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true})
		if err == nil {
			s.connected.Add(1)
			version, err = s.drain(ctx, w, version)
			s.connected.Add(-1)
		}
		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			if listed, err := s.list(ctx); err == nil {
				version = listed
				continue
			}
		}
		sleep(ctx, 200*time.Millisecond)
	}
}

func (s *stream) list(ctx context.Context) (string, error) {
	list, err := s.api.List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	gone := s.seen
	s.seen = map[types.UID]*unstructured.Unstructured{}
	for i := range list.Items {
		o := &list.Items[i]
		if old := gone[o.GetUID()]; old != nil && old.GetResourceVersion() == o.GetResourceVersion() {
			s.seen[o.GetUID()] = old
		} else {
			s.add(watch.Added, o)
		}
		delete(gone, o.GetUID())
	}
	for _, o := range gone {
		s.add(watch.Deleted, o)
	}
	return list.GetResourceVersion(), nil
}

func (s *stream) drain(ctx context.Context, w watch.Interface, version string) (string, error) {
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return version, ctx.Err()
		case event, ok := <-w.ResultChan():
			if !ok {
				return version, nil
			}
			o, isObject := event.Object.(*unstructured.Unstructured)
			if event.Type == watch.Error || !isObject {
				return version, apierrors.FromObject(event.Object)
			}
			version = o.GetResourceVersion()
			if event.Type != watch.Bookmark {
				s.add(event.Type, o)
			}
		}
	}
}

func (s *stream) add(t watch.EventType, o *unstructured.Unstructured) {
	if s.wanted != nil && !s.wanted(o) {
		return
	}
	if t == watch.Deleted {
		delete(s.seen, o.GetUID())
	} else {
		s.seen[o.GetUID()] = o
	}
	isServer := o.GetKind() == "Pod" && o.GetLabels()["deploy"] == "velero" && o.GetName() != lab.SecondServerPod
	if isServer && t == watch.Added {
		s.server.Store(o.GetName())
	}
	s.out.Add(Entry{Kind: ObjectEntry, Type: t, Object: o})
}

// sleep waits; it returns early when ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
