package testbed

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

func TestHostilePoisonsWhatTheRealServerAnswers(t *testing.T) {
	plane := StartForTest(t, Options{})
	real, err := client.New(plane.RESTConfig(), client.Options{Scheme: Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	if err := real.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "hostile"}}); err != nil {
		t.Fatal(err)
	}
	o := &veleroapi.Restore{
		ObjectMeta: metav1.ObjectMeta{Namespace: "hostile", Name: "r"},
		Spec:       veleroapi.RestoreSpec{BackupName: "b", IncludedNamespaces: []string{"shop"}},
	}
	if err := real.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	for _, names := range []bool{false, true} {
		server, err := plane.StartHostileProxy(Hostility{PoisonNames: names})
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		hostile, err := client.NewWithWatch(server.RESTConfig(), client.Options{Scheme: Scheme()})
		if err != nil {
			t.Fatal(err)
		}
		var list veleroapi.RestoreList
		if err := hostile.List(t.Context(), &list, client.InNamespace("hostile")); err != nil || len(list.Items) != 1 {
			t.Fatal(err, len(list.Items))
		}
		if got := list.Items[0].Spec.IncludedNamespaces[0]; !strings.HasPrefix(got, "shop\x1b[31m") ||
			!strings.Contains(got, "\u202eevil") {
			t.Errorf("a namespace is %q", got)
		}
		if poisoned := list.Items[0].Name != "r"; poisoned != names {
			t.Errorf("the name is %q", list.Items[0].Name)
		}
		w, err := hostile.Watch(t.Context(), &list, client.InNamespace("hostile"))
		if err != nil {
			t.Fatal(err)
		}
		event := <-w.ResultChan()
		w.Stop()
		if got, ok := event.Object.(*veleroapi.Restore); !ok ||
			!strings.Contains(got.Spec.IncludedNamespaces[0], "\x1b]52") {
			t.Errorf("watched: %+v", event)
		}
		typed, err := kubernetes.NewForConfig(server.RESTConfig())
		if err != nil {
			t.Fatal(err)
		}
		version, err := typed.Discovery().ServerVersion()
		if err != nil || !strings.Contains(version.GitVersion, "\x1b[2J") {
			t.Errorf("%v, %+v", err, version)
		}
		_, err = typed.CoreV1().Pods("hostile").Get(t.Context(), "nobody", metav1.GetOptions{})
		if err == nil || !strings.Contains(err.Error(), "\u009b") {
			t.Errorf("the error is %v", err)
		}
	}
}
