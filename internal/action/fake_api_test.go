package action

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// fakeAPI is an API server in memory, without a network, for tests that try
// thousands of answers in a bubble of testing/synctest. It knows what really
// happened to each write.
type fakeAPI struct {
	mu      sync.Mutex
	host    string
	user    string
	uid     string // of namespace kube-system
	version int
	objects map[string]map[string]any // by path
	// landed are the attempts whose writes were carried out, by the path of the
	// object; foreign counts writes to another host or as another user than shown.
	landed  map[string][]string
	events  int
	foreign int
	mutated bool // a webhook has changed what was written
	// tamper answers in place of the server; serve carries the request out.
	// date is what answers say of the time, and wrote what they note of a write.
	date, wrote func() time.Time
	tamper      func(step string, r *http.Request, serve func() *http.Response) (*http.Response, error)
	// strip: something before the server drops dryRun from the request that is served.
	strip func(step string) bool
	log   []string
}

const (
	fakeHost = "a.example.test"
	fakeUser = "jane"
	fakeUID  = "kube-system-a"
)

func newFakeAPI() *fakeAPI {
	return &fakeAPI{
		host:    fakeHost,
		user:    fakeUser,
		uid:     fakeUID,
		version: 100,
		objects: map[string]map[string]any{},
		landed:  map[string][]string{},
	}
}

const fakeNamespace = "/apis/velero.io/v1/namespaces/velero/"

// put stores an object of Velero's, or changes it as somebody else would.
func (f *fakeAPI) put(path string, change func(o map[string]any)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	o := f.objects[path]
	if o == nil {
		o = map[string]any{"metadata": map[string]any{}}
	}
	change(o)
	f.version++
	o["metadata"].(map[string]any)["resourceVersion"] = fmt.Sprint(f.version)
	f.objects[path] = o
}

func (f *fakeAPI) get(path string) *unstructured.Unstructured {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.objects[path] == nil {
		return nil
	}
	return (&unstructured.Unstructured{Object: f.objects[path]}).DeepCopy()
}

func (f *fakeAPI) delete(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.objects, path)
}

// stepOf names what a request is for.
func stepOf(r *http.Request) string {
	last := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	switch {
	case r.Method == http.MethodPatch && r.URL.Query().Get("dryRun") != "",
		r.Method == http.MethodPost && r.URL.Query().Get("dryRun") != "",
		r.Method == http.MethodDelete && bytes.Contains(bodyOf(r), []byte(`"dryRun"`)):
		return "dry run"
	case r.Method == http.MethodPatch, r.Method == http.MethodDelete:
		return "write"
	case last == "events":
		return "event"
	case strings.HasPrefix(last, "selfsubject"):
		return last
	case r.Method == http.MethodPost:
		return "write"
	case last == "kube-system":
		return "identity"
	case strings.HasPrefix(r.URL.Path, fakeNamespace) && strings.Count(r.URL.Path[len(fakeNamespace):], "/") == 1:
		return "read"
	}
	return "evidence"
}

// RoundTrip implements http.RoundTripper.
func (f *fakeAPI) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if r.Body != nil {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(data))
	}
	step := stepOf(r)
	f.mu.Lock()
	f.log = append(f.log, time.Now().Format("05.000 ")+step)
	if step == "write" && (r.URL.Host != fakeHost || f.user != fakeUser || f.uid != fakeUID) {
		f.foreign++
	}
	tamper := f.tamper
	if f.strip != nil && step == "dry run" && f.strip(step) {
		r = withoutDryRun(r)
	}
	f.mu.Unlock()
	if tamper != nil {
		return tamper(step, r, func() *http.Response { return f.serve(r) })
	}
	connected(r)
	response := f.serve(r)
	if f.date != nil {
		response.Header.Set("Date", f.date().UTC().Format(http.TimeFormat))
	}
	return response, nil
}

// withoutDryRun is a request as it is after something has dropped its dryRun.
func withoutDryRun(r *http.Request) *http.Request {
	r = r.Clone(r.Context())
	q := r.URL.Query()
	q.Del("dryRun")
	r.URL.RawQuery = q.Encode()
	if body := bodyOf(r); r.Method == http.MethodDelete {
		var options map[string]any
		if json.Unmarshal(body, &options) == nil {
			delete(options, "dryRun")
			body, _ = json.Marshal(options)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	} else {
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	return r
}

// connected tells the client's trace that a connection is used, as net/http does.
func connected(r *http.Request) {
	if trace := httptrace.ContextClientTrace(r.Context()); trace != nil && trace.GotConn != nil {
		trace.GotConn(httptrace.GotConnInfo{})
	}
}

func (f *fakeAPI) serve(r *http.Request) *http.Response {
	f.mu.Lock()
	defer f.mu.Unlock()
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	path := r.URL.Path
	last := path[strings.LastIndex(path, "/")+1:]
	dryRun := r.URL.Query().Get("dryRun") != ""
	switch {
	case last == "selfsubjectreviews":
		return answerJSON(
			r,
			201,
			map[string]any{
				"kind":       "SelfSubjectReview",
				"apiVersion": "authentication.k8s.io/v1",
				"status":     map[string]any{"userInfo": map[string]any{"username": f.user}},
			},
		)
	case last == "selfsubjectaccessreviews":
		return answerJSON(
			r,
			201,
			map[string]any{
				"kind":       "SelfSubjectAccessReview",
				"apiVersion": "authorization.k8s.io/v1",
				"status":     map[string]any{"allowed": true},
			},
		)
	case last == "kube-system":
		return answerJSON(
			r,
			200,
			map[string]any{
				"kind":       "Namespace",
				"apiVersion": "v1",
				"metadata":   map[string]any{"name": "kube-system", "uid": f.uid},
			},
		)
	case last == "events":
		f.events++
		return answerJSON(
			r,
			201,
			map[string]any{"kind": "Event", "apiVersion": "v1", "metadata": map[string]any{"name": "e"}},
		)
	case path == "/apis/velero.io/v1":
		return answerJSON(
			r,
			200,
			map[string]any{
				"kind":         "APIResourceList",
				"apiVersion":   "v1",
				"groupVersion": "velero.io/v1",
				"resources":    []any{},
			},
		)
	case r.Method == http.MethodPatch:
		return f.patch(r, path, body, dryRun)
	case r.Method == http.MethodPost:
		return f.create(r, path, body, dryRun)
	case r.Method == http.MethodDelete:
		return f.remove(r, path, body, dryRun)
	case f.objects[path] != nil:
		return answerJSON(r, 200, f.objects[path])
	case last == "restores.velero.io", last == "backups.velero.io":
		return statusAnswer(r, 403, "Forbidden")
	}
	if items, kind := f.list(path, r.URL.Query().Get("labelSelector")); kind != "" {
		return answerJSON(
			r,
			200,
			map[string]any{
				"kind":       kind + "List",
				"apiVersion": apiVersionOf(path),
				"metadata":   map[string]any{"resourceVersion": fmt.Sprint(f.version)},
				"items":      items,
			},
		)
	}
	return statusAnswer(r, 404, "NotFound")
}

func apiVersionOf(path string) string {
	parts := strings.Split(path, "/")
	if parts[1] == "api" {
		return parts[2]
	}
	return parts[2] + "/" + parts[3]
}

var fakeKinds = map[string]string{
	"restores":               "Restore",
	"backups":                "Backup",
	"pods":                   "Pod",
	"namespaces":             "Namespace",
	"datauploads":            "DataUpload",
	"datadownloads":          "DataDownload",
	"podvolumebackups":       "PodVolumeBackup",
	"podvolumerestores":      "PodVolumeRestore",
	"backupstoragelocations": "BackupStorageLocation",
	"volumesnapshots":        "VolumeSnapshot",
	"deletebackuprequests":   "DeleteBackupRequest",
	"configmaps":             "ConfigMap",
	"schedules":              "Schedule",
}

func (f *fakeAPI) list(path, selector string) (items []any, kind string) {
	kind = fakeKinds[path[strings.LastIndex(path, "/")+1:]]
	items = []any{}
	label, value, _ := strings.Cut(selector, "=")
	for name, o := range f.objects {
		if strings.HasPrefix(name, path+"/") &&
			(selector == "" || (&unstructured.Unstructured{Object: o}).GetLabels()[label] == value) {
			items = append(items, o)
		}
	}
	return items, kind
}

// patch carries out a JSON patch with the operations test and add.
func (f *fakeAPI) patch(r *http.Request, path string, body []byte, dryRun bool) *http.Response {
	var operations []patchOperation
	if json.Unmarshal(body, &operations) != nil {
		return statusAnswer(r, 400, "BadRequest")
	}
	if f.objects[path] == nil {
		return statusAnswer(r, 404, "NotFound")
	}
	o := (&unstructured.Unstructured{Object: f.objects[path]}).DeepCopy().Object
	for _, op := range operations {
		keys := strings.Split(op.Path, "/")[1:]
		parent := o
		for i, key := range keys {
			key = strings.ReplaceAll(key, "~1", "/")
			if i < len(keys)-1 {
				parent, _ = parent[key].(map[string]any)
				continue
			}
			if op.Op == "test" && !isSameJSON(parent[key], op.Value) || parent == nil {
				return statusAnswer(r, 422, "Invalid")
			}
			if op.Op == "add" {
				parent[key] = op.Value
			}
		}
	}
	if f.wrote != nil {
		o["metadata"].(map[string]any)["managedFields"] = withEntry(o, f.wrote())
	}
	if dryRun { // with the old resourceVersion
		return answerJSON(r, 200, o)
	}
	f.version++
	o["metadata"].(map[string]any)["resourceVersion"] = fmt.Sprint(f.version)
	f.objects[path] = o
	f.note(path, o)
	return answerJSON(r, 200, o)
}

// withEntry is managedFields after veltui has written: as the API server does, it moves veltui's own entry to the present
// and leaves the others.
func withEntry(o map[string]any, at time.Time) []any {
	entries, _, _ := unstructured.NestedSlice(o, "metadata", "managedFields")
	entries = slices.DeleteFunc(entries, func(e any) bool { return e.(map[string]any)["manager"] == fieldManager })
	return append(entries, map[string]any{"manager": fieldManager, "operation": "Update", "apiVersion": "velero.io/v1",
		"time": at.UTC().Format(time.RFC3339), "fieldsType": "FieldsV1", "fieldsV1": map[string]any{}})
}

// landings are the attempts whose write of an object was carried out so far.
func (f *fakeAPI) landings(path string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.landed[path])
}

func (f *fakeAPI) note(path string, o map[string]any) {
	annotations, _, _ := unstructured.NestedStringMap(o, "metadata", "annotations")
	for key, value := range annotations {
		if strings.HasSuffix(key, "-attempt") {
			id, _, _ := strings.Cut(value, " ")
			f.landed[path] = append(f.landed[path], id)
		}
	}
}

func (f *fakeAPI) create(r *http.Request, path string, body []byte, dryRun bool) *http.Response {
	var o map[string]any
	if json.Unmarshal(body, &o) != nil {
		return statusAnswer(r, 400, "BadRequest")
	}
	name, _, _ := unstructured.NestedString(o, "metadata", "name")
	if path += "/" + name; f.objects[path] != nil {
		return statusAnswer(r, 409, "AlreadyExists")
	}
	f.version++
	meta := o["metadata"].(map[string]any)
	meta["uid"] = fmt.Sprintf("uid-%d", f.version)
	now := time.Now()
	if f.wrote != nil {
		now = f.wrote()
		meta["managedFields"] = withEntry(o, now)
	}
	meta["creationTimestamp"] = now.UTC().Format(time.RFC3339)
	if !dryRun { // whose answer has no resourceVersion
		meta["resourceVersion"] = fmt.Sprint(f.version)
		f.objects[path] = o
		f.note(path, o)
	}
	return answerJSON(r, 201, o)
}

func (f *fakeAPI) remove(r *http.Request, path string, body []byte, dryRun bool) *http.Response {
	var options struct {
		Preconditions struct{ UID, ResourceVersion string }
		DryRun        []string
	}
	if json.Unmarshal(body, &options) != nil {
		return statusAnswer(r, 400, "BadRequest")
	}
	o := f.objects[path]
	if o == nil {
		return statusAnswer(r, 404, "NotFound")
	}
	meta := o["metadata"].(map[string]any)
	if meta["uid"] != options.Preconditions.UID ||
		options.Preconditions.ResourceVersion != "" &&
			meta["resourceVersion"] != options.Preconditions.ResourceVersion {
		return statusAnswer(r, 409, "Conflict")
	}
	after := (&unstructured.Unstructured{Object: o}).DeepCopy()
	held := len(after.GetFinalizers()) > 0
	if held && after.GetDeletionTimestamp() == nil {
		at := time.Now()
		if f.wrote != nil {
			at = f.wrote()
		}
		after.SetDeletionTimestamp(&metav1.Time{Time: at})
	}
	if !dryRun && len(options.DryRun) == 0 {
		f.landed[path] = append(f.landed[path], "deleted")
		f.version++
		after.SetResourceVersion(fmt.Sprint(f.version))
		if f.objects[path] = after.Object; !held {
			delete(f.objects, path)
		}
	}
	if held {
		return answerJSON(r, 200, after.Object)
	}
	return answerJSON(
		r,
		200,
		map[string]any{
			"kind":       "Status",
			"apiVersion": "v1",
			"status":     "Success",
			"details":    map[string]any{"uid": options.Preconditions.UID},
		},
	)
}

func answerJSON(r *http.Request, code int, content any) *http.Response {
	data, _ := json.Marshal(content)
	return answerText(r, code, "application/json", string(data))
}

func statusAnswer(r *http.Request, code int, reason string) *http.Response {
	return answerJSON(
		r,
		code,
		map[string]any{
			"kind":       "Status",
			"apiVersion": "v1",
			"status":     "Failure",
			"reason":     reason,
			"code":       code,
			"message":    "the fake says " + reason,
		},
	)
}

func answerText(r *http.Request, code int, contentType, text string) *http.Response {
	return &http.Response{
		StatusCode: code,
		Status:     fmt.Sprint(code),
		Proto:      "HTTP/1.1",
		ProtoMajor: 1,
		ProtoMinor: 1,
		Request:    r,
		Header: http.Header{
			"Content-Type": {contentType},
		},
		Body:          io.NopCloser(strings.NewReader(text)),
		ContentLength: int64(len(text)),
	}
}
