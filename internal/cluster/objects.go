package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero"
)

// VolumeObject is the resource of one volume: the watch keeps only what it needs.
func (c *Cluster) VolumeObject(ctx context.Context, namespace string, volume velero.VolumeRef) (d Document, err error) {
	defer func() { err = Clean(err) }()
	api, err := c.api()
	if err != nil {
		return d, err
	}
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(volume.Kind.GroupVersionKind())
	o.SetNamespace(namespace)
	o.SetName(volume.Name)
	if err := api.Get(ctx, o); err != nil {
		return d, err
	}
	return documentOf(volume.Kind, o)
}

// VolumeObjects are the resources of a job's volumes, by the label with its uid: at most most, without
// unreadable ones. It fails if none can be read.
func (c *Cluster) VolumeObjects(ctx context.Context, j *job.Job, most int) ([]Document, error) {
	label := velerov1.BackupUIDLabel
	if j.Kind == job.Restore {
		label = velerov1.RestoreUIDLabel
	}
	api, err := c.api()
	if err != nil {
		return nil, Clean(err)
	}
	var documents []Document
	var failed error
	for _, kind := range velero.VolumeKinds {
		if !slices.ContainsFunc(j.Volumes, func(v job.Volume) bool { return v.Kind == kind }) {
			continue
		}
		page := &unstructured.UnstructuredList{}
		page.SetGroupVersionKind(kind.GroupVersionKind())
		if err := api.List(
			ctx,
			page,
			j.Namespace,
			metav1.ListOptions{LabelSelector: label + "=" + string(j.UID), Limit: int64(most)},
		); err != nil {
			c.logFailure(ctx, "reading the volumes of a job", j.Name, err)
			failed = cmp.Or(failed, Clean(err))
			continue
		}
		for i := range page.Items[:min(len(page.Items), most-len(documents))] {
			d, err := documentOf(kind, &page.Items[i])
			if err != nil {
				failed = cmp.Or(failed, Clean(err))
				continue
			}
			documents = append(documents, d)
		}
	}
	if len(documents) > 0 {
		failed = nil // the page says how many are missing
	}
	return documents, failed
}

// maxDocumentLines bounds one resource: Velero's have less than a hundred lines, others may a megabyte.
const maxDocumentLines = 2000

// documentOf is a resource as YAML, without managed fields and the last-applied configuration.
func documentOf(kind velero.VolumeKind, o *unstructured.Unstructured) (Document, error) {
	o.SetManagedFields(nil)
	if notes := o.GetAnnotations(); notes[corev1.LastAppliedConfigAnnotation] != "" {
		delete(notes, corev1.LastAppliedConfigAnnotation)
		o.SetAnnotations(notes)
	}
	sanitize.Object(&o.Object)
	d, err := NewDocument(string(kind), o.GetName(), o.Object)
	if err != nil {
		return d, fmt.Errorf("writing %s %s: %w", kind.Resource(), o.GetName(), err)
	}
	if n := len(d.Lines); n > maxDocumentLines {
		d.Lines = append(d.Lines[:maxDocumentLines], "# "+human.Count(n-maxDocumentLines, "more line"))
	}
	return d, nil
}

// Document is a resource as YAML, without managed fields.
type Document struct {
	Kind, Name string
	Lines      []string // those of its YAML, without styles
}

// Section are the lines of one field at the top, without those of others.
func (d Document) Section(field string) []string {
	from := slices.Index(d.Lines, field+":")
	if from < 0 {
		return nil
	}
	to := from + 1
	for to < len(d.Lines) && (strings.HasPrefix(d.Lines[to], " ") || strings.HasPrefix(d.Lines[to], "-")) {
		to++
	}
	return d.Lines[from:to]
}

// NewDocument is an object, which is clean, as a document.
func NewDocument(kind, name string, object any) (Document, error) {
	d := Document{Kind: kind, Name: name}
	text, err := yaml.Marshal(object)
	if err != nil { // such as for a key of more than 1,024 bytes; JSON is YAML too
		if text, err = json.MarshalIndent(object, "", "  "); err != nil {
			return d, err
		}
	}
	d.Lines = strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return d, nil
}
