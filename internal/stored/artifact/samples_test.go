package artifact

// samples are artifacts in the form that Velero 1.18.3 writes them.
var samples = map[string]string{
	"BackupLog":     "time=\"2026-11-21T01:46:43Z\" level=info msg=\"Backed up 3 items\"\n",
	"BackupResults": `{"errors":{},"warnings":{"velero":["slow"],"cluster":["a","b"],"namespaces":{"shop":["c"],"ops":["d","e"]}}}`,
	"RestoreResults": `{"errors":{"namespaces":{"q":["error restoring pods/q/p: exceeded quota"]}},` +
		`"warnings":{"cluster":["could not restore, PersistentVolume:pv-0 already exists"]}}`,
	"BackupResourceList":  `{"v1/Pod":["shop/web-0","shop/web-1"],"apps/v1/Deployment":["shop/web"],"v1/Namespace":["shop"]}`,
	"RestoreResourceList": `{"v1/Pod":["shop/web-0(created)","shop/web-1(failed)"],"rbac.authorization.k8s.io/v1/ClusterRole":["odd(name)(skipped)","plain(name)"]}`,
	"BackupItemOperations": `[{"spec":{"backupName":"b","backupUID":"u","backupItemAction":"velero.io/csi-pvc-backupper",` +
		`"resourceIdentifier":{"Group":"","Resource":"persistentvolumeclaims","Namespace":"shop","Name":"data"},"operationID":"du-1.2",` +
		`"postOperationItems":[{"Group":"velero.io","Resource":"datauploads","Namespace":"velero","Name":"x"}]},` +
		`"status":{"phase":"InProgress","nCompleted":5,"nTotal":10,"operationUnits":"Bytes","description":"Current phase: InProgress",` +
		`"created":"2026-11-21T02:04:13Z","started":null,"updated":"yesterday"}}]`,
	"RestoreItemOperations": `[{"spec":{"restoreItemAction":"lab.example.com/lab","operationID":"o",` +
		`"resourceIdentifier":{"Group":"lab.example.com","Resource":"widgets","Namespace":"a2","Name":"w-0"}},` +
		`"status":{"phase":"Failed","error":"it broke"}},{}]`,
	"BackupVolumeInfos": `[{"pvcName":"data","pvcNamespace":"shop","pvName":"pv-0","backupMethod":"CSISnapshot","snapshotDataMoved":true,"skipped":false,` +
		`"startTimestamp":"2026-11-21T01:00:00Z","completionTimestamp":"2026-11-21T01:02:00Z","result":"succeeded",` +
		`"csiSnapshotInfo":{"snapshotHandle":"csi","size":1,"driver":"disk.csi.example.com","vscName":"v"},` +
		`"snapshotDataMovementInfo":{"dataMover":"velero","uploaderType":"kopia","snapshotHandle":"k1","operationID":"du-1.2","size":4096,"incrementalSize":512,"Phase":"Completed"}},` +
		`{"pvcName":"log","pvcNamespace":"shop","skipped":true,"skippedReason":"no policy","pvInfo":{"reclaimPolicy":"Retain","labels":{"a":"b"}}}]`,
	"RestoreVolumeInfo": `[{"pvcName":"data","pvcNamespace":"shop","pvName":"pv-0","restoreMethod":"PodVolumeRestore","snapshotDataMoved":false,` +
		`"pvrInfo":{"snapshotHandle":"k2","size":77,"uploaderType":"kopia","volumeName":"data","podName":"web-0","podNamespace":"shop","Phase":"Completed"}}]`,
}
