package action

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/session"
	"github.com/veltui/veltui/internal/testbed"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/retry"
)

// All tests share one control plane, so none may run in parallel; each has a
// namespace of its own.
var shared testbed.SharedControlPlane

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	os.Exit(shared.RunTests(m))
}

// installation is a namespace with a Velero whose pods say what the test wants.
type installation struct {
	*testbed.ControlPlane
	client.Client
	t         *testing.T
	namespace string
	requests  *requests
}

func install(t *testing.T) *installation {
	t.Helper()
	plane := shared.ControlPlane(t)
	k8s, err := client.New(plane.RESTConfig(), client.Options{Scheme: testbed.Scheme(), Log: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	in := &installation{plane, k8s, t, shared.Name("velero"), &requests{}}
	if err := in.EnsureNamespace(t.Context(), in.namespace); err != nil {
		t.Fatal(err)
	}
	in.create(&veleroapi.BackupStorageLocation{
		ObjectMeta: metav1.ObjectMeta{Namespace: in.namespace, Name: "default"},
		Spec: veleroapi.BackupStorageLocationSpec{
			Provider:    "aws",
			AccessMode:  veleroapi.BackupStorageLocationAccessModeReadWrite,
			StorageType: veleroapi.StorageType{ObjectStorage: &veleroapi.ObjectStorageLocation{Bucket: "b"}},
		},
		Status: veleroapi.BackupStorageLocationStatus{Phase: veleroapi.BackupStorageLocationPhaseAvailable},
	},
		&veleroapi.Backup{
			ObjectMeta: metav1.ObjectMeta{Namespace: in.namespace, Name: "source"},
			Spec: veleroapi.BackupSpec{
				StorageLocation: "default",
			},
			Status: veleroapi.BackupStatus{Phase: veleroapi.BackupPhaseCompleted},
		})
	return in
}

func (in *installation) create(objects ...client.Object) {
	in.t.Helper()
	for _, o := range objects {
		if err := in.Create(in.t.Context(), o); err != nil {
			in.t.Fatalf("creating %T %s: %v", o, o.GetName(), err)
		}
	}
}

// server makes a server pod whose container started at the given time.
func (in *installation) server(started time.Time) {
	in.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: in.namespace,
			Name:      "velero-0",
			Labels:    map[string]string{"component": "velero", "deploy": "velero"},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "velero", Image: "velero/velero:v1.18.3"}}},
	}
	in.create(pod)
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{
		{
			Name:  "velero",
			Ready: true,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(started)}},
		},
	}}
	if err := in.Status().Update(in.t.Context(), pod); err != nil {
		in.t.Fatal(err)
	}
}

// recorded creates a resource of a recording of a real Velero. Its start is
// moved to the present, as the API server's own times are of the present.
func (in *installation) recorded(file string) *unstructured.Unstructured {
	in.t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "job", "testdata", "stuck", file+".yaml"))
	if err != nil {
		in.t.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(data, &o.Object); err != nil {
		in.t.Fatal(err)
	}
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"} {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
	o.SetNamespace(in.namespace)
	if o.GetKind() == string(job.Restore) {
		if err := unstructured.SetNestedField(o.Object, "source", "spec", "backupName"); err != nil {
			in.t.Fatal(err)
		}
	}
	if err := unstructured.SetNestedField(
		o.Object,
		time.Now().UTC().Format(time.RFC3339),
		"status",
		"startTimestamp",
	); err != nil {
		in.t.Fatal(err)
	}
	if err := in.Create(in.t.Context(), o, client.FieldOwner("velero-server")); err != nil {
		in.t.Fatal(err)
	}
	return o
}

// restore makes a restore in progress.
func (in *installation) restore(name string) *veleroapi.Restore {
	in.t.Helper()
	start := metav1.NewTime(time.Now().Truncate(time.Second))
	r := &veleroapi.Restore{
		ObjectMeta: metav1.ObjectMeta{Namespace: in.namespace, Name: name},
		Spec:       veleroapi.RestoreSpec{BackupName: "source"},
		Status: veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseInProgress, StartTimestamp: &start,
			Progress: &veleroapi.RestoreProgress{ItemsRestored: 7, TotalItems: 9}},
	}
	if err := in.Create(in.t.Context(), r, client.FieldOwner("velero-server")); err != nil {
		in.t.Fatal(err)
	}
	return r
}

// veleroWrites patches as Velero does: a merge patch without resourceVersion.
func (in *installation) veleroWrites(kind job.Kind, name, phase string) {
	in.t.Helper()
	patch := fmt.Sprintf(`{"status":{"phase":%q}}`, phase)
	err := in.Patch(
		in.t.Context(),
		newObject(jobGVK(kind), in.namespace, name),
		client.RawPatch("application/merge-patch+json", []byte(patch)),
		client.FieldOwner("velero-server"),
	)
	if err != nil {
		in.t.Errorf("Velero's own write: %v", err)
	}
}

func (in *installation) read(kind job.Kind, name string) *unstructured.Unstructured {
	in.t.Helper()
	o := newObject(jobGVK(kind), in.namespace, name)
	if err := in.Get(in.t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		in.t.Fatal(err)
	}
	return o
}

// user has the given rights in the namespace.
func (in *installation) user(name string, rules ...rbacv1.PolicyRule) *rest.Config {
	in.t.Helper()
	cfg, err := in.AddUserWithRules(in.t.Context(), name, in.namespace, rules...)
	if err != nil {
		in.t.Fatal(err)
	}
	return cfg
}

var (
	viewer = []rbacv1.PolicyRule{
		{APIGroups: []string{"velero.io"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list", "watch"}},
	}
	operator = append([]rbacv1.PolicyRule{
		{APIGroups: []string{"velero.io"}, Resources: []string{"backups", "restores"}, Verbs: []string{"patch"}},
		{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"create"}},
	}, viewer...)
)

// later is a clock that runs ahead, so that a job that was made a moment ago has
// been quiet for long.
func later() time.Time { return time.Now().Add(time.Hour) }

// store is an object store that holds what the test says.
type store struct {
	presence job.Presence
	counts   job.StoredCounts
	probes   int
}

func (s *store) ProbeFile(context.Context, job.Kind, string, string) (job.Presence, error) {
	s.probes++
	return s.presence, nil
}

func (s *store) FetchCounts(context.Context, job.Kind, string) (job.StoredCounts, error) {
	return s.counts, nil
}

func (s *store) FetchErrorCount(context.Context, job.Kind, string) (int, error) {
	return s.counts.Errors, nil
}

// holding is a store with everything, written after the job began.
func holding(c job.StoredCounts) *store {
	c.Items, c.ItemsKnown = 9, true
	return &store{presence: job.Presence{State: job.Present, LastModified: time.Now().Add(time.Minute)}, counts: c}
}

// finalizer is one with quick retries and a short look afterwards.
func (in *installation) finalizer(change ...func(*Options)) *Engine {
	in.t.Helper()
	o := Options{
		Session: in.session(
			in.RESTConfig(),
		),
		Namespace:    in.namespace,
		Username:     "nobody",
		Context:      "prod-east",
		AuditDir:     filepath.Join(in.t.TempDir(), "audit"),
		TotalTimeout: 5 * time.Minute,
		Backoff:      retry.Backoff{First: 50 * time.Millisecond, Cap: time.Second},
		ObserveFor:   time.Second,
		PollInterval: 50 * time.Millisecond,
		Now:          later,
		Prober:       &store{presence: job.Presence{State: job.Absent}},
	}
	for _, c := range change {
		c(&o)
	}
	f, err := New(o)
	if err != nil {
		in.t.Fatal(err)
	}
	return f
}

// session is one whose requests the test sees. The kubeconfig that is read later is
// the last of several.
func (in *installation) session(configs ...*rest.Config) *session.Session {
	in.t.Helper()
	var reading sync.Mutex
	s, err := session.New(session.Options{Context: "prod-east", LoadConfig: func() (*rest.Config, error) {
		reading.Lock()
		defer reading.Unlock()
		config := rest.CopyConfig(configs[0])
		configs = configs[min(1, len(configs)-1):]
		config.Wrap(in.requests.wrap)
		return config, nil
	}})
	if err != nil {
		in.t.Fatal(err)
	}
	return s
}

func (in *installation) plan(f *Engine, kind job.Kind, name string, r Request) Plan {
	in.t.Helper()
	e, err := f.GatherEvidence(in.t.Context(), kind, name)
	if err != nil {
		in.t.Fatal(err)
	}
	return draft(e, r)
}

// requests sees each request on its way, and may change what becomes of it.
type requests struct {
	mu     sync.Mutex
	writes []string // method and path of what changes the cluster
	landed int      // patches that were answered with OK
	// meddle may answer in place of the server; nil, nil passes it on.
	meddle func(next http.RoundTripper, r *http.Request) (*http.Response, error)
}

func (q *requests) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		q.mu.Lock()
		meddle := q.meddle
		if isWrite(r) {
			q.writes = append(q.writes, r.Method+" "+r.URL.Path)
		}
		q.mu.Unlock()
		if meddle != nil {
			if response, err := meddle(next, r); response != nil || err != nil {
				return response, err
			}
		}
		response, err := next.RoundTrip(r)
		if err == nil && isPatch(r) && response.StatusCode == http.StatusOK {
			q.mu.Lock()
			q.landed++
			q.mu.Unlock()
		}
		return response, err
	})
}

func (q *requests) set(meddle func(http.RoundTripper, *http.Request) (*http.Response, error)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.meddle = meddle
}

func (q *requests) patches() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := 0
	for _, w := range q.writes {
		if strings.HasPrefix(w, http.MethodPatch) {
			n++
		}
	}
	return n
}

// isWrite tells requests that change something from reads, reviews and dry runs.
func isWrite(r *http.Request) bool {
	return r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "selfsubject") &&
		r.URL.Query().Get("dryRun") == ""
}

func isPatch(r *http.Request) bool { return r.Method == http.MethodPatch && isWrite(r) }

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// entries reads the audit log.
func entries(t *testing.T, path string) []AuditEntry {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var found []AuditEntry
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		var e AuditEntry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		found = append(found, e)
	}
	return found
}
