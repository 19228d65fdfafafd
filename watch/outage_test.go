package watch

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// TestServerKilledAndBack is the outage that an upgrade of the control plane
// makes, with nobody at the keyboard.
func TestServerKilledAndBack(t *testing.T) {
	c := newCluster(t)
	ns := c.namespace("killed")
	kept, lost := &veleroapi.Backup{ObjectMeta: named(ns, "kept")}, &veleroapi.Backup{ObjectMeta: named(ns, "lost")}
	c.create(kept, lost)
	c.setPhase(kept, veleroapi.BackupPhaseInProgress)
	w := c.watch(Options{Namespace: ns, timing: defaultTiming})
	w.until("the watch is live", func(s *Snapshot) bool { return isLive(s) && len(s.Jobs) == 2 })

	killed := time.Now()
	if err := c.KillAPIServer(); err != nil {
		t.Fatal(err)
	}
	s := w.until("the data is stale", func(s *Snapshot) bool { return s.Health.State == Stale })
	if len(s.Jobs) != 2 || s.Health.Err == "" || s.Health.RetryAt.IsZero() {
		t.Errorf("%d jobs, health %+v", len(s.Jobs), s.Health)
	}
	if since := s.Health.Since; since.After(killed) {
		t.Errorf("stale since %v after the kill", since.Sub(killed))
	}
	for _, source := range s.Sources {
		if source.State == SourceLive {
			t.Errorf("%s is called live", source.Resource)
		}
	}
	if a := s.BuildWorld(time.Now()); !a.StaleSince.Equal(s.Health.Since) {
		t.Errorf("verdicts are told %v, want %v", a.StaleSince, s.Health.Since)
	}
	// A second attempt has to fail, too, before the server comes back.
	w.until(
		"the retry has been put off",
		func(later *Snapshot) bool { return later.Health.RetryAt.After(s.Health.RetryAt) },
	)

	if err := c.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.setPhase(kept, veleroapi.BackupPhaseCompleted)
	if err := c.Delete(t.Context(), lost); err != nil {
		t.Fatal(err)
	}
	s = w.until("all is right again", func(s *Snapshot) bool {
		return isLive(s) && len(s.Jobs) == 1 && s.Jobs[0].Phase == "Completed"
	})
	if len(s.Active) != 0 || s.Health.Err != "" || !s.Health.RetryAt.IsZero() {
		t.Errorf("%d active jobs, health %+v", len(s.Active), s.Health)
	}
	if len(s.Events) != 1 || s.Events[0].Kind != EventOutage || s.Events[0].At.After(killed) ||
		!s.Events[0].Until.After(killed) ||
		s.Events[0].Reason == "" {
		t.Errorf("the outage was seen as %+v", s.Events)
	}
}

func TestServerHangsAndGoesOn(t *testing.T) {
	c := newCluster(t)
	ns := c.namespace("paused")
	backup := &veleroapi.Backup{ObjectMeta: named(ns, "b")}
	c.create(backup)
	w := c.watch(Options{Namespace: ns})
	w.until("the watch is live", func(s *Snapshot) bool { return isLive(s) && len(s.Jobs) == 1 })

	paused := time.Now()
	if err := c.PauseAPIServer(); err != nil {
		t.Fatal(err)
	}
	s := w.until("the data is stale", func(s *Snapshot) bool { return s.Health.State == Stale })
	if len(s.Jobs) != 1 || s.Health.Since.After(paused) {
		t.Errorf("%d jobs, stale since %v after the pause", len(s.Jobs), s.Health.Since.Sub(paused))
	}
	w.until(
		"a second attempt has failed",
		func(later *Snapshot) bool { return later.Health.RetryAt.After(s.Health.RetryAt) },
	)
	if err := c.ResumeAPIServer(); err != nil {
		t.Fatal(err)
	}
	c.setPhase(backup, veleroapi.BackupPhaseCompleted)
	w.until("all is right again", func(s *Snapshot) bool {
		return isLive(s) && len(s.Jobs) == 1 && s.Jobs[0].Phase == "Completed"
	})
}

// TestServerAwayFromTheStart checks that nothing waits for a server that is not
// there, and that everything comes when it is.
func TestServerAwayFromTheStart(t *testing.T) {
	c := newCluster(t)
	ns := c.namespace("later")
	c.create(&veleroapi.Backup{ObjectMeta: named(ns, "b")})
	if err := c.KillAPIServer(); err != nil {
		t.Fatal(err)
	}
	w := c.watch(Options{Namespace: ns})
	s := w.until("the first attempt has failed", func(s *Snapshot) bool { return s.Health.Err != "" })
	if s.Health.State != Connecting || len(s.Sources) != len(Options{}.watchedKinds()) {
		t.Errorf("health %+v, %d sources", s.Health, len(s.Sources))
	}
	if err := c.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.until("the backup is there", func(s *Snapshot) bool { return isLive(s) && len(s.Jobs) == 1 })
}

// setPhase writes a phase, as often as it takes while a server starts.
func (c *cluster) setPhase(b *veleroapi.Backup, phase veleroapi.BackupPhase) {
	c.t.Helper()
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"status":{"phase":%q}}`, phase))
	ctx, cancel := context.WithTimeout(c.t.Context(), enough)
	defer cancel()
	var err error
	for ctx.Err() == nil {
		if err = c.Patch(ctx, b, patch); err == nil {
			return
		}
	}
	c.t.Fatal(errors.Join(err, ctx.Err()))
}
