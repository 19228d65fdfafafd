package velero

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Version is a version of Velero: major, minor, patch.
type Version [3]int

// LatestReviewedVersion is the version in whose source the rules were read. It stands in for an unknown version; veltui
// then says so.
var LatestReviewedVersion = Version{1, 18, 3}

// versionTag matches a tag of Velero's own images, with vendors' suffixes: v1.18.3, v1.14.1_vmware.3, v1.16,
// 1.17.0-rc.1.
var versionTag = regexp.MustCompile(`^v?(\d{1,3})\.(\d{1,3})(?:\.(\d{1,3}))?(?:[-_+][0-9A-Za-z._+-]*)?$`)

// The range of tags that count as versions: OADP counts its own releases, from 1.0 to 1.6 so far, and others use
// dates.
var (
	oldestVersion = Version{1, 10, 0}
	versionLimit  = Version{3, 0, 0}
)

// ParseVersion parses an image's tag. ok is false for main, a digest, or a vendor's 1.5.0.
func ParseVersion(tag string) (v Version, ok bool) {
	parts := versionTag.FindStringSubmatch(tag)
	if parts == nil {
		return Version{}, false
	}
	for i, s := range parts[1:] {
		v[i], _ = strconv.Atoi(s) // at most three digits, or none, which means 0
	}
	if v.Before(oldestVersion) || !v.Before(versionLimit) {
		return Version{}, false
	}
	return v, true
}

// imageVersion returns an image's tag, empty if it has none, such as an image that is pinned only by digest.
func imageVersion(image string) string {
	name, _, _ := strings.Cut(image, "@")
	_, tag, _ := strings.Cut(name[strings.LastIndexByte(name, '/')+1:], ":")
	if release := oadpRelease.FindStringSubmatch(tag); release != nil && strings.Contains(name, "oadp") {
		if version, known := oadpVersions[release[1]]; known {
			return version + "-oadp-" + release[1]
		}
	}
	return tag
}

// OADP tags its images with its own releases, such as oadp-1.4 or 1.4.2, each built on one minor version of Velero
// (OKD documentation, "Installing the OADP Operator", table of versions).
var (
	oadpRelease  = regexp.MustCompile(`^(?:oadp-|v)?(1\.\d)(?:[.-].*)?$`)
	oadpVersions = map[string]string{"1.3": "v1.12", "1.4": "v1.14", "1.5": "v1.16"}
)

func (v Version) Before(w Version) bool { return slices.Compare(v[:], w[:]) < 0 }

// isWithin reports whether v is at least since and less than before; a zero before is no bound.
func (v Version) isWithin(since, before Version) bool {
	return !v.Before(since) && (before == Version{} || v.Before(before))
}

func (v Version) String() string { return fmt.Sprintf("v%d.%d.%d", v[0], v[1], v[2]) }

// QueuesBackups reports whether --concurrent-backups backups run, and others wait in a queue. Older servers run one
// backup at a time, in no visible order (pkg/controller/backup_queue_controller.go, since 1.18.0).
func (v Version) QueuesBackups() bool { return !v.Before(Version{1, 18, 0}) }

// ScopesUnsetFilters reports whether a backup without resource filters uses the filters by scope, not the older ones
// (pkg/util/collections/includes_excludes.go UseOldResourceFilters, changed in 1.17.0).
func (v Version) ScopesUnsetFilters() bool { return !v.Before(Version{1, 17, 0}) }

// TakesNothingByExcludePatterns reports whether a backup takes no namespace if it includes none by name and excludes
// some by pattern: the patterns are expanded, and the empty list of includes then means nothing
// (pkg/util/collections/includes_excludes.go ShouldInclude and pkg/util/wildcard/expand.go ShouldExpandWildcards,
// 1.18.0; 1.18.1 sets the includes to *, in backup_controller.go prepareBackupRequest).
func (v Version) TakesNothingByExcludePatterns() bool {
	return v.isWithin(Version{1, 18, 0}, Version{1, 18, 1})
}

// RefusesUnavailableLocation reports whether a job fails its validation unless its location is Available
// (pkg/controller/backup_controller.go and restore_controller.go, BSLIsAvailable, since 1.16.2).
func (v Version) RefusesUnavailableLocation() bool { return !v.Before(Version{1, 16, 2}) }

// ConvertsClaims reports whether every claim goes through its Go type; before, only claims for which a node was
// selected do (pkg/restore/actions/pvc_action.go, since 1.16.0; before change_pvc_node_selector.go and
// add_pv_from_pvc_action.go).
func (v Version) ConvertsClaims() bool { return !v.Before(Version{1, 16, 0}) }

// ListsNewNames reports whether a restore lists its items by their new names, not the backup's
// (pkg/restore/restore.go, createdName, since 1.17.0).
func (v Version) ListsNewNames() bool { return !v.Before(Version{1, 17, 0}) }

// CancelsPodVolumes reports whether pod volumes have spec.cancel (pkg/apis/velero/v1/pod_volume_backup_types.go,
// since 1.17).
func (v Version) CancelsPodVolumes() bool { return !v.Before(Version{1, 17, 0}) }

// HangsOnCancelledVolume reports whether a backup waits for a cancelled pod volume up to its
// time-out (Velero issue 9464, from 1.17.0 until 1.18.3; pkg/podvolume/backupper.go).
func (v Version) HangsOnCancelledVolume() bool {
	return v.CancelsPodVolumes() && v.Before(Version{1, 18, 3})
}

// MovesInPods reports whether a volume has a pod of its own: data movements since 1.15
// (pkg/datapath/micro_service_watcher.go), pod volumes since 1.17 (pkg/exposer/pod_volume.go).
func (v Version) MovesInPods(kind VolumeKind) bool {
	if kind.IsPodVolume() {
		return !v.Before(Version{1, 17, 0})
	}
	return !v.Before(Version{1, 15, 0})
}

// CancelsAtVolumeTimeout reports whether a backup cancels its pod volumes at their time-out, and then waits without a
// limit (pkg/podvolume/backupper.go WaitAllPodVolumesProcessed, since 1.18.3).
func (v Version) CancelsAtVolumeTimeout() bool { return !v.Before(Version{1, 18, 3}) }

// ReadsRestorePolicies reports whether spec.resourcePolicy of a restore selects objects by name
// (pkg/controller/restore_controller.go validateAndComplete; since 1.18.3).
func (v Version) ReadsRestorePolicies() bool { return !v.Before(Version{1, 18, 3}) }

// NamesAgentConfig reports whether node-agents read only the ConfigMap that their arguments name
// (pkg/cmd/cli/nodeagent/server.go, since 1.15).
func (v Version) NamesAgentConfig() bool { return !v.Before(Version{1, 15, 0}) }

// GivesUpLastStatus reports whether a job whose last status could not be written is left alone
// (pkg/controller/backup_controller.go and restore_controller.go Reconcile, read up to 1.18).
func (v Version) GivesUpLastStatus() bool { return v.Before(Version{1, 19, 0}) }

// FailsOnDifference reports whether a restore lists an existing object that differs as failed; later versions list it
// as skipped (pkg/restore/restore.go, restoreItem, read up to 1.18.3; Velero pull request 10243).
func FailsOnDifference(version string) bool {
	v, known := ParseVersion(version)
	return known && v.Before(Version{1, 19, 0})
}

// IsUnreviewedVersion reports whether a server is newer than the versions in which the rules were read.
func IsUnreviewedVersion(version string) bool {
	v, known := ParseVersion(version)
	return known && !v.Before(Version{LatestReviewedVersion[0], LatestReviewedVersion[1] + 1, 0})
}

// UnreviewedVersionNote says that a server is newer than the versions in which the rules were read, empty if it is not.
func UnreviewedVersionNote(version string) string {
	if !IsUnreviewedVersion(version) {
		return ""
	}
	return "Velero " + version + " was not read: rules and defaults are those of " + LatestReviewedVersion.String() +
		", and no limit proves anything"
}

// LocksForMaintenance reports whether maintenance holds its repository's lock while its Job runs
// (pkg/repository/manager.go PruneRepo in 1.14, pkg/repository/manager/manager.go in 1.15; since 1.16
// backup_repository_controller.go runMaintenanceIfDue takes no lock).
func (v Version) LocksForMaintenance() bool { return v.Before(Version{1, 16, 0}) }

// SchemaVersions are the versions whose CRD of a kind has a given content: from From on, and before Before unless it
// is zero.
type SchemaVersions struct{ Since, Before Version }

// schemaMarkers are fields and phases that a version added, newest first (config/crd/v1/bases, v1.13.2 to v1.18.3).
var schemaMarkers = map[string][]struct {
	spec, status, phase string
	since               Version
}{
	"Backup": {
		{status: "queuePosition", since: Version{1, 18, 0}},
		{spec: "volumeGroupSnapshotLabelKey", since: Version{1, 17, 0}},
	},
	"Restore": {
		{spec: "resourcePolicy", since: Version{1, 18, 3}},
		{phase: PhaseFinalizing, since: Version{1, 14, 0}},
	},
}

// SchemaVersionsOf returns the versions to which a kind's CRD belongs, judged by the properties of spec and status;
// known is false if they show nothing. A server may be newer than its CRDs.
func SchemaVersionsOf(kind string, spec, status map[string]any) (versions SchemaVersions, known bool) {
	if len(spec) == 0 || len(status) == 0 {
		return SchemaVersions{}, false
	}
	phase, _ := status["phase"].(map[string]any)
	phases, _ := phase["enum"].([]any)
	for _, m := range schemaMarkers[kind] {
		_, inSpec := spec[m.spec]
		_, inStatus := status[m.status]
		if m.spec != "" && inSpec || m.status != "" && inStatus ||
			m.phase != "" && slices.Contains(phases, any(m.phase)) {
			versions.Since = m.since
			return versions, true
		}
		versions.Before = m.since
	}
	return versions, versions.Before != Version{}
}

// LikelyVersion returns the oldest version that is certain to be in the range, else the minor version below the upper
// bound.
func (s SchemaVersions) LikelyVersion() Version {
	if s.Since != (Version{}) {
		return s.Since
	}
	return Version{s.Before[0], s.Before[1] - 1, 0}
}

func (s SchemaVersions) String() string {
	switch {
	case s.Since == Version{}:
		return "a version before " + s.Before.String()
	case s.Before == Version{}:
		return s.Since.String() + " or later"
	}
	return s.Since.String() + " or later, but before " + s.Before.String()
}

// Controller is a controller of the server, by its name for --disable-controllers (pkg/constant/constant.go).
type Controller string

const (
	BackupQueueController       Controller = "backup-queue" // since 1.18
	BackupController            Controller = "backup"
	BackupOperationsController  Controller = "backup-operations"
	BackupFinalizerController   Controller = "backup-finalizer"
	RestoreController           Controller = "restore"
	RestoreOperationsController Controller = "restore-operations"
	RestoreFinalizerController  Controller = "restore-finalizer"
	BackupDeletionController    Controller = "backup-deletion"
)

// restoreOnlyDisabled are the controllers that --restore-only leaves out (pkg/cmd/server/server.go runControllers,
// 1.14 to 1.18.3; the queue still runs, and nothing picks up the backups that it makes ready).
var restoreOnlyDisabled = []string{
	string(BackupController),
	string(BackupDeletionController),
	string(BackupFinalizerController),
	string(BackupOperationsController),
	"gc",
	"schedule",
}

func (f *ServerFlags) RunsController(c Controller) bool {
	return !slices.Contains(f.DisabledControllers, string(c))
}

// phaseControllers are the controllers that move a backup and a restore out of a phase.
var phaseControllers = map[string][2]Controller{
	"": {
		BackupController,
		RestoreController,
	},
	PhaseNew:                        {BackupController, RestoreController},
	PhaseInProgress:                 {BackupController, RestoreController},
	PhaseQueued:                     {BackupQueueController},
	PhaseReadyToStart:               {BackupController},
	PhaseWaitingForPluginOperations: {BackupOperationsController, RestoreOperationsController},
	PhaseWaitingForPluginOperationsPartiallyFailed: {BackupOperationsController, RestoreOperationsController},
	PhaseFinalizing:                {BackupFinalizerController, RestoreFinalizerController},
	PhaseFinalizingPartiallyFailed: {BackupFinalizerController, RestoreFinalizerController},
	PhaseDeleting:                  {BackupDeletionController},
}

// FindController returns the controller that moves a job out of its phase; up to 1.17 a Queued or ReadyToStart backup
// has none (backup_controller.go Reconcile), up to 1.13 a restore in Finalizing has none
// (restore_finalizer_controller.go came with 1.14).
func (v Version) FindController(backup bool, phase string) (c Controller, ok bool) {
	isNew, queue := phase == "" || phase == PhaseNew, phase == PhaseQueued || phase == PhaseReadyToStart
	switch {
	case !backup && (phase == PhaseFinalizing || phase == PhaseFinalizingPartiallyFailed) && v.Before(Version{1, 14, 0}):
	case !backup:
		c = phaseControllers[phase][1]
	case isNew && v.QueuesBackups():
		c = BackupQueueController
	case !queue || v.QueuesBackups():
		c = phaseControllers[phase][0]
	}
	return c, c != ""
}
