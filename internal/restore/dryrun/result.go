package dryrun

import (
	"cmp"
	"slices"
	"strings"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/preflight"
	"github.com/veltui/veltui/internal/stored/results"
)

// maxText is how many characters of a message are kept.
const maxText = 2000

// buildResult summarizes the verdicts of the items. broken is why not all of them were sent.
func (r *runner) buildResult(broken error) *preflight.DryRun {
	d := &preflight.DryRun{
		User:             r.User,
		AsVelero:         r.AsVelero,
		NotVeleroReason:  r.NotVeleroReason,
		ItemCount:        len(r.items),
		StandInNamespace: r.StandInNamespace,
		StoredObjects:    r.stored,
		Rejected:         []preflight.Rejection{},
		AlwaysUnchecked:  preflight.AlwaysUnchecked,
	}
	lost := "it was not in what could be read of the backup"
	if broken != nil {
		lost = "it was not sent: " + broken.Error()
	}
	all := make([]*item, 0, len(r.items))
	for _, i := range r.items {
		if i.verdict == undecided {
			i.setVerdict(cannotTell, lost)
		}
		// Velero cannot create the namespace, and reports an error for each item in it.
		if space := r.itemsByTarget[itemKey{live.Namespaces, "", i.namespace}]; space != nil && space.verdict == rejected {
			i.setVerdict(rejected, space.reason)
			i.namespaceRejected = true
		}
		all = append(all, i)
	}
	r.sortItems(all)
	for _, i := range all {
		if i.wasSent {
			d.SentCount++
		}
		switch i.verdict {
		case accepted:
			d.AcceptedCount++
		case rejected, warned:
			d.Rejected = append(d.Rejected, newRejection(i))
		}
	}
	untold := func(v verdict) []preflight.ItemGroup {
		return preflight.GroupItems(func(add func(why, pattern, resource, namespace, name string)) {
			for _, i := range all {
				if i.verdict == v {
					why, pattern := i.shownReason()
					add(why, pattern, i.resource, i.namespace, i.name)
				}
			}
		})
	}
	d.CannotTell, d.NotSent = untold(cannotTell), untold(notSent)
	d.NotProven = preflight.GroupItems(func(add func(why, pattern, resource, namespace, name string)) {
		for _, i := range r.findUnproven() {
			text, pattern := i.redactText(i.unprovenReason)
			add(text, pattern, i.resource, i.namespace, i.name)
		}
	})
	if r.Rules.Modifier != nil {
		d.ModifiedNeeds = func(resource, namespace, name string) ([]collector.Need, bool) {
			needs, known := r.needs[itemKey{resource, namespace, name}]
			return needs, known
		}
	}
	d.Answered = func(resource, namespace, name string) bool {
		if resource == live.Namespaces {
			namespace = ""
		}
		i := r.itemsByTarget[itemKey{resource, namespace, name}]
		// The namespace itself may refuse what a stand-in accepts.
		return i != nil &&
			(i.verdict == accepted && !r.isNewNamespace(namespace) || i.verdict == rejected || i.verdict == warned)
	}
	d.FindName = func(resource, namespace, name string) (renamed string, known bool) {
		if i := r.items[itemKey{resource, namespace, name}]; i != nil && i.wasPrepared {
			return i.name, true
		}
		return "", false
	}
	return d
}

// sortItems sorts items into the order in which Velero restores them: by resource, then by namespace and name.
func (r *runner) sortItems(all []*item) {
	order := map[string]int{}
	for n, resource := range r.Order {
		order[resource] = n - len(r.Order)
	}
	slices.SortFunc(all, func(a, b *item) int {
		return cmp.Or(
			order[a.resource]-order[b.resource],
			strings.Compare(a.resource, b.resource),
			strings.Compare(a.namespace, b.namespace),
			strings.Compare(a.name, b.name),
		)
	})
}

func newRejection(i *item) preflight.Rejection {
	text, pattern := i.shownReason()
	return preflight.Rejection{
		Resource:  i.resource,
		Namespace: i.namespace,
		Name:      i.name,
		Message:   text,
		Warned:    i.verdict == warned,
		ByVelero:  i.isVeleroError,
		Pattern:   pattern,
	}
}

// shownReason returns the item's reason as it is shown, and the same without the item's own name.
func (i *item) shownReason() (text, pattern string) { return i.redactText(i.reason) }

// redactText returns text without data of a Secret, and the same without the item's own name.
func (i *item) redactText(text string) (shown, pattern string) {
	if i.resource == secrets && !i.namespaceRejected {
		text = redactSecretData(text)
	}
	return text, results.MessagePattern(results.MessagePattern(text, i.name), i.namespace)
}

// quotingErrors are the validation errors of the API server that quote a value
// (k8s.io/apimachinery/pkg/util/validation/field/errors.go, ErrorBody).
var quotingErrors = []string{"Invalid value", "Unsupported value", "Duplicate value", "Not found", "Too many"}

// redactSecretData removes what a message may quote from a Secret. A webhook or a policy may quote anything.
func redactSecretData(text string) string {
	const left = "(veltui leaves out what may be data of the Secret)"
	for _, words := range []string{"denied request", "denied the request", "failed calling webhook"} {
		if before, _, quotes := strings.Cut(text, words); quotes {
			return before + words + " " + left
		}
	}
	before, after, _ := strings.Cut(text, " is invalid: ")
	if slices.ContainsFunc(quotingErrors, func(q string) bool { return strings.Contains(after, q) }) {
		return before + " is invalid " + left
	}
	return text
}
