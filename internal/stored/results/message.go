package results

import (
	"cmp"
	"regexp"
	"strings"
)

// Resource is one that a message names.
type Resource struct {
	// Kind is as Velero writes it in that message: a resource such as deployments.apps, or a kind such as
	// ConfigMap. Empty where the message does not say it.
	Kind string `json:"kind"`
	// Namespace is that of the messages; empty for those about the run or the cluster.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// QualifiedName returns KIND/NAMESPACE/NAME.
func (r Resource) QualifiedName() string {
	r.Name, r.Namespace = strings.TrimPrefix(r.Namespace+"/"+r.Name, "/"), ""
	return r.String()
}

// String returns KIND/NAME.
func (r Resource) String() string {
	if r.Kind == "" {
		return r.Name
	}
	return r.Kind + "/" + r.Name
}

// idPattern matches what getResourceID writes: KIND/NAME or KIND/NAMESPACE/NAME. Names may have colons, but no spaces.
const idPattern = `(?s)^"*([^/ "]+)/(?:[^/ ]*/)?([^/ "]+?)"*:?(?: (.*))?$`

// messageForms are the forms of messages that begin with prefix and continue with the kind, the name and the rest of
// the text (pkg/restore/restore.go, 1.18.3; k8s.io/apimachinery/pkg/api/errors). The shown text is words followed by
// the rest.
var messageForms = []struct {
	prefix, words, kind string
	pattern             *regexp.Regexp
}{
	{
		prefix:  "error restoring additional item ",
		words:   "error restoring additional item: ",
		pattern: regexp.MustCompile(idPattern),
	},
	{prefix: "error restoring ", pattern: regexp.MustCompile(idPattern)},
	{prefix: "error preparing ", words: "error preparing: ", pattern: regexp.MustCompile(idPattern)},
	{
		prefix:  "error checking completion of ",
		words:   "error checking completion of: ",
		pattern: regexp.MustCompile(idPattern),
	},
	{prefix: "additional items for ", words: "additional items ", pattern: regexp.MustCompile(idPattern)},
	{pattern: regexp.MustCompile(`(?s)^"*([^/ "]+)/(?:[^/ ]*/)?([^/ "]+?)"*:? (unexpected type .*)$`)},
	{
		prefix:  "could not restore, ",
		words:   "already exists",
		pattern: regexp.MustCompile(`(?s)^([^: ]+)[: ]"*([^ ]+?)"* already exists(.*)$`),
	},
	{
		prefix:  "the CRD ",
		words:   "the CRD is ",
		kind:    "customresourcedefinitions",
		pattern: regexp.MustCompile(`(?s)^()([^ ]+) is (.*)$`),
	},
	{
		prefix:  "error verifying the CRD ",
		words:   "error verifying the CRD is ",
		kind:    "customresourcedefinitions",
		pattern: regexp.MustCompile(`(?s)^()([^ ]+) is (.*)$`),
	},
	// A path in the backup: KIND/namespaces/NAMESPACE/NAME.json or KIND/cluster/NAME.json, perhaps with a version.
	{
		prefix:  `error decoding "resources/`,
		words:   "error decoding: ",
		pattern: regexp.MustCompile(`(?s)^([^/]+)/(?:.*?/)?([^/]+?)\.json": (.*)$`),
	},
	{
		prefix:  "Operation cannot be fulfilled on ",
		words:   "Operation cannot be fulfilled",
		pattern: regexp.MustCompile(`(?s)^([^ :]+) "([^ "]+)"(.*)$`),
	},
	{pattern: regexp.MustCompile(`(?s)^([^ :]+) "([^ "]+)" ((?:not found|already exists|is forbidden|is invalid).*)$`)},
}

// parseMessage splits a message into the resource that it names and the remaining text; a message that names none is
// all text.
func parseMessage(message string) (named Resource, text string) {
	message = strings.TrimSpace(message)
	if m := logLinePattern.FindStringSubmatch(message); m != nil {
		return parseLogLine(m)
	}
	for _, f := range messageForms {
		rest, found := strings.CutPrefix(message, f.prefix)
		if !found {
			continue
		}
		if m := f.pattern.FindStringSubmatch(rest); m != nil {
			r := Resource{Kind: cmp.Or(f.kind, m[1]), Name: m[2]}
			return r, f.words + withoutSubject(m[3], r.Name)
		}
	}
	return Resource{}, message
}

// logLinePattern matches a message of a backup, which consists of the fields of a log line
// (pkg/util/logging/log_counter_hook.go, 1.18.3). All but the message may be missing.
var logLinePattern = regexp.MustCompile(
	`(?s)^(?:resource: /(.*?) )?(?:name: /(.*?) )?message: /(.*?)(?: error: /(.*))?$`,
)

func parseLogLine(fields []string) (r Resource, text string) {
	text = fields[3]
	if fields[4] != "" {
		text += ": " + fields[4]
	}
	// Some errors name the resource: "(groupResource=pods, namespace=shop, name=db-0)".
	r = Resource{
		Kind: cmp.Or(fields[1], textBetween(text, "groupResource=", ",")),
		Name: cmp.Or(fields[2], textBetween(text, ", name=", ")")),
	}
	if r.Name == "" {
		return Resource{}, text // a kind without a name is not a resource
	}
	return r, text
}

// textBetween returns the text between two words, empty if they do not both occur.
func textBetween(s, from, to string) string {
	_, s, found := strings.Cut(s, from)
	if s, _, ended := strings.Cut(s, to); found && ended {
		return s
	}
	return ""
}

// withoutSubject removes the resource that the API server repeats: 'configmaps "cm-4" is forbidden'.
func withoutSubject(text, name string) string {
	if kind, rest, found := strings.Cut(text, ` "`+name+`" `); found && !strings.Contains(kind, " ") {
		return rest
	}
	return text
}

// templateText returns a message's text with "*" in place of the name. If the name is a plain word, only quoted and
// KEY=NAME uses are certain.
func templateText(text, name string) string {
	if name == "" || !strings.Contains(text, name) {
		return text
	}
	plain := strings.IndexFunc(name, func(r rune) bool { return r < 'a' || r > 'z' }) < 0
	var b strings.Builder
	for {
		at := strings.Index(text, name)
		if at < 0 {
			b.WriteString(text)
			return b.String()
		}
		end := at + len(name)
		var before, after byte = ' ', ' '
		if at > 0 {
			before = text[at-1]
		} else if b.Len() > 0 {
			before = '-' // the preceding text was taken for something else
		}
		if end < len(text) {
			after = text[end]
		}
		whole := !isNameChar(before) && (!isNameChar(after) || after == '.' && (end+1 == len(text) || text[end+1] == ' '))
		b.WriteString(text[:at])
		if whole && (!plain || before == '"' || before == '/' || before == '=' || before == '\'') {
			b.WriteString("*")
		} else {
			b.WriteString(name)
		}
		text = text[end:]
	}
}

func isNameChar(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '.'
}

// MessagePattern returns a message with "*" in place of an object's name, so that the same message about other
// objects gives the same text.
func MessagePattern(text, name string) string { return templateText(text, name) }
