package results

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/veltui/veltui/internal/stored/artifact"
)

// Severity is how bad a message is.
type Severity string

// The two severities that Velero stores.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Scope is what a message is about.
type Scope string

// The scopes that Velero tells apart (pkg/util/results/result.go).
const (
	Velero    Scope = "velero"    // the run itself
	Cluster   Scope = "cluster"   // what has no namespace
	Namespace Scope = "namespace" // what is in one
)

// Title is a scope, or the namespace that it is, in words.
func (s Scope) Title(namespace string) string {
	if s == Namespace {
		return "namespace " + namespace
	}
	return string(s)
}

// Message is messages that say the same.
type Message struct {
	// Severity is error or warning, and Scope velero, cluster or namespace.
	Severity  Severity `json:"severity"`
	Scope     Scope    `json:"scope"`
	Namespace string   `json:"namespace,omitempty"`
	// Text is what they say, without the resource at the beginning; Example is the first as Velero wrote it.
	Text      string     `json:"text"`
	Example   string     `json:"example,omitempty"`
	Count     int        `json:"count"`
	Resources []Resource `json:"resources"`
	// More is how many resources are left out.
	More int `json:"more,omitempty"`
}

// Words are what the messages say, fit to show: never nothing.
func (m Message) Words() string {
	if strings.TrimSpace(m.Text) == "" {
		return "(no message)"
	}
	return m.Text
}

// Place is where the messages belong, in words.
func (m Message) Place() string { return m.Scope.Title(m.Namespace) }

// Section is the messages of one severity and scope.
type Section struct {
	Severity  Severity
	Scope     Scope
	Namespace string
	Count     int // messages
	Messages  []Message
}

// Title is the section's place in words.
func (s Section) Title() string { return s.Scope.Title(s.Namespace) }

// Group groups messages: errors before warnings, then the place with the most, then the most repeated message.
// It keeps nothing of results, so that their memory can be freed.
func Group(results artifact.Results) []Section {
	return append(sections(Error, results.Errors), sections(Warning, results.Warnings)...)
}

func sections(severity Severity, m artifact.Messages) []Section {
	all := []Section{section(severity, Velero, "", m.Velero), section(severity, Cluster, "", m.Cluster)}
	for _, namespace := range slices.Sorted(maps.Keys(m.Namespaces)) {
		all = append(all, section(severity, Namespace, strings.Clone(namespace), m.Namespaces[namespace]))
	}
	all = slices.DeleteFunc(all, func(s Section) bool { return s.Count == 0 })
	slices.SortStableFunc(all, func(a, b Section) int { return cmp.Compare(b.Count, a.Count) })
	return all
}

// gathering is a Message that grows.
type gathering struct {
	Message
	text string // of the first message, with its name
	seen map[Resource]bool
}

func section(severity Severity, scope Scope, namespace string, messages []string) Section {
	s := Section{Severity: severity, Scope: scope, Namespace: namespace, Count: len(messages)}
	byText := map[string]*gathering{}
	var order []*gathering
	for _, message := range messages {
		named, text := parse(message)
		same := template(text, named.Name)
		g := byText[same]
		if g == nil {
			same = strings.Clone(same)
			g = &gathering{text: strings.Clone(text), seen: map[Resource]bool{}}
			g.Message = Message{
				Severity:  severity,
				Scope:     scope,
				Namespace: namespace,
				Text:      same,
				Example:   strings.Clone(message),
			}
			byText[same] = g
			order = append(order, g)
		}
		g.Count++
		if named.Name == "" || g.seen[named] {
			continue
		}
		named = Resource{shared(named.Kind), strings.Clone(named.Name)}
		g.seen[named] = true
		g.Resources = append(g.Resources, named)
	}
	for _, g := range order {
		if len(g.Resources) <= 1 {
			g.Text = g.text
		}
		g.Resources = slices.Clip(g.Resources)
		s.Messages = append(s.Messages, g.Message)
	}
	slices.SortStableFunc(s.Messages, func(a, b Message) int { return cmp.Compare(b.Count, a.Count) })
	return s
}

// Names lists at most most resources, negative for all: "configmaps/a, b, pods/c". left counts the others.
func (c Message) Names(most int) (names string, left int) {
	var b strings.Builder
	for i, r := range c.Resources {
		if i == most {
			return b.String(), len(c.Resources) - most
		}
		if i > 0 {
			b.WriteString(", ")
		}
		if i > 0 && r.Kind == c.Resources[i-1].Kind {
			b.WriteString(r.Name)
		} else {
			b.WriteString(r.String())
		}
	}
	return b.String(), 0
}
