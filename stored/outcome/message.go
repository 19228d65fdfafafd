package outcome

import "strings"

// Resource is one that a message names.
type Resource struct {
	// Kind is as the message has it, deployments.apps or ConfigMap; empty if it does not say.
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
	for _, form := range []func(string) (Resource, string, bool){logLine, restored, exists, customKind, undecoded, refused} {
		if r, rest, ok := form(message); ok {
			return r, rest
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

// exists reads what Velero says of a resource that is in the cluster already.
func exists(message string) (Resource, string, bool) {
	rest, found := strings.CutPrefix(message, "could not restore, ")
	if !found {
		return Resource{}, "", false
	}
	subject, text, found := strings.Cut(rest, " already exists")
	if !found {
		return Resource{}, "", false
	}
	at := strings.IndexAny(subject, ": ") // the second form has the name in quotes
	if at <= 0 {
		return Resource{}, "", false
	}
	name := strings.Trim(subject[at+1:], `"`)
	if name == "" || strings.Contains(name, " ") {
		return Resource{}, "", false
	}
	return Resource{subject[:at], name}, "already exists" + text, true
}

func customKind(message string) (Resource, string, bool) {
	for _, before := range []string{"the CRD ", "error verifying the CRD "} {
		rest, found := strings.CutPrefix(message, before)
		if name, text, cut := strings.Cut(rest, " is "); found && cut && name != "" && !strings.Contains(name, " ") {
			return Resource{"customresourcedefinitions", name}, before + "is " + text, true
		}
	}
	return Resource{}, "", false
}

// undecoded reads a path in the backup: resources/KIND[/VERSION]/(namespaces/NAMESPACE or cluster)/NAME.json.
func undecoded(message string) (Resource, string, bool) {
	rest, found := strings.CutPrefix(message, `error decoding "resources/`)
	if !found {
		return Resource{}, "", false
	}
	path, text, found := strings.Cut(rest, `.json": `)
	kind, inner, _ := strings.Cut(path, "/")
	name := inner[strings.LastIndexByte(inner, '/')+1:]
	if !found || kind == "" || name == "" {
		return Resource{}, "", false
	}
	return Resource{kind, name}, "error decoding: " + text, true
}

// refused reads an API server's error: 'pods "db-0" not found' (k8s.io/apimachinery/pkg/api/errors).
func refused(message string) (Resource, string, bool) {
	const conflict = "Operation cannot be fulfilled on "
	rest, conflicts := strings.CutPrefix(message, conflict)
	kind, rest, found := strings.Cut(rest, ` "`)
	name, text, closed := strings.Cut(rest, `"`)
	if !found || !closed || kind == "" || name == "" || strings.ContainsAny(kind, " :") || strings.Contains(name, " ") {
		return Resource{}, "", false
	}
	if conflicts {
		return Resource{kind, name}, "Operation cannot be fulfilled" + text, true
	}
	for _, says := range []string{" not found", " already exists", " is forbidden", " is invalid"} {
		if strings.HasPrefix(text, says) {
			return Resource{kind, name}, strings.TrimSpace(text), true
		}
	}
	return Resource{}, "", false
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
