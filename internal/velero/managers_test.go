package velero

import (
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What an entry owns is known before and after its fields are stripped, also twice.
func TestStripManagedFieldsKeepsStatus(t *testing.T) {
	for name, c := range map[string]struct {
		entry metav1.ManagedFieldsEntry
		want  bool
	}{
		"status":     {metav1.ManagedFieldsEntry{FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:phase":{}}}`)}, true},
		"labels":     {metav1.ManagedFieldsEntry{FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{}}}`)}, false},
		"not said":   {metav1.ManagedFieldsEntry{}, true},
		"of a scale": {metav1.ManagedFieldsEntry{FieldsType: "FieldsV1", Subresource: "scale", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`)}, false},
	} {
		fields := []metav1.ManagedFieldsEntry{c.entry}
		for times := range 3 {
			if got := WritesStatus(&fields[0]); got != c.want {
				t.Errorf("%s, stripped %d times: %v", name, times, got)
			}
			before := fields
			if fields = StripManagedFields(fields); fields[0].FieldsV1 != nil {
				t.Errorf("%s: the fields are kept", name)
			}
			if times > 0 && !reflect.DeepEqual(fields, before) {
				t.Errorf("%s, stripped %d times: %+v, and before %+v", name, times+1, fields, before)
			}
		}
	}
}
