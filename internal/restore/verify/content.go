package verify

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/restore/diff"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/prepare"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/stored/results"
)

// Content is how what an object holds stands against what the restore was to make. The names are API.
type Content string

// What may have become of an object's content. Emptied and Recreated are losses: what the backup holds is not there.
const (
	Emptied     Content = "Emptied"   // all of its data, subjects, rules or the like is gone
	Recreated   Content = "Recreated" // somebody made it again after the restore, with other content
	Changed     Content = "Changed"   // fields are other ones, or gone
	Scaled      Content = "Scaled"    // only its number of replicas is another one
	NotCompared Content = "NotCompared"
	Same        Content = "Same"
)

// Contents are those that are told of, in their order.
var Contents = []Content{Emptied, Recreated, Changed, Scaled, NotCompared}

// Words are the content for people.
func (c Content) Words() string {
	if c == NotCompared {
		return "not compared"
	}
	return strings.ToLower(string(c))
}

// Lost reports whether what the backup holds of an object is gone, though one of its name is there.
func (c Content) Lost() bool { return c == Emptied || c == Recreated }

// Lost reports whether an item did not come back, or lost its content since.
func (i Item) Lost() bool { return i.State.Lost() || i.Content.Lost() }

// Reason is why an item stands as it does, and which fields differ; empty where the state says all.
func (i Item) Reason() string {
	if len(i.Fields) == 0 {
		return i.Why
	}
	return strings.TrimPrefix(i.Why+"; differs in "+strings.Join(i.Fields, ", "), "; ")
}

// ask ends what is said of an object that was not compared.
const ask = "; --compare tells whether more differs"

// Comparison compares the content of what is there with what the restore was to make of the backup.
type Comparison struct {
	rules    prepare.Rules
	versions func(resource string) []string
	table    *diff.Table
	result   *Result
	backup   map[place]*content // by the place in the backup
	live     map[place]*content // by that in the cluster
	left     int                // how many are beyond [diff.MaxObjects]
}

type place struct{ resource, namespace, name string }

type content struct {
	*Item
	at       place // in the cluster
	kind     *Kind
	sources  int // how many items of the backup go there
	wanted   []diff.Field
	unsure   string // why veltui cannot tell what Velero makes
	read     bool
	storage  resource.Quantity // a claim was to ask for
	replicas int64             // in the cluster, if they differ
}

// NewComparison makes one of what is there and can be compared. versions says of a resource in which API versions the
// backup holds it.
func NewComparison(in Input, r *Result, rules prepare.Rules, versions func(resource string) []string) *Comparison {
	c := &Comparison{
		rules:    rules,
		versions: versions,
		table:    diff.NewTable(),
		result:   r,
		backup:   map[place]*content{},
		live:     map[place]*content{},
	}
	sources := map[place]int{}
	for kind, k := range r.Kinds {
		for n := range k.Items {
			i := &k.Items[n]
			at := place{k.Name, i.Namespace, i.Name}
			if i.State != LeftOut || i.Why == results.Twice {
				sources[at]++
			}
			o, _ := in.Target.Find(k.Name, i.Namespace, i.Name)
			if !isThere(i.State) || !isCompared(k.Name, i.Name, o) {
				continue
			}
			if len(c.live) == diff.MaxObjects {
				c.left++
				continue
			}
			from := place{k.Name, cmp.Or(i.From, i.Namespace), i.Name}
			if k.Name == "namespaces" {
				from = place{k.Name, "", cmp.Or(i.From, i.Name)}
			}
			i.Content, i.Why = "", strings.TrimSuffix(i.Why, ask)
			c.live[at] = &content{Item: i, at: at, kind: &r.Kinds[kind]}
			c.backup[from] = c.live[at]
		}
	}
	for at, i := range c.live {
		i.sources = sources[at]
	}
	return c
}

// Wants says whether the body of an item of the backup is needed.
func (c *Comparison) Wants(resource, namespace, name string) bool {
	i := c.backup[place{resource, namespace, name}]
	return i != nil && !i.read
}

// Backup takes the body of an item of the backup; nil is one that is too large.
func (c *Comparison) Backup(resource, namespace, name string, body []byte) {
	if !c.Wants(resource, namespace, name) {
		return
	}
	i := c.backup[place{resource, namespace, name}]
	i.read = true
	o, why := c.table.Read(body, i.sources, c.versions(resource))
	if why != "" {
		i.notCompared(why)
		return
	}
	var change prepare.Change
	// Velero makes these without actions and modifiers (pkg/restore/restore.go, getNamespace)
	if resource != "namespaces" {
		change = c.rules.Item(resource, o)
	}
	if change.Skip != "" || change.Fails != "" {
		delete(c.live, i.at) // Velero does not make it
		return
	}
	i.storage = storageOf(resource, o)
	prepare.Settle(resource, o)
	i.unsure, i.wanted = cmp.Or(change.Unsure, change.Perhaps), c.table.SignDeep(o.Object)
	c.table.Keep(i.wanted)
}

func (i *content) notCompared(why string) {
	i.Content, i.Why = NotCompared, strings.TrimPrefix(i.Why+"; "+sanitize.String(why), "; ")
}

// Question asks for the objects that can be compared.
func (c *Comparison) Question() *live.Question {
	q := &live.Question{}
	for at, i := range c.live {
		if i.read && i.Content == "" {
			q.Add(at.resource, at.namespace, at.name)
		}
	}
	return q
}

// Live takes an object of the cluster, and changes it.
func (c *Comparison) Live(resource string, o *unstructured.Unstructured) {
	i := c.live[place{resource, o.GetNamespace(), o.GetName()}]
	if i == nil || !i.read || i.Content != "" || i.Fields != nil {
		return
	}
	if c.table.Full() {
		i.notCompared("it and others have too many fields")
		return
	}
	replicas, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
	storage := storageOf(resource, o)
	prepare.Settle(resource, o)
	live := c.table.SignDeep(o.Object)
	differ := c.differing(resource, i.wanted, live)
	if storage.Cmp(i.storage) < 0 { // a claim may grow, by its user or the driver
		differ = append(differ, "spec.resources.requests.storage")
	}
	i.Content = Same
	switch outside := slices.ContainsFunc(differ, func(path string) bool { return section(path) != "metadata" }); {
	case len(differ) == 0:
		c.same(i)
	case i.State == Differs: // told of already
		i.Content = ""
	case i.unsure != "":
		i.notCompared(i.unsure)
	case i.State == MadeAnew && outside:
		i.Content = Recreated
	case c.emptied(i.wanted, live):
		i.Content = Emptied
	case slices.Equal(differ, []string{"spec.replicas"}):
		i.Content = Scaled
	default:
		i.Content = Changed
	}
	if slices.Contains(differ, "spec.replicas") {
		i.replicas = replicas
	}
	i.Fields, i.wanted = diff.Shown(differ), nil
}

// storageOf is what a claim asks for, zero of what is none.
func storageOf(kind string, o *unstructured.Unstructured) (q resource.Quantity) {
	if text, _, _ := unstructured.NestedString(o.Object, "spec", "resources", "requests", "storage"); kind == claims {
		q, _ = diff.Quantity(text)
	}
	return q
}

// same takes an object that is as the restore was to make it. Velero may have called it different.
func (c *Comparison) same(i *content) {
	i.Content = Same
	if i.State != Differs {
		return
	}
	i.State, i.Why = Existed, "Velero left it with a warning, though it is as the restore was to make it"
	for _, count := range []map[State]int{i.kind.Count, c.result.Count} {
		count[Differs]--
		count[Existed]++
	}
}

// section is the first name of a path.
func section(path string) string { return path[:strings.IndexAny(path+".", ".[")] }

// injected are resources to whose lists admission and controllers add elements.
var injected = []string{"pods", "serviceaccounts"}

// differing names the fields that are other ones or gone. What an object has more than the restore made is what the
// API server, webhooks or controllers fill in, but for the data of ConfigMaps and Secrets and longer lists.
func (c *Comparison) differing(resource string, wanted, live []diff.Field) (paths []string) {
	want := diff.ByPath(wanted)
	shorter, longer := map[string]bool{}, []string{}
	for _, f := range diff.Changes(wanted, live) {
		path := c.table.Name(f)
		_, known := want[f.Path]
		switch {
		case known && strings.HasSuffix(path, diff.Length):
			longer = append(longer, strings.TrimSuffix(path, diff.Length))
			continue
		case !known && section(path) != "data" && section(path) != "binaryData":
			continue
		case f.Value == diff.Gone:
			for at := range path {
				if path[at] == '[' {
					shorter[path[:at]] = true
				}
			}
		}
		paths = append(paths, path)
	}
	for _, path := range longer {
		if !shorter[path] && !slices.Contains(injected, resource) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// emptied reports whether all is gone that a part of the object was to hold.
func (c *Comparison) emptied(wanted, live []diff.Field) bool {
	left := map[string]bool{"metadata": true}
	for _, f := range live {
		left[section(c.table.Name(f))] = true
	}
	return slices.ContainsFunc(wanted, func(f diff.Field) bool {
		path := c.table.Name(f)
		return !left[section(path)] && path != section(path)
	})
}

// Scaled are the namespaces of objects whose number of replicas is another one.
func (c *Comparison) Scaled() (namespaces []string) {
	for at, i := range c.live {
		if slices.Contains(i.Fields, "spec.replicas") && !slices.Contains(namespaces, at.namespace) {
			namespaces = append(namespaces, at.namespace)
		}
	}
	slices.Sort(namespaces)
	return namespaces
}

// Autoscaler takes a HorizontalPodAutoscaler, which scales an object of a kind between least and most.
func (c *Comparison) Autoscaler(namespace, kind, name string, least, most int64) {
	for at, i := range c.live {
		resource, _, _ := strings.Cut(at.resource, ".")
		if at.namespace != namespace || at.name != name || !slices.Contains(i.Fields, "spec.replicas") ||
			resource != human.Nouns(strings.ToLower(kind)) ||
			i.replicas < least ||
			i.replicas > most {
			continue
		}
		i.Fields = slices.DeleteFunc(i.Fields, func(path string) bool { return path == "spec.replicas" })
		if len(i.Fields) == 0 && (i.Content == Scaled || i.Content == Recreated || i.State == Differs) {
			c.same(i)
		}
	}
}

// Finish adds what was found to the result. unseen is what could not be read of the cluster, and broken why the backup
// was not read to its end, if it was not.
func (c *Comparison) Finish(unseen []live.NotSeen, broken error) {
	r := c.result
	for at, i := range c.live {
		if i.Content == "" && (i.State != Differs || i.Fields == nil) {
			i.notCompared(diff.WhyUnread(at.resource, at.namespace, i.read, broken, unseen))
		}
	}
	if c.left > 0 {
		r.Unknown = true
		r.Notes = append(
			r.Notes,
			fmt.Sprintf(
				"%s were not compared: veltui compares at most %d.",
				human.Count(c.left, "object"),
				diff.MaxObjects,
			),
		)
	}
	r.arrange()
}
