package results

import (
	"hash/maphash"
	"slices"
	"strings"

	"github.com/veltui/veltui/internal/human"
)

// A template is what messages that say the same have in common: the same words in the same order, but for those in
// which the messages differ and which may be names or values. It takes three steps, each linear in the length of all
// texts: texts are equal but for values that show by their form; then but for words where a name may stand, if enough
// texts differ in them; then but for any one word, if many do.

const (
	// minSomeNames and minRareNames are how many different words make a place that of a name.
	minSomeNames, minRareNames = 3, 8
	// minOtherWords is how many texts that differ in one word only say the same, and maxComparedTexts how many different
	// texts are compared in that way.
	minOtherWords, maxComparedTexts = 6, 20_000
)

// template is a group of rows with the words of its first text.
type template struct {
	words []word
	text  string
	rows  []int32
}

// groupRows returns the rows that say the same, in the order in which each group first occurs.
func groupRows(rows []row, words vocabulary) [][]int32 {
	all := groupEqual(rows, words)
	all = mergeNames(all)
	all = mergeOtherWords(all)
	groups := make([][]int32, len(all))
	for i := range all {
		slices.Sort(all[i].rows)
		groups[i] = all[i].rows
	}
	slices.SortFunc(groups, func(a, b []int32) int { return int(a[0] - b[0]) })
	return groups
}

// groupEqual groups rows whose texts differ in certain values only.
func groupEqual(rows []row, words vocabulary) []*template {
	byKey := map[string]*template{}
	var all []*template
	var key []byte
	for i := range rows {
		split := words.splitWords(rows[i].text)
		key = appendKey(key[:0], rows[i].text, split, func(at int) bool { return split[at].class == certainly })
		t := byKey[string(key)]
		if t == nil {
			t = &template{words: slices.Clip(split), text: rows[i].text}
			byKey[string(key)] = t
			all = append(all, t)
		}
		t.rows = append(t.rows, int32(i))
	}
	return all
}

// valueMark stands for a value in the key of a template.
const valueMark = 0

// appendKey appends a text to key, with a mark in place of each word that varies.
func appendKey(key []byte, text string, words []word, varies func(at int) bool) []byte {
	for i, w := range words {
		if varies(i) {
			key = append(key, valueMark)
		} else {
			key = append(key, text[w.from:w.to]...)
		}
	}
	return key
}

// mergeNames merges templates that differ in words where names may stand, if enough of them do.
func mergeNames(all []*template) []*template {
	buckets := map[string][]*template{}
	var order []string
	var key []byte
	for _, t := range all {
		key = appendKey(key[:0], t.text, t.words, func(at int) bool { return t.words[at].class != literal })
		if buckets[string(key)] == nil {
			order = append(order, string(key))
		}
		buckets[string(key)] = append(buckets[string(key)], t)
	}
	var merged []*template
	for _, k := range order {
		bucket := buckets[k]
		if len(bucket) > 1 {
			markVarying(bucket)
			bucket = mergeEqual(bucket)
		}
		merged = append(merged, bucket...)
	}
	return merged
}

// markVarying marks the words of templates of one form in which enough of them differ.
func markVarying(bucket []*template) {
	for i := range bucket[0].words {
		least := minSomeNames
		different := map[string]bool{}
		for _, t := range bucket {
			if t.words[i].class == rareName {
				least = minRareNames
			}
			if c := t.words[i].class; c == rareName || c == someName {
				different[t.text[t.words[i].from:t.words[i].to]] = true
			}
		}
		if len(different) < least {
			continue
		}
		for _, t := range bucket {
			if t.words[i].class != literal {
				t.words[i].class = certainly
			}
		}
	}
}

// mergeEqual merges templates that have become equal.
func mergeEqual(bucket []*template) []*template {
	byKey := map[string]*template{}
	merged := bucket[:0]
	var key []byte
	for _, t := range bucket {
		key = appendKey(key[:0], t.text, t.words, func(at int) bool { return t.words[at].class == certainly })
		if same := byKey[string(key)]; same != nil {
			same.rows = append(same.rows, t.rows...)
			continue
		}
		byKey[string(key)] = t
		merged = append(merged, t)
	}
	return merged
}

// mergeOtherWords merges templates that differ in one plain word, if many do: a sum of hashes without each word in
// turn finds them in linear time.
func mergeOtherWords(all []*template) []*template {
	if len(all) < minOtherWords || len(all) > maxComparedTexts {
		return all
	}
	seed := maphash.MakeSeed()
	counts := map[uint64]int{}
	for _, t := range all {
		t.eachWithoutWord(seed, func(_ int, sum uint64) { counts[sum]++ })
	}
	bySum := map[uint64]*template{}
	var merged []*template
	for _, t := range all {
		best, at := uint64(0), -1
		t.eachWithoutWord(seed, func(i int, sum uint64) {
			if n := counts[sum]; n >= minOtherWords && (at < 0 || n > counts[best]) {
				best, at = sum, i
			}
		})
		if at < 0 {
			merged = append(merged, t)
			continue
		}
		if same := bySum[best]; same != nil {
			same.rows = append(same.rows, t.rows...)
			continue
		}
		bySum[best] = t
		merged = append(merged, t)
	}
	return merged
}

// eachWithoutWord calls do for each plain word with a hash of the template without that word.
func (t *template) eachWithoutWord(seed maphash.Seed, do func(i int, sum uint64)) {
	hash := func(i int, text string) uint64 {
		var h maphash.Hash
		h.SetSeed(seed)
		h.WriteString(text)
		h.WriteByte(byte(i))
		h.WriteByte(byte(i >> 8))
		return h.Sum64()
	}
	part := func(i int) string {
		if t.words[i].class == certainly {
			return string(rune(valueMark))
		}
		return t.text[t.words[i].from:t.words[i].to]
	}
	total := uint64(len(t.words))
	for i := range t.words {
		total += hash(i, part(i))
	}
	for i, w := range t.words {
		if text := part(i); w.class != certainly && isWord(t.text, w) && isLower(text) && len(text) > 1 {
			do(i, total-hash(i, text)+hash(i, string(rune(valueMark))))
		}
	}
}

// summary is what the texts of a group have in common, and where they differ.
type summary struct {
	words  []word
	first  string
	slots  []slot // one for each word
	varies bool
}

// slot is a word as it stands in all texts: equal, or between prefix and suffix.
type slot struct {
	prefix, suffix string
	varies         bool
}

// newSummary compares the texts of a group, which have the same number of words.
func newSummary(rows []row, group []int32, vocabulary vocabulary) *summary {
	s := &summary{first: rows[group[0]].text}
	s.words = vocabulary.splitWords(s.first)
	s.slots = make([]slot, len(s.words))
	for i, w := range s.words {
		s.slots[i] = slot{prefix: s.first[w.from:w.to], suffix: s.first[w.from:w.to]}
	}
	last := s.first
	for _, at := range group[1:] {
		text := rows[at].text
		if text == last {
			continue
		}
		last = text
		for i, w := range vocabulary.splitWords(text) {
			if i < len(s.slots) {
				s.varies = s.slots[i].addText(text[w.from:w.to]) || s.varies
			}
		}
	}
	return s
}

// addText compares a word with those before and reports whether it differs.
func (s *slot) addText(text string) bool {
	if !s.varies && text == s.prefix {
		return false
	}
	s.varies = true
	n := 0
	for n < len(s.prefix) && n < len(text) && s.prefix[n] == text[n] {
		n++
	}
	s.prefix = s.prefix[:n]
	for n = 0; n < len(s.suffix) && n < len(text) && s.suffix[len(s.suffix)-1-n] == text[len(text)-1-n]; {
		n++
	}
	s.suffix = s.suffix[len(s.suffix)-n:]
	return true
}

// buildPattern returns the text with * for what varies.
func (s *summary) buildPattern() string {
	if !s.varies {
		return s.first
	}
	var b strings.Builder
	for i, w := range s.words {
		switch slot := &s.slots[i]; {
		case !slot.varies:
			b.WriteString(s.first[w.from:w.to])
		default:
			b.WriteString(commonStart(slot.prefix) + "*" + commonEnd(slot.suffix))
		}
	}
	return b.String()
}

// commonStart cuts what names begin with behind their last whole part: probe-node0 to probe-node, web-7d to web-.
func commonStart(prefix string) string {
	prefix = strings.TrimRight(prefix, "0123456789")
	at := strings.LastIndexAny(prefix, "-._/:") + 1
	isLetter := func(r rune) bool { return r >= 'a' && r <= 'z' }
	if rest := prefix[at:]; len(rest) < 3 || strings.TrimFunc(rest, isLetter) != "" {
		return prefix[:at]
	}
	return prefix
}

// commonEnd cuts what names end with before its first whole part.
func commonEnd(suffix string) string {
	if at := strings.IndexAny(suffix, "-._/:]"); at >= 0 {
		return suffix[at:]
	}
	return ""
}

// findVariant returns what stands in a text in place of each *.
func (s *summary) findVariant(text string, vocabulary vocabulary) string {
	if !s.varies {
		return ""
	}
	var values []string
	for i, w := range vocabulary.splitWords(text) {
		if i < len(s.slots) && s.slots[i].varies {
			values = append(values, text[w.from:w.to])
		}
	}
	return strings.Join(values, ", ")
}

// buildMessage returns a group of rows as a message, with copies of all its texts.
func buildMessage(severity Severity, rows []row, group []int32, vocabulary vocabulary) Message {
	s := newSummary(rows, group, vocabulary)
	first := rows[group[0]]
	m := Message{
		Severity: severity,
		Scope:    first.scope,
		Text:     strings.Clone(s.buildPattern()),
		Example:  strings.Clone(first.message),
		Count:    len(group),
	}
	seen, variants, namespaces := map[Resource]bool{}, map[string]bool{}, map[string]bool{}
	for _, at := range group {
		r := rows[at]
		if r.scope != m.Scope {
			m.Scope = ScopeSeveral
		}
		if r.scope == ScopeNamespace && !namespaces[r.namespace] {
			namespaces[r.namespace] = true
			m.Namespaces = append(m.Namespaces, r.namespace)
		}
		if len(m.Examples) < maxExamples && !slices.Contains(m.Examples, r.message) {
			m.Examples = append(m.Examples, strings.Clone(r.message))
		}
		if r.named.Name != "" && !seen[r.named] {
			named := Resource{
				Kind: internText(r.named.Kind), Namespace: internText(r.named.Namespace), Name: strings.Clone(r.named.Name),
			}
			seen[named] = true
			m.Resources = append(m.Resources, named)
		}
	}
	if len(m.Resources) == 0 {
		for _, at := range group {
			r := rows[at]
			text := s.findVariant(r.text, vocabulary)
			if len(namespaces) > 1 && !strings.Contains(text, r.namespace) {
				text = r.namespace + human.Prefixed(": ", text)
			}
			if text != "" && !variants[text] {
				text = strings.Clone(text)
				variants[text] = true
				m.Variants = append(m.Variants, text)
			}
		}
	}
	if m.Scope == ScopeNamespace && len(m.Namespaces) == 1 {
		m.Namespace, m.Namespaces = m.Namespaces[0], nil
	}
	m.Resources, m.Variants = slices.Clip(m.Resources), slices.Clip(m.Variants)
	return m
}
