package preflight

import (
	"fmt"
	"slices"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/velero"
)

// readVolumes takes what Velero stored of the backup's volumes. Of several records
// of a volume the last one counts (pkg/controller/restore_controller.go, runValidatedRestore).
func (c *check) readVolumes() {
	for _, v := range c.Velero.Volumes {
		if v.PersistentVolume != "" {
			c.saved[v.PersistentVolume] = v
		}
		if v.Method == artifact.ByPod && v.Outcome() == artifact.VolumeSaved {
			c.podData[v.PodNamespace+"/"+v.Pod] = true
		}
	}
}

// source is where a restored claim gets its volume.
type source uint8

const (
	newVolume    source = iota // a new one: the claim names none, or Velero drops the name
	sameVolume                 // the one that it names
	nativeVolume               // the one that it names, made of a native snapshot
	eitherVolume               // it depends on what could not be read
)

// volumeOf says where a claim gets its volume (pkg/restore/restore.go of 1.14 to 1.18, restoreItem: it drops
// the names of volumes that it left out itself; pkg/restore/actions/csi/pvc_action.go, Execute and
// restoreFromDataUploadResult).
func (c *check) volumeOf(volume string, inSnapshot bool) source {
	enabled, known := c.enablesCSI()
	drops := inSnapshot || !c.restoresVolumes()
	saved, recorded := c.saved[volume]
	natives := c.Velero.Backup != nil && c.Velero.Backup.Status.VolumeSnapshotsAttempted > 0
	switch {
	case volume == "", drops && enabled && !c.before(1, 14):
		return newVolume
	case drops && (!known || enabled):
		return eitherVolume
	case !c.brings[volumes][volume]:
		return sameVolume
	case saved.Method == artifact.ByPod, saved.Method == artifact.ByCSI:
		return newVolume
	case saved.Method == artifact.ByNative:
		return nativeVolume
	case !c.retained[volume] && (recorded || !natives):
		return newVolume
	case recorded, c.Velero.VolumesUnseen == "" && !natives && !inSnapshot:
		return sameVolume
	}
	return eitherVolume
}

func (c *check) restoresVolumes() bool { return c.Restore.RestorePVs == nil || *c.Restore.RestorePVs }

// bind finds claims that name a volume which Kubernetes does not give them: it is bound to another claim, or was to one
// of the same name, or does not fit (pkg/controller/volume/persistentvolume/pv_controller.go, syncUnboundClaim,
// checkVolumeSatisfyClaim; IsVolumeBoundToClaim). Without a class, the claim may get the default one.
func (c *check) bind(s *storage, i collector.Item, name string, class *string, size int64, gets source) {
	if gets == newVolume || c.Around == nil || !c.Around.Saw(live.PersistentVolumes, "") {
		return
	}
	volume, there := c.Around.Volumes[name]
	claim, brought := i.Target+"/"+i.Name, c.brings[volumes][name]
	_, mapped := c.Restore.NamespaceMapping[i.Namespace]
	free := volume.Claim == "" || volume.Claim == claim && !volume.Used
	g, why := &s.unbound, fmt.Sprintf("%s belongs to %s (%s)", name, volume.Claim, volume.Phase)
	if gets == eitherVolume {
		g = &s.unsure
	}
	switch {
	case !there && !brought:
		why = name + " does not exist, and is not restored"
	case !there:
		return
	case gets == nativeVolume && mapped: // Velero restores it under a new name (shouldRenamePV)
		return
	case c.Restore.ExistingResourcePolicy == velerov1.PolicyTypeUpdate && brought && gets == sameVolume:
		// Velero's patch takes the claim's uid from the volume, and maps its namespace (handleSkippedPVHasRetainPolicy).
		if g, why = &s.taken, name+" from "+volume.Claim; free || volume.Claim == claim {
			return
		}
	case free && size > volume.Size:
		why = name + " is too small"
	case free && class != nil && *class != volume.Class:
		why = name + " is of another storage class"
	case free:
		return
	case volume.Claim == claim:
		why = fmt.Sprintf("%s belongs to an earlier claim of that name (%s)", name, volume.Phase)
	}
	g.add(i.Target, i.Name)
	g.because(why)
}

func (c *check) findUnbound(s *storage) {
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
			human.Plural(
				s.unbound.count,
				"claim names a volume that cannot be bound to it",
				"claims name a volume that cannot be bound to them",
			),
			"%s (%s). They stay Pending.",
			"",
			free,
		},
		{
			&s.unsure,
			Doubt,
			human.Count(s.unsure.count, "claim"),
			"Of %s, Velero may keep the name of a volume that Kubernetes does not give them (%s).",
			" Then they stay Pending. Velero's record of the backup's volumes, or whether it runs with EnableCSI, " +
				"decides and is not known.",
			free,
		},
		{
			&s.taken,
			Doubt,
			human.Count(s.taken.count, "claim"),
			"Velero patches volumes that exist, and gives them to %s (%s). The claims that have them now lose them.",
			"",
			"Restore with existingResourcePolicy none, or leave out the volumes.",
		},
	} {
		if found.count > 0 {
			c.find(
				found.fill(
					Finding{
						Severity: found.severity,
						Reason:   ClaimsNeverBind,
						Resource: claims,
						Remedy:   found.remedy,
						Sentence: fmt.Sprintf(
							found.sentence,
							found.claims,
							human.Shorten(found.why("; "), 300),
						) + found.then,
					},
				),
			)
		}
	}
}

// carried notes what has to bring the data of a claim.
func (c *check) carried(s *storage, i collector.Item, volume string, inSnapshot bool, gets source) {
	enabled, _ := c.enablesCSI()
	switch saved := c.saved[volume]; {
	case !c.restoresVolumes():
	case gets == nativeVolume:
		s.natives.add(i.Target, i.Name)
	case inSnapshot && enabled && saved.DataMoved && (saved.DataMover == "" || saved.DataMover == "velero"):
		s.moved.add(i.Target, i.Name)
	}
}

// findAgents finds that no node-agent brings data. Without their DaemonSet, Velero has an error for each pod
// (pkg/podvolume/restorer.go, RestorePodVolumes); nobody takes up a DataDownload
// (pkg/controller/data_download_controller.go).
func (c *check) findAgents(s *storage) {
	v, n := &c.Velero, s.pods.count+s.moved.count
	switch {
	case n == 0, slices.ContainsFunc(v.Agents, func(a velero.Agent) bool { return a.Ready }):
		return
	case v.AgentsUnseen != "":
		c.notLooked(
			"whether node-agents run, which bring the data of "+human.Plural(n, "pod or claim", "pods or claims"),
			v.AgentsUnseen,
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
	if s.pods.count > 0 {
		f.Resource, f.Sentence = pods, fmt.Sprintf(
			"%s, and %s file-system backups. Velero reports an error for each, and does not bring their data back.",
			none,
			human.Plural(s.pods.count, "pod has", "pods have"),
		)
		c.find(s.pods.fill(f))
	}
	if s.moved.count > 0 {
		f.Resource, f.Sentence = claims, fmt.Sprintf(
			"%s to bring back the moved data of %s. Their DataDownloads wait for one until they time out (%s), and the "+
				"claims stay Pending.",
			none,
			human.Count(s.moved.count, "claim"),
			human.Duration(v.Server.Flags.ItemOperationTimeout),
		)
		c.find(s.moved.fill(f))
	}
}

// findLocations finds missing snapshot locations (pkg/restore/pv_restorer.go, getSnapshotInfo).
func (c *check) findLocations(s *storage) {
	if s.natives.count == 0 || c.Velero.Backup == nil || c.Velero.Backup.Status.VolumeSnapshotsAttempted == 0 ||
		!c.Around.Saw(live.SnapshotLocations, c.Velero.Backup.Namespace) {
		return
	}
	all := c.Velero.Backup.Spec.VolumeSnapshotLocations
	missing := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return c.Around.Locations[name] })
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
			human.Count(s.natives.count, "claim"),
			human.List(missing, 3),
			verb(len(missing), "does not exist", "do not exist"),
		),
		Remedy: "Create it, with the provider and the configuration that the backup was made with.",
	}
	if len(missing) < len(all) {
		f.Severity = Doubt
		f.Sentence += " Others of the backup exist: only volumes of that provider are concerned."
	}
	c.find(s.natives.fill(f))
}

// crash: Velero looks up the class of a claim that is Pending when the restore ends, and takes it for granted that it
// names one (pkg/controller/restore_finalizer_controller.go, patchDynamicPVWithVolumeInfo; 1.14 to 1.18.3).
func (c *check) crash(n int) string {
	if n == 0 || c.before(1, 14) || velero.IsUnread(c.Velero.Server.Version) {
		return ""
	}
	return fmt.Sprintf(
		" %s a file-system backup or a CSI snapshot: Velero's server crashes on them when the restore ends, and again "+
			"each time it starts.",
		human.Plural(n, "of them has", "of them have"),
	)
}
