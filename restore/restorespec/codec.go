package restorespec

import (
	"encoding/csv"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// The types as Velero's help names them.
const (
	typeText     = "string"
	typeSelector = "labelSelector"
)

func textCodec(at func(*Draft) *string) codec {
	return codec{
		kind:  typeText,
		read:  func(d *Draft, text string) error { *at(d) = text; return nil },
		write: func(d *Draft) (string, bool) { return *at(d), *at(d) != "" },
		clear: func(d *Draft) { *at(d) = "" },
	}
}

// listCodec is words with commas between; given again they replace what was there.
func listCodec(at func(*Draft) *[]string) codec {
	return codec{
		kind:  "stringArray",
		read:  func(d *Draft, text string) error { *at(d) = strings.Split(text, ","); return nil },
		write: func(d *Draft) (string, bool) { return strings.Join(*at(d), ","), len(*at(d)) > 0 },
		clear: func(d *Draft) { *at(d) = nil },
	}
}

// mapCodec is pairs with a sign inside and commas between, read as a line of CSV.
func mapCodec(between, pair string, check func(key, value string) error, at func(*Draft) *map[string]string) codec {
	return codec{
		kind: "mapStringString",
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
			_ = w.Write(pairs) // a strings.Builder takes all
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

// checkMapping: Velero makes the namespace under its new name.
func checkMapping(from, to string) error {
	switch {
	case from == "" || to == "":
		return errExpected(from+":"+to, "src:dst")
	case len(validation.IsDNS1123Label(to)) > 0:
		return fmt.Errorf("%q: a namespace has only lower-case letters, digits and '-', begins and ends with a letter or digit, and has at most 63 characters", to)
	}
	return nil
}

func checkLabel(key, value string) error {
	switch {
	case len(validation.IsQualifiedName(key)) > 0:
		return errKey(key)
	case len(validation.IsValidLabelValue(value)) > 0:
		return fmt.Errorf("%q: a label's value has only letters, digits, '-', '_' and '.', begins and ends with a letter or digit, and has at most 63 characters", value)
	}
	return nil
}

// checkAnnotation is as k8s.io/apimachinery/pkg/api/validation.ValidateAnnotations:
// the case of the key does not matter.
func checkAnnotation(key, _ string) error {
	if len(validation.IsQualifiedName(strings.ToLower(key))) > 0 {
		return errKey(key)
	}
	return nil
}

func errKey(key string) error {
	return fmt.Errorf("%q: a key has only letters, digits, '-', '_' and '.', begins and ends with a letter or digit, and has at most 63 characters; a domain and '/' may go before it", key)
}

// boolCodec is true, false or, empty, not given.
func boolCodec(at func(*Draft) **bool) codec {
	return codec{
		kind: "optionalBool",
		read: func(d *Draft, text string) error {
			if *at(d) = nil; text == "" {
				return nil
			}
			value, err := strconv.ParseBool(text)
			if err != nil {
				return errExpected(text, "true or false")
			}
			*at(d) = &value
			return nil
		},
		write: func(d *Draft) (string, bool) {
			if *at(d) == nil {
				return "", false
			}
			return strconv.FormatBool(**at(d)), true
		},
		clear: func(d *Draft) { *at(d) = nil },
	}
}

func selectorCodec() codec {
	at := func(d *Draft) **metav1.LabelSelector { return &d.Restore.Spec.LabelSelector }
	return codec{
		kind: typeSelector,
		read: func(d *Draft, text string) (err error) {
			*at(d), err = metav1.ParseToLabelSelector(text)
			return err
		},
		write: func(d *Draft) (string, bool) { return selectorText(*at(d)), *at(d) != nil },
		clear: func(d *Draft) { *at(d) = nil },
	}
}

// selectorText is a selector as flags write it, empty for one that selects all.
func selectorText(s *metav1.LabelSelector) string {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if s == nil || err != nil {
		return ""
	}
	return selector.String()
}

// or stands between two selectors.
const or = " or "

func orSelectorCodec() codec {
	at := func(d *Draft) *[]*metav1.LabelSelector { return &d.Restore.Spec.OrLabelSelectors }
	return codec{
		kind: "orLabelSelector",
		read: func(d *Draft, text string) error {
			var all []*metav1.LabelSelector
			for part := range strings.SplitSeq(text, or) {
				selector, err := metav1.ParseToLabelSelector(part)
				if err != nil {
					return err
				}
				all = append(all, selector)
			}
			*at(d) = all
			return nil
		},
		write: func(d *Draft) (string, bool) {
			var all []string
			for _, selector := range *at(d) {
				all = append(all, selectorText(selector))
			}
			return strings.Join(all, or), len(all) > 0
		},
		clear: func(d *Draft) { *at(d) = nil },
	}
}

func policyCodec() codec {
	at := func(d *Draft) *velerov1.PolicyType { return &d.Restore.Spec.ExistingResourcePolicy }
	return codec{
		kind: typeText,
		read: func(d *Draft, text string) error {
			switch p := velerov1.PolicyType(text); p {
			case "", velerov1.PolicyTypeNone, velerov1.PolicyTypeUpdate:
				*at(d) = p
				return nil
			}
			return errExpected(text, "none or update")
		},
		write: func(d *Draft) (string, bool) { return string(*at(d)), *at(d) != "" },
		clear: func(d *Draft) { *at(d) = "" },
	}
}

// statusCodec is one of the two lists of spec.restoreStatus, which is there while
// one of them is.
func statusCodec(at func(*velerov1.RestoreStatusSpec) *[]string) codec {
	of := func(d *Draft) []string {
		if d.Restore.Spec.RestoreStatus == nil {
			return nil
		}
		return *at(d.Restore.Spec.RestoreStatus)
	}
	set := func(d *Draft, words []string) {
		status := velerov1.RestoreStatusSpec{}
		if d.Restore.Spec.RestoreStatus != nil {
			status = *d.Restore.Spec.RestoreStatus
		}
		*at(&status) = words
		if d.Restore.Spec.RestoreStatus = &status; len(status.IncludedResources)+len(status.ExcludedResources) == 0 {
			d.Restore.Spec.RestoreStatus = nil
		}
	}
	return codec{
		kind:  "stringArray",
		read:  func(d *Draft, text string) error { set(d, strings.Split(text, ",")); return nil },
		write: func(d *Draft) (string, bool) { return strings.Join(of(d), ","), len(of(d)) > 0 },
		clear: func(d *Draft) { set(d, nil) },
	}
}

// referenceCodec is the name of a ConfigMap.
func referenceCodec(group *string, at func(*Draft) **corev1.TypedLocalObjectReference) codec {
	return codec{
		kind: typeText,
		read: func(d *Draft, text string) error {
			if *at(d) = nil; text != "" {
				*at(d) = &corev1.TypedLocalObjectReference{APIGroup: group, Kind: "configmap", Name: text}
			}
			return nil
		},
		write: func(d *Draft) (string, bool) {
			if *at(d) == nil {
				return "", false
			}
			return (*at(d)).Name, true
		},
		clear: func(d *Draft) { *at(d) = nil },
	}
}

func durationCodec() codec {
	at := func(d *Draft) *time.Duration { return &d.Restore.Spec.ItemOperationTimeout.Duration }
	return codec{
		kind: "duration",
		read: func(d *Draft, text string) error {
			value, err := time.ParseDuration(text)
			if err != nil {
				return errExpected(text, "a duration such as 90m or 4h")
			}
			*at(d) = value
			return nil
		},
		write: func(d *Draft) (string, bool) { return at(d).String(), *at(d) != 0 },
		clear: func(d *Draft) { *at(d) = 0 },
		check: func(d *Draft) error {
			if *at(d) < 0 {
				return errExpected(at(d).String(), "a duration that is not negative")
			}
			return nil
		},
	}
}

// onUploader changes spec.uploaderConfig, which is there while it says something.
func onUploader(d *Draft, change func(*velerov1.UploaderConfigForRestore)) {
	config := velerov1.UploaderConfigForRestore{}
	if d.Restore.Spec.UploaderConfig != nil {
		config = *d.Restore.Spec.UploaderConfig
	}
	change(&config)
	if d.Restore.Spec.UploaderConfig = &config; config == (velerov1.UploaderConfigForRestore{}) {
		d.Restore.Spec.UploaderConfig = nil
	}
}

func parallelCodec() codec {
	set := func(d *Draft, n int) {
		onUploader(d, func(c *velerov1.UploaderConfigForRestore) { c.ParallelFilesDownload = n })
	}
	return codec{
		kind: "int",
		read: func(d *Draft, text string) error {
			n, err := strconv.ParseInt(text, 0, 32)
			if err != nil || n < 0 {
				return errExpected(text, "a number that is not negative")
			}
			set(d, int(n))
			return nil
		},
		write: func(d *Draft) (string, bool) {
			c := d.Restore.Spec.UploaderConfig
			if c == nil || c.ParallelFilesDownload == 0 {
				return "", false
			}
			return strconv.Itoa(c.ParallelFilesDownload), true
		},
		clear: func(d *Draft) { set(d, 0) },
	}
}

func sparseCodec() codec {
	at := func(d *Draft) (value *bool) {
		if d.Restore.Spec.UploaderConfig != nil {
			value = d.Restore.Spec.UploaderConfig.WriteSparseFiles
		}
		return value
	}
	set := func(d *Draft, value *bool) {
		onUploader(d, func(c *velerov1.UploaderConfigForRestore) { c.WriteSparseFiles = value })
	}
	value := boolCodec(func(d *Draft) **bool { return &d.AllowPartiallyFailed })
	return codec{
		kind: value.kind,
		read: func(d *Draft, text string) error {
			var scratch Draft
			err := value.read(&scratch, text)
			set(d, scratch.AllowPartiallyFailed)
			return err
		},
		write: func(d *Draft) (string, bool) {
			return value.write(&Draft{AllowPartiallyFailed: at(d)})
		},
		clear: func(d *Draft) { set(d, nil) },
	}
}
