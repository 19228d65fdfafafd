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
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/internal/view/resource"
)

// sortOrder is the value of --sort-by: a column, or a JSONPath into our JSON of a job or into Velero's resource.
type sortOrder struct {
	text      string
	column    *listColumn
	thingKind *resource.Kind // nil for jobs
	path      *jsonpath.JSONPath
}

var sortPathPattern = regexp.MustCompile(`^(?:\{\.?([^{}]+)\}|\.?([^{}]+))$`)

func columnNames(k *resource.Kind) []string {
	return mapSlice(sortableColumns(k), func(c listColumn) string { return c.Name })
}

// parseSortBy parses --sort-by; it returns nil if the flag was not given. A name without dots and brackets is meant
// as a column: no top-level field of a resource has an order.
func parseSortBy(text string, k *resource.Kind) (*sortOrder, error) {
	if text == "" {
		return nil, nil
	}
	if column := strings.TrimSuffix(
		strings.TrimSuffix(strings.TrimPrefix(text, "-"), ":desc"),
		":asc",
	); column != text {
		return nil, usageErrorf(
			"--sort-by %s: veltui sorts in ascending order; for the reverse: veltui get --sort-by %s --no-headers | tac",
			text,
			column,
		)
	}
	for _, c := range sortableColumns(k) {
		if strings.EqualFold(c.Name, text) {
			return &sortOrder{text: text, column: &c, thingKind: k}, nil
		}
	}
	if match := sortPathPattern.FindStringSubmatch(text); match != nil {
		s := &sortOrder{text: text, thingKind: k, path: jsonpath.New("sort-by").AllowMissingKeys(true)}
		if err := s.path.Parse("{." + cmp.Or(match[1], match[2]) + "}"); err == nil {
			return s, nil
		}
	}
	return nil, usageErrorf(
		"--sort-by %s: expected a column (%s) or a JSONPath such as .startedAt or .metadata.creationTimestamp",
		text,
		strings.Join(columnNames(k), ", "),
	)
}

func (s *sortOrder) neededData() dataNeeds {
	if s == nil {
		return dataNeeds{}
	}
	return dataNeeds{volumes: strings.Contains(strings.ToLower(s.text), "volumes"), verdicts: true, waitForAll: true}
}

// sortRows sorts the rows of all contexts together, those without a value first, like kubectl.
func (s *sortOrder) sortRows(rows []listRow) ([]listRow, error) {
	if s == nil {
		return rows, nil
	}
	type valued struct {
		listRow
		value any
	}
	values, err := s.sortValues(rows)
	if err != nil {
		return nil, err
	}
	sorted := make([]valued, len(rows))
	for i, r := range rows {
		sorted[i] = valued{r, values[i]}
	}
	slices.SortStableFunc(sorted, func(a, b valued) int { return compareValues(a.value, b.value) })
	return mapSlice(sorted, func(v valued) listRow { return v.listRow }), nil
}

// sortValues returns the value by which each row is sorted.
func (s *sortOrder) sortValues(rows []listRow) ([]any, error) {
	if s.column != nil {
		return mapSlice(rows, func(r listRow) any { return s.column.Cell(r).SortKey }), nil
	}
	values := make([]any, len(rows))
	for _, document := range []func(listRow) (map[string]any, error){veltuiDocument, veleroDocument} {
		found := false
		for i, r := range rows {
			doc, err := document(r)
			if err != nil {
				return nil, err
			}
			if values[i], err = s.evaluatePath(doc); err != nil {
				return nil, err
			}
			found = found || values[i] != nil
		}
		if found {
			return values, nil
		}
	}
	if len(rows) == 0 {
		return values, nil
	}
	what := "job"
	if s.thingKind != nil {
		what = s.thingKind.Kind.Noun()
	}
	return nil, fmt.Errorf(
		"--sort-by %s: no %s has such a field, and there is no such column%s",
		s.text,
		what,
		config.SuggestionText(s.text, columnNames(s.thingKind)),
	)
}

func veltuiDocument(r listRow) (map[string]any, error) {
	data, err := document.Encode(r.newDocument(false), "")
	if err != nil {
		return nil, err
	}
	var doc map[string]any
	return doc, utiljson.Unmarshal(data, &doc)
}

func veleroDocument(r listRow) (map[string]any, error) {
	if r.object == nil {
		return nil, nil
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(r.object)
}

func (s *sortOrder) evaluatePath(doc map[string]any) (any, error) {
	results, err := s.path.FindResults(doc)
	if err != nil {
		return nil, usageErrorf("--sort-by %s: %w", s.text, err)
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
	return nil, usageErrorf("--sort-by %s: this has no order; name one of its fields", s.text)
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
