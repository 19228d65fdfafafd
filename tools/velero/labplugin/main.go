// Command labplugin is a Velero plugin for the end-to-end tests: one backup
// item action and one restore item action (both v2) that do nothing to an item
// but take time, so that a test decides how long a job runs items, waits for
// operations, or fails.
//
// It acts on objects that carry the label lab.veltui.io/acted, as the
// annotations of the Backup or Restore say; see [order].
package main

import (
	"github.com/sirupsen/logrus"
	"github.com/vmware-tanzu/velero/pkg/plugin/framework"
)

// main binds no flags: Velero hands its own server flags to every plugin, and
// none of them means anything here.
func main() {
	framework.NewServer().
		RegisterBackupItemActionV2("lab.veltui.io/backup", func(log logrus.FieldLogger) (any, error) {
			return &backupAction{log: log}, nil
		}).
		RegisterRestoreItemActionV2("lab.veltui.io/restore", func(log logrus.FieldLogger) (any, error) {
			return &restoreAction{log: log}, nil
		}).
		Serve()
}
