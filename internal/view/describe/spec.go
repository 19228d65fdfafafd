package describe

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/internal/view"
)

// BackupSpec describes the spec of backups, such as that of a schedule's template, for a Velero of the given version.
// The filters come first.
func BackupSpec(spec veleroapi.BackupSpec, server string) []Section {
	d := describer{version: versionOrCurrent(server)}
	d.describeFilters(spec, nil)
	d.describeVolumes(spec)
	d.startSection("storage")
	d.addStorage(spec)
	d.describeHooks(view.BackupHooks(spec.Hooks))
	if labels := spec.Metadata.Labels; len(labels) > 0 {
		d.startSection("metadata")
		d.addPairs("metadata.labels", "Labels", labels, "=")
	}
	return d.sections
}

// describeBackup describes a backup's spec. The order, and Velero's defaults for settings that are not set, are those
// of its pkg/cmd/util/output/backup_describer.go (1.18.3).
func (d *describer) describeBackup(b *veleroapi.Backup) {
	spec, status := b.Spec, b.Status
	d.addSnapshotCounts(
		"Native snapshots",
		"volumeSnapshots",
		status.VolumeSnapshotsCompleted,
		status.VolumeSnapshotsAttempted,
	)
	d.addSnapshotCounts(
		"CSI snapshots",
		"csiVolumeSnapshots",
		status.CSIVolumeSnapshotsCompleted,
		status.CSIVolumeSnapshotsAttempted,
	)
	d.addHookCounts(status.HookStatus)

	d.startSection("storage")
	d.addText("scheduleName", "Schedule", d.job.ScheduleName)
	d.addStorage(spec)
	if status.Expiration != nil {
		d.addMoment("expiration", "Expires", status.Expiration.Time)
	}
	d.addText("formatVersion", "Format version", status.FormatVersion)
	d.describeFilters(spec, b.Annotations)
	d.describeVolumes(spec)
	d.describeHooks(view.BackupHooks(spec.Hooks))
}

func (d *describer) addStorage(spec veleroapi.BackupSpec) {
	d.addOption("storageLocation", "Storage location", spec.StorageLocation, notSet)
	d.addList("volumeSnapshotLocations", "Snapshot locations", spec.VolumeSnapshotLocations, none)
	d.addDuration("ttl", "TTL", spec.TTL)
}

func (d *describer) describeFilters(spec veleroapi.BackupSpec, annotations map[string]string) {
	d.startSection("filters")
	d.addList("includedNamespaces", "Included namespaces", spec.IncludedNamespaces, "*")
	d.addList("excludedNamespaces", "Excluded namespaces", spec.ExcludedNamespaces, none)
	if usesScopedFilters(spec, d.version) {
		d.addList("includedClusterScopedResources", "Included cluster-scoped", spec.IncludedClusterScopedResources, none)
		d.addList("excludedClusterScopedResources", "Excluded cluster-scoped", spec.ExcludedClusterScopedResources, none)
		d.addList("includedNamespaceScopedResources", "Included namespaced", spec.IncludedNamespaceScopedResources, "*")
		d.addList("excludedNamespaceScopedResources", "Excluded namespaced", spec.ExcludedNamespaceScopedResources, none)
	} else {
		d.addList("includedResources", "Included resources", spec.IncludedResources, "*")
		d.addList("excludedResources", "Excluded resources", spec.ExcludedResources, none)
		d.addBoolean(
			"includeClusterResources",
			"Cluster-scoped",
			spec.IncludeClusterResources,
			"included",
			"excluded",
			"auto",
		)
	}
	d.addSelectors(spec.LabelSelector, spec.OrLabelSelectors)
	d.addReference("resourcePolicy", "Resource policies", spec.ResourcePolicy)
	// The annotation always names a ConfigMap.
	if name := annotations[veleroapi.GlobalBackupVolumePolicyConfigMapAnnotation]; name != "" {
		d.addText("globalVolumePolicy", "Global volume policies", "configmap "+name)
	}
	if len(spec.OrderedResources) > 0 {
		d.addPairs("orderedResources", "Ordered resources", spec.OrderedResources, ": ")
	}
}

func (d *describer) describeVolumes(spec veleroapi.BackupSpec) {
	d.startSection("volumes")
	d.addBoolean("snapshotVolumes", "Snapshot volumes", spec.SnapshotVolumes, "true", "false", "auto")
	fs := spec.DefaultVolumesToFsBackup
	if fs == nil {
		//lint:ignore SA1019 backups of old versions have it
		fs = spec.DefaultVolumesToRestic
	}
	d.addBoolean("defaultVolumesToFsBackup", "File system by default", fs, "true", "false", notSet)
	d.addBoolean("snapshotMoveData", "Snapshot move data", spec.SnapshotMoveData, "true", "false", "auto")
	d.addOption("datamover", "Data mover", spec.DataMover, "velero")
	if spec.UploaderConfig != nil && spec.UploaderConfig.ParallelFilesUpload > 0 {
		d.addText("parallelFilesUpload", "Parallel files upload", fmt.Sprint(spec.UploaderConfig.ParallelFilesUpload))
	}
	d.addText("volumeGroupSnapshotLabelKey", "Volume group label", spec.VolumeGroupSnapshotLabelKey)
	d.addDuration("csiSnapshotTimeout", "CSI snapshot timeout", spec.CSISnapshotTimeout)
	d.addDuration("itemOperationTimeout", "Item operation timeout", spec.ItemOperationTimeout)
}

// describeHooks describes the hooks of a job's own spec.
func (d *describer) describeHooks(groups []view.HookGroup) {
	d.startSection("hooks")
	for _, g := range groups {
		d.addField(Field{Name: "hooks", Title: g.Name, Values: g.Lines})
	}
	if len(groups) == 0 {
		d.addField(
			Field{Name: "hooks", Title: "Hooks", Values: []string{view.NoHooks}, Note: view.NoHooksNote, Unset: true},
		)
	}
}

// describeRestore describes a restore's spec, in the order of Velero's pkg/cmd/util/output/restore_describer.go
// (1.18.3).
func (d *describer) describeRestore(r *veleroapi.Restore) {
	spec := r.Spec
	d.addHookCounts(r.Status.HookStatus)

	d.startSection("source")
	d.addText("backupName", "Backup", spec.BackupName)
	d.addText("scheduleName", "Schedule", spec.ScheduleName)

	d.startSection("filters")
	d.addList("includedNamespaces", "Included namespaces", spec.IncludedNamespaces, "*")
	d.addList("excludedNamespaces", "Excluded namespaces", spec.ExcludedNamespaces, none)
	d.addList("includedResources", "Included resources", spec.IncludedResources, "*")
	d.addList("excludedResources", "Excluded resources", spec.ExcludedResources, none)
	d.addBoolean("includeClusterResources", "Cluster-scoped", spec.IncludeClusterResources, "included", "excluded", "auto")
	d.addPairs("namespaceMapping", "Namespace mapping", spec.NamespaceMapping, " -> ")
	d.addSelectors(spec.LabelSelector, spec.OrLabelSelectors)

	d.startSection("options")
	d.addBoolean("restorePVs", "Restore PVs", spec.RestorePVs, "true", "false", "auto")
	d.addOption("existingResourcePolicy", "Existing resources", string(spec.ExistingResourcePolicy), none)
	d.addBoolean("preserveNodePorts", "Preserve node ports", spec.PreserveNodePorts, "true", "false", "auto")
	if status := spec.RestoreStatus; status != nil {
		d.addList("restoreStatus.includedResources", "Status restored of", status.IncludedResources, none)
		d.addList("restoreStatus.excludedResources", "Status not of", status.ExcludedResources, none)
	}
	d.addReference("resourceModifier", "Resource modifier", spec.ResourceModifier)
	d.addReference("resourcePolicy", "Resource policies", spec.ResourcePolicy)
	if u := spec.UploaderConfig; u != nil {
		if u.WriteSparseFiles != nil {
			d.addBoolean("writeSparseFiles", "Write sparse files", u.WriteSparseFiles, "true", "false", "")
		}
		if u.ParallelFilesDownload > 0 {
			d.addText("parallelFilesDownload", "Parallel restore", fmt.Sprint(u.ParallelFilesDownload))
		}
	}
	d.addDuration("itemOperationTimeout", "Item operation timeout", spec.ItemOperationTimeout)

	d.describeHooks(view.RestoreHooks(spec.Hooks))
}

// usesScopedFilters reports whether a Velero of that version filters a backup by the scope of resources, instead of
// by the older filters (pkg/util/collections/includes_excludes.go UseOldResourceFilters).
func usesScopedFilters(s veleroapi.BackupSpec, version velero.Version) bool {
	if s.IncludeClusterResources != nil || len(s.IncludedResources)+len(s.ExcludedResources) > 0 {
		return false
	}
	scoped := len(s.IncludedClusterScopedResources) + len(s.ExcludedClusterScopedResources) +
		len(s.IncludedNamespaceScopedResources) + len(s.ExcludedNamespaceScopedResources)
	return scoped > 0 || version.ScopesUnsetFilters()
}

func (d *describer) addSnapshotCounts(title, name string, completed, attempted int) {
	if attempted > 0 {
		d.addField(
			Field{
				Name:       name,
				Title:      title,
				Values:     []string{fmt.Sprintf("%d of %d completed", completed, attempted)},
				DetailPage: Volumes,
			},
		)
	}
}

func (d *describer) addReference(name, title string, ref *corev1.TypedLocalObjectReference) {
	if ref != nil {
		d.addText(name, title, ref.Kind+" "+ref.Name)
	}
}
