//go:build e2e

package e2e

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

const (
	probeMap = `{apiVersion: v1, kind: ConfigMap, metadata: {name: cm-b}}`
	probePod = `{apiVersion: v1, kind: Pod, metadata: {name: po-a}, spec: {containers: [{name: main, image: a, resources: {requests: {cpu: 10m}, limits: {cpu: 20m, memory: 64Mi}}}]}}`
)

// storeCauses are in the object store, the network before it, or the storage location.
var storeCauses = []plantedCause{
	{
		name: "store answers 403", isQuick: true, phase: "FailedValidation", reason: "StoreDenies",
		plant: unavailable("AccessDenied", http.StatusForbidden, "Access Denied"),
	},
	{
		name: "bucket can be read, not written", isQuick: true, phase: "Failed", reason: "StoreDenies",
		plant: refusesUploads("AccessDenied", http.StatusForbidden, "Access Denied"),
	},
	{
		name: "wrong bucket", isQuick: true, phase: "FailedValidation", reason: "StoreBucketMissing",
		plant: func(p *causePlot) string {
			return p.backsUp(nil, p.location(isUnavailable, func(s *veleroapi.BackupStorageLocationSpec) {
				s.ObjectStorage.Bucket = "no-such-bucket"
			}))
		},
	},
	{
		name: "wrong region", phase: "FailedValidation", reason: "StoreRegionWrong",
		plant: func(p *causePlot) string {
			return p.backsUp(nil, p.location(isUnavailable, locationConfig("region", "eu-west-9")))
		},
	},
	{
		name: "expired token", phase: "FailedValidation", reason: "StoreCredentialsExpired",
		plant: unavailable("ExpiredToken", http.StatusBadRequest, "The provided token has expired."),
	},
	{
		name: "wrong secret key", phase: "FailedValidation", reason: "StoreCredentialsWrong",
		plant: func(p *causePlot) string {
			p.secret("[default]\naws_access_key_id=lab-access-key\naws_secret_access_key=wrong\n")
			return p.backsUp(nil, p.location(isUnavailable, p.withSecret))
		},
	},
	{
		name: "Secret of the credentials missing", phase: "FailedValidation", reason: "StoreCredentialsWrong",
		plant: func(p *causePlot) string { return p.backsUp(nil, p.location(isUnavailable, p.withSecret)) },
	},
	{
		name: "unknown CA", phase: "FailedValidation", reason: "StoreCertificateUntrusted",
		plant: func(p *causePlot) string {
			return p.backsUp(nil, p.location(isUnavailable, p.faulty(lab.StoreFault{}, true)))
		},
	},
	{
		name: "connection refused", phase: "FailedValidation", reason: "StoreUnreachable",
		plant: func(p *causePlot) string {
			return p.backsUp(nil, p.location(isUnavailable, locationConfig("s3Url", "http://127.0.0.1:1")))
		},
	},
	{
		name: "no such host", phase: "FailedValidation", reason: "StoreUnreachable",
		plant: func(p *causePlot) string {
			return p.backsUp(nil, p.location(isUnavailable, locationConfig("s3Url", "http://store.nowhere.invalid:9000")))
		},
	},
	{
		name: "store throttles", phase: "Failed", reason: "StoreThrottles",
		plant: refusesUploads("SlowDown", http.StatusServiceUnavailable, "Please reduce your request rate."),
	},
	{
		name: "store refuses checksums", isQuick: true, phase: "Failed", reason: "StoreRefusesChecksum", isCured: true,
		plant: func(p *causePlot) string {
			fault := lab.StoreFault{
				Status: http.StatusBadRequest, Code: "XAmzContentSHA256Mismatch",
				Message: "The provided 'x-amz-content-sha256' header does not match what was computed.",
				Matches: func(r *http.Request) bool {
					return storesSomething(r) && (r.Header.Get("X-Amz-Sdk-Checksum-Algorithm") != "" || r.Header.Get("X-Amz-Trailer") != "")
				},
			}
			return p.backsUp(nil, p.location(isAvailable, p.faulty(fault, false),
				func(s *veleroapi.BackupStorageLocationSpec) { delete(s.Config, "checksumAlgorithm") }))
		},
	},
	{
		name: "store is full", phase: "Failed", reason: "StoreFull",
		plant: refusesUploads("XMinioStorageFull", http.StatusInsufficientStorage,
			"Storage backend has reached its minimum free drive threshold. Please delete a few objects to proceed."),
	},
	{
		name: "clocks differ", phase: "FailedValidation", reason: "StoreClockDiffers",
		plant: unavailable("RequestTimeTooSkewed", http.StatusForbidden,
			"The difference between the request time and the current time is too large."),
	},
	{
		name: "location is read-only", isQuick: true, phase: "FailedValidation", reason: "LocationWasReadOnly", isCured: true,
		plant: func(p *causePlot) string {
			return p.backsUp(nil, p.location(isAvailable, func(s *veleroapi.BackupStorageLocationSpec) {
				s.AccessMode = veleroapi.BackupStorageLocationAccessModeReadOnly
			}))
		},
	},
	{
		name: "folder of others in the bucket", phase: "FailedValidation", reason: "StoreHoldsOthers",
		plant: func(p *causePlot) string {
			where := p.location(isAvailable)
			must(p.T, theLab.MakeBucket(p.namespace+"/photos"))
			must(p.T, theLab.MakeBucket(p.namespace+"/photos/summer"))
			p.awaitLocation(isUnavailable)
			return p.backsUp(nil, where)
		},
	},
	{
		name: "location missing", phase: "FailedValidation", reason: "LocationNotFound",
		plant: func(p *causePlot) string {
			return p.backsUp(nil, func(s *veleroapi.BackupSpec) { s.StorageLocation = "nowhere" })
		},
	},
	{
		name: "plugin of the provider missing", phase: "FailedValidation", reason: "PluginMissing",
		plant: func(p *causePlot) string {
			return p.backsUp(nil, p.location(isUnavailable, func(s *veleroapi.BackupStorageLocationSpec) {
				s.Provider = "example.com/nosuch"
			}))
		},
	},
	{
		name: "store of the backup gone, restore", isQuick: true, phase: "FailedValidation", reason: "StoreUnreachable",
		plant: func(p *causePlot) string {
			server := lab.StartSilentServer(theLab.NewFaultyStore(lab.StoreFault{}), false)
			p.after(server.Close)
			where := p.location(isAvailable, locationConfig("s3Url", server.URL))
			wantEnd(p.T, ended(p.T, "Backup", strings.TrimPrefix(p.backsUp(nil, where), "backup/")), "Completed")
			server.Close()
			p.awaitLocation(isUnavailable)
			return p.restores("maps", func(s *veleroapi.RestoreSpec) { s.BackupName = p.namespace })
		},
	},
	{
		name: "tarball of the backup missing", phase: "Failed", reason: "BackupDamaged",
		plant: func(p *causePlot) string {
			path := theLab.ObjectPath("backups/" + causeSource + "/" + causeSource + ".tar.gz")
			must(p.T, os.Rename(path, path+".away"))
			p.after(func() { must(p.T, os.Rename(path+".away", path)) })
			return p.restores("maps")
		},
	},
	{
		name: "tarball of the backup damaged", phase: "PartiallyFailed", reason: "BackupDamaged",
		plant: func(p *causePlot) string {
			path := theLab.ObjectPath("backups/" + causeSource + "/" + causeSource + ".tar.gz")
			whole, err := os.ReadFile(path)
			must(p.T, err)
			must(p.T, os.WriteFile(path, []byte("<html>Please sign in</html>"), 0o600))
			p.after(func() { must(p.T, os.WriteFile(path, whole, 0o600)) })
			return p.restores("maps")
		},
	},
}

const (
	isAvailable   = veleroapi.BackupStorageLocationPhaseAvailable
	isUnavailable = veleroapi.BackupStorageLocationPhaseUnavailable
)

// backupCauses are in what a backup asks for, and in what it meets.
var backupCauses = []plantedCause{
	{
		name: "filters that exclude each other", phase: "FailedValidation", reason: "SpecRefused",
		says: []string{"Invalid included/excluded namespace lists"},
		plant: func(p *causePlot) string {
			return p.backsUp(nil, func(s *veleroapi.BackupSpec) { s.ExcludedNamespaces = s.IncludedNamespaces })
		},
	},
	{
		name: "resource policy missing", phase: "FailedValidation", reason: "ConfigMapMissing",
		plant: func(p *causePlot) string {
			return p.backsUp(nil, func(s *veleroapi.BackupSpec) {
				s.ResourcePolicy = &corev1.TypedLocalObjectReference{Kind: "configmap", Name: "no-such-policy"}
			})
		},
	},
	{
		name: "resource policy unreadable", phase: "FailedValidation", reason: "ConfigMapInvalid",
		plant: func(p *causePlot) string {
			p.config(p.namespace, nil, map[string]string{"policies": "version: v1\nvolumePolicies: often\n"})
			return p.backsUp(nil, func(s *veleroapi.BackupSpec) {
				s.ResourcePolicy = &corev1.TypedLocalObjectReference{Kind: "configmap", Name: p.namespace}
			})
		},
	},
	{
		name: "namespace missing", phase: "PartiallyFailed", reason: "NamespaceMissing",
		plant: func(p *causePlot) string {
			return p.backsUp(nil, func(s *veleroapi.BackupSpec) {
				s.IncludedNamespaces = append(s.IncludedNamespaces, "no-such-namespace")
				s.IncludedResources = []string{"namespaces", "configmaps"}
			})
		},
	},
	{
		name: "hook fails", isQuick: true, phase: "PartiallyFailed", reason: "HookFailed",
		plant: func(p *causePlot) string {
			must(p.T, theLab.RunPod(patient(p.T), causeSource, "po-a"))
			return p.backsUp(nil, hooks("main", "false"))
		},
	},
	{
		name: "hook of a container that is not there", phase: "PartiallyFailed", reason: "HookFailed",
		plant: func(p *causePlot) string { return p.backsUp(nil, hooks("other", "true")) },
	},
	{
		name: "plugin fails", isQuick: true, phase: "PartiallyFailed", reason: "PluginFailed",
		plant: func(p *causePlot) string { return p.backsUp(lab.Annotations{lab.PaceAnnotation: "often"}) },
	},
	{
		name: "operation fails", phase: "PartiallyFailed", reason: "OperationFailed", says: []string{"the lab says no"},
		plant: func(p *causePlot) string {
			return p.backsUp(lab.Annotations{lab.OperationAnnotation: "1ms", lab.OperationErrorAnnotation: "the lab says no"})
		},
	},
	{
		name: "operation takes too long", phase: "PartiallyFailed", reason: "OperationTimedOut",
		plant: func(p *causePlot) string {
			p.after(func() { must(p.T, theLab.OpenGate(p.namespace)) })
			return p.backsUp(
				lab.Annotations{lab.OperationAnnotation: "1ms", lab.OperationHoldAnnotation: p.namespace},
				func(s *veleroapi.BackupSpec) { s.ItemOperationTimeout = metav1.Duration{Duration: time.Second} })
		},
	},
	{
		name: "server killed in a backup", isQuick: true, phase: "Failed", reason: "ServerEnded", says: []string{"SIGKILL"},
		plant: func(p *causePlot) string {
			job := p.backsUp(p.held())
			p.isInProgress(job)
			must(p.T, theLab.KillVelero(patient(p.T)))
			must(p.T, theLab.StartVelero(patient(p.T), causeServer...))
			return job
		},
	},
	{
		name: "server rolled out in a backup", phase: "Failed", reason: "ServerReplaced",
		plant: func(p *causePlot) string {
			job := p.backsUp(p.held())
			p.isInProgress(job)
			p.after(func() { must(p.T, theLab.EnsureVelero(patient(p.T), causeServer...)) })
			flags := slices.Concat(causeServer, []string{"--log-level=debug"})
			must(p.T, theLab.RollOutVelero(patient(p.T), time.Second, "", flags...))
			return job
		},
	},
	{
		name: "no node-agent for a file-system backup", phase: "PartiallyFailed", reason: "NodeAgentNotRunning",
		plant: func(p *causePlot) string {
			p.makeNamespace(nil)
			p.plantAll(`{apiVersion: v1, kind: Pod, metadata: {name: po-v}, spec: {volumes: [{name: data, emptyDir: {}}], containers: [{name: main, image: a, volumeMounts: [{name: data, mountPath: /data}]}]}}`)
			must(p.T, theLab.RunPod(patient(p.T), p.namespace, "po-v"))
			return p.backsUp(nil, func(s *veleroapi.BackupSpec) {
				s.IncludedNamespaces, s.IncludedResources = []string{p.namespace}, []string{"pods"}
				s.DefaultVolumesToFsBackup = new(true)
			})
		},
	},
	{
		name: "no snapshot class", phase: "PartiallyFailed", reason: "SnapshotClassMissing",
		plant: func(p *causePlot) string { return p.snapshots("") },
	},
	{
		name: "snapshot fails", phase: "PartiallyFailed", reason: "SnapshotFailed",
		plant: func(p *causePlot) string {
			return p.snapshots(`{apiVersion: snapshot.storage.k8s.io/v1, kind: VolumeSnapshotClass, metadata: {name: cause-snapshots, labels: {velero.io/csi-volumesnapshot-class: "true"}}, driver: cause.csi.veltui.io, deletionPolicy: Delete}`)
		},
	},
}

// hooks gives the pods of a backup a hook.
func hooks(container, command string) func(*veleroapi.BackupSpec) {
	return func(s *veleroapi.BackupSpec) {
		s.IncludedResources = []string{"pods"}
		s.Hooks.Resources = []veleroapi.BackupResourceHookSpec{{
			Name: "flush",
			PreHooks: []veleroapi.BackupResourceHook{{Exec: &veleroapi.ExecHook{
				Container: container, Command: []string{command}, OnError: "Fail",
			}}},
		}}
	}
}

// snapshots has a backup take a snapshot of a volume of a driver that nobody serves.
func (p *causePlot) snapshots(class string) (job string) {
	must(p.T, theLab.StartSnapshots(patient(p.T)))
	p.restart(append([]string{"--features=EnableCSI"}, causeServer...)...)
	p.makeNamespace(nil)
	p.plantAll(strings.ReplaceAll(`{apiVersion: v1, kind: PersistentVolume, metadata: {name: pv-$NS}, spec: {capacity: {storage: 1Gi}, storageClassName: cause-class, accessModes: [ReadWriteOnce], persistentVolumeReclaimPolicy: Delete, csi: {driver: cause.csi.veltui.io, volumeHandle: pv-$NS}, claimRef: {namespace: $NS, name: data}}}
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {storageClassName: cause-class, volumeName: pv-$NS, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`, "$NS", p.namespace))
	if class != "" {
		p.plantAll(class)
	}
	p.awaitBound("data")
	return p.backsUp(nil, func(s *veleroapi.BackupSpec) {
		s.IncludedNamespaces, s.IncludedResources = []string{p.namespace}, nil
		s.CSISnapshotTimeout = metav1.Duration{Duration: 3 * time.Second}
	})
}

// restoreCauses are in the target of a restore, and in what the restore asks for.
var restoreCauses = []plantedCause{
	{
		name: "quota exceeded", isQuick: true, phase: "PartiallyFailed", reason: "QuotaExceeded",
		plant: func(p *causePlot) string {
			p.makeNamespace(nil)
			p.refusesAt(quota(`count/configmaps: "1"`), probeMap)
			return p.restores("maps")
		},
	},
	{
		name: "limit range", phase: "PartiallyFailed", reason: "LimitRangeRefuses",
		plant: func(p *causePlot) string {
			p.makeNamespace(nil)
			p.refusesAt(limits(`{type: Container, min: {cpu: 50m}}`), probePod)
			return p.restores("pod")
		},
	},
	{
		name: "policy denies", phase: "PartiallyFailed", reason: "PolicyDenies",
		plant: func(p *causePlot) string {
			p.makeNamespace(nil)
			p.refusesAt(policy("false"), probeMap)
			return p.restores("maps")
		},
	},
	{
		name: "webhook denies", phase: "PartiallyFailed", reason: "WebhookDenies",
		plant: func(p *causePlot) string {
			p.makeNamespace(nil)
			p.answers("cm-b", inTarget)
			p.refusesAt("", probeMap)
			return p.restores("maps")
		},
	},
	{
		name: "webhook down", isQuick: true, phase: "PartiallyFailed", reason: "WebhookUnreachable",
		plant: func(p *causePlot) string {
			p.makeNamespace(nil)
			p.refusesAt(hook(fails, inTarget, refuses), probeMap)
			return p.restores("maps")
		},
	},
	{
		name: "Pod Security", phase: "PartiallyFailed", reason: "PodSecurityDenies",
		plant: func(p *causePlot) string {
			p.makeNamespace(map[string]string{"pod-security.kubernetes.io/enforce": "restricted"})
			return p.restores("pod")
		},
	},
	{
		name: "namespace being deleted", phase: "PartiallyFailed", reason: "NamespaceDeleted",
		plant: func(p *causePlot) string {
			p.restart(append([]string{"--terminating-resource-timeout=1s"}, causeServer...)...)
			p.makeNamespace(nil)
			p.holdNamespace()
			return p.restores("maps")
		},
	},
	{
		name: "kind missing", isQuick: true, phase: "PartiallyFailed", reason: "KindMissing",
		plant: func(p *causePlot) string { return p.restores("widget", namespaceOnly) },
	},
	{
		name: "API service of the kind down", phase: "PartiallyFailed", reason: "APIServerFailed",
		plant: func(p *causePlot) string {
			p.plantAll(`{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.causes.veltui.io}, spec: {group: causes.veltui.io, version: v1, groupPriorityMinimum: 1000, versionPriority: 15, insecureSkipTLSVerify: true, service: {namespace: nowhere, name: serves}}}`)
			p.after(func() { must(p.T, theLab.KillVelero(patient(p.T))); p.restart(causeServer...) })
			must(p.T, theLab.KillVelero(patient(p.T)))
			must(p.T, theLab.StartVelero(patient(p.T), causeServer...))
			return p.restores("widget", namespaceOnly)
		},
	},
	{
		name: "node port taken", phase: "PartiallyFailed", reason: "ObjectRefused",
		plant: func(p *causePlot) string {
			p.makeNamespace(nil)
			p.plantAll(`{apiVersion: v1, kind: Service, metadata: {name: holder}, spec: {type: NodePort, ports: [{port: 80, nodePort: 30017}]}}`)
			return p.restores("port")
		},
	},
	{
		name: "storage class missing", phase: "PartiallyFailed", reason: "StorageClassMissing",
		plant: func(p *causePlot) string {
			p.config(p.namespace,
				map[string]string{"velero.io/plugin-config": "", "velero.io/change-storage-class": "RestoreItemAction"},
				map[string]string{"cause-class": "no-such-class"})
			return p.restores("claim")
		},
	},
	{
		name: "resource modifier missing", phase: "FailedValidation", reason: "ConfigMapMissing",
		plant: func(p *causePlot) string { return p.restores("maps", useModifier("no-such-modifier")) },
	},
	{
		name: "resource modifier invalid", phase: "FailedValidation", reason: "ConfigMapInvalid",
		plant: func(p *causePlot) string {
			p.config(p.namespace, nil, map[string]string{"rules": "version: v1\nresourceModifierRules: []\n"})
			return p.restores("maps", useModifier(p.namespace))
		},
	},
	{
		name: "resource modifier fails", phase: "PartiallyFailed", reason: "ModifierFailed",
		plant: func(p *causePlot) string {
			p.config(p.namespace, nil, map[string]string{"rules": "version: v1\nresourceModifierRules:\n" +
				"- conditions: {groupResource: configmaps}\n  patches: [{operation: remove, path: /data/none}]\n"})
			return p.restores("maps", useModifier(p.namespace))
		},
	},
	{
		name: "backup gone", isQuick: true, phase: "FailedValidation", reason: "BackupNotFound",
		plant: func(p *causePlot) string {
			return p.restores("maps", func(s *veleroapi.RestoreSpec) { s.BackupName = "no-such-backup" })
		},
	},
	{
		name: "schedule without backups", phase: "FailedValidation", reason: "BackupNotFound",
		plant: func(p *causePlot) string {
			return p.restores("maps", func(s *veleroapi.RestoreSpec) { s.BackupName, s.ScheduleName = "", "no-such-schedule" })
		},
	},
	{
		name: "rights missing", phase: "PartiallyFailed", reason: "RightsMissing",
		plant: func(p *causePlot) string {
			p.plantAll(fewRights)
			p.asUser("few-rights")
			return p.restores("maps")
		},
	},
	{
		name: "server killed in a restore", phase: "Failed", reason: "ServerEnded", says: []string{"SIGKILL"},
		plant: func(p *causePlot) string {
			job := p.restoresHeld("maps")
			p.isInProgress(job)
			must(p.T, theLab.KillVelero(patient(p.T)))
			must(p.T, theLab.StartVelero(patient(p.T), causeServer...))
			return job
		},
	},
}

// useModifier has a restore use a resource modifier.
func useModifier(name string) func(*veleroapi.RestoreSpec) {
	return func(s *veleroapi.RestoreSpec) {
		s.ResourceModifier = &corev1.TypedLocalObjectReference{Kind: "ConfigMap", Name: name}
	}
}

// fewRights are those of a user who may do all but write ConfigMaps.
const fewRights = `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: few-rights}, rules: [{apiGroups: ["*"], resources: ["*"], verbs: [get, list, watch]}, {apiGroups: [velero.io, coordination.k8s.io, apps, events.k8s.io], resources: ["*"], verbs: ["*"]}, {apiGroups: [""], resources: [namespaces, secrets, pods, events, serviceaccounts], verbs: ["*"]}]}
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: few-rights}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: few-rights}, subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: few-rights}]}`

// plantedCauses are all of them.
var plantedCauses = slices.Concat(storeCauses, backupCauses, restoreCauses)
