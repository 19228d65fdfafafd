package watch

import (
	"context"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

func TestFindInstallation(t *testing.T) {
	c := newCluster(t)
	c.forgetLocations()
	own, a, b := c.namespace("place-none"), c.namespace("place-a"), c.namespace("place-b")
	reader := c.user("place-reader", own, mayRead(veleroapi.GroupVersion.Group, "*"))
	limited := c.connect(reader)
	admin := c.connect(c.RESTConfig())

	find := func(on *connection, a Options) installation {
		t.Helper()
		p, err := findInstallation(t.Context(), on.client, a)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	check := func(what string, p installation, namespace string, from NamespaceOrigin, notice string, others ...string) {
		t.Helper()
		if p.namespace != namespace || p.origin != from || !slices.Equal(p.otherNamespaces, others) {
			t.Errorf(
				"%s: got %s from %s, others %v; want %s from %s, others %v",
				what,
				p.namespace,
				p.origin,
				p.otherNamespaces,
				namespace,
				from,
				others,
			)
		}
		if (notice == "") != (p.notice == "") || !strings.Contains(p.notice, notice) {
			t.Errorf("%s: notice %q, want %q in it", what, p.notice, notice)
		}
	}

	check("nothing anywhere", find(admin, Options{}), "velero", OriginFallback, "no namespace velero, nor is there")
	missing := func(namespace string) string {
		return MissingNamespaceNotice(t.Context(), Options{Config: c.RESTConfig(), Namespace: namespace})
	}
	if why := missing("x"); !strings.Contains(why, "there is no namespace x") {
		t.Errorf("a namespace that does not exist: %q", why)
	}
	if why := missing("default"); why != "" {
		t.Errorf("a namespace without Velero: %q", why)
	}
	check("a flag for nothing", find(admin, Options{Namespace: "x"}), "x", OriginFlag, "no namespace x")
	check("nobody may look", find(limited, Options{}), "velero", OriginFallback, "name Velero's namespace with -n")
	check("nobody may look, but a flag", find(limited, Options{Namespace: "velero"}), "velero", OriginFlag, "")

	c.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "openshift-adp"}})
	t.Cleanup(func() { c.forget("openshift-adp") })
	check("only the namespace of OADP", find(admin, Options{}), "openshift-adp", OriginFallback, "is Velero installed?")

	server := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: b, Name: "velero-1", Labels: map[string]string{"component": "velero", "deploy": "velero"},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "velero", Image: "velero/velero:v1.18.3", Command: []string{"/velero"}, Args: []string{"server"},
		}}},
	}
	agent := server.DeepCopy()
	agent.Namespace, agent.Labels, agent.Spec.Containers[0].Args = a, map[string]string{
		"component": "velero", "role": "node-agent", "name": "node-agent",
	}, []string{"node-agent", "server"}
	c.create(server, agent)
	check("a server without a location", find(admin, Options{}), b, OriginSearch, "where Velero's server runs")
	check("nobody may look for a server", find(limited, Options{}), "velero", OriginFallback, "with -n")
	c.create(location(b, "l"), location(a, "l"), location(a, "l2"))
	check("several", find(admin, Options{}), a, OriginSearch, "", b)
	check("the context's", find(admin, Options{ContextNamespace: b}), b, OriginContext, "", a)
	check("a context without", find(admin, Options{ContextNamespace: "default"}), a, OriginSearch, "", b)
	check(
		"the environment over the context",
		find(admin, Options{EnvNamespace: a, ContextNamespace: b}),
		a,
		OriginEnv,
		"",
		b,
	)
	check(
		"the flag over all",
		find(admin, Options{Namespace: b, EnvNamespace: a, ContextNamespace: a}),
		b,
		OriginFlag,
		"",
		a,
	)
	check(
		"the wrong flag",
		find(admin, Options{Namespace: "default"}),
		"default",
		OriginFlag,
		"Velero is in "+a+", "+b,
		a,
		b,
	)

	c.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "velero"}}, location("velero", "l"))
	t.Cleanup(func() { c.forget("velero") })
	check("velero first", find(admin, Options{}), "velero", OriginSearch, "", a, b)

	c.create(location(own, "l"))
	check(
		"the context's, nobody may look elsewhere",
		find(limited, Options{ContextNamespace: own}),
		own,
		OriginContext,
		"",
	)
	c.forgetLocations()
}

func (c *cluster) connect(cfg *restConfig) *connection {
	c.t.Helper()
	o := Options{}.withDefaults()
	conn, err := newGatedConnection(cfg, o.Log)
	if err != nil {
		c.t.Fatal(err)
	}
	conn.gate.openGate()
	return conn
}

// forget deletes a namespace without the controller manager that would do the
// last step.
func (c *cluster) forget(name string) {
	ctx := context.Background()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := c.Delete(ctx, ns); err != nil {
		c.t.Error(err)
		return
	}
	if err := c.Get(ctx, client.ObjectKeyFromObject(ns), ns); err != nil {
		c.t.Error(err)
		return
	}
	ns.Spec.Finalizers = nil
	if err := c.SubResource("finalize").Update(ctx, ns); err != nil {
		c.t.Error(err)
	}
}
