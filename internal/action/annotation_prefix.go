package action

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// annotationPrefix is the prefix of the annotations that say who did something, when, why and in which attempts,
// newest first. After a lost answer, the attempt distinguishes our own patch from others.
type annotationPrefix string

func (m annotationPrefix) attemptKey() string { return string(m) + "-attempt" }

// annotateOperations returns the operations that write the marks and further notes; notes without a value are left
// out, or emptied if an earlier note exists.
func (m annotationPrefix) annotateOperations(
	o *unstructured.Unstructured,
	s attemptStamp,
	reason string,
	more ...[2]string,
) []patchOperation {
	var ops []patchOperation
	if o.GetAnnotations() == nil {
		ops = append(ops, patchOperation{"add", "/metadata/annotations", map[string]string{}})
	}
	for _, n := range m.buildNotes(o, s, reason, more...) {
		if n[1] != "" || o.GetAnnotations()[string(m)+n[0]] != "" {
			ops = append(
				ops,
				patchOperation{"add", "/metadata/annotations/" + strings.ReplaceAll(string(m)+n[0], "/", "~1"), n[1]},
			)
		}
	}
	return ops
}

func (m annotationPrefix) buildNotes(
	o *unstructured.Unstructured,
	s attemptStamp,
	reason string,
	more ...[2]string,
) [][2]string {
	notes := append([][2]string{{"-by", s.by}, {"-at", s.at.UTC().Format(time.RFC3339)}}, more...)
	return append(notes, [2]string{"-reason", reason}, [2]string{"-attempt", addAttempt(o, m.attemptKey(), s.attempt)})
}

// findOtherWriter returns who did the same after seen, empty for nobody.
func (m annotationPrefix) findOtherWriter(seen, now *unstructured.Unstructured) (by, at string) {
	notes := now.GetAnnotations()
	if notes[m.attemptKey()] == seen.GetAnnotations()[m.attemptKey()] {
		return "", ""
	}
	return notes[string(m)+"-by"], notes[string(m)+"-at"]
}

const (
	finalizedPrefix annotationPrefix = "veltui.io/finalized"
	wokenPrefix     annotationPrefix = "veltui.io/woken"
	cancelledPrefix annotationPrefix = "veltui.io/cancelled"
	createdPrefix   annotationPrefix = "veltui.io/created"
	pausedPrefix    annotationPrefix = "veltui.io/paused"
	deletedPrefix   annotationPrefix = "veltui.io/deleted" // on a DeleteBackupRequest
)
