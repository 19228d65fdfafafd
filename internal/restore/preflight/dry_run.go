package preflight

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/veltui/veltui/internal/human"
)

// DryRun is what the API server answered to the objects of a restore, sent as Velero would, without storing them.
type DryRun struct {
	// As is whose rights and policies the answers are about; AsVelero is true if that is Velero's service account,
	// and WhyNot says why it is not.
	As       string `json:"as"`
	AsVelero bool   `json:"asVelero"`
	WhyNot   string `json:"whyNot,omitempty"`
	StandIn  string `json:"standIn,omitempty"` // StandIn is the namespace that stood in for those that do not exist yet.
	Items    int    `json:"items"`             // Items is how many items the restore would try to restore.
	Sent     int    `json:"sent"`
	Accepted int    `json:"accepted"`
	// Rejected are in Velero's order of resources.
	Rejected   []Rejection `json:"rejected"`
	CannotTell []Untold    `json:"cannotTell,omitempty"` // what the dry run could not find out
	NotSent    []Untold    `json:"notSent,omitempty"`    // what Velero does not create either
	CannotKnow []string    `json:"cannotKnow"`           // what no dry run can tell, always the same
	// CarriedOut are the objects that were stored although they were sent with dryRun=All. The first ends the dry run.
	CarriedOut []CarriedOut `json:"carriedOut,omitempty"`
	// NotProven are the objects that were sent, and of which no answer proves that they were not stored.
	NotProven []Untold `json:"notProven,omitempty"`

	// Answered reports whether the API server answered for an item, by its target.
	Answered func(resource, namespace, name string) bool `json:"-"`
}

// CarriedOut is an object that a dry run stored: what serves it, or something in front of that, ignores dryRun.
type CarriedOut struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Resource   string `json:"resource"` // Resource is plural and group, as "deployments.apps".
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	UID        string `json:"uid,omitempty"`
	Patched    bool   `json:"patched,omitempty"` // Patched is true where it existed, and was changed.
	Why        string `json:"why"`               // Why is how veltui knows.
	// Command removes it, or puts it back; it is empty where veltui cannot say one.
	Command string `json:"command,omitempty"`
}

// Sentence names the object, and what happened to it.
func (o *CarriedOut) Sentence() string {
	what := "stored"
	if o.Patched {
		what = "changed"
	}
	return fmt.Sprintf(
		"A dry run was carried out and %s %s %s: %s",
		what,
		o.Resource,
		human.Namespaced(o.Namespace, o.Name),
		human.Stop(o.Why),
	)
}

// Remedy says how to take it back.
func (o *CarriedOut) Remedy() string {
	switch {
	case o.Command != "" && o.Patched:
		return "Put it back: " + o.Command
	case o.Command != "":
		return "Delete it: " + o.Command
	}
	return "Put it back as it was before, by hand or from a backup of the namespace."
}

// Rejection is an object that the API server rejects.
type Rejection struct {
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"` // of the target
	Name      string `json:"name"`
	Message   string `json:"message"` // in the API server's words
	// Warned is true where Velero only warns: of a patch of what exists, or of an object that may be too large.
	Warned bool `json:"warned,omitempty"`
	// ByVelero is true where Velero itself has the error: of one of its actions, or of the resource modifier.
	ByVelero bool   `json:"byVelero,omitempty"`
	Pattern  string `json:"-"` // the message without the object's own name
}

// Untold are items with one thing in common.
type Untold struct {
	Why      string   `json:"why"`
	Resource string   `json:"resource,omitempty"` // Resource is empty where they are of several.
	Names    []string `json:"names"`              // Names are some of them, as "resource/namespace/name".
	Count    int      `json:"count"`
}

// What returns how many items of which kind, with an example.
func (u Untold) What() string {
	what := human.Count(u.Count, "item")
	if u.Resource != "" {
		what = some(u.Count, u.Resource)
	}
	return what + ", such as " + u.Names[0]
}

// Unproven is how many objects were sent of which no answer proves that they were not stored.
func (d *DryRun) Unproven() (n int) {
	for _, u := range d.NotProven {
		n += u.Count
	}
	return n
}

// Summary says how many objects were sent, and why none was. That nothing was stored it says only where each answer
// proves that.
func (d *DryRun) Summary() string {
	text := fmt.Sprintf("Dry run as %s: %s of %s sent", d.As, human.Number(d.Sent), human.Count(d.Items, "object"))
	rejected := human.Number(len(d.Rejected)) + " rejected"
	unproven := d.Unproven()
	switch {
	case len(d.CarriedOut) > 0:
		text += fmt.Sprintf(", %s, %s CARRIED OUT: %s", rejected, human.Plural(len(d.CarriedOut), "was", "were"),
			human.List(d.carriedOut(), 3))
	case unproven > 0:
		text += ", " + rejected
	default:
		text += fmt.Sprintf(", %s accepted, %s, nothing stored", human.Number(d.Accepted), rejected)
	}
	if unproven > 0 {
		text += "; not proven of " + human.Number(unproven) + " that nothing was stored"
	}
	if len(d.CarriedOut) > 0 {
		return text
	}
	for _, not := range [][]Untold{d.NotSent, d.CannotTell} { // the largest group comes first
		if d.Sent == 0 && len(not) > 0 {
			return text + "; not sent: " + not[0].What() + ": " + not[0].Why
		}
	}
	return text
}

func (d *DryRun) carriedOut() (names []string) {
	for _, o := range d.CarriedOut {
		names = append(names, o.Resource+"/"+human.Namespaced(o.Namespace, o.Name))
	}
	return names
}

// CannotKnow is what nobody can know before a restore.
var CannotKnow = []string{
	"what controllers, operators and third-party plugins of Velero do with the objects later",
	"what webhooks, policies, quotas and limit ranges answer that change until then, or that the restore itself brings",
	"sums over several objects, except those that veltui adds up (quotas)",
}

// answered reports whether a dry run has answered what a rule asks of an item.
func (c *check) answered(resource, namespace, name string) bool {
	return c.DryRun != nil && c.DryRun.Answered(resource, namespace, name)
}

// dryRun adds what the dry run found, and what it left open.
func (c *check) dryRun() {
	d := c.DryRun
	if d == nil {
		if c.items > 0 {
			c.notLooked(Admission, "only a dry run asks the API server")
		}
		return
	}
	c.carriedOut(d.CarriedOut)
	c.rejected(d.Rejected)
	for _, u := range d.NotProven {
		c.notLooked("whether the dry run of "+u.What()+" stored nothing", u.Why)
	}
	if !d.AsVelero {
		c.notLooked("what Velero's service account may do", d.WhyNot+"; the answers are those for "+d.As)
	}
	for _, u := range d.CannotTell {
		c.notLooked("the dry run of "+u.What(), u.Why)
	}
}

// carriedOut makes a finding of each object that a dry run stored.
func (c *check) carriedOut(all []CarriedOut) {
	for _, o := range all {
		c.found = append(
			c.found,
			Finding{
				Severity:  Obstacle,
				Reason:    DryRunCarriedOut,
				Resource:  o.Resource,
				Namespace: o.Namespace,
				Names:     []string{o.Name},
				Count:     1,
				Sentence:  o.Sentence(),
				Remedy:    o.Remedy(),
			},
		)
	}
}

var amounts = regexp.MustCompile(`[0-9]+(\.[0-9]+)?`)

// rejected makes one finding of objects that were rejected with the same words.
func (c *check) rejected(all []Rejection) {
	type key struct {
		pattern          string
		warned, byVelero bool
	}
	grouped, first := map[key]*group{}, []Rejection{}
	resources := map[key]map[string]bool{}
	keyOf := func(r Rejection) key {
		return key{amounts.ReplaceAllString(r.Pattern, "0"), r.Warned, r.ByVelero}
	}
	for _, r := range all {
		k := keyOf(r)
		if grouped[k] == nil {
			grouped[k], resources[k] = &group{}, map[string]bool{}
			first = append(first, r)
		}
		grouped[k].add(r.Namespace, r.Name)
		resources[k][r.Resource] = true
	}
	for _, r := range first {
		k := keyOf(r)
		g := grouped[k]
		f := Finding{Severity: Obstacle, Reason: Rejected, Remedy: "Change what rejects them, or leave them out."}
		what := human.Count(g.count, "item")
		if len(resources[k]) == 1 {
			f.Resource, what = r.Resource, some(g.count, r.Resource)
		}
		text := r.Message
		if g.count > 1 {
			text = r.Pattern
		}
		f.Sentence = fmt.Sprintf("The API server rejects %s: %s", what, strings.TrimSuffix(text, ".")+".")
		if r.ByVelero {
			f.Sentence = fmt.Sprintf("Velero reports an error for %s: %s", what, strings.TrimSuffix(text, ".")+".")
			f.Remedy = "Change what causes it, or leave them out."
		}
		if r.Warned {
			f.Severity = Doubt
			f.Sentence = fmt.Sprintf(
				"Velero may not bring %s to the state of the backup: %s",
				what,
				strings.TrimSuffix(text, ".")+".",
			)
			f.Remedy = "Delete what is in the way first, or leave them out."
		}
		c.find(g.fill(f))
	}
}

// NewUntold groups items by why without their names (pattern), the largest group first.
func NewUntold(each func(add func(why, pattern, resource, namespace, name string))) []Untold {
	var all []*Untold
	at := map[string]*Untold{}
	each(func(why, pattern, resource, namespace, name string) {
		u := at[pattern]
		if u == nil {
			u = &Untold{Why: why, Resource: resource}
			at[pattern], all = u, append(all, u)
		} else if u.Why != why {
			u.Why = pattern
		}
		if u.Resource != resource {
			u.Resource = ""
		}
		if u.Count++; len(u.Names) < maxNames {
			u.Names = append(u.Names, resource+"/"+human.Namespaced(namespace, name))
		}
	})
	slices.SortStableFunc(all, func(a, b *Untold) int { return cmp.Compare(b.Count, a.Count) })
	var untold []Untold
	for _, u := range all {
		untold = append(untold, *u)
	}
	return untold
}
