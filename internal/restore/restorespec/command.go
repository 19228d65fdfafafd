package restorespec

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/kubectl"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// CommandWords returns the words of the command that creates a draft: restore, create, the name and the flags. unsaid
// names the fields of the Restore that no flag can set, or not to this value: only the YAML has them.
func (d *Draft) CommandWords() (words, unsaid []string) {
	words = []string{"restore", "create"}
	if d.Restore.Name != "" {
		words = append(words, d.Restore.Name)
	}
	for _, f := range d.GivenFlags() {
		text, _ := f.ValueText(d)
		words = append(words, "--"+f.Flag+"="+text)
	}
	read, err := Parse(words[2:])
	if err != nil {
		return words, []string{fmt.Sprintf("what a flag would refuse (%v)", err)}
	}
	return words, lostFields(d, &read)
}

// NoCommand says why no command creates a draft of selected items.
const NoCommand = "no command selects single objects, only the YAML does"

// CommandLine returns Velero's command that creates a draft, the fields of the Restore that it cannot set, and the
// flags to reach the cluster that it lacks. It returns no command where items are selected, see [NoCommand]: what is
// left of the restore would restore nothing.
func (d *Draft) CommandLine(reach kubectl.ClusterAccess, namespace string) (line string, fields, flags []string) {
	if len(d.Selected) > 0 {
		return "", nil, nil
	}
	words, fields := d.CommandWords()
	line, flags = reach.VeleroCommand(namespace, words...)
	return line, fields, flags
}

// lostFields returns the fields of the Restore that the command's words do not set.
func lostFields(d, read *Draft) (unsaid []string) {
	want, got := draftFields(d), draftFields(read)
	for name, value := range want {
		if !reflect.DeepEqual(value, got[name]) {
			unsaid = append(unsaid, name)
		}
	}
	for name := range got {
		if _, wanted := want[name]; !wanted {
			unsaid = append(unsaid, name)
		}
	}
	slices.Sort(unsaid)
	if onlyExcludes(d.Restore.Spec) && !slices.Contains(unsaid, "spec.restoreStatus") {
		unsaid = append(unsaid, "spec.restoreStatus")
	}
	return unsaid
}

// DropLoneExcludes drops a restoreStatus that only excludes, unless it only excluded before: so does Velero's command
// (pkg/cmd/cli/restore/create.go Run; 1.18.3). Velero's server would restore the status of everything else.
func (d *Draft) DropLoneExcludes(before veleroapi.RestoreSpec) {
	if onlyExcludes(d.Restore.Spec) && !onlyExcludes(before) {
		d.Restore.Spec.RestoreStatus = nil
	}
}

func onlyExcludes(s veleroapi.RestoreSpec) bool {
	return s.RestoreStatus != nil && len(s.RestoreStatus.IncludedResources) == 0
}

// draftFields returns the fields that a draft sets, with selectors in one notation.
func draftFields(d *Draft) map[string]any {
	r := NewRestore(d, "").DeepCopy()
	if s := &r.Spec; s.LabelSelector != nil {
		s.LabelSelector = normalizeSelector(s.LabelSelector)
	}
	for i, selector := range r.Spec.OrLabelSelectors {
		r.Spec.OrLabelSelectors[i] = normalizeSelector(selector)
	}
	all := restoreDocument(r)
	fields := map[string]any{}
	for _, part := range []string{"metadata", "spec"} {
		values, _ := all[part].(map[string]any)
		for name, value := range values {
			fields[part+"."+name] = value
		}
	}
	return fields
}

func normalizeSelector(s *metav1.LabelSelector) *metav1.LabelSelector {
	read, err := metav1.ParseToLabelSelector(selectorText(s))
	if err != nil || selectorText(read) != selectorText(s) {
		return s
	}
	return read
}

// NewRestore returns a draft as an object to create in Velero's namespace.
func NewRestore(d *Draft, namespace string) *veleroapi.Restore {
	r := &veleroapi.Restore{
		TypeMeta: metav1.TypeMeta{APIVersion: veleroapi.GroupVersion.String(), Kind: "Restore"},
		ObjectMeta: metav1.ObjectMeta{
			Name:        d.Restore.Name,
			Namespace:   namespace,
			Labels:      d.Restore.Labels,
			Annotations: d.buildAnnotations(),
		},
		Spec: d.Restore.Spec,
	}
	r.Spec.ResourcePolicy = d.policyReference()
	return r
}

// YAML returns a draft as a file for kubectl, without empty fields.
func (d *Draft) YAML(namespace string) ([]byte, error) {
	data, err := yaml.Marshal(restoreDocument(NewRestore(d, namespace)))
	if err != nil {
		return nil, fmt.Errorf("writing the Restore as YAML: %w", err)
	}
	if policy := d.ConfigMap(namespace); policy != nil {
		first, _ := yaml.Marshal(policy.Object)
		data = slices.Concat(first, []byte("---\n"), data)
	}
	return data, nil
}

// RestoreObject returns a draft as an object to create in Velero's namespace, without empty fields.
func (d *Draft) RestoreObject(namespace string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: restoreDocument(NewRestore(d, namespace))}
}

// restoreDocument returns a Restore without its status and without empty fields.
func restoreDocument(r *veleroapi.Restore) map[string]any {
	all, err := runtime.DefaultUnstructuredConverter.ToUnstructured(r)
	if err != nil { // a raw field that is not JSON
		data, _ := json.Marshal(r.ObjectMeta)
		return map[string]any{"metadata": string(data)}
	}
	delete(all, "status")
	if metadata, ok := all["metadata"].(map[string]any); ok {
		delete(metadata, "creationTimestamp")
	}
	if spec, ok := all["spec"].(map[string]any); ok {
		if pruneEmpty(spec); r.Spec.ItemOperationTimeout.Duration == 0 {
			delete(spec, "itemOperationTimeout")
		}
		if len(spec) == 0 {
			delete(all, "spec")
		}
	}
	return all
}

// pruneEmpty removes empty fields. An empty selector is kept: it has a meaning.
func pruneEmpty(fields map[string]any) {
	for name, value := range fields {
		if m, ok := value.(map[string]any); ok {
			if pruneEmpty(m); len(m) > 0 || name == "labelSelector" {
				continue
			}
		} else if value != nil {
			continue
		}
		delete(fields, name)
	}
}

// CheckName returns why the API server refuses a name, nil if it accepts it.
func CheckName(name string) error {
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return errors.New(
			"a name has only lower-case letters, digits, '-' and '.', begins and ends with a letter or digit, and has at " +
				"most 253 characters",
		)
	}
	return nil
}

// DefaultName returns Velero's default name for a backup of a schedule or a restore of a backup, cut to the API
// server's limit; empty if from is empty (pkg/cmd/cli/{backup,restore}/create.go). Velero takes now in UTC for
// backups, and in local time for restores.
func DefaultName(from string, now time.Time) string {
	if from == "" {
		return ""
	}
	end := "-" + now.Format("20060102150405")
	return strings.TrimRight(from[:min(len(from), validation.DNS1123SubdomainMaxLength-len(end))], "-.") + end
}

// NewDraftFrom returns the draft of a restore like an existing one, without its name and without what Velero added to
// its spec: the resources that are never restored, and the schedule beside the backup, with which Velero would refuse
// it.
func NewDraftFrom(r *veleroapi.Restore) Draft {
	spec := *r.Spec.DeepCopy()
	own := collector.NonRestorable()
	spec.ExcludedResources = slices.DeleteFunc(
		spec.ExcludedResources,
		func(word string) bool { return slices.Contains(own, word) },
	)
	if len(spec.ExcludedResources) == 0 {
		spec.ExcludedResources = nil
	}
	if spec.BackupName != "" {
		spec.ScheduleName = ""
	}
	if c := spec.UploaderConfig; c != nil && *c == (veleroapi.UploaderConfigForRestore{}) {
		spec.UploaderConfig = nil
	}
	if len(spec.NamespaceMapping) == 0 {
		spec.NamespaceMapping = nil
	}
	selected := SelectedItems(r)
	if len(selected) > 0 { // its own ConfigMap is used up; a new restore gets a new one
		spec.ResourcePolicy = nil
	}
	return Draft{Restore: veleroapi.Restore{Spec: spec}, Selected: selected}
}
