package kubectl

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ClusterAccess holds the flags and variables with which a command reaches a cluster. It holds no secrets.
type ClusterAccess struct {
	Context     string   // the kubeconfig's context; empty for none
	Flags       []string // other flags, such as --kubeconfig=FILE, each as one word
	Environment []string // variables that must be set, as NAME=value
}

func (r ClusterAccess) KubectlCommand(namespace string, args ...string) string {
	words := append(r.programWords("kubectl"), r.clusterFlags(namespace)...)
	return strings.Join(append(words, quoteArgs(args)...), " ")
}

// VeltuiCommand returns a veltui command in a namespace, with the same flags.
func (r ClusterAccess) VeltuiCommand(namespace string, args ...string) string {
	words := append(r.programWords("veltui"), quoteArgs(args)...)
	return strings.Join(append(words, r.clusterFlags(namespace)...), " ")
}

// VeleroCommand returns a velero command in a namespace. unsaid are the cluster flags that velero lacks
// (pkg/client/factory.go).
func (r ClusterAccess) VeleroCommand(namespace string, args ...string) (line string, unsaid []string) {
	words := append(r.programWords("velero"), quoteArgs(args)...)
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

func (r ClusterAccess) programWords(program string) []string {
	var words []string
	for _, variable := range r.Environment {
		name, value, _ := strings.Cut(variable, "=")
		words = append(words, name+"="+Quote(value))
	}
	return append(words, program)
}

func (r ClusterAccess) clusterFlags(namespace string) []string {
	var words []string
	if r.Context != "" {
		words = append(words, "--context", Quote(r.Context))
	}
	words = append(words, quoteArgs(r.Flags)...)
	if namespace != "" {
		words = append(words, "-n", Quote(namespace))
	}
	return words
}

func quoteArgs(args []string) []string {
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = Quote(a)
	}
	return words
}

// Quote returns s as one word for a POSIX shell. It uses printf for line feeds and characters that a terminal or a
// clipboard might change, but cannot preserve line feeds at the end, nor NULs.
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

// needsPrintf reports whether a character may look different from what it is, or is invisible.
func needsPrintf(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' || r == 0x7f
	}
	return !unicode.In(r, unicode.L, unicode.N)
}

// Command returns the command of a program, kubectl, veltui or velero, which is the first word.
func (r ClusterAccess) Command(namespace string, words ...string) string {
	switch program, args := words[0], words[1:]; program {
	case "veltui":
		return r.VeltuiCommand(namespace, args...)
	case "velero":
		line, _ := r.VeleroCommand(namespace, args...)
		return line
	default:
		return r.KubectlCommand(namespace, args...)
	}
}
