package action

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/job"
)

const fakePolicy = "/api/v1/namespaces/velero/configmaps/veltui-new"

var selectSend = sendAction{
	fakeNamespace + "restores/new",
	createdPrefix,
	fill,
	false,
	func(ctx context.Context, f *Engine) (Plan, error) {
		o := newObject(jobGVK(job.Restore), "", "new")
		o.Object["spec"] = map[string]any{
			"backupName":     "source",
			"resourcePolicy": map[string]any{"kind": "configmap", "name": "veltui-new"},
		}
		policy := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1",
			"kind":       "ConfigMap",
			"metadata": map[string]any{
				"name":      "veltui-new",
				"namespace": "velero",
			},
			"data": map[string]any{"policy": "{}"},
		}}
		return f.ProposePlan(ctx, Create, o, Request{Reason: "the shop is gone", PolicyConfigMap: policy})
	},
}

// begin is Velero, which takes up a restore.
func (b *sendBench) begin() {
	if b.api.get(b.path) != nil {
		b.api.put(b.path, func(o map[string]any) { o["status"] = map[string]any{"phase": "InProgress"} })
	}
}

// settleAll is the next start of veltui.
func settleAll(t *testing.T, b *sendBench, o Options) {
	t.Helper()
	engine, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	unfinished, _, err := UnfinishedAttempts(o.AuditDir, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for i := range unfinished {
		if _, err := engine.SettleAttempt(t.Context(), &unfinished[i]); err != nil {
			t.Error(err)
		}
	}
}

// Whatever becomes of each request: at most one Restore, never one that Velero has not begun without its ConfigMap, and
// in the end no ConfigMap.
func TestSelectionInvariants(t *testing.T) {
	every := sampleStride(53, 541, 599)
	for n, c := range sendCases() {
		if n%every != 0 {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			b := newSendBench(selectSend)
			o := b.options(filepath.Join(t.TempDir(), fmt.Sprint(n)))
			engine, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			p, err := b.plan(t.Context(), engine)
			if err != nil || !p.IsPossible() {
				t.Fatalf("no plan: %s %v", p.Refusal, err)
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			b.cancel = cancel
			c.tamper(b)
			if n%2 == 0 {
				time.AfterFunc(10*time.Second, b.begin)
			}
			out, _ := engine.ApplyPlan(ctx, p, false, nil)
			atEnd := len(b.api.landings(b.path))
			time.Sleep(30 * time.Minute)
			synctest.Wait()
			for _, w := range c.check(t, b, &out, atEnd) {
				t.Errorf("%s: %s (%s, %s: %s)", c, w, out.State, out.Sent, out.Message)
			}
			b.api.tamper, b.host, b.api.uid, b.api.user = nil, fakeHost, fakeUID, fakeUser
			mine := func() bool {
				now := b.api.get(b.path)
				return now != nil && strings.Contains(now.GetAnnotations()["veltui.io/created-by"], fakeUser)
			}
			for _, wait := range []time.Duration{0, time.Hour, 25 * time.Hour} {
				time.Sleep(wait)
				settleAll(t, b, o)
				if now := b.api.get(
					b.path,
				); mine() && phaseOf(now) == "" && b.api.get(fakePolicy) == nil && len(b.api.landings(b.path)) == 1 &&
					!b.api.mutated {
					t.Errorf(
						"%s: the ConfigMap of a new restore is gone (%s, %s: %s)",
						c,
						out.State,
						out.Sent,
						out.Message,
					)
				}
			}
			b.begin()
			settleAll(t, b, o)
			made := slices.DeleteFunc(b.api.landings(fakePolicy), func(l string) bool { return l == "deleted" })
			// A request that arrives minutes late makes it anew, which nobody can see.
			if left := b.api.get(
				fakePolicy,
			); len(made) < 2 && left != nil &&
				!b.api.mutated { // without its mark nobody knows whose it is
				t.Errorf(
					"%s: the ConfigMap is left: %v (%s, %s: %s)",
					c,
					left.GetAnnotations(),
					out.State,
					out.Sent,
					out.Message,
				)
			}
		})
	}
}

func TestSelectionPlan(t *testing.T) {
	p := proposed(t, selectSend, func(*sendBench) {})
	if !p.IsPossible() || len(p.targets) != 2 || p.targets[0].GetKind() != "ConfigMap" ||
		!strings.Contains(strings.Join(p.Will, "\n"), "create ConfigMap veltui-new") {
		t.Errorf("%q %q", p.Refusal, p.Will)
	}
	for want, change := range map[string]func(b *sendBench){
		"there is a ConfigMap veltui-new": func(b *sendBench) {
			b.api.put(fakePolicy, func(o map[string]any) {
				o["apiVersion"], o["kind"], o["metadata"] = "v1", "ConfigMap", map[string]any{"name": "veltui-new", "namespace": "velero", "uid": "c-1"}
			})
		},
		"Velero v1.18.2 cannot restore selected objects": func(b *sendBench) {
			b.api.put("/api/v1/namespaces/velero/pods/velero-0", func(o map[string]any) {
				o["spec"] = map[string]any{"containers": []any{map[string]any{"name": "velero", "image": "velero/velero:v1.18.2"}}}
			})
		},
	} {
		if p := proposed(t, selectSend, change); p.IsPossible() || !strings.HasPrefix(p.Refusal, want) {
			t.Errorf("%q, want %q", p.Refusal, want)
		}
	}
}

// The ConfigMap goes once Velero has begun the restore, and at once if the restore was not made.
func TestSelectionEnds(t *testing.T) {
	for name, c := range map[string]struct {
		then func(b *sendBench)
		want SentState
		left bool
	}{
		"Velero begins":        {func(b *sendBench) { time.AfterFunc(3*time.Second, b.begin) }, Landed, false},
		"Velero does not":      {func(*sendBench) {}, Landed, true},
		"the name is taken":    {func(b *sendBench) { takeName(b) }, PartlyLanded, false},
		"the restore is wrong": {func(b *sendBench) { sendCase{"write", "answered", "write", "422", "nothing"}.tamper(b) }, PartlyLanded, false},
	} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			b := newSendBench(selectSend)
			o := b.options(dir)
			engine, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			p, err := b.plan(t.Context(), engine)
			if err != nil {
				t.Fatal(err)
			}
			c.then(b)
			out, _ := engine.ApplyPlan(t.Context(), p, false, nil)
			if is := b.api.get(fakePolicy) != nil; out.Sent != c.want || is != c.left || len(out.Warnings) > 0 {
				t.Errorf(
					"%s: %s, %s: %s; the ConfigMap is there: %v, %q",
					name,
					out.State,
					out.Sent,
					out.Message,
					is,
					out.Warnings,
				)
			}
			unfinished, _, err := UnfinishedAttempts(o.AuditDir, time.Now())
			if err != nil || (len(unfinished) == 1) != c.left {
				t.Errorf("%s: %v %v", name, unfinished, err)
			}
			if c.left && c.want == Landed &&
				!strings.HasSuffix(unfinished[0].FormatSummary(time.Now()), "left a ConfigMap") {
				t.Errorf("%s: %s", name, unfinished[0].FormatSummary(time.Now()))
			}
		})
	}
}

// takeName has somebody take the name of the restore once its ConfigMap is made.
func takeName(b *sendBench) {
	sendCase{"write", "answered", "never", "", "another operator"}.tamper(b)
}
