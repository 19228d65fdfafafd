package preflight

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/human"
)

// DryRun is what the API server answered to the objects of a restore, sent as Velero would, without storing them.
type DryRun struct {
	// User is whose rights and policies the answers are about; AsVelero is true if that is Velero's service account,
	// and NotVeleroReason says why it is not.
	User            string `json:"as"`
	AsVelero        bool   `json:"asVelero"`
	NotVeleroReason string `json:"whyNot,omitempty"`
	// StandInNamespace is the namespace that stood in for those that do not exist yet.
	StandInNamespace string `json:"standIn,omitempty"`
	ItemCount        int    `json:"items"` // ItemCount is how many items the restore would try to restore.
	SentCount        int    `json:"sent"`
	AcceptedCount    int    `json:"accepted"`
	// Rejected are in Velero's order of resources.
	Rejected        []Rejection `json:"rejected"`
	CannotTell      []ItemGroup `json:"cannotTell,omitempty"` // what the dry run could not find out
	NotSent         []ItemGroup `json:"notSent,omitempty"`    // what Velero does not create either
	AlwaysUnchecked []string    `json:"cannotKnow"`           // what no dry run can tell, always the same
	// StoredObjects are the objects that were stored although they were sent with dryRun=All. The first ends the dry
	// run.
	StoredObjects []StoredObject `json:"carriedOut,omitempty"`
	// NotProven are the objects that were sent, and of which no answer proves that they were not stored.
	NotProven []ItemGroup `json:"notProven,omitempty"`

	// ModifiedNeeds returns what an item needs after the resource modifier, by its place in the backup; false if that is
	// unknown. It is nil without a modifier.
	ModifiedNeeds func(resource, namespace, name string) ([]collector.Need, bool) `json:"-"`
	// Answered reports whether the API server answered for an item, by its target.
	Answered func(resource, namespace, name string) bool `json:"-"`
	// FindName returns the name that the resource modifier gives an item, by its place in the backup, where the dry run
	// prepared the item.
	FindName func(resource, namespace, name string) (renamed string, known bool) `json:"-"`
}

// StoredObject is an object that a dry run stored: what serves it, or something in front of that, ignores dryRun.
type StoredObject struct {
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
func (o *StoredObject) Sentence() string {
	what := "stored"
	if o.Patched {
		what = "changed"
	}
	return fmt.Sprintf(
		"A dry run was carried out and %s %s %s: %s",
		what,
		o.Resource,
		human.Namespaced(o.Namespace, o.Name),
		human.EndSentence(o.Why),
	)
}

// Remedy says how to undo what was stored.
func (o *StoredObject) Remedy() string {
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

// ItemGroup are items with one thing in common.
type ItemGroup struct {
	Why      string   `json:"why"`
	Resource string   `json:"resource,omitempty"` // Resource is empty where they are of several.
	Names    []string `json:"names"`              // Names are some of them, as "resource/namespace/name".
	Count    int      `json:"count"`
}

// Description returns how many items of which kind, with an example.
func (u ItemGroup) Description() string {
	what := human.Count(u.Count, "item")
	if u.Resource != "" {
		what = countText(u.Count, u.Resource)
	}
	return what + ", such as " + u.Names[0]
}

// CountUnproven returns the number of sent objects for which no answer proves that they were not stored.
func (d *DryRun) CountUnproven() (n int) {
	for _, u := range d.NotProven {
		n += u.Count
	}
	return n
}

// Summary says how many objects were sent, and why none was. It says that nothing was stored only where each answer
// proves it.
func (d *DryRun) Summary() string {
	text := fmt.Sprintf(
		"Dry run as %s: %s of %s sent",
		d.User,
		human.Number(d.SentCount),
		human.Count(d.ItemCount, "object"),
	)
	rejected := human.Number(len(d.Rejected)) + " rejected"
	unproven := d.CountUnproven()
	switch {
	case len(d.StoredObjects) > 0:
		text += fmt.Sprintf(", %s, %s CARRIED OUT: %s", rejected, human.CountForms(len(d.StoredObjects), "was", "were"),
			human.JoinNames(d.storedNames(), 3))
	case unproven > 0:
		text += ", " + rejected
	default:
		text += fmt.Sprintf(", %s accepted, %s, nothing stored", human.Number(d.AcceptedCount), rejected)
	}
	if unproven > 0 {
		text += "; not proven of " + human.Number(unproven) + " that nothing was stored"
	}
	if len(d.StoredObjects) > 0 {
		return text
	}
	for _, not := range [][]ItemGroup{d.NotSent, d.CannotTell} { // the largest group comes first
		if d.SentCount == 0 && len(not) > 0 {
			return text + "; not sent: " + not[0].Description() + ": " + not[0].Why
		}
	}
	return text
}

func (d *DryRun) storedNames() (names []string) {
	for _, o := range d.StoredObjects {
		names = append(names, o.Resource+"/"+human.Namespaced(o.Namespace, o.Name))
	}
	return names
}

// AlwaysUnchecked lists what nobody can know before a restore.
var AlwaysUnchecked = []string{
	"what controllers, operators and third-party plugins of Velero do with the objects later",
	"what webhooks, policies, quotas and limit ranges answer that change until then",
	"sums over several objects, except those that veltui adds up (quotas)",
}

// isAnswered reports whether a dry run has answered what a rule asks about an item.
func (c *checker) isAnswered(resource, namespace, name string) bool {
	return c.DryRun != nil && c.DryRun.Answered(resource, namespace, name)
}

// eachItemNeeds visits what each item needs, after the resource modifier where the dry run has applied it.
func (c *checker) eachItemNeeds(visit func(collector.Item, []collector.Need)) error {
	if c.DryRun == nil || c.DryRun.ModifiedNeeds == nil || c.modifier.Rules == nil {
		return c.Fates.EachItemNeeds(visit)
	}
	c.unmodified = map[string]bool{}
	return c.Fates.EachItemNeeds(func(i collector.Item, needs []collector.Need) {
		if c.modifier.Rules.MayChange(i.Resource) {
			if modified, known := c.modifiedNeeds(i); known {
				needs = modified
			} else if c.willCreate(i) {
				c.unmodified[i.Resource] = true
			}
		}
		visit(i, needs)
	})
}

// modifiedNeeds returns what an item needs after the resource modifier; false if the dry run has not applied it.
func (c *checker) modifiedNeeds(i collector.Item) ([]collector.Need, bool) {
	if c.DryRun == nil || c.DryRun.ModifiedNeeds == nil {
		return nil, false
	}
	return c.DryRun.ModifiedNeeds(i.Resource, i.Namespace, i.Name)
}

// mayBeModified reports whether the resource modifier may change items of a resource in a way that is unknown here.
func (c *checker) mayBeModified(resource string) bool {
	m := &c.modifier
	switch {
	case m.Name == "":
		return false
	case m.Rules == nil:
		return true
	}
	return m.Rules.MayChange(resource) && (c.unmodified == nil || c.unmodified[resource])
}

// isRejected reports whether the API server rejects an item, so that Velero does not create it.
func (c *checker) isRejected(resource, namespace, name string) bool {
	if c.DryRun == nil || len(c.DryRun.Rejected) == 0 {
		return false
	}
	if c.rejectedItems == nil {
		c.rejectedItems = map[[3]string]bool{}
		for _, r := range c.DryRun.Rejected {
			c.rejectedItems[[3]string{r.Resource, r.Namespace, r.Name}] = !r.Warned && !r.ByVelero
		}
	}
	return c.rejectedItems[[3]string{resource, namespace, name}]
}

// checkDryRun adds what the dry run found, and what it left open.
func (c *checker) checkDryRun() {
	d := c.DryRun
	if d == nil {
		if c.itemCount > 0 {
			c.addUnchecked(UncheckedAdmission, "only a dry run asks the API server")
		}
		return
	}
	c.addStored(d.StoredObjects)
	c.addRejected(d.Rejected)
	for _, u := range d.NotProven {
		c.addUnchecked("whether the dry run of "+u.Description()+" stored nothing", u.Why)
	}
	if !d.AsVelero {
		c.addUnchecked("what Velero's service account may do", d.NotVeleroReason+"; the answers are those for "+d.User)
	}
	for _, u := range d.CannotTell {
		c.addUnchecked("the dry run of "+u.Description(), u.Why)
	}
}

// addStored adds a finding for each object that a dry run stored.
func (c *checker) addStored(all []StoredObject) {
	for _, o := range all {
		c.findings = append(
			c.findings,
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

var numberPattern = regexp.MustCompile(`[0-9]+(\.[0-9]+)?`)

// addRejected adds one finding for all objects that were rejected with the same message.
func (c *checker) addRejected(all []Rejection) {
	type key struct {
		pattern          string
		warned, byVelero bool
	}
	grouped, first := map[key]*group{}, []Rejection{}
	resources := map[key]map[string]bool{}
	keyOf := func(r Rejection) key {
		return key{numberPattern.ReplaceAllString(r.Pattern, "0"), r.Warned, r.ByVelero}
	}
	for _, r := range all {
		k := keyOf(r)
		if grouped[k] == nil {
			grouped[k], resources[k] = &group{}, map[string]bool{}
			first = append(first, r)
		}
		grouped[k].addItem(r.Namespace, r.Name)
		resources[k][r.Resource] = true
	}
	for _, r := range first {
		k := keyOf(r)
		g := grouped[k]
		f := Finding{Severity: Obstacle, Reason: Rejected, Remedy: "Change what rejects them, or leave them out."}
		what := human.Count(g.count, "item")
		if len(resources[k]) == 1 {
			f.Resource, what = r.Resource, countText(g.count, r.Resource)
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
		c.addFinding(g.fillFinding(f))
	}
}

// GroupItems groups items by pattern, which is the reason without the item's name. The largest group comes first.
func GroupItems(each func(add func(why, pattern, resource, namespace, name string))) []ItemGroup {
	var all []*ItemGroup
	at := map[string]*ItemGroup{}
	each(func(why, pattern, resource, namespace, name string) {
		u := at[pattern]
		if u == nil {
			u = &ItemGroup{Why: why, Resource: resource}
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
	slices.SortStableFunc(all, func(a, b *ItemGroup) int { return cmp.Compare(b.Count, a.Count) })
	var untold []ItemGroup
	for _, u := range all {
		untold = append(untold, *u)
	}
	return untold
}
