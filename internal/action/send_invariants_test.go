package action

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/session"
	"github.com/veltui/veltui/internal/testbed"
	"github.com/veltui/veltui/retry"
)

// answers are what may become of one request. Serve carries it out.
var answers = map[string]func(f *fakeAPI, r *http.Request, serve func() *http.Response) (*http.Response, error){
	"answered": func(_ *fakeAPI, r *http.Request, serve func() *http.Response) (*http.Response, error) {
		connected(r)
		return serve(), nil
	},
	"answer lost": func(_ *fakeAPI, r *http.Request, serve func() *http.Response) (*http.Response, error) {
		connected(r)
		serve()
		return nil, io.ErrUnexpectedEOF
	},
	"lost": func(_ *fakeAPI, r *http.Request, _ func() *http.Response) (*http.Response, error) {
		connected(r)
		return nil, io.ErrUnexpectedEOF
	},
	"late": func(_ *fakeAPI, r *http.Request, serve func() *http.Response) (*http.Response, error) {
		connected(r)
		time.AfterFunc(4*time.Second, func() { serve() })
		return nil, syscall.ECONNRESET
	},
	"late, and no connection seen": func(_ *fakeAPI, _ *http.Request, serve func() *http.Response) (*http.Response, error) {
		time.AfterFunc(4*time.Second, func() { serve() })
		return nil, io.EOF
	},
	"very late": func(_ *fakeAPI, r *http.Request, serve func() *http.Response) (*http.Response, error) {
		connected(r)
		time.AfterFunc(2*time.Minute, func() { serve() })
		return nil, io.ErrUnexpectedEOF
	},
	"duplicated": func(_ *fakeAPI, r *http.Request, serve func() *http.Response) (*http.Response, error) {
		connected(r)
		response := serve()
		serve()
		time.AfterFunc(5*time.Second, func() { serve() })
		return response, nil
	},
	"duplicated, the second answer": func(_ *fakeAPI, r *http.Request, serve func() *http.Response) (*http.Response, error) {
		connected(r)
		serve()
		return serve(), nil
	},
	"mutated": mutated(func(o map[string]any) {
		spoil(o)
		maps.DeleteFunc(notesIn(o), func(name string, _ any) bool { return strings.HasSuffix(name, "-attempt") })
	}),
	"mutated but for the mark": mutated(spoil),
	"mutated in its mark": mutated(func(o map[string]any) {
		for name := range notesIn(o) {
			if strings.HasSuffix(name, "-attempt") {
				notesIn(o)[name] = "another"
			}
		}
	}),
	"200 without effect": func(f *fakeAPI, r *http.Request, _ func() *http.Response) (*http.Response, error) {
		connected(r)
		if o := f.get(r.URL.Path); o != nil {
			return answerJSON(r, 200, o.Object), nil
		}
		return statusAnswer(r, 404, "NotFound"), nil
	},
	"200 as for a dry run": func(f *fakeAPI, r *http.Request, serve func() *http.Response) (*http.Response, error) {
		connected(r)
		if !changes(r) && r.Method != http.MethodDelete {
			return serve(), nil
		}
		body := bodyOf(r)
		f.mu.Lock()
		defer f.mu.Unlock()
		switch r.Method {
		case http.MethodPost:
			return f.create(r, r.URL.Path, body, true), nil
		case http.MethodDelete:
			return f.remove(r, r.URL.Path, body, true), nil
		}
		return f.patch(r, r.URL.Path, body, true), nil
	},
	"200 of a proxy": fixedAnswer(200, "text/html", "<html>please log in</html>"),
	"204":            fixedAnswer(204, "", ""),
	"401":            status(401, "Unauthorized"),
	"401 of a proxy": fixedAnswer(401, "text/html", "<html>log in</html>"),
	"307": func(_ *fakeAPI, r *http.Request, _ func() *http.Response) (*http.Response, error) {
		connected(r)
		response := answerText(r, 307, "", "")
		response.Header.Set("Location", "https://b.example.test"+r.URL.Path)
		return response, nil
	},
	"403":            status(403, "Forbidden"),
	"404":            status(404, "NotFound"),
	"409":            status(409, "Conflict"),
	"422":            status(422, "Invalid"),
	"429":            status(429, "TooManyRequests"),
	"408":            status(408, "Timeout"),
	"500":            status(500, "InternalError"),
	"503":            status(503, "ServiceUnavailable"),
	"403 of a proxy": fixedAnswer(403, "text/html", "<html>blocked</html>"),
	"404 of a proxy": fixedAnswer(404, "text/plain", "not here"),
	"400 in JSON":    fixedAnswer(400, "application/json", `{"error":"blocked"}`),
	"502 of a proxy": fixedAnswer(502, "text/html", "<html>bad gateway</html>"),
	"200 with a 403": fixedAnswer(
		200,
		"application/json",
		`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`,
	),
	"502 with a 403": fixedAnswer(
		502,
		"application/json",
		`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`,
	),
	"429 after it": afterIt(statusAnswerOf(429, "TooManyRequests", "text/plain", "slow down")),
	"403 after it": afterIt(statusAnswerOf(403, "", "text/html", "<html>blocked</html>")),
	"404 after it": afterIt(statusAnswerOf(404, "", "text/html", "<html>blocked</html>")),
	"500 after it": afterIt(func(r *http.Request) *http.Response { return statusAnswer(r, 500, "InternalError") }),
	"repeated": func(_ *fakeAPI, r *http.Request, serve func() *http.Response) (*http.Response, error) {
		connected(r)
		body := bodyOf(r)
		serve()
		r.Body = io.NopCloser(bytes.NewReader(body))
		return serve(), nil
	},
	"refused to dial": func(*fakeAPI, *http.Request, func() *http.Response) (*http.Response, error) {
		return nil, syscall.ECONNREFUSED
	},
	"refused, but connected": func(_ *fakeAPI, r *http.Request, serve func() *http.Response) (*http.Response, error) {
		connected(r)
		time.AfterFunc(4*time.Second, func() { serve() })
		return nil, syscall.ECONNREFUSED
	},
	"silence": func(_ *fakeAPI, r *http.Request, _ func() *http.Response) (*http.Response, error) {
		connected(r)
		<-r.Context().Done()
		return nil, r.Context().Err()
	},
	"silence after it": func(_ *fakeAPI, r *http.Request, serve func() *http.Response) (*http.Response, error) {
		connected(r)
		serve()
		<-r.Context().Done()
		return nil, r.Context().Err()
	},
	"a body that breaks off": func(_ *fakeAPI, r *http.Request, serve func() *http.Response) (*http.Response, error) {
		connected(r)
		response := serve()
		data, _ := io.ReadAll(response.Body)
		response.Body = io.NopCloser(io.MultiReader(strings.NewReader(string(data[:len(data)/2])), brokenReader{}))
		response.ContentLength = -1
		return response, nil
	},
}

// falseAnswers hide what a dry run did that something in between has carried out.
var falseAnswers = map[string]answerFunc{
	"200 as for a dry run after it": func(f *fakeAPI, r *http.Request, serve func() *http.Response) (*http.Response, error) {
		connected(r)
		before := f.get(r.URL.Path)
		response := serve()
		var o map[string]any
		if json.NewDecoder(response.Body).Decode(&o) != nil || response.StatusCode >= 300 {
			return statusAnswer(r, response.StatusCode, "Conflict"), nil
		}
		if meta, _ := o["metadata"].(map[string]any); before != nil && meta["resourceVersion"] != nil {
			meta["resourceVersion"] = before.GetResourceVersion()
		} else {
			delete(meta, "resourceVersion")
		}
		return answerJSON(r, response.StatusCode, o), nil
	},
	"400 Status after it": afterIt(func(r *http.Request) *http.Response { return statusAnswer(r, 400, "BadRequest") }),
	"403 Status after it": afterIt(func(r *http.Request) *http.Response { return statusAnswer(r, 403, "Forbidden") }),
	"404 Status after it": afterIt(func(r *http.Request) *http.Response { return statusAnswer(r, 404, "NotFound") }),
	"409 Status after it": afterIt(
		func(r *http.Request) *http.Response { return statusAnswer(r, 409, "AlreadyExists") },
	),
	"422 Status after it": afterIt(func(r *http.Request) *http.Response { return statusAnswer(r, 422, "Invalid") }),
	"429 Status after it": afterIt(
		func(r *http.Request) *http.Response { return statusAnswer(r, 429, "TooManyRequests") },
	),
}

func answerNamed(name string) answerFunc {
	if answer := falseAnswers[name]; answer != nil {
		return answer
	}
	return answers[name]
}

// mutated is a webhook that changes what is really written, and the answer with it.
func mutated(change func(map[string]any)) answerFunc {
	return func(f *fakeAPI, r *http.Request, serve func() *http.Response) (*http.Response, error) {
		connected(r)
		body := bodyOf(r)
		response := serve()
		if response.StatusCode >= 300 || !changes(r) {
			return response, nil
		}
		path := r.URL.Path
		if r.Method == http.MethodPost {
			var o struct{ Metadata struct{ Name string } }
			_ = json.Unmarshal(body, &o)
			path += "/" + o.Metadata.Name
		}
		f.put(path, change)
		f.mutated = true
		return answerJSON(r, 200, f.get(path).Object), nil
	}
}

func changes(r *http.Request) bool {
	return r.Method == http.MethodPatch ||
		r.Method == http.MethodPost &&
			(strings.HasPrefix(r.URL.Path, fakeNamespace) || strings.HasSuffix(r.URL.Path, "/configmaps"))
}

func bodyOf(r *http.Request) []byte {
	if r.Body == nil {
		return nil
	}
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body
}

// spoil changes what was written: a phase, whether a schedule is paused, or what is restored.
func spoil(o map[string]any) {
	if data, isConfigMap := o["data"].(map[string]any); isConfigMap {
		data["policy"] = "another"
		return
	}
	spec, _ := o["spec"].(map[string]any)
	status, _ := o["status"].(map[string]any)
	switch paused, isSchedule := spec["paused"].(bool); {
	case isSchedule:
		spec["paused"] = !paused
	case status == nil:
		spec["backupName"] = "another"
	default:
		status["phase"] = "Completed"
	}
}

func notesIn(o map[string]any) map[string]any {
	notes, _ := o["metadata"].(map[string]any)["annotations"].(map[string]any)
	return notes
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

type answerFunc = func(*fakeAPI, *http.Request, func() *http.Response) (*http.Response, error)

func fixedAnswer(code int, contentType, text string) answerFunc {
	return func(_ *fakeAPI, r *http.Request, _ func() *http.Response) (*http.Response, error) {
		connected(r)
		return answerText(r, code, contentType, text), nil
	}
}

func status(code int, reason string) answerFunc {
	return func(_ *fakeAPI, r *http.Request, _ func() *http.Response) (*http.Response, error) {
		connected(r)
		return statusAnswer(r, code, reason), nil
	}
}

func statusAnswerOf(code int, _, contentType, text string) func(*http.Request) *http.Response {
	return func(r *http.Request) *http.Response { return answerText(r, code, contentType, text) }
}

func afterIt(answer func(*http.Request) *http.Response) answerFunc {
	return func(_ *fakeAPI, r *http.Request, serve func() *http.Response) (*http.Response, error) {
		connected(r)
		serve()
		return answer(r), nil
	}
}

// interruptions are what else happens, right after the first answer was tampered
// with.
var interruptions = map[string]func(b *sendBench){
	"nothing": func(*sendBench) {},
	"ctrl+c":  func(b *sendBench) { b.cancel(errInterrupt) },
	"ctrl+c 2 s later": func(b *sendBench) {
		time.AfterFunc(2*time.Second, func() { b.cancel(errInterrupt) })
	},
	"Velero writes progress": func(b *sendBench) {
		if b.api.get(b.path) == nil {
			return
		}
		b.api.put(b.path, func(o map[string]any) {
			status, _ := o["status"].(map[string]any)
			if status == nil {
				status = map[string]any{}
			}
			status["progress"] = map[string]any{"itemsRestored": int64(8)}
			o["status"] = status
		})
	},
	"another operator": func(b *sendBench) { b.other(true) },
	"another operator 1 s later": func(b *sendBench) {
		time.AfterFunc(time.Second, func() { b.other(true) })
	},
	"another operator's old veltui": func(b *sendBench) {
		time.AfterFunc(time.Second, func() { b.other(false) })
	},
	"deleted": func(b *sendBench) { b.api.delete(b.path) },
	"replaced": func(b *sendBench) {
		b.api.delete(b.path)
		b.api.put(b.path, func(o map[string]any) { b.fill(o, b.made(), "uid-2") })
	},
	"the API server away for 20 s":        func(b *sendBench) { b.awayUntil = time.Now().Add(20 * time.Second) },
	"the API server away for 20 min":      func(b *sendBench) { b.awayUntil = time.Now().Add(20 * time.Minute) },
	"the kubeconfig leads elsewhere":      func(b *sendBench) { b.host = "b.example.test" },
	"another cluster has the address":     func(b *sendBench) { b.api.uid = "kube-system-b" },
	"the credentials are somebody else's": func(b *sendBench) { b.api.user, b.renewed = "joe", true },
	"the original server comes back":      func(b *sendBench) { b.server(b.start.Add(-time.Hour)) },
}

var errInterrupt = errors.New("ctrl+c")

// sendBench is one execution against a fakeAPI.
type sendBench struct {
	sendAction
	api       *fakeAPI
	start     time.Time
	host      string // that the kubeconfig names
	cancel    context.CancelCauseFunc
	awayUntil time.Time
	renewed   bool // the next request is not authorized, and then the user is another
}

// sendAction is an action whose requests are tampered with.
type sendAction struct {
	path  string // of the object that it writes
	mark  annotationPrefix
	fill  func(o map[string]any, start time.Time, uid string) // makes that object
	given bool                                                // it exists before
	plan  func(ctx context.Context, f *Engine) (Plan, error)
}

var finalizeSend = sendAction{
	fakeNamespace + "restores/r",
	finalizedPrefix,
	fill,
	true,
	func(ctx context.Context, f *Engine) (Plan, error) {
		e, err := f.GatherEvidence(ctx, job.Restore, "r")
		if err != nil {
			return Plan{}, err
		}
		p, _ := PlanFor(Finalize, e, Request{Phase: "Failed", Reason: "it hangs"})
		return p, nil
	},
}

var createSend = sendAction{
	fakeNamespace + "restores/new",
	createdPrefix,
	fill,
	false,
	func(ctx context.Context, f *Engine) (Plan, error) {
		o := newObject(jobGVK(job.Restore), "", "new")
		o.Object["spec"] = map[string]any{"backupName": "source", "includedNamespaces": []any{"shop"}}
		return f.ProposePlan(ctx, Create, o, Request{Reason: "the shop is gone"})
	},
}

// backupSend makes a backup as the schedule would.
var backupSend = sendAction{
	fakeNamespace + "backups/now",
	createdPrefix,
	func(o map[string]any, start time.Time, uid string) {
		fill(o, start, uid)
		o["kind"] = "Backup"
	},
	false,
	func(ctx context.Context, f *Engine) (Plan, error) {
		return f.ProposePlan(ctx, Create, NewScheduledBackup("nightly", "now"), Request{Reason: "before the upgrade"})
	},
}

var unpauseSend = sendAction{
	fakeNamespace + "schedules/nightly",
	pausedPrefix,
	func(o map[string]any, start time.Time, uid string) {
		fillSchedule(o, start, uid)
		o["spec"].(map[string]any)["paused"] = true
	},
	true,
	func(ctx context.Context, f *Engine) (Plan, error) {
		return f.ProposePlan(
			ctx,
			Unpause,
			NewNamedObject("Schedule", "nightly"),
			Request{Reason: "it is over", SkipImmediately: true},
		)
	},
}

var pauseSend = sendAction{
	fakeNamespace + "schedules/nightly",
	pausedPrefix,
	fillSchedule,
	true,
	func(ctx context.Context, f *Engine) (Plan, error) {
		return f.ProposePlan(ctx, Pause, NewNamedObject("Schedule", "nightly"), Request{Reason: "maintenance"})
	},
}

func fillSchedule(o map[string]any, start time.Time, uid string) {
	o["apiVersion"], o["kind"] = "velero.io/v1", "Schedule"
	o["metadata"] = map[string]any{
		"name":              "nightly",
		"namespace":         "velero",
		"uid":               uid,
		"creationTimestamp": start.UTC().Format(time.RFC3339),
	}
	o["spec"] = map[string]any{"schedule": "0 1 * * *", "template": map[string]any{"includedNamespaces": []any{"shop"}}}
	o["status"] = map[string]any{"phase": "Enabled"}
}

func fill(o map[string]any, start time.Time, uid string) {
	at := start.UTC().Format(time.RFC3339)
	o["apiVersion"], o["kind"] = "velero.io/v1", "Restore"
	o["metadata"] = map[string]any{
		"name":              "r",
		"namespace":         "velero",
		"uid":               uid,
		"creationTimestamp": at,
		"managedFields": []any{
			map[string]any{
				"manager":    "velero-server",
				"operation":  "Update",
				"apiVersion": "velero.io/v1",
				"time":       at,
				"fieldsType": "FieldsV1",
				"fieldsV1":   map[string]any{},
			},
		},
	}
	o["spec"] = map[string]any{"backupName": "source"}
	o["status"] = map[string]any{
		"phase":          "InProgress",
		"startTimestamp": at,
		"progress":       map[string]any{"itemsRestored": int64(7), "totalItems": int64(9)},
	}
}

func newSendBench(a sendAction) *sendBench {
	b := &sendBench{sendAction: a, api: newFakeAPI(), host: fakeHost, start: time.Now().Add(-2 * time.Hour)}
	b.api.put(fakeNamespace+"schedules/nightly", func(o map[string]any) { fillSchedule(o, b.start, "s-1") })
	if a.given {
		b.api.put(b.path, func(o map[string]any) { b.fill(o, b.start, "uid-1") })
	}
	b.api.put(fakeNamespace+"backups/source", func(o map[string]any) {
		o["apiVersion"], o["kind"] = "velero.io/v1", "Backup"
		o["metadata"] = map[string]any{"name": "source", "namespace": "velero", "uid": "b-1"}
		o["spec"] = map[string]any{}
		o["status"] = map[string]any{"phase": "Completed"}
	})
	b.server(b.start.Add(time.Hour))
	if a.mark == deletedPrefix {
		ownBackup(b)
	}
	return b
}

// made is when somebody makes an object of that name.
func (b *sendBench) made() time.Time {
	if b.given {
		return b.start
	}
	return time.Now()
}

// server makes a server pod that runs since then.
func (b *sendBench) server(since time.Time) {
	at := since.UTC().Format(time.RFC3339)
	b.api.put("/api/v1/namespaces/velero/pods/velero-0", func(o map[string]any) {
		o["apiVersion"], o["kind"] = "v1", "Pod"
		o["metadata"] = map[string]any{
			"name":              "velero-0",
			"namespace":         "velero",
			"uid":               "p-1",
			"creationTimestamp": at,
			"labels":            map[string]any{"component": "velero", "deploy": "velero"},
		}
		o["spec"] = map[string]any{
			"containers": []any{map[string]any{"name": "velero", "image": "velero/velero:v1.18.3"}},
		}
		o["status"] = map[string]any{
			"phase": "Running",
			"containerStatuses": []any{
				map[string]any{
					"name":  "velero",
					"ready": true,
					"state": map[string]any{"running": map[string]any{"startedAt": at}},
				},
			},
		}
	})
}

// other finalizes as joe, with a veltui that keeps earlier attempts or not.
func (b *sendBench) other(keeps bool) {
	switch {
	case b.api.get(b.path) != nil:
	case b.given:
		return
	default: // she takes the name
		b.api.put(b.path, func(o map[string]any) { b.fill(o, b.made(), "uid-3") })
	}
	b.api.put(b.path, func(o map[string]any) {
		meta := o["metadata"].(map[string]any)
		notes, _ := meta["annotations"].(map[string]any)
		if notes == nil {
			notes = map[string]any{}
		}
		attempt := "joes"
		if keeps {
			attempt = addAttempt(&unstructured.Unstructured{Object: o}, b.mark.attemptKey(), attempt)
		}
		notes[b.mark.attemptKey()], notes[string(b.mark)+"-by"] = attempt, "joe"
		meta["annotations"] = notes
		if b.mark == finalizedPrefix {
			o["status"].(map[string]any)["phase"] = "Failed"
		}
	})
}

func (b *sendBench) options(dir string) Options {
	s, err := session.New(session.Options{Context: "prod-east", LoadConfig: b.load})
	if err != nil {
		panic(err)
	}
	return Options{Session: s, Namespace: "velero", Context: "prod-east",
		AuditDir: filepath.Join(dir, "audit"), TotalTimeout: 5 * time.Minute, Backoff: retry.CapBackoff(5 * time.Second)}
}

func (b *sendBench) load() (*rest.Config, error) {
	return &rest.Config{Host: "https://" + b.host, Transport: b.api}, nil
}

// sendCase is one point of the space: what becomes of the first request of a
// step, what of the first write or read after that, and what happens between.
type sendCase struct{ step, first, then, second, interruption string }

func (c sendCase) String() string {
	return fmt.Sprintf("%s: %s, then %s: %s, with %s", c.step, c.first, c.then, c.second, c.interruption)
}

// landingCase is a sendCase in which something drops dryRun of the first dry run, or of every one.
type landingCase struct {
	sendCase
	every  bool
	dryRun bool // only a dry run is wanted
}

func (c landingCase) String() string {
	text := "first dry run carried out, "
	if c.every {
		text = "every dry run carried out, "
	}
	if c.dryRun {
		text += "only a dry run wanted, "
	}
	return text + c.sendCase.String()
}

// run carries out one case and returns what is wrong.
func (c sendCase) run(t *testing.T, a sendAction, dir string) (wrong []string) {
	_, _, wrong = c.apply(t, a, dir, func(*sendBench) {}, false)
	return wrong
}

func (c sendCase) apply(
	t *testing.T,
	a sendAction,
	dir string,
	prepare func(*sendBench),
	dryRun bool,
) (*sendBench, *Outcome, []string) {
	b := newSendBench(a)
	engine, p := b.planned(t, dir)
	ctx, cancel := context.WithCancelCause(t.Context())
	b.cancel = cancel
	c.tamper(b)
	prepare(b)
	out, _ := engine.ApplyPlan(ctx, p, dryRun, nil)
	atEnd := len(b.api.landings(b.path))
	time.Sleep(30 * time.Minute) // whatever is late has come
	synctest.Wait()
	return b, &out, c.check(t, b, &out, atEnd)
}

// planned returns an engine that keeps its journal in dir, and its plan for the action of the bench, which must be possible.
func (b *sendBench) planned(t *testing.T, dir string, change ...func(*Options)) (*Engine, Plan) {
	t.Helper()
	o := b.options(dir)
	for _, c := range change {
		c(&o)
	}
	engine, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	p, err := b.plan(t.Context(), engine)
	if err != nil || !p.IsPossible() {
		t.Fatalf("no plan: %q %v", p.Refusal, err)
	}
	return engine, p
}

// run carries out one case in which a dry run lands, and returns what is wrong.
func (c landingCase) run(t *testing.T, a sendAction, dir string) (wrong []string) {
	b, out, wrong := c.apply(t, a, dir, func(b *sendBench) {
		n := 0
		b.api.strip = func(string) bool { n++; return c.every || n == 1 }
	}, c.dryRun)
	say := func(holds bool, text string) {
		if !holds {
			wrong = append(wrong, text)
		}
	}
	mine := len(b.api.landings(b.path)) // of any attempt, and deletions
	isDeletion := b.api.get(b.path) == nil && b.given || a.mark == deletedPrefix && a.given
	by := slices.Contains([]string{"deleted", "replaced"}, c.interruption) ||
		strings.HasPrefix(c.interruption, "another operator")
	hides := c.first == "duplicated, the second answer" || c.first == "repeated" || falseAnswers[c.first] != nil
	if hides && by {
		return nil // docs/dev/invariants.md: carried out, repeated or denied, and hidden by a third hand
	}
	say(out.State != StateChecked || mine == 0, "it says checked, and the dry run landed")
	say(!strings.Contains(out.Message, "nothing was written") || mine == 0, "it says that nothing was written")
	say(!c.dryRun || !slices.ContainsFunc(b.api.log, isSend), "it sent more than a dry run")
	if out.State == StateCarriedOut {
		say(!slices.ContainsFunc(b.api.log, isSend), "it sent a request after a dry run that was carried out")
		say(mine > 0 || isDeletion && out.Sent == Doubtful, "it says that a dry run was carried out, and none was")
		say(out.Sent != NotSent, "it says that a dry run was carried out, and not sent")
	}
	return append(wrong, c.settle(t, b, dir, mine, by)...)
}

func isSend(line string) bool {
	return strings.HasSuffix(line, " write") || strings.HasSuffix(line, " event")
}

// settle looks an attempt up at the next start, half an hour later.
func (c landingCase) settle(t *testing.T, b *sendBench, dir string, mine int, by bool) (wrong []string) {
	o := b.options(dir)
	if b.host != fakeHost || b.api.uid != fakeUID || b.api.user != fakeUser {
		return nil
	}
	b.api.tamper, b.api.strip, b.awayUntil = nil, nil, time.Time{}
	engine, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	unfinished, _, err := UnfinishedAttempts(o.AuditDir, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for i := range unfinished {
		fate, err := engine.SettleAttempt(t.Context(), &unfinished[i])
		switch {
		case err != nil:
			wrong = append(wrong, "settling: "+err.Error())
		case fate.Sent == NotSent && mine > 0 && !by:
			wrong = append(wrong, "settled as not sent, and it landed: "+fate.Message)
		case fate.Sent == Landed && mine == 0:
			wrong = append(wrong, "settled as landed, and it did not: "+fate.Message)
		}
	}
	return wrong
}

// tamper makes the case happen.
func (c sendCase) tamper(b *sendBench) {
	stage := 0
	b.api.tamper = func(step string, r *http.Request, serve func() *http.Response) (*http.Response, error) {
		if time.Now().Before(b.awayUntil) {
			return nil, syscall.ECONNREFUSED
		}
		if b.renewed {
			b.renewed = false
			connected(r)
			return statusAnswer(r, 401, "Unauthorized"), nil
		}
		switch {
		case stage == 0 && step == c.step:
			stage = 1
			response, err := answerNamed(c.first)(b.api, r, serve)
			interruptions[c.interruption](b)
			return response, err
		case stage == 1 && step == c.then:
			stage = 2
			return answers[c.second](b.api, r, serve)
		}
		connected(r)
		return serve(), nil
	}
}

// check holds an outcome against what really happened.
func (c sendCase) check(t *testing.T, b *sendBench, out *Outcome, atEnd int) (wrong []string) {
	say := func(holds bool, text string) {
		if !holds {
			wrong = append(wrong, text)
		}
	}
	var mine []string
	log := []AuditEntry{}
	if out.AuditLogPath != "" {
		log = entries(t, out.AuditLogPath)
	}
	attempt := ""
	if len(log) > 0 {
		attempt = log[0].Attempt
	}
	for _, id := range b.api.landings(b.path) {
		if id == attempt || id == "deleted" { // a deletion leaves no mark
			mine = append(mine, id)
		}
	}
	say(b.api.foreign == 0, "it wrote to another cluster or as another user")
	// What was made without an answer, and deleted by somebody at once, is made again: nobody can see that it was there.
	again := !b.given && (c.interruption == "deleted" || c.interruption == "replaced")
	say(len(mine) <= 1 || again, "it wrote twice")
	say(out.Sent != NotSent || len(mine) == 0, "it says not sent, and the write landed")
	say(out.Sent != Landed || (len(mine) == 1 || again) && atEnd > 0, "it says landed, and nothing did")
	say(out.Sent != Landed || !b.api.mutated, "it says landed of what was mutated")
	say(b.api.events == 0 || out.Sent == Landed, "an Event tells of what is not proven")
	say(
		out.Sent == NotSent || !strings.Contains(out.Message, "nothing was written"),
		"it says that nothing was written",
	)
	if now := b.api.get(b.path); now != nil && len(mine) == 1 && c.interruption == "nothing" && out.State == StateReverted {
		say(b.api.mutated, "it accuses somebody")
	}
	if len(log) > 0 {
		end := log[len(log)-1]
		say(
			end.Event == "end" && end.Sent == out.Sent && end.State == out.State,
			"the journal does not end with the outcome",
		)
		noted := false
		for _, l := range log {
			noted = noted || l.Event == "landed" && !isPolicyTarget(l.Target)
		}
		say(noted == (out.Sent == Landed), "the journal notes another landing")
	} else {
		say(len(mine) == 0, "there is no journal of a write")
	}
	return wrong
}

// Whatever becomes of each request, and whatever interrupts it: never the wrong
// cluster or user, never "not sent" of a write that lands, never two writes, and
// the journal is always true.
func TestSendInvariants(t *testing.T) {
	trySends(t, finalizeSend, sampleStride(7, 71, 101))
}

// The same holds for what creates, and for a patch of what is no job.
func TestCreateInvariants(t *testing.T) { trySends(t, createSend, sampleStride(23, 229, 307)) }

func TestBackupNowInvariants(t *testing.T) { trySends(t, backupSend, sampleStride(47, 467, 601)) }

func TestPauseInvariants(t *testing.T) { trySends(t, pauseSend, sampleStride(41, 409, 599)) }

func TestUnpauseInvariants(t *testing.T) { trySends(t, unpauseSend, sampleStride(43, 431, 607)) }

func trySends(t *testing.T, a sendAction, every int) {
	dir := testbed.MemoryDir(t)
	n, tried := 0, 0
	for _, c := range sendCases() {
		if n++; n%every != 0 {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			for _, w := range c.run(t, a, filepath.Join(dir, fmt.Sprint(n))) {
				t.Errorf("%s: %s", c, w)
			}
		})
		tried++
	}
	t.Logf("%d of %d combinations tried", tried, n)
	n, tried = 0, 0
	if every > 1 {
		every *= landingShare
	}
	for _, c := range landingCases() {
		if n++; n%every != 0 {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			for _, w := range c.run(t, a, filepath.Join(dir, fmt.Sprint("landing-", n))) {
				t.Errorf("%s: %s", c, w)
			}
		})
		tried++
	}
	t.Logf("%d of %d combinations with a dry run that lands tried", tried, n)
	if testing.Short() {
		t.Skip("a sample of them passed")
	}
}

// sampleStride returns n of the every nth combination that a test tries: 1 with VELTUI_TESTS=all, more with
// VELTUI_TESTS=more, short with -short, else usual. Strides are primes, so that no combination of few values is
// always left out.
func sampleStride(more, usual, short int) int {
	switch os.Getenv(testbed.ScopeVar) {
	case "all":
		return 1
	case "more":
		usual = more
	}
	if testing.Short() {
		return short
	}
	return usual
}

func sendCases() (cases []sendCase) {
	for _, step := range []string{"write", "dry run", "identity", "read", "evidence", "selfsubjectreviews", "event"} {
		for _, first := range sortedKeys(answers) {
			if step != "write" && strings.HasPrefix(first, "mutated") {
				continue
			}
			for _, interruption := range sortedKeys(interruptions) {
				if step != "write" {
					cases = append(cases, sendCase{step, first, "write", "answered", interruption})
					continue
				}
				for _, second := range sortedKeys(answers) {
					cases = append(cases, sendCase{step, first, "write", second, interruption})
				}
				for _, second := range []string{"403", "403 of a proxy", "lost", "silence", "404 of a proxy", "500"} {
					cases = append(cases, sendCase{step, first, "read", second, interruption})
				}
			}
		}
	}
	return cases
}

// landingShare is how many times fewer of these are tried than of the others.
const landingShare = 12

// landingCases are those in which a dry run is carried out: whatever becomes of its answer, and of the next dry run, read
// or write, and with trouble at each step before.
func landingCases() (cases []landingCase) {
	later := map[string][]string{
		"dry run": {"answered", "lost", "403", "409", "500", "silence", "401", "403 of a proxy"},
		"read":    {"403", "403 of a proxy", "lost", "silence", "404 of a proxy", "500"},
		"write":   {"answered", "403", "409", "answer lost", "late"},
	}
	for _, every := range []bool{true, false} {
		for _, dryRun := range []bool{true, false} {
			for _, first := range append(sortedKeys(answers), sortedKeys(falseAnswers)...) {
				for _, interruption := range sortedKeys(interruptions) {
					for _, then := range sortedKeys(later) {
						for _, second := range later[then] {
							cases = append(
								cases,
								landingCase{sendCase{"dry run", first, then, second, interruption}, every, dryRun},
							)
						}
					}
				}
			}
		}
		for _, step := range []string{"identity", "read", "evidence", "selfsubjectreviews"} {
			for _, first := range sortedKeys(answers) {
				if strings.HasPrefix(first, "mutated") {
					continue
				}
				for _, interruption := range sortedKeys(interruptions) {
					cases = append(
						cases,
						landingCase{sendCase{step, first, "write", "answered", interruption}, every, false},
					)
				}
			}
		}
	}
	return cases
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
