package diagnosis

import (
	"time"

	"github.com/veltui/veltui/internal/job"
)

// FindServerOutage returns why and since when no Velero server runs; the reason is empty while one runs, may come
// back, or is hidden.
func FindServerOutage(env World) (why Reason, since time.Time) {
	s := env.Server
	if !s.Visible || s.Running || !env.StaleSince.IsZero() {
		return Reason{}, time.Time{}
	}
	since = job.LatestTime(s.LastTerminationAt, s.Created)
	a := &jobJudge{VerdictBuilder: VerdictBuilder{Now: env.Now}, world: &env}
	if _, elsewhere := a.findLocationServedElsewhere(); elsewhere ||
		!since.IsZero() && env.Now.Sub(since) < s.DownGrace() {
		return Reason{}, time.Time{}
	}
	if s.WaitingReason == "CrashLoopBackOff" {
		return ServerCrashLooping, since
	}
	return ServerDown, since
}
