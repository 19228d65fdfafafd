package action

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// journal writes an audit log whose process is gone.
type journal struct {
	t   *testing.T
	dir string
}

func (j journal) write(e AuditEntry) {
	j.t.Helper()
	must(j.t, os.MkdirAll(j.dir, 0o700))
	machine, err := os.Hostname()
	must(j.t, err)
	e.Time, e.Machine = time.Now(), machine
	must(j.t, appendEntry(filepath.Join(j.dir, AuditLogFile), e))
}

func (j journal) unfinished() []Attempt {
	j.t.Helper()
	all, _, err := UnfinishedAttempts(j.dir, time.Now())
	must(j.t, err)
	return all
}

// entryOf is the entry of an attempt on a restore.
func (in *installation) entryOf(r *veleroapi.Restore, event, attempt string) AuditEntry {
	return AuditEntry{
		Event:     event,
		Attempt:   attempt,
		Cluster:   in.session(in.RESTConfig()).Identity().Server,
		Context:   "prod-east",
		Action:    string(Finalize),
		Kind:      "Restore",
		Namespace: r.Namespace,
		Name:      r.Name,
		UID:       string(r.UID),
		By:        "jane",
	}
}

// recordedPatch is a patch as the audit log has it, where before were the attempts
// that its mark named already.
func recordedPatch(r *veleroapi.Restore, attempt string, before ...string) json.RawMessage {
	data, err := json.Marshal([]patchOperation{
		{"test", "/metadata/uid", r.UID},
		{"test", "/metadata/resourceVersion", r.ResourceVersion},
		{"add", "/status/phase", "Failed"},
		{
			"add",
			"/metadata/annotations/veltui.io~1finalized-attempt",
			strings.Join(append([]string{attempt}, before...), " ") + " .",
		},
	})
	if err != nil {
		panic(err)
	}
	return data
}

// change applies a merge patch to a restore.
func (in *installation) change(r *veleroapi.Restore, patch string) {
	in.t.Helper()
	must(
		in.t,
		in.Patch(
			in.t.Context(),
			newObject(jobGVK(job.Restore), r.Namespace, r.Name),
			client.RawPatch("application/merge-patch+json", []byte(patch)),
		),
	)
}

// What an attempt left behind is found out by the object, and noted once.
func TestSettle(t *testing.T) {
	in := install(t)
	here, err := in.session(in.RESTConfig()).Identify(t.Context())
	must(t, err)
	if here.UID == "" {
		t.Fatal("the cluster has no uid")
	}
	mark := func(r *veleroapi.Restore, text string) {
		in.change(
			r,
			fmt.Sprintf(
				`{"metadata":{"annotations":{"veltui.io/finalized-attempt":%q}},"status":{"phase":"Failed"}}`,
				text,
			),
		)
	}
	for name, c := range map[string]struct {
		before   []string
		unsent   bool
		noted    bool // that it landed
		happened func(r *veleroapi.Restore)
		uid      bool // that of the cluster is known
		sent     SentState
		known    bool
		phase    string
	}{
		"begun only":                        {unsent: true, sent: NotSent, known: true},
		"landed":                            {happened: func(r *veleroapi.Restore) { mark(r, "ours") }, sent: Landed, known: true, phase: "Failed"},
		"landed, before others":             {happened: func(r *veleroapi.Restore) { mark(r, "theirs ours") }, sent: Landed, known: true, phase: "Failed"},
		"landed, and noted":                 {noted: true, sent: Landed, known: true},
		"untouched":                         {sent: Doubtful, phase: "InProgress"},
		"moved on":                          {happened: func(r *veleroapi.Restore) { in.change(r, `{"status":{"phase":"Completed"}}`) }, sent: NotSent, known: true, phase: "Completed"},
		"moved on, marked before":           {before: []string{"old"}, happened: func(r *veleroapi.Restore) { mark(r, "theirs old") }, sent: NotSent, known: true, phase: "Failed"},
		"moved on, marked by one who keeps": {happened: func(r *veleroapi.Restore) { mark(r, "theirs .") }, sent: NotSent, known: true, phase: "Failed"},
		"ours fell out of the list":         {happened: func(r *veleroapi.Restore) { mark(r, "a b c d e f g h .") }, sent: Doubtful, known: true, phase: "Failed"},
		"marked by others":                  {happened: func(r *veleroapi.Restore) { mark(r, "theirs") }, sent: Doubtful, known: true, phase: "Failed"},
		"gone":                              {happened: func(r *veleroapi.Restore) { must(t, in.Delete(t.Context(), r)) }, uid: true, sent: Doubtful, known: true},
		"gone, perhaps elsewhere":           {happened: func(r *veleroapi.Restore) { must(t, in.Delete(t.Context(), r)) }, sent: Doubtful},
		"another of the same name":          {happened: func(r *veleroapi.Restore) { must(t, in.Delete(t.Context(), r)); in.restore(r.Name) }, uid: true, sent: Doubtful, known: true},
		"another, perhaps elsewhere":        {happened: func(r *veleroapi.Restore) { must(t, in.Delete(t.Context(), r)); in.restore(r.Name) }, sent: Doubtful},
		"an id that is part of a word":      {happened: func(r *veleroapi.Restore) { mark(r, "oursandmore") }, sent: Doubtful, known: true, phase: "Failed"},
	} {
		t.Run(name, func(t *testing.T) {
			j := journal{t, ownDir(t)}
			r := in.restore("r-" + strings.Trim(strings.NewReplacer(" ", "-", ",", "").Replace(name), "-"))
			e := in.entryOf(r, "begin", "ours")
			if c.uid {
				e.ClusterUID = string(here.UID)
			}
			j.write(e)
			if !c.unsent {
				e.Event, e.Patch = "send", recordedPatch(r, "ours", c.before...)
				j.write(e)
			}
			if c.noted {
				e.Event, e.Patch = "landed", nil
				j.write(e)
			}
			if c.happened != nil {
				c.happened(r)
			}
			f := in.finalizer(func(o *Options) { o.AuditDir, o.ReadOnly = j.dir, true })
			attempts := j.unfinished()
			if len(attempts) != 1 || !f.IsSameCluster(&attempts[0]) {
				t.Fatalf("unfinished: %+v", attempts)
			}
			fate, err := f.SettleAttempt(t.Context(), &attempts[0])
			if err != nil || fate.Sent != c.sent || fate.IsKnown != c.known || fate.Phase != c.phase ||
				fate.Message == "" {
				t.Errorf("%v, %+v", err, fate)
			}
			if left := len(j.unfinished()); (left == 0) != c.known {
				t.Errorf("%d are unfinished afterwards", left)
			}
		})
	}
}

// A cancellation has several objects, and landed where all of them have it.
func TestSettleSeveral(t *testing.T) {
	in := install(t)
	one, other := in.restore("one"), in.restore("other")
	j := journal{t, ownDir(t)}
	j.write(in.entryOf(one, "begin", "ours"))
	for _, r := range []*veleroapi.Restore{one, other} {
		e := in.entryOf(r, "send", "ours")
		e.Patch = recordedPatch(r, "ours")
		j.write(e)
	}
	f := in.finalizer(func(o *Options) { o.AuditDir = j.dir })
	settle := func() AttemptFate {
		t.Helper()
		fate, err := f.SettleAttempt(t.Context(), &j.unfinished()[0])
		must(t, err)
		return fate
	}
	in.change(one, `{"metadata":{"annotations":{"veltui.io/finalized-attempt":"ours"}}}`)
	if fate := settle(); fate.IsKnown || fate.Sent != Doubtful {
		t.Errorf("one of two landed: %+v", fate)
	}
	in.change(other, `{"status":{"phase":"Completed"}}`)
	if fate := settle(); !fate.IsKnown || fate.Sent != PartlyLanded {
		t.Errorf("one landed, the other did not: %+v", fate)
	}
}

// Another cluster is never taken for the one where an attempt was made, and nothing
// but its uid is read where nothing was sent.
func TestSettleOnItsOwnClusterOnly(t *testing.T) {
	in := install(t)
	r := in.restore("r")
	f := in.finalizer()
	here, err := f.connection.Identify(t.Context())
	must(t, err)
	for _, c := range []struct {
		server, uid string
		here        bool
	}{
		{here.Server, string(here.UID), true}, {here.Server, "", true}, {here.Server, "another", false},
		{"https://elsewhere:6443", string(here.UID), false}, {"", string(here.UID), false}, {"", "", false},
	} {
		if got := f.IsSameCluster(&Attempt{AuditEntry: AuditEntry{Cluster: c.server, ClusterUID: c.uid}}); got != c.here {
			t.Errorf("%+v: %t", c, got)
		}
	}
	var paths []string
	in.requests.set(func(_ http.RoundTripper, r *http.Request) (*http.Response, error) {
		paths = append(paths, r.URL.Path)
		return nil, nil
	})
	for _, uid := range []string{"", "another"} {
		j := journal{t, ownDir(t)}
		e := in.entryOf(r, "begin", "ours")
		e.ClusterUID = uid
		j.write(e)
		f := in.finalizer(func(o *Options) { o.AuditDir = j.dir }) // whose cluster has not been identified
		fate, err := f.SettleAttempt(t.Context(), &j.unfinished()[0])
		if err != nil || fate.IsKnown != (uid == "") || len(j.unfinished()) == 0 != fate.IsKnown {
			t.Errorf("%q: %v, %+v", uid, err, fate)
		}
	}
	for _, p := range paths {
		if p != "/api/v1/namespaces/kube-system" {
			t.Errorf("asked for %s", p)
		}
	}
}

// An attempt that is cut off by the death of its process is settled by the next, as
// it would have been told.
func TestApplyThatWasKilledIsSettled(t *testing.T) {
	in := install(t)
	r := in.restore("r")
	in.server(time.Now().Add(10 * time.Minute))
	dir := ownDir(t)
	f := in.finalizer(func(o *Options) { o.AuditDir = dir })
	out, err := f.ApplyPlan(t.Context(), in.plan(f, job.Restore, "r", Request{}), false, nil)
	must(t, err)
	if locks, _ := filepath.Glob(filepath.Join(dir, "*.lock")); len(locks) != 0 {
		t.Errorf("locks stay: %v", locks)
	}
	data, err := os.ReadFile(out.AuditLogPath)
	must(t, err)
	lines := strings.SplitAfter(string(data), "\n")
	must(
		t,
		os.WriteFile(out.AuditLogPath, []byte(strings.Join(lines[:2], "")+lines[2][:20]), 0o600),
	) // killed while it wrote "landed"
	j := journal{t, dir}
	fate, err := f.SettleAttempt(t.Context(), &j.unfinished()[0])
	if err != nil || fate.Sent != Landed || fate.Phase != "Failed" || len(j.unfinished()) != 0 {
		t.Errorf("%v, %+v", err, fate)
	}
	if err := in.Get(
		t.Context(),
		client.ObjectKeyFromObject(r),
		r,
	); err != nil ||
		r.Status.Phase != veleroapi.RestorePhaseFailed {
		t.Errorf("%v, %s", err, r.Status.Phase)
	}
}
