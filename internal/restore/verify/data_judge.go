package verify

import (
	"cmp"
	"slices"
	"strings"

	"github.com/vmware-tanzu/velero/pkg/label"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/velero"
)

type dataJudge struct {
	Input
	Evidence
	claims map[[2]string]Claim
	// saved are the backup's records by claim, ofPod by pod, made the restore's by volume.
	saved   map[[2]string]*artifact.Volume
	ofPod   map[[2]string][]*artifact.Volume
	made    map[string]*artifact.Volume
	madeFor map[[2]string]*artifact.Volume // the restore's by the claim
	moved   map[[3]string]*job.Volume
	pods    map[[2]string]Item
}

func newDataJudge(r *Result, in Input, e Evidence) *dataJudge {
	d := &dataJudge{
		Input:    in,
		Evidence: e,
		claims:   r.claims,
		saved:    map[[2]string]*artifact.Volume{},
		ofPod:    map[[2]string][]*artifact.Volume{},
		made:     map[string]*artifact.Volume{},
		madeFor:  map[[2]string]*artifact.Volume{},
		moved:    map[[3]string]*job.Volume{},
		pods:     map[[2]string]Item{},
	}
	for i := range e.Saved {
		v := &e.Saved[i]
		// Of several records of one claim, one that brings data says more.
		if key := [2]string{
			v.Namespace,
			v.Claim,
		}; v.Claim != "" &&
			(d.saved[key] == nil || methodOf(d.saved[key]) == "") {
			d.saved[key] = v
		}
		if v.Claim == "" && methodOf(v) == ByPod {
			key := [2]string{v.PodNamespace, v.Pod}
			d.ofPod[key] = append(d.ofPod[key], v)
		}
	}
	for i := range e.Made {
		v := &e.Made[i]
		if v.PersistentVolume != "" {
			d.made[v.PersistentVolume] = v
		}
		if v.Claim != "" {
			d.madeFor[[2]string{v.Namespace, v.Claim}] = v
		}
	}
	for i := range e.Moved {
		v := &e.Moved[i]
		key := [3]string{v.Namespace, v.Claim}
		if v.Kind.IsPodVolume() {
			key = [3]string{v.Namespace, v.Pod, v.PodVolume}
		}
		d.moved[key] = v
	}
	for _, i := range r.itemsOf(pods) {
		d.pods[[2]string{cmp.Or(i.From, i.Namespace), i.Name}] = i
	}
	return d
}

// methodOf is how the backup saved a volume, or the restore brought it.
func methodOf(v *artifact.Volume) Method {
	switch {
	case v.Skipped:
		return ""
	case v.Method == "PodVolumeBackup", v.Method == "PodVolumeRestore":
		return ByPod
	case v.DataMoved:
		return ByMover
	case v.Method == "CSISnapshot":
		return ByCSI
	case v.Method == "NativeSnapshot":
		return ByNative
	}
	return ""
}

func (d *dataJudge) claim(i Item) Volume {
	v := Volume{Namespace: i.Namespace, Claim: i.Name}
	info := d.saved[[2]string{cmp.Or(i.From, i.Namespace), i.Name}]
	// Velero writes no record for a pod that was gone when the backup ended (generateVolumeInfoFromPVB in
	// internal/volume/volumes_information.go, 1.18.3), and none before 1.13: then the restore's tells what it did.
	if made := d.madeFor[[2]string{i.Namespace, i.Name}]; info == nil && made != nil {
		copied := *made
		copied.PersistentVolume = "" // that of the cluster, not of the backup
		info = &copied
	}
	var moved *job.Volume
	if info != nil {
		v.Method = methodOf(info)
	}
	if v.Method == ByPod {
		v.Pod, v.PodVolume = info.Pod, info.PodVolume
		moved = d.moved[[3]string{i.Namespace, info.Pod, info.PodVolume}]
	} else if moved = d.moved[[3]string{i.Namespace, i.Name}]; moved != nil {
		v.Method = ByMover
	}
	object, _ := d.Target.Find(claims, i.Namespace, i.Name)
	live, known := d.claims[[2]string{i.Namespace, i.Name}]
	switch {
	case i.State == MadeAnew && object.Restore != "":
		v.State, v.Why = DataExisted, "restore "+object.Restore+" made this claim after this one had ended"
	case i.State == MadeAnew && v.Method != "":
		v.State = DataEmpty
		v.Why = "somebody made this claim after the restore had ended, so what the backup has did not get into it"
	case moved != nil:
		v.State, v.Why = d.ofMoved(moved)
	case d.older(object):
		v.State, v.Why = DataExisted, "the claim is older than the restore, and Velero left its data as it was"
	case info == nil && d.NoSaved != "":
		v.State, v.Why = DataUnknown, "what the backup has of it is not known"
	case info == nil:
		v.State = DataUnknown
		v.Why = "there is no record that the backup has its data, or that the restore brought it: it may be empty"
	case !known:
		v.State, v.Why = DataUnknown, "veltui could not read the claim"
	default:
		v.State, v.Why = d.ofClaim(info, live)
	}
	if live.Lost && (v.State == DataWaiting || v.State == DataUnknown) {
		v.State, v.Why = DataEmpty, live.Why
	}
	return v
}

func (d *dataJudge) ofMoved(m *job.Volume) (DataState, string) {
	switch {
	case m.Phase == velero.VolumeCompleted:
		return DataRestored, ""
	case !m.Ended() && d.SoFar:
		return DataWaiting, "Velero moves it: " + m.Name + " is " + cmp.Or(m.Phase, velero.VolumeNew)
	}
	return DataFailed, m.Name + " is " + cmp.Or(m.Phase, velero.VolumeNew)
}

// ofClaim judges the data of a claim that this restore made and that nothing moved data into.
func (d *dataJudge) ofClaim(info *artifact.Volume, live Claim) (DataState, string) {
	bound := live.Phase == "Bound"
	same := info.PersistentVolume != "" && live.Volume == info.PersistentVolume
	made := d.made[live.Volume]
	switch w := methodOf(info); {
	case w == ByNative && made != nil && made.Method == "NativeSnapshot":
		return arrives(bound, "it waits for its volume")
	case w == ByCSI && live.Snapshot != "" && !d.NoVolumes:
		return arrives(bound, "it waits for the volume that the driver makes of snapshot "+live.Snapshot)
	case w == ByNative && d.NoMade != "" && !d.NoVolumes:
		return DataUnknown, "whether a volume was made of its snapshot is not known: " + d.NoMade
	case same && bound && d.volumeMade(live.Volume):
		return DataUnknown, "Velero made its old volume " + live.Volume + " again and brought no data: whether its " +
			"storage is still there is not known"
	case same && bound:
		return DataKept, "it has its old volume " + live.Volume + ", with what is in it now"
	case same:
		return DataWaiting, "it waits for its old volume " + live.Volume
	case d.NoVolumes && w != ByPod:
		return DataLeftOut, "the restore was told to restore no volumes"
	case w == "":
		return skipped(info)
	case info.Result == "failed":
		return DataEmpty, "the backup could not save it (" + cmp.Or(info.Phase, "failed") + ")"
	case w == ByCSI:
		return DataEmpty, "the backup has a CSI snapshot of it, and the claim was not made from one"
	case w == ByNative:
		return DataEmpty, "the backup has a snapshot of it, and no volume was made from that"
	}
	return d.notMoved(methodOf(info), live.Namespace, info)
}

// volumeMade reports whether this restore made a volume: Velero restores one that is to be retained
// as the backup has it, and the claim is bound to it whether or not there is storage behind it.
func (d *dataJudge) volumeMade(name string) bool {
	o, seen := d.Target.Find("persistentvolumes", "", name)
	return seen == live.There && !d.older(o) && o.Restore == label.GetValidName(d.Restore)
}

func arrives(bound bool, waits string) (DataState, string) {
	if bound {
		return DataRestored, ""
	}
	return DataWaiting, waits
}

// skipped judges a volume that the backup did not save. Velero's reasons tell a volume
// that a user named from one that no way of saving took: only the first is as wanted
// (pkg/backup/item_backupper.go, callers of trackSkippedPV, 1.18.3).
func skipped(info *artifact.Volume) (DataState, string) {
	reason := strings.Trim(info.SkippedReason, " ;")
	why := "the backup skipped it" + human.Clause(": ", reason)
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

// notMoved judges data that a PodVolumeRestore or DataDownload was to bring that is not there.
func (d *dataJudge) notMoved(w Method, namespace string, info *artifact.Volume) (DataState, string) {
	kind := velero.DataDownload
	if w == ByPod {
		kind = velero.PodVolumeRestore
	}
	switch {
	case d.Unseen[kind]:
		return DataUnknown, "you may not list the " + string(kind) + "s that tell of it"
	case d.SoFar:
		return DataWaiting, "Velero has not begun to move it"
	case d.listed(w, namespace, info) && d.Completed:
		return DataRestored, ""
	case d.listed(w, namespace, info):
		return DataUnknown, "its " + string(kind) + " is not there any more, so nothing tells how it ended"
	case w == ByPod:
		return DataEmpty, d.withoutPod(info)
	}
	return DataEmpty, "the backup has it, and this restore has no DataDownload for it"
}

// listed reports whether the restore's own record names data that was moved.
func (d *dataJudge) listed(w Method, namespace string, info *artifact.Volume) bool {
	return slices.ContainsFunc(d.Made, func(r artifact.Volume) bool {
		return w == ByPod && r.PodNamespace == namespace && r.Pod == info.Pod && r.PodVolume == info.PodVolume ||
			w == ByMover && r.DataMoved && r.Namespace == namespace && r.Claim == info.Claim
	})
}

// withoutPod says why nothing was copied into a pod's volume: Velero copies only into
// pods that it creates (pkg/restore/restore.go, restoreItem, 1.18.3).
func (d *dataJudge) withoutPod(info *artifact.Volume) string {
	why := "the backup has it, and this restore has no PodVolumeRestore for it"
	pod, there := d.pods[[2]string{info.PodNamespace, info.Pod}]
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

// podVolumes judges the data of a pod's volumes that have no claim, such as an
// emptyDir: it lives only as long as the pod that Velero made.
func (d *dataJudge) podVolumes(i Item) (all []Volume) {
	if i.State != Restored {
		return nil
	}
	if o, seen := d.Target.Find(pods, i.Namespace, i.Name); seen != live.There || o.Restore == "" {
		return nil
	}
	for _, info := range d.ofPod[[2]string{cmp.Or(i.From, i.Namespace), i.Name}] {
		v := Volume{Namespace: i.Namespace, Pod: info.Pod, PodVolume: info.PodVolume, Method: ByPod}
		switch moved := d.moved[[3]string{i.Namespace, info.Pod, info.PodVolume}]; {
		case moved != nil:
			v.State, v.Why = d.ofMoved(moved)
		case info.Result == "failed":
			v.State, v.Why = DataEmpty, "the backup could not save it ("+cmp.Or(info.Phase, "failed")+")"
		case d.Completed && !d.Unseen[velero.PodVolumeRestore]:
			// Velero's record has no volumes without a claim (internal/volume/volumes_information.go, Result, 1.18.3),
			// and a restore of which one was not copied does not complete.
			v.State, v.Why = DataUnknown, "there is no PodVolumeRestore of it, and Velero records no volumes without a claim"
		default:
			v.State, v.Why = d.notMoved(ByPod, i.Namespace, info)
		}
		all = append(all, v)
	}
	return all
}
