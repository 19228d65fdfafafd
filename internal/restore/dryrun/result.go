package dryrun

import (
	"cmp"
	"slices"
	"strings"

	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/preflight"
	"github.com/veltui/veltui/internal/stored/results"
)

// maxText is how many characters are kept of a message.
const maxText = 2000

// result sums up what became of the items. broken is why not all of them were sent.
func (r *run) result(broken error) *preflight.DryRun {
	d := &preflight.DryRun{
		As: r.Who, AsVelero: r.AsVelero, WhyNot: r.WhyNot, Items: len(r.items), StandIn: r.StandIn,
		CarriedOut: r.stored, Rejected: []preflight.Rejection{}, CannotKnow: preflight.CannotKnow,
	}
	lost := "it was not in what could be read of the backup"
	if broken != nil {
		lost = "it was not sent: " + broken.Error()
	}
	all := make([]*item, 0, len(r.items))
	for _, i := range r.items {
		if i.verdict == open {
			i.decide(cannotTell, lost)
		}
		// Velero cannot make the namespace, and has an error for each item in it.
		if space := r.targets[place{live.Namespaces, "", i.namespace}]; space != nil && space.verdict == rejected {
			i.decide(rejected, space.why)
			i.ofNamespace = true
		}
		all = append(all, i)
	}
	r.sort(all)
	for _, i := range all {
		if i.asked {
			d.Sent++
		}
		switch i.verdict {
		case accepted:
			d.Accepted++
		case rejected, warned:
			d.Rejected = append(d.Rejected, rejectionOf(i))
		}
	}
	untold := func(v verdict) []preflight.Untold {
		return preflight.NewUntold(func(add func(why, pattern, resource, namespace, name string)) {
			for _, i := range all {
				if i.verdict == v {
					why, pattern := i.text()
					add(why, pattern, i.resource, i.namespace, i.name)
				}
			}
		})
	}
	d.CannotTell, d.NotSent = untold(cannotTell), untold(notSent)
	d.NotProven = preflight.NewUntold(func(add func(why, pattern, resource, namespace, name string)) {
		for _, i := range r.withUnproven() {
			text, pattern := i.shown(i.unproven)
			add(text, pattern, i.resource, i.namespace, i.name)
		}
	})
	d.Answered = func(resource, namespace, name string) bool {
		if resource == live.Namespaces {
			namespace = ""
		}
		i := r.targets[place{resource, namespace, name}]
		// What a stand-in lets in, the namespace itself may not.
		return i != nil &&
			(i.verdict == accepted && !r.isNew(namespace) || i.verdict == rejected || i.verdict == warned)
	}
	return d
}

// sort brings items into the order in which Velero restores them: by resource, then by namespace and name.
func (r *run) sort(all []*item) {
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

func rejectionOf(i *item) preflight.Rejection {
	text, pattern := i.text()
	return preflight.Rejection{
		Resource:  i.resource,
		Namespace: i.namespace,
		Name:      i.name,
		Message:   text,
		Warned:    i.verdict == warned,
		ByVelero:  i.byVelero,
		Pattern:   pattern,
	}
}

// text returns what is shown of why, and the same without the item's own name.
func (i *item) text() (text, pattern string) { return i.shown(i.why) }

// shown is text without data of a Secret, and the same without the item's own name.
func (i *item) shown(text string) (shown, pattern string) {
	if i.resource == secrets && !i.ofNamespace {
		text = withoutData(text)
	}
	return text, results.Pattern(results.Pattern(text, i.name), i.namespace)
}

// quoted are the errors of the API server's validation that quote a value
// (k8s.io/apimachinery/pkg/util/validation/field/errors.go, ErrorBody).
var quoted = []string{"Invalid value", "Unsupported value", "Duplicate value", "Not found", "Too many"}

// withoutData removes what a message may quote of a Secret. A webhook or a policy may quote anything.
func withoutData(text string) string {
	const left = "(veltui leaves out what may be data of the Secret)"
	for _, words := range []string{"denied request", "denied the request", "failed calling webhook"} {
		if before, _, quotes := strings.Cut(text, words); quotes {
			return before + words + " " + left
		}
	}
	before, after, _ := strings.Cut(text, " is invalid: ")
	if slices.ContainsFunc(quoted, func(q string) bool { return strings.Contains(after, q) }) {
		return before + " is invalid " + left
	}
	return text
}
