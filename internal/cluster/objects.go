package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// FetchVolumeObject returns the resource of one volume: the watch keeps only what it needs.
func (c *Cluster) FetchVolumeObject(
	ctx context.Context,
	namespace string,
	volume velero.VolumeRef,
) (d ObjectDocument, err error) {
	defer func() { err = SanitizeError(err) }()
	api, err := c.currentClient()
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
	return buildDocument(volume.Kind, o)
}

// FetchVolumeObjects returns the resources of a job's volumes, selected by the label with its uid: at most most
// resources, without unreadable ones. It fails if none can be read.
func (c *Cluster) FetchVolumeObjects(ctx context.Context, j *job.Job, most int) ([]ObjectDocument, error) {
	label := veleroapi.BackupUIDLabel
	if j.Kind == job.Restore {
		label = veleroapi.RestoreUIDLabel
	}
	api, err := c.currentClient()
	if err != nil {
		return nil, SanitizeError(err)
	}
	var documents []ObjectDocument
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
			failed = cmp.Or(failed, SanitizeError(err))
			continue
		}
		for i := range page.Items[:min(len(page.Items), most-len(documents))] {
			d, err := buildDocument(kind, &page.Items[i])
			if err != nil {
				failed = cmp.Or(failed, SanitizeError(err))
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

// maxDocumentLines limits one resource: Velero's resources have fewer than a hundred lines, others may have a
// megabyte.
const maxDocumentLines = 2000

// buildDocument returns a resource as YAML, without managed fields and the last-applied configuration.
func buildDocument(kind velero.VolumeKind, o *unstructured.Unstructured) (ObjectDocument, error) {
	o.SetManagedFields(nil)
	if notes := o.GetAnnotations(); notes[corev1.LastAppliedConfigAnnotation] != "" {
		delete(notes, corev1.LastAppliedConfigAnnotation)
		o.SetAnnotations(notes)
	}
	sanitize.Object(&o.Object)
	d, err := NewObjectDocument(string(kind), o.GetName(), o.Object)
	if err != nil {
		return d, fmt.Errorf("writing %s %s: %w", kind.Resource(), o.GetName(), err)
	}
	if n := len(d.Lines); n > maxDocumentLines {
		d.Lines = append(d.Lines[:maxDocumentLines], "# "+human.Count(n-maxDocumentLines, "more line"))
	}
	return d, nil
}

// ObjectDocument is a resource as YAML, without managed fields.
type ObjectDocument struct {
	Kind, Name string
	Lines      []string // the lines of its YAML, without styles
}

// FieldLines returns the lines of one top-level field.
func (d ObjectDocument) FieldLines(field string) []string {
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

// NewObjectDocument returns an object, which must be sanitized, as a document.
func NewObjectDocument(kind, name string, object any) (ObjectDocument, error) {
	d := ObjectDocument{Kind: kind, Name: name}
	text, err := yaml.Marshal(object)
	if err != nil { // such as for a key of more than 1,024 bytes; JSON is YAML too
		if text, err = json.MarshalIndent(object, "", "  "); err != nil {
			return d, err
		}
	}
	d.Lines = strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return d, nil
}
