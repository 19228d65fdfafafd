package dialog

import (
	"context"
	"fmt"
	"time"

	"charm.land/bubbles/v2/textinput"
	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/action"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/keys"
)

// Actions inspects jobs on which nothing works any more, and moves them on. Whatever it
// answers is safe to draw. Its methods end with ctx.
type Actions interface {
	// Gather reads all that a plan for one job rests on. It may take minutes.
	Gather(ctx context.Context, namespace string, kind job.Kind, name string) (action.Evidence, error)
	// Apply applies a plan, as [action.Engine.Apply] does.
	Apply(ctx context.Context, plan action.Plan, dryRun bool, report func(action.Progress)) (action.Outcome, error)
}

// Options say what a dialog is about and what it works with.
type Options struct {
	Actions Actions
	// Request is how the kubectl commands shown get to the cluster.
	Request action.Request
	// Clock is our own clock.
	Clock func() time.Time
	// Context is the kubeconfig context's name; context/name is typed to confirm.
	Context string
	// Jobs are what it is about, at least one.
	Jobs []*job.Job
	// Readable reports whether the terminal is large enough to read a plan.
	Readable func() bool
	// NoClipboard says that nothing can be copied.
	NoClipboard bool
	// Keys are those that sentences name.
	Keys keys.Map
	// Guard makes a panic in a command a message.
	Guard func(tea.Cmd) tea.Cmd
}

// Stage is what the dialog is at.
type Stage int

// The stages.
const (
	Looking  Stage = iota // the evidence is being gathered
	Unseen                // it could not be
	Choosing              // evidence with a plan or a refusal
	Typing                // the name is being typed
	Applying              // a plan is being applied, or tried
	Ended                 // how that ended
	Summary               // what became of several jobs
)

// Dialog leads through an action on one job, or on several one by one: each has
// its own evidence and its own name to be typed. The pointer is the model.
type Dialog struct {
	options Options
	keys    []keys.Binding
	// start makes a command of work, which ends with the program or is cancelled.
	start func(work func(context.Context) tea.Msg) (tea.Cmd, context.CancelCauseFunc)

	at int // which of the jobs
	// results are what became of each, in one line.
	results []string
	stage   Stage
	// awaited is what is waited for; messages about anything else are late.
	awaited *ticket
	grace   grace
	since   time.Time               // of the stage
	cancel  context.CancelCauseFunc // ends the gathering that is awaited

	// choices are what may be done, the evidence's own plan first.
	choices []action.Plan
	chosen  int
	// seen is when the evidence was gathered, in our own clock.
	seen time.Time
	err  error
	// note is the answer to the last key, alarm if it is that something is wrong.
	note  string
	alarm bool
	input textinput.Model
	view  viewport.Model

	run   *run
	state runState
	// asked is set once a person has asked to stop, and must say so again.
	asked    bool
	stopping bool
	// leaving: the program is to end with the application.
	leaving bool
	outcome outcome
	closed  bool
	// parting are lines for the user's own terminal when the program ends.
	parting []string
	// settled are the jobs that are done with.
	settled []types.UID
}

// ticket is given out for everything that is waited for.
type ticket struct{ _ byte }

// plansMade brings what may be done about a job.
type plansMade struct {
	ticket *ticket
	plans  []action.Plan
	err    error
}

// runProgressed brings how far an application is.
type runProgressed struct {
	ticket *ticket
	state  runState
}

// runEnded brings how an application ended.
type runEnded struct {
	ticket  *ticket
	outcome outcome
}

// graceEnded tells that a stage's deaf first moment may be over.
type graceEnded struct{ ticket *ticket }

// ticked is the dialog's clock, while something in it is under way.
type ticked struct{ ticket *ticket }

// Open opens a dialog on its first job.
func Open(ctx context.Context, o Options) (*Dialog, tea.Cmd) {
	input := textinput.New()
	input.Prompt = ""
	styles := input.Styles()
	styles.Cursor.Blink = false // a screen on which nothing happens is silent
	input.SetStyles(styles)
	d := &Dialog{options: o, input: input, view: viewport.New(), results: make([]string, len(o.Jobs))}
	d.start = func(work func(context.Context) tea.Msg) (tea.Cmd, context.CancelCauseFunc) {
		ctx, cancel := context.WithCancelCause(ctx)
		return o.Guard(func() tea.Msg { return work(ctx) }), cancel
	}
	d.keys = d.bindings()
	return d, d.look()
}

func (d *Dialog) job() *job.Job { return d.options.Jobs[d.at] }

// plan is the one that is chosen.
func (d *Dialog) plan() *action.Plan { return &d.choices[d.chosen] }

// wanted is what must be typed.
func (d *Dialog) wanted() string { return d.options.Context + "/" + d.job().Name }

// subject names a job in a sentence.
func subject(j *job.Job) string { return draw.Subject(j.Kind, j.Name) }

// Closed reports whether the dialog is done with.
func (d *Dialog) Closed() bool { return d.closed }

// Settled are the jobs for which something was carried out.
func (d *Dialog) Settled() []types.UID { return d.settled }

// Stage is what the dialog is at.
func (d *Dialog) Stage() Stage { return d.stage }

// Update takes a message about what is awaited, and drops late ones.
func (d *Dialog) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case plansMade:
		if msg.ticket == d.awaited && d.stage == Looking {
			return d.handlePlans(msg)
		}
	case runProgressed:
		if msg.ticket == d.awaited && d.run != nil {
			d.state = msg.state
			return d.run.news()
		}
	case runEnded:
		if msg.ticket == d.awaited && d.run != nil {
			return d.handleEnd(msg.outcome)
		}
	case graceEnded:
		if msg.ticket == d.awaited && !d.grace.check(d.options.Clock()) {
			return d.awaitGrace()
		}
	case ticked:
		if msg.ticket == d.awaited && (d.stage == Looking || d.stage == Applying) {
			return d.tick()
		}
	}
	return nil
}

// Handles reports whether a message is one to a dialog.
func Handles(msg tea.Msg) bool {
	switch msg.(type) {
	case plansMade, runProgressed, runEnded, graceEnded, ticked:
		return true
	}
	return false
}

// enter goes to a stage, which is deaf at first unless one's own key led there.
func (d *Dialog) enter(s Stage) tea.Cmd {
	d.stage, d.since, d.asked = s, d.options.Clock(), false
	d.grace = newGrace(d.since)
	d.view.GotoTop()
	if s == Typing || s == Applying {
		d.grace.over = true
		return nil
	}
	return d.awaitGrace()
}

func (d *Dialog) awaitGrace() tea.Cmd {
	of := d.awaited
	return tea.Tick(max(d.grace.left(d.options.Clock()), time.Millisecond), func(time.Time) tea.Msg { return graceEnded{of} })
}

// tick makes what is under way be drawn again every second.
func (d *Dialog) tick() tea.Cmd {
	of := d.awaited
	return tea.Tick(time.Second, func(time.Time) tea.Msg { return ticked{of} })
}

// await begins to wait for something new.
func (d *Dialog) await() *ticket {
	d.awaited = &ticket{}
	return d.awaited
}

// look gathers the evidence about the present job.
func (d *Dialog) look() tea.Cmd {
	d.stop()
	of, j := d.await(), d.job()
	cmd, cancel := d.start(func(ctx context.Context) tea.Msg {
		e, err := d.options.Actions.Gather(ctx, j.Namespace, j.Kind, j.Name)
		switch {
		case err != nil:
			return plansMade{of, nil, err}
		case e.Job.UID != j.UID:
			return plansMade{of, nil, fmt.Errorf("it was deleted, and there is a new %s; close this, and review that one first", subject(j))}
		}
		return plansMade{of, choices(e, d.options.Request), nil}
	})
	d.cancel = cancel
	d.choices, d.chosen, d.err = nil, 0, nil
	d.say("")
	d.input.Reset()
	return tea.Batch(cmd, d.enter(Looking), d.tick())
}

// stop ends what is awaited; its answer will be late.
func (d *Dialog) stop() {
	if d.cancel != nil {
		d.cancel(nil)
		d.cancel = nil
	}
}

func (d *Dialog) say(text string)  { d.note, d.alarm = text, false }
func (d *Dialog) warn(text string) { d.note, d.alarm = text, true }

func (d *Dialog) handlePlans(msg plansMade) tea.Cmd {
	d.stop()
	if d.err = msg.err; d.err != nil {
		return d.enter(Unseen)
	}
	return d.choose(msg.plans)
}

// choose lets a person choose between plans.
func (d *Dialog) choose(plans []action.Plan) tea.Cmd {
	d.choices, d.chosen, d.seen = plans, 0, d.options.Clock()
	d.input.Reset()
	return d.enter(Choosing)
}

func (d *Dialog) handleEnd(o outcome) tea.Cmd {
	r := d.run
	d.run, d.stopping, d.outcome = nil, false, o
	if !r.dryRun {
		d.results[d.at] = change(&r.plan) + ": " + string(o.State) + ": " + o.Message
		d.parting = append(d.parting, r.exitMessage())
		if o.Sent == action.Landed {
			d.settled = append(d.settled, d.job().UID)
		}
	}
	if d.leaving {
		d.enter(Ended)
		return tea.Quit
	}
	if r.dryRun && (o.State == action.Checked || o.State == action.Unfinished) {
		cmd := d.enter(Choosing)
		d.note, d.alarm = "Dry run: "+o.Message+".", o.State != action.Checked
		return cmd
	}
	return d.enter(Ended)
}

// begin applies the plan, or has it checked.
func (d *Dialog) begin(dryRun bool) tea.Cmd {
	d.input.Blur()
	d.input.Reset()
	d.say("")
	r := newRun(d.await(), d.job(), *d.plan(), dryRun, d.options)
	cmd, cancel := d.start(r.execute)
	r.cancel = cancel
	d.run, d.state = r, runState{}
	return tea.Batch(r.news(), cmd, d.enter(Applying), d.tick())
}

// next is the plan that a change has left, nil if it left none that is possible.
func (d *Dialog) next() *action.Plan {
	if d.stage != Ended {
		return nil
	}
	if next := d.outcome.next(); next != nil && next.Possible() {
		return next
	}
	return nil
}

// Parting are lines for the user's own terminal when the program has ended. An
// application that is still under way, and has been told to stop, is waited for.
func (d *Dialog) Parting() []string {
	if d.run == nil || d.run.forsake() {
		return d.parting
	}
	select {
	case <-d.run.done:
		if d.run.dryRun {
			return d.parting
		}
		return append(d.parting, d.run.exitMessage())
	case <-time.After(lastWord):
		return append(d.parting, fmt.Sprintf("%s: veltui does not know what was sent; see the log", subject(d.job())))
	}
}

// lastWord is how long the end of the program waits for an application to tell
// what it has sent. It needs two seconds for a last look, and a signal leaves little
// more.
const lastWord = 3 * time.Second
