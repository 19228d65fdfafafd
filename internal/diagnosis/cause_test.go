package diagnosis

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// podOfServer returns a pod of the server as the API server holds it, with a memory limit.
func podOfServer(name string, created time.Time, status corev1.PodStatus) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "velero", CreationTimestamp: metav1.NewTime(created),
			Labels:          map[string]string{"deploy": "velero", "component": "velero", "pod-template-hash": "5c8d7f9b66"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "velero-5c8d7f9b66"}},
		},
		Spec: corev1.PodSpec{NodeName: "node-1", Containers: []corev1.Container{{
			Name: "velero", Image: "velero/velero:v1.18.3", Command: []string{"/velero"}, Args: []string{"server"},
			Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{
				corev1.ResourceMemory: resource.MustParse("512Mi"),
			}},
		}}},
		Status: status,
	}
}

// jobFailedAtStart returns a backup that ran for a while until the next server marked it (pkg/cmd/server/server.go
// markInProgressBackupsFailed).
func jobFailedAtStart(t *testing.T, began, ended float64) *job.Job {
	t.Helper()
	return spec{
		name: "bcdr", phase: velero.PhaseFailed, created: began, started: began, ended: ended, total: 88, done: 12,
		reason: `found a backup with status "InProgress" during the server starting, mark it as "Failed"`,
	}.job(t)
}

// The next step after a kill for memory is a limit twice as high: in the Deployment, or where OADP's operator takes it
// from.
func TestNextStepOfAKillForMemory(t *testing.T) {
	pod := podOfServer("velero-1", minutesAgo(500), statusAfterRestart("OOMKilled", 137, minutesAgo(38)))
	w := World{Now: minutesAgo(0), Server: velero.ServerOf([]*corev1.Pod{pod}, minutesAgo(0))}
	next := Judge(jobFailedAtStart(t, 40, 36), w).Next()
	if want := "set resources deployment/velero -c velero --limits=memory=1Gi"; !strings.Contains(next.Commands[0], want) {
		t.Errorf("%q, want %s", next.Commands, want)
	}
	pod.Spec.Containers[0].Image = "registry.redhat.io/oadp/oadp-velero-rhel9:v1.4.1"
	w.Server = velero.ServerOf([]*corev1.Pod{pod}, minutesAgo(0))
	next = Judge(jobFailedAtStart(t, 40, 36), w).Next()
	if !strings.Contains(next.Text, "DataProtectionApplication") ||
		!strings.Contains(next.Commands[0], "edit dataprotectionapplications.oadp.openshift.io") {
		t.Errorf("with OADP: %s %q", next.Text, next.Commands)
	}
}

// The messages of Velero, stores, API servers and drivers, and what each shows.
func TestMessagesHaveCauses(t *testing.T) {
	const put = "rpc error: code = Unknown desc = error putting object backups/a/velero-backup.json: operation error S3: " +
		"PutObject, https response error StatusCode: 400, RequestID: 17D7, HostID: fd7a, api error "
	for message, want := range map[string]Reason{
		put + "XAmzContentSHA256Mismatch: The provided 'x-amz-content-sha256' header does not match what was computed.": StoreRefusesChecksum,
		put + "AccessDenied: Access Denied":                                                                                       StoreDenies,
		put + "ExpiredToken: The provided token has expired.":                                                                     StoreCredentialsExpired,
		put + "InvalidAccessKeyId: The Access Key Id you provided does not exist":                                                 StoreCredentialsWrong,
		put + "SignatureDoesNotMatch: The request signature we calculated does not match":                                         StoreCredentialsWrong,
		put + "NoSuchBucket: The specified bucket does not exist":                                                                 StoreBucketMissing,
		put + "AuthorizationHeaderMalformed: the region 'a' is wrong; expecting 'b'":                                              StoreRegionWrong,
		put + "RequestTimeTooSkewed: The difference between the request time":                                                     StoreClockDiffers,
		put + "XMinioStorageFull: Storage backend has reached its minimum free drive threshold":                                   StoreFull,
		put + "SlowDown: Please reduce your request rate":                                                                         StoreThrottles,
		"dial tcp: lookup minio.velero.svc on 10.0.0.10:53: no such host":                                                         StoreUnreachable,
		put + "dial: tls: failed to verify certificate: x509: certificate signed by unknown authority":                            StoreCertificateUntrusted,
		"tls: failed to verify certificate: x509: certificate signed by unknown authority":                                        ConnectionFailed,
		"dial tcp 10.96.0.1:443: i/o timeout":                                                                                     ConnectionFailed,
		`failed calling webhook "w": tls: failed to verify certificate: x509: certificate has expired`:                            WebhookUnreachable,
		"operation error EC2: CreateSnapshot, https response error StatusCode: 403, UnauthorizedOperation":                        {},
		"context deadline exceeded":                                                                                               ConnectionFailed,
		"error writing: write /scratch/x: no space left on device":                                                                VolumeFull,
		`pods "a" is forbidden: exceeded quota: q, requested: pods=1, used: pods=5, limited: pods=5`:                              QuotaExceeded,
		`admission webhook "v.kyverno.svc" denied the request: policy x`:                                                          WebhookDenies,
		`Internal error occurred: failed calling webhook "w": dial tcp 10.0.0.1:443: connection refused`:                          WebhookUnreachable,
		`storageclass.storage.k8s.io "gp3" not found`:                                                                             StorageClassMissing,
		"failed to get VolumeSnapshotClass for provisioner ebs.csi.aws.com":                                                       SnapshotClassMissing,
		"found a dataupload velero/a with expose error: Pod is unschedulable: 0/15 nodes are available":                           MoverNotScheduled,
		"timeout on preparing data upload":                                                                                        MoverNotReady,
		"Asynchronous action timed out":                                                                                           OperationTimedOut,
		"timed out waiting for all PodVolumeBackups to complete":                                                                  VolumesTimedOut,
		`found a datadownload with status "InProgress" during the node-agent starting, mark it as cancel`:                         NodeAgentEnded,
		`found a restore with status "InProgress" during the server starting, mark it as "Failed"`:                                ServerEnded,
		`secrets is forbidden: User "system:serviceaccount:velero:velero" cannot list resource`:                                   RightsMissing,
		`no matches for kind "Widget" in version "example.com/v1"`:                                                                KindMissing,
		"fail to patch dynamic PV, err: context deadline exceeded, PVC: a, PV: b":                                                 ClaimNotBound,
		"unable to locate ObjectStore plugin named velero.io/aws":                                                                 PluginMissing,
		"error getting backup storage location: backupstoragelocations.velero.io \"x\" not found":                                 LocationNotFound,
		"backup can't be created because BackupStorageLocation a is in Unavailable status.":                                       LocationWasUnavailable,
		"backup can't be created because backup storage location a is currently in read-only mode":                                LocationWasReadOnly,
		"invalid repository password":                                                                                             RepositoryPasswordWrong,
		`pods "a" is forbidden: minimum cpu usage per Container is 50m, but request is 10m`:                                       LimitRangeRefuses,
		`pods "a" is forbidden: cpu max limit to request ratio per Container is 5, but provided ratio is 9`:                       LimitRangeRefuses,
		`pods "a" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false`:                      PodSecurityDenies,
		`Error backing up item: namespaces "probe-node-1" not found`:                                                              NamespaceDeleted,
		`error executing PVAction for persistentvolumes/a: failed to create PVC=b: namespaces "rocketchat" not found`:             NamespaceDeleted,
		`fail to get the namespace shop specified in backup.Spec.IncludedNamespaces: namespaces "shop" not found`:                 NamespaceMissing,
		"invalid resource policies: fail to get ResourcePolicies velero/p ConfigMap: configmaps \"p\" not found":                  ConfigMapMissing,
		"failed to get resource modifiers configmap velero/m":                                                                     ConfigMapMissing,
		"Validation error in resource modifiers provided in configmap velero/m: resource modifier rules cannot be empty":          ConfigMapInvalid,
		"error in applying JSON Patch remove operation does not apply: doc is missing path: /data/none":                           ModifierFailed,
		"The BSL away is unavailable, cannot retrieve the backup":                                                                 LocationWasUnavailable,
		"daemonset pod not found in running state in node node-1":                                                                 NodeAgentNotRunning,
		"restore execution failed: error downloading backup: rpc error: api error NoSuchKey: The specified key does not exist.":   BackupDamaged,
		"error executing custom action (groupResource=pods, namespace=a, name=b): rpc error: code = Unknown desc = no":            PluginFailed,
		"error executing custom action (groupResource=pods, namespace=a, name=b): dial tcp 10.0.0.1:443: i/o timeout":             ConnectionFailed,
		"etcdserver: request is too large":                                                                                        ObjectRefused,
		`BackupStorageLocation "a" is unavailable: unable to get credentials: unable to get key for secret: Secret "b" not found`: StoreCredentialsWrong,
		"Backup store contains invalid top-level directories: [photos]":                                                           StoreHoldsOthers,
		"the driver says no, plugin: velero.io/csi-pvc-backupper":                                                                 OperationFailed,
		"fail to get the namespace shop specified in backup.Spec.IncludedNamespaces":                                              NamespaceMissing,
		"something that nobody has seen before":                                                                                   {},
	} {
		if got := ClassifyMessage(message); got != want {
			t.Errorf("%q shows %q, want %q", message, got, want)
		}
	}
}

// Of the errors of a job's results, the most frequent cause counts, and those that say something unknown count nothing.
func TestMostErrorsDecideTheCause(t *testing.T) {
	j := spec{name: "shop", phase: velero.PhasePartiallyFailed, created: 40, started: 40, ended: 30, total: 88, done: 88,
		errors: 63}.job(t)
	w := World{Now: minutesAgo(0), Evidence: map[types.UID]JobEvidence{j.UID: {EndEvidence: EndEvidence{ResultErrors: []ResultError{
		{Text: `admission webhook "policy" denied the request`, Count: 1},
		{Text: `pods "a" is forbidden: exceeded quota: q`, Count: 60},
		{Text: "nobody knows this", Count: 100},
	}}}}}
	v := Judge(j, w)
	if v.Cause.Reason != QuotaExceeded || len(v.Cause.Facts) != 1 ||
		!strings.HasPrefix(v.Cause.Facts[0].Text, "60 of 161 errors in its results, such as: ") ||
		!strings.HasSuffix(v.Text, ": 60 of 161 errors: "+QuotaExceeded.Meaning()) {
		t.Errorf("%s: %+v", v.Text, v.Cause)
	}
	v.Names.Kind, v.Names.Name = "restore", "shop"
	next := v.Next()
	if !strings.HasPrefix(next.Text, "Read its errors. Raise the quota") || !strings.Contains(next.Commands[0], "results") {
		t.Errorf("the other errors come first: %+v", next)
	}
	w.Evidence[j.UID].ResultErrors[2].Count = 59
	v = Judge(j, w)
	if !strings.HasSuffix(v.Text, ": "+QuotaExceeded.Meaning()) || strings.Contains(v.Text, "of 120 errors") ||
		strings.HasPrefix(v.Next().Text, "Read") {
		t.Errorf("half of the errors: %s %+v", v.Text, v.Next())
	}
}

// The cause of few of the volumes says of how many.
func TestCauseOfFewVolumes(t *testing.T) {
	j := spec{name: "shop", phase: velero.PhasePartiallyFailed, created: 40, started: 40, ended: 30}
	for i, message := range []string{"no space left on device", "who knows", "nobody knows"} {
		j.volumes = append(j.volumes, job.Volume{Kind: velero.DataUpload, Name: string(rune('a' + i)), Phase: velero.VolumeFailed,
			Message: message, Created: minutesAgo(39), LastChanged: minutesAgo(31)})
	}
	v := Judge(j.job(t), World{Now: minutesAgo(0)})
	if !strings.HasSuffix(v.Text, ": 1 of 3 failed volumes: "+VolumeFull.Meaning()) || v.Cause.Reason != VolumeFull {
		t.Errorf("%s", v.Text)
	}
}

func BenchmarkClassifyMessage(b *testing.B) {
	message := "rpc error: code = Unknown desc = " + strings.Repeat("something that nobody has seen before ", 8)
	for b.Loop() {
		ClassifyMessage(message)
	}
}
