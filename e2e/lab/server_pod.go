package lab

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// serverArgs are the arguments that the server's container shows.
func serverArgs(flags []string) []string { return append([]string{"server"}, flags...) }

// markServerRunning makes the Pod that stands for the server say that its container
// runs since now, and that its log begins at from in the server's. As in a real
// cluster, other flags mean another Pod, and the same flags another start of the
// container.
func (l *Lab) markServerRunning(ctx context.Context, flags []string, from int64) error {
	pod, err := l.serverPod(ctx)
	if err != nil {
		return err
	}
	if pod != nil && !slices.Equal(pod.Spec.Containers[0].Args, serverArgs(flags)) {
		if err := l.Client.Delete(ctx, pod, client.GracePeriodSeconds(0)); err != nil {
			return fmt.Errorf("deleting the server's pod: %w", err)
		}
		pod = nil
	}
	if pod == nil {
		pod = l.newServerPod(flags)
		if err := l.Client.Create(ctx, pod); err != nil {
			return fmt.Errorf("creating the server's pod: %w", err)
		}
	}
	l.node.logs.startLog(Namespace, pod.Name, containerLog{path: logFile(l.Dir(), "velero"), from: from})
	return l.RunPod(ctx, Namespace, pod.Name)
}

// newServerPod is a Pod of the server's Deployment with these flags.
func (l *Lab) newServerPod(flags []string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, GenerateName: "velero-", Labels: serverLabels()},
		Spec:       l.newServerDeployment().Spec.Template.Spec,
	}
	pod.Spec.Containers[0].Args = serverArgs(flags)
	return pod
}

// markServerEnded makes the Pod say that the container ended just now; the Pod
// itself goes on.
func (l *Lab) markServerEnded(ctx context.Context, code int32, reason string) error {
	pod, err := l.serverPod(ctx)
	if err != nil || pod == nil {
		return err
	}
	return l.patchPod(ctx, Namespace, pod.Name, func(pod *corev1.Pod) {
		setPodReady(pod, false)
		setContainerState(
			pod,
			pod.Spec.Containers[0],
			false,
			corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: code, Reason: reason, StartedAt: runningSince(pod), FinishedAt: metav1.Now(),
			}},
		)
	})
}

// runningSince is when a pod's only container started, zero if it does not run.
func runningSince(pod *corev1.Pod) metav1.Time {
	if statuses := pod.Status.ContainerStatuses; len(statuses) == 1 && statuses[0].State.Running != nil {
		return statuses[0].State.Running.StartedAt
	}
	return metav1.Time{}
}

// serverPod returns the Pod that stands for the server, nil if there is none. The second
// server's Pod is another.
func (l *Lab) serverPod(ctx context.Context) (*corev1.Pod, error) {
	var pods corev1.PodList
	if err := l.Client.List(
		ctx,
		&pods,
		client.InNamespace(Namespace),
		client.MatchingLabels(serverLabels()),
	); err != nil {
		return nil, fmt.Errorf("looking for the server's pod: %w", err)
	}
	for i := range pods.Items {
		if pods.Items[i].Name != SecondServerPod {
			return &pods.Items[i], nil
		}
	}
	return nil, nil
}

func readinessCondition(t corev1.PodConditionType, ready bool) corev1.PodCondition {
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	return corev1.PodCondition{Type: t, Status: status, LastTransitionTime: metav1.Now()}
}
