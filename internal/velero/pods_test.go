package velero

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// A server that a shell starts, in a pod with labels of its own, is one too.
func TestServerStartedByAShellRuns(t *testing.T) {
	for _, c := range []struct {
		command []string
		want    bool
	}{
		{[]string{"/bin/sh", "-c", "exec /velero server --log-level=debug"}, true},
		{[]string{"sh", "-c", "sleep 5 &&\n velero server"}, true},
		{[]string{"sh", "-c", "velero backup create x; echo server"}, false},
	} {
		pod := corev1.Pod{
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "x/y", Command: c.command}}},
		}
		if got := IsServer(&pod); got != c.want {
			t.Errorf("%q: %v", c.command, got)
		}
	}
}
