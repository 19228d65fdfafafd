package preflight

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/modifier"
	"github.com/veltui/veltui/internal/restore/restorespec"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero"
)

// maxRuleFindings is how many findings there may be about the rules of one modifier or policy.
const maxRuleFindings = 10

// checkSelection finds what silently does nothing: words, selectors and rules that match no item of the backup. Velero
// does not report any of them.
func (c *checker) checkSelection() error {
	if c.Index.Incomplete {
		return nil // what was not read may match
	}
	s := selectionChecker{checker: c, words: c.Fates.NewWordMatcher()}
	s.checkNamespaceWords()
	s.checkResourceWords()
	s.checkSelectors()
	if err := s.checkPolicy(); err != nil {
		return err
	}
	return s.checkModifier()
}

type selectionChecker struct {
	*checker
	words *collector.WordMatcher
}

// addUnmatched adds one finding about the words of a flag that match nothing.
func (s *selectionChecker) addUnmatched(flag, what string, severity Severity, words []string, hints []string) {
	if len(words) == 0 {
		return
	}
	verb := "matches"
	if len(words) > 1 {
		verb = "match"
	}
	sentence := fmt.Sprintf("--%s: %s %s no %s of the backup.", flag, human.JoinNames(words, maxNames), verb, what)
	for _, hint := range hints[:min(len(hints), maxNames)] {
		sentence += " " + hint
	}
	remedy := "Correct the words, or leave them out."
	if severity == Note {
		remedy = "" // nothing is restored because of it
	}
	s.addFinding(Finding{
		Severity: severity,
		Reason:   FilterMatchesNothing,
		Count:    len(words),
		Names:    words[:min(len(words), maxNames)],
		Sentence: sentence,
		Remedy:   remedy,
	})
}

func (s *selectionChecker) checkNamespaceWords() {
	targets := map[string]string{}
	for _, source := range slices.Sorted(maps.Keys(s.Restore.NamespaceMapping)) {
		targets[s.Restore.NamespaceMapping[source]] = source
	}
	unmatched := func(list []string) (words, hints []string) {
		for _, word := range list {
			if word == "" || word == "*" || s.words.MatchesNamespace(word) {
				continue
			}
			words = append(words, sanitize.String(word))
			if hint := s.namespaceHint(word, targets); hint != "" {
				hints = append(hints, hint)
			}
		}
		return words, hints
	}
	holds := "The backup holds " + human.JoinNames(s.words.Namespaces(), maxNames) + "."
	if words, hints := unmatched(s.Restore.IncludedNamespaces); len(words) > 0 {
		s.addUnmatched("include-namespaces", "namespace", Doubt, words, append(hints, holds))
	}
	words, hints := unmatched(s.Restore.ExcludedNamespaces)
	s.addUnmatched("exclude-namespaces", "namespace", excludeSeverity(hints), words, hints)
	var sources, mappingHints []string
	for _, source := range slices.Sorted(maps.Keys(s.Restore.NamespaceMapping)) {
		if slices.Contains(s.words.Namespaces(), source) { // a mapping takes no patterns
			continue
		}
		sources = append(sources, sanitize.String(source))
		if target := s.Restore.NamespaceMapping[source]; slices.Contains(s.words.Namespaces(), target) {
			mappingHints = append(mappingHints, "It holds "+target+": a mapping names the source first, then the target.")
		} else if hint := s.namespaceHint(source, nil); hint != "" {
			mappingHints = append(mappingHints, hint)
		}
	}
	if len(sources) > 0 {
		s.addUnmatched("namespace-mappings", "namespace", Doubt, sources, append(mappingHints, holds))
	}
}

// excludeSeverity is a note for words that exclude nothing: lists of excludes are used for many backups. A word that
// nearly matches is a doubt.
func excludeSeverity(hints []string) Severity {
	if len(hints) > 0 {
		return Doubt
	}
	return Note
}

// namespaceHint says what a word that matches no namespace may mean. targets maps the targets of the mapping to their
// sources.
func (s *selectionChecker) namespaceHint(word string, targets map[string]string) string {
	if source := targets[word]; source != "" && slices.Contains(s.words.Namespaces(), source) {
		return fmt.Sprintf("%s is the target of a mapping, and filters go by the source, %s.", word, source)
	}
	for _, namespace := range s.words.Namespaces() {
		if strings.EqualFold(namespace, word) {
			return fmt.Sprintf("The backup holds %s.", namespace)
		}
	}
	return ""
}

func (s *selectionChecker) checkResourceWords() {
	unmatched := func(list []string) (words, hints []string) {
		for _, word := range list {
			if word == "" || word == "*" || slices.Contains(collector.NonRestorable(), word) || s.words.MatchesResource(word) ||
				s.isUnexplained(word) {
				continue
			}
			words = append(words, sanitize.String(word))
			if hint := s.resourceHint(word); hint != "" {
				hints = append(hints, "The backup holds "+hint+".")
			}
		}
		return words, hints
	}
	words, hints := unmatched(s.Restore.IncludedResources)
	s.addUnmatched("include-resources", "resource", Doubt, words, hints)
	words, hints = unmatched(s.Restore.ExcludedResources)
	s.addUnmatched("exclude-resources", "resource", excludeSeverity(hints), words, hints)
	if status := s.Restore.RestoreStatus; status != nil {
		words, hints = unmatched(status.IncludedResources)
		s.addUnmatched("status-include-resources", "resource", Doubt, words, hints)
	}
}

// isUnexplained reports whether a word may stand for a kind of an API group that does not answer.
func (s *selectionChecker) isUnexplained(word string) bool {
	return s.Served != nil && len(s.Served.UnexplainedWords([]string{word})) > 0
}

// resourceHint returns the resource of the backup that a word may mean: of another group, another case, or another
// name of the kind; empty if there is none.
func (s *selectionChecker) resourceHint(word string) string {
	name, _, _ := strings.Cut(word, ".")
	meant := s.words.ResolveResource(strings.ToLower(name))
	for _, resource := range s.words.Resources() {
		plural, _, _ := strings.Cut(resource, ".")
		if resource == meant || strings.EqualFold(plural, name) {
			return resource
		}
	}
	return ""
}

func (s *selectionChecker) checkSelectors() {
	check := func(flag string, selector *metav1.LabelSelector) {
		matched, absent := s.words.MatchesLabels(selector)
		if matched {
			return
		}
		why := "each label is there, but not these together"
		if len(absent) > 0 {
			why = "no item has the label " + sanitize.String(human.JoinNames(absent, maxNames))
		}
		text := sanitize.String(metav1.FormatLabelSelector(selector))
		s.addFinding(Finding{
			Severity: Doubt,
			Reason:   FilterMatchesNothing,
			Count:    1,
			Names:    []string{human.Shorten(text, 200)},
			Sentence: fmt.Sprintf("--%s: %s matches no item of the backup: %s.", flag, human.Shorten(text, 200), why),
			Remedy:   "Correct the selector. Labels count as they were when the backup was taken.",
		})
	}
	if !restorespec.SelectsListedItems(s.Restore) {
		check("selector", s.Restore.LabelSelector)
	}
	for i, selector := range s.Restore.OrLabelSelectors {
		if i == maxRuleFindings {
			return
		}
		check("or-selector", selector)
	}
}

// checkPolicy finds the filters of the restore's resource policy that match nothing.
func (s *selectionChecker) checkPolicy() error {
	reference := s.Restore.ResourcePolicy
	if reference == nil || s.Environment == nil || !s.serverReadsField("resource-policies-configmap") {
		return nil
	}
	policy, err := velero.ParseRestorePolicy(s.Environment.ConfigMapData[reference.Name])
	if err != nil {
		return nil // checkValidation says so
	}
	name, left := sanitize.String(reference.Name), maxRuleFindings
	add := func(what, word, hint string) {
		if left--; left < 0 {
			return
		}
		s.addFindingFor(name, Doubt, RuleMatchesNothing,
			fmt.Sprintf("Resource policy %s: %s %s matches nothing in the backup.%s", name, what, sanitize.String(word),
				human.Prefixed(" The backup holds ", human.EndSentence(hint))),
			"Correct the policy, or leave that out.")
	}
	checkKinds := func(filters []velero.ObjectFilter) {
		for _, f := range filters {
			for _, kind := range f.Kinds {
				if kind != "*" && !s.words.MatchesKind(kind) && !s.isUnexplained(strings.ToLower(kind)) {
					add("kind", kind, s.resourceHint(kind))
				}
			}
		}
	}
	for _, n := range policy.Namespaced {
		for _, namespace := range n.Namespaces {
			if !s.words.MatchesNamespace(namespace) {
				add("namespace", namespace, "")
			}
		}
		checkKinds(n.Filters)
	}
	if policy.Cluster != nil {
		checkKinds(policy.Cluster.Filters)
	}
	return s.checkPolicyConditions(policy, func(what, word string) { add(what, word, "") })
}

// checkModifier finds the rules of the resource modifier that cannot be applied, or that match no item.
func (s *selectionChecker) checkModifier() error {
	if s.modifier.Rules == nil {
		return nil
	}
	coverage := s.modifier.Rules.NewCoverage()
	err := s.Fates.EachLabelledItem(func(i collector.Item, labels func() (map[string]string, bool)) {
		restored := i.Fate == collector.ToRestore && !i.IsMirrorPod
		coverage.AddItem(i.Resource, i.Namespace, i.Name, restored, labels)
	})
	if err != nil {
		return err
	}
	if coverage.Incomplete {
		s.addUnchecked("which items the rules of the resource modifier "+s.modifier.Name+" match", "there are too many")
		return nil
	}
	findings := 0
	for i := range coverage.Rules {
		f, found := s.judgeRule(i+1, &coverage.Rules[i])
		if !found {
			continue
		}
		if findings++; findings <= maxRuleFindings {
			s.addFinding(f)
		}
	}
	if more := findings - maxRuleFindings; more > 0 {
		s.addFindingFor(s.modifier.Name, Doubt, RuleMatchesNothing, fmt.Sprintf(
			"Of the resource modifier %s, %s or match nothing.", s.modifier.Name,
			human.CountForms(more, "more rule cannot be applied", "more rules cannot be applied")), "Correct the rules.")
	}
	return nil
}

// judgeRule returns the finding about a rule; false if it does what it says.
func (s *selectionChecker) judgeRule(number int, r *modifier.RuleCoverage) (f Finding, found bool) {
	subject := fmt.Sprintf("Rule %d of the resource modifier %s (%s)", number, s.modifier.Name,
		human.Shorten(sanitize.String(r.GroupResource), 100))
	f = Finding{
		Severity: Doubt,
		Reason:   RuleMatchesNothing,
		Resource: live.ConfigMaps,
		Count:    1,
		Names:    []string{s.modifier.Name},
	}
	switch {
	case r.Err != nil:
		f.Reason, f.Remedy = RuleInvalid, "Correct the rule."
		f.Sentence = fmt.Sprintf("%s cannot be applied: %s.", subject, human.Shorten(sanitize.String(r.Err.Error()), 300))
		if r.Failed > 0 {
			f.Severity = Obstacle
			f.Sentence += fmt.Sprintf(
				" Velero reports %s, one for each item that the rule reaches, and restores these without it. The restore "+
					"ends PartiallyFailed.",
				human.Count(r.Failed, "error"),
			)
		}
	case r.Failed > 0:
		f.Severity, f.Reason = Obstacle, RuleInvalid
		if r.MayMatchLess {
			f.Severity = Doubt
		}
		f.Sentence = fmt.Sprintf("%s has strategic merge patches, and Velero does not apply those to %s. It reports %s, "+
			"one for each such item that the rule reaches, and restores the items unchanged.", subject, r.Unpatchable,
			human.Count(r.Failed, "error"))
		f.Remedy = "Write mergePatches or patches in the rule."
	case r.Restored > 0:
		return f, false
	case r.Matched > 0:
		f.Severity = Note
		f.Sentence = fmt.Sprintf("%s matches %s of the backup, and this restore restores none of them.", subject,
			human.Count(r.Matched, "item"))
	default:
		why, remedy := s.explainUnmatched(r)
		f.Sentence = fmt.Sprintf("%s matches no item of this backup: %s.", subject, why)
		f.Remedy = remedy
	}
	return f, true
}

// explainUnmatched says which condition of a rule no item meets, and what to write instead.
func (s *selectionChecker) explainUnmatched(r *modifier.RuleCoverage) (why, remedy string) {
	const leaveOut = "Correct the rule, or leave it out."
	named := sanitize.String(r.GroupResource)
	switch {
	case r.InResource == 0:
		if hint := s.resourceHint(r.GroupResource); hint != "" {
			return fmt.Sprintf("groupResource is the plural with its group, and the backup holds %s", hint),
				"Write groupResource: " + hint + " in the rule."
		}
		return "it holds no " + named, leaveOut
	case r.InNamespace == 0:
		why = fmt.Sprintf("its %s are in %s, and the rule takes %s", named, human.JoinNames(r.SourceNamespaces, 3),
			sanitize.String(human.JoinNames(r.Namespaces, 3)))
		for _, source := range slices.Sorted(maps.Keys(s.Restore.NamespaceMapping)) {
			if target := s.Restore.NamespaceMapping[source]; slices.Contains(r.Namespaces, target) {
				why += fmt.Sprintf("; rules go by the namespace in the backup, and %s is where %s is restored", target, source)
				return why, "Name namespace " + source + " in the rule."
			}
		}
		return why, leaveOut
	case r.Named == 0:
		return fmt.Sprintf("none of its %s there has a name that matches %s", human.Number(r.InNamespace)+" "+named,
			human.Shorten(sanitize.String(r.NameRegex), 100)), leaveOut
	}
	return fmt.Sprintf("none of its %s there has the labels %s", human.Number(r.Named)+" "+named,
		human.Shorten(sanitize.String(r.Selector), 200)), leaveOut
}
