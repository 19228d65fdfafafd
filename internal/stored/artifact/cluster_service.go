package artifact

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/veltui/veltui/internal/velero/decode"
)

// serviceHost is a host name that the cluster's own DNS would resolve to a Service.
type serviceHost struct {
	service, namespace string
	// pod is what precedes the Service in the name, a pod of a StatefulSet or a bucket; empty for nothing.
	pod string
	// isCertain is false if the name may as well be that of another host.
	isCertain bool
}

// parseServiceHost reads service.namespace.svc[.cluster domain], and the short forms that a pod in namespace home may
// use.
func parseServiceHost(host, home string) (serviceHost, bool) {
	parts := strings.Split(host, ".")
	var h serviceHost
	switch at := slices.Index(parts, "svc"); {
	case at >= 2:
		h = serviceHost{service: parts[at-2], namespace: parts[at-1], isCertain: true}
		if at > 2 {
			h.pod = parts[0]
		}
	case len(parts) == 2:
		h = serviceHost{service: parts[0], namespace: parts[1]}
	case len(parts) == 1:
		h = serviceHost{service: parts[0], namespace: home}
	}
	if len(validation.IsDNS1123Label(h.service)) > 0 || len(validation.IsDNS1123Label(h.namespace)) > 0 {
		return serviceHost{}, false
	}
	return h, true
}

// podPort is a port of a pod behind a Service.
type podPort struct {
	namespace, name string
	port            int32
}

func (p podPort) String() string { return fmt.Sprintf("pod %s/%s:%d", p.namespace, p.name, p.port) }

const (
	// maxTriedPods is how many pods are tried before giving up; maxListedPods is how many are listed.
	maxTriedPods  = 3
	maxListedPods = 500
)

var errNoService = errors.New("no such Service")

// findServicePods finds ready pods of a Service, and the port that the Service's port leads to. It needs the rights to
// get services, list pods and create pods/portforward.
func (f *Fetcher) findServicePods(ctx context.Context, h serviceHost, port int32) ([]podPort, error) {
	var service corev1.Service
	what := "Service " + h.namespace + "/" + h.service
	err := f.fetchObject(ctx, corev1.SchemeGroupVersion.WithResource("services"), h.namespace, h.service, &service)
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("%w: %s", errNoService, what)
	case err != nil:
		return nil, explainAPI("reading "+what, err)
	case service.Spec.Type == corev1.ServiceTypeExternalName:
		return nil, fmt.Errorf("%s points to a host outside the cluster", what)
	case len(service.Spec.Selector) == 0:
		return nil, fmt.Errorf("%s selects no pods", what)
	}
	selected := metav1.ListOptions{
		LabelSelector: labels.SelectorFromSet(service.Spec.Selector).String(),
		Limit:         maxListedPods,
	}
	pods := f.dynamicClient.Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace(h.namespace)
	listed, err := pods.List(ctx, selected)
	if err != nil {
		return nil, explainAPI("listing the pods of "+what, err)
	}
	var found []podPort
	for i := range listed.Items {
		var pod corev1.Pod
		if _, err := decode.Unstructured(&listed.Items[i], &pod); err != nil {
			return nil, fmt.Errorf("reading the pods of %s: %w", what, err)
		}
		if !isPodReady(&pod) {
			continue
		}
		if to, ok := targetPort(&service, &pod, port); ok {
			found = append(found, podPort{pod.Namespace, pod.Name, to})
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf(
			"none of the %d pods of %s is ready and has a port behind %d",
			len(listed.Items),
			what,
			port,
		)
	}
	order := func(p podPort) string {
		if p.name == h.pod {
			return "" // first
		}
		return p.name
	}
	slices.SortFunc(found, func(a, b podPort) int { return strings.Compare(order(a), order(b)) })
	return found[:min(len(found), maxTriedPods)], nil
}

func isPodReady(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning &&
		slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
}

// targetPort returns the pod's port that a Service's port leads to; a headless Service resolves to the pods
// themselves.
func targetPort(service *corev1.Service, pod *corev1.Pod, port int32) (int32, bool) {
	if service.Spec.ClusterIP == corev1.ClusterIPNone {
		return port, true
	}
	for _, p := range service.Spec.Ports {
		if p.Port != port || p.Protocol != "" && p.Protocol != corev1.ProtocolTCP {
			continue
		}
		switch {
		case p.TargetPort.StrVal != "":
			return namedPort(pod, p.TargetPort.StrVal)
		case p.TargetPort.IntVal != 0:
			return p.TargetPort.IntVal, true
		}
		return port, true
	}
	return 0, false
}

func namedPort(pod *corev1.Pod, name string) (int32, bool) {
	// A sidecar is an init container that keeps running.
	for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
		for _, p := range c.Ports {
			if p.Name == name && (p.Protocol == "" || p.Protocol == corev1.ProtocolTCP) {
				return p.ContainerPort, true
			}
		}
	}
	return 0, false
}
