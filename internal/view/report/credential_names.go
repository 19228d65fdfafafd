package report

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// certainty is how certain it is that a name denotes a credential.
type certainty int

const (
	harmlessName certainty = iota
	// likelyName denotes a credential if something is assigned to it.
	likelyName
	// certainName denotes a credential wherever a value follows it.
	certainName
)

// passwordWords are the words for a password, folded by splitName. A name with a word that ends in one of them is
// certain.
var passwordWords = []string{
	"password",
	"passwd",
	"passphrase",
	"passcode",
	"passwort",
	"kennwort",
	"losungswort",
	"pwd",
	"pswd", // English, German
	"contrasena",
	"contrasenya",
	"motdepasse",
	"motpasse",
	"senha",
	"parola", // Spanish, Catalan, French, Portuguese, Italian
	"wachtwoord",
	"losenord",
	"passord",
	"adgangskode",
	"salasana",
	"haslo",
	"heslo",
	"jelszo",
	"sifre", // Dutch, Nordic, Polish, Czech, Hungarian, Turkish
	"пароль",
	"пароля",
	"паролю",
	"паролем",
	"密码",
	"密碼",
	"口令",
	"パスワード",
	"暗証番号",
	"비밀번호",
	"암호", // Russian, Chinese, Japanese, Korean
}

// credentialWords make a name likely in the same way, because other things may have such a name too.
var credentialWords = []string{
	"creds",
	"zugangsdaten",
	"geheimnis",
	"schlussel",
	"identifiants",
	"secreto",
	"segreto",
	"credencial",
	"credenciales",
	"секрет",
	"токен",
	"ключ",
	"令牌",
	"密钥",
	"密鑰",
	"トークン",
	"秘密鍵",
	"토큰",
}

// wholeCredentialWords make a name likely only as a word of their own, because other words end in them.
var wholeCredentialWords = []string{"tok", "cred", "clave", "jeton", "geheim"}

// keyQualifiers are words that make a following "key" a credential.
var keyQualifiers = map[string]bool{
	"s3":       true,
	"aws":      true,
	"azure":    true,
	"gcs":      true,
	"gcp":      true,
	"b2":       true,
	"oss":      true,
	"minio":    true,
	"ceph":     true,
	"swift":    true,
	"wasabi":   true,
	"bucket":   true,
	"blob":     true,
	"registry": true,
	"repo":     true,
	"restic":   true,
	"kopia":    true,
	"vault":    true,
	"ssh":      true,
	"gpg":      true,
	"pgp":      true,
	"crypt":    true,
	"priv":     true,
}

// accentFolds replaces letters whose marks unicode.Mn does not split off.
var accentFolds = strings.NewReplacer("ñ", "n", "ö", "o", "ł", "l", "ş", "s", "ó", "o", "é", "e", "ü", "u", "ß", "ss")

// splitName splits a name into words in lower case, without marks: DBPassword, db-password and db_password give the
// same words.
func splitName(name string) []string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		switch {
		case unicode.Is(unicode.Mn, r):
			continue
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			r = ' '
		case i > 0 && unicode.IsUpper(r) && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.Fields(accentFolds.Replace(b.String()))
}

// classifyName returns how certain it is that a name denotes a credential, by its words.
func classifyName(name string) certainty {
	words := splitName(name)
	if len(words) == 0 {
		return harmlessName
	}
	last := words[len(words)-1]
	if descriptiveWords[last] {
		return harmlessName
	}
	for _, word := range append(words, strings.Join(words, "")) { // "pass phrase" too
		if slices.ContainsFunc(
			passwordWords,
			func(w string) bool { return strings.HasSuffix(strings.TrimSuffix(word, "s"), w) },
		) {
			return certainName
		}
	}
	switch {
	case last == "pw", last == "psw", last == "mdp", strings.HasSuffix(last, "pass") && !harmlessPassWords[last]:
		return certainName
	case last == "key" && len(words) > 1 && (keyQualifiers[words[len(words)-2]] || name == strings.ToUpper(name)):
		return likelyName // environment variables are in capitals
	case slices.Contains(wholeCredentialWords, last),
		slices.ContainsFunc(credentialWords, func(w string) bool { return strings.HasSuffix(last, w) }):
		return likelyName
	}
	return harmlessName
}

// descriptiveWords are last words of names that describe a credential instead of containing it.
var descriptiveWords = map[string]bool{
	"policy":    true,
	"file":      true,
	"path":      true,
	"name":      true,
	"ref":       true,
	"length":    true,
	"age":       true,
	"expiry":    true,
	"rotation":  true,
	"required":  true,
	"enabled":   true,
	"reset":     true,
	"prompt":    true,
	"count":     true,
	"type":      true,
	"source":    true,
	"namespace": true,
}

// harmlessPassWords are words that end in "pass" but are not passwords.
var harmlessPassWords = map[string]bool{
	"bypass":    true,
	"compass":   true,
	"encompass": true,
	"surpass":   true,
	"trespass":  true,
	"overpass":  true,
	"underpass": true,
	"multipass": true,
}

// assignment matches a name and the sign before its value; namePattern includes names of several words.
const (
	copulaPattern  = `(?i:is|was|es|est|ist|war|lautet|era|é|это)`
	wordPattern    = `[\p{L}\p{M}\p{N}_.-]+`
	namePattern    = `(?:(?i:pass|mot|palabra)(?:\s+de)?\s+(?i:phrase|passe|clave|word)|` + wordPattern + `)`
	assignmentSign = `\\*["'”»」]?\s*(?:[=-]>|[:=：＝])+\s*`
)

var (
	assignment = regexp.MustCompile(`(` + namePattern + `)(` + assignmentSign + `)`)
	// ownedPassword matches a password's name, its owner, and the sign before its value.
	ownedPassword = regexp.MustCompile(
		`(` + namePattern + `)(?:\s+(?i:for|of|to|on|at|de|del|para|pour|du|für|von|для|от)\s+[^:=\n]{1,60}?|` +
			`(?:\s+[^\s:=]+){1,2}?)(` + assignmentSign + `)`,
	)
	// passwordInSentence matches a word that may name a password, and the words before the value.
	passwordInSentence = regexp.MustCompile(`(` + namePattern + `)((?:\s+` + copulaPattern + `)?[\s「"'«“]+)`)
	// ownedPasswordInSentence matches a password's name, its owner, and the words before the value.
	ownedPasswordInSentence = regexp.MustCompile(
		`(` + namePattern + `)(\s+(?i:for|of|to|on|at|de|del|para|pour|du|für|von|для|от)\s+[^:=\n]{1,60}?\s` +
			copulaPattern + `\s+)`,
	)
	// unspacedPassword matches a word in a script without spaces, and the text before the value.
	unspacedPassword = regexp.MustCompile(`(密码|密碼|口令|令牌|密钥|密鑰|パスワード|トークン|暗証番号|비밀번호|암호)((?:是|为|為|は|が|은|는)?[\s「"']*)`)
	// listEntry matches a variable or a header in a list, and the text before its value.
	listEntry = regexp.MustCompile(
		`(?i:` + quotePattern + fieldWord + quotePattern + `\s*[:=]\s*` + quotePattern + `)` +
			`(` + wordPattern + `)` +
			`(` + quotePattern + `[,\s]+` + quotePattern + `(?i:value)` + quotePattern + `\s*[:=]\s*)`,
	)
	// longFlag matches a flag that is followed by its value, in a command line or in a list.
	longFlag = regexp.MustCompile(`(--` + wordPattern + `)(\\*["']?(?:[\s,]|\\+\s|\\+n)+(?:-\s+)?\\*["']?)`)
	// fieldBehindValue matches a value that the API server refuses, and the field after it.
	fieldBehindValue = regexp.MustCompile(
		`(?i)(\b(?:Invalid|Duplicate|Unsupported) value:\s*)(` + valuePattern +
			`)(:?\s+(?:for\s+)?)([\p{L}\p{M}\p{N}_.\[\]"-]+)`,
	)
	// fieldBeforeValue matches a field, and the text before the value that the API server refuses.
	fieldBeforeValue = regexp.MustCompile(`([\p{L}\p{M}\p{N}_.\[\]-]+)(:\s*(?i:Invalid|Duplicate|Unsupported) value:\s*)`)

	valueAhead = regexp.MustCompile(`^` + valuePattern)
	asciiAhead = regexp.MustCompile(`^[!-~]+`)
	wordAhead  = regexp.MustCompile(`^[^\s"'<>,;「」»”\x00\x01]+`)
	// valueEnd matches the end of a value after which the sentence does not continue.
	valueEnd             = regexp.MustCompile(`^(?:\s*$|\s*\n|[,;)\]}"'])`)
	wholeCredentialField = regexp.MustCompile(`(?i)^` + credentialField + `$`)
)

// errorWordPattern matches words that may be an error in themselves.
var errorWordPattern = regexp.MustCompile(
	`(?i)^(?:not|no|cannot|EOF|timeout|forbidden|unauthorized|denied|invalid|empty|missing|unknown|` +
		`unset|none|null|nil|true|false|required|expired|fehlt|\d{1,3})[.!,:;]?$`,
)

// redactNamed redacts the values of names that splitName and classifyName recognize.
func redactNamed(text string) string {
	text = fieldBehindValue.ReplaceAllStringFunc(text, func(found string) string {
		m := fieldBehindValue.FindStringSubmatch(found)
		if field := strings.Trim(
			m[4],
			`."[]`,
		); classifyName(field) == harmlessName &&
			!wholeCredentialField.MatchString(field) {
			return found
		}
		return m[1] + redactionMark + m[3] + m[4]
	})
	text = redactAhead(
		fieldBeforeValue,
		valueAhead,
		text,
		func(name, _, _, _ string) bool { return classifyName(name) != harmlessName },
	)
	text = redactAhead(
		listEntry,
		valueAhead,
		text,
		func(name, _, _, _ string) bool { return classifyName(name) != harmlessName },
	)
	text = redactAhead(longFlag, valueAhead, text, func(name, _, value, _ string) bool {
		return !strings.HasPrefix(value, "-") &&
			(classifyName(name) != harmlessName || wholeCredentialField.MatchString(strings.TrimPrefix(name, "--")))
	})
	text = redactAhead(assignment, valueAhead, text, func(name, lead, value, _ string) bool {
		switch classifyName(name) {
		case certainName:
			return !errorWordPattern.MatchString(value)
		case likelyName:
			return strings.ContainsAny(lead, "=＝\"'") && !errorWordPattern.MatchString(value) ||
				looksSecret(strings.Trim(value, `"'\`))
		}
		return false
	})
	text = redactAhead(ownedPassword, valueAhead, text, func(name, _, value, behind string) bool {
		return classifyName(name) == certainName &&
			(looksSecret(strings.Trim(value, `"'\`)) || valueEnd.MatchString(behind) && !errorWordPattern.MatchString(value))
	})
	text = redactAhead(ownedPasswordInSentence, valueAhead, text, func(name, _, value, _ string) bool {
		return classifyName(name) == certainName && (strings.ContainsAny(value[:1], `"'\`) || looksSecret(value))
	})
	text = redactAhead(unspacedPassword, asciiAhead, text, func(_, _, value, _ string) bool { return looksSecret(value) })
	return redactAhead(passwordInSentence, wordAhead, text, func(name, _, value, _ string) bool {
		return classifyName(name) == certainName && looksSecret(value)
	})
}

// redactAhead redacts what ahead matches after each match of lead, if is returns true for the name, the lead, the
// value and the text that follows.
func redactAhead(lead, ahead *regexp.Regexp, text string, is func(name, lead, value, behind string) bool) string {
	var b strings.Builder
	at := 0
	for from := 0; from < len(text); {
		m := lead.FindStringSubmatchIndex(text[from:])
		if m == nil {
			break
		}
		name, led, end := text[from+m[2]:from+m[3]], text[from+m[4]:from+m[5]], from+m[1]
		value := ahead.FindStringIndex(text[end:])
		if value == nil || value[1] == 0 || !is(name, led, text[end:end+value[1]], text[end+value[1]:]) {
			from += m[3]
			continue
		}
		b.WriteString(text[at:end] + redactionMark)
		at = end + value[1]
		from = at
	}
	return b.String() + text[at:]
}
