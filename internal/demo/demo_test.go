package demo

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/veltui/veltui/internal/demo/scene"
	"github.com/veltui/veltui/internal/demo/store"
)

// patience is how long a test waits for what must come.
const patience = time.Minute

// running is a demo and a client for it.
type running struct {
	*Demo
	config *rest.Config
	client dynamic.Interface
}

func start(t *testing.T, o Options) *running {
	t.Helper()
	d, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("closing the demo: %v", err)
		}
		if _, err := os.Stat(d.Dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("its folder stays: %v", err)
		}
	})
	config, err := clientcmd.BuildConfigFromFlags("", d.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return &running{d, config, client}
}

func ownScene(t *testing.T, name string) *strings.Reader {
	t.Helper()
	text, err := sceneFiles.ReadFile("scenes/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.NewReader(string(text))
}

func (r *running) velero(resource string) dynamic.ResourceInterface {
	version := "v1"
	if strings.HasPrefix(resource, "data") {
		version = "v2alpha1"
	}
	return r.client.Resource(schema.GroupVersionResource{Group: "velero.io", Version: version, Resource: resource}).
		Namespace("velero")
}

func (r *running) phase(t *testing.T, resource, name string) string {
	t.Helper()
	o, err := r.velero(resource).Get(t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "gone"
	}
	if err != nil {
		t.Fatal(err)
	}
	phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
	return phase
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %s in vain until %s", patience, what)
		}
	}
}

// TestScenesAreServedAsTheyAreWritten asks the API for every object of every
// scene.
func TestScenesAreServedAsTheyAreWritten(t *testing.T) {
	files, err := sceneFiles.ReadDir("scenes")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d scenes, %v", len(files), err)
	}
	now := time.Now()
	for _, f := range files {
		t.Run(f.Name(), func(t *testing.T) {
			want, err := scene.Load(ownScene(t, f.Name()), now)
			if err != nil {
				t.Fatal(err)
			}
			r := start(t, Options{Scene: ownScene(t, f.Name()), Clock: func() time.Time { return now }})
			for _, o := range want.Objects {
				resource := schema.GroupVersionResource{
					Group:    o.GroupVersionKind().Group,
					Version:  o.GroupVersionKind().Version,
					Resource: strings.ToLower(o.GetKind()) + "s",
				}
				resource.Resource = strings.Replace(resource.Resource, "ys", "ies", 1)
				got, err := r.client.Resource(resource).
					Namespace(o.GetNamespace()).
					Get(t.Context(), o.GetName(), metav1.GetOptions{})
				if err != nil {
					t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
					continue
				}
				unstructured.RemoveNestedField(got.Object, "spec", "config", "publicUrl")
				if o.GetResourceVersion() == "" {
					got.SetResourceVersion("")
				}
				if o.GetGeneration() == 0 {
					got.SetGeneration(0)
				}
				if !reflect.DeepEqual(got.Object, o.Object) {
					t.Errorf("%s %s is\n%v\nwant\n%v", o.GetKind(), o.GetName(), got.Object, o.Object)
				}
			}
		})
	}
}

func TestBadInputStartsNothing(t *testing.T) {
	before, err := os.ReadDir(os.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{Scene: strings.NewReader("objects: 1")}, {Recordings: os.DirFS(t.TempDir())}} {
		if d, err := Start(o); err == nil {
			t.Errorf("it started: %v", d.Close())
		}
	}
	after, err := os.ReadDir(os.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if left := len(demoDirs(after)) - len(demoDirs(before)); left > 0 {
		t.Errorf("%d folders were left behind", left)
	}
}

func demoDirs(entries []os.DirEntry) (names []string) {
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "veltui-demo-") {
			names = append(names, e.Name())
		}
	}
	return names
}

// download has the responder sign a URL and follows it.
func (r *running) download(t *testing.T, kind, name string) (status int, body string, err error) {
	t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "velero.io/v1", "kind": "DownloadRequest",
		"metadata": map[string]any{"generateName": "test-"},
		"spec":     map[string]any{"target": map[string]any{"kind": kind, "name": name}},
	}}
	created, err := r.velero("downloadrequests").Create(t.Context(), o, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	url := ""
	eventually(t, "a URL is signed", func() bool {
		o, err := r.velero("downloadrequests").Get(t.Context(), created.GetName(), metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		url, _, _ = unstructured.NestedString(o.Object, "status", "downloadURL")
		return url != ""
	})
	answer, err := http.Get(url)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		text, err := io.ReadAll(answer.Body)
		return answer.StatusCode, string(text), err
	}
	if _, err := http.ParseTime(answer.Header.Get("Last-Modified")); err != nil {
		t.Errorf("Last-Modified: %v", err)
	}
	unpacked, err := gzip.NewReader(answer.Body)
	if err != nil {
		return answer.StatusCode, "", err
	}
	text, err := io.ReadAll(unpacked)
	return answer.StatusCode, string(text), err
}

func TestWhatIsStoredCanBeFetched(t *testing.T) {
	r := start(t, Options{Scene: ownScene(t, "restore-patch-lost.yaml")})
	if status, body, err := r.download(
		t,
		"RestoreLog",
		"crm-rollback",
	); err != nil || status != 200 ||
		!strings.Contains(body, "restore completed") {
		t.Errorf("RestoreLog: %d %q %v", status, body, err)
	}
	if status, body, err := r.download(
		t,
		"RestoreTypo",
		"crm-rollback",
	); err != nil || status != 404 ||
		!strings.Contains(body, "NoSuchKey") {
		t.Errorf("a file that is not stored: %d %q %v", status, body, err)
	}
	if status, _, err := r.download(t, "BackupLog", "crm-nightly-5"); err == nil {
		t.Errorf("what is stored for another job is not known, and its answer is %d", status)
	}
	r = start(t, Options{Scene: ownScene(t, "uploads-wait-for-slot.yaml")})
	if status, _, err := r.download(t, "BackupLog", "mail-nightly"); err == nil {
		t.Errorf("a store that nobody reaches answers %d", status)
	}
}

// logOf asks for the log of the server's pod.
func logOf(api *rest.RESTClient) *rest.Request {
	return api.Get().Namespace("velero").Resource("pods").Name("velero-7d9c6b5f84-x2kqp").SubResource("log")
}

const restartedServer = `
objects:
  - apiVersion: v1
    kind: Pod
    metadata: {name: velero-7d9c6b5f84-x2kqp, namespace: velero, labels: {component: velero}}
    spec: {serviceAccountName: velero, containers: [{name: velero, command: [/velero], args: [server]}]}
    status: {phase: Running, containerStatuses: [{name: velero, restartCount: 1, state: {running: {startedAt: "-10m"}}}]}
logs: ['[-11m] before', '[-9m] after']
`

// A container's log begins with its start; what was before is the previous one's.
func TestLogsOfARestartedServer(t *testing.T) {
	r := start(t, Options{Scene: strings.NewReader(restartedServer)})
	api, err := rest.RESTClientFor(coreConfig(r.config))
	if err != nil {
		t.Fatal(err)
	}
	for previous, want := range map[string]string{"false": "after\n", "true": "before\n"} {
		if text, err := logOf(api).Param("previous", previous).DoRaw(t.Context()); err != nil || string(text) != want {
			t.Errorf("previous=%s: %q, %v", previous, text, err)
		}
	}
}

func TestLogsAreThoseOfTheServer(t *testing.T) {
	r := start(t, Options{Scene: ownScene(t, "restore-patch-lost.yaml")})
	api, err := rest.RESTClientFor(coreConfig(r.config))
	if err != nil {
		t.Fatal(err)
	}
	text, err := logOf(api).Param("tailLines", "1").Param("timestamps", "true").DoRaw(t.Context())
	if err != nil || strings.Count(string(text), "\n") != 1 ||
		!strings.Contains(string(text), "from InProgress to Finalizing") {
		t.Errorf("%q, %v", text, err)
	}
	if _, _, found := strings.Cut(string(text), "Z time="); !found {
		t.Errorf("%q has no time stamp", text)
	}
	if text, err = logOf(api).Param("limitBytes", "10").DoRaw(t.Context()); err != nil || len(text) != 10 {
		t.Errorf("ten bytes: %q, %v", text, err)
	}
	for _, param := range [][2]string{{"container", "sidecar"}, {"previous", "true"}} {
		if _, err = logOf(api).Param(param[0], param[1]).DoRaw(t.Context()); !apierrors.IsBadRequest(err) {
			t.Errorf("%v: %v", param, err)
		}
	}
	r = start(t, Options{Scene: ownScene(t, "uploads-wait-for-slot.yaml")})
	if api, err = rest.RESTClientFor(coreConfig(r.config)); err != nil {
		t.Fatal(err)
	}
	_, err = logOf(api).DoRaw(t.Context())
	if !apierrors.IsForbidden(err) {
		t.Errorf("a scene without logs: %v", err)
	}
}

// TestStory: several jobs move at once, one is stuck, one waits, and time goes
// on.
func TestStory(t *testing.T) {
	r := start(t, Options{})
	phases := map[string]int{}
	total := func() (items int64) {
		clear(phases)
		for _, resource := range []string{"backups", "restores"} {
			list, err := r.velero(resource).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for i := range list.Items {
				phase, _, _ := unstructured.NestedString(list.Items[i].Object, "status", "phase")
				phases[phase]++
				for _, field := range []string{"itemsBackedUp", "itemsRestored"} {
					n, _, _ := unstructured.NestedInt64(list.Items[i].Object, "status", "progress", field)
					items += n
				}
			}
		}
		return items
	}
	eventually(
		t,
		"the story has begun",
		func() bool { return total() > 0 && phases["WaitingForPluginOperations"] > 0 && phases["Queued"] > 0 },
	)
	if phases["InProgress"] < 3 || phases["Queued"] < 1 || phases["PartiallyFailed"] < 1 || phases["Completed"] < 10 {
		t.Errorf("it begins with %v", phases)
	}
	before := total()
	eventually(t, "something moves", func() bool { return total() > before })
	if status, body, err := r.download(
		t,
		"BackupResourceList",
		"before-upgrade",
	); err != nil || status != 200 ||
		!strings.Contains(body, "apps/v1/Deployment") {
		t.Errorf("what is stored for the recorded backup: %d, %d bytes, %v", status, len(body), err)
	}
}

// TestStoryGoesOn tells it many times as fast: it begins again, and forgets
// what lies behind.
func TestStoryGoesOn(t *testing.T) {
	r := start(t, Options{Speed: 1000})
	seen := map[string]bool{}
	eventually(t, "it was told more often than is kept", func() bool {
		for _, o := range r.cluster.ListObjects(storyKinds[1], "velero") {
			if strings.HasPrefix(o.GetName(), "everything-to-dr-") {
				seen[o.GetName()] = true
			}
		}
		return len(seen) > maxStories
	})
	list := r.cluster.ListObjects(storyKinds[0], "velero")
	if len(list) > 60 {
		t.Errorf("there are %d backups", len(list))
	}
}

func TestReplay(t *testing.T) {
	r := start(t, Options{Recordings: os.DirFS("replay/testdata"), Speed: 100})
	eventually(t, "both recordings have ended", func() bool {
		return r.phase(t, "restores", "a2-async") == "Completed" &&
			r.phase(t, "restores", "r17-errors-quota") == "PartiallyFailed"
	})
	if got := r.phase(t, "backupstoragelocations", "default"); got != "Available" {
		t.Errorf("the location is %s", got)
	}
}

func coreConfig(config *rest.Config) *rest.Config {
	c := rest.CopyConfig(config)
	c.APIPath, c.GroupVersion = "/api", &schema.GroupVersion{Version: "v1"}
	c.NegotiatedSerializer = serializer
	return c
}

// stored fetches a file of the object store without asking Velero to sign.
func (r *running) stored(t *testing.T, job, file string) (string, bool) {
	t.Helper()
	answer, err := http.Get(r.storeURL() + r.store.SignURL(store.FileKey{Job: job, File: file}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode == http.StatusNotFound {
		return "", false
	}
	unpacked, err := gzip.NewReader(answer.Body)
	if err != nil {
		t.Fatalf("%s of %s: %v", file, job, err)
	}
	text, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatalf("%s of %s: %v", file, job, err)
	}
	return string(text), true
}

// TestStoryStoresWhatItsJobsShow: each kind of file is stored for each job that
// came as far as to store it, and for no other, and says what the job says.
func TestStoryStoresWhatItsJobsShow(t *testing.T) {
	r := start(t, Options{Speed: 50})
	eventually(t, "the recorded restores and the uploads have ended", func() bool {
		ended := map[string]bool{}
		for _, kind := range storyKinds[:2] {
			for _, o := range r.cluster.ListObjects(kind, "") {
				j := storyObject{o}
				prefix, _, _ := strings.Cut(o.GetName(), "-2")
				ended[prefix] = ended[prefix] || j.stringField("status", "completionTimestamp") != ""
			}
		}
		return ended["everything-to-dr"] && ended["ops-to-quota"] && ended["widgets"] && ended["media-nightly"] &&
			ended["shop-hourly"]
	})
	// What it restored is in the cluster, but for a service.
	services := schema.GroupVersionResource{Version: "v1", Resource: "services"}
	if list, err := r.client.Resource(services).
		Namespace("widgets").
		List(t.Context(), metav1.ListOptions{}); err != nil ||
		len(list.Items) != 4 {
		t.Errorf("%v, %v", list, err)
	}
	if o, err := r.client.Resource(services).
		Namespace("widgets").
		Get(t.Context(), "svc-1", metav1.GetOptions{}); err != nil ||
		!strings.HasPrefix(o.GetLabels()["velero.io/restore-name"], "widgets-") {
		t.Errorf("%v, %v", o, err)
	}
	files := map[string][]string{
		"Backup":  {"Log", "Results", "ResourceList", "ItemOperations", "VolumeInfos", "VolumeSnapshots"},
		"Restore": {"Log", "Results", "ResourceList", "ItemOperations", "VolumeInfo"},
	}
	for _, kind := range storyKinds[:2] {
		for _, o := range r.cluster.ListObjects(kind, "") {
			j := storyObject{o}
			name := strings.ToLower(kind.Kind) + "/" + o.GetName()
			for _, file := range files[kind.Kind] {
				text, stored := r.stored(t, name, kind.Kind+file)
				if now, ok := (artifactBuilder{r.cluster, r.store}).findJob(
					strings.ToLower(kind.Kind),
					o.GetName(),
				); !ok ||
					now.stringField("status", "phase") != j.stringField("status", "phase") {
					continue // the story went on meanwhile
				}
				if stored != j.hasStoredFiles() && o.GetName() != "crm-rollback" {
					t.Errorf("%s of %s, which is %q: stored is %v", file, name, j.stringField("status", "phase"), stored)
				}
				if !stored || file == "Log" {
					continue
				}
				if !json.Valid([]byte(text)) {
					t.Errorf("%s of %s is no JSON: %.200s", file, name, text)
				}
				switch file {
				case "Results":
					warnings, errors := countMessages(t, text)
					if o.GetName() != "crm-rollback" &&
						(warnings != j.intField("status", "warnings") || errors != j.intField("status", "errors") && j.stringField("status", "phase") != "Failed") {
						t.Errorf(
							"results of %s: %d warnings, %d errors; it shows %v",
							name,
							warnings,
							errors,
							o.Object["status"],
						)
					}
				}
			}
		}
	}
	for _, method := range []string{`"PodVolumeBackup"`, `"snapshotDataMoved":true`, `"skipped":true`, `"CSISnapshot"`} {
		eventually(t, "a volume was saved as "+method, func() bool {
			return slices.ContainsFunc(r.cluster.ListObjects(storyKinds[0], ""), func(o *unstructured.Unstructured) bool {
				text, _ := r.stored(t, "backup/"+o.GetName(), "BackupVolumeInfos")
				return strings.Contains(text, method)
			})
		})
	}
}

func countMessages(t *testing.T, text string) (warnings, errors int) {
	t.Helper()
	type part struct {
		Velero, Cluster []string
		Namespaces      map[string][]string
	}
	var results struct{ Warnings, Errors part }
	if err := json.Unmarshal([]byte(text), &results); err != nil {
		t.Fatal(err)
	}
	count := func(p part) int {
		n := len(p.Velero) + len(p.Cluster)
		for _, l := range p.Namespaces {
			n += len(l)
		}
		return n
	}
	return count(results.Warnings), count(results.Errors)
}

// TestStoryWritesLogs: of the server, before and after its restart, of a
// node-agent and of a mover pod; a follower gets the new lines.
func TestStoryWritesLogs(t *testing.T) {
	r := start(t, Options{})
	read := func(pod, query string) string {
		request := rest.CopyConfig(r.config)
		c, err := rest.RESTClientFor(coreConfig(request))
		if err != nil {
			t.Fatal(err)
		}
		req := c.Get().Namespace("velero").Resource("pods").Name(pod).SubResource("log")
		for _, pair := range strings.Split(query, "&") {
			if key, value, ok := strings.Cut(pair, "="); ok {
				req = req.Param(key, value)
			}
		}
		text, err := req.DoRaw(t.Context())
		if err != nil {
			return ""
		}
		return string(text)
	}
	const server = "velero-7d9c6b5f84-x2kqp"
	c, err := rest.RESTClientFor(coreConfig(r.config))
	if err != nil {
		t.Fatal(err)
	}
	follower, err := c.Get().
		Namespace("velero").
		Resource("pods").
		Name(server).
		SubResource("log").
		Param("follow", "true").
		Param("tailLines", "0").
		Stream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = follower.Close() }()
	if line, err := bufio.NewReader(follower).ReadString('\n'); err != nil || !strings.Contains(line, "msg=") {
		t.Errorf("the follower got %q, %v", line, err)
	}
	if text := read(
		server,
		"previous=true",
	); !strings.Contains(text, "Restored 211 items") ||
		strings.Contains(text, "crm-rollback") {
		t.Errorf("the log from before the restart:\n%s", text)
	}
	eventually(t, "the pods log what moves", func() bool {
		return strings.Contains(read(server, ""), "restore=velero/everything-to-dr") &&
			strings.Contains(read("node-agent-db868", ""), "Async backup started")
	})
	eventually(t, "a mover pod logs", func() bool {
		for _, p := range r.cluster.ListObjects(podKind, "") {
			if strings.HasPrefix(p.GetName(), "media-nightly-") &&
				strings.Contains(read(p.GetName(), ""), "Uploaded ") {
				return true
			}
		}
		return false
	})
}
