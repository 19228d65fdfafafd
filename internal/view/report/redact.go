package report

import (
	"reflect"
	"regexp"
	"strings"
	"unicode"

	"github.com/veltui/veltui/internal/view/document"
)

// redacted stands for what was taken out.
const redacted = "[redacted]"

// names are those of fields that hold credentials.
const names = `pass(?:word|wd|phrase|code|wort)|pwd|kennwort|secret|token|` +
	`(?:secret|access|api|account|shared|private|encryption|storage|master|application|license|signing|hmac|` +
	`session|unseal|recovery|deploy)[-_ ]?(?:access)?[-_ ]?key(?:[-_ ]?id)?|` +
	`client[-_]?(?:secret|key|key-data|certificate-data)|certificate-authority-data|credentials?|` +
	`signature|sig|authorization|cookie|auth`

// While rules work, cutOut stands for redacted and kept before what stays, so that no rule takes either for a value.
const cutOut, kept = "\x00", "\x01"

// noise splits words unseen: colours, as they are, as sanitize or as JSON writes them, and marks without width.
var noise = regexp.MustCompile(
	`(?:\x1b|\\x1b|\\u001[bB])\[[0-9;]*[mK]|` +
		`[\x{ad}\x{200b}-\x{200f}\x{202a}-\x{202e}\x{2060}-\x{2069}\x{feff}\x00\x01]|\\u(?:200[b-f]|2060|feff)`,
)

// spaces are those that \s does not know.
var spaces = regexp.MustCompile(`[\p{Z}\x{85}]`)

// refused is how the API server names an object that it refuses, after a colon: `secret: namespaces "x" not
// found`; how Velero names one that exists; and what the API server says of a field without its value.
var refused = regexp.MustCompile(
	`:(` +
		` [a-z]+s(?:\.[a-z0-9.]+)? "[^"\n]*" (?:not found|already exists|is forbidden|is invalid)|` +
		`\S+ already exists\. Warning: the in-cluster|` +
		` (?:Required value|Forbidden|Not found|Too long):| (?:EOF|not found|timeout)(?:[\s.,:;)"']|$)|` +
		` (?:no such |cannot |could not |failed |unable ))`,
)

// restored is how Velero names a Secret that it restores.
var restored = regexp.MustCompile(`(\brestor(?:e|ing) Secret:)( [a-z0-9.-]+)`)

const (
	named = `(?:[A-Za-z0-9_.-]*(?:` + names + `|passwords|tokens)(?:[-_]?(?:hash|value|base|id))?|` +
		`(?:\b|[A-Za-z0-9.-]*_)pw)`
	field = `(?:name|key|property|header)`
	quote = `\\*["']?`
	// quoted may hold quotes that are escaped, and may itself be in a text in quotes.
	quoted = `"(?:[^"\\\x00]|\\.)*"?|\\"(?:[^"\\\x00]|\\\\\\"|\\[^"])*\\*"?|` +
		`\\*"(?:[^"\\\x00]|\\[^"])*\\*"?|'(?:[^'\\]|\\.|'')*'?`
	value = `(?:` + quoted + `|\[[^\]\x00]*\]?|\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\}?)*\}?)*\}?|[^\s"'\x00\x01]+)`
	// next parts the arguments of a command, in a line or in a list.
	next = `[\s"'\\,]+`
)

// rules find what must not be handed over. They rather take too much.
var rules = []struct {
	found *regexp.Regexp
	with  string
}{
	// PEM, with its end or without.
	{regexp.MustCompile(`(?is)-{4,5} ?BEGIN [A-Z0-9 ]+-{4,5}.*?(?:-{4,5} ?END [A-Z0-9 ]+-{4,5}|$)`), cutOut},
	{regexp.MustCompile(`(?is)(\bPrivate-Lines:\s*\d+\s).*`), "${1}" + cutOut},
	// The data of a Secret, as JSON at any depth, as Go prints a map, or as YAML: all up to the end.
	{
		regexp.MustCompile(
			`(?is)(\\*"?\b(?:stringData|data)\\*"?\s*[:=]\s*)` +
				`(?:map\[[^\]]*\](?:(?:\[\]byte|string|interface \{\}|any)\{.*)?|\{.*)`,
		),
		"${1}" + cutOut,
	},
	{regexp.MustCompile(`(?i)(\b(?:stringData|data):\s+)(?:[\w.-]+:\s+\S+\s*)+`), "${1}" + cutOut},
	// Who asks, in an address, and its query: a signature is in there.
	{regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)[^\s@"]*@`), "${1}" + cutOut + "@"},
	{regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://[^\s?#'"<>\x00]*)[?#][^\s'"<>]*`), "${1}?" + cutOut},
	{regexp.MustCompile(`(?i)(%3A%2F%2F)[^\s"']*?%40`), "${1}" + cutOut + "%40"},
	{regexp.MustCompile(`(?i)\bX-(?:Amz|Goog|Ms)-[A-Za-z-]+(?:=|%3D)[^\s&'"]+`), cutOut},
	// Data source names, and what clients take on their command line.
	{regexp.MustCompile(`:[^\s@\x00]+@((?:tcp|unix)?\()`), ":" + cutOut + "@${1}"},
	{regexp.MustCompile(`(\bjdbc:[^\s@]*[:/])[^\s@:/\x00]+@`), "${1}" + cutOut + "@"},
	{regexp.MustCompile(`((?:^|[\s"'])(?:-u|--user)[\s="'\\,]*[^\s:"',]+:)[^\s"',\\]+`), "${1}" + cutOut},
	{
		regexp.MustCompile(
			`(\b(?:docker|podman|nerdctl|skopeo|helm|cqlsh|mongo\w*)\b[^\n]*?[\s"']-p` + next + `|` +
				`\b(?:sqlcmd|bcp|isql|osql)\b[^\n]*?[\s"']-P` + next + `)[^\s"'\\]+`,
		),
		"${1}" + cutOut,
	},
	{
		regexp.MustCompile(
			`(\bredis-cli\b[^\n]*?[\s"']-a` + next + `|` +
				`\bldap\w+\b[^\n]*?[\s"']-w` + next + `|` +
				`\bopenssl\b[^\n]*?\s-(?:k|K|pass\w*)\s+|` +
				`\bhtpasswd\b(?:\s+-\S+)*\s+\S+\s+\S+\s+|` +
				`\bmc\s+alias\s+set\s+\S+\s+\S+\s+)[^\n|;&]+`,
		),
		"${1}" + cutOut,
	},
	{regexp.MustCompile(`(\becho\s+)[^\n|]+(\|[^\n]*password-stdin)`), "${1}" + cutOut + " ${2}"},
	{regexp.MustCompile(`(?i)(password[-_]command["']?[\s=:]+)[^\n]*`), "${1}" + cutOut},
	{
		regexp.MustCompile(`(?i)(\bidentified\s+(?:with\s+\S+\s+)?(?:by|as)\s+(?:password\s+)?)(?:` + quoted + `)`),
		"${1}" + cutOut,
	},
	{regexp.MustCompile(`(--from-literal[=\s]+[^=\s]+=)\S+`), "${1}" + cutOut},
	// Addresses that are a key themselves.
	{
		regexp.MustCompile(
			`(?i)((?:hooks\.slack\.com/services|discord(?:app)?\.com/api/webhooks|webhook\.office\.com)/|` +
				`webhook[-_]?url["']?\s*[:=]\s*["']?)[^\s"']+`,
		),
		"${1}" + cutOut,
	},
	{
		regexp.MustCompile(
			`(\b(?:mysql|mariadb)\w*\b[^\n]*?[\s"']-p["'\\,]*|\bsshpass` + next + `-p[\s"'\\,]*)[^\s"'\\]+`,
		),
		"${1}" + cutOut,
	},
	// Headers.
	{regexp.MustCompile(`(?i)\b(bearer|basic|negotiate|aws4-hmac-sha256)\s+[^\s,;'"]{4,}[^\n]*`), "${1} " + cutOut},
	{
		regexp.MustCompile(`(?i)((?:proxy-)?authorization|(?:set-)?cookie|x-[a-z-]*token)("?\s*[:=]\s*)[^\n]+`),
		"${1}${2}" + cutOut,
	},
	{regexp.MustCompile(`(\bSharedKey(?:Lite)?\s+|\bAWS\s+)[\w-]+:\S+`), "${1}" + cutOut},
	// Tokens and keys by their shape.
	{regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*){0,4}`), cutOut},
	{regexp.MustCompile(`\b(?:AKIA|ASIA|AGPA|AIDA|AROA|AIPA|ANPA|ANVA|A3T[A-Z0-9])[A-Z0-9]{8,}\b`), cutOut},
	{
		regexp.MustCompile(
			`\b(?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-|xapp-|sha256~|AIza|hv[sbr]\.|dckr_pat_|` +
				`dop_v1_|npm_|ya29\.|sk_live_|sk-proj-|SG\.|glsa_|AGE-SECRET-KEY-1)[A-Za-z0-9_.-]{8,}`,
		),
		cutOut,
	},
	{regexp.MustCompile(`\b[sbr]\.[A-Za-z0-9]{24,}\b`), cutOut}, // Vault's before hvs.
	{regexp.MustCompile(`\d{8,10}:[A-Za-z0-9_-]{30,}`), cutOut},
	// What the API server says of a field.
	{
		regexp.MustCompile(
			`(?i)((?:` + named + `["'\\]*|\b(?:stringData|data)\[[^\]]*)\]?:)` +
				`(\s*(?:Invalid|Duplicate|Unsupported) value:\s*)` + value,
		),
		"${1}" + kept + "${2}" + cutOut,
	},
	// An environment variable of a container, as JSON, as YAML and as Go prints it.
	{
		regexp.MustCompile(
			`(?i)(` + quote + field + quote + `\s*[:=]\s*` + quote + named + quote + `[,\s]+` +
				quote + `value` + quote + `\s*[:=]\s*)` + value,
		),
		"${1}" + cutOut,
	},
	{
		regexp.MustCompile(
			`(?i)(` + quote + `value` + quote + `\s*[:=]\s*)` +
				`(?:\\*"(?:[^"\\]|\\[^"])*\\*"|[^\s,"'\\\x00][^\n,"']*?)` +
				`([,\s]+` + quote + field + quote + `\s*[:=]\s*` + quote + named + `)`,
		),
		"${1}" + cutOut + "${2}",
	},
	// A block of YAML.
	{
		regexp.MustCompile(`(?i)(` + named + quote + `:\s*[|>][+-]?\d?[ \t]*)(?:(?:\n|\\n)[ \t]+[^\n\\]*)+`),
		"${1}" + cutOut,
	},
	// A password in YAML may have spaces.
	{regexp.MustCompile(`(?i)(\bpass(?:word|wd|phrase): +)[^\s"'\[{\x00\x01][^\n]*`), "${1}" + cutOut},
	// name: value, name=value, "name":"value", and so in a command line.
	{
		regexp.MustCompile(
			`(?i)(` + named + quote + `\s*(?:(?:[=-]>|[:=＝：➜|]|%3[ad](?:%20)*)\s*)+(?:[>|][+-]?\s+|[!&][^\s=]*\s+)?)` + value,
		),
		"${1}" + cutOut,
	},
	{regexp.MustCompile(`(?i)(["']` + named + `["']\s*,\s*["'])[^"'\x00]+`), "${1}" + cutOut},
	{regexp.MustCompile(`(?i)(\bpass(?:word|wd|phrase)\s+(?:is\s+|was\s+)?)(?:\\*"[^"]+"|'[^']+')`), "${1}" + cutOut},
}

// suspects are credentials if they look so: words after a name, values behind ambiguous names, passwords before a host.
var suspects = []*regexp.Regexp{
	regexp.MustCompile(
		`(?i)((?:\b|_)(?:pass(?:word|wd|phrase)?|pwd|pin|otp|` +
			`(?:api|access|secret|private|kms|sse-c|encryption|application|master|unseal)[-_ ]?key|token)` +
			`["']?(?:[\s,;:=>]|</?\w+>)+(?:(?:is|was|of)\s+)?["']?)([^\s"'<>,;\x00]+)`,
	),
	regexp.MustCompile(
		`(?i)(\b(?:jwt|bearer|session(?:[-_]?id)?|csrf|nonce|salt|dsn|` +
			`[\w-]*\.key|id_(?:rsa|dsa|ecdsa|ed25519)|\w*dockerconfigjson|\w*KeyEncryption\w*)` +
			`["']?\s*[:=]\s*["']?)([^\s"'<>,;\x00]+)`,
	),
	regexp.MustCompile(`(?i)(<value>)([^<\x00]+)`),
	regexp.MustCompile(`(\b[A-Za-z0-9_.+-]+:)([^\s:/@\x00]+)@[A-Za-z0-9/\[(]`),
}

// looksSecret reports whether a word has letters and digits as names seldom have, unlike paths, uids,
// digests, versions.
func looksSecret(word string) bool {
	digits := strings.ContainsAny(word, "0123456789")
	return len(word) >= 6 && digits && strings.ContainsFunc(word, unicode.IsLetter) && !harmless.MatchString(word)
}

// harmless are paths, uids, digests, durations, versions, and kinds of such names.
var harmless = regexp.MustCompile(
	`^(?:\.{0,2}/.*|[0-9a-f]{8}-[0-9a-f-]{27}|(?:sha\d+:)?[0-9a-f]{32,}|` +
		`v?\d[\d.]*[a-z0-9.-]{0,8}|[\w.-]+\.(?:go|yaml|json|io|com|org)(?::\d+)?)$`,
)

// long is what may be a key or encoded data. Digests, which are hexadecimal, and names in lower case may not.
var long = regexp.MustCompile(`[A-Za-z0-9+/_-]{32,}={0,2}`)

// Redact takes out what may be a credential: queries, users, tokens, keys, headers, Secrets, kubeconfigs, certificates.
func Redact(text string) string {
	text = spaces.ReplaceAllString(noise.ReplaceAllString(text, ""), " ")
	text = refused.ReplaceAllString(text, ":"+kept+"${1}")
	text = restored.ReplaceAllString(text, "${1}"+kept+"${2}")
	for _, r := range rules {
		text = r.found.ReplaceAllString(text, r.with)
	}
	text = redactNamed(text)
	for _, suspect := range suspects {
		text = replaceSuspects(suspect, text)
	}
	text = long.ReplaceAllStringFunc(text, func(found string) string {
		if strings.ContainsAny(found, "0123456789+/=") && strings.ToLower(found) != found &&
			strings.ToUpper(found) != found &&
			!isPath(found) {
			return redacted
		}
		return found
	})
	return strings.NewReplacer(cutOut, redacted, kept, "").Replace(text)
}

// replaceSuspects takes out the second group of what looks like a credential; one before @sha is an image.
func replaceSuspects(suspect *regexp.Regexp, text string) string {
	var b strings.Builder
	at := 0
	for _, m := range suspect.FindAllStringSubmatchIndex(text, -1) {
		if looksSecret(text[m[4]:m[5]]) && !strings.HasPrefix(text[m[5]:], "@sha") {
			b.WriteString(text[at:m[4]] + cutOut)
			at = m[5]
		}
	}
	return b.String() + text[at:]
}

// name is of a kubeconfig, or a path; reach leads a command to a cluster (kubectl.Reach, without a credential).
var (
	name  = regexp.MustCompile(`^[A-Za-z0-9_.:/@-]+$`)
	reach = regexp.MustCompile(
		`(?:--(?:kube)?context|--kubeconfig|--cluster|--as|--as-group|\bKUBECONFIG)[= ]'?[A-Za-z0-9_.:/@-]+'?(?:\s|$)`,
	)
)

// redactName is Redact, but leaves a name as it is.
func redactName(text string) string {
	if name.MatchString(text) {
		return text
	}
	return Redact(text)
}

// redactCommand is Redact, but leaves what leads to the cluster: the command is to work.
func redactCommand(text string) string {
	var b strings.Builder
	at := 0
	for _, found := range reach.FindAllStringIndex(text, -1) {
		b.WriteString(Redact(text[at:found[0]]) + text[found[0]:found[1]])
		at = found[1]
	}
	return b.String() + Redact(text[at:])
}

// isPath: slashes and dashes part the text into words. Capitals and digits in one part are no word.
func isPath(text string) bool {
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '/' || r == '-' || r == '_' }) {
		if len(part) > 24 || strings.ToLower(part) != part && strings.ContainsAny(part, "0123456789") {
			return false
		}
	}
	return strings.ContainsAny(text, "/-_") && !strings.ContainsAny(text, "+=")
}

// redactAll redacts every exported string behind v; the tag redact says which are names and commands.
func redactAll(v reflect.Value, redact func(string) string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			redactAll(v.Elem(), redact)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[document.Moment]() {
			return
		}
		special := map[string]func(string) string{"": redact, "name": redactName, "command": redactCommand}
		for i := range v.NumField() {
			redactAll(v.Field(i), special[v.Type().Field(i).Tag.Get("redact")])
		}
	case reflect.Slice:
		for i := range v.Len() {
			redactAll(v.Index(i), redact)
		}
	case reflect.String:
		if v.CanSet() {
			v.SetString(redact(v.String()))
		}
	}
}
