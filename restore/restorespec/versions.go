package restorespec

import "github.com/veltui/veltui/velero"

// since is from which version on Velero has a flag (pkg/cmd/cli/restore/create.go), and
// its server the field of the Restore (pkg/apis/velero/v1/restore_types.go). What is
// not here is older than the versions that veltui knows, 1.10 and later.
var since = map[string]struct{ flag, field velero.Version }{
	"item-operation-timeout":      {velero.Version{1, 11, 0}, velero.Version{1, 11, 0}},
	"or-selector":                 {flag: velero.Version{1, 12, 1}},
	"resource-modifier-configmap": {velero.Version{1, 12, 0}, velero.Version{1, 12, 0}},
	"write-sparse-files":          {velero.Version{1, 13, 0}, velero.Version{1, 13, 0}},
	"parallel-files-download":     {velero.Version{1, 14, 0}, velero.Version{1, 14, 0}},
	"annotations":                 {flag: velero.Version{1, 16, 0}}, // all that Kubernetes stores has them
	"resource-policies-configmap": {velero.Version{1, 18, 3}, velero.Version{1, 18, 3}},
}

// HasFlag says whether the command of a version of Velero has the field's flag.
func (f Field) HasFlag(v velero.Version) bool { return !v.Before(since[f.Flag].flag) }

// IsRead says whether the server of a version of Velero reads the field. An older one
// ignores it, and restores as if it were not set.
func (f Field) IsRead(v velero.Version) bool { return !v.Before(since[f.Flag].field) }

// Given are the fields that a draft sets.
func (d *Draft) Given() (given []Field) {
	for _, f := range Fields() {
		if _, is := f.Text(d); is {
			given = append(given, f)
		}
	}
	return given
}

// Since is the first version of Velero whose server reads the field, zero where all do
// that veltui knows.
func (f Field) Since() velero.Version { return since[f.Flag].field }
