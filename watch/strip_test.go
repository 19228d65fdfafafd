package watch

import (
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/velero"
)

// A stripped pod tells of Velero's server, a node-agent and a mover what the whole pod tells.
func TestStrippedPodTellsTheSame(t *testing.T) {
	grace := int64(3600) // as the Helm chart has it
	noon := metav1.NewTime(time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC))
	status := corev1.PodStatus{
		Phase:     corev1.PodRunning,
		Message:   "m",
		Reason:    "r",
		StartTime: &noon,
		Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "no node"},
		},
		InitContainerStatuses: []corev1.ContainerStatus{
			{Name: "plugin", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}},
		},
		ContainerStatuses: []corev1.ContainerStatus{
			{
				Name: "velero", Ready: true, RestartCount: 3,
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: noon}},
				LastTerminationState: corev1.ContainerState{
					Terminated: &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137, FinishedAt: noon},
				},
			},
		},
	}
	for name, labels := range map[string]map[string]string{
		"server":     {"deploy": "velero", "component": "velero"},
		"node-agent": {"name": "node-agent", "role": "node-agent"},
		"mover":      {"velero.io/data-upload": "upload-1"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, CreationTimestamp: noon},
				Spec: corev1.PodSpec{
					NodeName:                      "node-1",
					ServiceAccountName:            "velero",
					TerminationGracePeriodSeconds: &grace,
					Containers: []corev1.Container{{
						Name: "velero", Image: "velero/velero:v1.18.3", Args: []string{"server", "--log-level=debug"},
						Env: []corev1.EnvVar{{Name: velero.TimeZoneVariable, Value: "Europe/Berlin"}},
					}},
				},
				Status: status,
			}
			whole := p.DeepCopy()
			if !stripPod(p) {
				t.Fatal("the pod is taken for another's")
			}
			read := func(p *corev1.Pod) []any {
				pods := []*corev1.Pod{p}
				return []any{
					velero.ServerPods(pods), velero.NodeAgentsOf(pods), velero.FindMovers(pods), velero.ReadPodState(p),
				}
			}
			if got, want := read(p), read(whole); !reflect.DeepEqual(got, want) {
				t.Errorf("stripped: %+v\nwhole: %+v", got, want)
			}
		})
	}
}
