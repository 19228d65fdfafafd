package results

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/stored/artifact"
)

// Severity is how serious a message is.
type Severity string

// The two severities that Velero stores.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Scope is what a message is about.
type Scope string

// The scopes that Velero tells apart (pkg/util/results/result.go), and that of messages from more than one of them.
const (
	ScopeVelero    Scope = "velero"    // the run itself
	ScopeCluster   Scope = "cluster"   // objects without a namespace
	ScopeNamespace Scope = "namespace" // the objects of namespaces
	ScopeSeveral   Scope = "several"
	// ScopeOperation is that of errors of item operations, which Velero counts and does not store.
	ScopeOperation Scope = "operation"
)

// Message is messages that say the same.
type Message struct {
	// Severity is error or warning. Namespace is the only one that they are from, else Namespaces has all.
	Severity   Severity `json:"severity"`
	Scope      Scope    `json:"scope"`
	Namespace  string   `json:"namespace,omitempty"`
	Namespaces []string `json:"namespaces,omitempty"`
	// Text is what they say, without the resource at the beginning, with * for what varies; Example is the first as
	// Velero wrote it, and Examples has the first different ones.
	Text      string     `json:"text"`
	Example   string     `json:"example,omitempty"`
	Examples  []string   `json:"examples,omitempty"`
	Count     int        `json:"count"`
	Resources []Resource `json:"resources"`
	// Variants is what stands in place of each *, and from where, for messages that name no resource.
	Variants []string `json:"variants,omitempty"`
	// OmittedResources is how many resources or variants are left out.
	OmittedResources int `json:"more,omitempty"`

	// isFromSeveral reports whether the section has messages from several places, so that each has to say its own.
	isFromSeveral bool
}

// maxExamples is how many messages a group keeps as Velero wrote them.
const maxExamples = 3

// DisplayText returns the text of the messages, fit to show and never empty.
func (m Message) DisplayText() string {
	if strings.TrimSpace(m.Text) == "" {
		return "(no message)"
	}
	return m.Text
}

// Place returns where the messages are from.
func (m Message) Place() string {
	switch {
	case m.Scope == ScopeOperation:
		return operationsPlace
	case m.Scope == ScopeVelero, m.Scope == ScopeCluster:
		return string(m.Scope)
	case m.Namespace != "":
		return "namespace " + m.Namespace
	}
	place := human.Count(len(m.Namespaces), "namespace")
	if m.Scope == ScopeSeveral {
		place = "velero, cluster and " + place
		if len(m.Namespaces) == 0 {
			place = "velero and cluster"
		}
	}
	return place
}

// Instances returns the resources that the messages name, or else their variants.
func (m Message) Instances() []string {
	if len(m.Resources) == 0 {
		return m.Variants
	}
	all := make([]string, len(m.Resources))
	for i := range m.Resources {
		all[i] = m.resourceName(i)
	}
	return all
}

// resourceName names a resource as fully as the place of the messages requires.
func (m Message) resourceName(i int) string {
	if r := m.Resources[i]; m.isFromSeveral {
		return r.QualifiedName()
	}
	return m.Resources[i].String()
}

// ListInstances lists at most most instances, all if most is negative: "configmaps/a, b, pods/c". left counts the
// others.
func (m Message) ListInstances(most int) (names string, left int) {
	if len(m.Resources) == 0 {
		return m.listVariants(most)
	}
	var b strings.Builder
	for i, r := range m.Resources {
		if i == most {
			return b.String(), len(m.Resources) - most
		}
		if i > 0 {
			b.WriteString(", ")
		}
		switch {
		case i == 0 || r.Kind != m.Resources[i-1].Kind:
			b.WriteString(m.resourceName(i))
		case m.isFromSeveral && r.Namespace != m.Resources[i-1].Namespace:
			b.WriteString(Resource{Namespace: r.Namespace, Name: r.Name}.QualifiedName())
		default:
			b.WriteString(r.Name)
		}
	}
	return b.String(), 0
}

func (m Message) listVariants(most int) (text string, left int) {
	place := ""
	if m.isFromSeveral && m.Namespace != "" {
		place = m.Place()
	}
	if most < 0 || most > len(m.Variants) {
		most = len(m.Variants)
	}
	separator := ", "
	if slices.ContainsFunc(m.Variants[:most], func(v string) bool { return strings.Contains(v, ", ") }) {
		separator = "; "
	}
	variants := strings.Join(m.Variants[:most], separator)
	return place + human.Prefixed(strings.Repeat(": ", min(len(place), 1)), variants), len(m.Variants) - most
}

// MessageSection holds the messages of one severity.
type MessageSection struct {
	Severity Severity
	Place    string // where all of them are from, empty for several places
	Count    int    // messages
	Messages []Message
}

// GroupMessages groups messages that say the same, wherever they are from: errors before warnings, then the most
// repeated message. names are known names of the job's objects. The result holds no reference to results, so that
// their memory can be freed.
func GroupMessages(results artifact.Results, names ...string) []MessageSection {
	return buildSections(results, names, groupRows)
}

// ListMessages returns each message on its own, in the order in which Velero stored them.
func ListMessages(results artifact.Results) []MessageSection {
	return buildSections(results, nil, listRows)
}

// listRows returns each row as a group.
func listRows(rows []row, _ vocabulary) [][]int32 {
	all := make([][]int32, len(rows))
	for i := range all {
		all[i] = []int32{int32(i)}
	}
	return all
}

// row is a message as it is stored.
type row struct {
	scope     Scope
	namespace string
	named     Resource
	text      string // without the resource
	message   string
}

func (r row) findPlace() string {
	if r.scope == ScopeNamespace {
		return "namespace " + r.namespace
	}
	return string(r.scope)
}

// groupFunc returns the indexes of the rows that say the same.
type groupFunc func(rows []row, words vocabulary) [][]int32

func buildSections(results artifact.Results, names []string, group groupFunc) []MessageSection {
	var sections []MessageSection
	for _, of := range []struct {
		severity Severity
		messages artifact.Messages
	}{{Error, results.Errors}, {Warning, results.Warnings}} {
		rows := parseRows(of.messages)
		if len(rows) == 0 {
			continue
		}
		place := rows[0].findPlace()
		if slices.ContainsFunc(rows, func(r row) bool { return r.findPlace() != place }) {
			place = ""
		}
		s := MessageSection{Severity: of.severity, Place: place, Count: len(rows)}
		s.Messages = buildMessages(of.severity, rows, names, group)
		sections = append(sections, s)
	}
	return sections
}

func parseRows(m artifact.Messages) (rows []row) {
	add := func(scope Scope, namespace string, messages []string) {
		namespace = strings.Clone(namespace)
		for _, message := range messages {
			named, text := parseMessage(message)
			named.Namespace = namespace
			rows = append(rows, row{scope, namespace, named, text, message})
		}
	}
	add(ScopeVelero, "", m.Velero)
	add(ScopeCluster, "", m.Cluster)
	for _, namespace := range slices.Sorted(maps.Keys(m.Namespaces)) {
		add(ScopeNamespace, namespace, m.Namespaces[namespace])
	}
	return rows
}

// buildMessages returns groups of rows as messages, the most repeated first.
func buildMessages(severity Severity, rows []row, names []string, group groupFunc) []Message {
	places := map[string]bool{}
	for i := range rows {
		places[rows[i].findPlace()] = true
	}
	words := newVocabulary(rows, names)
	groups := group(rows, words)
	messages := make([]Message, len(groups))
	for i := range groups {
		messages[i] = buildMessage(severity, rows, groups[i], words)
		messages[i].isFromSeveral = len(places) > 1 || messages[i].Scope == ScopeOperation
	}
	slices.SortStableFunc(messages, func(a, b Message) int { return cmp.Compare(b.Count, a.Count) })
	return messages
}
