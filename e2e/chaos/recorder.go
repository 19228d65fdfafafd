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

// recordedKind is what is recorded of one kind of object.
type recordedKind struct {
	schema.GroupVersionResource
	// namespace is empty for kinds that are recorded everywhere.
	namespace string
	// wanted leaves objects out; nil takes all.
	wanted func(*unstructured.Unstructured) bool
}

func newRecordedKind(group, version, plural, namespace string) recordedKind {
	return recordedKind{
		GroupVersionResource: schema.GroupVersionResource{Group: group, Version: version, Resource: plural},
		namespace:            namespace,
	}
}

// recordedKinds are all that veltui looks at for a verdict.
func recordedKinds() []recordedKind {
	all := []recordedKind{
		newRecordedKind(
			"",
			"v1",
			"pods",
			"",
		),
		newRecordedKind("", "v1", "namespaces", ""),
		newRecordedKind("", "v1", "nodes", ""),
		newRecordedKind("", "v1", "configmaps", lab.Namespace),
		newRecordedKind("", "v1", "events", lab.Namespace),
		newRecordedKind(
			"apps",
			"v1",
			"daemonsets",
			lab.Namespace,
		),
		newRecordedKind("apps", "v1", "deployments", lab.Namespace),
		newRecordedKind("snapshot.storage.k8s.io", "v1", "volumesnapshots", ""),
	}
	for _, plural := range []string{"backups", "restores", "schedules", "backupstoragelocations", "backuprepositories",
		"deletebackuprequests", "podvolumebackups", "podvolumerestores"} {
		all = append(all, newRecordedKind("velero.io", "v1", plural, lab.Namespace))
	}
	for _, plural := range []string{"datauploads", "datadownloads"} {
		all = append(all, newRecordedKind("velero.io", "v2alpha1", plural, lab.Namespace))
	}
	crds := newRecordedKind("apiextensions.k8s.io", "v1", "customresourcedefinitions", "")
	crds.wanted = func(o *unstructured.Unstructured) bool {
		return !strings.HasSuffix(o.GetName(), ".velero.io") || o.GetName() == "backups.velero.io" ||
			o.GetName() == "restores.velero.io"
	}
	return append(all, crds)
}

// recordedResources are the resources of all kinds that are recorded, as RESOURCE.GROUP.
func recordedResources() (resources []string) {
	for _, k := range recordedKinds() {
		resources = append(resources, k.GroupResource().String())
	}
	return resources
}

// recorder writes down what a client sees of the cluster, and the server's log.
type recorder struct {
	out    *RecordingWriter
	lab    *lab.Lab
	cancel context.CancelFunc
	group  sync.WaitGroup
	// connected counts the kinds whose watch is open.
	connected atomic.Int64
	total     int64
	// server is the name of the server's newest pod.
	server atomic.Value
}

// startRecorder begins to record and returns once every kind was listed.
func startRecorder(ctx context.Context, l *lab.Lab, out *RecordingWriter) (*recorder, error) {
	config := l.RESTConfig()
	api, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	r := &recorder{out: out, lab: l, cancel: cancel}
	r.server.Store("")
	for _, k := range recordedKinds() {
		s := &kindStream{
			recorder:     r,
			recordedKind: k,
			seen:         map[types.UID]*unstructured.Unstructured{},
			api:          api.Resource(k.GroupVersionResource),
		}
		if k.namespace != "" {
			s.api = api.Resource(k.GroupVersionResource).Namespace(k.namespace)
		}
		version, err := s.listKind(ctx)
		if err != nil {
			cancel()
			return nil, fmt.Errorf("recording %s: %w", k.Resource, err)
		}
		r.total++
		r.group.Go(func() { s.followKind(ctx, version) })
	}
	r.group.Go(func() { r.recordHeartbeats(ctx, api) })
	r.group.Go(func() { r.recordLog(ctx, l.VeleroLog, func() string { return r.server.Load().(string) }) })
	r.group.Go(func() { r.recordLog(ctx, l.SecondServerLog, func() string { return lab.SecondServerPod }) })
	return r, nil
}

func (r *recorder) stopRecording() {
	r.cancel()
	r.group.Wait()
}

// heartbeatInterval is how often the API server is asked whether it answers.
const heartbeatInterval = time.Second

// recordHeartbeats asks for something small that the API server has to read from etcd.
func (r *recorder) recordHeartbeats(ctx context.Context, api dynamic.Interface) {
	namespaces := api.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	for ctx.Err() == nil {
		attempt, cancel := context.WithTimeout(ctx, 5*heartbeatInterval)
		_, err := namespaces.Get(attempt, lab.Namespace, metav1.GetOptions{})
		cancel()
		if err == nil && r.connected.Load() == r.total {
			r.out.AddEntry(Entry{Kind: HeartbeatEntry})
		}
		sleepContext(ctx, heartbeatInterval)
	}
}

// recordLog records a log of servers as that of a pod. All first
// servers of a lab write to one file.
func (r *recorder) recordLog(ctx context.Context, log func(offset int) (string, int, error), pod func() string) {
	for read := 0; ctx.Err() == nil; sleepContext(ctx, 200*time.Millisecond) {
		text, next, err := log(read)
		if err != nil {
			continue // there is none yet
		}
		whole := text[:strings.LastIndexByte(text, '\n')+1]
		read = next - (len(text) - len(whole))
		for line := range strings.Lines(whole) {
			r.out.AddEntry(Entry{Kind: LogEntry, Pod: lab.Namespace + "/" + pod(), Text: strings.TrimRight(line, "\n")})
		}
	}
}

// kindStream follows one kind.
type kindStream struct {
	*recorder
	recordedKind
	api  dynamic.ResourceInterface
	seen map[types.UID]*unstructured.Unstructured
}

// followKind watches from a version on. After an outage it lists the kind again, as
// any client must, and records what has changed.
func (s *kindStream) followKind(ctx context.Context, version string) {
	for ctx.Err() == nil {
		w, err := s.api.Watch(ctx, metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true})
		if err == nil {
			s.connected.Add(1)
			version, err = s.drainWatch(ctx, w, version)
			s.connected.Add(-1)
		}
		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			if listed, err := s.listKind(ctx); err == nil {
				version = listed
				continue
			}
		}
		sleepContext(ctx, 200*time.Millisecond)
	}
}

func (s *kindStream) listKind(ctx context.Context) (string, error) {
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
			s.recordObject(watch.Added, o)
		}
		delete(gone, o.GetUID())
	}
	for _, o := range gone {
		s.recordObject(watch.Deleted, o)
	}
	return list.GetResourceVersion(), nil
}

func (s *kindStream) drainWatch(ctx context.Context, w watch.Interface, version string) (string, error) {
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
				s.recordObject(event.Type, o)
			}
		}
	}
}

func (s *kindStream) recordObject(t watch.EventType, o *unstructured.Unstructured) {
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
	s.out.AddEntry(Entry{Kind: ObjectEntry, Type: t, Object: o})
}

// sleepContext waits; it returns early when ctx ends.
func sleepContext(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
