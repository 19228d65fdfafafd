package coverage

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// judgeClaim judges whether the next backup includes a claim with its data.
func (p *backupPlan) judgeClaim(c *corev1.PersistentVolumeClaim) Verdict {
	if v := p.judgeObject(Claims, c); v.Answer != Yes {
		return v
	}
	return p.judgeData(c)
}

// claimVolume is a claim with what the rules for its data need.
type claimVolume struct {
	*corev1.PersistentVolumeClaim
	pv           *corev1.PersistentVolume
	mounts       []mount
	policyAction string // what a volume policy requests, empty for none
	policy       volumePolicy
}

// judgeData judges whether the data of an included claim is saved: by a copy out of a pod, or by a snapshot.
func (p *backupPlan) judgeData(c *corev1.PersistentVolumeClaim) Verdict {
	v := claimVolume{PersistentVolumeClaim: c, mounts: p.mounts[c.Namespace+"/"+c.Name]}
	if isBound(c) {
		v.pv = p.Volumes[c.Spec.VolumeName]
	}
	v.policy = volumePolicyFor(p.volumePolicies, v.pv, c)
	v.policyAction = v.policy.Action.Type
	byDefault, known := p.defaultsToFSBackup()
	switch {
	case isBound(c) && v.pv == nil && p.Unchecked[Volumes] != "":
		return unknownVerdict(NotSeen, "its volume cannot be read: "+p.Unchecked[Volumes])
	case isBound(c) && v.pv == nil:
		return excludedVerdict(VolumeMissing, "its volume "+c.Spec.VolumeName+" does not exist")
	case v.policyAction == "skip":
		return excludedVerdict(PolicySkips, v.policy.title+" of ConfigMap "+v.policy.configMap+" skips it")
	case !isBound(c):
		return excludedVerdict(NotBound, "the claim has no volume: its phase is "+cmp.Or(string(c.Status.Phase), "not set"))
	case v.policyAction == "custom":
		return unknownVerdict(PolicyCustom, v.policy.title+" of ConfigMap "+v.policy.configMap+" leaves it to a plugin")
	case p.Unchecked[Pods] != "" && v.policyAction != "snapshot":
		return unknownVerdict(NotSeen, "pods cannot be read: "+p.Unchecked[Pods])
	case !known && v.policyAction == "" && len(v.mounts) > 0:
		return unknownVerdict(ServerUnknown, "the server's default of defaultVolumesToFsBackup is not known")
	}
	copied, wanted := p.judgeFSBackup(v, byDefault)
	if wanted && (copied.Answer == Yes || v.policyAction != "" || len(v.mounts) > 0) {
		return copied
	}
	snapshot := p.judgeSnapshot(v)
	if snapshot.Answer == Yes || v.policyAction != "" {
		return snapshot
	}
	return p.judgeNoCopy(v, byDefault, snapshot)
}

// defaultsToFSBackup returns spec.defaultVolumesToFsBackup, or the server's default (backup_controller.go,
// prepareBackupRequest).
func (p *backupPlan) defaultsToFSBackup() (yes, known bool) {
	//lint:ignore SA1019 Velero still reads it
	if old := p.spec.DefaultVolumesToRestic; old != nil && *old {
		return true, true
	}
	if set := p.spec.DefaultVolumesToFsBackup; set != nil {
		return *set, true
	}
	return p.Server.Flags.DefaultVolumesToFSBackup, p.isServerKnown()
}

func (p *backupPlan) isServerKnown() bool { return p.Server.Visible && p.Server.Name != "" }

func annotationLists(pod *corev1.Pod, annotation, volume string) bool {
	return slices.Contains(strings.Split(pod.Annotations[annotation], ","), volume)
}

// judgeFSBackup judges whether a pod's copy has the data, and whether a copy is wanted (volume_policy_helper.go,
// ShouldPerformFSBackup; podvolume/backupper.go, BackupPodVolumes). A pod that is left out still prevents the
// snapshot.
func (p *backupPlan) judgeFSBackup(v claimVolume, byDefault bool) (found Verdict, wanted bool) {
	if v.policyAction == "fs-backup" {
		found, wanted = excludedVerdict(
			NotMounted,
			v.policy.title+" wants a file system backup, and no pod mounts the claim",
		), true
	}
	for _, m := range v.mounts {
		legacy := byDefault && !annotationLists(m.pod, veleroapi.VolumesToExcludeAnnotation, m.volume) ||
			!byDefault && annotationLists(m.pod, veleroapi.VolumesToBackupAnnotation, m.volume)
		if v.policyAction == "snapshot" || v.policyAction == "" && !legacy {
			continue
		}
		wanted = true
		if found = p.judgePodFSBackup(v, m); found.Answer == Yes {
			return found, true
		}
	}
	return found, wanted
}

func (p *backupPlan) judgePodFSBackup(v claimVolume, m mount) Verdict {
	pod := "pod " + m.pod.Name
	mounted, attached := false, false
	for _, c := range m.pod.Spec.Containers {
		mounted = mounted ||
			slices.ContainsFunc(c.VolumeMounts, func(m2 corev1.VolumeMount) bool { return m2.Name == m.volume })
		attached = attached ||
			slices.ContainsFunc(c.VolumeDevices, func(d corev1.VolumeDevice) bool { return d.Name == m.volume })
	}
	switch out := p.judgeObject(Pods, m.pod); {
	case out.Answer == No:
		return excludedVerdict(
			PodNotTaken,
			"a file system backup needs "+pod+", which the backup leaves out: "+out.ReasonText,
		)
	case out.Answer == Unknown:
		return out
	case strings.HasPrefix(m.volume, "default-token"):
		return excludedVerdict(OptedOut, "Velero leaves out volumes whose names begin with default-token")
	case v.pv.Spec.HostPath != nil:
		return excludedVerdict(HostPath, "its volume is a hostPath, which Velero does not back up")
	case !isPodRunning(m.pod):
		return excludedVerdict(PodNotRunning, pod+" does not run, so Velero does not read its volumes")
	case !p.agents[m.pod.Spec.NodeName]:
		return excludedVerdict(NoNodeAgent, "no node-agent runs on node "+m.pod.Spec.NodeName+" of "+pod)
	case attached:
		return excludedVerdict(BlockVolume, "it is a block volume, which a file system backup cannot read")
	case !mounted:
		return excludedVerdict(NotMounted, "no container of "+pod+" mounts it")
	}
	return includedVerdict
}

// judgeSnapshot judges whether a snapshot has the data (item_backupper.go, executeActions and takePVSnapshot;
// actions/csi/pvc_action.go).
func (p *backupPlan) judgeSnapshot(v claimVolume) Verdict {
	off := p.spec.SnapshotVolumes != nil && !*p.spec.SnapshotVolumes
	switch {
	case off && v.policyAction != "snapshot":
		return excludedVerdict(SnapshotsOff, "snapshotVolumes is false")
	case v.pv.Spec.CSI != nil && !p.isServerKnown():
		return unknownVerdict(ServerUnknown, "whether the server has the feature EnableCSI is not known")
	case v.pv.Spec.CSI != nil && slices.Contains(p.Server.Flags.Features, veleroapi.CSIFeatureFlag):
		return p.judgeCSISnapshot(v)
	case p.judgeKind(Volumes).Answer != Yes:
		return excludedVerdict(KindExcluded, "the schedule's filters of resources leave out its PersistentVolume")
	case isExcludedByLabel(v.pv):
		return excludedVerdict(LabelExcluded, "the label velero.io/exclude-from-backup=true excludes its PersistentVolume")
	case p.Unchecked[VolumeSnapshotLocations] != "":
		return unknownVerdict(NotSeen, "volume snapshot locations cannot be read: "+p.Unchecked[VolumeSnapshotLocations])
	case len(p.VolumeSnapshotLocations) > 0:
		return unknownVerdict(
			PluginDecides,
			"the plugin of a volume snapshot location decides whether it can snapshot the volume",
		)
	case v.pv.Spec.CSI != nil:
		return excludedVerdict(CSIOff, "its volume is CSI, and the server runs without the feature EnableCSI")
	}
	return excludedVerdict(
		NotSnapshottable,
		"its volume is "+cmp.Or(
			volumeType(v.pv.Spec.PersistentVolumeSource),
			"of no known type",
		)+", which no CSI driver and no volume snapshot location serves",
	)
}

func (p *backupPlan) judgeCSISnapshot(v claimVolume) Verdict {
	if v.Spec.StorageClassName == nil {
		return excludedVerdict(NoStorageClass, "the claim names no storage class, so Velero finds no VolumeSnapshotClass")
	}
	class := *v.Spec.StorageClassName
	driver, exists := p.Provisioners[class]
	for _, resource := range []string{StorageClasses, SnapshotClasses} {
		if why := p.Unchecked[resource]; why != "" {
			return unknownVerdict(NotSeen, resource+" cannot be read: "+why)
		}
	}
	builtIn := p.spec.DataMover == "" || p.spec.DataMover == "velero"
	switch moves := p.spec.SnapshotMoveData; {
	case !exists:
		return excludedVerdict(NoStorageClass, "its storage class "+class+" does not exist")
	case !p.hasSnapshotClass(v, driver):
		return excludedVerdict(
			NoSnapshotClass,
			"no VolumeSnapshotClass fits driver "+driver+", or several do and none is marked",
		)
	case (moves != nil && *moves || moves == nil && p.Server.Flags.DefaultSnapshotMoveData) &&
		builtIn && len(p.agents) == 0:
		return excludedVerdict(NoNodeAgent, "its snapshot is to be moved, and no node-agent runs")
	}
	return includedVerdict
}

// hasSnapshotClass follows pkg/util/csi/volume_snapshot.go, GetVolumeSnapshotClass.
func (p *backupPlan) hasSnapshotClass(v claimVolume, driver string) bool {
	named := []string{
		v.Annotations[veleroapi.VolumeSnapshotClassDriverPVCAnnotation],
		p.Annotations[veleroapi.VolumeSnapshotClassDriverBackupAnnotationPrefix+"_"+strings.ToLower(driver)],
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

// judgeNoCopy chooses the rule to name if no copy is wanted and no snapshot is possible.
func (p *backupPlan) judgeNoCopy(v claimVolume, byDefault bool, snapshot Verdict) Verdict {
	optedOut := func(m mount) bool { return annotationLists(m.pod, veleroapi.VolumesToExcludeAnnotation, m.volume) }
	fixable := slices.Contains(
		[]Reason{NoSnapshotClass, NoStorageClass, NoNodeAgent, CSIOff, LabelExcluded},
		snapshot.Reason,
	)
	switch {
	case snapshot.Answer == Unknown:
		return snapshot
	case v.pv.Spec.HostPath != nil:
		return excludedVerdict(HostPath, "its volume is a hostPath, which Velero does not back up")
	case byDefault && slices.ContainsFunc(v.mounts, optedOut):
		return excludedVerdict(
			OptedOut,
			"the annotation "+veleroapi.VolumesToExcludeAnnotation+" of a pod excludes it, and "+snapshot.ReasonText,
		)
	case fixable, snapshot.Reason == SnapshotsOff && !byDefault:
		return snapshot
	case byDefault, len(v.mounts) == 0:
		return excludedVerdict(NotMounted, "no pod mounts it for a file system backup, and "+snapshot.ReasonText)
	}
	return excludedVerdict(
		NotOptedIn,
		"no pod's annotation "+veleroapi.VolumesToBackupAnnotation+" names it, and "+snapshot.ReasonText,
	)
}
