package describe

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/velero"
)

// BackupSpec describes what backups are asked for, such as those of a schedule's template, by a Velero of the
// given version. What they hold comes first.
func BackupSpec(spec velerov1.BackupSpec, server string) []Section {
	d := describer{version: versionOf(server)}
	d.filters(spec, nil)
	d.volumes(spec)
	d.section("storage")
	d.storage(spec)
	d.hooks(spec)
	if labels := spec.Metadata.Labels; len(labels) > 0 {
		d.section("metadata")
		d.pairs("metadata.labels", "Labels", labels, "=")
	}
	return d.sections
}

// backup describes what a backup was asked for. The order, and what Velero takes for a setting that
// is not there, are those of its pkg/cmd/util/output/backup_describer.go (1.18.3).
func (d *describer) backup(b *velerov1.Backup) {
	spec, status := b.Spec, b.Status
	d.snapshotCounts(
		"Native snapshots",
		"volumeSnapshots",
		status.VolumeSnapshotsCompleted,
		status.VolumeSnapshotsAttempted,
	)
	d.snapshotCounts(
		"CSI snapshots",
		"csiVolumeSnapshots",
		status.CSIVolumeSnapshotsCompleted,
		status.CSIVolumeSnapshotsAttempted,
	)
	d.hookCounts(status.HookStatus)

	d.section("storage")
	d.text("scheduleName", "Schedule", d.job.ScheduleName)
	d.storage(spec)
	if status.Expiration != nil {
		d.moment("expiration", "Expires", status.Expiration.Time)
	}
	d.text("formatVersion", "Format version", status.FormatVersion)
	d.filters(spec, b.Annotations)
	d.volumes(spec)
	d.hooks(spec)
}

func (d *describer) storage(spec velerov1.BackupSpec) {
	d.option("storageLocation", "Storage location", spec.StorageLocation, notSet)
	d.list("volumeSnapshotLocations", "Snapshot locations", spec.VolumeSnapshotLocations, none)
	d.duration("ttl", "TTL", spec.TTL)
}

func (d *describer) filters(spec velerov1.BackupSpec, annotations map[string]string) {
	d.section("filters")
	d.list("includedNamespaces", "Included namespaces", spec.IncludedNamespaces, "*")
	d.list("excludedNamespaces", "Excluded namespaces", spec.ExcludedNamespaces, none)
	if scopedFilters(spec, d.version) {
		d.list("includedClusterScopedResources", "Included cluster-scoped", spec.IncludedClusterScopedResources, none)
		d.list("excludedClusterScopedResources", "Excluded cluster-scoped", spec.ExcludedClusterScopedResources, none)
		d.list("includedNamespaceScopedResources", "Included namespaced", spec.IncludedNamespaceScopedResources, "*")
		d.list("excludedNamespaceScopedResources", "Excluded namespaced", spec.ExcludedNamespaceScopedResources, none)
	} else {
		d.list("includedResources", "Included resources", spec.IncludedResources, "*")
		d.list("excludedResources", "Excluded resources", spec.ExcludedResources, none)
		d.boolean(
			"includeClusterResources",
			"Cluster-scoped",
			spec.IncludeClusterResources,
			"included",
			"excluded",
			"auto",
		)
	}
	d.selectors(spec.LabelSelector, spec.OrLabelSelectors)
	d.reference("resourcePolicy", "Resource policies", spec.ResourcePolicy)
	// The annotation names a ConfigMap; other kinds are not possible.
	if name := annotations[velerov1.GlobalBackupVolumePolicyConfigMapAnnotation]; name != "" {
		d.text("globalVolumePolicy", "Global volume policies", "configmap "+name)
	}
	if len(spec.OrderedResources) > 0 {
		d.pairs("orderedResources", "Ordered resources", spec.OrderedResources, ": ")
	}
}

func (d *describer) volumes(spec velerov1.BackupSpec) {
	d.section("volumes")
	d.boolean("snapshotVolumes", "Snapshot volumes", spec.SnapshotVolumes, "true", "false", "auto")
	fs := spec.DefaultVolumesToFsBackup
	if fs == nil {
		//lint:ignore SA1019 backups of old versions have it
		fs = spec.DefaultVolumesToRestic
	}
	d.boolean("defaultVolumesToFsBackup", "File system by default", fs, "true", "false", notSet)
	d.boolean("snapshotMoveData", "Snapshot move data", spec.SnapshotMoveData, "true", "false", "auto")
	d.option("datamover", "Data mover", spec.DataMover, "velero")
	if spec.UploaderConfig != nil && spec.UploaderConfig.ParallelFilesUpload > 0 {
		d.text("parallelFilesUpload", "Parallel files upload", fmt.Sprint(spec.UploaderConfig.ParallelFilesUpload))
	}
	d.text("volumeGroupSnapshotLabelKey", "Volume group label", spec.VolumeGroupSnapshotLabelKey)
	d.duration("csiSnapshotTimeout", "CSI snapshot timeout", spec.CSISnapshotTimeout)
	d.duration("itemOperationTimeout", "Item operation timeout", spec.ItemOperationTimeout)
}

func (d *describer) hooks(spec velerov1.BackupSpec) {
	d.section("hooks")
	for _, h := range spec.Hooks.Resources {
		lines := hookFilter(
			h.IncludedNamespaces,
			h.ExcludedNamespaces,
			h.IncludedResources,
			h.ExcludedResources,
			selector(h.LabelSelector),
		)
		for i, hooks := range [][]velerov1.BackupResourceHook{h.PreHooks, h.PostHooks} {
			for _, hook := range hooks {
				if e := hook.Exec; e != nil {
					lines = append(
						lines,
						execHook(
							[]string{"before", "after"}[i],
							e.Container,
							e.Command,
							e.OnError,
							[2]string{"timeout", exact(e.Timeout.Duration)},
						),
					)
				}
			}
		}
		d.add(Field{Name: "hooks", Title: cmp.Or(h.Name, "(no name)"), Values: lines})
	}
	d.noHooks()
}

// restore describes what a restore was asked for, in the order of Velero's
// pkg/cmd/util/output/restore_describer.go (1.18.3).
func (d *describer) restore(r *velerov1.Restore) {
	spec := r.Spec
	d.hookCounts(r.Status.HookStatus)

	d.section("source")
	d.text("backupName", "Backup", spec.BackupName)
	d.text("scheduleName", "Schedule", spec.ScheduleName)

	d.section("filters")
	d.list("includedNamespaces", "Included namespaces", spec.IncludedNamespaces, "*")
	d.list("excludedNamespaces", "Excluded namespaces", spec.ExcludedNamespaces, none)
	d.list("includedResources", "Included resources", spec.IncludedResources, "*")
	d.list("excludedResources", "Excluded resources", spec.ExcludedResources, none)
	d.boolean("includeClusterResources", "Cluster-scoped", spec.IncludeClusterResources, "included", "excluded", "auto")
	d.pairs("namespaceMapping", "Namespace mapping", spec.NamespaceMapping, " -> ")
	d.selectors(spec.LabelSelector, spec.OrLabelSelectors)

	d.section("options")
	d.boolean("restorePVs", "Restore PVs", spec.RestorePVs, "true", "false", "auto")
	d.option("existingResourcePolicy", "Existing resources", string(spec.ExistingResourcePolicy), none)
	d.boolean("preserveNodePorts", "Preserve node ports", spec.PreserveNodePorts, "true", "false", "auto")
	if status := spec.RestoreStatus; status != nil {
		d.list("restoreStatus.includedResources", "Status restored of", status.IncludedResources, none)
		d.list("restoreStatus.excludedResources", "Status not of", status.ExcludedResources, none)
	}
	d.reference("resourceModifier", "Resource modifier", spec.ResourceModifier)
	d.reference("resourcePolicy", "Resource policies", spec.ResourcePolicy)
	if u := spec.UploaderConfig; u != nil {
		if u.WriteSparseFiles != nil {
			d.boolean("writeSparseFiles", "Write sparse files", u.WriteSparseFiles, "true", "false", "")
		}
		if u.ParallelFilesDownload > 0 {
			d.text("parallelFilesDownload", "Parallel restore", fmt.Sprint(u.ParallelFilesDownload))
		}
	}
	d.duration("itemOperationTimeout", "Item operation timeout", spec.ItemOperationTimeout)

	d.section("hooks")
	for _, h := range spec.Hooks.Resources {
		lines := hookFilter(
			h.IncludedNamespaces,
			h.ExcludedNamespaces,
			h.IncludedResources,
			h.ExcludedResources,
			selector(h.LabelSelector),
		)
		for _, hook := range h.PostHooks {
			if e := hook.Exec; e != nil {
				lines = append(lines, execHook(
					"after",
					e.Container,
					e.Command,
					e.OnError,
					[2]string{
						"timeout",
						exact(e.ExecTimeout.Duration),
					},
					[2]string{"wait", exact(e.WaitTimeout.Duration)},
				))
			}
			if hook.Init != nil {
				lines = append(lines, initHook(hook.Init))
			}
		}
		d.add(Field{Name: "hooks", Title: cmp.Or(h.Name, "(no name)"), Values: lines})
	}
	d.noHooks()
}

// scopedFilters reports whether a Velero of that version filters a backup by the scope of resources, not by
// the older filters (pkg/util/collections/includes_excludes.go UseOldResourceFilters).
func scopedFilters(s velerov1.BackupSpec, version velero.Version) bool {
	if s.IncludeClusterResources != nil || len(s.IncludedResources)+len(s.ExcludedResources) > 0 {
		return false
	}
	scoped := len(s.IncludedClusterScopedResources) + len(s.ExcludedClusterScopedResources) +
		len(s.IncludedNamespaceScopedResources) + len(s.ExcludedNamespaceScopedResources)
	return scoped > 0 || version.ScopesUnsetFilters()
}

func (d *describer) snapshotCounts(title, name string, completed, attempted int) {
	if attempted > 0 {
		d.add(
			Field{
				Name:   name,
				Title:  title,
				Values: []string{fmt.Sprintf("%d of %d completed", completed, attempted)},
				More:   Volumes,
			},
		)
	}
}

func (d *describer) reference(name, title string, ref *corev1.TypedLocalObjectReference) {
	if ref != nil {
		d.text(name, title, ref.Kind+" "+ref.Name)
	}
}

// noHooks says that a job has no hooks of its own; pods may have some.
func (d *describer) noHooks() {
	if len(d.sections[len(d.sections)-1].Fields) == 0 {
		d.add(
			Field{
				Name:   "hooks",
				Title:  "Hooks",
				Values: []string{none},
				Note:   "pods may have some in their annotations",
				Unset:  true,
			},
		)
	}
}

// Filter says which names a filter includes.
func Filter(included, excluded []string) string {
	return cmp.Or(strings.Join(included, ", "), "*") + human.Clause(" but not ", strings.Join(excluded, ", "))
}

func hookFilter(inNamespaces, notNamespaces, inResources, notResources []string, labels string) []string {
	return []string{
		"namespaces " + Filter(inNamespaces, notNamespaces),
		"resources " + Filter(inResources, notResources),
		"labels " + cmp.Or(labels, none),
	}
}

// execHook is a command that runs in a container; limits are times with their names.
func execHook(when, container string, command []string, onError velerov1.HookErrorMode, limits ...[2]string) string {
	about := human.Clause(", container ", container) + human.Clause(", on error ", string(onError))
	for _, limit := range limits {
		about += human.Clause(", "+limit[0]+" ", limit[1])
	}
	return when + ": " + strings.Join(command, " ") + human.Parens(strings.TrimPrefix(about, ", "))
}

func initHook(hook *velerov1.InitRestoreHook) string {
	var names []string
	for _, raw := range hook.InitContainers {
		var container struct {
			Name  string `json:"name"`
			Image string `json:"image"`
		}
		if err := json.Unmarshal(raw.Raw, &container); err != nil {
			names = append(names, "one that cannot be read")
			continue
		}
		names = append(names, container.Name+" ("+container.Image+")")
	}
	return "init containers: " + strings.Join(names, ", ") + human.Clause(", timeout ", exact(hook.Timeout.Duration))
}
