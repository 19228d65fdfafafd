package velero

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The same event, as components write it through the older and the newer API.
func TestReadPodEvent(t *testing.T) {
	first, last := time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC), time.Date(2026, 11, 28, 9, 5, 0, 0, time.UTC)
	of := corev1.ObjectReference{Kind: "Pod", Name: "velero-5c8d7f9b66-x2x4k"}
	for name, e := range map[string]corev1.Event{
		"older": {
			InvolvedObject: of, Reason: "Evicted", Message: "The node was low on resource: memory. ", Count: 3,
			FirstTimestamp: metav1.NewTime(first), LastTimestamp: metav1.NewTime(last),
			Source: corev1.EventSource{Component: "kubelet", Host: "node-1"},
		},
		"newer": {
			InvolvedObject: of, Reason: "Evicted", Message: "The node was low on resource: memory. ",
			EventTime: metav1.NewMicroTime(first), ReportingController: "kubelet", ReportingInstance: "node-1",
			Series: &corev1.EventSeries{Count: 3, LastObservedTime: metav1.NewMicroTime(last)},
		},
	} {
		want := PodEvent{Pod: of.Name, Node: "node-1", Reason: "Evicted", Count: 3, Time: last,
			Message: "The node was low on resource: memory."}
		if got := ReadPodEvent(&e); got != want || !got.IsEviction() {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// The scheduler reports the preemption of a pod, and names the node in the message only.
func TestPreemptionNamesItsNode(t *testing.T) {
	e := corev1.Event{Reason: "Preempted", Message: "Preempted by pod 6f1c on node node-1",
		ReportingController: "default-scheduler", ReportingInstance: "default-scheduler-control-1"}
	if got := ReadPodEvent(&e); got.Node != "node-1" {
		t.Errorf("node %q", got.Node)
	}
}

func TestPodsOfControllers(t *testing.T) {
	var deployment, daemonSet []string
	names := []string{
		"velero-5c8d7f9b66-x2x4k", "velero-ui-5c8d7f9b66-x2x4k", "velero-x2x4k", "velero", "other-5c8d7f9b66-x2x4k",
		"node-agent-x2x4k", "node-agent-windows-x2x4k", "node-agent-a1e0o",
	}
	for _, name := range names {
		if IsPodOfDeployment(name, "velero") {
			deployment = append(deployment, name)
		}
		if IsPodOfDaemonSet(name, "node-agent") {
			daemonSet = append(daemonSet, name)
		}
	}
	if !slices.Equal(deployment, names[:1]) || !slices.Equal(daemonSet, []string{"node-agent-x2x4k"}) {
		t.Errorf("of the Deployment %q, of the DaemonSet %q", deployment, daemonSet)
	}
}
