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

// sortBy is --sort-by: a column, or a JSONPath into our JSON of a job or into Velero's resource.
type sortBy struct {
	text   string
	column *column
	things *resource.Kind // nil for jobs
	path   *jsonpath.JSONPath
}

var sortPath = regexp.MustCompile(`^(?:\{\.?([^{}]+)\}|\.?([^{}]+))$`)

func columnNames(k *resource.Kind) []string {
	return mapSlice(sortColumns(k), func(c column) string { return c.Name })
}

// parseSortBy reads --sort-by; nil if it was not given. A name without dots and brackets is
// meant as a column: no single top field of a resource has an order.
func parseSortBy(text string, k *resource.Kind) (*sortBy, error) {
	if text == "" {
		return nil, nil
	}
	if column := strings.TrimSuffix(
		strings.TrimSuffix(strings.TrimPrefix(text, "-"), ":desc"),
		":asc",
	); column != text {
		return nil, usagef(
			"--sort-by %s: veltui sorts in ascending order; for the reverse: veltui get --sort-by %s --no-headers | tac",
			text,
			column,
		)
	}
	for _, c := range sortColumns(k) {
		if strings.EqualFold(c.Name, text) {
			return &sortBy{text: text, column: &c, things: k}, nil
		}
	}
	if match := sortPath.FindStringSubmatch(text); match != nil {
		s := &sortBy{text: text, things: k, path: jsonpath.New("sort-by").AllowMissingKeys(true)}
		if err := s.path.Parse("{." + cmp.Or(match[1], match[2]) + "}"); err == nil {
			return s, nil
		}
	}
	return nil, usagef(
		"--sort-by %s: expected a column (%s) or a JSONPath such as .startedAt or .metadata.creationTimestamp",
		text,
		strings.Join(columnNames(k), ", "),
	)
}

func (s *sortBy) needs() parts {
	if s == nil {
		return parts{}
	}
	return parts{volumes: strings.Contains(strings.ToLower(s.text), "volumes"), verdicts: true, whole: true}
}

// sorted brings the rows of all contexts into one order, those without a value first as with kubectl.
func (s *sortBy) sorted(rows []row) ([]row, error) {
	if s == nil {
		return rows, nil
	}
	type valued struct {
		row
		value any
	}
	values, err := s.values(rows)
	if err != nil {
		return nil, err
	}
	sorted := make([]valued, len(rows))
	for i, r := range rows {
		sorted[i] = valued{r, values[i]}
	}
	slices.SortStableFunc(sorted, func(a, b valued) int { return compareValues(a.value, b.value) })
	return mapSlice(sorted, func(v valued) row { return v.row }), nil
}

// values are what each row is sorted by.
func (s *sortBy) values(rows []row) ([]any, error) {
	if s.column != nil {
		return mapSlice(rows, func(r row) any { return s.column.cell(r).Order }), nil
	}
	values := make([]any, len(rows))
	for _, document := range []func(row) (map[string]any, error){ownDocument, veleroDocument} {
		found := false
		for i, r := range rows {
			doc, err := document(r)
			if err != nil {
				return nil, err
			}
			if values[i], err = s.find(doc); err != nil {
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
	if s.things != nil {
		what = s.things.Kind.Word()
	}
	return nil, fmt.Errorf(
		"--sort-by %s: no %s has such a field, and there is no such column%s",
		s.text,
		what,
		config.Suggestion(s.text, columnNames(s.things)),
	)
}

func ownDocument(r row) (map[string]any, error) {
	data, err := document.Encode(r.document(false), "")
	if err != nil {
		return nil, err
	}
	var doc map[string]any
	return doc, utiljson.Unmarshal(data, &doc)
}

func veleroDocument(r row) (map[string]any, error) {
	if r.object == nil {
		return nil, nil
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(r.object)
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
