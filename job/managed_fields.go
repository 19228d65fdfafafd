package job

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// newestManaged is the newest time at which the API server noted that a field
// manager changed the object: the only clock that a resource without
// conditions carries. Zero if it has none.
func newestManaged(object metav1.Object) time.Time {
	var newest time.Time
	for _, entry := range object.GetManagedFields() {
		newest = Latest(newest, timeOf(entry.Time))
	}
	return newest
}

// managedByVelero is the newest time at which Velero itself changed the object,
// or anybody if none of the managers bears Velero's name: an annotation that a
// person touches is no progress.
func managedByVelero(object metav1.Object) time.Time {
	var newest time.Time
	for _, entry := range object.GetManagedFields() {
		if strings.HasPrefix(entry.Manager, "velero") {
			newest = Latest(newest, timeOf(entry.Time))
		}
	}
	if newest.IsZero() {
		return newestManaged(object)
	}
	return newest
}

func timeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

// Latest is the latest of some moments, the zero time if there is none.
func Latest(times ...time.Time) time.Time {
	var newest time.Time
	for _, t := range times {
		if t.After(newest) {
			newest = t
		}
	}
	return newest
}
