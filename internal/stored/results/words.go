package results

import (
	"slices"
	"strings"
	"sync"

	"github.com/veltui/veltui/collector"
)

// wordClass is how far a word of a message may differ between messages that say the same.
type wordClass uint8

const (
	literal   wordClass = iota
	rareName            // a name if very many messages differ in it
	someName            // a name if some messages differ in it
	certainly           // a name, number, time, address or other value wherever messages differ in it
)

// word is a part of a text: a word with its class, or what separates two words.
type word struct {
	from, to int32
	class    wordClass
}

// maxTemplateBytes is how much of a text is split into words; the rest is one literal.
const maxTemplateBytes = 4 << 10

// vocabulary knows names of objects, besides the words that precede names.
type vocabulary struct{ names map[string]bool }

// newVocabulary collects the names that the messages themselves and names have. A plain word is none: it may be part
// of a sentence.
func newVocabulary(rows []row, names []string) vocabulary {
	v := vocabulary{map[string]bool{}}
	for _, name := range names {
		v.names[name] = true
	}
	for i := range rows {
		v.names[rows[i].named.Name] = true
		v.names[rows[i].namespace] = true
	}
	return v
}

// kindWords are the words that precede the name of an object: kinds, resources, and what Velero calls them.
var kindWords = sync.OnceValue(func() map[string]bool {
	words := map[string]bool{}
	for kind, resource := range collector.KnownKinds() {
		plural, _, _ := strings.Cut(resource, ".")
		words[plural], words[strings.ToLower(kind[1])] = true, true
	}
	for _, word := range []string{
		"pv", "pvs", "pvc", "pvcs", "ns", "volume", "volumes", "claim", "claims", "snapshot", "snapshots", "disk",
		"container", "containers", "name", "uid", "id", "host", "handle", "path", "du", "dd", "pvb", "pvr",
		"volumesnapshot", "volumesnapshots", "volumesnapshotcontent", "volumesnapshotcontents", "vs", "vsc",
		"dataupload", "datadownload", "podvolumebackup", "podvolumerestore", "backup", "restore",
	} {
		words[word] = true
	}
	return words
})

// splitWords returns the words of a text, and what separates them. Its time is linear.
func (v vocabulary) splitWords(text string) []word {
	end := min(len(text), maxTemplateBytes)
	words := make([]word, 0, 16)
	for at := 0; at < end; {
		if isChunkStart(text, at) {
			if from, to := findValue(text[:end], at); to > from {
				words = appendLiteral(words, at, from)
				words = append(words, word{int32(from), int32(to), certainly})
				at = to
				continue
			}
		}
		from, to := nextWord(text[:end], at)
		words = appendLiteral(words, at, from)
		if to > from {
			words = append(words, word{int32(from), int32(to), literal})
		}
		at = to
	}
	words = appendLiteral(words, end, len(text))
	v.classifyWords(text, words)
	return joinValues(text, words)
}

func appendLiteral(words []word, from, to int) []word {
	if from == to {
		return words
	}
	return append(words, word{int32(from), int32(to), literal})
}

func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0x80 ||
		c == '_' || isJoiner(c)
}

// isJoiner reports whether a byte is part of a word only between other bytes of it.
func isJoiner(c byte) bool { return c == '-' || c == '.' || c == '~' || c == '+' || c == '%' }

// nextWord finds the first word from at on, or the start of the next chunk, which may be more than a word; both ends
// are the end of text if there is none.
func nextWord(text string, at int) (from, to int) {
	for from = at; from < len(text) && (!isWordByte(text[from]) || isJoiner(text[from])); {
		if from++; from < len(text) && isChunkStart(text, from) {
			return from, from
		}
	}
	for to = from; to < len(text) && isWordByte(text[to]); {
		to++
	}
	for to > from && isJoiner(text[to-1]) {
		to--
	}
	return from, to
}

const chunkSeparators = " \t\r\n\"'`,;()[]{}<>="

func isChunkStart(text string, at int) bool {
	return strings.IndexByte(chunkSeparators, text[at]) < 0 &&
		(at == 0 || strings.IndexByte(chunkSeparators, text[at-1]) >= 0)
}

// findValue finds, in the chunk that starts at at, what is one value although it has several words: the path of a URL,
// an address with colons, or encoded data.
func findValue(text string, at int) (from, to int) {
	end := strings.IndexAny(text[at:], " \t\r\n\"'`,;()<>")
	if end < 0 {
		end = len(text) - at
	}
	chunk := strings.TrimRight(text[at:at+end], ".:]}")
	to = at + len(chunk)
	if scheme := strings.Index(chunk, "://"); scheme > 0 {
		if path := strings.IndexByte(chunk[scheme+3:], '/'); path >= 0 && scheme+3+path+1 < len(chunk) {
			return at + scheme + 3 + path + 1, to
		}
		return 0, 0
	}
	if strings.Count(chunk, ":") > 1 && strings.Trim(chunk, "0123456789abcdefABCDEF:.[]") == "" {
		return at, to
	}
	if isEncoded(chunk) {
		return at, to
	}
	return 0, 0
}

// isEncoded reports whether a chunk looks like encoded data, such as the request ids of object stores.
func isEncoded(chunk string) bool {
	var upper, lower, digit bool
	for i := range len(chunk) {
		switch c := chunk[i]; {
		case c >= 'a' && c <= 'z':
			lower = true
		case c >= 'A' && c <= 'Z':
			upper = true
		case c >= '0' && c <= '9':
			digit = true
		case c != '+' && c != '/' && c != '=' && c != '_' && c != '-':
			return false
		}
	}
	return len(chunk) >= 16 && upper && lower && digit
}

// classifyWords sets the class of each word by its form and by what stands around it.
func (v vocabulary) classifyWords(text string, words []word) {
	previous := -1 // the word before
	for i := range words {
		w := &words[i]
		if w.class == certainly {
			previous = i
			continue
		}
		if !isWord(text, *w) {
			continue
		}
		c := newContext(text, words, previous, i)
		w.class = max(v.classOf(c), w.class)
		previous = i
	}
}

// isWord reports whether a part of a text is a word, not a separator. What follows [maxTemplateBytes] is none.
func isWord(text string, w word) bool {
	return isWordByte(text[w.from]) && !isJoiner(text[w.from]) && w.from < maxTemplateBytes
}

// context is a word with what stands around it.
type context struct {
	word             string
	separator, after string // before and after the word
	label            string // the word before, in lower case
	labelClass       wordClass
	isRecord         bool // the label begins a part of the text, as in "PVC: a, PV: b"
	// isCode is true for a number that tells causes apart.
	isCode bool
}

func newContext(text string, words []word, previous, i int) context {
	c := context{word: text[words[i].from:words[i].to]}
	if i+1 < len(words) {
		c.after = text[words[i+1].from:words[i+1].to]
	}
	from := 0
	if previous >= 0 {
		p := words[previous]
		from = int(p.to)
		c.label, c.labelClass = strings.ToLower(text[p.from:p.to]), p.class
		before := strings.TrimRight(text[:p.from], " ")
		c.isRecord = before == "" || strings.IndexByte(",;([{", before[len(before)-1]) >= 0
	}
	c.separator = text[from:words[i].from]
	c.isCode = isNumber(c.word) && (strings.HasSuffix(c.label, "code") || strings.HasSuffix(c.label, "status") ||
		c.label == "signal" || c.label == "errno" || c.label == "http")
	return c
}

// classOf returns the class of a word.
func (v vocabulary) classOf(c context) wordClass {
	isQuoted := strings.HasSuffix(c.separator, `"`) || strings.HasSuffix(c.separator, "'")
	isField := strings.HasSuffix(strings.TrimRight(c.separator, ` "'`), "=")
	isColon := strings.HasSuffix(strings.TrimRight(c.separator, ` "'`), ":")
	isPath := c.separator == "/" || strings.HasPrefix(c.after, "/")
	ends := c.after == "" || strings.IndexByte(",;)]}/\"'", c.after[0]) >= 0
	hasKind := kindWords()[c.label]
	isName := isLower(c.word)
	switch {
	case c.isCode:
		return literal
	case isDomain(c.word), isAPIVersion(c.word):
		return someName
	case hasDigit(c.word), isName && strings.Contains(c.word, "-"):
		return certainly
	case c.separator == "/" && (hasKind || c.labelClass == certainly) && isName:
		return certainly
	case hasKind && (isQuoted || isField || isColon && c.isRecord && ends) && isName:
		return certainly
	case v.names[c.word] && (isQuoted || isField || isPath || isColon && ends):
		return certainly
	case isQuoted, isField, isPath && isName, hasKind && c.separator == " " && isName:
		return someName
	case isColon && ends && isName:
		return rareName
	}
	return literal
}

func isNumber(word string) bool { return strings.Trim(word, "0123456789") == "" }

// isLower reports whether a word could be the name of an object.
func isLower(word string) bool {
	return strings.IndexFunc(word, func(r rune) bool {
		return r != '-' && r != '.' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	}) < 0
}

// withoutKnownDigits removes words with digits that are no numbers.
var withoutKnownDigits = strings.NewReplacer("k8s", "", "x509", "", "sha256", "", "s3", "", "http2", "")

func hasDigit(word string) bool {
	return strings.ContainsAny(withoutKnownDigits.Replace(word), "0123456789")
}

// isDomain reports whether a word is the name of an API group, a webhook or a plugin.
func isDomain(word string) bool {
	labels := strings.Split(word, ".")
	if len(labels) < 2 || !isLower(word) || hasDigit(word) {
		return false
	}
	return !slices.Contains(labels, "")
}

// withoutStability removes how stable a version of an API is.
var withoutStability = strings.NewReplacer("alpha", "", "beta", "")

// isAPIVersion reports whether a word is a version such as v1 and v2alpha1.
func isAPIVersion(word string) bool {
	rest, isVersion := strings.CutPrefix(word, "v")
	rest = withoutStability.Replace(rest)
	return isVersion && len(rest) > 0 && len(rest) <= 3 && isNumber(rest)
}

// joinValues joins values that only marks and spaces separate, as in an address, a time or a list, because their
// number varies.
func joinValues(text string, words []word) []word {
	joined := words[:0]
	for _, w := range words {
		n := len(joined)
		if w.class == certainly && n >= 2 && joined[n-2].class == certainly &&
			isGlue(text[joined[n-1].from:joined[n-1].to]) {
			joined[n-2].to = w.to
			joined = joined[:n-1]
			continue
		}
		joined = append(joined, w)
	}
	return joined
}

// isGlue reports whether a separator is within a value or a list.
func isGlue(separator string) bool {
	return len(separator) <= 4 && strings.Trim(separator, ":./-, \"") == "" && !strings.HasSuffix(separator, ": ")
}
