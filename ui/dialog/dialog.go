package dialog

import (
	"context"
	"fmt"
	"slices"
	"time"

	"charm.land/bubbles/v2/textinput"
	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/view/remedy"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/ui/keys"
)

// Engine gathers the evidence of an action and carries its plan out.
type Engine interface {
	GatherEvidence(ctx context.Context, namespace string, kind job.Kind, name string) (action.Evidence, error)
	ApplyPlan(ctx context.Context, plan action.Plan, dryRun bool, report func(action.Progress)) (action.Outcome, error)
}

type Options struct {
	Engine  Engine
	Request action.Request   // how the kubectl commands shown get to the cluster
	Start   fetch.StartFunc  // makes a command of work that ends with the program
	Clock   func() time.Time // our own clock
	Context string           // the kubeconfig context, which is typed to confirm
	Jobs    []*job.Job       // what it is about, at least one
	// ProposePlan makes the plan of an action that is about no running job, which its argument then only names; nil
	// finalizes. The names are those of the other jobs of that kind that this dialog has changed, or is yet to ask about.
	ProposePlan func(context.Context, *job.Job, []string) (action.Plan, error)
	Title       string // the verb before the job's name, empty for Finalize
	// OnChanged is called once a change has landed, and OpenChanged opens the changed or created resource; nil if
	// nothing is to be done, or opened.
	OnChanged     func(action.Plan)
	OpenChanged   func(action.Plan) tea.Cmd
	IsLargeEnough func() bool    // reports whether the terminal is large enough to read a plan
	NoClipboard   bool           // true if nothing can be copied
	Keys          keys.Overrides // the keys that sentences name
}

type Stage int

const (
	StageGathering      Stage = iota // the evidence is being gathered
	StageEvidenceFailed              // gathering the evidence failed
	StageChoosing                    // the evidence is shown with a plan or a refusal
	StageTyping                      // the name is being typed
	StageApplying                    // a plan is being applied or dry-run
	StageResult                      // the result is shown
	StageSummary                     // the results for several jobs are shown
)

// Dialog leads through an action on one or several jobs, each with its own evidence and typed name.
type Dialog struct {
	options     Options
	keyBindings []keys.Binding

	jobIndex       int      // index of the current job
	results        []string // the result for each job, in one line
	stage          Stage
	stageEnteredAt time.Time       // when the stage began
	ignoresKeys    bool            // true at the beginning of a stage
	ignoredKey     bool            // true if a key was ignored in this stage
	lastKeyAt      time.Time       // when a key was last pressed in the stage
	anyKeyAt       time.Time       // when a key was last pressed in the dialog
	isBurst        bool            // true if the last key came at once with the key before it
	graceTimer     fetch.Debouncer // ends the time in which keys are ignored
	redrawTimer    fetch.Debouncer // redraws while work is in progress

	plansAnswer     fetch.Answer[[]action.Plan]
	planChoices     []action.Plan // the possible plans, the evidence's own plan first
	chosenPlanIndex int
	gatheredAt      time.Time // when the evidence was gathered, by the local clock
	message         string    // the answer to the last key
	isWarning       bool      // true if message is a warning
	input           textinput.Model
	textView        viewport.Model

	currentRun          *planRun
	stopRequested       bool // true once stopping was requested; a second request confirms it
	isStopping          bool
	isQuitting          bool // true if the program ends with the run
	wasLeftEarly        bool // true if the dialog was left while the result is watched
	outcome             runOutcome
	closed              bool
	exitLines           []string // lines for the user's own terminal when the program ends
	settledUIDs         []types.UID
	possiblyChangedJobs []*job.Job // jobs for which something was or may have been sent
}

func Open(o Options) (*Dialog, tea.Cmd) {
	d := &Dialog{options: o, input: keys.NewTextField(), textView: viewport.New(), results: make([]string, len(o.Jobs))}
	d.keyBindings = d.newBindings()
	return d, d.gatherEvidence()
}

func (d *Dialog) currentJob() *job.Job     { return d.options.Jobs[d.jobIndex] }
func (d *Dialog) chosenPlan() *action.Plan { return &d.planChoices[d.chosenPlanIndex] }
func (d *Dialog) confirmationText() string { return d.chosenPlan().ConfirmationText(d.options.Context) }
func jobReference(j *job.Job) string       { return draw.JobReference(j.Kind, j.Name) }

// Jobs returns what the dialog is about.
func (d *Dialog) Jobs() []*job.Job { return d.options.Jobs }

func (d *Dialog) IsClosed() bool { return d.closed }
func (d *Dialog) Stage() Stage   { return d.stage }

// IsFinalizing reports whether the dialog is now about finalizing the job with the name.
func (d *Dialog) IsFinalizing(name string) bool {
	return d.options.ProposePlan == nil && d.currentJob().Name == name
}

// CancelsVolume reports whether the dialog is about a single volume of the job.
func (d *Dialog) CancelsVolume() bool { return d.options.Request.Volume != "" }

// SettledUIDs returns the UIDs of the jobs for which a change was carried out.
func (d *Dialog) SettledUIDs() []types.UID { return d.settledUIDs }

func (d *Dialog) newRequester(answered func() tea.Cmd) fetch.Requester {
	return fetch.Requester{Start: d.options.Start, Clock: d.options.Clock, OnAnswer: answered}
}

// enterStage enters a stage, which ignores keys at first unless the user's own key led there.
func (d *Dialog) enterStage(s Stage) tea.Cmd {
	if typing := s == StageTyping ||
		d.stage == StageTyping && s == StageChoosing; !typing { // the plan being read stays where it is
		d.textView.GotoTop()
	}
	d.stage, d.stageEnteredAt, d.stopRequested, d.ignoredKey = s, d.options.Clock(), false, false
	d.lastKeyAt = d.stageEnteredAt
	if s == StageTyping || s == StageApplying {
		d.ignoresKeys = false
		d.graceTimer.Close()
		return nil
	}
	return d.awaitGrace()
}

// graceQuiet is how long no key must be pressed before a stage that can write takes keys: those pressed before the user
// saw the stage must not answer it, and neither must the rest of a name whose first letters came too early.
const graceQuiet = 400 * time.Millisecond

// awaitGrace ignores keys until the grace time is over.
func (d *Dialog) awaitGrace() tea.Cmd {
	left := d.lastKeyAt.Add(graceQuiet).Sub(d.options.Clock())
	if d.ignoresKeys = left > 0; !d.ignoresKeys {
		return nil
	}
	return d.graceTimer.ScheduleCall(left, d.awaitGrace)
}

func (d *Dialog) armRedraw() tea.Cmd {
	if d.wasLeftEarly || d.stage != StageGathering && d.stage != StageApplying {
		return nil
	}
	return d.redrawTimer.ScheduleCall(time.Second, d.armRedraw)
}

func (d *Dialog) gatherEvidence() tea.Cmd {
	j, along := d.currentJob(), d.otherJobNames()
	cmd := d.plansAnswer.Refetch(d.newRequester(d.handlePlans), j.UID, func(ctx context.Context) ([]action.Plan, error) {
		another := fmt.Errorf(
			"it was deleted, and there is a new %s; close this, and review that one first",
			jobReference(j),
		)
		if propose := d.options.ProposePlan; propose != nil {
			p, err := propose(ctx, j, along)
			if err == nil && j.UID != "" && p.UID != "" && p.UID != j.UID {
				err = another
			}
			if accepted, ok := p.AcceptLastCopy(); ok && err == nil {
				return []action.Plan{p, accepted}, nil
			}
			return []action.Plan{p}, err
		}
		e, err := d.options.Engine.GatherEvidence(ctx, j.Namespace, j.Kind, j.Name)
		switch {
		case err != nil:
			return nil, err
		case e.Job.UID != j.UID:
			return nil, another
		}
		return buildPlans(e, d.options.Request), nil
	})
	d.planChoices, d.chosenPlanIndex = nil, 0
	d.showMessage("")
	d.input.Reset()
	return tea.Batch(cmd, d.enterStage(StageGathering), d.armRedraw())
}

// otherJobNames returns the names of the other jobs of the same kind that were changed in this dialog or come after
// the current one. Jobs that were skipped or refused are not among them, because they stay as they are.
func (d *Dialog) otherJobNames() (names []string) {
	for _, j := range slices.Concat(d.possiblyChangedJobs, d.options.Jobs[d.jobIndex+1:]) {
		if j.Kind == d.currentJob().Kind && j.Name != d.currentJob().Name {
			names = append(names, j.Name)
		}
	}
	return names
}

func (d *Dialog) showMessage(text string) { d.message, d.isWarning = text, false }
func (d *Dialog) showWarning(text string) { d.message, d.isWarning = text, true }

func (d *Dialog) handlePlans() tea.Cmd {
	if d.plansAnswer.Err != nil {
		return d.enterStage(StageEvidenceFailed)
	}
	return d.showPlans(d.plansAnswer.Value, d.plansAnswer.ReadAt)
}

func (d *Dialog) showPlans(plans []action.Plan, gatheredAt time.Time) tea.Cmd {
	d.planChoices, d.chosenPlanIndex, d.gatheredAt = plans, 0, gatheredAt
	d.input.Reset()
	return d.enterStage(StageChoosing)
}

func (d *Dialog) handleOutcome() tea.Cmd {
	r, o := d.currentRun, d.currentRun.outcomeAnswer.Value
	r.progress.Close()
	d.currentRun, d.isStopping, d.outcome = nil, false, o
	if !r.dryRun || o.Sent != action.NotSent {
		d.results[d.jobIndex] = remedy.ChangeSummary(&r.plan) + ": " + string(o.State) + ": " + o.Message
		d.exitLines = append(d.exitLines, r.exitMessage())
		if o.Sent != action.NotSent {
			d.possiblyChangedJobs = append(d.possiblyChangedJobs, d.currentJob())
		}
		if o.Sent == action.Landed {
			d.settledUIDs = append(d.settledUIDs, d.currentJob().UID)
			if d.options.OnChanged != nil {
				d.options.OnChanged(r.plan)
			}
		}
	}
	if d.wasLeftEarly {
		d.stage = StageResult
		return func() tea.Msg { return ObservationDoneMsg{d} }
	}
	if d.isQuitting {
		d.enterStage(StageResult)
		return tea.Quit
	}
	if r.dryRun && o.Sent == action.NotSent && (o.State == action.StateChecked || o.State == action.StateUnfinished) {
		cmd := d.enterStage(StageChoosing)
		d.message, d.isWarning = "Dry run: "+o.Message+".", o.State != action.StateChecked
		return cmd
	}
	return d.enterStage(StageResult)
}

func (d *Dialog) startRun(dryRun bool) tea.Cmd {
	d.input.Blur()
	d.input.Reset()
	d.showMessage("")
	r := newPlanRun(d.currentJob(), *d.chosenPlan(), dryRun, d.options)
	d.currentRun = r
	follow := r.progress.FollowReports(d.newRequester(nil), 0, func(runState) bool { return true })
	return tea.Batch(
		follow,
		r.outcomeAnswer.FetchIfDue(d.newRequester(d.handleOutcome), 0, r.applyPlan),
		d.enterStage(StageApplying),
		d.armRedraw(),
	)
}

// nextPlan returns the plan that remains after a change, nil if there is none or it is impossible.
func (d *Dialog) nextPlan() *action.Plan {
	if next := d.outcome.nextPlan(); d.stage == StageResult && next != nil && next.IsPossible() {
		return next
	}
	return nil
}

// ExitMessages returns lines for the user's own terminal. It waits for a run that was told to stop.
func (d *Dialog) ExitMessages() []string {
	if d.currentRun == nil || d.currentRun.preventStart() {
		return d.exitLines
	}
	select {
	case <-d.currentRun.done:
		if d.currentRun.dryRun && d.currentRun.wroteNothing() {
			return d.exitLines
		}
		return append(d.exitLines, d.currentRun.exitMessage())
	case <-time.After(exitTimeout):
		return append(
			d.exitLines,
			fmt.Sprintf("%s: veltui does not know what was sent; see the log", jobReference(d.currentJob())),
		)
	}
}

// exitTimeout is how long the exit waits for the result of a run: two seconds for its last check, and a margin.
const exitTimeout = 3 * time.Second
