package kubectl

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Reach is how a command gets to a cluster. It holds no secrets.
type Reach struct {
	Context     string   // of the kubeconfig; empty for none
	Flags       []string // others, such as --kubeconfig=FILE, each in one word
	Environment []string // variables that must be set, as NAME=value
}

func (r Reach) Kubectl(namespace string, args ...string) string {
	words := append(r.start("kubectl"), r.flags(namespace)...)
	return strings.Join(append(words, quoteAll(args)...), " ")
}

// Veltui is a veltui command in a namespace, which has the same flags.
func (r Reach) Veltui(namespace string, args ...string) string {
	words := append(r.start("veltui"), quoteAll(args)...)
	return strings.Join(append(words, r.flags(namespace)...), " ")
}

// Velero is a velero command in a namespace. unsaid are flags to the cluster that velero lacks
// (pkg/client/factory.go).
func (r Reach) Velero(namespace string, args ...string) (line string, unsaid []string) {
	words := append(r.start("velero"), quoteAll(args)...)
	if r.Context != "" {
		words = append(words, "--kubecontext", Quote(r.Context))
	}
	for _, flag := range r.Flags {
		if name, _, _ := strings.Cut(flag, "="); name == "--kubeconfig" {
			words = append(words, Quote(flag))
		} else {
			unsaid = append(unsaid, name)
		}
	}
	if namespace != "" {
		words = append(words, "-n", Quote(namespace))
	}
	return strings.Join(words, " "), unsaid
}

func (r Reach) start(program string) []string {
	var words []string
	for _, variable := range r.Environment {
		name, value, _ := strings.Cut(variable, "=")
		words = append(words, name+"="+Quote(value))
	}
	return append(words, program)
}

func (r Reach) flags(namespace string) []string {
	var words []string
	if r.Context != "" {
		words = append(words, "--context", Quote(r.Context))
	}
	words = append(words, quoteAll(r.Flags)...)
	if namespace != "" {
		words = append(words, "-n", Quote(namespace))
	}
	return words
}

func quoteAll(args []string) []string {
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = Quote(a)
	}
	return words
}

// Quote makes one word of s for a POSIX shell. printf restores line feeds and all that a terminal
// or a clipboard might change, but not line feeds at the end, nor NULs.
func Quote(s string) string {
	switch {
	case s != "" && s[0] != '=' && s[0] != '~' && !strings.ContainsFunc(s, needsQuotes):
		return s
	case utf8.ValidString(s) && !strings.ContainsFunc(s, needsPrintf):
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	var format strings.Builder
	for first := true; len(s) > 0; first = false {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == 0:
		case r == '%':
			format.WriteString("%%")
		case r == '\\' || r == '\'' || first && r == '-' || r == utf8.RuneError || needsPrintf(r):
			for _, b := range []byte(s[:size]) {
				fmt.Fprintf(&format, `\%03o`, b)
			}
		default:
			format.WriteRune(r)
		}
		s = s[size:]
	}
	return `"$(printf '` + format.String() + `')"`
}

func needsQuotes(r rune) bool {
	isPlain := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	return !isPlain && !strings.ContainsRune("-_./:@%+,=~", r)
}

// needsPrintf reports whether a character is other than it looks, or invisible.
func needsPrintf(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' || r == 0x7f
	}
	return !unicode.In(r, unicode.L, unicode.N)
}
