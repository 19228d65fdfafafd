package action

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
