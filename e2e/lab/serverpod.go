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

// serverRuns makes the Pod that stands for the server say that its container
// runs since now. As in a real cluster, other flags mean another Pod, and the
// same flags another start of the container.
func (l *Lab) serverRuns(ctx context.Context, flags []string) error {
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
		pod = &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, GenerateName: "velero-", Labels: serverLabels()},
			Spec:       deployment().Spec.Template.Spec,
		}
		pod.Spec.Containers[0].Args = serverArgs(flags)
		if err := l.Client.Create(ctx, pod); err != nil {
			return fmt.Errorf("creating the server's pod: %w", err)
		}
	}
	return l.patchServer(ctx, pod, func(s *corev1.ContainerStatus) {
		if s.State.Terminated != nil {
			s.LastTerminationState = s.State
			s.RestartCount++
		}
		s.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
		s.Ready = true
	})
}

// serverEnded makes the Pod say that the container ended just now.
func (l *Lab) serverEnded(ctx context.Context, code int32, reason string) error {
	pod, err := l.serverPod(ctx)
	if err != nil || pod == nil {
		return err
	}
	return l.patchServer(ctx, pod, func(s *corev1.ContainerStatus) {
		ended := &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, FinishedAt: metav1.Now()}
		if s.State.Running != nil {
			ended.StartedAt = s.State.Running.StartedAt
		}
		s.State = corev1.ContainerState{Terminated: ended}
		s.Ready = false
	})
}

// serverPod returns the Pod that stands for the server, nil if there is none.
func (l *Lab) serverPod(ctx context.Context) (*corev1.Pod, error) {
	var pods corev1.PodList
	if err := l.Client.List(ctx, &pods, client.InNamespace(Namespace), client.MatchingLabels(serverLabels())); err != nil {
		return nil, fmt.Errorf("looking for the server's pod: %w", err)
	}
	if len(pods.Items) == 0 {
		return nil, nil
	}
	return &pods.Items[0], nil
}

func (l *Lab) patchServer(ctx context.Context, pod *corev1.Pod, change func(*corev1.ContainerStatus)) error {
	before := pod.DeepCopy()
	if len(pod.Status.ContainerStatuses) == 0 {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "velero", Image: pod.Spec.Containers[0].Image}}
	}
	container := &pod.Status.ContainerStatuses[0]
	change(container)
	started := container.Ready
	container.Started = &started
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{readiness(corev1.PodReady, started), readiness(corev1.ContainersReady, started)}
	if err := l.Client.Status().Patch(ctx, pod, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("keeping the server's pod true: %w", err)
	}
	return nil
}

func readiness(t corev1.PodConditionType, ready bool) corev1.PodCondition {
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	return corev1.PodCondition{Type: t, Status: status, LastTransitionTime: metav1.Now()}
}
