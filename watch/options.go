package watch

import (
	"log/slog"
	"time"

	"k8s.io/client-go/rest"

	"github.com/veltui/veltui/session"
)

// defaultWindow is short enough to look live and long enough for a burst to be one snapshot.
const defaultWindow = 250 * time.Millisecond

// windowsApart is the least distance of two snapshots in windows once all is live: a second, in
// which Velero writes a job's progress once.
const windowsApart = 4

type Options struct {
	Config *rest.Config // leads to the API server. It is copied, not changed
	// Session is the connection that Config is of, nil if nothing can be read again. Its
	// credentials are read again by [Watcher.Retry], and while the present ones do not work. A
	// Watcher ends with a [session.MovedError] once the session leads to another cluster.
	Session *session.Session

	// Namespace was asked for by flag, EnvNamespace by VELERO_NAMESPACE, and
	// ContextNamespace by the kubeconfig's context. Each may be empty.
	Namespace        string
	EnvNamespace     string
	ContextNamespace string

	// Window is how long [Watcher.Next] waits after the first change for others to come. Zero
	// means 250 ms, or no wait at all if there is a Journal.
	Window  time.Duration
	Journal int // how many changes of jobs are kept from one snapshot to the next; zero for none

	// Only narrows the watch to some jobs and their volumes; a JobName without a name is all
	// jobs of its kind. Nothing else that verdicts depend on is watched then; [Read] reads that.
	Only []JobName

	// SumVolumes keeps of volumes that completed in a job that has ended only their
	// sum. [Watcher.ReadVolumes] reads them.
	SumVolumes bool

	// EndedWithin leaves out jobs that ended longer ago, with their volumes that have
	// ended; 0 keeps all. Jobs that go on are always kept.
	EndedWithin time.Duration

	Clock func() time.Time // our own clock; nil means time.Now
	// Log gets what happens on the way; nil discards it. Nothing is ever
	// written to a global logger.
	Log *slog.Logger

	timing timing // the heartbeat's, for tests
}

func (o Options) withDefaults() Options {
	if o.Window == 0 && o.Journal == 0 {
		o.Window = defaultWindow
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.timing.period == 0 {
		o.timing = usualTiming
	}
	return o
}
