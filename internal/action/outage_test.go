package action

import (
	"net/http"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/retry"
)

var errRefused error = syscall.ECONNREFUSED

// The API server is killed before the patch and comes back: the patch lands with
// the first attempt that begins after the API server answers all of an attempt again.
func TestAPIServerKilledInMidRetry(t *testing.T) {
	in := install(t)
	in.restore("r")
	in.server(time.Now().Add(10 * time.Minute))
	f := in.finalizer(func(o *Options) { o.Backoff = retry.CapBackoff(2 * time.Second) })
	p := in.plan(f, job.Restore, "r", Request{})
	back := make(chan time.Time, 1)
	var failed []time.Time // when each failed attempt began
	var landed time.Time
	var begins time.Time
	out, err := f.ApplyPlan(t.Context(), p, false, func(now Progress) {
		switch {
		case now.Step != StepSend:
		case now.Attempt == nil:
			begins = time.Now()
			if err := in.KillAPIServer(); err != nil {
				t.Error(err)
			}
		case now.Attempt.Err != nil:
			failed = append(failed, begins)
			begins = time.Now().Add(now.Attempt.Delay)
			if len(failed) == 4 {
				go func() {
					if err := in.StartAPIServer(t.Context()); err != nil {
						t.Error(err)
					}
					back <- in.answersAttempts("r")
				}()
			}
		default:
			landed = time.Now()
		}
	})
	if err != nil || out.State != StateSettled || out.Phase != "Failed" {
		t.Fatalf("%v, %+v", err, out)
	}
	ready := <-back
	late := 0
	for _, at := range failed {
		if at.After(ready) {
			late++
		}
	}
	if len(failed) < 4 || late > 1 {
		t.Errorf("%d attempts failed, %d of them begun after the API server's return", len(failed), late)
	}
	if in.requests.landed != 1 {
		t.Errorf("the API server carried out %d patches", in.requests.landed)
	}
	t.Logf(
		"%d failed attempts, landed %s after the API server was ready",
		len(failed),
		landed.Sub(ready).Round(time.Millisecond),
	)
}

// answersAttempts waits until the API server answers all that an attempt asks of it,
// which is well after it listens: first it reads its roles and its custom resources, and
// the first request for a custom resource may be told that its storage is initializing.
func (in *installation) answersAttempts(name string) time.Time {
	r := &veleroapi.Restore{ObjectMeta: metav1.ObjectMeta{Namespace: in.namespace, Name: name}}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"probe":"yes"}}}`))
	requests := []func() error{
		func() error { return in.Patch(in.t.Context(), r, patch, client.DryRunAll) },
		func() error { return in.List(in.t.Context(), &veleroapi.PodVolumeRestoreList{}) },
		func() error { return in.List(in.t.Context(), &veleroapi.DataDownloadList{}) },
	}
	for _, request := range requests {
		for in.t.Context().Err() == nil && request() != nil {
			time.Sleep(20 * time.Millisecond)
		}
	}
	return time.Now()
}

// The API server hangs while the patch is sent: connections stand, nothing is
// answered, and what was sent may still be carried out when it goes on. The
// patch lands once all the same.
func TestAPIServerHangsInMidRetry(t *testing.T) {
	in := install(t)
	before := in.restore("r")
	in.server(time.Now().Add(10 * time.Minute))
	p := in.plan(in.finalizer(), job.Restore, "r", Request{})
	// What it sends it sends again, however slow the machine is.
	f := in.finalizer(func(o *Options) { o.AttemptTimeout, o.TotalTimeout = 5*time.Second, 20*time.Minute })
	t.Cleanup(func() { _ = in.ResumeAPIServer() })
	failed := 0
	out, err := f.ApplyPlan(t.Context(), p, false, func(now Progress) {
		switch {
		case now.Step != StepSend:
		case now.Attempt == nil:
			if err := in.PauseAPIServer(); err != nil {
				t.Error(err)
			}
		case now.Attempt.Err != nil:
			if failed++; failed == 2 {
				if err := in.ResumeAPIServer(); err != nil {
					t.Error(err)
				}
			}
		}
	})
	if err != nil || out.State != StateSettled || out.Sent != Landed || out.Phase != "Failed" || failed < 2 {
		t.Fatalf("%v, %+v, %d failed attempts", err, out, failed)
	}
	if changes := in.changes(before); len(changes) != 1 || phaseOf(changes[0]) != "Failed" {
		t.Errorf("changed %d times", len(changes))
	}
}

// The patch has landed, and then reads fail: what became of it is still found out,
// also after the time to observe, as long as the deadline allows.
func TestObservingOutlastsFailedReads(t *testing.T) {
	const observes = DefaultObservePeriod
	for _, c := range []struct {
		name     string
		deadline time.Duration
		lasts    time.Duration // how long reads fail
		refused  bool          // the read that fails last is refused, as by a server that has not read its roles
		settled  bool
	}{
		{"beyond the time to observe", 5 * time.Minute, observes + apiServerStartGrace/2, false, true},
		{"refused after the outage", 5 * time.Minute, observes / 2, true, true},
		{"beyond the deadline", observes + apiServerStartGrace/4, observes + apiServerStartGrace/2, false, false},
		{"for good", 5 * time.Minute, time.Hour, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newSendBench(finalizeSend)
				f, p := b.planned(t, t.TempDir(), func(o *Options) {
					o.TotalTimeout, o.ObserveFor = c.deadline, observes
				})
				var since time.Time
				b.api.tamper = func(step string, r *http.Request, serve func() *http.Response) (*http.Response, error) {
					switch {
					case since.IsZero() || step != "read":
					case time.Since(since) < c.lasts:
						return nil, &lostConnection{}
					case c.refused:
						c.refused = false
						return forbidden(r), nil
					}
					connected(r)
					return serve(), nil
				}
				out, err := f.ApplyPlan(t.Context(), p, false, at(StepObserve, func() {
					if since.IsZero() {
						since = time.Now()
					}
				}))
				switch {
				case c.settled && (err != nil || out.State != StateSettled || out.Phase != "Failed"):
					t.Errorf("%v, %+v", err, out)
				case !c.settled && (err == nil || out.State != StateUnfinished || out.Sent != Landed):
					t.Errorf("%v, %+v", err, out)
				}
			})
		})
	}
}

// changes are all changes of a resource since it was read, the last of which
// is one that this function makes itself and leaves out.
func (in *installation) changes(since client.Object) []*unstructured.Unstructured {
	in.t.Helper()
	c, err := dynamic.NewForConfig(in.RESTConfig())
	if err != nil {
		in.t.Fatal(err)
	}
	restores := c.Resource(veleroapi.GroupVersion.WithResource("restores")).Namespace(in.namespace)
	patch := []byte(`{"metadata":{"annotations":{"test/last":"yes"}}}`)
	if _, err := restores.Patch(
		in.t.Context(),
		since.GetName(),
		types.MergePatchType,
		patch,
		metav1.PatchOptions{},
	); err != nil {
		in.t.Fatal(err)
	}
	w, err := restores.Watch(in.t.Context(), metav1.ListOptions{
		ResourceVersion: since.GetResourceVersion(), FieldSelector: "metadata.name=" + since.GetName()})
	if err != nil {
		in.t.Fatal(err)
	}
	defer w.Stop()
	var changes []*unstructured.Unstructured
	for event := range w.ResultChan() {
		o, ok := event.Object.(*unstructured.Unstructured)
		if !ok {
			in.t.Fatalf("watching: %v", event.Object)
		}
		if o.GetAnnotations()["test/last"] != "" {
			break
		}
		changes = append(changes, o)
	}
	return changes
}
