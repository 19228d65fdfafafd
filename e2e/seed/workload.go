package seed

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// endedRunTime is when everything that has ended had run.
var endedRunTime = metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))

// addWorkload is a Deployment, from which kube-controller-manager makes a
// ReplicaSet and pods, and a CronJob that is suspended.
func (m *setBuilder) addWorkload(ns string, i int) {
	deployment := m.randomMeta(ns, "deployment", i)
	replicas := int32(1 + m.random.IntN(3))
	selector := map[string]string{"deployment": deployment.Name}
	template := podTemplate(selector)
	m.addObjects(&appsv1.Deployment{
		ObjectMeta: deployment,
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: selector},
			Template: template,
		},
	})
	if i%4 != 0 {
		return
	}
	suspended := true
	job := template
	job.Spec.RestartPolicy = corev1.RestartPolicyNever
	m.addObjects(&batchv1.CronJob{
		ObjectMeta: m.randomMeta(ns, "cronjob", i),
		Spec: batchv1.CronJobSpec{
			Schedule: "0 3 * * *", Suspend: &suspended,
			JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: job}},
		},
	})
}

func podTemplate(labels map[string]string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podSpec()}
}

func podSpec() corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "registry.example.com/lab/app:1"}}}
}

// addEndedJob is a Job that has completed. It is managed by nobody, so that
// kube-controller-manager makes no pods for it.
func (m *setBuilder) addEndedJob(ns string, i int) {
	nobody := "lab.veltui.io/nobody"
	spec := podSpec()
	spec.RestartPolicy = corev1.RestartPolicyNever
	condition := func(t batchv1.JobConditionType) batchv1.JobCondition {
		return batchv1.JobCondition{
			Type:               t,
			Status:             corev1.ConditionTrue,
			Reason:             "CompletionsReached",
			LastTransitionTime: endedRunTime,
			LastProbeTime:      endedRunTime,
		}
	}
	m.addEnded(&batchv1.Job{
		ObjectMeta: m.randomMeta(ns, "job", i),
		Spec:       batchv1.JobSpec{ManagedBy: &nobody, Template: corev1.PodTemplateSpec{Spec: spec}},
		Status: batchv1.JobStatus{
			Succeeded:               1,
			StartTime:               &endedRunTime,
			CompletionTime:          &endedRunTime,
			UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{},
			Conditions: []batchv1.JobCondition{
				condition(batchv1.JobSuccessCriteriaMet),
				condition(batchv1.JobComplete),
			},
		},
	})
}

var oneGibibyte = corev1.VolumeResourceRequirements{
	Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
}

// addPod is a pod of its own; every third has succeeded or failed.
func (m *setBuilder) addPod(ns string, i int) {
	pod := &corev1.Pod{ObjectMeta: m.randomMeta(ns, "pod", i), Spec: podSpec()}
	switch i % 6 {
	case 2:
		pod.Status = corev1.PodStatus{Phase: corev1.PodSucceeded, StartTime: &endedRunTime}
		m.addEnded(pod)
	case 5:
		pod.Status = corev1.PodStatus{Phase: corev1.PodFailed, StartTime: &endedRunTime, Reason: "Evicted"}
		m.addEnded(pod)
	default:
		m.addObjects(pod)
	}
}

// addClaim is a PersistentVolume and the claim that it is bound to; each third
// is used by a pod.
func (m *setBuilder) addClaim(ns string, i int) {
	meta := m.randomMeta(ns, "data", i)
	class := storageClass
	size := corev1.ResourceList{
		corev1.ResourceStorage: *resource.NewQuantity(int64(1+m.random.IntN(50))<<30, resource.BinarySI),
	}
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	volume := fmt.Sprintf("pv-%s-%02d", ns, i)
	m.addBases(&corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: volume, Labels: meta.Labels},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      size,
			AccessModes:                   modes,
			StorageClassName:              class,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				HostPath: &corev1.HostPathVolumeSource{Path: "/none/" + volume},
			},
			ClaimRef: &corev1.ObjectReference{Namespace: ns, Name: meta.Name},
		},
	})
	m.addObjects(&corev1.PersistentVolumeClaim{
		ObjectMeta: meta,
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: modes, StorageClassName: &class, VolumeName: volume,
			Resources: corev1.VolumeResourceRequirements{Requests: size},
		},
	})
	if i%3 != 0 {
		return
	}
	pod := &corev1.Pod{ObjectMeta: m.randomMeta(ns, "mount", i), Spec: podSpec()}
	pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: meta.Name},
	}}}
	m.addObjects(pod)
}
