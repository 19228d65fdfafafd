package ui

import (
	"fmt"
	"slices"
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
	d.seen = d.with.clock()
	d.choices = choices(msg.evidence, d.with.contextName)
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

// pressed acts on a key; closed says that the dialog is done with.
func (d *finalizeDialog) pressed(a action, msg tea.KeyPressMsg) (closed bool, cmd tea.Cmd) {
	if d.grace.swallow(d.with.clock()) {
		return false, nil
	}
	switch a {
	case actUp, actDown, actPageUp, actPageDown, actHome, actEnd:
		d.scroll(a)
		d.asked = false
		return false, nil
	}
	switch d.stage {
	case stageTyping:
		return false, d.typed(a, msg)
	case stageRunning:
		d.pressedInRun(a)
		return false, nil
	}
	d.say("")
	switch a {
	case actBack:
		return d.back()
	case actLook:
		return false, d.look()
	case actNext:
		return d.next()
	case actConfirm:
		return d.goOn()
	case actDryRun:
		return false, d.begin(true)
	case actCopy:
		return false, d.copyCommand()
	case actWay:
		if len(d.choices) > 1 {
			d.chosen = (d.chosen + 1) % len(d.choices)
			d.top = 0
			d.input.Reset()
		}
	}
	return false, nil
}

// back leaves the dialog; after several jobs what became of each is said.
func (d *finalizeDialog) back() (closed bool, cmd tea.Cmd) {
	d.stop()
	worked := slices.ContainsFunc(d.ends, func(end string) bool { return end != "" })
	if d.stage == stageSummary || len(d.targets) == 1 || !worked {
		return true, nil
	}
	d.await()
	return false, d.enter(stageSummary)
}

// next goes to the next of several jobs.
func (d *finalizeDialog) next() (closed bool, cmd tea.Cmd) {
	if d.ends[d.at] == "" {
		d.ends[d.at] = "skipped"
		if len(d.choices) > 0 && !d.choices[0].possible() {
			d.ends[d.at] = "refused: " + d.choices[0].plan.Refusal
		}
	}
	if d.at == len(d.targets)-1 {
		return d.back()
	}
	d.at++
	return false, d.look()
}

// goOn is what enter does: the next thing that is due, never more than that.
func (d *finalizeDialog) goOn() (closed bool, cmd tea.Cmd) {
	switch d.stage {
	case stagePlan:
		cmd := d.input.Focus()
		return false, tea.Batch(cmd, d.enter(stageTyping))
	case stageUnseen:
		return false, d.look()
	case stageEnded:
		if d.replanned() {
			d.choices, d.chosen, d.seen = []choice{*afterChange(&d.outcome, d.ran)}, 0, d.with.clock()
			d.input.Reset()
			d.await()
			d.say("This is the new plan, after what was changed. Read it afresh.")
			return false, d.enter(stagePlan)
		}
		if len(d.targets) > 1 {
			return d.next()
		}
		return true, nil
	case stageSummary:
		return true, nil
	}
	return false, nil
}

// replanned reports whether a change was met that leaves a new plan.
func (d *finalizeDialog) replanned() bool {
	if d.stage != stageEnded {
		return false
	}
	next := afterChange(&d.outcome, d.ran)
	return next != nil && next.possible()
}

// onward says where enter leads from an outcome.
func (d *finalizeDialog) onward() string {
	switch {
	case d.replanned():
		return "see the new plan"
	case d.stage == stageEnded && d.at < len(d.targets)-1:
		return "next job"
	case d.stage == stageEnded && len(d.targets) > 1:
		return "summary"
	case d.stage == stageUnseen:
		return "look again"
	}
	return "close"
}

// typed handles a key while the name is being typed.
func (d *finalizeDialog) typed(a action, msg tea.KeyPressMsg) tea.Cmd {
	switch a {
	case actBack:
		d.input.Blur()
		d.say("")
		top := d.top
		cmd := d.enter(stagePlan)
		d.top = top
		return cmd
	case actConfirm:
		text := strings.TrimSpace(d.input.Value())
		switch {
		case text == "":
			d.warn("Nothing is typed, so nothing is done.")
		case text != d.wanted():
			d.warn(fmt.Sprintf("That is not %s, so nothing is done.", d.wanted()))
		default:
			return d.begin(false)
		}
		return nil
	}
	d.say("")
	var cmd tea.Cmd
	d.input, cmd = d.input.Update(msg)
	return cmd
}

// pasted takes pasted text into the field. It never confirms.
func (d *finalizeDialog) pasted(msg tea.PasteMsg) tea.Cmd {
	switch d.stage {
	case stagePlan:
		d.warn("Press enter first, then paste.")
		return nil
	case stageTyping:
		d.say("")
		msg.Content = strings.TrimSpace(msg.Content)
		var cmd tea.Cmd
		d.input, cmd = d.input.Update(msg)
		return cmd
	}
	return nil
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

// pressedInRun: an execution is stopped by esc, twice, because an arrow key
// that a slow line tears apart begins with one.
func (d *finalizeDialog) pressedInRun(a action) {
	switch {
	case a != actBack:
		d.asked = false
	case d.asked || d.run.dryRun:
		d.stopRun()
	default:
		d.asked = true
	}
}

func (d *finalizeDialog) stopRun() {
	d.asked, d.stopping = false, true
	d.run.cancel(errStopped)
}

// leave is asked for with q, twice while something is written, or at once with
// ctrl+c. The program ends when the execution has.
func (d *finalizeDialog) leave(atOnce bool) tea.Cmd {
	if d.run == nil {
		d.stop()
		return tea.Quit
	}
	if d.leaving && atOnce {
		return tea.Quit
	}
	if d.asked || d.stopping || atOnce || d.run.dryRun {
		d.leaving = true
		d.stopRun()
		return nil
	}
	d.asked = true
	return nil
}

func (d *finalizeDialog) copyCommand() tea.Cmd {
	text := d.choice().commandText()
	if !slices.Contains(d.said, text) {
		d.said = append(d.said, text)
	}
	d.say("The command is in the clipboard, if your terminal allows that (OSC 52). veltui also prints it when it ends.")
	return tea.SetClipboard(text)
}

const dialogPage = 8

func (d *finalizeDialog) scroll(a action) {
	switch a {
	case actUp:
		d.top--
	case actDown:
		d.top++
	case actPageUp:
		d.top -= dialogPage
	case actPageDown:
		d.top += dialogPage
	case actHome:
		d.top = 0
	case actEnd:
		d.top = 1 << 20
	}
	d.top = max(d.top, 0)
}

// whyNot says why a key of the plan can do nothing.
func (d *finalizeDialog) whyNot(a action) string {
	switch {
	case a == actWay && len(d.choices) < 2:
		return "the evidence leaves no other way"
	case (a == actDryRun || a == actConfirm) && !d.choice().possible():
		return "this cannot be done from here, for the reason above"
	case a == actCopy && len(d.choice().commands()) == 0:
		return "there is no command for it"
	}
	return ""
}

// place is the set of keys that work at the present stage.
func (d *finalizeDialog) place() place {
	switch d.stage {
	case stageTyping:
		return onField
	case stageRunning:
		return onRun
	case stageUnseen, stageEnded, stageSummary:
		return onOutcome
	case stageLooking:
		return onLooking
	}
	return onPlan
}
