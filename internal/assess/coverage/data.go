package coverage

import (
	"cmp"
	"slices"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	corev1 "k8s.io/api/core/v1"
)

// claim is whether the next backup takes a claim with its data.
func (p *plan) claim(c *corev1.PersistentVolumeClaim) Verdict {
	if v := p.object(Claims, c); v.Answer != Yes {
		return v
	}
	return p.data(c)
}

// volume is a claim as the rules for its data see it.
type volume struct {
	*corev1.PersistentVolumeClaim
	pv     *corev1.PersistentVolume
	mounts []mount
	action string // what a volume policy wants, empty for none
	policy volumePolicy
}

// data is whether the data of a claim that is taken is saved: by a copy out of a pod, or by a snapshot.
func (p *plan) data(c *corev1.PersistentVolumeClaim) Verdict {
	v := volume{PersistentVolumeClaim: c, mounts: p.mounts[c.Namespace+"/"+c.Name]}
	if bound(c) {
		v.pv = p.Volumes[c.Spec.VolumeName]
	}
	v.policy = volumePolicyFor(p.volumes, v.pv, c)
	v.action = v.policy.Action.Type
	byDefault, known := p.byDefault()
	switch {
	case bound(c) && v.pv == nil && p.Unseen[Volumes] != "":
		return unknown(NotSeen, "its volume cannot be read: "+p.Unseen[Volumes])
	case bound(c) && v.pv == nil:
		return leftOut(VolumeMissing, "its volume "+c.Spec.VolumeName+" does not exist")
	case v.action == "skip":
		return leftOut(PolicySkips, v.policy.title+" of ConfigMap "+v.policy.configMap+" skips it")
	case !bound(c):
		return leftOut(NotBound, "the claim has no volume: its phase is "+cmp.Or(string(c.Status.Phase), "not set"))
	case v.action == "custom":
		return unknown(PolicyCustom, v.policy.title+" of ConfigMap "+v.policy.configMap+" leaves it to a plugin")
	case p.Unseen[Pods] != "" && v.action != "snapshot":
		return unknown(NotSeen, "pods cannot be read: "+p.Unseen[Pods])
	case !known && v.action == "" && len(v.mounts) > 0:
		return unknown(ServerUnknown, "the server's default of defaultVolumesToFsBackup is not known")
	}
	copied, wanted := p.copied(v, byDefault)
	if wanted && (copied.Answer == Yes || v.action != "" || len(v.mounts) > 0) {
		return copied
	}
	snapshot := p.snapshot(v)
	if snapshot.Answer == Yes || v.action != "" {
		return snapshot
	}
	return p.neither(v, byDefault, snapshot)
}

// byDefault is spec.defaultVolumesToFsBackup, or the server's (backup_controller.go, prepareBackupRequest).
func (p *plan) byDefault() (yes, known bool) {
	//lint:ignore SA1019 Velero still reads it
	if old := p.spec.DefaultVolumesToRestic; old != nil && *old {
		return true, true
	}
	if set := p.spec.DefaultVolumesToFsBackup; set != nil {
		return *set, true
	}
	return p.Server.Flags.DefaultToFS, p.serverSeen()
}

func (p *plan) serverSeen() bool { return p.Server.Visible && p.Server.Name != "" }

func listed(pod *corev1.Pod, annotation, volume string) bool {
	return slices.Contains(strings.Split(pod.Annotations[annotation], ","), volume)
}

// copied is whether a pod's copy has the data, and whether one is wanted (volume_policy_helper.go,
// ShouldPerformFSBackup; podvolume/backupper.go, BackupPodVolumes). A pod that is left out still stops the snapshot.
func (p *plan) copied(v volume, byDefault bool) (found Verdict, wanted bool) {
	if v.action == "fs-backup" {
		found, wanted = leftOut(
			NotMounted,
			v.policy.title+" wants a file system backup, and no pod mounts the claim",
		), true
	}
	for _, m := range v.mounts {
		legacy := byDefault && !listed(m.pod, velerov1.VolumesToExcludeAnnotation, m.volume) ||
			!byDefault && listed(m.pod, velerov1.VolumesToBackupAnnotation, m.volume)
		if v.action == "snapshot" || v.action == "" && !legacy {
			continue
		}
		wanted = true
		if found = p.copiedBy(v, m); found.Answer == Yes {
			return found, true
		}
	}
	return found, wanted
}

func (p *plan) copiedBy(v volume, m mount) Verdict {
	pod := "pod " + m.pod.Name
	mounted, attached := false, false
	for _, c := range m.pod.Spec.Containers {
		mounted = mounted ||
			slices.ContainsFunc(c.VolumeMounts, func(m2 corev1.VolumeMount) bool { return m2.Name == m.volume })
		attached = attached ||
			slices.ContainsFunc(c.VolumeDevices, func(d corev1.VolumeDevice) bool { return d.Name == m.volume })
	}
	switch out := p.object(Pods, m.pod); {
	case out.Answer == No:
		return leftOut(PodNotTaken, "a file system backup needs "+pod+", which the backup leaves out: "+out.Why)
	case out.Answer == Unknown:
		return out
	case strings.HasPrefix(m.volume, "default-token"):
		return leftOut(OptedOut, "Velero leaves out volumes whose names begin with default-token")
	case v.pv.Spec.HostPath != nil:
		return leftOut(HostPath, "its volume is a hostPath, which Velero does not back up")
	case !running(m.pod):
		return leftOut(PodNotRunning, pod+" does not run, so Velero does not read its volumes")
	case !p.agents[m.pod.Spec.NodeName]:
		return leftOut(NoNodeAgent, "no node-agent runs on node "+m.pod.Spec.NodeName+" of "+pod)
	case attached:
		return leftOut(BlockVolume, "it is a block volume, which a file system backup cannot read")
	case !mounted:
		return leftOut(NotMounted, "no container of "+pod+" mounts it")
	}
	return taken
}

// snapshot is whether a snapshot has the data (item_backupper.go, executeActions and takePVSnapshot;
// actions/csi/pvc_action.go).
func (p *plan) snapshot(v volume) Verdict {
	off := p.spec.SnapshotVolumes != nil && !*p.spec.SnapshotVolumes
	switch {
	case off && v.action != "snapshot":
		return leftOut(SnapshotsOff, "snapshotVolumes is false")
	case v.pv.Spec.CSI != nil && !p.serverSeen():
		return unknown(ServerUnknown, "whether the server has the feature EnableCSI is not known")
	case v.pv.Spec.CSI != nil && slices.Contains(p.Server.Flags.Features, velerov1.CSIFeatureFlag):
		return p.csiSnapshot(v)
	case p.kind(Volumes).Answer != Yes:
		return leftOut(KindExcluded, "the schedule's filters of resources leave out its PersistentVolume")
	case labelledOut(v.pv):
		return leftOut(LabelExcluded, "the label velero.io/exclude-from-backup=true excludes its PersistentVolume")
	case p.Unseen[SnapshotPlaces] != "":
		return unknown(NotSeen, "volume snapshot locations cannot be read: "+p.Unseen[SnapshotPlaces])
	case len(p.SnapshotPlaces) > 0:
		return unknown(
			PluginDecides,
			"the plugin of a volume snapshot location decides whether it can snapshot the volume",
		)
	case v.pv.Spec.CSI != nil:
		return leftOut(CSIOff, "its volume is CSI, and the server runs without the feature EnableCSI")
	}
	return leftOut(
		NotSnapshottable,
		"its volume is "+cmp.Or(
			volumeType(v.pv.Spec.PersistentVolumeSource),
			"of no known type",
		)+", which no CSI driver and no volume snapshot location serves",
	)
}

func (p *plan) csiSnapshot(v volume) Verdict {
	if v.Spec.StorageClassName == nil {
		return leftOut(NoStorageClass, "the claim names no storage class, so Velero finds no VolumeSnapshotClass")
	}
	class := *v.Spec.StorageClassName
	driver, exists := p.Classes[class]
	for _, resource := range []string{StorageClasses, SnapshotClasses} {
		if why := p.Unseen[resource]; why != "" {
			return unknown(NotSeen, resource+" cannot be read: "+why)
		}
	}
	builtIn := p.spec.DataMover == "" || p.spec.DataMover == "velero"
	switch moves := p.spec.SnapshotMoveData; {
	case !exists:
		return leftOut(NoStorageClass, "its storage class "+class+" does not exist")
	case !p.hasSnapshotClass(v, driver):
		return leftOut(
			NoSnapshotClass,
			"no VolumeSnapshotClass fits driver "+driver+", or several do and none is marked",
		)
	case (moves != nil && *moves || moves == nil && p.Server.Flags.MoveData) && builtIn && len(p.agents) == 0:
		return leftOut(NoNodeAgent, "its snapshot is to be moved, and no node-agent runs")
	}
	return taken
}

// hasSnapshotClass is as in pkg/util/csi/volume_snapshot.go, GetVolumeSnapshotClass.
func (p *plan) hasSnapshotClass(v volume, driver string) bool {
	named := []string{
		v.Annotations[velerov1.VolumeSnapshotClassDriverPVCAnnotation],
		p.Annotations[velerov1.VolumeSnapshotClassDriverBackupAnnotationPrefix+"_"+strings.ToLower(driver)],
	}
	fitting := 0
	for _, c := range p.SnapshotClasses {
		if slices.ContainsFunc(named, func(n string) bool { return strings.EqualFold(n, c.Name) }) &&
			strings.EqualFold(c.Driver, driver) ||
			c.Driver == driver && c.Default {
			return true
		}
		if c.Driver == driver {
			fitting++
		}
	}
	return fitting == 1
}

// neither chooses the rule to name where no copy is wanted and no snapshot is possible.
func (p *plan) neither(v volume, byDefault bool, snapshot Verdict) Verdict {
	optedOut := func(m mount) bool { return listed(m.pod, velerov1.VolumesToExcludeAnnotation, m.volume) }
	fixable := slices.Contains(
		[]Reason{NoSnapshotClass, NoStorageClass, NoNodeAgent, CSIOff, LabelExcluded},
		snapshot.Reason,
	)
	switch {
	case snapshot.Answer == Unknown:
		return snapshot
	case v.pv.Spec.HostPath != nil:
		return leftOut(HostPath, "its volume is a hostPath, which Velero does not back up")
	case byDefault && slices.ContainsFunc(v.mounts, optedOut):
		return leftOut(
			OptedOut,
			"the annotation "+velerov1.VolumesToExcludeAnnotation+" of a pod excludes it, and "+snapshot.Why,
		)
	case fixable, snapshot.Reason == SnapshotsOff && !byDefault:
		return snapshot
	case byDefault, len(v.mounts) == 0:
		return leftOut(NotMounted, "no pod mounts it for a file system backup, and "+snapshot.Why)
	}
	return leftOut(NotOptedIn, "no pod's annotation "+velerov1.VolumesToBackupAnnotation+" names it, and "+snapshot.Why)
}
