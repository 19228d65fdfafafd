package logs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/testbed/fixture"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// kubelet serves pods and their logs over HTTP as an API server in front of
// kubelets does; the test bed's has none.
type kubelet struct {
	t  *testing.T
	mu sync.Mutex
	// more is closed, and made anew, when something changes.
	more chan struct{}
	pods map[string]*corev1.Pod
	// logs and previous are those of the containers that run and ran before.
	logs, previous map[string][]stamped
	// cut ends the logs that are followed; refuse answers in place of all logs.
	cut    int
	refuse int
	asked  []string
}

type stamped struct {
	at   time.Time
	text string
}

const ns = "velero"

var start = time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC)

// at is a line of a server at so many seconds after the start of the tests' job.
func at(seconds int, text string) stamped {
	when := start.Add(time.Duration(seconds) * time.Second)
	return stamped{
		when.Add(time.Duration(len(text)) * time.Microsecond),
		"time=\"" + when.Format(time.RFC3339) + "\" level=" + text,
	}
}

func newKubelet(t *testing.T) (*kubelet, Options) {
	k := &kubelet{
		t:        t,
		more:     make(chan struct{}),
		pods:     map[string]*corev1.Pod{},
		logs:     map[string][]stamped{},
		previous: map[string][]stamped{},
	}
	server := httptest.NewServer(k)
	t.Cleanup(func() { k.change(func() { k.cut++ }); server.Close() })
	return k, Options{
		PodsClient: func() (*client.Pods, error) {
			c, err := client.New(&rest.Config{Host: server.URL, QPS: 1000, Burst: 1000}, server.Client(), nil)
			if err != nil {
				return nil, err
			}
			return c.Pods(ns), nil
		},
		RetryDelay: 10 * time.Millisecond, IdleTimeout: 5 * time.Minute,
	}
}

func (k *kubelet) change(how func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	how()
	close(k.more)
	k.more = make(chan struct{})
}

// server is a pod of Velero's server that has run since long before the job.
func (k *kubelet) server(name string, lines ...stamped) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:              name,
			Namespace:         ns,
			Labels:            map[string]string{"deploy": "velero"},
			CreationTimestamp: metav1.NewTime(start.Add(-time.Hour)),
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "velero", Image: "velero/velero:v1.18.3"}}},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning,
			ContainerStatuses: []corev1.ContainerStatus{
				{
					Name:  "velero",
					Ready: true,
					State: corev1.ContainerState{
						Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(start.Add(-time.Hour))},
					},
				},
			},
		},
	}
	k.change(func() {
		k.pods[name] = p
		k.logs[name] = append([]stamped{at(-3000, "info msg=\"Starting\"")}, lines...)
	})
	return p
}

func (k *kubelet) log(pod string, lines ...stamped) {
	k.change(func() { k.logs[pod] = append(k.logs[pod], lines...) })
}

func (k *kubelet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rest := strings.TrimPrefix(r.URL.Path, "/api/v1/namespaces/"+ns+"/pods")
	name, sub, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
	k.mu.Lock()
	pod := k.pods[name].DeepCopy()
	refuse := k.refuse
	k.asked = append(k.asked, r.URL.RequestURI())
	k.mu.Unlock()
	answer := func(code int, o any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(o)
	}
	status := func(code int, reason metav1.StatusReason, message string) {
		fixture.WriteStatus(w, code, reason, message)
	}
	switch {
	case name == "":
		list := corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}}
		k.mu.Lock()
		for _, p := range k.pods {
			list.Items = append(list.Items, *p)
		}
		k.mu.Unlock()
		answer(http.StatusOK, list)
	case pod == nil:
		status(http.StatusNotFound, metav1.StatusReasonNotFound, "pods \""+name+"\" not found")
	case sub == "":
		pod.TypeMeta = metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}
		answer(http.StatusOK, pod)
	case refuse == http.StatusForbidden:
		status(
			refuse,
			metav1.StatusReasonForbidden,
			"pods \""+name+"\" is forbidden: you cannot get resource \"pods/log\"",
		)
	case refuse != 0:
		status(refuse, metav1.StatusReasonInternalError, "the kubelet does not answer")
	default:
		k.serveLog(w, r, name)
	}
}

func (k *kubelet) serveLog(w http.ResponseWriter, r *http.Request, name string) {
	q := r.URL.Query()
	since, _ := time.Parse(time.RFC3339, q.Get("sinceTime"))
	from := k.logs
	if q.Get("previous") == "true" {
		from = k.previous
	}
	k.mu.Lock()
	_, known := from[name]
	cut := k.cut
	k.mu.Unlock()
	if !known {
		const message = "previous terminated container not found"
		fixture.WriteStatus(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, message)
		return
	}
	sent := map[stamped]bool{}
	for {
		k.mu.Lock()
		lines, more, over := slices.Clone(from[name]), k.more, k.cut != cut
		k.mu.Unlock()
		if over && q.Get("follow") == "true" {
			return // without what a container that started meanwhile wrote
		}
		var text bytes.Buffer
		for i, l := range lines {
			key := stamped{l.at, fmt.Sprint(i, l.text)}
			if l.at.Before(since) || sent[key] {
				continue
			}
			sent[key] = true
			fmt.Fprintf(&text, "%s %s\n", l.at.Format(time.RFC3339Nano), l.text)
		}
		if q.Get("limitBytes") != "" {
			text.Truncate(min(text.Len(), 64))
		}
		if _, err := w.Write(text.Bytes()); err != nil || q.Get("follow") != "true" {
			return
		}
		_ = http.NewResponseController(w).Flush()
		select {
		case <-more:
		case <-r.Context().Done():
			return
		}
	}
}

func restore(phase string) *job.Job {
	began := metav1.NewTime(start)
	return job.Fold(nil, job.Observation{ObservedAt: start, Restore: &veleroapi.Restore{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "r9", UID: "u", CreationTimestamp: began},
		Status:     veleroapi.RestoreStatus{Phase: veleroapi.RestorePhase(phase), StartTimestamp: &began},
	}})
}

// read collects what a query brings, a line each: marks begin with two dashes.
func read(t *testing.T, o Options, q Query) ([]string, error) {
	t.Helper()
	var lines []string
	err := New(o).Read(t.Context(), q, Output{OnLine: func(e Entry) error {
		lines = append(lines, shown(e))
		return nil
	}})
	return lines, err
}

func shown(e Entry) string {
	if e.Level == Notice {
		return "-- " + string(e.Raw)
	}
	l := Parse(e.PrefixedText())
	if l.Source != "" {
		return l.Source + ": " + l.Text
	}
	return l.Text
}

func wantLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	ok := len(got) == len(want)
	for i := range min(len(got), len(want)) {
		ok = ok && strings.Contains(got[i], want[i])
	}
	if !ok {
		t.Errorf("the lines are\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

const mine = " restore=velero/r9"

func TestLinesOfARunningJob(t *testing.T) {
	k, o := newKubelet(t)
	k.server("velero-1",
		at(1, `info msg="Starting restore"`+mine),
		at(2, `info msg="of another" restore=velero/r99`),
		at(3, `debug msg="detail"`+mine),
		at(4, `error msg="bad" error=worse`+mine),
		stamped{start.Add(5 * time.Second), "goroutine r9"},
		at(6, `info msg="Checking" controller=gc`+mine),
	)
	lines, err := read(t, o, Query{Job: restore("InProgress")})
	if err != nil {
		t.Fatal(err)
	}
	wantLines(t, lines, "Starting restore", "detail", "bad")
	p, err := New(o).ReadProblems(t.Context(), restore("InProgress"))
	if err != nil || p.Errors != 1 || p.Warnings != 0 || len(p.Lines) != 1 || p.Lines[0].Error != "worse" {
		t.Errorf("its problems are %+v, %v", p, err)
	}
	if r := p.ToResults(); !slices.Equal(r.Errors.Velero, []string{"bad: worse"}) || len(r.Errors.AllMessages()) != 1 ||
		len(r.Warnings.AllMessages()) != 0 {
		t.Errorf("as results: %+v", r)
	}
}

// A line that names a resource in its fields becomes what Velero stores of a backup.
func TestProblemsAsResults(t *testing.T) {
	p := Problems{Errors: 2001, Warnings: 2, Lines: []Line{
		Parse(
			`time="2026-11-21T01:00:00Z" level=error msg="Error backing up item" backup=velero/b error="no such file" name=db-0 namespace=shop resource=pods`,
		),
		Parse(`time="2026-11-21T01:00:00Z" level=warning msg=odd backup=velero/b name=pv-1 resource=persistentvolumes`),
		Parse(`time="2026-11-21T01:00:00Z" level=warning msg=odd namespace=shop restore=velero/b`),
		Parse(
			`time="2026-11-21T01:00:00Z" level=error msg="Namespace ops, resource restore error: error restoring pods/ops/a: refused" restore=velero/b`,
		),
		Parse(
			`time="2026-11-21T01:00:00Z" level=error msg="Cluster resource restore error: odd role" restore=velero/b`,
		),
		Parse(`time="2026-11-21T01:00:00Z" level=error msg="Velero restore error: no room" restore=velero/b`),
	}}
	r := p.ToResults()
	for _, c := range []struct {
		got  []string
		want string
	}{
		{r.Errors.Namespaces["shop"], "resource: /pods name: /db-0 message: /Error backing up item error: /no such file"},
		{r.Errors.Namespaces["ops"], "error restoring pods/ops/a: refused"},
		{r.Errors.Velero, "no room"},
		{r.Errors.Cluster, "odd role"},
		{r.Warnings.Cluster, "resource: /persistentvolumes name: /pv-1 message: /odd"},
		{r.Warnings.Namespaces["shop"], "odd"},
	} {
		if !slices.Equal(c.got, []string{c.want}) {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
	if s := p.Summary(); !strings.Contains(s, "2,001 errors, 2 warnings. Of these, the newest 6 are shown.") ||
		!strings.Contains(s, "not exact counts") {
		t.Error(s)
	}
}

func TestPreviousContainerComesFirst(t *testing.T) {
	k, o := newKubelet(t)
	p := k.server("velero-1", at(20, `info msg="again"`+mine))
	k.change(func() {
		k.previous["velero-1"] = []stamped{at(1, `info msg="before"`+mine)}
		p.Status.ContainerStatuses[0].RestartCount = 1
		p.Status.ContainerStatuses[0].State.Running.StartedAt = metav1.NewTime(start.Add(15 * time.Second))
	})
	lines, err := read(t, o, Query{Job: restore("InProgress")})
	if err != nil {
		t.Fatal(err)
	}
	wantLines(t, lines, "before", "again")
	k.change(func() { delete(k.previous, "velero-1") })
	if lines, err = read(t, o, Query{Job: restore("InProgress")}); err != nil {
		t.Fatal(err)
	}
	wantLines(
		t,
		lines,
		"-- Lines from before 2026-11-21 01:00:15 UTC are missing: the log of the container that ran before",
		"again",
	)
}

// Only the log of the container before is kept: after two starts, what the first
// one logged is gone, and that must be said.
func TestSeveralRestartsAreMarked(t *testing.T) {
	k, o := newKubelet(t)
	p := k.server("velero-1")
	k.change(func() {
		k.logs["velero-1"] = []stamped{at(1200, `info msg="third"`+mine)}
		k.previous["velero-1"] = []stamped{at(600, `info msg="second"`+mine)}
		p.Status.ContainerStatuses[0].RestartCount = 2
		p.Status.ContainerStatuses[0].State.Running.StartedAt = metav1.NewTime(start.Add(19 * time.Minute))
	})
	lines, err := read(t, o, Query{Job: restore("InProgress")})
	if err != nil {
		t.Fatal(err)
	}
	wantLines(
		t,
		lines,
		"-- Lines from before 2026-11-21 01:10:00 UTC are missing: the container in pod velero-1 has started again 2 times",
		"second",
		"third",
	)
	k.change(func() { p.CreationTimestamp = metav1.NewTime(start.Add(9 * time.Minute)) })
	if lines, err = read(t, o, Query{Job: restore("InProgress")}); err != nil {
		t.Fatal(err)
	}
	wantLines(t, lines, "-- Pod velero-1 was made at 2026-11-21 01:09:00 UTC", "second", "third")
	if lines, err = read(t, o, Query{Job: restore("InProgress"), Since: start.Add(5 * time.Minute)}); err != nil {
		t.Fatal(err)
	}
	wantLines(t, lines, "second", "third")
}

func TestServersAreMergedByTime(t *testing.T) {
	k, o := newKubelet(t)
	k.server("velero-1", at(1, `info msg=a`+mine), at(5, `info msg=c`+mine))
	k.server("velero-2", at(2, `info msg=b`+mine), at(9, `info msg=d`+mine))
	lines, err := read(t, o, Query{Job: restore("InProgress")})
	if err != nil {
		t.Fatal(err)
	}
	wantLines(t, lines, "a", "b", "c", "d")
	if lines, err = read(t, o, Query{Job: restore("InProgress"), Since: start.Add(5 * time.Second)}); err != nil {
		t.Fatal(err)
	}
	wantLines(t, lines, "c", "d")
}

func TestRotatedLogIsMarked(t *testing.T) {
	k, o := newKubelet(t)
	k.server("velero-1")
	k.change(func() { k.logs["velero-1"] = []stamped{at(600, `info msg=late`+mine)} })
	lines, err := read(t, o, Query{Job: restore("InProgress")})
	if err != nil {
		t.Fatal(err)
	}
	wantLines(
		t,
		lines,
		"-- Lines from before 2026-11-21 01:10:00 UTC are missing: the log of pod velero-1 was rotated",
		"late",
	)
	p := k.pods["velero-1"]
	k.change(func() { p.CreationTimestamp = metav1.NewTime(start.Add(9 * time.Minute)) })
	if lines, err = read(t, o, Query{Job: restore("InProgress")}); err != nil {
		t.Fatal(err)
	}
	wantLines(t, lines, "-- Pod velero-1 was made at 2026-11-21 01:09:00 UTC", "late")
}

// follower collects lines while they come.
type follower struct {
	t     *testing.T
	lines chan string
	done  chan error
	stop  context.CancelFunc
}

func follow(t *testing.T, o Options, q Query) *follower {
	ctx, cancel := context.WithCancel(t.Context())
	f := &follower{t: t, lines: make(chan string, 1000), done: make(chan error, 1), stop: cancel}
	q.Follow = true
	go func() {
		f.done <- New(o).Read(ctx, q, Output{OnLine: func(e Entry) error { f.lines <- shown(e); return nil }})
	}()
	return f
}

func (f *follower) await(want ...string) {
	f.t.Helper()
	for _, w := range want {
		select {
		case l := <-f.lines:
			if !strings.Contains(l, w) {
				f.t.Errorf("came %q, want %q", l, w)
			}
		case <-time.After(2 * time.Minute):
			f.t.Fatalf("%q never came", w)
		}
	}
}

func (f *follower) end() {
	f.t.Helper()
	f.stop()
	if err := <-f.done; !errors.Is(err, context.Canceled) {
		f.t.Errorf("it ends with %v", err)
	}
	close(f.lines)
	for l := range f.lines {
		f.t.Errorf("more came: %q", l)
	}
}

// Nothing is lost and nothing comes twice when the connection goes, even among
// lines of one moment.
func TestFollowReconnects(t *testing.T) {
	k, o := newKubelet(t)
	k.server("velero-1", at(1, `info msg=a`+mine))
	f := follow(t, o, Query{Job: restore("InProgress")})
	f.await("a")
	same := start.Add(2 * time.Second)
	k.log("velero-1", stamped{same, at(2, `info msg=b`+mine).text}, stamped{same, at(2, `info msg=c`+mine).text})
	f.await("b", "c")
	k.change(func() { k.cut++ })
	k.log("velero-1", stamped{same, at(2, `info msg=d`+mine).text}, at(3, `info msg=e`+mine))
	f.await("d", "e")
	k.change(func() { k.cut++; k.refuse = http.StatusInternalServerError })
	f.await("-- The log of pod velero-1 does not come")
	k.log("velero-1", at(4, `info msg=f`+mine))
	k.change(func() { k.refuse = 0 })
	f.await("f")
	f.end()
}

func TestFollowThroughARestart(t *testing.T) {
	k, o := newKubelet(t)
	p := k.server("velero-1", at(1, `info msg=a`+mine))
	f := follow(t, o, Query{Job: restore("InProgress")})
	f.await("a")
	k.change(func() {
		k.previous["velero-1"] = append(k.logs["velero-1"], at(2, `info msg=last`+mine))
		k.logs["velero-1"] = []stamped{at(9, `info msg=first`+mine)}
		p.Status.ContainerStatuses[0].RestartCount = 1
		p.Status.ContainerStatuses[0].State.Running.StartedAt = metav1.NewTime(start.Add(8 * time.Second))
		k.cut++
	})
	f.await("last", "-- The container in pod velero-1 started again at 2026-11-21 01:00:08 UTC", "first")
	k.change(func() { k.cut++; k.refuse = http.StatusInternalServerError })
	f.await("-- The log of pod velero-1 does not come")
	k.change(func() {
		k.logs["velero-1"] = []stamped{at(30, `info msg="after the rotation"`+mine)}
		k.refuse = 0
	})
	f.await(
		"-- Lines between 2026-11-21 01:00:09 UTC and 2026-11-21 01:00:30 UTC may be missing: the log of pod velero-1 was rotated",
		"after the rotation",
	)
	k.change(func() { delete(k.pods, "velero-1"); k.cut++ })
	f.await("-- Pod velero-1 is gone")
	f.end()
}

func withVolumes(phase string, names ...string) *job.Job {
	j := *restore(phase)
	for _, n := range names {
		j.Volumes = append(j.Volumes, job.Volume{Kind: velero.DataDownload, Name: n, Node: "node-a"})
	}
	return &j
}

func TestVolumes(t *testing.T) {
	k, o := newKubelet(t)
	k.server("velero-1", at(1, `info msg=server`+mine))
	pod := func(name, container string, labels map[string]string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ns, Labels: labels},
			Spec: corev1.PodSpec{NodeName: "node-a", Containers: []corev1.Container{{Name: container}}}}
	}
	elsewhere := pod("node-agent-2", "node-agent", map[string]string{"name": "node-agent"})
	elsewhere.Spec.NodeName = "node-b"
	k.change(func() {
		k.pods["node-agent-1"] = pod("node-agent-1", "node-agent", map[string]string{"name": "node-agent"})
		k.pods["node-agent-2"] = elsewhere
		k.pods["r9-x"] = pod("r9-x", "r9-x", map[string]string{veleroapi.DataDownloadLabel: "r9-x"})
		k.pods["other-x"] = pod("other-x", "other-x", map[string]string{veleroapi.DataDownloadLabel: "other-x"})
		k.logs["node-agent-1"] = []stamped{
			at(2, `info msg="accepted" controller=datadownload datadownload=velero/r9-x`),
			at(3, `info msg="of another" controller=datadownload datadownload=velero/other-x`),
			{
				start.Add(5 * time.Second),
				"***************************begin pod logs[r9-y/r9-y]***************************",
			},
			at(5, `info msg="of a pod that is gone"`),
			{
				start.Add(6 * time.Second),
				"***************************end pod logs[r9-y/r9-y]***************************",
			},
			at(7, `info msg="prepared" owner=r9-y`),
		}
		k.logs["node-agent-2"] = []stamped{at(2, `info msg=elsewhere datadownload=velero/r9-x`)}
		k.logs["r9-x"] = []stamped{at(4, `info msg="moving"`), {start.Add(8 * time.Second), "panic: oh"}}
		k.logs["other-x"] = []stamped{at(4, `info msg="moving another"`)}
	})
	lines, err := read(t, o, Query{Job: withVolumes("InProgress", "r9-x", "r9-y"), Volumes: true})
	if err != nil {
		t.Fatal(err)
	}
	wantLines(
		t,
		lines,
		"server",
		"node-agent-1: accepted",
		"r9-x: moving",
		"begin pod logs",
		"of a pod that is gone",
		"end pod logs",
		"node-agent-1: prepared",
		"r9-x: panic",
	)
	if lines, err = read(t, o, Query{Job: withVolumes("InProgress", "r9-x")}); err != nil {
		t.Fatal(err)
	}
	wantLines(t, lines, "server")
}

// A line of ten megabytes is shown in part, if it is the job's.
func TestLiveLineThatIsTooLong(t *testing.T) {
	k, o := newKubelet(t)
	long := strings.Repeat("x", 10<<20)
	k.server(
		"velero-1",
		at(1, `info msg="`+long+`"`+mine),
		at(2, `info msg="`+long+`" restore=velero/r8`),
		at(3, `info msg=after`+mine),
	)
	var sizes []int
	var last string
	err := New(o).Read(t.Context(), Query{Job: restore("InProgress")}, Output{OnLine: func(e Entry) error {
		sizes = append(sizes, len(e.Raw))
		last = string(e.Raw)
		return nil
	}})
	if err != nil || len(sizes) != 3 || sizes[0] > 2*maxLineBytes || sizes[1] > 2*maxTailBytes ||
		!strings.Contains(last, "after") {
		t.Errorf("lines of %v bytes, the last %.80q, %v", sizes, last, err)
	}
}

// stored is an artifact that is text.
type stored struct{ io.Reader }

func (stored) Close() error     { return nil }
func (stored) Size() int64      { return -1 }
func (stored) BytesRead() int64 { return 0 }

func opens(text string, err error) func(context.Context, artifact.Target) (ArtifactStream, error) {
	return func(_ context.Context, target artifact.Target) (ArtifactStream, error) {
		if target.Kind != veleroapi.DownloadTargetKindRestoreLog || target.Name != "r9" {
			return nil, fmt.Errorf("it asks for %+v", target)
		}
		return stored{strings.NewReader(text)}, err
	}
}

func TestEndedJob(t *testing.T) {
	k, o := newKubelet(t)
	k.server("velero-1", at(1, `info msg=pod`+mine))
	q := Query{Job: restore("Completed"), Follow: true}
	o.OpenArtifact = opens(at(1, "info msg=stored").text+"\n", nil)
	lines, err := read(t, o, q)
	if err != nil {
		t.Fatal(err)
	}
	wantLines(t, lines, "stored")
	if len(k.asked) > 0 {
		t.Errorf("it asked for %v", k.asked)
	}

	// What the pods still have is better than nothing.
	o.OpenArtifact = opens("", artifact.ErrForbidden)
	var origin Origin
	var got []string
	err = New(
		o,
	).Read(t.Context(), q, Output{OnLine: func(e Entry) error { got = append(got, shown(e)); return nil }, OnOrigin: func(from Origin) { origin = from }})
	if err != nil || !errors.Is(origin.NotStored, artifact.ErrForbidden) ||
		!slices.Equal(origin.Pods, []string{"velero-1"}) {
		t.Errorf("it comes from %+v, %v", origin, err)
	}
	wantLines(t, got, "pod")

	// Nobody may take the lines of the pods for the log if something else came in its place.
	o.OpenArtifact = opens("", fmt.Errorf("%w: a page of a proxy", artifact.ErrReplaced))
	lines, err = read(t, o, q)
	if !errors.Is(err, artifact.ErrReplaced) {
		t.Errorf("with a page in place of the log: %v", err)
	}
	wantLines(t, lines, "pod")
	o.OpenArtifact = opens("", artifact.ErrForbidden)
	k.change(func() { k.logs["velero-1"] = k.logs["velero-1"][:1] })
	if _, err := read(
		t,
		o,
		q,
	); !errors.Is(err, artifact.ErrForbidden) ||
		!strings.Contains(err.Error(), "have no line about it") {
		t.Errorf("with nothing to show: %v", err)
	}
	k.change(func() { k.refuse = http.StatusForbidden })
	if _, err := read(t, o, q); !errors.Is(err, artifact.ErrForbidden) || !strings.Contains(err.Error(), "pods/log") {
		t.Errorf("without any right: %v", err)
	}
}

func TestWithoutTheRight(t *testing.T) {
	k, o := newKubelet(t)
	k.server("velero-1")
	k.change(func() { k.refuse = http.StatusForbidden })
	if _, err := read(
		t,
		o,
		Query{Job: restore("InProgress")},
	); err == nil ||
		!strings.Contains(err.Error(), "pods/log") {
		t.Errorf("it says %v", err)
	}
	k.change(func() { delete(k.pods, "velero-1") })
	if _, err := read(
		t,
		o,
		Query{Job: restore("InProgress")},
	); err == nil ||
		!strings.Contains(err.Error(), "no pod of Velero's server") {
		t.Errorf("without a server: %v", err)
	}
}
