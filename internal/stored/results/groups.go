package results

import (
	"cmp"
	"maps"
	"slices"
	"strings"

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

// The scopes that Velero tells apart (pkg/util/results/result.go).
const (
	ScopeVelero    Scope = "velero"    // the run itself
	ScopeCluster   Scope = "cluster"   // objects without a namespace
	ScopeNamespace Scope = "namespace" // the objects of one namespace
)

// Title returns a scope in words; the namespace scope by its name.
func (s Scope) Title(namespace string) string {
	if s == ScopeNamespace {
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
	// OmittedResources is how many resources are left out.
	OmittedResources int `json:"more,omitempty"`
}

// DisplayText returns the text of the messages, fit to show and never empty.
func (m Message) DisplayText() string {
	if strings.TrimSpace(m.Text) == "" {
		return "(no message)"
	}
	return m.Text
}

// MessageSection holds the messages of one severity and scope.
type MessageSection struct {
	Severity  Severity
	Scope     Scope
	Namespace string
	Count     int // messages
	Messages  []Message
}

// Title returns the section's place in words.
func (s MessageSection) Title() string { return s.Scope.Title(s.Namespace) }

// GroupMessages groups messages: errors before warnings, then the place with the most messages, then the most
// repeated message. The result holds no reference to results, so that their memory can be freed.
func GroupMessages(results artifact.Results) []MessageSection {
	return append(buildSections(Error, results.Errors), buildSections(Warning, results.Warnings)...)
}

func buildSections(severity Severity, m artifact.Messages) []MessageSection {
	all := []MessageSection{
		buildSection(severity, ScopeVelero, "", m.Velero),
		buildSection(severity, ScopeCluster, "", m.Cluster),
	}
	for _, namespace := range slices.Sorted(maps.Keys(m.Namespaces)) {
		all = append(all, buildSection(severity, ScopeNamespace, strings.Clone(namespace), m.Namespaces[namespace]))
	}
	all = slices.DeleteFunc(all, func(s MessageSection) bool { return s.Count == 0 })
	slices.SortStableFunc(all, func(a, b MessageSection) int { return cmp.Compare(b.Count, a.Count) })
	return all
}

// messageBuilder is a Message under construction.
type messageBuilder struct {
	Message
	text string // of the first message, including the resource's name
	seen map[Resource]bool
}

func buildSection(severity Severity, scope Scope, namespace string, messages []string) MessageSection {
	s := MessageSection{Severity: severity, Scope: scope, Namespace: namespace, Count: len(messages)}
	byText := map[string]*messageBuilder{}
	var order []*messageBuilder
	for _, message := range messages {
		named, text := parseMessage(message)
		same := templateText(text, named.Name)
		g := byText[same]
		if g == nil {
			same = strings.Clone(same)
			g = &messageBuilder{text: strings.Clone(text), seen: map[Resource]bool{}}
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
		named = Resource{internText(named.Kind), strings.Clone(named.Name)}
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

// ListResources lists at most most resources, all if most is negative: "configmaps/a, b, pods/c". left counts the
// others.
func (c Message) ListResources(most int) (names string, left int) {
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
