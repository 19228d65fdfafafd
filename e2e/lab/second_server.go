package lab

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// SecondServerPod is the name of the second server's Pod, and of its process and log.
const SecondServerPod = "velero-second"

// StartSecondServer starts a server beside the first, as a Deployment with two replicas
// does, or one that rolls out without Recreate. It returns once the Pod runs.
func (l *Lab) StartSecondServer(ctx context.Context, flags ...string) error {
	from, err := fileSize(logFile(l.Dir(), SecondServerPod))
	if err != nil {
		return err
	}
	pod := l.newServerPod(flags)
	pod.GenerateName, pod.Name = "", SecondServerPod
	if err := l.Client.Create(ctx, pod); err != nil {
		return fmt.Errorf("creating the second server's pod: %w", err)
	}
	if l.secondServer, err = l.serverProgram(SecondServerPod, flags).startProcess(l.Dir()); err != nil {
		return err
	}
	l.node.logs.startLog(Namespace, pod.Name, containerLog{path: logFile(l.Dir(), SecondServerPod), from: from})
	return l.RunPod(ctx, Namespace, pod.Name)
}

// StopSecondServer asks the second server to end (SIGTERM), waits until it has, or ctx
// ends, and removes its Pod.
func (l *Lab) StopSecondServer(ctx context.Context) error {
	if err := l.secondServer.terminateGroup(ctx); err != nil {
		if err := l.secondServer.killGroup(); err != nil {
			return err
		}
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: SecondServerPod}}
	if err := l.Client.Delete(
		context.WithoutCancel(ctx),
		pod,
		client.GracePeriodSeconds(0),
	); client.IgnoreNotFound(
		err,
	) != nil {
		return fmt.Errorf("removing the second server's pod: %w", err)
	}
	return nil
}

// SecondServerLog returns what the second server has logged from offset on, and the
// offset to go on from.
func (l *Lab) SecondServerLog(offset int) (text string, next int, err error) {
	return l.readLog(SecondServerPod, offset)
}
