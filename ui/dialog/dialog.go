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
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/ui/keys"
)

type Options struct {
	Inspector cluster.Inspector
	Request   action.Request   // how the kubectl commands shown get to the cluster
	Start     fetch.Start      // makes a command of work that ends with the program
	Clock     func() time.Time // our own clock
	Context   string           // the kubeconfig context; context/name is typed to confirm
	Jobs      []*job.Job       // what it is about, at least one
	// Propose makes the plan of an action that is about no running job, which its argument then only names; nil finalizes.
	// The names are those of the other jobs of that kind that this dialog has changed, or is yet to ask about.
	Propose     func(context.Context, *job.Job, []string) (action.Plan, error)
	Title       string      // the verb before its name, empty for Finalize
	Readable    func() bool // reports whether the terminal is large enough to read a plan
	NoClipboard bool        // says that nothing can be copied
	Keys        keys.Map    // those that sentences name
}

type Stage int

const (
	Looking  Stage = iota // the evidence is being gathered
	Unseen                // it could not be
	Choosing              // evidence with a plan or a refusal
	Typing                // the name is being typed
	Applying              // a plan is being applied, or tried
	Ended                 // how that ended
	Summary               // what became of several jobs
)

// Dialog leads through an action on one job or several, each with its own evidence and typed name.
type Dialog struct {
	options Options
	keys    []keys.Binding

	at      int      // index of the present job
	results []string // of each job, in one line
	stage   Stage
	since   time.Time   // of the stage
	deaf    bool        // in the first moment of a stage
	pressed time.Time   // the last key in it
	grace   fetch.Pause // of deafness
	clock   fetch.Pause // draws anew what is under way

	found   fetch.Answer[[]action.Plan]
	choices []action.Plan // what may be done, the evidence's own plan first
	chosen  int
	seen    time.Time // when the evidence was gathered, in our own clock
	note    string    // the answer to the last key
	alarm   bool      // it is that something is wrong
	input   textinput.Model
	view    viewport.Model

	run      *run
	asked    bool // a person has asked to stop, and must say so again
	stopping bool
	leaving  bool // the program is to end with the application
	behind   bool // the dialog was left while the result is watched
	outcome  outcome
	closed   bool
	parting  []string // lines for the user's own terminal when the program ends
	settled  []types.UID
	sent     []*job.Job // jobs for which something was sent, or may have been
}

func Open(o Options) (*Dialog, tea.Cmd) {
	d := &Dialog{options: o, input: keys.Field(), view: viewport.New(), results: make([]string, len(o.Jobs))}
	d.keys = d.bindings()
	return d, d.look()
}

func (d *Dialog) job() *job.Job      { return d.options.Jobs[d.at] }
func (d *Dialog) plan() *action.Plan { return &d.choices[d.chosen] }
func (d *Dialog) wanted() string     { return d.options.Context + "/" + d.job().Name }
func subject(j *job.Job) string      { return draw.Subject(j.Kind, j.Name) }

func (d *Dialog) Closed() bool { return d.closed }
func (d *Dialog) Stage() Stage { return d.stage }

// Finalizes reports whether it is about finalizing the job of a name now.
func (d *Dialog) Finalizes(name string) bool {
	return d.options.Propose == nil && d.job().Name == name
}

// Settled are the jobs for which something was carried out.
func (d *Dialog) Settled() []types.UID { return d.settled }

func (d *Dialog) asker(answered func() tea.Cmd) fetch.Asker {
	return fetch.Asker{Start: d.options.Start, Clock: d.options.Clock, Answered: answered}
}

// enter goes to a stage, which is deaf at first unless one's own key led there.
func (d *Dialog) enter(s Stage) tea.Cmd {
	if typing := s == Typing || d.stage == Typing && s == Choosing; !typing { // the plan that is read stays where it is
		d.view.GotoTop()
	}
	d.stage, d.since, d.asked = s, d.options.Clock(), false
	d.pressed = d.since
	if s == Typing || s == Applying {
		d.deaf = false
		d.grace.Close()
		return nil
	}
	return d.awaitGrace()
}

// A stage that can write is deaf until nothing has been pressed for graceQuiet, but for graceLimit at
// most: what was typed before it was seen must not answer it.
const (
	graceQuiet = 400 * time.Millisecond
	graceLimit = 1500 * time.Millisecond
)

// awaitGrace is deaf until that time has come.
func (d *Dialog) awaitGrace() tea.Cmd {
	now := d.options.Clock()
	left := min(d.pressed.Add(graceQuiet).Sub(now), d.since.Add(graceLimit).Sub(now))
	if d.deaf = left > 0; !d.deaf {
		return nil
	}
	return d.grace.Begin(left, d.awaitGrace)
}

func (d *Dialog) tick() tea.Cmd {
	if d.behind || d.stage != Looking && d.stage != Applying {
		return nil
	}
	return d.clock.Begin(time.Second, d.tick)
}

func (d *Dialog) look() tea.Cmd {
	d.found.Close()
	d.found = fetch.Answer[[]action.Plan]{}
	j, along := d.job(), d.marked()
	cmd := d.found.Ask(d.asker(d.handlePlans), 0, func(ctx context.Context) ([]action.Plan, error) {
		another := fmt.Errorf(
			"it was deleted, and there is a new %s; close this, and review that one first",
			subject(j),
		)
		if propose := d.options.Propose; propose != nil {
			p, err := propose(ctx, j, along)
			if err == nil && j.UID != "" && p.UID != "" && p.UID != j.UID {
				err = another
			}
			if accepted, ok := p.AcceptLastCopy(); ok && err == nil {
				return []action.Plan{p, accepted}, nil
			}
			return []action.Plan{p}, err
		}
		e, err := d.options.Inspector.Gather(ctx, j.Namespace, j.Kind, j.Name)
		switch {
		case err != nil:
			return nil, err
		case e.Job.UID != j.UID:
			return nil, another
		}
		return choices(e, d.options.Request), nil
	})
	d.choices, d.chosen = nil, 0
	d.say("")
	d.input.Reset()
	return tea.Batch(cmd, d.enter(Looking), d.tick())
}

// marked names the other jobs of the same kind that were changed in this dialog, or come after this one.
// Those that were skipped or refused are left as they are.
func (d *Dialog) marked() (names []string) {
	for _, j := range slices.Concat(d.sent, d.options.Jobs[d.at+1:]) {
		if j.Kind == d.job().Kind && j.Name != d.job().Name {
			names = append(names, j.Name)
		}
	}
	return names
}

func (d *Dialog) say(text string)  { d.note, d.alarm = text, false }
func (d *Dialog) warn(text string) { d.note, d.alarm = text, true }

func (d *Dialog) handlePlans() tea.Cmd {
	if d.found.Err != nil {
		return d.enter(Unseen)
	}
	return d.choose(d.found.Value)
}

func (d *Dialog) choose(plans []action.Plan) tea.Cmd {
	d.choices, d.chosen, d.seen = plans, 0, d.options.Clock()
	d.input.Reset()
	return d.enter(Choosing)
}

func (d *Dialog) handleEnd() tea.Cmd {
	r, o := d.run, d.run.ended.Value
	r.progress.Close()
	d.run, d.stopping, d.outcome = nil, false, o
	if !r.dryRun || o.Sent != action.NotSent {
		d.results[d.at] = change(&r.plan) + ": " + string(o.State) + ": " + o.Message
		d.parting = append(d.parting, r.exitMessage())
		if o.Sent != action.NotSent {
			d.sent = append(d.sent, d.job())
		}
		if o.Sent == action.Landed {
			d.settled = append(d.settled, d.job().UID)
		}
	}
	if d.behind {
		d.stage = Ended
		return func() tea.Msg { return Watched{d} }
	}
	if d.leaving {
		d.enter(Ended)
		return tea.Quit
	}
	if r.dryRun && o.Sent == action.NotSent && (o.State == action.Checked || o.State == action.Unfinished) {
		cmd := d.enter(Choosing)
		d.note, d.alarm = "Dry run: "+o.Message+".", o.State != action.Checked
		return cmd
	}
	return d.enter(Ended)
}

func (d *Dialog) begin(dryRun bool) tea.Cmd {
	d.input.Blur()
	d.input.Reset()
	d.say("")
	r := newRun(d.job(), *d.plan(), dryRun, d.options)
	d.run = r
	follow := r.progress.Follow(d.asker(nil), 0, func(runState) bool { return true })
	return tea.Batch(follow, r.ended.Ask(d.asker(d.handleEnd), 0, r.execute), d.enter(Applying), d.tick())
}

// next is the plan that a change has left, nil if it left none that is possible.
func (d *Dialog) next() *action.Plan {
	if next := d.outcome.next(); d.stage == Ended && next != nil && next.Possible() {
		return next
	}
	return nil
}

// Parting are lines for the user's own terminal. It waits for an application told to stop.
func (d *Dialog) Parting() []string {
	if d.run == nil || d.run.forsake() {
		return d.parting
	}
	select {
	case <-d.run.done:
		if d.run.dryRun && d.run.wroteNothing() {
			return d.parting
		}
		return append(d.parting, d.run.exitMessage())
	case <-time.After(lastWord):
		return append(d.parting, fmt.Sprintf("%s: veltui does not know what was sent; see the log", subject(d.job())))
	}
}

// lastWord is how long the end waits for what was sent: two seconds for a last look, and a little.
const lastWord = 3 * time.Second
