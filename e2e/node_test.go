//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"github.com/veltui/veltui/e2e/lab"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestServersLog reads the server's log through the API server, as kubectl logs
// does: it is that of the present container only.
func TestServersLog(t *testing.T) {
	ctx := patient(t)
	_, before, err := theLab.VeleroLog(0)
	must(t, err)
	must(t, theLab.KillVelero(ctx))
	must(t, theLab.StartVelero(ctx))
	want, _, err := theLab.VeleroLog(before)
	must(t, err)

	var pods corev1.PodList
	must(
		t,
		theLab.Client.List(ctx, &pods, client.InNamespace(lab.Namespace), client.MatchingLabels{"deploy": "velero"}),
	)
	clients, err := kubernetes.NewForConfig(theLab.RESTConfig())
	must(t, err)
	read := func(options corev1.PodLogOptions) string {
		t.Helper()
		data, err := clients.CoreV1().Pods(lab.Namespace).GetLogs(pods.Items[0].Name, &options).DoRaw(ctx)
		must(t, err)
		return string(data)
	}
	if got := read(corev1.PodLogOptions{}); !strings.HasPrefix(got, want) {
		t.Errorf("the log begins with\n%.300s\nwant\n%.300s", got, want)
	}
	if got := strings.Count(read(corev1.PodLogOptions{TailLines: new(int64(3))}), "\n"); got != 3 {
		t.Errorf("the last 3 lines are %d", got)
	}
	if got := read(corev1.PodLogOptions{LimitBytes: new(int64(100))}); got != want[:100] {
		t.Errorf("the first 100 bytes are %q", got)
	}
}
