package action

import (
	"net/http"
	"testing"
	"testing/synctest"
)

// tampered applies a plan of a send while something in between tampers with its requests.
func tampered(t *testing.T, a sendAction, before func(*sendBench), tamper func(b *sendBench, step string, serve func() *http.Response) *http.Response,
	check func(b *sendBench, out Outcome, err error),
) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		b := newSendBench(a)
		before(b)
		engine, err := New(b.options(dir))
		if err != nil {
			t.Fatal(err)
		}
		p, err := b.plan(t.Context(), engine)
		if err != nil || !p.Possible() {
			t.Fatalf("%v: %s", err, p.Refusal)
		}
		b.api.tamper = func(step string, r *http.Request, serve func() *http.Response) (*http.Response, error) {
			connected(r)
			return tamper(b, step, serve), nil
		}
		out, err := engine.Apply(t.Context(), p, false, nil)
		check(b, out, err)
	})
}

// Something in between repeats the DELETE of an object that no finalizer holds, as nginx does by default when a connection
// breaks. The second is answered with 404, and yet our request deleted the object.
func TestRepeatedDeletionIsNotDenied(t *testing.T) {
	a := deleteRestoreSend
	free := func(b *sendBench) {
		b.api.put(b.path, func(o map[string]any) { delete(o["metadata"].(map[string]any), "finalizers") })
	}
	tampered(t, a, free, func(b *sendBench, step string, serve func() *http.Response) *http.Response {
		if step == "write" && b.api.get(b.path) != nil {
			b.api.delete(b.path) // the first of the two
		}
		return serve()
	}, func(b *sendBench, out Outcome, err error) {
		if out.Sent == NotSent {
			t.Errorf("real: %s, %s: %s, %v", out.State, out.Sent, out.Message, err)
		}
	})
	tampered(t, a, free, func(b *sendBench, step string, serve func() *http.Response) *http.Response {
		if step == "dry run" && b.api.get(b.path) != nil {
			b.api.delete(b.path) // dryRun was dropped, and the request repeated
		}
		return serve()
	}, func(b *sendBench, out Outcome, err error) {
		if out.Sent == NotSent {
			t.Errorf("dry run: %s, %s: %s, %v", out.State, out.Sent, out.Message, err)
		}
	})
}

// A restore names its backup, not the backup's uid: another one that takes the name after the look is restored.
func TestAnotherBackupIsRestored(t *testing.T) {
	for name, change := range map[string]func(b *sendBench){
		"made anew": func(b *sendBench) {
			b.api.put(fakeNamespace+"backups/source", func(o map[string]any) { o["metadata"].(map[string]any)["uid"] = "b-2" })
		},
		"gone":                   func(b *sendBench) { b.api.delete(fakeNamespace + "backups/source") },
		"its deletion requested": func(b *sendBench) { b.deletionRequest("source", "New") },
	} {
		dryRuns := 0
		tampered(t, createSend, func(*sendBench) {}, func(b *sendBench, step string, serve func() *http.Response) *http.Response {
			answer := serve()
			if step == "dry run" {
				if dryRuns++; dryRuns == 1 {
					change(b)
				}
			}
			return answer
		}, func(b *sendBench, out Outcome, err error) {
			if out.Sent != NotSent && out.State != Misdirected {
				t.Errorf("%s: %s, %s: %s, %v", name, out.State, out.Sent, out.Message, err)
			}
		})
	}
}
