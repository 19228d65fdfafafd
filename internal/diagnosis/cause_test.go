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

// statusAfterRestart is what a kubelet writes of a container that ended and runs again (Kubernetes,
// pkg/kubelet/kubelet_pods.go convertToAPIContainerStatuses): the former end is lastState, and the only one kept.
func statusAfterRestart(reason string, exitCode int32, ended time.Time) corev1.PodStatus {
	return corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{
		Name: "velero", Ready: true, RestartCount: 3,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{
			StartedAt: metav1.NewTime(ended.Add(10 * time.Second)),
		}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			Reason: reason, ExitCode: exitCode, FinishedAt: metav1.NewTime(ended),
		}},
	}}}
}

// statusOfEviction is what a kubelet writes of a pod that it evicts (Kubernetes, pkg/kubelet/eviction/eviction_manager.go
// evictPod, and pkg/kubelet/kubelet_pods.go for the container that it then finds ended).
func statusOfEviction(at time.Time) corev1.PodStatus {
	return corev1.PodStatus{
		Phase: corev1.PodFailed, Reason: "Evicted",
		Message: "The node was low on resource: memory. Threshold quantity: 100Mi, available: 51108Ki. ",
		Conditions: []corev1.PodCondition{{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "TerminationByKubelet",
			LastTransitionTime: metav1.NewTime(at),
		}},
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: "velero",
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				Reason: "ContainerStatusUnknown", ExitCode: 137, Message: "The container could not be located when the pod was " +
					"terminated",
			}},
		}},
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

// The server that worked on a job ended: the verdict says how, where Kubernetes still knows it.
func TestCauseIsHowTheServerEnded(t *testing.T) {
	old := minutesAgo(500)
	for name, c := range map[string]struct {
		pods   []*corev1.Pod
		hidden bool
		reason Reason
		says   string
		doubt  string
	}{
		"killed for memory": {
			pods:   []*corev1.Pod{podOfServer("velero-1", old, statusAfterRestart("OOMKilled", 137, minutesAgo(38)))},
			reason: ServerOutOfMemory, says: "killed for memory (limit 512Mi) 2m after the backup began",
		},
		"a panic": {
			pods:   []*corev1.Pod{podOfServer("velero-1", old, statusAfterRestart("Error", 2, minutesAgo(38)))},
			reason: ServerPanicked, says: "panicked (exit code 2)",
		},
		"another error": {
			pods:   []*corev1.Pod{podOfServer("velero-1", old, statusAfterRestart("Error", 1, minutesAgo(38)))},
			reason: ServerEnded, says: "ended with Error, exit code 1",
		},
		"evicted": {
			pods: []*corev1.Pod{
				podOfServer("velero-1", old, statusOfEviction(minutesAgo(38))),
				podOfServer("velero-2", minutesAgo(37), statusOfRunning()),
			},
			reason: ServerEvicted, says: "evicted the Velero server: The node was low on resource: memory.",
		},
		"a roll-out": {
			pods:   []*corev1.Pod{podOfServer("velero-2", minutesAgo(37), statusOfRunning())},
			reason: ServerReplaced, says: "another pod took the place of the Velero server 3m after the backup began",
		},
		"killed for memory long after the job": {
			pods:   []*corev1.Pod{podOfServer("velero-1", old, statusAfterRestart("OOMKilled", 137, minutesAgo(5)))},
			reason: ServerEnded, says: "ended while it worked on the job",
			doubt: "not known any more; it restarted 3 times and last ended with OOMKilled",
		},
		"hidden pods": {hidden: true, reason: ServerEnded, says: "ended while it worked on the job", doubt: "may not be listed"},
	} {
		w := World{Now: minutesAgo(0), Server: velero.ServerOf(c.pods, minutesAgo(0))}
		w.Server.Visible = !c.hidden
		v := Judge(jobFailedAtStart(t, 40, 36), w)
		if v.Reason != Failed || v.Cause.Reason != c.reason || !strings.Contains(v.Text, c.says) {
			t.Errorf("%s: %s, cause %s: %s", name, v.Reason, v.Cause.Reason, v.Text)
		}
		doubts := ""
		for _, f := range v.Cause.Facts {
			if !f.Supports {
				doubts += f.Text
			}
		}
		if !strings.Contains(doubts, c.doubt) || c.doubt == "" && doubts != "" {
			t.Errorf("%s: in doubt is %q, want %q", name, doubts, c.doubt)
		}
		if next := v.Next(); next.Text == "" || len(next.Commands) == 0 {
			t.Errorf("%s: nothing to do next", name)
		}
	}
}

func statusOfRunning() corev1.PodStatus {
	return corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{
		Name: "velero", Ready: true,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(minutesAgo(37))}},
	}}}
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
		put + "AccessDenied: Access Denied":                                                                StoreDenies,
		put + "ExpiredToken: The provided token has expired.":                                              StoreCredentialsExpired,
		put + "InvalidAccessKeyId: The Access Key Id you provided does not exist":                          StoreCredentialsWrong,
		put + "SignatureDoesNotMatch: The request signature we calculated does not match":                  StoreCredentialsWrong,
		put + "NoSuchBucket: The specified bucket does not exist":                                          StoreBucketMissing,
		put + "AuthorizationHeaderMalformed: the region 'a' is wrong; expecting 'b'":                       StoreRegionWrong,
		put + "RequestTimeTooSkewed: The difference between the request time":                              StoreClockDiffers,
		put + "XMinioStorageFull: Storage backend has reached its minimum free drive threshold":            StoreFull,
		put + "SlowDown: Please reduce your request rate":                                                  StoreThrottles,
		"dial tcp: lookup minio.velero.svc on 10.0.0.10:53: no such host":                                  StoreUnreachable,
		put + "dial: tls: failed to verify certificate: x509: certificate signed by unknown authority":     StoreCertificateUntrusted,
		"tls: failed to verify certificate: x509: certificate signed by unknown authority":                 ConnectionFailed,
		"dial tcp 10.96.0.1:443: i/o timeout":                                                              ConnectionFailed,
		`failed calling webhook "w": tls: failed to verify certificate: x509: certificate has expired`:     WebhookUnreachable,
		"operation error EC2: CreateSnapshot, https response error StatusCode: 403, UnauthorizedOperation": {},
		"context deadline exceeded":                                                                        ConnectionFailed,
		"error writing: write /scratch/x: no space left on device":                                         VolumeFull,
		`pods "a" is forbidden: exceeded quota: q, requested: pods=1, used: pods=5, limited: pods=5`:       QuotaExceeded,
		`admission webhook "v.kyverno.svc" denied the request: policy x`:                                   WebhookDenies,
		`Internal error occurred: failed calling webhook "w": dial tcp 10.0.0.1:443: connection refused`:   WebhookUnreachable,
		`storageclass.storage.k8s.io "gp3" not found`:                                                      StorageClassMissing,
		"failed to get VolumeSnapshotClass for provisioner ebs.csi.aws.com":                                SnapshotClassMissing,
		"found a dataupload velero/a with expose error: Pod is unschedulable: 0/15 nodes are available":    MoverNotScheduled,
		"timeout on preparing data upload":                                                                 MoverNotReady,
		"Asynchronous action timed out":                                                                    OperationTimedOut,
		"timed out waiting for all PodVolumeBackups to complete":                                           VolumesTimedOut,
		`found a datadownload with status "InProgress" during the node-agent starting, mark it as cancel`:  NodeAgentEnded,
		`found a restore with status "InProgress" during the server starting, mark it as "Failed"`:         ServerEnded,
		`secrets is forbidden: User "system:serviceaccount:velero:velero" cannot list resource`:            RightsMissing,
		`no matches for kind "Widget" in version "example.com/v1"`:                                         KindMissing,
		"fail to patch dynamic PV, err: context deadline exceeded, PVC: a, PV: b":                          ClaimNotBound,
		"unable to locate ObjectStore plugin named velero.io/aws":                                          PluginMissing,
		"error getting backup storage location: backupstoragelocations.velero.io \"x\" not found":          LocationNotFound,
		"backup can't be created because BackupStorageLocation a is in Unavailable status.":                LocationWasUnavailable,
		"backup can't be created because backup storage location a is currently in read-only mode":         LocationWasReadOnly,
		"invalid repository password":                                                                      RepositoryPasswordWrong,
		"something that nobody has seen before":                                                            {},
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
	if v.Cause.Reason != QuotaExceeded || len(v.Cause.Facts) != 1 || !strings.Contains(v.Cause.Facts[0].Text, "60 errors") {
		t.Errorf("%s: %+v", v.Text, v.Cause)
	}
}

func BenchmarkClassifyMessage(b *testing.B) {
	message := "rpc error: code = Unknown desc = " + strings.Repeat("something that nobody has seen before ", 8)
	for b.Loop() {
		ClassifyMessage(message)
	}
}
