package action

import (
	"net/http"
	"testing"
	"testing/synctest"
)

// tampered applies a plan of a send while something in between tampers with its requests.
func tampered(
	t *testing.T, a sendAction, before func(*sendBench),
	tamper func(b *sendBench, step string, serve func() *http.Response) *http.Response,
	check func(b *sendBench, out Outcome, err error),
) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		b := newSendBench(a)
		before(b)
		engine, p := b.planned(t, dir)
		b.api.tamper = func(step string, r *http.Request, serve func() *http.Response) (*http.Response, error) {
			connected(r)
			return tamper(b, step, serve), nil
		}
		out, err := engine.ApplyPlan(t.Context(), p, false, nil)
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
