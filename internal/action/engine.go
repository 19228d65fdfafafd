package action

import (
	"errors"
	"time"

	"github.com/veltui/veltui/internal/session"
	"github.com/veltui/veltui/retry"
)

const (
	DefaultObserve = 70 * time.Second // a little more than a sync period of Velero's (one minute)
	defaultPoll    = 2 * time.Second
	untilEnded     = 4 * time.Minute // added for a job that Velero has to end
	parting        = 2 * time.Second // bounds a last look after an interruption: SIGTERM leaves ten seconds
)

// ErrReadOnly is returned for every attempt to write in read-only mode.
var ErrReadOnly = errors.New("veltui runs read-only and changes nothing")

type Options struct {
	Session   *session.Session // the connection to the cluster
	Namespace string           // Velero's own
	ReadOnly  bool             // makes every write impossible: there is no code path to one
	// Prober and Counter read the object store; nil leaves what is stored unknown.
	Prober  Prober
	Counter Counter
	// LeaveOperations leaves the list of operations alone: Velero stores it when asked (download_request_controller.go).
	LeaveOperations bool
	// Waiting gets each question to the object store, which may take a minute, and in the end an empty string; may be nil.
	Waiting func(what string)
	// By is the user's name where the API server does not tell it, Context the cluster's in the audit log.
	By, Context string
	AuditDir    string // holds the log and the copies; nothing is written to the cluster without them
	// Deadline bounds all before observing; zero stands for the job's annotated resource timeout, else 10 minutes.
	Deadline       time.Duration
	Backoff        retry.Backoff
	AttemptTimeout time.Duration
	// Observe is how long to watch the result. Zero stands for DefaultObserve, and up to untilEnded more.
	Observe time.Duration
	Poll    time.Duration    // how often to look while observing
	NewID   func() string    // returns a unique word for each execution
	Now     func() time.Time // a recording's clock; nil for time.Now
}

// Engine makes and applies plans for the jobs of one Velero. Nothing else changes a cluster.
type Engine struct {
	o          Options
	access     *access
	logs       logCache
	writer     *writer       // nil in read-only mode
	untilEnded time.Duration // added to Options.Observe for an action that Velero has to end
}

// New prepares an Engine; it does not talk to the cluster.
func New(o Options) (*Engine, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Poll <= 0 {
		o.Poll = defaultPoll
	}
	if o.Waiting == nil {
		o.Waiting = func(string) {}
	}
	if o.NewID == nil {
		o.NewID = newID
	}
	a, err := connect(o.Session, attemptTimeout(o))
	if err != nil {
		return nil, err
	}
	f := &Engine{o: o, access: a}
	if o.Observe <= 0 {
		f.o.Observe, f.untilEnded = DefaultObserve, untilEnded
	}
	if !o.ReadOnly {
		f.writer = &writer{access: a}
	}
	return f, nil
}

// Step is a part of an execution.
type Step string

const (
	StepLook    Step = "look"    // read all evidence again
	StepDryRun  Step = "dry-run" // have the API server check the patch
	StepPatch   Step = "patch"   // send it
	StepObserve Step = "observe" // see whether it holds
)

// Progress reports on a running execution, from its goroutine.
type Progress struct {
	Step    Step
	Attempt *retry.Attempt // after each attempt; nil at the step's beginning
	Phase   string         // what was last seen while observing
}

// Sent says how much of a patch was applied.
type Sent string

const (
	NotSent  Sent = "not sent"
	Landed   Sent = "landed"
	Partly   Sent = "partly landed" // some of several volumes were patched
	Doubtful Sent = "in doubt"      // it was sent without an answer, and no read could tell whether it landed
)

// State is how an execution ended.
type State string

const (
	Refused  State = "refused"  // the evidence, or the API server, does not allow it
	Changed  State = "changed"  // the job, or the evidence, is no longer what was shown
	Checked  State = "checked"  // the dry run succeeded, and no more was wanted
	Settled  State = "settled"  // the phase held while it was observed, or Velero ended the job
	Moving   State = "moving"   // the patch holds, but Velero has not ended the job yet
	Reverted State = "reverted" // somebody wrote another phase over it
	Deleted  State = "deleted"  // the resource no longer exists
	Altered  State = "altered"  // the API server's answer to the patch is not what was requested
	// CarriedOut: something dropped dryRun, so that what was only to be checked was done. Nothing more was sent.
	CarriedOut State = "dry run carried out"
	// Misdirected: what was requested by name is now about another object of that name.
	Misdirected State = "another has its name"
	NoEffect    State = "no effect"  // the patch holds, but Velero did not react
	Unfinished  State = "unfinished" // an error or an interruption came first
)

// Outcome is the end of an execution.
type Outcome struct {
	State   State
	Sent    Sent
	Phase   string // the last that was seen
	Message string // says in one sentence what happened
	// Plan was applied. After Changed it is the new one, without an Action if the evidence no longer calls for it.
	Plan Plan
	Copy string   // the file with the object as it was before
	Log  string   // the audit log
	Undo []string // the commands that take back what should not have been done
	// OnlyDryRun is set where the doubt is about a dry run, and nothing else was sent.
	OnlyDryRun bool
	Warnings   []string // secondary failures
}
