package action

import (
	"errors"
	"time"

	"github.com/veltui/veltui/internal/session"
	"github.com/veltui/veltui/retry"
)

const (
	DefaultObservePeriod = 70 * time.Second // a little more than Velero's sync period of one minute
	defaultPollInterval  = 2 * time.Second
	extraVeleroWait      = 4 * time.Minute // added for a job that Velero has to end
	finalReadTimeout     = 2 * time.Second // limits a last read after an interruption: SIGTERM leaves ten seconds
)

// ErrReadOnly is returned for every attempt to write in read-only mode.
var ErrReadOnly = errors.New("veltui runs read-only and changes nothing")

type Options struct {
	Session   *session.Session // the connection to the cluster
	Namespace string           // Velero's namespace
	ReadOnly  bool             // makes every write impossible: there is no code path to one
	// Prober and CountReader read the object store; if nil, what is stored stays unknown.
	Prober      Prober
	CountReader CountReader
	// SkipOperations does not request the list of operations: Velero stores it when asked
	// (download_request_controller.go).
	SkipOperations bool
	// OnWaiting is called with each question to the object store, which may take a minute, and at the end with an empty
	// string; may be nil.
	OnWaiting func(what string)
	// Username is the user's name if the API server does not tell it; Context names the cluster in the audit log.
	Username, Context string
	AuditDir          string // holds the log and the copies; without it nothing is written to the cluster
	// TotalTimeout limits everything before observing; zero means the job's annotated resource timeout, else 10 minutes.
	TotalTimeout   time.Duration
	Backoff        retry.Backoff
	AttemptTimeout time.Duration
	// ObserveFor is how long to watch the result. Zero means DefaultObservePeriod, plus up to extraVeleroWait.
	ObserveFor   time.Duration
	PollInterval time.Duration    // how often to check while observing
	NewAttemptID func() string    // returns a unique word for each execution
	Now          func() time.Time // a recording's clock; nil for time.Now
}

// Engine makes and applies plans for the jobs of one Velero. Nothing else changes a cluster.
type Engine struct {
	options            Options
	connection         *connection
	logCache           logCache
	writer             *writer       // nil in read-only mode
	extraObservePeriod time.Duration // added to Options.ObserveFor for an action that Velero has to end
}

// New prepares an Engine; it does not talk to the cluster.
func New(o Options) (*Engine, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.PollInterval <= 0 {
		o.PollInterval = defaultPollInterval
	}
	if o.OnWaiting == nil {
		o.OnWaiting = func(string) {}
	}
	if o.NewAttemptID == nil {
		o.NewAttemptID = newAttemptID
	}
	a, err := newConnection(o.Session, attemptTimeout(o))
	if err != nil {
		return nil, err
	}
	f := &Engine{options: o, connection: a}
	if o.ObserveFor <= 0 {
		f.options.ObserveFor, f.extraObservePeriod = DefaultObservePeriod, extraVeleroWait
	}
	if !o.ReadOnly {
		f.writer = &writer{connection: a}
	}
	return f, nil
}

// Step is one step of an execution.
type Step string

const (
	StepGather  Step = "look"    // gather all evidence again
	StepDryRun  Step = "dry-run" // have the API server check the patch
	StepSend    Step = "patch"   // send the patch
	StepObserve Step = "observe" // check whether it holds
)

// Progress reports on a running execution, from its goroutine.
type Progress struct {
	Step    Step
	Attempt *retry.Attempt // after each attempt; nil at the step's beginning
	Phase   string         // last phase seen while observing
}
