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

// SentState says how much of a write was applied.
type SentState string

const (
	NotSent      SentState = "not sent"
	Landed       SentState = "landed"
	PartlyLanded SentState = "partly landed" // some of several volumes were patched
	Doubtful     SentState = "in doubt"      // it was sent without an answer, and no read could tell whether it landed
)

// OutcomeState is how an execution ended.
type OutcomeState string

const (
	StateRefused  OutcomeState = "refused"  // the evidence, or the API server, does not allow it
	StateChanged  OutcomeState = "changed"  // the job, or the evidence, is no longer what was shown
	StateChecked  OutcomeState = "checked"  // the dry run succeeded, and nothing more was wanted
	StateSettled  OutcomeState = "settled"  // the phase held while it was observed, or Velero ended the job
	StatePending  OutcomeState = "moving"   // the patch holds, but Velero has not ended the job yet
	StateReverted OutcomeState = "reverted" // somebody wrote another phase over it
	StateDeleted  OutcomeState = "deleted"  // the resource no longer exists
	StateAltered  OutcomeState = "altered"  // the API server's answer to the patch is not what was requested
	// StateCarriedOut means that something dropped dryRun, so that what was only to be checked was carried out.
	// Nothing more was sent.
	StateCarriedOut OutcomeState = "dry run carried out"
	// StateMisdirected means that the requested name now belongs to another object.
	StateMisdirected OutcomeState = "another has its name"
	StateNoEffect    OutcomeState = "no effect"  // the patch holds, but Velero did not react
	StateUnfinished  OutcomeState = "unfinished" // an error or an interruption came first
)

// Outcome is the result of an execution.
type Outcome struct {
	State   OutcomeState
	Sent    SentState
	Phase   string // last phase that was seen
	Message string // says in one sentence what happened
	// Plan was applied. After StateChanged it is the new plan, without an Action if the evidence no longer calls for it.
	Plan         Plan
	CopyPath     string   // the file with the object as it was before
	AuditLogPath string   // the audit log
	UndoCommands []string // the commands that undo what should not have been done
	// OnlyDryRun is set if the doubt is about a dry run, and nothing else was sent.
	OnlyDryRun bool
	Warnings   []string // secondary failures
}
