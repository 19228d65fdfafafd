package report

import (
	"reflect"
	"regexp"
	"strings"
)

// redacted stands for what was taken out.
const redacted = "[redacted]"

// names are those of fields that hold credentials.
const names = `pass(?:word|wd|phrase)?|pwd|secret|token|(?:secret|access|api|account|shared|private|encryption|storage)[-_ ]?(?:access)?[-_ ]?key(?:[-_ ]?id)?|` +
	`client[-_]?(?:secret|key|key-data|certificate-data)|certificate-authority-data|credentials?|signature|sig|authorization|cookie|auth`

// rules find what must not be handed over. They rather take too much.
var rules = []struct {
	found *regexp.Regexp
	with  string
}{
	// PEM, with its end or without.
	{regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]+-----.*?(?:-----END [A-Z0-9 ]+-----|$)`), redacted},
	// The data of a Secret, as JSON or as Go prints a map.
	{regexp.MustCompile(`(?is)("?\b(?:stringData|data)"?\s*[:=]\s*)(?:map\[[^\]]*\]|\{[^}]*(?:\}|$))`), "${1}" + redacted},
	// Who asks, in an address, and its query: a signature is in there.
	{regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)[^/\s@'"]*@`), "${1}" + redacted + "@"},
	{regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://[^\s?#'"<>]*)[?#][^\s'"<>]*`), "${1}?" + redacted},
	{regexp.MustCompile(`(?i)\bX-(?:Amz|Goog|Ms)-[A-Za-z-]+(?:=|%3D)[^\s&'"]+`), redacted},
	// Headers.
	{regexp.MustCompile(`(?i)\b(bearer|basic|negotiate|aws4-hmac-sha256)\s+[^\s,;'"]{4,}[^\n]*`), "${1} " + redacted},
	{regexp.MustCompile(`(?i)((?:proxy-)?authorization|(?:set-)?cookie|x-[a-z-]*token)("?\s*[:=]\s*)[^\n]+`), "${1}${2}" + redacted},
	// Tokens and keys by their shape.
	{regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*){0,4}`), redacted},
	{regexp.MustCompile(`\b(?:AKIA|ASIA|AGPA|AIDA|AROA|AIPA|ANPA|ANVA|A3T[A-Z0-9])[A-Z0-9]{8,}\b`), redacted},
	{regexp.MustCompile(`\b(?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-|sha256~|AIza)[A-Za-z0-9_-]{8,}`), redacted},
	// name: value, name=value, "name":"value", and so in a command line.
	{regexp.MustCompile(`(?i)((?:^|[^A-Za-z0-9])(?:[A-Za-z0-9]+[-_.])*(?:` + names + `)\\?["']?\s*(?:[:=]|=>)\s*)(?:\\?"(?:[^"\\]|\\[^"])*\\?"?|'[^']*'?|[^\s"',;&}\])]+)`), "${1}" + redacted},
	{regexp.MustCompile(`(?i)(--(?:[a-z0-9]+-)*(?:` + names + `)\s+)[^\s"']+`), "${1}" + redacted},
}

// long is what may be a key or encoded data. Digests, which are hexadecimal, and names
// in lower case may not.
var long = regexp.MustCompile(`[A-Za-z0-9+/_-]{32,}={0,2}`)

// Redact takes out of a text what may be a credential: queries and users of addresses,
// tokens, keys, headers, the data of Secrets, kubeconfigs and certificates.
func Redact(text string) string {
	for _, r := range rules {
		text = r.found.ReplaceAllString(text, r.with)
	}
	return long.ReplaceAllStringFunc(text, func(found string) string {
		if strings.ContainsAny(found, "0123456789+/=") && strings.ToLower(found) != found && strings.ToUpper(found) != found && !isPath(found) {
			return redacted
		}
		return found
	})
}

// isPath reports whether slashes and dashes part the text into words, as in a path.
// Capitals and digits in one part are no word.
func isPath(text string) bool {
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '/' || r == '-' || r == '_' }) {
		if len(part) > 24 || strings.ToLower(part) != part && strings.ContainsAny(part, "0123456789") {
			return false
		}
	}
	return strings.ContainsAny(text, "/-_") && !strings.ContainsAny(text, "+=")
}

// redactAll redacts every string that a pointer leads to.
func redactAll(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			redactAll(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			redactAll(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			redactAll(v.Index(i))
		}
	case reflect.String:
		v.SetString(Redact(v.String()))
	}
}
