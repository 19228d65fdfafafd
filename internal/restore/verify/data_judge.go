package verify

import (
	"cmp"
	"slices"
	"strings"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

type dataJudge struct {
	Input
	DataEvidence
	claims map[[2]string]Claim
	// savedByClaim and savedByPod are the backup's records by claim and by pod, restoredByVolume the restore's by
	// volume.
	savedByClaim      map[[2]string]*artifact.VolumeInfo
	savedByPod        map[[2]string][]*artifact.VolumeInfo
	restoredByVolume  map[string]*artifact.VolumeInfo
	restoredByClaim   map[[2]string]*artifact.VolumeInfo // the restore's records by claim
	transfersByTarget map[[3]string]*job.Volume
	podItems          map[[2]string]Item
}

func newDataJudge(r *Result, in Input, e DataEvidence) *dataJudge {
	d := &dataJudge{
		Input:             in,
		DataEvidence:      e,
		claims:            r.claims,
		savedByClaim:      map[[2]string]*artifact.VolumeInfo{},
		savedByPod:        map[[2]string][]*artifact.VolumeInfo{},
		restoredByVolume:  map[string]*artifact.VolumeInfo{},
		restoredByClaim:   map[[2]string]*artifact.VolumeInfo{},
		transfersByTarget: map[[3]string]*job.Volume{},
		podItems:          map[[2]string]Item{},
	}
	for i := range e.BackupVolumes {
		v := &e.BackupVolumes[i]
		// Of several records of one claim, a record that brings data says more.
		if key := [2]string{
			v.Namespace,
			v.Claim,
		}; v.Claim != "" &&
			(d.savedByClaim[key] == nil || volumeMethod(d.savedByClaim[key]) == "") {
			d.savedByClaim[key] = v
		}
		if v.Claim == "" && volumeMethod(v) == MethodPodVolume {
			key := [2]string{v.PodNamespace, v.Pod}
			d.savedByPod[key] = append(d.savedByPod[key], v)
		}
	}
	for i := range e.RestoredVolumes {
		v := &e.RestoredVolumes[i]
		if v.PersistentVolume != "" {
			d.restoredByVolume[v.PersistentVolume] = v
		}
		if v.Claim != "" {
			d.restoredByClaim[[2]string{v.Namespace, v.Claim}] = v
		}
	}
	for i := range e.Transfers {
		v := &e.Transfers[i]
		key := [3]string{v.Namespace, v.Claim}
		if v.Kind.IsPodVolume() {
			key = [3]string{v.Namespace, v.Pod, v.PodVolume}
		}
		d.transfersByTarget[key] = v
	}
	for _, i := range r.findItems(pods) {
		d.podItems[[2]string{cmp.Or(i.BackupNamespace, i.Namespace), i.Name}] = i
	}
	return d
}

// volumeMethod returns how the backup saved a volume, or how the restore brought it.
func volumeMethod(v *artifact.VolumeInfo) Method {
	switch {
	case v.Skipped:
		return ""
	case v.Method == "PodVolumeBackup", v.Method == "PodVolumeRestore":
		return MethodPodVolume
	case v.DataMoved:
		return MethodDataMover
	case v.Method == "CSISnapshot":
		return MethodCSISnapshot
	case v.Method == "NativeSnapshot":
		return MethodNativeSnapshot
	}
	return ""
}

func (d *dataJudge) judgeClaim(i Item) VolumeData {
	v := VolumeData{Namespace: i.Namespace, Claim: i.Name}
	info := d.savedByClaim[[2]string{cmp.Or(i.BackupNamespace, i.Namespace), i.Name}]
	// Velero writes no record for a pod that was gone when the backup ended (generateVolumeInfoFromPVB in
	// internal/volume/volumes_information.go, 1.18.3), and none before 1.13: then the restore's record says what it did.
	if made := d.restoredByClaim[[2]string{i.Namespace, i.Name}]; info == nil && made != nil {
		copied := *made
		copied.PersistentVolume = "" // the name of the volume in the cluster, not in the backup
		info = &copied
	}
	var moved *job.Volume
	if info != nil {
		v.Method = volumeMethod(info)
	}
	if v.Method == MethodPodVolume {
		v.Pod, v.PodVolume = info.Pod, info.PodVolume
		moved = d.transfersByTarget[[3]string{i.Namespace, info.Pod, info.PodVolume}]
	} else if moved = d.transfersByTarget[[3]string{i.Namespace, i.Name}]; moved != nil {
		v.Method = MethodDataMover
	}
	object, _ := d.Target.FindItem(claims, i.Namespace, i.Name)
	live, known := d.claims[[2]string{i.Namespace, i.Name}]
	switch {
	case i.State == CreatedByOthers && object.RestoreName != "":
		v.State, v.Why = DataExisted, "restore "+object.RestoreName+" made this claim after this one had ended"
	case i.State == CreatedByOthers && v.Method != "":
		v.State = DataEmpty
		v.Why = "somebody made this claim after the restore had ended, so what the backup has did not get into it"
	case moved != nil:
		v.State, v.Why = d.judgeTransfer(moved)
	case d.predatesRestore(object):
		v.State, v.Why = DataExisted, "the claim is older than the restore, and Velero left its data as it was"
	case info == nil && d.BackupVolumesUnchecked != "":
		v.State, v.Why = DataUnknown, "what the backup has of it is not known"
	case info == nil:
		v.State = DataUnknown
		v.Why = "there is no record that the backup has its data, or that the restore brought it: it may be empty"
	case !known:
		v.State, v.Why = DataUnknown, "veltui could not read the claim"
	default:
		v.State, v.Why = d.judgeClaimData(info, live)
	}
	if live.Lost && (v.State == DataWaiting || v.State == DataUnknown) {
		v.State, v.Why = DataEmpty, live.Why
	}
	return v
}

func (d *dataJudge) judgeTransfer(m *job.Volume) (DataState, string) {
	switch {
	case m.Phase == velero.VolumeCompleted:
		return DataRestored, ""
	case !m.HasEnded() && d.InProgress:
		return DataWaiting, "Velero moves it: " + m.Name + " is " + cmp.Or(m.Phase, velero.VolumeNew)
	}
	return DataFailed, m.Name + " is " + cmp.Or(m.Phase, velero.VolumeNew)
}

// judgeClaimData judges the data of a claim that this restore made and that nothing moved data into.
func (d *dataJudge) judgeClaimData(info *artifact.VolumeInfo, live Claim) (DataState, string) {
	bound := live.Phase == "Bound"
	same := info.PersistentVolume != "" && live.Volume == info.PersistentVolume
	made := d.restoredByVolume[live.Volume]
	switch w := volumeMethod(info); {
	case w == MethodNativeSnapshot && made != nil && made.Method == "NativeSnapshot":
		return arrivalState(bound, "it waits for its volume")
	case w == MethodCSISnapshot && live.Snapshot != "" && !d.VolumesLeftOut:
		return arrivalState(bound, "it waits for the volume that the driver makes of snapshot "+live.Snapshot)
	case w == MethodNativeSnapshot && d.RestoredVolumesUnchecked != "" && !d.VolumesLeftOut:
		return DataUnknown, "whether a volume was made of its snapshot is not known: " + d.RestoredVolumesUnchecked
	case same && bound && d.isVolumeMade(live.Volume):
		return DataUnknown, "Velero made its old volume " + live.Volume + " again and brought no data: whether its " +
			"storage is still there is not known"
	case same && bound:
		return DataKept, "it has its old volume " + live.Volume + ", with what is in it now"
	case same:
		return DataWaiting, "it waits for its old volume " + live.Volume
	case d.VolumesLeftOut && w != MethodPodVolume:
		return DataLeftOut, "the restore was told to restore no volumes"
	case w == "":
		return judgeSkipped(info)
	case info.Result == "failed":
		return DataEmpty, "the backup could not save it (" + cmp.Or(info.Phase, "failed") + ")"
	case w == MethodCSISnapshot:
		return DataEmpty, "the backup has a CSI snapshot of it, and the claim was not made from one"
	case w == MethodNativeSnapshot:
		return DataEmpty, "the backup has a snapshot of it, and no volume was made from that"
	}
	return d.judgeNotMoved(volumeMethod(info), live.Namespace, info)
}

// isVolumeMade reports whether this restore created a volume: Velero restores a volume that is to be retained as the
// backup has it, and the claim is bound to it whether or not there is storage behind it.
func (d *dataJudge) isVolumeMade(name string) bool {
	o, seen := d.Target.FindItem("persistentvolumes", "", name)
	return seen == live.Present && !d.predatesRestore(o) && o.RestoreName == veleroapi.ValidLabel(d.RestoreName)
}

func arrivalState(bound bool, waits string) (DataState, string) {
	if bound {
		return DataRestored, ""
	}
	return DataWaiting, waits
}

// judgeSkipped judges a volume that the backup did not save. Velero's reasons distinguish a volume that a user
// excluded from one that no method could save: only the first is as wanted (pkg/backup/item_backupper.go, callers of
// trackSkippedPV, 1.18.3).
func judgeSkipped(info *artifact.VolumeInfo) (DataState, string) {
	reason := strings.Trim(info.SkippedReason, " ;")
	why := "the backup skipped it" + human.Prefixed(": ", reason)
	asked := []string{
		"velero.io/exclude-from-backup=true",
		"matched action is 'skip'",
		"skipped due to resource policy",
	}
	if slices.ContainsFunc(asked, func(words string) bool { return strings.Contains(reason, words) }) {
		return DataLeftOut, why
	}
	return DataEmpty, why
}

// judgeNotMoved judges data for which the expected PodVolumeRestore or DataDownload is missing.
func (d *dataJudge) judgeNotMoved(w Method, namespace string, info *artifact.VolumeInfo) (DataState, string) {
	kind := velero.DataDownload
	if w == MethodPodVolume {
		kind = velero.PodVolumeRestore
	}
	switch {
	case d.UncheckedKinds[kind]:
		return DataUnknown, "you may not list the " + string(kind) + "s that tell of it"
	case d.InProgress:
		return DataWaiting, "Velero has not begun to move it"
	case d.isTransferListed(w, namespace, info) && d.Completed:
		return DataRestored, ""
	case d.isTransferListed(w, namespace, info):
		return DataUnknown, "its " + string(kind) + " is not there any more, so nothing tells how it ended"
	case w == MethodPodVolume:
		return DataEmpty, d.missingPodReason(info)
	}
	return DataEmpty, "the backup has it, and this restore has no DataDownload for it"
}

// isTransferListed reports whether the restore's own record lists the data as moved.
func (d *dataJudge) isTransferListed(w Method, namespace string, info *artifact.VolumeInfo) bool {
	return slices.ContainsFunc(d.RestoredVolumes, func(r artifact.VolumeInfo) bool {
		return w == MethodPodVolume && r.PodNamespace == namespace && r.Pod == info.Pod && r.PodVolume == info.PodVolume ||
			w == MethodDataMover && r.DataMoved && r.Namespace == namespace && r.Claim == info.Claim
	})
}

// missingPodReason says why nothing was copied into a pod's volume: Velero copies only into
// pods that it creates (pkg/restore/restore.go, restoreItem, 1.18.3).
func (d *dataJudge) missingPodReason(info *artifact.VolumeInfo) string {
	why := "the backup has it, and this restore has no PodVolumeRestore for it"
	pod, there := d.podItems[[2]string{info.PodNamespace, info.Pod}]
	switch {
	case !there || pod.State == LeftOut:
		why = "Velero copies it only through pod " + info.Pod + ", which the restore leaves out"
	case pod.State == Existed || pod.State == Differs:
		why = "Velero copies it only into a pod that it creates, and pod " + info.Pod + " existed"
	case pod.State == Failed || pod.State == Missing:
		why = "Velero copies it only through pod " + info.Pod + ", which did not come back"
	}
	return why
}

// judgePodVolumes judges the data of a pod's volumes that have no claim, such as an
// emptyDir: it lives only as long as the pod that Velero made.
func (d *dataJudge) judgePodVolumes(i Item) (all []VolumeData) {
	if i.State != Restored {
		return nil
	}
	if o, seen := d.Target.FindItem(pods, i.Namespace, i.Name); seen != live.Present || o.RestoreName == "" {
		return nil
	}
	for _, info := range d.savedByPod[[2]string{cmp.Or(i.BackupNamespace, i.Namespace), i.Name}] {
		v := VolumeData{Namespace: i.Namespace, Pod: info.Pod, PodVolume: info.PodVolume, Method: MethodPodVolume}
		switch moved := d.transfersByTarget[[3]string{i.Namespace, info.Pod, info.PodVolume}]; {
		case moved != nil:
			v.State, v.Why = d.judgeTransfer(moved)
		case info.Result == "failed":
			v.State, v.Why = DataEmpty, "the backup could not save it ("+cmp.Or(info.Phase, "failed")+")"
		case d.Completed && !d.UncheckedKinds[velero.PodVolumeRestore]:
			// Velero's record has no volumes without a claim (internal/volume/volumes_information.go, Result, 1.18.3), and a
			// restore that failed to copy such a volume does not complete.
			v.State, v.Why = DataUnknown, "there is no PodVolumeRestore of it, and Velero records no volumes without a claim"
		default:
			v.State, v.Why = d.judgeNotMoved(MethodPodVolume, i.Namespace, info)
		}
		all = append(all, v)
	}
	return all
}
