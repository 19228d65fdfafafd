package diagnosis

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/velero"
)

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

// statusOfKilledPod is what a kubelet writes of a whole pod that it ends, for a reason and with a message: the containers
// end first, and the pod keeps how.
func statusOfKilledPod(reason, message string, exitCode int32, at time.Time) corev1.PodStatus {
	status := statusOfEviction(at)
	status.Reason, status.Message = reason, message
	status.ContainerStatuses[0].State.Terminated = &corev1.ContainerStateTerminated{
		Reason: "Error", ExitCode: exitCode, FinishedAt: metav1.NewTime(at),
	}
	return status
}

// statusWaiting is what a kubelet writes of a container that it cannot start (Kubernetes, pkg/kubelet/kubelet_pods.go
// convertToAPIContainerStatuses, with the reason of the last attempt).
func statusWaiting(reason, message string) corev1.PodStatus {
	return corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
		Name:  "velero",
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
	}}}
}

// withLastEnd adds how a container that waits ended before.
func withLastEnd(status corev1.PodStatus, reason string, exitCode int32, at time.Time) corev1.PodStatus {
	status.Phase = corev1.PodRunning
	status.ContainerStatuses[0].RestartCount = 6
	status.ContainerStatuses[0].LastTerminationState = corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{Reason: reason, ExitCode: exitCode, FinishedAt: metav1.NewTime(at)},
	}
	return status
}

func statusOfRunning() corev1.PodStatus {
	return corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{
		Name: "velero", Ready: true,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(minutesAgo(37))}},
	}}}
}

// The server that worked on a job ended: the verdict says how, where Kubernetes still knows it. Each status is as the
// named function of Kubernetes writes it; exit codes and reasons of containers come from the container runtime.
func TestCauseIsHowTheServerEnded(t *testing.T) {
	old, end := minutesAgo(500), minutesAgo(38)
	successor := podOfServer("velero-2", minutesAgo(37), statusOfRunning())
	restarted := func(reason string, exitCode int32) []*corev1.Pod {
		return []*corev1.Pod{podOfServer("velero-1", old, statusAfterRestart(reason, exitCode, end))}
	}
	replaced := func(status corev1.PodStatus) []*corev1.Pod {
		return []*corev1.Pod{podOfServer("velero-1", old, status), successor}
	}
	lost := statusOfRunning()
	lost.Reason, lost.Message = "NodeLost", "Node node-1 which was running pod velero-1 is unresponsive"
	unfound := statusAfterRestart("ContainerStatusUnknown", 137, end)
	unfound.ContainerStatuses[0].LastTerminationState.Terminated.Message =
		"The container could not be located when the pod was deleted.  The container used to be Running"
	beside := statusOfRunning()
	beside.ContainerStatuses = append(beside.ContainerStatuses, corev1.ContainerStatus{
		Name: "proxy", RestartCount: 1,
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			Reason: "OOMKilled", ExitCode: 137, FinishedAt: metav1.NewTime(end),
		}},
	})
	for name, c := range map[string]struct {
		pods   []*corev1.Pod
		hidden bool
		reason Reason
		says   string
		doubt  string
	}{
		// pkg/kubelet/kubelet_pods.go convertToAPIContainerStatuses copies reason and code of the runtime.
		"killed for memory": {
			pods: restarted("OOMKilled", 137), reason: ServerOutOfMemory,
			says: "killed for memory (limit 512Mi) 2m after the backup began",
		},
		"a panic":              {pods: restarted("Error", 2), reason: ServerPanicked, says: "panicked (exit code 2)"},
		"another error":        {pods: restarted("Error", 1), reason: ServerEnded, says: "ended with Error, exit code 1"},
		"killed":               {pods: restarted("Error", 137), reason: ServerEnded, says: "killed with SIGKILL"},
		"terminated":           {pods: restarted("Error", 143), reason: ServerEnded, says: "asked to end with SIGTERM"},
		"lost by the runtime":  {pods: restarted("Unknown", 255), reason: ServerEnded, says: "ended with Unknown, exit code 255"},
		"ended without errors": {pods: restarted("Completed", 0), reason: ServerEnded, says: "ended with Completed"},
		// The same function, for a container that the runtime no longer knows.
		"not located": {
			pods:   []*corev1.Pod{podOfServer("velero-1", old, unfound)},
			reason: ServerEnded, says: "ended with ContainerStatusUnknown, exit code 137",
		},
		// The same function, for a container that waits to be started again (pkg/kubelet/kuberuntime/kuberuntime_manager.go
		// doBackOff).
		"back-off after a kill for memory": {
			pods: []*corev1.Pod{podOfServer("velero-1", old, withLastEnd(
				statusWaiting("CrashLoopBackOff", "back-off 5m0s restarting failed container=velero"), "OOMKilled", 137, end))},
			reason: ServerOutOfMemory, says: "killed for memory (limit 512Mi)",
		},
		// pkg/kubelet/eviction/eviction_manager.go evictPod.
		"evicted": {
			pods: replaced(statusOfEviction(end)), reason: ServerEvicted,
			says: "evicted the Velero server: The node was low on resource: memory.",
		},
		// pkg/kubelet/preemption/preemption.go evictPodsToFreeRequests.
		"preempted": {
			pods:   replaced(statusOfKilledPod("Preempting", "Preempted in order to admit critical pod", 143, end)),
			reason: ServerEvicted, says: "evicted the Velero server: Preempted in order to admit critical pod",
		},
		// pkg/kubelet/nodeshutdown/nodeshutdown_manager.go killPods.
		"node shut down": {
			pods: replaced(statusOfKilledPod(
				"Terminated", "Pod was terminated in response to imminent node shutdown.", 143, end)),
			reason: NodeShutDown, says: "the node of the Velero server was shut down 2m after the backup began",
		},
		// pkg/kubelet/active_deadline.go ShouldEvict.
		"deadline": {
			pods: replaced(statusOfKilledPod(
				"DeadlineExceeded", "Pod was active on the node longer than the specified deadline", 137, end)),
			reason: ServerEnded, says: "ended with DeadlineExceeded",
		},
		// pkg/controller/util/node/controller_utils.go SetPodTerminationReason: the pod goes on saying that it runs.
		"node lost": {pods: replaced(lost), reason: ServerReplaced, says: "another pod took the place of the Velero server"},
		"a roll-out": {
			pods: []*corev1.Pod{successor}, reason: ServerReplaced,
			says: "another pod took the place of the Velero server 3m after the backup began",
		},
		// pkg/kubelet/kubelet_pods.go convertToAPIContainerStatuses: each container has a status of its own.
		"a container beside the server": {
			pods:   []*corev1.Pod{podOfServer("velero-1", old, beside)},
			reason: ServerEnded, says: "ended while it worked on the job", doubt: "not known any more",
		},
		// pkg/kubelet/kubelet.go rejectPod: nothing of the pod ran.
		"a pod that was never admitted": {
			pods: replaced(corev1.PodStatus{
				Phase: corev1.PodFailed, Reason: "UnexpectedAdmissionError", Message: "Pod was rejected: Allocate failed",
			}),
			reason: ServerReplaced, says: "another pod took the place",
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

// No server runs, and a job is in progress: the verdict says why the pod does not start, and where to look.
func TestServerThatDoesNotStart(t *testing.T) {
	unscheduled := corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		Message: "0/3 nodes are available: 3 Insufficient memory.",
	}}}
	unstartable := statusWaiting("", "")
	unstartable.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		Reason: "StartError", ExitCode: 128, FinishedAt: metav1.NewTime(minutesAgo(30)),
		Message: `exec: "/velero": stat /velero: no such file or directory`,
	}}
	cannotRun := *unstartable.DeepCopy()
	cannotRun.ContainerStatuses[0].State.Terminated.Reason = "ContainerCannotRun"
	for name, c := range map[string]struct {
		status corev1.PodStatus
		reason Reason
		says   []string
	}{
		// pkg/kubelet/kuberuntime/kuberuntime_container.go startContainer, ErrCreateContainerConfig.
		"a Secret is missing": {
			statusWaiting("CreateContainerConfigError", `secret "cloud-credentials" not found`), ServerDown,
			[]string{"CreateContainerConfigError", `secret "cloud-credentials" not found`},
		},
		// pkg/kubelet/images/image_manager.go EnsureImageExists.
		"no image": {
			statusWaiting("ImagePullBackOff", `Back-off pulling image "velero/velero:v1.18.9"`), ServerDown,
			[]string{"ImagePullBackOff", "velero/velero:v1.18.9"},
		},
		// pkg/kubelet/kuberuntime/kuberuntime_manager.go doBackOff.
		"a crash loop": {
			withLastEnd(statusWaiting("CrashLoopBackOff", "back-off 5m0s restarting"), "Error", 1, minutesAgo(20)),
			ServerCrashLooping, []string{"CrashLoopBackOff", "back-off 5m0s", "Error"},
		},
		// pkg/kubelet/kubelet_pods.go convertToAPIContainerStatuses: the runtime could not start it; StartError is
		// containerd's word, ContainerCannotRun is that of Docker.
		"no such program":            {unstartable, ServerDown, []string{"StartError", "no such file or directory"}},
		"no such program, by Docker": {cannotRun, ServerDown, []string{"ContainerCannotRun", "no such file or directory"}},
		// pkg/kubelet/kubelet.go rejectPod, with the reason of pkg/kubelet/cm/admission/errors.go.
		"not admitted": {
			corev1.PodStatus{
				Phase: corev1.PodFailed, Reason: "UnexpectedAdmissionError", Message: "Pod was rejected: Allocate failed",
			},
			ServerDown, []string{"UnexpectedAdmissionError", "Allocate failed"},
		},
		// pkg/scheduler/schedule_one.go handleSchedulingFailure.
		"no node": {unscheduled, ServerDown, []string{"Unschedulable", "Insufficient memory"}},
	} {
		pod := podOfServer("velero-1", minutesAgo(50), c.status)
		w := healthy()
		w.Server = velero.ServerOf([]*corev1.Pod{pod}, minutesAgo(0))
		j := spec{name: "nightly", phase: velero.PhaseInProgress, started: 60, changed: 55, total: 88, done: 12}.job(t)
		v := Judge(j, w)
		said := v.Text
		for _, f := range v.Facts {
			said += "\n" + f.Text
		}
		if v.Reason != c.reason {
			t.Errorf("%s: %s: %s", name, v.Reason, said)
		}
		for _, words := range c.says {
			if !strings.Contains(said, words) {
				t.Errorf("%s: nothing says %q: %s", name, words, said)
			}
		}
		if next := v.Next(); next.Text == "" || !strings.Contains(strings.Join(next.Commands, " "), "velero-1") {
			t.Errorf("%s: next is %+v", name, next)
		}
	}
}
