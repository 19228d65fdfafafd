package collector

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gobwas/glob"
)

// nonRestorable are never restored, whatever a Restore says
// (pkg/controller/restore_controller.go).
var nonRestorable = []string{
	"nodes", "events", "events.events.k8s.io", "backups.velero.io", "restores.velero.io",
	"resticrepositories.velero.io", "csinodes.storage.k8s.io", "volumeattachments.storage.k8s.io",
	"backuprepositories.velero.io",
}

// patterns is a list of words that may hold wildcards. Matching is that of
// the library Velero uses, and of its order: sorted, and nothing after a word
// that is no valid pattern is looked at (pkg/util/collections/includes_excludes.go).
type patterns struct {
	words []string
	globs []glob.Glob
}

func newPatterns(words []string) patterns {
	p := patterns{words: slices.Compact(slices.Sorted(slices.Values(words)))}
	for _, word := range p.words {
		g, err := compileGlob(word)
		if err != nil {
			break
		}
		p.globs = append(p.globs, g)
	}
	return p
}

// maxPattern is longer than any name can be.
const maxPattern = 1024

// compileGlob guards against what the library does not.
func compileGlob(word string) (g glob.Glob, err error) {
	if len(word) > maxPattern {
		return nil, fmt.Errorf("pattern of %d bytes is too long", len(word))
	}
	defer func() {
		if p := recover(); p != nil {
			g, err = nil, fmt.Errorf("pattern %q: %v", word, p)
		}
	}()
	g, err = glob.Compile(word)
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", word, err)
	}
	return g, nil
}

func (p patterns) match(s string) (matched bool) {
	defer func() {
		if recover() != nil {
			matched = false // a pattern that the library fails on matches nothing
		}
	}()
	for _, g := range p.globs {
		if g.Match(s) {
			return true
		}
	}
	return false
}

func (p patterns) has(word string) bool { return slices.Contains(p.words, word) }

// filter is an include list and an exclude list.
type filter struct {
	includes, excludes patterns
	memo               map[string]bool
}

func newFilter(includes, excludes []string) *filter {
	return &filter{includes: newPatterns(includes), excludes: newPatterns(excludes), memo: map[string]bool{}}
}

// lets says whether s is let through. An empty include list means all.
func (f *filter) lets(s string) bool {
	verdict, known := f.memo[s]
	if !known {
		verdict = !f.excludes.match(s) &&
			(len(f.includes.words) == 0 || f.includes.has("*") || f.includes.match(s))
		f.memo[s] = verdict
	}
	return verdict
}

// everything says whether the lists leave nothing out.
func (f *filter) everything() bool {
	return len(f.excludes.words) == 0 && (len(f.includes.words) == 0 || slices.Equal(f.includes.words, []string{"*"}))
}

// resourceFilter resolves the words of a Restore to group-resources first.
// What cannot be resolved is taken literally (Velero issue 2461).
func resourceFilter(resources []Resource, includes, excludes []string) *filter {
	canonical := func(words []string, keepStar bool) (out []string) {
		for _, word := range words {
			if word == "*" {
				if keepStar {
					out = append(out, word)
				}
				continue
			}
			if r, ok := resolve(resources, word); ok {
				word = r.groupResource()
			}
			if word != "" {
				out = append(out, word)
			}
		}
		return out
	}
	return newFilter(canonical(includes, true), canonical(excludes, false))
}

// namespaceFilter makes the filter of source namespaces. present are the
// namespaces of the backup; they matter only where patterns are expanded.
func namespaceFilter(v version, includes, excludes, present []string) (*filter, error) {
	if !v.expandsNamespaces() || !expandable(includes, excludes) {
		return newFilter(includes, excludes), nil
	}
	if slices.Contains(excludes, "*") {
		return nil, fmt.Errorf("wildcard \"*\" is not allowed in excluded namespaces")
	}
	in, err := expand(includes, present)
	if err != nil {
		return nil, err
	}
	out, err := expand(excludes, present)
	if err != nil {
		return nil, err
	}
	// A pattern that matches nothing leaves an empty list, which means all.
	return newFilter(in, out), nil
}

const wildcards = "*?[{"

func expandable(includes, excludes []string) bool {
	if len(includes) == 0 || slices.Contains(includes, "*") {
		return false
	}
	return slices.ContainsFunc(slices.Concat(includes, excludes), func(s string) bool {
		return strings.ContainsAny(s, wildcards)
	})
}

func expand(words, present []string) (out []string, err error) {
	for _, word := range words {
		if !strings.ContainsAny(word, wildcards) {
			out = append(out, word)
			continue
		}
		if strings.Contains(word, "**") {
			return nil, fmt.Errorf("namespace pattern %q: consecutive asterisks", word)
		}
		g, err := compileGlob(word)
		if err != nil {
			return nil, err
		}
		for _, namespace := range present {
			if g.Match(namespace) {
				out = append(out, namespace)
			}
		}
	}
	return out, nil
}
