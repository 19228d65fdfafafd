package lab

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// agentConfigMapName is the ConfigMap that configures the node-agent.
const agentConfigMapName = "node-agent-config"

func agentLabels() map[string]string {
	return map[string]string{"component": "velero", "name": "node-agent", "role": "node-agent"}
}

// StartNodeAgent makes what `velero install --use-node-agent` makes, with a
// configuration in JSON, and runs the node-agent of the lab's node: Velero's own
// program. It moves DataUploads on as anywhere; what it hands to a mover pod the
// test must answer for. Pod volumes it can only hold in New and cancel: it looks
// for their data in a fixed folder of the machine.
func (l *Lab) StartNodeAgent(ctx context.Context, config string) error {
	daemons := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: Namespace,
			Name:      "node-agent",
			Labels:    map[string]string{"component": "velero"},
		},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"name": "node-agent"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: agentLabels()},
				Spec: corev1.PodSpec{
					NodeSelector: map[string]string{corev1.LabelHostname: NodeName},
					Containers: []corev1.Container{
						{
							Name:  "node-agent",
							Image: l.veleroImage(),
							Command: []string{
								"/velero",
							},
							Args: []string{"node-agent", "server", "--node-agent-configmap=" + agentConfigMapName},
						},
					},
				},
			},
		},
	}
	configs := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: agentConfigMapName},
		Data:       map[string]string{"config.json": config},
	}
	for _, object := range []client.Object{configs, daemons} {
		if err := l.Client.Create(ctx, object); err != nil {
			return fmt.Errorf("creating %T %s: %w", object, object.GetName(), err)
		}
	}
	return l.RunNodeAgent(ctx)
}

// RunNodeAgent runs the node-agent that StartNodeAgent has installed, and waits
// until its DaemonSet is ready.
func (l *Lab) RunNodeAgent(ctx context.Context) error {
	log := logFile(l.Dir(), "node-agent")
	from, err := fileSize(log)
	if err != nil {
		return err
	}
	if l.agent, err = (program{
		name: "node-agent",
		path: l.programs.veleroPath(),
		args: []string{
			"node-agent", "server", "--kubeconfig", l.Kubeconfig(), "--namespace", Namespace,
			"--metrics-address", "127.0.0.1:0", "--node-agent-configmap=" + agentConfigMapName,
		},
		env: []string{"NODE_NAME=" + NodeName, "VELERO_NAMESPACE=" + Namespace, "VELERO_SCRATCH_DIR=" + l.filePath("tmp")},
	}).startProcess(l.Dir()); err != nil {
		return err
	}
	pod, err := l.awaitAgentPod(ctx)
	if err != nil {
		return err
	}
	l.node.logs.startLog(Namespace, pod, containerLog{path: log, from: from})
	if err := l.RunPod(ctx, Namespace, pod); err != nil {
		return err
	}
	return pollUntil(ctx, "the node-agent to be ready", func() (bool, error) {
		if !l.agent.isRunning() {
			return false, fmt.Errorf("it ended: %w; see %s", l.agent.err, log)
		}
		var daemons appsv1.DaemonSet
		err := l.Client.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: "node-agent"}, &daemons)
		return daemons.Status.NumberReady == 1, err
	})
}

// CrashNodeAgent ends the node-agent, and says that it does so at each start: it has so
// many restarts behind it.
func (l *Lab) CrashNodeAgent(ctx context.Context, restarts int32) error {
	if err := l.agent.killGroup(); err != nil {
		return err
	}
	pod, err := l.awaitAgentPod(ctx)
	if err != nil {
		return err
	}
	// Its phase stays Running, else the DaemonSet's controller removes the pod.
	return l.patchPod(ctx, Namespace, pod, func(pod *corev1.Pod) {
		setPodReady(pod, false)
		for _, state := range []corev1.ContainerState{
			{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", FinishedAt: metav1.Now()}},
			{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		} {
			setContainerState(pod, pod.Spec.Containers[0], false, state)
		}
		pod.Status.ContainerStatuses[0].RestartCount = restarts
	})
}

// TerminateNodeAgent asks the node-agent to end (SIGTERM), waits until it has, or ctx ends,
// and deletes its pod, as a roll-out of its DaemonSet and a drain do. The DaemonSet's
// controller makes another at once, for which [Lab.RunNodeAgent] runs a program.
func (l *Lab) TerminateNodeAgent(ctx context.Context) error {
	pod, err := l.awaitAgentPod(ctx)
	if err != nil {
		return err
	}
	if err := l.agent.terminateGroup(ctx); err != nil {
		if err := l.agent.killGroup(); err != nil {
			return err
		}
	}
	object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: pod}}
	if err := l.Client.Delete(context.WithoutCancel(ctx), object, client.GracePeriodSeconds(0)); err != nil {
		return fmt.Errorf("deleting the node-agent's pod: %w", err)
	}
	return nil
}

// awaitAgentPod waits for the pod that the DaemonSet has on the lab's node.
func (l *Lab) awaitAgentPod(ctx context.Context) (name string, err error) {
	err = pollUntil(ctx, "the node-agent's pod", func() (bool, error) {
		var pods corev1.PodList
		if err := l.Client.List(
			ctx,
			&pods,
			client.InNamespace(Namespace),
			client.MatchingLabels(agentLabels()),
		); err != nil {
			return false, err
		}
		if len(pods.Items) == 0 {
			return false, nil
		}
		name = pods.Items[0].Name
		return true, nil
	})
	return name, err
}

// RemoveNodeAgent ends the node-agent and removes what StartNodeAgent made.
func (l *Lab) RemoveNodeAgent(ctx context.Context) error {
	if err := l.agent.killGroup(); err != nil {
		return err
	}
	for _, object := range []client.Object{
		&appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: "node-agent"}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: agentConfigMapName}},
	} {
		if err := l.Client.Delete(ctx, object); err != nil {
			return fmt.Errorf("removing %s: %w", object.GetName(), err)
		}
	}
	pods := &corev1.Pod{}
	if err := l.Client.DeleteAllOf(
		ctx,
		pods,
		client.InNamespace(Namespace),
		client.MatchingLabels(agentLabels()),
		client.GracePeriodSeconds(0),
	); err != nil {
		return fmt.Errorf("removing the node-agent's pod: %w", err)
	}
	return nil
}
