package finalize

import (
	"syscall"
	"testing"
	"time"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/retry"
)

var errRefused error = syscall.ECONNREFUSED

// The API server is killed before the patch and comes back: the patch lands with
// the first attempt that begins after its return.
func TestAPIServerKilledInMidRetry(t *testing.T) {
	in := install(t)
	in.restore("r")
	in.server(time.Now().Add(time.Minute))
	f := in.finalizer(func(o *Options) { o.Backoff = retry.CapBackoff(2 * time.Second) })
	p := in.plan(f, job.Restore, "r", Request{})
	back := make(chan time.Time, 1)
	var failed []time.Time
	var landed time.Time
	out, err := f.Execute(t.Context(), p, false, func(now Progress) {
		switch {
		case now.Step != StepPatch:
		case now.Attempt == nil:
			if err := in.KillAPIServer(); err != nil {
				t.Error(err)
			}
		case now.Attempt.Err != nil:
			failed = append(failed, time.Now())
			if len(failed) == 4 {
				go func() {
					if err := in.StartAPIServer(t.Context()); err != nil {
						t.Error(err)
					}
					back <- time.Now()
				}()
			}
		default:
			landed = time.Now()
		}
	})
	if err != nil || out.State != Settled || out.Phase != "Failed" {
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
		t.Errorf("%d attempts failed, %d of them after the API server's return", len(failed), late)
	}
	t.Logf("%d failed attempts, landed %s after the API server was ready", len(failed), landed.Sub(ready).Round(time.Millisecond))
}
