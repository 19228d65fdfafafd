package report

import (
	"bytes"
	"encoding/base64"
	"reflect"
	"regexp"
	"strings"
	"unicode"

	"github.com/veltui/veltui/internal/view/document"
)

// redactedText replaces redacted text.
const redactedText = "[redacted]"

// credentialWordPattern matches the words in the names of fields that hold credentials.
const credentialWordPattern = `pass(?:word|wd|phrase|code|wort)|pwd|kennwort|secret|token|` +
	`(?:secret|access|api|account|shared|private|encryption|storage|master|application|license|signing|hmac|` +
	`session|unseal|recovery|deploy)[-_ ]?(?:access)?[-_ ]?key(?:[-_ ]?id)?|` +
	`client[-_]?(?:secret|key|key-data|certificate-data)|certificate-authority-data|credentials?|` +
	`signature|sig|authorization|cookie|auth`

// While the rules run, redactionMark replaces redacted text and keepMark precedes text to keep, so that no rule takes
// either for a value.
const redactionMark, keepMark = "\x00", "\x01"

// invisibleMarks are invisible characters that can split words: colour sequences, raw or as sanitize or JSON write
// them, and marks without width.
var invisibleMarks = regexp.MustCompile(
	`(?:\x1b|\\x1b|\\u001[bB])\[[0-9;]*[mK]|` +
		`[\x{ad}\x{200b}-\x{200f}\x{202a}-\x{202e}\x{2060}-\x{2069}\x{feff}\x00\x01]|\\u(?:200[b-f]|2060|feff)`,
)

// unicodeSpaces are the spaces that \s does not match.
var unicodeSpaces = regexp.MustCompile(`[\p{Z}\x{85}]`)

// refusedObject matches, after a colon, an object that the API server refuses, as in `secret: namespaces "x" not
// found`; an object that exists, as Velero names it; and an API server's message about a field without its value.
var refusedObject = regexp.MustCompile(
	`:(` +
		` [a-z]+s(?:\.[a-z0-9.]+)? "[^"\n]*" (?:not found|already exists|is forbidden|is invalid)|` +
		`\S+ already exists\. Warning: the in-cluster|` +
		` (?:Required value|Forbidden|Not found|Too long):| (?:EOF|not found|timeout)(?:[\s.,:;)"']|$)|` +
		` (?:no such |cannot |could not |failed |unable ))`,
)

// restoredSecret matches the name of a Secret that Velero restores.
var restoredSecret = regexp.MustCompile(`(\brestor(?:e|ing) Secret:)( [a-z0-9.-]+)`)

const (
	credentialField = `(?:[A-Za-z0-9_.-]*(?:` + credentialWordPattern +
		`|passwords|tokens)(?:[-_]?(?:hash|value|base|id))?|` +
		`(?:\b|[A-Za-z0-9.-]*_)pw)`
	fieldWord    = `(?:name|key|property|header)`
	quotePattern = `\\*["']?`
	// quotedPattern may contain escaped quotes, and may itself be within quotes.
	quotedPattern = `"(?:[^"\\\x00]|\\.)*"?|\\"(?:[^"\\\x00]|\\\\\\"|\\[^"])*\\*"?|` +
		`\\*"(?:[^"\\\x00]|\\[^"])*\\*"?|'(?:[^'\\]|\\.|'')*'?`
	valuePattern = `(?:` + quotedPattern + `|\[[^\]\x00]*\]?|\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\}?)*\}?)*\}?|[^\s"'\x00\x01]+)`
	// argumentSeparator separates the arguments of a command, in a line or in a list.
	argumentSeparator = `[\s"'\\,]+`
)

// redactionRules find text that must not be handed over. In doubt, they redact too much.
var redactionRules = []struct {
	found *regexp.Regexp
	with  string
}{
	// PEM, with or without its end.
	{regexp.MustCompile(`(?is)-{4,5} ?BEGIN [A-Z0-9 ]+-{4,5}.*?(?:-{4,5} ?END [A-Z0-9 ]+-{4,5}|$)`), redactionMark},
	{regexp.MustCompile(`(?is)(\bPrivate-Lines:\s*\d+\s).*`), "${1}" + redactionMark},
	// The data of a Secret, as JSON at any depth, as a printed Go map, or as YAML: everything up to the end.
	{
		regexp.MustCompile(
			`(?is)(\\*"?\b(?:stringData|data)\\*"?\s*[:=]\s*)` +
				`(?:map\[[^\]]*\](?:(?:\[\]byte|string|interface \{\}|any)\{.*)?|\{.*)`,
		),
		"${1}" + redactionMark,
	},
	{regexp.MustCompile(`(?i)(\b(?:stringData|data):\s+)(?:[\w.-]+:\s+\S+\s*)+`), "${1}" + redactionMark},
	// The user in an address, and its query, which may contain a signature.
	{regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)[^\s@"]*@`), "${1}" + redactionMark + "@"},
	{regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://[^\s?#'"<>\x00]*)[?#][^\s'"<>]*`), "${1}?" + redactionMark},
	{regexp.MustCompile(`(?i)(%3A%2F%2F)[^\s"']*?%40`), "${1}" + redactionMark + "%40"},
	{regexp.MustCompile(`(?i)\bX-(?:Amz|Goog|Ms)-[A-Za-z-]+(?:=|%3D)[^\s&'"]+`), redactionMark},
	// Data source names, and credentials on the command lines of clients.
	{regexp.MustCompile(`:[^\s@\x00]+@((?:tcp|unix)?\()`), ":" + redactionMark + "@${1}"},
	{regexp.MustCompile(`(\bjdbc:[^\s@]*[:/])[^\s@:/\x00]+@`), "${1}" + redactionMark + "@"},
	{regexp.MustCompile(`((?:^|[\s"'])(?:-u|--user)[\s="'\\,]*[^\s:"',]+:)[^\s"',\\]+`), "${1}" + redactionMark},
	{
		regexp.MustCompile(
			`(\b(?:docker|podman|nerdctl|skopeo|helm|cqlsh|mongo\w*)\b[^\n]*?[\s"']-p` + argumentSeparator + `|` +
				`\b(?:sqlcmd|bcp|isql|osql)\b[^\n]*?[\s"']-P` + argumentSeparator + `)[^\s"'\\]+`,
		),
		"${1}" + redactionMark,
	},
	{
		regexp.MustCompile(
			`(\bredis-cli\b[^\n]*?[\s"']-a` + argumentSeparator + `|` +
				`\bldap\w+\b[^\n]*?[\s"']-w` + argumentSeparator + `|` +
				`\bopenssl\b[^\n]*?\s-(?:k|K|pass\w*)\s+|` +
				`\bhtpasswd\b(?:\s+-\S+)*\s+\S+\s+\S+\s+|` +
				`\bmc\s+alias\s+set\s+\S+\s+\S+\s+)[^\n|;&]+`,
		),
		"${1}" + redactionMark,
	},
	{regexp.MustCompile(`(\becho\s+)[^\n|]+(\|[^\n]*password-stdin)`), "${1}" + redactionMark + " ${2}"},
	{
		regexp.MustCompile(
			`(?i)(--password-command["']?[\s=:]+|password[-_]command["']?\s*[=:]+\s*)[^\s\x01][^\n]*`,
		),
		"${1}" + redactionMark,
	},
	{
		regexp.MustCompile(`(?i)(\bidentified\s+(?:with\s+\S+\s+)?(?:by|as)\s+(?:password\s+)?)(?:` + quotedPattern + `)`),
		"${1}" + redactionMark,
	},
	{regexp.MustCompile(`(--from-literal[=\s]+[^=\s]+=)\S+`), "${1}" + redactionMark},
	// Addresses that are themselves a key.
	{
		regexp.MustCompile(
			`(?i)((?:hooks\.slack\.com/services|discord(?:app)?\.com/api/webhooks|webhook\.office\.com)/|` +
				`webhook[-_]?url["']?\s*[:=]\s*["']?)[^\s"'\x01]+`,
		),
		"${1}" + redactionMark,
	},
	{
		regexp.MustCompile(
			`(\b(?:mysql|mariadb)\w*\b[^\n]*?[\s"']-p["'\\,]*|\bsshpass` + argumentSeparator + `-p[\s"'\\,]*)[^\s"'\\]+`,
		),
		"${1}" + redactionMark,
	},
	// Headers.
	{
		regexp.MustCompile(`\b(Bearer|BEARER|Basic|BASIC|Negotiate|AWS4-HMAC-SHA256)\s+[^\s,;'"\x01]{4,}[^\n]*`),
		"${1} " + redactionMark,
	},
	{
		regexp.MustCompile(`(?i)((?:proxy-)?authorization|(?:set-)?cookie|x-[a-z-]*token)("?\s*[:=]\s*)[^\s\x01][^\n]*`),
		"${1}${2}" + redactionMark,
	},
	{regexp.MustCompile(`(\bSharedKey(?:Lite)?\s+|\bAWS\s+)[\w-]+:\S+`), "${1}" + redactionMark},
	// Tokens and keys recognized by their shape.
	{regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*){0,4}`), redactionMark},
	{regexp.MustCompile(`\b(?:AKIA|ASIA|AGPA|AIDA|AROA|AIPA|ANPA|ANVA|A3T[A-Z0-9])[A-Z0-9]{8,}\b`), redactionMark},
	{
		regexp.MustCompile(
			`\b(?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-|xapp-|sha256~|AIza|hv[sbr]\.|dckr_pat_|` +
				`dop_v1_|npm_|ya29\.|sk_live_|sk-proj-|SG\.|glsa_|AGE-SECRET-KEY-1)[A-Za-z0-9_.-]{8,}`,
		),
		redactionMark,
	},
	{regexp.MustCompile(`\b[sbr]\.[A-Za-z0-9]{24,}\b`), redactionMark}, // Vault's tokens before hvs.
	{regexp.MustCompile(`\d{8,10}:[A-Za-z0-9_-]{30,}`), redactionMark},
	// The API server's messages about a field.
	{
		regexp.MustCompile(
			`(?i)((?:` + credentialField + `["'\\]*|\b(?:stringData|data)\[[^\]]*)\]?:)` +
				`(\s*(?:Invalid|Duplicate|Unsupported) value:\s*)` + valuePattern,
		),
		"${1}" + keepMark + "${2}" + redactionMark,
	},
	// An environment variable of a container, as JSON, as YAML or as printed by Go.
	{
		regexp.MustCompile(
			`(?i)(` + quotePattern + fieldWord + quotePattern + `\s*[:=]\s*` +
				quotePattern + credentialField + quotePattern + `[,\s]+` +
				quotePattern + `value` + quotePattern + `\s*[:=]\s*)` + valuePattern,
		),
		"${1}" + redactionMark,
	},
	{
		regexp.MustCompile(
			`(?i)(` + quotePattern + `value` + quotePattern + `\s*[:=]\s*)` +
				`(?:\\*"(?:[^"\\]|\\[^"])*\\*"|[^\s,"'\\\x00][^\n,"']*?)` +
				`([,\s]+` + quotePattern + fieldWord + quotePattern + `\s*[:=]\s*` + quotePattern + credentialField + `)`,
		),
		"${1}" + redactionMark + "${2}",
	},
	// A block of YAML.
	{
		regexp.MustCompile(`(?i)(` + credentialField + quotePattern + `:\s*[|>][+-]?\d?[ \t]*)(?:(?:\n|\\n)[ \t]+[^\n\\]*)+`),
		"${1}" + redactionMark,
	},
	// A password in YAML may have spaces.
	{regexp.MustCompile(`(?i)(\bpass(?:word|wd|phrase): +)[^\s"'\[{\x00\x01][^\n]*`), "${1}" + redactionMark},
	// name: value, name=value, "name":"value", and the same in a command line.
	{
		regexp.MustCompile(
			`(?i)(` + credentialField + quotePattern +
				`\s*(?:(?:[=-]>|[:=＝：➜|]|%3[ad](?:%20)*)\s*)+(?:[>|][+-]?\s+|[!&][^\s=]*\s+)?)` + valuePattern,
		),
		"${1}" + redactionMark,
	},
	{regexp.MustCompile(`(?i)(["']` + credentialField + `["']\s*,\s*["'])[^"'\x00]+`), "${1}" + redactionMark},
	{
		regexp.MustCompile(`(?i)(\bpass(?:word|wd|phrase)\s+(?:is\s+|was\s+)?)(?:\\*"[^"]+"|'[^']+')`),
		"${1}" + redactionMark,
	},
}

// lowerCaseScheme matches a scheme of HTTP authentication in lower case, which may also be the name of an object.
var lowerCaseScheme = regexp.MustCompile(`\b(?:bearer|basic|negotiate)\s+[^\s,;'"\x00\x01]{4,}`)

// redactScheme redacts a credential behind a scheme.
func redactScheme(found string) string {
	at := strings.LastIndexFunc(found, unicode.IsSpace) + 1
	decoded, err := base64.StdEncoding.DecodeString(found[at:])
	if looksSecret(found[at:]) || err == nil && bytes.Contains(decoded, []byte(":")) {
		return found[:at] + redactionMark
	}
	return found
}

// suspectPatterns match text that is redacted only if it looks like a credential: words after a name, values after
// ambiguous names, passwords before a host.
var suspectPatterns = []*regexp.Regexp{
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

// looksSecret reports whether a word has letters and digits as names seldom have, unlike paths, UIDs, digests and
// versions.
func looksSecret(word string) bool {
	digits := strings.ContainsAny(word, "0123456789")
	return len(word) >= 6 && digits && strings.ContainsFunc(word, unicode.IsLetter) && !harmlessValue.MatchString(word)
}

// harmlessValue matches paths, UIDs, digests, durations, versions and file or host names.
var harmlessValue = regexp.MustCompile(
	`^(?:\.{0,2}/.*|[0-9a-f]{8}-[0-9a-f-]{27}|(?:sha\d+:)?[0-9a-f]{32,}|` +
		`v?\d[\d.]*[a-z0-9.-]{0,8}|[\w.-]+\.(?:go|yaml|json|io|com|org)(?::\d+)?)$`,
)

// longToken matches possible keys and encoded data. Redact keeps digests, which are hexadecimal, and names in lower
// case.
var longToken = regexp.MustCompile(`[A-Za-z0-9+/_-]{32,}={0,2}`)

// Redact removes possible credentials: queries, users, tokens, keys, headers, Secrets, kubeconfigs, certificates.
func Redact(text string) string {
	text = unicodeSpaces.ReplaceAllString(invisibleMarks.ReplaceAllString(text, ""), " ")
	text = refusedObject.ReplaceAllString(text, ":"+keepMark+"${1}")
	text = protectMessages(text)
	text = restoredSecret.ReplaceAllString(text, "${1}"+keepMark+"${2}")
	for _, r := range redactionRules {
		text = r.found.ReplaceAllString(text, r.with)
	}
	text = redactNamed(text)
	text = lowerCaseScheme.ReplaceAllStringFunc(text, redactScheme)
	for _, suspect := range suspectPatterns {
		text = redactSuspects(suspect, text)
	}
	text = longToken.ReplaceAllStringFunc(text, func(found string) string {
		if strings.ContainsAny(found, "0123456789+/=") && strings.ToLower(found) != found &&
			strings.ToUpper(found) != found &&
			!isPath(found) {
			return redactedText
		}
		return found
	})
	return strings.NewReplacer(redactionMark, redactedText, keepMark, "").Replace(text)
}

// redactSuspects redacts the second group of each match that looks like a credential; a match before @sha is an
// image.
func redactSuspects(suspect *regexp.Regexp, text string) string {
	var b strings.Builder
	at := 0
	for _, m := range suspect.FindAllStringSubmatchIndex(text, -1) {
		if looksSecret(text[m[4]:m[5]]) && !strings.HasPrefix(text[m[5]:], "@sha") {
			b.WriteString(text[at:m[4]] + redactionMark)
			at = m[5]
		}
	}
	return b.String() + text[at:]
}

// plainName matches names in a kubeconfig and paths. clusterFlags matches the flags that lead a command to a cluster
// (kubectl.ClusterAccess, without credentials).
var (
	plainName    = regexp.MustCompile(`^[A-Za-z0-9_.:/@-]+$`)
	clusterFlags = regexp.MustCompile(
		`(?:--(?:kube)?context|--kubeconfig|--cluster|--as|--as-group|\bKUBECONFIG)[= ]'?[A-Za-z0-9_.:/@-]+'?(?:\s|$)`,
	)
)

// redactName is like Redact, but leaves a plain name unchanged.
func redactName(text string) string {
	if plainName.MatchString(text) {
		return text
	}
	return Redact(text)
}

// redactCommand is like Redact, but keeps the flags that lead to the cluster, so that the command works.
func redactCommand(text string) string {
	var b strings.Builder
	at := 0
	for _, found := range clusterFlags.FindAllStringIndex(text, -1) {
		b.WriteString(Redact(text[at:found[0]]) + text[found[0]:found[1]])
		at = found[1]
	}
	return b.String() + Redact(text[at:])
}

// isPath reports whether slashes and dashes separate the text into words. A part with both capitals and digits is not
// a word.
func isPath(text string) bool {
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '/' || r == '-' || r == '_' }) {
		if len(part) > 24 || strings.ToLower(part) != part && strings.ContainsAny(part, "0123456789") {
			return false
		}
	}
	return strings.ContainsAny(text, "/-_") && !strings.ContainsAny(text, "+=")
}

// redactAll redacts every exported string in v; the tag redact marks names and commands.
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
