package diagnosis

import (
	"time"

	"github.com/veltui/veltui/internal/job"
)

// ServerDownFor tells why and since when no Velero server runs; the reason is empty while one does, may come
// back, or is hidden.
func ServerDownFor(env Environment) (why Reason, since time.Time) {
	s := env.Server
	if !s.Visible || s.Running || !env.StaleSince.IsZero() {
		return "", time.Time{}
	}
	since = job.Latest(s.LastTerminationAt, s.Created)
	a := &assessment{Case: Case{Now: env.Now}, env: &env}
	if _, elsewhere := a.servedElsewhere(); elsewhere || !since.IsZero() && env.Now.Sub(since) < s.DownGrace() {
		return "", time.Time{}
	}
	if s.Waiting == "CrashLoopBackOff" {
		return ServerCrashLooping, since
	}
	return ServerDown, since
}
