package preflight

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// collectVolumes collects Velero's records of the backup's volumes. Of several records of a volume, the last one
// counts (pkg/controller/restore_controller.go, runValidatedRestore).
func (c *checker) collectVolumes() {
	for _, v := range c.Velero.Volumes {
		if v.PersistentVolume != "" {
			c.savedVolumes[v.PersistentVolume] = v
		}
		if v.Method == artifact.MethodPodVolumeBackup && v.Outcome() == artifact.VolumeSaved {
			c.podsWithVolumeBackups[v.PodNamespace+"/"+v.Pod] = true
		}
	}
}

// volumeSource says where a restored claim gets its volume.
type volumeSource uint8

const (
	sourceNewVolume      volumeSource = iota // a new volume: the claim names none, or Velero drops the name
	sourceNamedVolume                        // the volume that the claim names
	sourceNativeSnapshot                     // the volume that the claim names, made from a native snapshot
	sourceUnknown                            // depends on what could not be read
)

// claimVolumeSource returns where a claim gets its volume (pkg/restore/restore.go of 1.14 to 1.18, restoreItem:
// Velero drops the names of volumes that it left out itself; pkg/restore/actions/csi/pvc_action.go, Execute and
// restoreFromDataUploadResult).
func (c *checker) claimVolumeSource(volume string, inSnapshot bool) volumeSource {
	enabled, known := c.enablesCSI()
	drops := inSnapshot || !c.restoresVolumes()
	saved, recorded := c.savedVolumes[volume]
	natives := c.Velero.Backup != nil && c.Velero.Backup.Status.VolumeSnapshotsAttempted > 0
	switch {
	case volume == "", drops && enabled && !c.isServerBefore(1, 14):
		return sourceNewVolume
	case drops && (!known || enabled):
		return sourceUnknown
	case !c.provided[volumes][volume]:
		return sourceNamedVolume
	case saved.Method == artifact.MethodPodVolumeBackup, saved.Method == artifact.MethodCSISnapshot:
		return sourceNewVolume
	case saved.Method == artifact.MethodNativeSnapshot:
		return sourceNativeSnapshot
	case !c.retainedVolumes[volume] && (recorded || !natives):
		return sourceNewVolume
	case recorded, c.Velero.VolumesUnchecked == "" && !natives && !inSnapshot:
		return sourceNamedVolume
	}
	return sourceUnknown
}

func (c *checker) restoresVolumes() bool { return c.Restore.RestorePVs == nil || *c.Restore.RestorePVs }

// claimModes is how a claim wants to use its volume.
type claimModes struct {
	block  bool
	access []corev1.PersistentVolumeAccessMode
}

// mismatch says why a volume that is free does not fit (pkg/controller/volume/persistentvolume/pv_controller.go,
// checkVolumeSatisfyClaim), empty if it fits. Kubernetes does not check a volume that is kept for the claim.
func (m claimModes) mismatch(v live.VolumeSummary) string {
	switch {
	case v.Claim != "":
		return ""
	case m.block != v.Block:
		return "is of another volumeMode"
	case slices.ContainsFunc(m.access, func(mode corev1.PersistentVolumeAccessMode) bool {
		return !slices.Contains(v.AccessModes, mode)
	}):
		return "has other access modes"
	}
	return ""
}

// collectBinding finds claims whose named volume Kubernetes does not bind to them: the volume is bound to another
// claim, was bound to a claim of the same name, or does not fit
// (pkg/controller/volume/persistentvolume/pv_controller.go, syncUnboundClaim, checkVolumeSatisfyClaim;
// IsVolumeBoundToClaim). Without a class, the claim may get the default one.
func (c *checker) collectBinding(
	s *storageNeeds,
	i collector.Item,
	name string,
	class *string,
	size int64,
	modes claimModes,
	gets volumeSource,
) {
	if gets == sourceNewVolume || c.Environment == nil || !c.Environment.WasChecked(live.PersistentVolumes, "") {
		return
	}
	volume, there := c.Environment.Volumes[name]
	claim, brought := i.TargetNamespace+"/"+i.Name, c.provided[volumes][name]
	_, mapped := c.Restore.NamespaceMapping[i.Namespace]
	free := volume.Claim == "" || volume.Claim == claim && !volume.ClaimHadUID
	g, why := &s.unbound, fmt.Sprintf("%s belongs to %s (%s)", name, volume.Claim, volume.Phase)
	if gets == sourceUnknown {
		g = &s.maybeUnbound
	}
	switch {
	case !there && !brought:
		why = name + " does not exist, and is not restored"
	case !there:
		return
	case gets == sourceNativeSnapshot && mapped: // Velero restores it under a new name (shouldRenamePV)
		return
	case c.Restore.ExistingResourcePolicy == veleroapi.PolicyTypeUpdate && brought && gets == sourceNamedVolume:
		// Velero's patch takes the claim's uid from the volume, and maps its namespace (handleSkippedPVHasRetainPolicy).
		if g, why = &s.takenVolumes, name+" from "+volume.Claim; free || volume.Claim == claim {
			return
		}
	case free && size > volume.Size:
		why = name + " is too small"
	case free && class != nil && *class != volume.Class:
		why = name + " is of another storage class"
	case free && modes.mismatch(volume) != "":
		why = name + " " + modes.mismatch(volume)
	case free:
		return
	case volume.Claim == claim:
		why = fmt.Sprintf("%s belongs to an earlier claim of that name (%s)", name, volume.Phase)
	}
	g.addItem(i.TargetNamespace, i.Name)
	g.addReasons(why)
}

func (c *checker) checkUnbound(s *storageNeeds) {
	const free = "Delete those claims first if these are to replace them. Free a Released volume: " +
		"kubectl patch pv NAME --type json -p '[{\"op\":\"remove\",\"path\":\"/spec/claimRef\"}]'. " +
		"For new and empty volumes, have a resource modifier remove spec.volumeName."
	for _, found := range []struct {
		*group
		severity                       Severity
		claims, sentence, then, remedy string
	}{
		{
			&s.unbound,
			Obstacle,
			human.CountForms(
				s.unbound.count,
				"claim names a volume that cannot be bound to it",
				"claims name a volume that cannot be bound to them",
			),
			"%s (%s). They stay Pending.",
			"",
			free,
		},
		{
			&s.maybeUnbound,
			Doubt,
			human.Count(s.maybeUnbound.count, "claim"),
			"Of %s, Velero may keep the name of a volume that Kubernetes does not give them (%s).",
			" Then they stay Pending. Velero's record of the backup's volumes, or whether it runs with EnableCSI, " +
				"decides and is not known.",
			free,
		},
		{
			&s.takenVolumes,
			Doubt,
			human.Count(s.takenVolumes.count, "claim"),
			"Velero patches volumes that exist, and gives them to %s (%s). The claims that have them now lose them.",
			"",
			"Restore with existingResourcePolicy none, or leave out the volumes.",
		},
	} {
		if found.count > 0 {
			c.addFinding(
				found.fillFinding(
					Finding{
						Severity: found.severity,
						Reason:   ClaimsNeverBind,
						Resource: claims,
						Remedy:   found.remedy,
						Sentence: fmt.Sprintf(
							found.sentence,
							found.claims,
							human.Shorten(found.joinReasons("; "), 300),
						) + found.then,
					},
				),
			)
		}
	}
}

// collectDataCarriers notes what has to bring the data of a claim.
func (c *checker) collectDataCarriers(
	s *storageNeeds,
	i collector.Item,
	volume string,
	inSnapshot bool,
	gets volumeSource,
) {
	enabled, _ := c.enablesCSI()
	switch saved := c.savedVolumes[volume]; {
	case !c.restoresVolumes():
	case gets == sourceNativeSnapshot:
		s.nativeClaims.addItem(i.TargetNamespace, i.Name)
	case inSnapshot && enabled && saved.DataMoved && (saved.DataMover == "" || saved.DataMover == "velero"):
		s.movedClaims.addItem(i.TargetNamespace, i.Name)
	}
}

// checkAgents finds data that no node-agent brings. Without the node-agents' DaemonSet, Velero reports an error for
// each pod (pkg/podvolume/restorer.go, RestorePodVolumes), and nobody picks up a DataDownload
// (pkg/controller/data_download_controller.go).
func (c *checker) checkAgents(s *storageNeeds) {
	v, n := &c.Velero, s.agentPods.count+s.movedClaims.count
	switch {
	case n == 0, slices.ContainsFunc(v.Agents, func(a velero.NodeAgent) bool { return a.Ready }):
		return
	case v.AgentsUnchecked != "":
		c.addUnchecked(
			"whether node-agents run, which bring the data of "+human.CountForms(n, "pod or claim", "pods or claims"),
			v.AgentsUnchecked,
		)
		return
	}
	f := Finding{
		Severity: Obstacle,
		Reason:   NodeAgentMissing,
		Remedy:   "Install the node-agent: velero install --use-node-agent, or deployNodeAgent in the Helm chart.",
	}
	none := "No node-agent runs"
	if len(v.Agents) > 0 {
		f.Severity, f.Remedy, none = Doubt, "Look at the node-agents' pods.", "No node-agent is ready"
	}
	if s.agentPods.count > 0 {
		f.Resource, f.Sentence = pods, fmt.Sprintf(
			"%s, and %s file-system backups. Velero reports an error for each, and does not bring their data back.",
			none,
			human.CountForms(s.agentPods.count, "pod has", "pods have"),
		)
		c.addFinding(s.agentPods.fillFinding(f))
	}
	if s.movedClaims.count > 0 {
		f.Resource, f.Sentence = claims, fmt.Sprintf(
			"%s to bring back the moved data of %s. Their DataDownloads wait for one until they time out (%s), and the "+
				"claims stay Pending.",
			none,
			human.Count(s.movedClaims.count, "claim"),
			human.Duration(v.Server.Flags.ItemOperationTimeout),
		)
		c.addFinding(s.movedClaims.fillFinding(f))
	}
}

// checkSnapshotLocations finds missing snapshot locations (pkg/restore/pv_restorer.go, getSnapshotInfo).
func (c *checker) checkSnapshotLocations(s *storageNeeds) {
	if s.nativeClaims.count == 0 || c.Velero.Backup == nil || c.Velero.Backup.Status.VolumeSnapshotsAttempted == 0 ||
		!c.Environment.WasChecked(live.SnapshotLocations, c.Velero.Backup.Namespace) {
		return
	}
	all := c.Velero.Backup.Spec.VolumeSnapshotLocations
	missing := slices.DeleteFunc(
		slices.Clone(all),
		func(name string) bool { return c.Environment.SnapshotLocations[name] },
	)
	if len(missing) == 0 {
		return
	}
	f := Finding{
		Severity: Obstacle,
		Reason:   SnapshotLocationMissing,
		Resource: claims,
		Sentence: fmt.Sprintf(
			"The volumes of %s are in native snapshots, and the VolumeSnapshotLocation %s of the backup %s. Velero "+
				"reports an error for each volume, and the claims stay Pending.",
			human.Count(s.nativeClaims.count, "claim"),
			human.JoinNames(missing, 3),
			pluralVerb(len(missing), "does not exist", "do not exist"),
		),
		Remedy: "Create it, with the provider and the configuration that the backup was made with.",
	}
	if len(missing) < len(all) {
		f.Severity = Doubt
		f.Sentence += " Others of the backup exist: only volumes of that provider are concerned."
	}
	c.addFinding(s.nativeClaims.fillFinding(f))
}

// crashText says that Velero's server crashes: it looks up the class of a claim that is Pending when the restore
// ends, and assumes that the claim names one (pkg/controller/restore_finalizer_controller.go,
// patchDynamicPVWithVolumeInfo; 1.14 to 1.18.3).
func (c *checker) crashText(n int) string {
	if n == 0 || c.isServerBefore(1, 14) || velero.IsUnreviewedVersion(c.Velero.Server.Version) {
		return ""
	}
	return fmt.Sprintf(
		" %s a file-system backup or a CSI snapshot: Velero's server crashes on them when the restore ends, and again "+
			"each time it starts.",
		human.CountForms(n, "of them has", "of them have"),
	)
}
