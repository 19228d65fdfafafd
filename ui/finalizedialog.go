package ui

import (
	"fmt"
	"strings"
	"time"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/finalize"
	"github.com/veltui/veltui/job"
)

// target is a job that is to be finalized.
type target struct {
	kind            job.Kind
	namespace, name string
	uid             types.UID
}

func targetOf(j *job.Job) target { return target{j.Kind, j.Namespace, j.Name, j.UID} }

func (t target) String() string { return strings.ToLower(string(t.kind)) + "/" + t.name }

// stage is what the dialog is at.
type stage int

const (
	stageLooking stage = iota // the evidence is being gathered
	stageUnseen               // it could not be
	stagePlan                 // evidence with a plan or a refusal
	stageTyping               // the name is being typed
	stageRunning              // a plan is being carried out, or tried
	stageEnded                // how that ended
	stageSummary              // what became of several jobs
)

// finalizeDialog leads through the finalizing of one job, or of several one by
// one: each has its own evidence and its own name to be typed.
type finalizeDialog struct {
	with    *finalizing
	targets []target
	at      int // which of them
	// ends is what became of each, in one line.
	ends  []string
	stage stage
	// number is that of what is awaited; messages about anything else are late.
	number int
	grace  grace
	since  time.Time // of the stage
	cancel func()    // ends what is awaited

	// choices are what may be done, the evidence's own plan first.
	choices []choice
	chosen  int
	// seen is when the evidence was gathered, in our own clock.
	seen time.Time
	err  error
	// note is the answer to the last key, alarm if it is that something is wrong.
	note  string
	alarm bool
	input textinput.Model
	top   int // how far the text is scrolled

	run   *run
	state runState
	// asked is set once a person has asked to stop, and must say so again.
	asked    bool
	stopping bool
	// leaving: the program is to end with the execution.
	leaving bool
	// outcome is how ran ended.
	outcome finalize.Outcome
	ran     choice
	// said are lines for the user's own terminal when the program ends.
	said []string
	// settled are the jobs that are done with.
	settled []types.UID
}

func openFinalizeDialog(with *finalizing, jobs []*job.Job) (*finalizeDialog, tea.Cmd) {
	input := textinput.New()
	input.Prompt = ""
	styles := input.Styles()
	styles.Cursor.Blink = false // a screen on which nothing happens is silent
	input.SetStyles(styles)
	d := &finalizeDialog{with: with, input: input, ends: make([]string, len(jobs))}
	for _, j := range jobs {
		d.targets = append(d.targets, targetOf(j))
	}
	return d, d.look()
}

func (d *finalizeDialog) target() target { return d.targets[d.at] }

// choice is the one that is chosen.
func (d *finalizeDialog) choice() choice { return d.choices[d.chosen] }

// wanted is what must be typed.
func (d *finalizeDialog) wanted() string { return d.with.contextName + "/" + d.target().name }

// enter goes to a stage, which is deaf at first.
func (d *finalizeDialog) enter(s stage) tea.Cmd {
	d.stage, d.since, d.top = s, d.with.clock(), 0
	d.asked = false
	d.grace = newGrace(d.since)
	if s == stageTyping || s == stageRunning {
		d.grace.over = true // one's own key led here
		return nil
	}
	return d.awaitGrace()
}

func (d *finalizeDialog) awaitGrace() tea.Cmd {
	number := d.number
	return tea.Tick(max(d.grace.left(d.with.clock()), time.Millisecond), func(time.Time) tea.Msg { return graceEnded{number} })
}

// tick makes what is under way be drawn again every second.
func (d *finalizeDialog) tick() tea.Cmd {
	number := d.number
	return tea.Tick(time.Second, func(time.Time) tea.Msg { return dialogTicked{number} })
}

// await gives what is begun now a number of its own.
func (d *finalizeDialog) await() int {
	d.with.number++
	d.number = d.with.number
	return d.number
}

// look gathers the evidence about the present job.
func (d *finalizeDialog) look() tea.Cmd {
	d.stop()
	cmd, cancel := d.with.gather(d.await(), d.target())
	d.cancel = cancel
	d.choices, d.chosen, d.err = nil, 0, nil
	d.say("")
	d.input.Reset()
	return tea.Batch(cmd, d.enter(stageLooking), d.tick())
}

// stop ends what is awaited; its answer will be late.
func (d *finalizeDialog) stop() {
	if d.cancel != nil {
		d.cancel()
		d.cancel = nil
	}
}

func (d *finalizeDialog) say(text string)  { d.note, d.alarm = text, false }
func (d *finalizeDialog) warn(text string) { d.note, d.alarm = text, true }

// take accepts a message about what is awaited, and drops late ones.
func (d *finalizeDialog) take(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case evidenceGathered:
		if msg.number == d.number && d.stage == stageLooking {
			return d.takeEvidence(msg)
		}
	case runProgressed:
		if msg.number == d.number && d.run != nil {
			d.state = msg.state
			return d.run.news()
		}
	case runEnded:
		if msg.number == d.number && d.run != nil {
			return d.takeEnd(msg)
		}
	case graceEnded:
		if msg.number == d.number && !d.grace.check(d.with.clock()) {
			return d.awaitGrace()
		}
	case dialogTicked:
		if msg.number == d.number && (d.stage == stageLooking || d.stage == stageRunning) {
			return d.tick()
		}
	}
	return nil
}

func (d *finalizeDialog) takeEvidence(msg evidenceGathered) tea.Cmd {
	d.stop()
	if msg.err != nil {
		d.err = msg.err
		return d.enter(stageUnseen)
	}
	if now := msg.evidence.Job.UID; now != d.target().uid {
		d.err = fmt.Errorf("it was deleted, and there is another %s; close this, and look at that one first", d.target())
		return d.enter(stageUnseen)
	}
	d.seen = d.with.clock()
	d.choices = choices(msg.evidence, d.with.request)
	return d.enter(stagePlan)
}

func (d *finalizeDialog) takeEnd(msg runEnded) tea.Cmd {
	r := d.run
	d.run, d.cancel = nil, nil
	d.outcome, d.ran, d.err = msg.outcome, r.choice, msg.err
	if !r.dryRun {
		d.ends[d.at] = r.choice.words() + ": " + string(msg.outcome.State) + ": " + msg.outcome.Message
		d.said = append(d.said, parting(r.target, r.choice, &msg.outcome))
		if msg.outcome.Sent == finalize.Landed {
			d.settled = append(d.settled, d.target().uid)
		}
	}
	d.stopping = false
	if d.leaving {
		d.enter(stageEnded)
		return tea.Quit
	}
	if r.dryRun && (msg.outcome.State == finalize.Checked || msg.outcome.State == finalize.Unfinished) {
		cmd := d.enter(stagePlan)
		if msg.outcome.State == finalize.Checked {
			d.say("Dry run: " + msg.outcome.Message + ".")
		} else {
			d.warn("Dry run: " + msg.outcome.Message + ".")
		}
		return cmd
	}
	return d.enter(stageEnded)
}

// begin carries the plan out, or has it checked.
func (d *finalizeDialog) begin(dryRun bool) tea.Cmd {
	d.input.Blur()
	d.input.Reset()
	d.say("")
	r, cmd := d.with.start(d.await(), d.target(), d.choice(), dryRun)
	d.run, d.state, d.cancel = r, runState{}, nil
	return tea.Batch(cmd, d.enter(stageRunning), d.tick())
}
