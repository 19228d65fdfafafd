package outcome

import (
	"regexp"
	"strings"
)

// Resource is one that a message names.
type Resource struct {
	// Kind is as Velero writes it in that message: a resource such as
	// deployments.apps, or a kind such as ConfigMap. Empty where the message does
	// not say it.
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// String is KIND/NAME.
func (r Resource) String() string {
	if r.Kind == "" {
		return r.Name
	}
	return r.Kind + "/" + r.Name
}

// parse cuts the resource out of a message as Velero writes it (1.18.3; pkg/restore/restore.go for restores,
// pkg/util/logging/log_counter_hook.go for backups). A message that names none is all text.
func parse(message string) (named Resource, text string) {
	message = strings.TrimSpace(message)
	for _, form := range []func(string) (Resource, string, bool){logLine, restored} {
		if r, rest, ok := form(message); ok {
			return r, rest
		}
	}
	for _, f := range forms {
		if at := f.pattern.FindStringSubmatchIndex(message); at != nil {
			fill := func(template string) string { return string(f.pattern.ExpandString(nil, template, message, at)) }
			return Resource{fill(f.kind), fill("$name")}, fill(f.text)
		}
	}
	return Resource{}, message
}

// logLine reads a backup's message: "resource: /pods name: /db-0 message: /Error backing up item error: /...".
// Each part but the message may be missing. Some errors have "(groupResource=pods, namespace=shop, name=db-0)".
func logLine(message string) (r Resource, text string, ok bool) {
	rest := message
	field := func(label string, next ...string) string {
		value, found := strings.CutPrefix(rest, label)
		if !found {
			return ""
		}
		end := len(value)
		for _, n := range next {
			if at := strings.Index(value, n); at >= 0 {
				end = min(end, at)
			}
		}
		rest = strings.TrimPrefix(value[end:], " ")
		return value[:end]
	}
	r.Kind = field("resource: /", " name: /", " message: /")
	r.Name = field("name: /", " message: /")
	if !strings.HasPrefix(rest, "message: /") {
		return Resource{}, "", false
	}
	text = field("message: /", " error: /")
	if cause := strings.TrimPrefix(rest, "error: /"); cause != rest {
		text += ": " + cause
	}
	if r.Kind == "" {
		r.Kind = between(text, "groupResource=", ",")
	}
	if r.Name == "" {
		r.Name = between(text, ", name=", ")")
	}
	if r.Name == "" {
		return Resource{}, text, true // a kind alone is no resource
	}
	return r, text, true
}

// between is what stands between two words, empty if they do not both occur.
func between(s, from, to string) string {
	_, s, found := strings.Cut(s, from)
	if s, _, ended := strings.Cut(s, to); found && ended {
		return s
	}
	return ""
}

// restored reads messages with an id, KIND/NAME or KIND/NAMESPACE/NAME (getResourceID). Names may have colons.
func restored(message string) (Resource, string, bool) {
	for _, verb := range []string{
		"error restoring additional item ", "error restoring ", "error preparing ",
		"error checking completion of ", "additional items for ", "",
	} {
		rest, found := strings.CutPrefix(message, verb)
		if !found {
			continue
		}
		id, text, _ := strings.Cut(rest, " ")
		id = strings.Trim(strings.TrimSuffix(id, ":"), `"`)
		r, ok := parseID(id)
		switch {
		case !ok || verb == "" && !strings.HasPrefix(text, "unexpected type "):
			continue
		case verb == "error restoring ":
			return r, withoutSubject(text, r.Name), true // its first words say nothing else
		case verb == "additional items for ":
			return r, "additional items " + text, true
		case verb == "":
			return r, text, true
		}
		return r, strings.TrimSpace(verb) + ": " + withoutSubject(text, r.Name), true
	}
	return Resource{}, "", false
}

func parseID(id string) (Resource, bool) {
	kind, name, found := strings.Cut(id, "/")
	if _, inner, namespaced := strings.Cut(name, "/"); namespaced {
		name = inner
	}
	if !found || kind == "" || name == "" || strings.Contains(name, "/") {
		return Resource{}, false
	}
	return Resource{kind, name}, true
}

// withoutSubject drops the API server's own naming of the resource: 'configmaps "cm-4" is forbidden'.
func withoutSubject(text, name string) string {
	if kind, rest, found := strings.Cut(text, ` "`+name+`" `); found && !strings.Contains(kind, " ") {
		return rest
	}
	return text
}

// forms are other messages of restores, by their kind, name and what else they say.
var forms = []struct {
	pattern    *regexp.Regexp
	kind, text string // templates
}{
	// could not restore, pods:db-0 already exists...; the second form has the name in quotes
	{regexp.MustCompile(`(?s)^could not restore, (?P<kind>[^: ]+)[: ]"?(?P<name>[^" ]+)"? already exists(?P<text>.*)$`), "$kind", "already exists$text"},
	{regexp.MustCompile(`(?s)^(?P<crd>(?:the|error verifying the) CRD) (?P<name>[^ ]+) is (?P<text>.*)$`), "customresourcedefinitions", "$crd is $text"},
	// with a path in the backup: resources/KIND[/VERSION]/(namespaces/NAMESPACE or cluster)/NAME.json
	{regexp.MustCompile(`(?s)^error decoding "resources/(?P<kind>[^"/]+)/(?:[^"]*/)?(?P<name>[^"/]+)\.json": (?P<text>.*)$`), "$kind", "error decoding: $text"},
	// errors of the API server's: pods "db-0" not found (k8s.io/apimachinery/pkg/api/errors)
	{regexp.MustCompile(`(?s)^Operation cannot be fulfilled on (?P<kind>[^ :]+) "(?P<name>[^" ]+)"(?P<text>.*)$`), "$kind", "Operation cannot be fulfilled$text"},
	{regexp.MustCompile(`(?s)^(?P<kind>[^ :]+) "(?P<name>[^" ]+)" (?P<text>(?:not found|already exists|is forbidden|is invalid).*)$`), "$kind", "$text"},
}

// anyName stands for the name in the text that several resources share.
const anyName = "*"

// template replaces the name with anyName. Within words that is only safe for a name that is no plain word.
func template(text, name string) string {
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
			before = '-' // what stands there was taken for something else
		}
		if end < len(text) {
			after = text[end]
		}
		whole := !ofName(before) && (!ofName(after) || after == '.' && (end+1 == len(text) || text[end+1] == ' '))
		b.WriteString(text[:at])
		if whole && (!plain || before == '"' || before == '/' || before == '=' || before == '\'') {
			b.WriteString(anyName)
		} else {
			b.WriteString(name)
		}
		text = text[end:]
	}
}

func ofName(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '.'
}
