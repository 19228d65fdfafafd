package velero

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// TestEveryPodSaysThatNoNodeTakesIt: of a server, a node-agent and a mover alike.
func TestEveryPodSaysThatNoNodeTakesIt(t *testing.T) {
	unscheduled := func(labels map[string]string, container string) []*corev1.Pod {
		return []*corev1.Pod{{
			ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: container}}},
			Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
				Reason: corev1.PodReasonUnschedulable, Message: "0/3 nodes are available",
			}}},
		}}
	}
	servers := ServerPods(unscheduled(map[string]string{"deploy": "velero"}, serverContainer))
	if len(servers) != 1 || servers[0].WaitingReason != corev1.PodReasonUnschedulable {
		t.Errorf("server: %+v", servers)
	}
	agents := NodeAgentsOf(unscheduled(map[string]string{"name": "node-agent"}, agentContainer))
	if len(agents) != 1 || agents[0].WaitingReason != corev1.PodReasonUnschedulable || agents[0].Message == "" {
		t.Errorf("node-agent: %+v", agents)
	}
	movers := FindMovers(unscheduled(map[string]string{veleroapi.DataUploadLabel: "u"}, "c"))
	if len(movers) != 1 {
		t.Errorf("%d movers", len(movers))
	}
	for _, mover := range movers {
		if mover.Phase != MoverUnschedulable || mover.Message == "" {
			t.Errorf("mover: %+v", mover)
		}
	}
}

// TestNewestEnd: a container that has ended again ended last in its present state, else before its last restart.
func TestNewestEnd(t *testing.T) {
	early, late := metav1.Unix(100, 0), metav1.Unix(200, 0)
	end := func(at metav1.Time) *ContainerEnd { return &ContainerEnd{Time: at.Time} }
	for name, c := range map[string]struct {
		state ContainerState
		want  metav1.Time
	}{
		"now":               {ContainerState{End: end(late), LastEnd: end(early)}, late},
		"a clock went back": {ContainerState{End: end(early), LastEnd: end(late)}, late},
		"before":            {ContainerState{LastEnd: end(early)}, early},
	} {
		if got := c.state.NewestEnd(); got == nil || !got.Time.Equal(c.want.Time) {
			t.Errorf("%s: %v", name, got)
		}
	}
	if (&ContainerState{}).NewestEnd() != nil {
		t.Error("a container that never ended has an end")
	}
}
