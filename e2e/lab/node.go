package lab

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NodeName is the name of the lab's one node.
const NodeName = "lab-node"

// fakeKubelet is what stands for a kubelet: it runs no container, but the API server
// reaches it for the logs of pods and for commands in them.
type fakeKubelet struct {
	server *httptest.Server
	logs   containerLogs
	gates  string
}

// startNode makes the Node and serves its kubelet's address. The API server
// does not check a kubelet's certificate unless it is told to.
func (l *Lab) startNode(ctx context.Context) error {
	n := &fakeKubelet{gates: l.filePath("gates")}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", n.serveLog)
	mux.HandleFunc("POST /exec/{namespace}/{pod}/{container}", n.serveExec)
	n.server = httptest.NewTLSServer(mux)
	l.node = n

	host, port, err := net.SplitHostPort(n.server.Listener.Addr().String())
	if err != nil {
		return fmt.Errorf("the kubelet's address: %w", err)
	}
	number, err := strconv.ParseInt(port, 10, 32)
	if err != nil {
		return fmt.Errorf("the kubelet's port: %w", err)
	}
	object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: NodeName, Labels: map[string]string{corev1.LabelHostname: NodeName, corev1.LabelOSStable: "linux"},
	}}
	if err := l.Client.Create(ctx, object); err != nil {
		return fmt.Errorf("creating the node: %w", err)
	}
	before := object.DeepCopy()
	object.Status = corev1.NodeStatus{
		Addresses:       []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: host}},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(number)}},
		Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now()},
		},
	}
	if err := l.Client.Status().Patch(ctx, object, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("making the node ready: %w", err)
	}
	return nil
}

// CordonNode takes the lab's node out of scheduling, as the first step of a drain does,
// or puts it back.
func (l *Lab) CordonNode(ctx context.Context, cordoned bool) error {
	object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: NodeName}}
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"unschedulable":%t}}`, cordoned))
	if err := l.Client.Patch(ctx, object, patch); err != nil {
		return fmt.Errorf("cordoning the node: %w", err)
	}
	return nil
}

func (n *fakeKubelet) closeServer() {
	if n != nil {
		n.server.CloseClientConnections()
		n.server.Close()
	}
}

// CreatePod creates a pod, for which the account of its namespace must have been
// made.
func (l *Lab) CreatePod(ctx context.Context, pod *corev1.Pod) error {
	return pollUntil(ctx, "the API server to take pod "+pod.Name, func() (bool, error) {
		err := l.Client.Create(ctx, pod)
		if apierrors.IsForbidden(err) {
			return false, nil
		}
		return err == nil, err
	})
}

// RunPod does what a scheduler and a kubelet do: it binds a pod to the lab's
// node and then says that its containers run.
func (l *Lab) RunPod(ctx context.Context, namespace, name string) error {
	return l.RunPodOn(ctx, namespace, name, NodeName)
}

// RunPodOn is RunPod for another node, which must have been created.
func (l *Lab) RunPodOn(ctx context.Context, namespace, name, node string) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	binding := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: node}}
	if err := l.Client.SubResource("binding").Create(ctx, pod, binding); err != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("binding pod %s: %w", name, err)
	}
	return l.patchPod(ctx, namespace, name, func(pod *corev1.Pod) {
		pod.Status.Phase = corev1.PodRunning
		setPodReady(pod, true)
		for _, c := range pod.Spec.Containers {
			setContainerState(
				pod,
				c,
				true,
				corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
			)
		}
	})
}

// AwaitPod waits until a pod has been made.
func (l *Lab) AwaitPod(ctx context.Context, namespace, name string) error {
	return pollUntil(ctx, "pod "+name, func() (bool, error) {
		err := l.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &corev1.Pod{})
		return err == nil, client.IgnoreNotFound(err)
	})
}

// EndPod says that a pod's containers have ended with a code and a message.
func (l *Lab) EndPod(ctx context.Context, namespace, name string, code int32, message string) error {
	return l.patchPod(ctx, namespace, name, func(pod *corev1.Pod) {
		pod.Status.Phase = corev1.PodSucceeded
		if code != 0 {
			pod.Status.Phase = corev1.PodFailed
		}
		setPodReady(pod, false)
		for _, c := range pod.Spec.Containers {
			setContainerState(pod, c, false, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: code, Message: message, FinishedAt: metav1.Now(),
			}})
		}
	})
}

// SetPodWaiting says why a pod's containers do not run, such as ImagePullBackOff.
func (l *Lab) SetPodWaiting(ctx context.Context, namespace, name, reason string) error {
	return l.patchPod(ctx, namespace, name, func(pod *corev1.Pod) {
		setPodReady(pod, false)
		for _, c := range pod.Spec.Containers {
			setContainerState(pod, c, false, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}})
		}
	})
}

func (l *Lab) patchPod(ctx context.Context, namespace, name string, change func(*corev1.Pod)) error {
	pod := &corev1.Pod{}
	if err := l.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, pod); err != nil {
		return fmt.Errorf("reading pod %s: %w", name, err)
	}
	before := pod.DeepCopy()
	change(pod)
	if err := l.Client.Status().Patch(ctx, pod, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("saying how pod %s is: %w", name, err)
	}
	return nil
}

func setPodReady(pod *corev1.Pod, ready bool) {
	pod.Status.Conditions = []corev1.PodCondition{
		readinessCondition(corev1.PodReady, ready),
		readinessCondition(corev1.ContainersReady, ready),
	}
}

// setContainerState puts down a container's state; a running one's end before is
// its last state.
func setContainerState(pod *corev1.Pod, c corev1.Container, ready bool, state corev1.ContainerState) {
	status := corev1.ContainerStatus{Name: c.Name, Image: c.Image}
	others := pod.Status.ContainerStatuses
	for i := range others {
		if others[i].Name == c.Name {
			status = others[i]
			others = append(others[:i:i], others[i+1:]...)
			break
		}
	}
	if status.State.Terminated != nil {
		status.LastTerminationState = status.State
		status.RestartCount++
	}
	status.State, status.Ready, status.Started = state, ready, &ready
	pod.Status.ContainerStatuses = append(others, status)
}
