package cmd

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/util/jsonpath"

	"github.com/veltui/veltui/internal/config"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/say/document"
)

// sortBy is --sort-by: a column, or a JSONPath into our JSON of a job or into Velero's resource.
type sortBy struct {
	text   string
	column *column
	path   *jsonpath.JSONPath
}

var sortPath = regexp.MustCompile(`^(?:\{\.?([^{}]+)\}|\.?([^{}]+))$`)

func sortColumns() []column { return slices.Insert(slices.Clone(tableColumns), 0, contextColumn) }

func columnNames() []string {
	return mapSlice(sortColumns(), func(c column) string { return strings.ToLower(c.title) })
}

// parseSortBy reads --sort-by; nil if it was not given. A name without dots and brackets is
// meant as a column: no single top field of a resource has an order.
func parseSortBy(text string) (*sortBy, error) {
	if text == "" {
		return nil, nil
	}
	if column := strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(text, "-"), ":desc"), ":asc"); column != text {
		return nil, usagef("--sort-by %s: veltui sorts in ascending order; for the reverse: veltui get --sort-by %s --no-headers | tac", text, column)
	}
	for _, c := range sortColumns() {
		if strings.EqualFold(c.title, text) {
			return &sortBy{text: text, column: &c}, nil
		}
	}
	if match := sortPath.FindStringSubmatch(text); match != nil {
		s := &sortBy{text: text, path: jsonpath.New("sort-by").AllowMissingKeys(true)}
		if err := s.path.Parse("{." + cmp.Or(match[1], match[2]) + "}"); err == nil {
			return s, nil
		}
	}
	return nil, usagef("--sort-by %s: expected a column (%s) or a JSONPath such as .startedAt or .metadata.creationTimestamp",
		text, strings.Join(columnNames(), ", "))
}

func (s *sortBy) needs() parts {
	if s == nil {
		return parts{}
	}
	return parts{volumes: strings.Contains(strings.ToLower(s.text), "volumes"), verdicts: true, whole: true}
}

// sorted merges all jobs into one order, those without a value first as with kubectl, in parts of one job.
func (s *sortBy) sorted(clusters []clusterJobs) ([]clusterJobs, error) {
	if s == nil {
		return clusters, nil
	}
	var sorted []clusterJobs
	for _, c := range clusters {
		for i := range c.jobs {
			sorted = append(sorted, clusterJobs{context: c.context, jobs: c.jobs[i : i+1], assessed: c.assessed})
		}
	}
	values, err := s.values(sorted)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(sorted, func(a, b clusterJobs) int { return compareValues(values[a.jobs[0]], values[b.jobs[0]]) })
	for _, c := range clusters { // what else is known of them stays in the answer
		c.jobs = nil
		sorted = append(sorted, c)
	}
	return sorted, nil
}

func (s *sortBy) values(all []clusterJobs) (map[*job.Job]any, error) {
	values := map[*job.Job]any{}
	if s.column != nil {
		for _, c := range all {
			if r := rowOf(c, c.jobs[0]); s.column.order != nil {
				values[c.jobs[0]] = s.column.order(r)
			} else {
				values[c.jobs[0]] = s.column.text(r)
			}
		}
		return values, nil
	}
	for _, document := range []func(clusterJobs) (map[string]any, error){ownDocument, veleroDocument} {
		found := false
		for _, c := range all {
			doc, err := document(c)
			if err != nil {
				return nil, err
			}
			value, err := s.find(doc)
			if err != nil {
				return nil, err
			}
			values[c.jobs[0]] = value
			found = found || value != nil
		}
		if found {
			return values, nil
		}
	}
	if len(all) == 0 {
		return values, nil
	}
	return nil, fmt.Errorf("--sort-by %s: no job has such a field, and there is no such column%s", s.text, config.Suggestion(s.text, columnNames()))
}

func ownDocument(c clusterJobs) (map[string]any, error) {
	data, err := document.Encode(listOf(c).Items[0], "")
	if err != nil {
		return nil, err
	}
	var doc map[string]any
	return doc, utiljson.Unmarshal(data, &doc)
}

func veleroDocument(c clusterJobs) (map[string]any, error) {
	if c.jobs[0].Object == nil {
		return nil, nil
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(c.jobs[0].Object)
}

func (s *sortBy) find(doc map[string]any) (any, error) {
	results, err := s.path.FindResults(doc)
	if err != nil {
		return nil, usagef("--sort-by %s: %w", s.text, err)
	}
	if len(results) == 0 || len(results[0]) == 0 || !results[0][0].IsValid() {
		return nil, nil
	}
	switch v := results[0][0].Interface().(type) {
	case nil, string, float64:
		return v, nil
	case int64:
		return float64(v), nil
	case bool:
		if v {
			return 1.0, nil
		}
		return 0.0, nil
	}
	return nil, usagef("--sort-by %s: this has no order; name one of its fields", s.text)
}

func compareValues(a, b any) int {
	rank := func(v any) int {
		switch v.(type) {
		case nil:
			return 0
		case float64:
			return 1
		}
		return 2
	}
	x, _ := a.(float64)
	y, _ := b.(float64)
	text, _ := a.(string)
	other, _ := b.(string)
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(x, y), human.CompareNames(text, other))
}
