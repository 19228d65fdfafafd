package restorespec

import (
	"encoding/csv"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// codec reads and writes one field of a draft.
type codec struct {
	typeName string // as pflag names it in help
	// read sets the draft's field from text, as Velero reads it. The text of a map adds to the map.
	read  func(*Draft, string) error
	write func(*Draft) (string, bool) // the text, and whether the draft has the field at all
	clear func(*Draft)
	// check returns why a value that read accepted fails later; nil where nothing can fail.
	check func(*Draft) error
}

type accessor[T any] struct {
	get func(*Draft) T
	set func(*Draft, T)
}

func newAccessor[T any](at func(*Draft) *T) accessor[T] {
	return accessor[T]{func(d *Draft) T { return *at(d) }, func(d *Draft, value T) { *at(d) = value }}
}

// newCodec makes the codec of a field. format returns the text, and whether there is a value.
func newCodec[T any](kind string, m accessor[T], parse func(string) (T, error), format func(T) (string, bool)) codec {
	return codec{
		typeName: kind,
		read: func(d *Draft, text string) error {
			value, err := parse(text)
			if err == nil {
				m.set(d, value)
			}
			return err
		},
		write: func(d *Draft) (string, bool) { return format(m.get(d)) },
		clear: func(d *Draft) {
			var none T
			m.set(d, none)
		},
	}
}

// The types as Velero's help names them.
const (
	typeText     = "string"
	typeSelector = "labelSelector"
)

func textCodec(at func(*Draft) *string) codec {
	return newCodec(
		typeText,
		newAccessor(at),
		func(text string) (string, error) { return text, nil },
		func(s string) (string, bool) { return s, s != "" },
	)
}

// listCodec makes the codec of a list of words separated by commas. A second list replaces the first.
func listCodec(m accessor[[]string]) codec {
	return newCodec("stringArray", m, func(text string) ([]string, error) { return strings.Split(text, ","), nil },
		func(words []string) (string, bool) { return strings.Join(words, ","), len(words) > 0 })
}

// mapCodec makes the codec of pairs separated by commas, read as a line of CSV; between separates key and value.
func mapCodec(between, pair string, check func(key, value string) error, at func(*Draft) *map[string]string) codec {
	return codec{
		typeName: "mapStringString",
		read: func(d *Draft, text string) error {
			pairs, err := csv.NewReader(strings.NewReader(text)).Read()
			if err != nil {
				return fmt.Errorf("reading %q: expected %s: %w", text, pair, err)
			}
			read := maps.Clone(*at(d))
			if read == nil {
				read = map[string]string{}
			}
			for _, p := range pairs {
				key, value, found := strings.Cut(p, between)
				if !found {
					return errExpected(p, pair)
				}
				read[key] = value
			}
			*at(d) = read
			return nil
		},
		write: func(d *Draft) (string, bool) {
			m := *at(d)
			if len(m) == 0 {
				return "", false
			}
			var pairs []string
			for _, key := range slices.Sorted(maps.Keys(m)) {
				pairs = append(pairs, key+between+m[key])
			}
			var line strings.Builder
			w := csv.NewWriter(&line)
			_ = w.Write(pairs) // a strings.Builder never fails
			w.Flush()
			return strings.TrimSuffix(line.String(), "\n"), true
		},
		clear: func(d *Draft) { *at(d) = nil },
		check: func(d *Draft) error {
			m := *at(d)
			for _, key := range slices.Sorted(maps.Keys(m)) {
				if err := check(key, m[key]); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// checkMapping checks both namespaces of a mapping: Velero creates the namespace under its new name.
func checkMapping(from, to string) error {
	switch {
	case from == "" || to == "":
		return errExpected(from+":"+to, "src:dst")
	case len(validation.IsDNS1123Label(to)) > 0:
		return fmt.Errorf(
			"%q: a namespace has only lower-case letters, digits and '-', begins and ends with a letter or digit, and "+
				"has at most 63 characters",
			to,
		)
	}
	return nil
}

func checkLabel(key, value string) error {
	switch {
	case len(validation.IsQualifiedName(key)) > 0:
		return newKeyError(key)
	case len(validation.IsValidLabelValue(value)) > 0:
		return fmt.Errorf(
			"%q: a label's value has only letters, digits, '-', '_' and '.', begins and ends with a letter or digit, and "+
				"has at most 63 characters",
			value,
		)
	}
	return nil
}

// checkAnnotation checks a key as k8s.io/apimachinery/pkg/api/validation.ValidateAnnotations does: its case does not
// matter.
func checkAnnotation(key, _ string) error {
	if len(validation.IsQualifiedName(strings.ToLower(key))) > 0 {
		return newKeyError(key)
	}
	return nil
}

func newKeyError(key string) error {
	return fmt.Errorf(
		"%q: a key has only letters, digits, '-', '_' and '.', begins and ends with a letter or digit, and has at "+
			"most 63 characters; a domain and '/' may go before it",
		key,
	)
}

// boolCodec makes the codec of a value that is true, false or, if the text is empty, not given.
func boolCodec(m accessor[*bool]) codec {
	return newCodec("optionalBool", m, func(text string) (*bool, error) {
		if text == "" {
			return nil, nil
		}
		value, err := strconv.ParseBool(text)
		if err != nil {
			return nil, errExpected(text, "true or false")
		}
		return &value, nil
	}, func(value *bool) (string, bool) {
		if value == nil {
			return "", false
		}
		return strconv.FormatBool(*value), true
	})
}

func selectorCodec() codec {
	at := newAccessor(func(d *Draft) **metav1.LabelSelector { return &d.Restore.Spec.LabelSelector })
	return newCodec(
		typeSelector,
		at,
		metav1.ParseToLabelSelector,
		func(s *metav1.LabelSelector) (string, bool) { return selectorText(s), s != nil },
	)
}

// selectorText returns a selector as flags write it, empty for a selector that selects everything.
func selectorText(s *metav1.LabelSelector) string {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if s == nil || err != nil {
		return ""
	}
	return selector.String()
}

// orSeparator stands between two selectors.
const orSeparator = " or "

func orSelectorCodec() codec {
	at := newAccessor(func(d *Draft) *[]*metav1.LabelSelector { return &d.Restore.Spec.OrLabelSelectors })
	return newCodec("orLabelSelector", at, func(text string) (all []*metav1.LabelSelector, err error) {
		for part := range strings.SplitSeq(text, orSeparator) {
			selector, err := metav1.ParseToLabelSelector(part)
			if err != nil {
				return nil, err
			}
			all = append(all, selector)
		}
		return all, nil
	}, func(selectors []*metav1.LabelSelector) (string, bool) {
		var all []string
		for _, selector := range selectors {
			all = append(all, selectorText(selector))
		}
		return strings.Join(all, orSeparator), len(all) > 0
	})
}

func policyCodec() codec {
	at := newAccessor(func(d *Draft) *veleroapi.PolicyType { return &d.Restore.Spec.ExistingResourcePolicy })
	return newCodec(typeText, at, func(text string) (veleroapi.PolicyType, error) {
		switch p := veleroapi.PolicyType(text); p {
		case "", veleroapi.PolicyTypeNone, veleroapi.PolicyTypeUpdate:
			return p, nil
		}
		return "", errExpected(text, "none or update")
	}, func(p veleroapi.PolicyType) (string, bool) { return string(p), p != "" })
}

// partAccessor accesses a field in a part of the spec. The part exists only while one of its fields is set.
func partAccessor[P, T any](part func(*veleroapi.RestoreSpec) **P, at func(*P) *T) accessor[T] {
	read := func(d *Draft) (p P) {
		if held := *part(&d.Restore.Spec); held != nil {
			p = *held
		}
		return p
	}
	return accessor[T]{func(d *Draft) T {
		p := read(d)
		return *at(&p)
	}, func(d *Draft, value T) {
		p := read(d)
		*at(&p) = value
		held := part(&d.Restore.Spec)
		if *held = &p; reflect.ValueOf(p).IsZero() {
			*held = nil
		}
	}}
}

func statusAccessor(at func(*veleroapi.RestoreStatusSpec) *[]string) accessor[[]string] {
	return partAccessor(func(s *veleroapi.RestoreSpec) **veleroapi.RestoreStatusSpec { return &s.RestoreStatus }, at)
}

func uploaderAccessor[T any](at func(*veleroapi.UploaderConfigForRestore) *T) accessor[T] {
	return partAccessor(
		func(s *veleroapi.RestoreSpec) **veleroapi.UploaderConfigForRestore { return &s.UploaderConfig },
		at,
	)
}

// referenceCodec makes the codec of a ConfigMap's name.
func referenceCodec(group *string, at func(*Draft) **corev1.TypedLocalObjectReference) codec {
	return newCodec(typeText, newAccessor(at), func(text string) (*corev1.TypedLocalObjectReference, error) {
		if text == "" {
			return nil, nil
		}
		return &corev1.TypedLocalObjectReference{APIGroup: group, Kind: "configmap", Name: text}, nil
	}, func(r *corev1.TypedLocalObjectReference) (string, bool) {
		if r == nil {
			return "", false
		}
		return r.Name, true
	})
}

func durationCodec() codec {
	at := newAccessor(func(d *Draft) *time.Duration { return &d.Restore.Spec.ItemOperationTimeout.Duration })
	c := newCodec("duration", at, func(text string) (time.Duration, error) {
		value, err := time.ParseDuration(text)
		if err != nil {
			return 0, errExpected(text, "a duration such as 90m or 4h")
		}
		return value, nil
	}, func(t time.Duration) (string, bool) { return t.String(), t != 0 })
	c.check = func(d *Draft) error {
		if t := at.get(d); t < 0 {
			return errExpected(t.String(), "a duration that is not negative")
		}
		return nil
	}
	return c
}

func parallelCodec() codec {
	at := uploaderAccessor(func(c *veleroapi.UploaderConfigForRestore) *int { return &c.ParallelFilesDownload })
	return newCodec("int", at, func(text string) (int, error) {
		n, err := strconv.ParseInt(text, 0, 32)
		if err != nil || n < 0 {
			return 0, errExpected(text, "a number that is not negative")
		}
		return int(n), nil
	}, func(n int) (string, bool) {
		if n == 0 {
			return "", false
		}
		return strconv.Itoa(n), true
	})
}
