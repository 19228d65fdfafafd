package document

import (
	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/session"
	"github.com/veltui/veltui/internal/velero"
)

// Verdict is why a job is as it is.
type Verdict struct {
	// State is empty for what has ended.
	State string `json:"state"`
	// Reason is one of those in docs/reasons.md.
	Reason string `json:"reason"`
	// Proof is why the job cannot go on by itself, for one that is stuck or orphaned.
	Proof *Proof `json:"proof,omitempty"`
	// Waits are what the job may be waiting for.
	Waits  []Wait `json:"waits,omitempty"`
	Facts  []Fact `json:"facts"`
	Advice string `json:"advice,omitempty"`
	// Cause is why a job ended badly, absent if nothing tells.
	Cause *Cause `json:"cause,omitempty"`
	// Next is what to do next, absent if nothing has to be done.
	Next *Next `json:"next,omitempty"`
	// Action is what veltui can do about it.
	Action string `json:"action,omitempty"`
}

// Proof is the observation that proves a verdict.
type Proof struct {
	// Kind is ownerGone, gaveUp, refused or limitsPassed.
	Kind   string `json:"kind"`
	Text   string `json:"text"`
	Source string `json:"source"`
	At     Moment `json:"at,omitzero"`
}

// Wait is something that a job may be waiting for.
type Wait struct {
	Name string `json:"name"`
	For  string `json:"for"`
	// Limit is the setting that bounds it, and Until when that has passed for sure; absent if nothing bounds it.
	Limit string `json:"limit,omitempty"`
	Until Moment `json:"until,omitzero"`
	// Shown is true if the evidence shows that the job waits for this.
	Shown bool `json:"shown"`
}

// Fact is one piece of evidence. One that does not hold is unknown or contradicts the verdict.
type Fact struct {
	Text   string `json:"text"`
	Holds  bool   `json:"holds"`
	Source string `json:"source"`
	At     Moment `json:"at,omitzero"`
}

// NewVerdict returns a verdict with its evidence.
func NewVerdict(v diagnosis.Verdict) Verdict {
	d := Verdict{
		State:  string(v.State()),
		Reason: v.Reason.String(),
		Facts:  NewFacts(v.Facts),
		Advice: v.Advice,
		Cause:  NewCause(v.Cause),
		Next:   NewNext(v.Next()),
		Action: string(v.Action),
	}
	if !v.Proof.IsZero() {
		f := v.Proof.Fact()
		d.Proof = &Proof{string(v.Proof.Kind()), f.Text, f.Source, Moment{f.At}}
	}
	d.Waits = convertAll(v.Waits, func(w diagnosis.Wait) Wait {
		return Wait{string(w.Name), w.Target, w.LimitSetting, Moment{w.Deadline}, w.Confirmed}
	})
	return d
}

// Cause is why a job ended badly.
type Cause struct {
	// Reason is one of those in docs/reasons.md.
	Reason string `json:"reason"`
	Text   string `json:"text"`
	// Facts are the evidence for it, and what could not be seen. Those of the verdict include them.
	Facts []Fact `json:"facts,omitempty"`
}

// NewCause returns a cause, nil if nothing tells.
func NewCause(c diagnosis.Cause) *Cause {
	if c.IsZero() {
		return nil
	}
	return &Cause{c.Reason.String(), human.Capitalize(c.Text), NewFacts(c.Facts)}
}

// Next is what to do next.
type Next struct {
	Text string `json:"text"`
	// Commands can be run as they stand, the best one first.
	Commands []string `json:"commands,omitempty"`
}

// NewNext returns what to do next, nil if nothing has to be done.
func NewNext(n diagnosis.Next) *Next {
	if n.Text == "" {
		return nil
	}
	return &Next{n.Text, n.Commands}
}

// NewFacts returns pieces of evidence.
func NewFacts(facts []diagnosis.Fact) []Fact {
	return convertAll(facts, func(f diagnosis.Fact) Fact { return Fact{f.Text, f.Supports, f.Source, Moment{f.At}} })
}

// Explanation is what `explain -o json` prints.
type Explanation struct {
	Header
	// Job is the same as in a JobList.
	Job Job `json:"job"`
	// Verdict is there for ended jobs too; its state is empty then.
	Verdict Verdict `json:"verdict"`
	// Finalize is what `veltui finalize` would do, for a job that does not move.
	Finalize *Plan `json:"finalize,omitempty"`
	// Remedies are what else the evidence calls for.
	Remedies []Remedy `json:"ways,omitempty"`
	// Limits are Velero's own bounds on a job that has not ended.
	Limits []velero.Limit `json:"limits,omitempty"`
}

// NewExplanation returns the explanation of a job; plan is nil where there is none.
func NewExplanation(
	j assess.JudgedJob,
	volumes []assess.JudgedVolume,
	plan *action.Plan,
	remedies []action.Plan,
	limits []velero.Limit,
) Explanation {
	d := Explanation{
		Header:   NewHeader("Explanation"),
		Job:      NewJob(j, volumes),
		Verdict:  NewVerdict(j.Verdict),
		Remedies: newRemedies(remedies),
		Limits:   limits,
	}
	if plan != nil {
		d.Finalize = new(newPlan(plan))
	}
	return d
}

// Plan is what finalizing a job does, or why it is refused.
type Plan struct {
	Action          action.Effect  `json:"action"`
	Kind            job.Kind       `json:"kind"`
	Namespace       string         `json:"namespace"`
	Name            string         `json:"name"`
	UID             string         `json:"uid"`
	ResourceVersion string         `json:"resourceVersion"`
	From            string         `json:"from"`
	To              string         `json:"to,omitempty"`
	Set             map[string]int `json:"set,omitempty"`
	Why             string         `json:"why,omitempty"`
	Reason          string         `json:"reason,omitempty"`
	Refusal         string         `json:"refusal,omitempty"`
	Advice          string         `json:"advice,omitempty"`
	Will            []string       `json:"will,omitempty"`
	WillNot         []string       `json:"willNot,omitempty"`
	Then            []string       `json:"then,omitempty"`
	Command         string         `json:"command,omitempty"`
}

func newPlan(p *action.Plan) Plan {
	d := Plan{
		Action:          p.Effect(),
		Kind:            p.Kind,
		Namespace:       p.Namespace,
		Name:            p.Name,
		UID:             string(p.UID),
		ResourceVersion: p.ResourceVersion,
		From:            p.FromPhase,
		To:              p.ToPhase,
		Why:             p.EvidenceText,
		Reason:          p.Reason,
		Refusal:         p.Refusal,
		Advice:          p.Advice,
		Will:            p.Will,
		WillNot:         p.WillNot,
		Then:            p.Afterwards,
	}
	if len(p.Commands) > 0 {
		d.Command = p.Commands[0]
	}
	for _, field := range p.StatusFields {
		if d.Set == nil {
			d.Set = map[string]int{}
		}
		d.Set[field.Name] = field.Value
	}
	return d
}

// Remedy is a plan other than that of finalizing.
type Remedy struct {
	Action  action.Kind `json:"action"`
	Title   string      `json:"title"`
	Why     string      `json:"why"`
	Will    []string    `json:"will,omitempty"`
	WillNot []string    `json:"willNot,omitempty"`
	Then    []string    `json:"then,omitempty"`
	// Commands are the kubectl commands that do the same.
	Commands []string `json:"commands,omitempty"`
	// Volumes are cancelled, and Fails would be marked Failed, as KIND/NAME.
	Volumes []string `json:"volumes,omitempty"`
	Fails   []string `json:"fails,omitempty"`
	// Possible is false, with Refusal, for what veltui does not do itself.
	Possible bool   `json:"canTake"`
	Refusal  string `json:"refusal,omitempty"`
	Advice   string `json:"advice,omitempty"`
}

func newRemedies(plans []action.Plan) []Remedy {
	return convertAll(plans, func(p action.Plan) Remedy {
		d := Remedy{
			Action:   p.Action,
			Title:    p.Title,
			Why:      p.EvidenceText,
			Will:     p.Will,
			WillNot:  p.WillNot,
			Then:     p.Afterwards,
			Commands: p.Commands,
			Fails:    p.FailingJobs,
			Possible: p.IsPossible(),
			Refusal:  p.Refusal,
			Advice:   p.Advice,
		}
		for _, v := range p.Volumes {
			d.Volumes = append(d.Volumes, v.Ref().String())
		}
		return d
	})
}

// Finalization is what `finalize -o json` prints.
type Finalization struct {
	Header
	// Cluster is where all this is.
	Cluster session.Identity `json:"cluster"`
	Facts   []Fact           `json:"facts"`
	Plan    Plan             `json:"plan"`
	// Remedies are what else the evidence calls for, and Asked is the one that was
	// asked for in place of the plan. Both keys are older than the names.
	Remedies []Remedy    `json:"ways,omitempty"`
	Asked    action.Kind `json:"taken,omitempty"`
	Outcome  *Outcome    `json:"outcome,omitempty"`
}

// Outcome is what came of an action.
type Outcome struct {
	State    action.OutcomeState `json:"state"`
	Sent     action.SentState    `json:"sent"`
	Phase    string              `json:"phase"`
	Message  string              `json:"message"`
	Copy     string              `json:"copy,omitempty"`
	Log      string              `json:"log,omitempty"`
	Warnings []string            `json:"warnings,omitempty"`
	// Undo are commands that take back what should not have been done: a dry run that was carried out, or a request that
	// is now about another object.
	Undo []string `json:"undo,omitempty"`
	// NewPlan is what follows from the newest evidence after a change.
	NewPlan *Plan  `json:"newPlan,omitempty"`
	Error   string `json:"error,omitempty"`
}

// NewFinalization returns what came of the plan that was shown. plan is that of
// finalizing, and remedies are the others.
func NewFinalization(
	plan *action.Plan,
	remedies []action.Plan,
	shown *action.Plan,
	o *action.Outcome,
	err error,
) Finalization {
	d := Finalization{
		Header:   NewHeader("Finalization"),
		Cluster:  plan.Evidence().Cluster,
		Facts:    NewFacts(plan.Facts()),
		Plan:     newPlan(plan),
		Remedies: newRemedies(remedies),
		Outcome:  new(newOutcome(o, err)),
	}
	if shown.Action != action.Finalize {
		d.Asked = shown.Action
	} else if o.State == action.StateChanged {
		d.Outcome.NewPlan = new(newPlan(&o.Plan))
	}
	return d
}
