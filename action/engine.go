package action

import (
	"errors"
	"time"

	"github.com/veltui/veltui/retry"
	"github.com/veltui/veltui/session"
)

// The defaults of Options.
const (
	// DefaultObserve is a sync period of Velero's (one minute) and a little.
	DefaultObserve = 70 * time.Second
	defaultPoll    = 2 * time.Second
	// untilEnded is how much longer than DefaultObserve what Velero has to end is
	// observed, where no other time is set.
	untilEnded = 4 * time.Minute
	// parting is what is left for a last look after an interruption; a program
	// that was told to end has ten seconds.
	parting = 2 * time.Second
)

// ErrReadOnly is returned for every attempt to write in read-only mode.
var ErrReadOnly = errors.New("veltui runs read-only and changes nothing")

// Options are what an Engine needs.
type Options struct {
	// Session is the connection to the cluster.
	Session *session.Session
	// Namespace is Velero's.
	Namespace string
	// ReadOnly makes every write impossible: there is no code path to one.
	ReadOnly bool
	// Prober and Counter look into the object store; without them what is
	// stored is unknown.
	Prober  Prober
	Counter Counter
	// LeaveOperations does not ask for a job's list of operations: Velero stores it
	// again when asked (pkg/controller/download_request_controller.go Reconcile).
	LeaveOperations bool
	// Waiting is called with what is asked of the object store, before each
	// question, and with an empty string after the last; nil for none. A
	// store that does not answer holds up each question for a minute.
	Waiting func(what string)
	// By is who does it, for the case that the API server does not say.
	By string
	// Context names the cluster in the local log.
	Context string
	// AuditDir is where the log and the copies are kept. Nothing is written to
	// the cluster if nothing can be written there.
	AuditDir string
	// Deadline bounds all that comes before observing. Zero stands for the
	// resource timeout that the job's annotation tells, else 10 minutes.
	Deadline time.Duration
	// Backoff and AttemptTimeout are those of every request.
	Backoff        retry.Backoff
	AttemptTimeout time.Duration
	// Observe is how long to watch the result. Zero stands for DefaultObserve,
	// and for as much as four minutes more until Velero has ended the job.
	Observe time.Duration
	// Poll is how often to look.
	Poll time.Duration
	// NewID returns a new unique word for each execution.
	NewID func() string
	// Now tells the time, which recordings have their own of; nil for time.Now.
	Now func() time.Time
}

// Engine makes and applies plans for the jobs of one Velero. It is the only thing
// that changes a cluster.
type Engine struct {
	o      Options
	access *access
	logs   logCache
	// writer is nil in read-only mode.
	writer *writer
	// untilEnded is how much longer than Options.Observe an action is observed
	// that Velero has to end.
	untilEnded time.Duration
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

// The steps, in their order.
const (
	StepLook    Step = "look"    // read all evidence again
	StepDryRun  Step = "dry-run" // have the API server check the patch
	StepPatch   Step = "patch"   // send it
	StepObserve Step = "observe" // see whether it holds
)

// Progress is told while an execution runs, from the goroutine that runs it.
type Progress struct {
	Step Step
	// Attempt is set after each attempt; without it the step has just begun.
	Attempt *retry.Attempt
	// Phase is what was last seen while observing.
	Phase string
}

// Sent says how far the patch came.
type Sent string

// The answers.
const (
	NotSent Sent = "not sent"
	Landed  Sent = "landed"
	// Partly: some of several volumes were patched.
	Partly Sent = "partly landed"
	// Doubtful: it was sent, no answer came, and it could not be seen whether
	// it landed.
	Doubtful Sent = "in doubt"
)

// State is how an execution ended.
type State string

// The ends.
const (
	// Refused: the evidence, or the API server, does not allow it.
	Refused State = "refused"
	// Changed: the job, or what was known of it, is no longer what was shown.
	// Outcome.Plan is what follows from the new evidence.
	Changed State = "changed"
	// Checked: the dry run succeeded, and no more was wanted.
	Checked State = "checked"
	// Settled: the phase held for the time of observing, or the job ended as
	// Velero ends it.
	Settled State = "settled"
	// Moving: the patch holds, but Velero has not ended the job yet.
	Moving State = "moving"
	// Reverted: another phase was written over it.
	Reverted State = "reverted"
	// Deleted: the resource is gone.
	Deleted State = "deleted"
	// Altered: the API server accepted it, and answered with something else than
	// was requested.
	Altered State = "altered"
	// NoEffect: the patch holds, but what it was to bring about did not come.
	NoEffect State = "no effect"
	// Unfinished: an error or an interruption came first.
	Unfinished State = "unfinished"
)

// Outcome is the end of an execution.
type Outcome struct {
	State State
	Sent  Sent
	// Phase is the last that was seen.
	Phase string
	// Message says in one sentence what happened.
	Message string
	// Plan is the plan that was applied; after Changed, the new one, with an
	// empty Action if the evidence no longer calls for it.
	Plan Plan
	// Copy is the file with the object as it was before, Log the audit log.
	Copy string
	Log  string
	// Warnings are things that went wrong beside the matter.
	Warnings []string
}
