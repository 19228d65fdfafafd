package restorespec

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/kubectl"
)

// Words are the words of the command that makes a draft: restore, create, the name and the flags. Unsaid names
// the fields of the Restore that no flag, or not this value of them, can say: only the YAML has those.
func (d *Draft) Words() (words, unsaid []string) {
	words = []string{"restore", "create"}
	if d.Restore.Name != "" {
		words = append(words, d.Restore.Name)
	}
	for _, f := range d.Given() {
		text, _ := f.Text(d)
		words = append(words, "--"+f.Flag+"="+text)
	}
	read, err := Parse(words[2:])
	if err != nil {
		return words, []string{fmt.Sprintf("what a flag would refuse (%v)", err)}
	}
	return words, differences(d, &read)
}

// Command is Velero's command that makes a draft, what it cannot say: fields of the Restore, and flags to the cluster.
func (d *Draft) Command(reach kubectl.Reach, namespace string) (line string, fields, flags []string) {
	words, fields := d.Words()
	line, flags = reach.Velero(namespace, words...)
	return line, fields, flags
}

// differences are the fields of the Restore that the command's words lost.
func differences(d, read *Draft) (unsaid []string) {
	want, got := fieldsOf(d), fieldsOf(read)
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

// DropLoneExcludes leaves out a restoreStatus that only excludes, unless it did so before: so does Velero's command
// (pkg/cmd/cli/restore/create.go Run; 1.18.3). Its server would restore the status of all else.
func (d *Draft) DropLoneExcludes(before velerov1.RestoreSpec) {
	if onlyExcludes(d.Restore.Spec) && !onlyExcludes(before) {
		d.Restore.Spec.RestoreStatus = nil
	}
}

func onlyExcludes(s velerov1.RestoreSpec) bool {
	return s.RestoreStatus != nil && len(s.RestoreStatus.IncludedResources) == 0
}

// fieldsOf are the fields that a draft sets, selectors in one spelling.
func fieldsOf(d *Draft) map[string]any {
	r := Restore(d, "").DeepCopy()
	if s := &r.Spec; s.LabelSelector != nil {
		s.LabelSelector = spelled(s.LabelSelector)
	}
	for i, selector := range r.Spec.OrLabelSelectors {
		r.Spec.OrLabelSelectors[i] = spelled(selector)
	}
	all := document(r)
	fields := map[string]any{}
	for _, part := range []string{"metadata", "spec"} {
		values, _ := all[part].(map[string]any)
		for name, value := range values {
			fields[part+"."+name] = value
		}
	}
	return fields
}

func spelled(s *metav1.LabelSelector) *metav1.LabelSelector {
	read, err := metav1.ParseToLabelSelector(selectorText(s))
	if err != nil || selectorText(read) != selectorText(s) {
		return s
	}
	return read
}

// Restore is a draft as an object to create in Velero's namespace.
func Restore(d *Draft, namespace string) *velerov1.Restore {
	r := &velerov1.Restore{
		TypeMeta: metav1.TypeMeta{APIVersion: velerov1.SchemeGroupVersion.String(), Kind: "Restore"},
		ObjectMeta: metav1.ObjectMeta{
			Name:        d.Restore.Name,
			Namespace:   namespace,
			Labels:      d.Restore.Labels,
			Annotations: d.annotations(),
		},
		Spec: d.Restore.Spec,
	}
	r.Spec.ResourcePolicy = d.policyReference()
	return r
}

// YAML is a draft as a file for kubectl, without what is empty.
func (d *Draft) YAML(namespace string) ([]byte, error) {
	data, err := yaml.Marshal(document(Restore(d, namespace)))
	if err != nil {
		return nil, fmt.Errorf("writing the Restore as YAML: %w", err)
	}
	if policy := d.ConfigMap(namespace); policy != nil {
		first, _ := yaml.Marshal(policy.Object)
		data = slices.Concat(first, []byte("---\n"), data)
	}
	return data, nil
}

// Object is a draft as an object to create in Velero's namespace, without what is empty.
func (d *Draft) Object(namespace string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: document(Restore(d, namespace))}
}

// document is a Restore without a status and without what is empty.
func document(r *velerov1.Restore) map[string]any {
	all, err := runtime.DefaultUnstructuredConverter.ToUnstructured(r)
	if err != nil { // a raw field that is no JSON
		data, _ := json.Marshal(r.ObjectMeta)
		return map[string]any{"metadata": string(data)}
	}
	delete(all, "status")
	if metadata, ok := all["metadata"].(map[string]any); ok {
		delete(metadata, "creationTimestamp")
	}
	if spec, ok := all["spec"].(map[string]any); ok {
		if prune(spec); r.Spec.ItemOperationTimeout.Duration == 0 {
			delete(spec, "itemOperationTimeout")
		}
		if len(spec) == 0 {
			delete(all, "spec")
		}
	}
	return all
}

// prune takes out what says nothing. An empty selector does say something.
func prune(fields map[string]any) {
	for name, value := range fields {
		if m, ok := value.(map[string]any); ok {
			if prune(m); len(m) > 0 || name == "labelSelector" {
				continue
			}
		} else if value != nil {
			continue
		}
		delete(fields, name)
	}
}

// CheckName is why the API server takes no such name; nil if it does.
func CheckName(name string) error {
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return errors.New(
			"a name has only lower-case letters, digits, '-' and '.', begins and ends with a letter or digit, and has at " +
				"most 253 characters",
		)
	}
	return nil
}

// Name is Velero's default name of what is made from a backup or schedule, cut to the API server's limit; empty
// without from (pkg/cmd/cli/{backup,restore}/create.go). Velero takes now in UTC for backups, and local for restores.
func Name(from string, now time.Time) string {
	if from == "" {
		return ""
	}
	end := "-" + now.Format("20060102150405")
	return strings.TrimRight(from[:min(len(from), validation.DNS1123SubdomainMaxLength-len(end))], "-.") + end
}

// Again is the draft of another restore like one that there was: without its name,
// and without what Velero put into its spec: the resources that are never
// restored, and the schedule beside the backup, with which Velero would refuse it.
func Again(r *velerov1.Restore) Draft {
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
	if c := spec.UploaderConfig; c != nil && *c == (velerov1.UploaderConfigForRestore{}) {
		spec.UploaderConfig = nil
	}
	if len(spec.NamespaceMapping) == 0 {
		spec.NamespaceMapping = nil
	}
	return Draft{Restore: velerov1.Restore{Spec: spec}, Only: Selection(r)}
}
