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

// Current is the version whose source the rules were read in. It stands in for an unknown version, which is then said.
var Current = Version{1, 18, 3}

// versionTag is a tag of Velero's own images, with vendors' suffixes: v1.18.3, v1.14.1_vmware.3, v1.16, 1.17.0-rc.1.
var versionTag = regexp.MustCompile(`^v?(\d{1,3})\.(\d{1,3})(?:\.(\d{1,3}))?(?:[-_+][0-9A-Za-z._+-]*)?$`)

// Versions that a tag is taken for: OADP counts its own releases, from 1.0 to 1.6 by now, and others use dates.
var (
	oldest = Version{1, 10, 0}
	beyond = Version{3, 0, 0}
)

// ParseVersion reads an image's tag. ok is false for main, a digest, or a vendor's 1.5.0.
func ParseVersion(tag string) (v Version, ok bool) {
	parts := versionTag.FindStringSubmatch(tag)
	if parts == nil {
		return Version{}, false
	}
	for i, s := range parts[1:] {
		v[i], _ = strconv.Atoi(s) // at most three digits, or none, which is 0
	}
	if v.Before(oldest) || !v.Before(beyond) {
		return Version{}, false
	}
	return v, true
}

// imageVersion is an image's tag, empty if it has none, as one that is pinned by digest alone.
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

// OADP tags its images with releases of its own, as oadp-1.4 or 1.4.2, each built on one minor
// version of Velero (OKD documentation, "Installing the OADP Operator", table of versions).
var (
	oadpRelease  = regexp.MustCompile(`^(?:oadp-|v)?(1\.\d)(?:[.-].*)?$`)
	oadpVersions = map[string]string{"1.3": "v1.12", "1.4": "v1.14", "1.5": "v1.16"}
)

func (v Version) Before(w Version) bool { return slices.Compare(v[:], w[:]) < 0 }

// within reports whether it is so from one version on and before another, which is zero for ever.
func (v Version) within(since, before Version) bool {
	return !v.Before(since) && (before == Version{} || v.Before(before))
}

func (v Version) String() string { return fmt.Sprintf("v%d.%d.%d", v[0], v[1], v[2]) }

// QueuesBackups: --concurrent-backups run, others wait in a queue. Older servers run one at a time, in
// no visible order (pkg/controller/backup_queue_controller.go, since 1.18.0).
func (v Version) QueuesBackups() bool { return !v.Before(Version{1, 18, 0}) }

// ScopesUnsetFilters: a backup without resource filters filters by scope, not by the older ones
// (pkg/util/collections/includes_excludes.go UseOldResourceFilters, changed in 1.17.0).
func (v Version) ScopesUnsetFilters() bool { return !v.Before(Version{1, 17, 0}) }

// RefusesUnavailableLocation: a job fails its validation unless its location is Available
// (pkg/controller/backup_controller.go and restore_controller.go, BSLIsAvailable, since 1.16.2).
func (v Version) RefusesUnavailableLocation() bool { return !v.Before(Version{1, 16, 2}) }

// ConvertsClaims: every claim goes through its Go type, before only those that a node was selected for
// (pkg/restore/actions/pvc_action.go, since 1.16.0; before change_pvc_node_selector.go and
// add_pv_from_pvc_action.go).
func (v Version) ConvertsClaims() bool { return !v.Before(Version{1, 16, 0}) }

// ListsNewNames: a restore's items have new names, not the backup's (pkg/restore/restore.go, createdName,
// since 1.17.0).
func (v Version) ListsNewNames() bool { return !v.Before(Version{1, 17, 0}) }

// CancelsPodVolumes: pod volumes have spec.cancel (pkg/apis/velero/v1/pod_volume_backup_types.go, since 1.17).
func (v Version) CancelsPodVolumes() bool { return !v.Before(Version{1, 17, 0}) }

// HangsOnCancelledVolume reports whether a backup waits for a cancelled pod volume up to its
// time-out (Velero issue 9464, from 1.17.0 until 1.18.3; pkg/podvolume/backupper.go).
func (v Version) HangsOnCancelledVolume() bool {
	return v.CancelsPodVolumes() && v.Before(Version{1, 18, 3})
}

// MovesInPods: a volume has a pod of its own, data movements since 1.15
// (pkg/datapath/micro_service_watcher.go), pod volumes since 1.17 (pkg/exposer/pod_volume.go).
func (v Version) MovesInPods(kind VolumeKind) bool {
	if kind.IsPodVolume() {
		return !v.Before(Version{1, 17, 0})
	}
	return !v.Before(Version{1, 15, 0})
}

// CancelsAtVolumeTimeout: a backup cancels its pod volumes at their time-out, then waits without a
// limit (pkg/podvolume/backupper.go WaitAllPodVolumesProcessed, since 1.18.3).
func (v Version) CancelsAtVolumeTimeout() bool { return !v.Before(Version{1, 18, 3}) }

// ReadsRestorePolicies reports whether spec.resourcePolicy of a restore selects objects by name
// (pkg/controller/restore_controller.go validateAndComplete; since 1.18.3).
func (v Version) ReadsRestorePolicies() bool { return !v.Before(Version{1, 18, 3}) }

// NamesAgentConfig: node-agents read only the ConfigMap of their arguments (pkg/cmd/cli/nodeagent/server.go,
// since 1.15).
func (v Version) NamesAgentConfig() bool { return !v.Before(Version{1, 15, 0}) }

// GivesUpLastStatus reports whether a job whose last status could not be written is left alone
// (pkg/controller/backup_controller.go and restore_controller.go Reconcile, read up to 1.18).
func (v Version) GivesUpLastStatus() bool { return v.Before(Version{1, 19, 0}) }

// FailsDiffering: a restore lists what exists and differs as failed, later as skipped
// (pkg/restore/restore.go, restoreItem, read up to 1.18.3; Velero pull request 10243).
func FailsDiffering(version string) bool {
	v, known := ParseVersion(version)
	return known && v.Before(Version{1, 19, 0})
}

// IsUnread reports whether a server is newer than the versions that the rules were read in.
func IsUnread(version string) bool {
	v, known := ParseVersion(version)
	return known && !v.Before(Version{Current[0], Current[1] + 1, 0})
}

// UnreadNote says that a server is newer than the versions that the rules were read in, empty if it is not.
func UnreadNote(version string) string {
	if !IsUnread(version) {
		return ""
	}
	return "Velero " + version + " was not read: rules and defaults are those of " + Current.String() +
		", and no limit proves anything"
}

// LocksForMaintenance reports whether maintenance holds its repository's lock while its Job runs
// (pkg/repository/manager.go PruneRepo in 1.14, pkg/repository/manager/manager.go in 1.15; since
// 1.16 backup_repository_controller.go runMaintenanceIfDue takes none).
func (v Version) LocksForMaintenance() bool { return v.Before(Version{1, 16, 0}) }

// SchemaVersions are the versions whose CRD of a kind has a given content: from From on, and before Before if not zero.
type SchemaVersions struct{ From, Before Version }

// schemaMarkers are fields and phases that came with a version, newest first (config/crd/v1/bases, v1.13.2 to v1.18.3).
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

// SchemaVersionsOf tells by the properties of spec and status of a kind's CRD which versions it belongs
// to; known is false if they tell nothing. A server may be newer than its CRDs.
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
			versions.From = m.since
			return versions, true
		}
		versions.Before = m.since
	}
	return versions, versions.Before != Version{}
}

// Likely is the oldest version that is certain to be among them, else the minor version below the upper bound.
func (s SchemaVersions) Likely() Version {
	if s.From != (Version{}) {
		return s.From
	}
	return Version{s.Before[0], s.Before[1] - 1, 0}
}

func (s SchemaVersions) String() string {
	switch {
	case s.From == Version{}:
		return "a version before " + s.Before.String()
	case s.Before == Version{}:
		return s.From.String() + " or later"
	}
	return s.From.String() + " or later, but before " + s.Before.String()
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

// restoreOnly are the controllers that --restore-only leaves out (pkg/cmd/server/server.go
// runControllers, 1.14 to 1.18.3; the queue runs on, and nothing takes what it makes ready).
var restoreOnly = []string{
	string(BackupController),
	string(BackupDeletionController),
	string(BackupFinalizerController),
	string(BackupOperationsController),
	"gc",
	"schedule",
}

func (f *ServerFlags) Runs(c Controller) bool { return !slices.Contains(f.Disabled, string(c)) }

// handlers are the controllers that take a backup and a restore out of a phase.
var handlers = map[string][2]Controller{
	"": {
		BackupController,
		RestoreController,
	},
	PhaseNew:              {BackupController, RestoreController},
	PhaseInProgress:       {BackupController, RestoreController},
	PhaseQueued:           {BackupQueueController},
	PhaseReadyToStart:     {BackupController},
	PhaseWaiting:          {BackupOperationsController, RestoreOperationsController},
	PhaseWaitingPartly:    {BackupOperationsController, RestoreOperationsController},
	PhaseFinalizing:       {BackupFinalizerController, RestoreFinalizerController},
	PhaseFinalizingPartly: {BackupFinalizerController, RestoreFinalizerController},
	PhaseDeleting:         {BackupDeletionController},
}

// Handler is the controller that takes a job out of its phase; up to 1.17 a Queued or ReadyToStart
// backup has none (backup_controller.go Reconcile), up to 1.13 a restore that is finalized
// (restore_finalizer_controller.go came with 1.14).
func (v Version) Handler(backup bool, phase string) (c Controller, ok bool) {
	isNew, queue := phase == "" || phase == PhaseNew, phase == PhaseQueued || phase == PhaseReadyToStart
	switch {
	case !backup && (phase == PhaseFinalizing || phase == PhaseFinalizingPartly) && v.Before(Version{1, 14, 0}):
	case !backup:
		c = handlers[phase][1]
	case isNew && v.QueuesBackups():
		c = BackupQueueController
	case !queue || v.QueuesBackups():
		c = handlers[phase][0]
	}
	return c, c != ""
}
