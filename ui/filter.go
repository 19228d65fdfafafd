package ui

import "strings"

// filter selects rows by words: all words must be found, without regard to
// case; a word that begins with ! must not be found.
type filter struct {
	text  string
	words []string
}

func newFilter(text string) filter {
	return filter{text: text, words: strings.Fields(strings.ToLower(text))}
}

func (f filter) empty() bool { return len(f.words) == 0 }

func (f filter) matches(fields ...string) bool {
	if f.empty() {
		return true
	}
	all := strings.ToLower(strings.Join(fields, "\n"))
	for _, word := range f.words {
		unwanted, negated := strings.CutPrefix(word, "!")
		if negated && unwanted == "" {
			continue
		}
		if negated == strings.Contains(all, unwanted) {
			return false
		}
	}
	return true
}
