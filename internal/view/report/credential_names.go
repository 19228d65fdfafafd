package report

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// certainty is how surely a name is that of a credential.
type certainty int

const (
	harmlessName certainty = iota
	// likelyName is that of a credential where something is assigned to it.
	likelyName
	// certainName is that of a credential wherever a value follows it.
	certainName
)

// passwordWords are the words for a password, folded by foldName. A name with a word that ends in one is certain.
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

// credentialWords are likely in the same way: other things may have such a name.
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

// wholeWords are likely as a word of their own: others end in them.
var wholeWords = []string{"tok", "cred", "clave", "jeton", "geheim"}

// keyOwners are words before "key" that make it a credential.
var keyOwners = map[string]bool{
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

// folds are letters without the marks that unicode.Mn does not split off.
var folds = strings.NewReplacer("ñ", "n", "ö", "o", "ł", "l", "ş", "s", "ó", "o", "é", "e", "ü", "u", "ß", "ss")

// foldName splits a name into words in lower case, without marks: DBPassword, db-password and db_password are the same.
func foldName(name string) []string {
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
	return strings.Fields(folds.Replace(b.String()))
}

// classify judges a name by its words.
func classify(name string) certainty {
	words := foldName(name)
	if len(words) == 0 {
		return harmlessName
	}
	last := words[len(words)-1]
	if descriptions[last] {
		return harmlessName
	}
	for _, word := range append(words, strings.Join(words, "")) { // pass phrase
		if slices.ContainsFunc(
			passwordWords,
			func(w string) bool { return strings.HasSuffix(strings.TrimSuffix(word, "s"), w) },
		) {
			return certainName
		}
	}
	switch {
	case last == "pw", last == "psw", last == "mdp", strings.HasSuffix(last, "pass") && !passes[last]:
		return certainName
	case last == "key" && len(words) > 1 && (keyOwners[words[len(words)-2]] || name == strings.ToUpper(name)):
		return likelyName // an environment variable is in capitals
	case slices.Contains(wholeWords, last),
		slices.ContainsFunc(credentialWords, func(w string) bool { return strings.HasSuffix(last, w) }):
		return likelyName
	}
	return harmlessName
}

// descriptions are last words of names that say something of a credential.
var descriptions = map[string]bool{
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

// passes are words that end in "pass" and are no passwords.
var passes = map[string]bool{
	"bypass":    true,
	"compass":   true,
	"encompass": true,
	"surpass":   true,
	"trespass":  true,
	"overpass":  true,
	"underpass": true,
	"multipass": true,
}

// assignment is a name and what leads to its value; phrases are the words of those that have several.
const (
	copula = `(?i:is|was|es|est|ist|war|lautet|era|é|это)`
	wordOf = `[\p{L}\p{M}\p{N}_.-]+`
	phrase = `(?:(?i:pass|mot|palabra)(?:\s+de)?\s+(?i:phrase|passe|clave|word)|` + wordOf + `)`
	leads  = `\\*["'”»」]?\s*(?:[=-]>|[:=：＝])+\s*`
)

var (
	assignment = regexp.MustCompile(`(` + phrase + `)(` + leads + `)`)
	// ownedPassword is a password, whose it is, and what leads to its value.
	ownedPassword = regexp.MustCompile(
		`(` + phrase + `)(?:\s+(?i:for|of|to|on|at|de|del|para|pour|du|für|von|для|от)\s+[^:=\n]{1,60}?|` +
			`(?:\s+[^\s:=]+){1,2}?)(` + leads + `)`,
	)
	// inSentence is a word that may be a password's, and what may lead to the value.
	inSentence = regexp.MustCompile(`(` + phrase + `)((?:\s+` + copula + `)?[\s「"'«“]+)`)
	// ownedInSentence is the same in a sentence.
	ownedInSentence = regexp.MustCompile(
		`(` + phrase + `)(\s+(?i:for|of|to|on|at|de|del|para|pour|du|für|von|для|от)\s+[^:=\n]{1,60}?\s` + copula + `\s+)`,
	)
	// unspaced is a word of a script without spaces, and what may lead to the value.
	unspaced = regexp.MustCompile(`(密码|密碼|口令|令牌|密钥|密鑰|パスワード|トークン|暗証番号|비밀번호|암호)((?:是|为|為|は|が|은|는)?[\s「"']*)`)
	// entry is a variable or a header in a list, and what leads to its value.
	entry = regexp.MustCompile(
		`(?i:` + quote + field + quote + `\s*[:=]\s*` + quote + `)` +
			`(` + wordOf + `)` +
			`(` + quote + `[,\s]+` + quote + `(?i:value)` + quote + `\s*[:=]\s*)`,
	)
	// longFlag is a flag with its value behind it, in a command line or in a list.
	longFlag = regexp.MustCompile(`(--` + wordOf + `)(\\*["']?(?:[\s,]|\\+\s|\\+n)+(?:-\s+)?\\*["']?)`)
	// behindValue is a value that the API server refuses, and the field behind it.
	behindValue = regexp.MustCompile(
		`(?i)(\b(?:Invalid|Duplicate|Unsupported) value:\s*)(` + value + `)(:?\s+(?:for\s+)?)([\p{L}\p{M}\p{N}_.\[\]"-]+)`,
	)
	// beforeValue is a field, and the value that the API server refuses behind it.
	beforeValue = regexp.MustCompile(`([\p{L}\p{M}\p{N}_.\[\]-]+)(:\s*(?i:Invalid|Duplicate|Unsupported) value:\s*)`)

	valueAhead = regexp.MustCompile(`^` + value)
	asciiAhead = regexp.MustCompile(`^[!-~]+`)
	wordAhead  = regexp.MustCompile(`^[^\s"'<>,;「」»”\x00\x01]+`)
	// alone is the end of a value behind which no sentence goes on.
	alone      = regexp.MustCompile(`^(?:\s*$|\s*\n|[,;)\]}"'])`)
	namedField = regexp.MustCompile(`(?i)^` + named + `$`)
)

// errorWords are what an error may be in one word.
var errorWords = regexp.MustCompile(
	`(?i)^(?:not|no|cannot|EOF|timeout|forbidden|unauthorized|denied|invalid|empty|missing|unknown|` +
		`unset|none|null|nil|true|false|required|expired|fehlt|\d{1,3})[.!,:;]?$`,
)

// redactNamed takes out the values of names that foldName and classify know.
func redactNamed(text string) string {
	text = behindValue.ReplaceAllStringFunc(text, func(found string) string {
		m := behindValue.FindStringSubmatch(found)
		if field := strings.Trim(m[4], `."[]`); classify(field) == harmlessName && !namedField.MatchString(field) {
			return found
		}
		return m[1] + cutOut + m[3] + m[4]
	})
	text = cutAhead(
		beforeValue,
		valueAhead,
		text,
		func(name, _, _, _ string) bool { return classify(name) != harmlessName },
	)
	text = cutAhead(entry, valueAhead, text, func(name, _, _, _ string) bool { return classify(name) != harmlessName })
	text = cutAhead(longFlag, valueAhead, text, func(name, _, value, _ string) bool {
		return !strings.HasPrefix(value, "-") &&
			(classify(name) != harmlessName || namedField.MatchString(strings.TrimPrefix(name, "--")))
	})
	text = cutAhead(assignment, valueAhead, text, func(name, lead, value, _ string) bool {
		switch classify(name) {
		case certainName:
			return !errorWords.MatchString(value)
		case likelyName:
			return strings.ContainsAny(lead, "=＝\"'") && !errorWords.MatchString(value) ||
				looksSecret(strings.Trim(value, `"'\`))
		}
		return false
	})
	text = cutAhead(ownedPassword, valueAhead, text, func(name, _, value, behind string) bool {
		return classify(name) == certainName &&
			(looksSecret(strings.Trim(value, `"'\`)) || alone.MatchString(behind) && !errorWords.MatchString(value))
	})
	text = cutAhead(ownedInSentence, valueAhead, text, func(name, _, value, _ string) bool {
		return classify(name) == certainName && (strings.ContainsAny(value[:1], `"'\`) || looksSecret(value))
	})
	text = cutAhead(unspaced, asciiAhead, text, func(_, _, value, _ string) bool { return looksSecret(value) })
	return cutAhead(inSentence, wordAhead, text, func(name, _, value, _ string) bool {
		return classify(name) == certainName && looksSecret(value)
	})
}

// cutAhead takes out what matches ahead behind each match of lead, where is says so of name, lead, value and
// what follows.
func cutAhead(lead, ahead *regexp.Regexp, text string, is func(name, lead, value, behind string) bool) string {
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
		b.WriteString(text[at:end] + cutOut)
		at = end + value[1]
		from = at
	}
	return b.String() + text[at:]
}
