package oldscene

import (
	"context"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/demo/sim"
)

// Namespace is where the demo's Velero lives.
const Namespace = "velero"

// image is what the server's pod says it runs.
const image = "velero/velero:v1.18.3"

// concurrentBackups is the server's --concurrent-backups.
const concurrentBackups = 2

// install creates what `velero install` would: the namespace, the server's
// Deployment and pod, the node agents, a storage location, repositories and
// schedules. serverStart is when the server's container started; it had been
// killed before, out of memory. Without apps there are no repositories and
// schedules.
func install(ctx context.Context, api client.Client, scheme *runtime.Scheme, storeURL string, now, serverStart time.Time, withApps bool) error {
	b := &builder{api: api, scheme: scheme, items: map[string]*sim.Item{}}
	if err := b.createAll(ctx, []thing{{object: namespace(Namespace, "platform")}}); err != nil {
		return err
	}
	things := []thing{
		{object: serverDeployment()},
		{object: agentDaemonSet()},
		{object: pod("velero-7d9c6b5f84-x2kqp", serverLabels, serverSpec()), status: serverStatus(now, serverStart)},
		{object: location(now, storeURL)},
	}
	for n, node := range nodes {
		agent := pod("node-agent-"+token(node, n)[:5], agentLabels, agentSpec())
		agent.Spec.NodeName = node
		things = append(things, thing{object: agent, status: running(now.Add(-72*time.Hour), now.Add(-72*time.Hour))})
	}
	if !withApps {
		return b.createAll(ctx, things)
	}
	for _, a := range apps {
		if len(a.volumes) > 0 {
			things = append(things, thing{object: repository(a.namespace, now)})
		}
	}
	for _, s := range schedules {
		things = append(things, thing{object: s.object(now)})
	}
	return b.createAll(ctx, things)
}

var (
	serverLabels = map[string]string{"component": "velero", "deploy": "velero"}
	agentLabels  = map[string]string{"name": "node-agent", "role": "node-agent"}
)

func serverSpec() corev1.PodSpec {
	return corev1.PodSpec{ServiceAccountName: "velero", NodeName: nodes[0], Containers: []corev1.Container{{
		Name: "velero", Image: image, Command: []string{"/velero"},
		Args: []string{"server", "--uploader-type=kopia", "--concurrent-backups=2", "--garbage-collection-frequency=1m"},
	}}}
}

func agentSpec() corev1.PodSpec {
	return corev1.PodSpec{ServiceAccountName: "velero", Containers: []corev1.Container{{
		Name: "node-agent", Image: image, Command: []string{"/velero"}, Args: []string{"node-agent", "server"},
	}}}
}

func serverDeployment() *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: "velero", Labels: map[string]string{"component": "velero"}},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"deploy": "velero"}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: serverLabels}, Spec: serverSpec()},
		},
	}
}

func agentDaemonSet() *appsv1.DaemonSet {
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: "node-agent", Labels: map[string]string{"component": "velero"}},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"name": "node-agent"}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: agentLabels}, Spec: agentSpec()},
		},
	}
}

func pod(name string, labels map[string]string, spec corev1.PodSpec) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name, Labels: labels}, Spec: spec}
}

// running is the status that a kubelet would write for a pod that runs.
func running(podStart, containerStart time.Time) func(client.Object) {
	return func(o client.Object) {
		p := o.(*corev1.Pod)
		started := true
		p.Status.Phase = corev1.PodRunning
		p.Status.StartTime = &metav1.Time{Time: podStart}
		for _, condition := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Time{Time: containerStart}})
		}
		c := p.Spec.Containers[0]
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: c.Name, Image: c.Image, ImageID: "docker.io/" + c.Image, Ready: true, Started: &started,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Time{Time: containerStart}}},
		}}
	}
}

func serverStatus(now, serverStart time.Time) func(client.Object) {
	runs := running(now.Add(-72*time.Hour), serverStart)
	return func(o client.Object) {
		runs(o)
		c := &o.(*corev1.Pod).Status.ContainerStatuses[0]
		c.RestartCount = 1
		c.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
			Reason: "OOMKilled", ExitCode: 137,
			StartedAt: metav1.Time{Time: now.Add(-72 * time.Hour)}, FinishedAt: metav1.Time{Time: serverStart.Add(-2 * time.Second)},
		}
	}
}

func location(now time.Time, storeURL string) *velerov1.BackupStorageLocation {
	stamp := &metav1.Time{Time: now.Truncate(time.Second)}
	return &velerov1.BackupStorageLocation{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: "default"},
		Spec: velerov1.BackupStorageLocationSpec{
			Provider: "aws", Default: true, AccessMode: velerov1.BackupStorageLocationAccessModeReadWrite,
			Config:      map[string]string{"region": "demo", "s3ForcePathStyle": "true", "s3Url": storeURL},
			StorageType: velerov1.StorageType{ObjectStorage: &velerov1.ObjectStorageLocation{Bucket: sim.Bucket}},
		},
		Status: velerov1.BackupStorageLocationStatus{
			Phase: velerov1.BackupStorageLocationPhaseAvailable, LastSyncedTime: stamp, LastValidationTime: stamp,
		},
	}
}

func repository(namespace string, now time.Time) *velerov1.BackupRepository {
	maintained := &metav1.Time{Time: now.Add(-37 * time.Minute).Truncate(time.Second)}
	return &velerov1.BackupRepository{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: namespace + "-default-kopia", Labels: map[string]string{
			velerov1.VolumeNamespaceLabel: namespace, velerov1.StorageLocationLabel: "default", velerov1.RepositoryTypeLabel: "kopia",
		}},
		Spec: velerov1.BackupRepositorySpec{
			VolumeNamespace: namespace, BackupStorageLocation: "default", RepositoryType: "kopia",
			ResticIdentifier: "", MaintenanceFrequency: metav1.Duration{Duration: time.Hour},
		},
		Status: velerov1.BackupRepositoryStatus{Phase: velerov1.BackupRepositoryPhaseReady, LastMaintenanceTime: maintained},
	}
}
