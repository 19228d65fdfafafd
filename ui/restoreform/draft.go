package restoreform

import (
	"strings"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/veltui/veltui/restore/restorespec"
)

// Name is the default name of a restore, as Velero makes it; cut where the API server
// would not take it whole, and empty where there is nothing to name it after.
func Name(from string, now time.Time) string {
	if from == "" {
		return ""
	}
	end := "-" + now.Format("20060102150405")
	return strings.TrimRight(from[:min(len(from), validation.DNS1123SubdomainMaxLength-len(end))], "-.") + end
}

// From is a draft of a restore of a backup.
func From(backup string, now time.Time) restorespec.Draft {
	var d restorespec.Draft
	d.Restore.Name, d.Restore.Spec.BackupName = Name(backup, now), backup
	return d
}

// Again is a draft of another restore like one that there was.
func Again(r *velerov1.Restore, now time.Time) restorespec.Draft {
	d := restorespec.Again(r)
	from := d.Restore.Spec.BackupName
	if from == "" {
		from = d.Restore.Spec.ScheduleName
	}
	d.Restore.Name = Name(from, now)
	return d
}
