package sim

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// object is a JSON object that is written as it is.
type object = map[string]any

// volumeInfos describe the volumes of a backup
// (internal/volume/volumes_information.go).
func (r *BackupRecord) volumeInfos() []object {
	infos := []object{}
	for _, v := range r.Volumes {
		info := v.info()
		info["backupMethod"] = v.Method
		info["result"] = "succeeded"
		if v.Failed {
			info["result"] = "failed"
		}
		setTime(info, "startTimestamp", v.Started)
		setTime(info, "completionTimestamp", v.Completed)
		if v.Method == byPodVolume {
			info["pvbInfo"] = v.podVolumeInfo()
		} else {
			info["preserveLocalSnapshot"] = false
			info["snapshotDataMovementInfo"] = v.movementInfo()
		}
		info["pvInfo"] = object{"reclaimPolicy": "Delete", "labels": object{}}
		infos = append(infos, info)
	}
	return infos
}

// volumeInfos describe the volumes of a restore.
func (r *RestoreRecord) volumeInfos() []object {
	infos := []object{}
	for _, v := range r.Volumes {
		info := v.info()
		if v.Method == byPodVolume {
			info["restoreMethod"] = "PodVolumeRestore"
			info["pvrInfo"] = v.podVolumeInfo()
		} else {
			info["restoreMethod"] = bySnapshot
			info["snapshotDataMovementInfo"] = v.movementInfo()
		}
		infos = append(infos, info)
	}
	return infos
}

func (v *MovedVolume) info() object {
	return object{
		"pvcName": v.Claim, "pvcNamespace": v.Namespace, "pvName": v.PersistentVolume,
		"snapshotDataMoved": v.Method == bySnapshot, "skipped": false,
	}
}

func (v *MovedVolume) podVolumeInfo() object {
	return object{
		"snapshotHandle": v.SnapshotID, "size": v.Bytes, "uploaderType": "kopia", "volumeName": v.PodVolume,
		"podName": v.Pod, "podNamespace": v.Namespace, "nodeName": v.Node, "Phase": v.phase(),
	}
}

func (v *MovedVolume) movementInfo() object {
	return object{
		"dataMover": "velero", "uploaderType": "kopia", "retainedSnapshot": "", "snapshotHandle": v.SnapshotID,
		"operationID": v.Operation, "size": v.Bytes, "Phase": v.phase(),
	}
}

func (v *MovedVolume) phase() string {
	if v.Failed {
		return "Failed"
	}
	return "Completed"
}

func (r *BackupRecord) operationList() []object {
	return operationList(r.operations, object{"backupName": r.Name, "backupUID": r.UID}, "backupItemAction")
}

func (r *RestoreRecord) operationList() []object {
	return operationList(r.operations, object{"restoreName": r.Name, "restoreUID": r.UID}, "restoreItemAction")
}

// operationList is the itemoperations file (pkg/itemoperation).
func operationList(operations []*operation, owner object, actionKey string) []object {
	list := []object{}
	for _, o := range operations {
		spec := maps.Clone(owner)
		spec[actionKey] = o.Plugin
		spec["resourceIdentifier"] = o.On
		spec["operationID"] = o.ID
		if actionKey == "backupItemAction" {
			spec["postOperationItems"] = []resourceIdentifier{{"velero.io", "datauploads", "velero", o.Mover}}
		}
		status := object{"phase": o.Phase, "nCompleted": o.Done, "nTotal": o.Total, "operationUnits": "Bytes", "description": o.Description}
		if o.Error != "" {
			status["error"] = o.Error
		}
		setTime(status, "created", o.Created)
		setTime(status, "started", o.Began)
		setTime(status, "updated", o.Updated)
		list = append(list, object{"spec": spec, "status": status})
	}
	return list
}

func setTime(o object, key string, t time.Time) {
	if !t.IsZero() {
		o[key] = t.UTC().Format(time.RFC3339)
	}
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.SortedFunc(maps.Keys(m), strings.Compare)
}
