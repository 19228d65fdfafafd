package velero

import (
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func labelled(name string, labels ...string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Namespace: "velero", Name: name, Labels: map[string]string{}}
	for i := 0; i < len(labels); i += 2 {
		m.Labels[labels[i]] = labels[i+1]
	}
	return m
}

func serverPod(name string, created int64, status corev1.ContainerStatus, args ...string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: labelled(name, "deploy", "velero", "component", "velero")}
	p.CreationTimestamp = metav1.Unix(created, 0)
	p.Spec.Containers = []corev1.Container{
		{Name: "sidecar", Image: "proxy:1"},
		{
			Name:  "velero",
			Image: "registry:5000/velero/velero:v1.18.3@sha256:abc",
			Args:  append([]string{"server"}, args...),
		},
	}
	status.Name = "velero"
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "sidecar"}, status}
	return p
}

func runs(since int64) corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Unix(since, 0)}}
}

func waits(reason string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
}

func TestServerOf(t *testing.T) {
	seen := time.Unix(99, 0)
	none := ServerOf(nil, seen)
	if !none.Visible || none.Running || none.Flags.ConcurrentBackups != 1 || !none.SeenAt.Equal(seen) {
		t.Errorf("no pods: %+v", none)
	}

	killed := corev1.ContainerStatus{
		Ready:        true,
		RestartCount: 3,
		State:        runs(50),
		LastTerminationState: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{Reason: "OOMKilled", FinishedAt: metav1.Unix(49, 0)},
		},
	}
	s := ServerOf([]*corev1.Pod{
		serverPod("old", 1, corev1.ContainerStatus{State: runs(10)}),
		serverPod("new", 40, killed, "--concurrent-backups", "4"),
		serverPod("newest-but-not-up", 60, corev1.ContainerStatus{State: waits("ImagePullBackOff")}),
	}, seen)
	if s.Name != "new" || !s.Running || !s.Ready || s.StartedAt.Unix() != 50 || s.Restarts != 3 ||
		s.LastTerminationReason != "OOMKilled" || s.LastTerminationAt.Unix() != 49 || s.Version != "v1.18.3" || s.Flags.ConcurrentBackups != 4 {
		t.Errorf("rolling update: %+v", s)
	}

	s = ServerOf([]*corev1.Pod{
		serverPod("a", 1, corev1.ContainerStatus{State: waits("ContainerCreating")}),
		serverPod("b", 2, corev1.ContainerStatus{State: waits("CrashLoopBackOff")}),
	}, seen)
	if s.Name != "b" || s.Running || s.WaitingReason != "CrashLoopBackOff" {
		t.Errorf("none runs: %+v", s)
	}

	pending := serverPod("p", 1, corev1.ContainerStatus{})
	pending.Status = corev1.PodStatus{Phase: corev1.PodPending}
	if s = ServerOf([]*corev1.Pod{pending}, seen); s.WaitingReason != "Pending" || s.Running {
		t.Errorf("pending: %+v", s)
	}
}

// Before 1.14 the server asks less of the API server unless flags say otherwise.
func TestClientLimitsOfOlderServers(t *testing.T) {
	for _, c := range []struct {
		image string
		args  []string
		qps   float64
		burst int
	}{
		{"velero/velero:v1.13.2", nil, 20, 30},
		{"velero/velero:v1.13.2", []string{"--client-qps=100"}, 100, 30},
		{"velero/velero:v1.14.0", nil, 100, 100},
		{"velero/velero", nil, 100, 100},
	} {
		p := serverPod("s", 1, corev1.ContainerStatus{State: runs(10)}, c.args...)
		p.Spec.Containers[1].Image = c.image
		if s := ServerOf(
			[]*corev1.Pod{p},
			time.Unix(99, 0),
		); s.Flags.ClientQPS != c.qps ||
			s.Flags.ClientBurst != c.burst {
			t.Errorf(
				"%s %q: %v requests a second, %d at once, want %v and %d",
				c.image,
				c.args,
				s.Flags.ClientQPS,
				s.Flags.ClientBurst,
				c.qps,
				c.burst,
			)
		}
	}
}

// A server is told from its sidecars by its name or its command; where neither
// helps, one runs, and nobody knows since when.
func TestServerBesideSidecars(t *testing.T) {
	for what, c := range map[string]struct {
		server corev1.Container
		since  int64 // 0: not known
	}{
		"by its name":    {corev1.Container{Name: "velero"}, 50},
		"by its command": {corev1.Container{Name: "main", Command: []string{"sh", "-c", "exec /velero server"}}, 50},
		"not clear":      {corev1.Container{Name: "main"}, 0},
	} {
		p := &corev1.Pod{ObjectMeta: labelled("p", "deploy", "velero")}
		p.Spec.Containers = []corev1.Container{{Name: "proxy"}, c.server}
		p.Status = corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{
			{Name: "proxy", State: runs(10)}, {Name: c.server.Name, State: runs(50)}}}
		s := ServerOf([]*corev1.Pod{p}, time.Unix(99, 0))
		want := time.Time{}
		if c.since > 0 {
			want = time.Unix(c.since, 0)
		}
		if !s.Running || s.WaitingReason != "" || !s.StartedAt.Equal(want) {
			t.Errorf("%s: %+v", what, s)
		}
	}
}

func TestWhichPodsAreVelero(t *testing.T) {
	pod := func(container string, labels ...string) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: labelled("p", labels...)}
		p.Spec.Containers = []corev1.Container{{Name: container}}
		return p
	}
	for _, c := range []struct {
		what string
		pod  *corev1.Pod
		want string
	}{
		{"server", pod("velero", "deploy", "velero", "component", "velero"), "server"},
		{"server of a chart", pod("velero", "component", "velero"), "server"},
		{"agent", pod("node-agent", "name", "node-agent", "component", "velero"), "agent"},
		{"Windows agent", pod("node-agent", "name", "node-agent-windows", "role", "node-agent"), "agent"},
		{"agent by role", pod("node-agent", "role", "node-agent"), "agent"},
		{"data mover", pod("x", "velero.io/data-upload", "du", "component", "velero"), ""},
		{"stranger", pod("velero"), ""},
	} {
		got := ""
		if IsServer(c.pod) {
			got += "server"
		}
		if IsNodeAgent(c.pod) {
			got += "agent"
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

func TestImageVersion(t *testing.T) {
	for image, want := range map[string]string{
		"velero/velero:v1.18.3":               "v1.18.3",
		"registry:5000/velero/velero":         "",
		"registry:5000/velero/velero:v1":      "v1",
		"velero@sha256:0123":                  "",
		"quay.io/oadp/velero:1.5@sha256:0123": "v1.16-oadp-1.5",
		"":                                    "",
		"quay.io/konveyor/velero:oadp-1.4":    "v1.14-oadp-1.4",
		"registry.redhat.io/oadp/oadp-velero-rhel9:1.3.2-4":       "v1.12-oadp-1.3",
		"registry.redhat.io/oadp/oadp-velero-rhel9:v1.4.0":        "v1.14-oadp-1.4",
		"registry.redhat.io/oadp/oadp-velero-rhel9:1.9":           "1.9", // not known
		"registry.redhat.io/oadp/oadp-velero-rhel9@sha256:0123":   "",
		"registry.example.com/velero:1.4.0":                       "1.4.0", // not said to be OADP's
		"projects.example.com/tkg/velero/velero:v1.14.1_vmware.3": "v1.14.1_vmware.3",
	} {
		if got := imageVersion(image); got != want {
			t.Errorf("imageVersion(%q) = %q, want %q", image, got, want)
		}
	}
}

func TestConcurrentBackups(t *testing.T) {
	for _, c := range []struct {
		args []string
		want int
	}{
		{nil, 1},
		{[]string{"server", "--features=x"}, 1},
		{[]string{"server", "--concurrent-backups=5"}, 5},
		{[]string{"server", "--concurrent-backups", "6"}, 6},
		{[]string{"server", "--concurrent-backups"}, 0}, // what cannot be read is not known
		{[]string{"server", "--concurrent-backups=$(WORKERS)"}, 0},
		{[]string{"server", "--concurrent-backups=-3"}, 0},
		{[]string{"server", "--concurrent-backups=2", "--concurrent-backups=3"}, 3},
	} {
		if got := ParseServerFlags(c.args).ConcurrentBackups; got != c.want {
			t.Errorf("%v: %d, want %d", c.args, got, c.want)
		}
	}
}

func TestAgentsOf(t *testing.T) {
	agent := func(name, node string, ready bool) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: labelled(name, "name", "node-agent")}
		p.Spec.NodeName = node
		p.Status.ContainerStatuses = []corev1.ContainerStatus{
			{Name: "node-agent", Ready: ready, RestartCount: 2, State: runs(7)},
		}
		return p
	}
	got := NodeAgentsOf(
		[]*corev1.Pod{agent("z", "n2", true), serverPod("s", 1, corev1.ContainerStatus{}), agent("y", "n1", false)},
	)
	if len(got) != 2 || got[0].Node != "n1" || got[0].Ready || got[1].Pod != "z" || !got[1].Ready ||
		got[1].Restarts != 2 ||
		got[1].StartedAt.Unix() != 7 {
		t.Errorf("got %+v", got)
	}
}

func TestFlags(t *testing.T) {
	f := ParseServerFlags(
		[]string{
			"sh",
			"-c",
			"exec /velero server --resource-timeout 30m --fs-backup-timeout=24h --client-qps=1000 --client-burst 200 --features=EnableCSI,EnableX",
		},
	)
	want := DefaultServerFlags()
	want.ResourceTimeout, want.PodVolumeTimeout, want.ClientQPS, want.ClientBurst, want.Features = 30*time.Minute, 24*time.Hour, 1000, 200, []string{
		"EnableCSI",
		"EnableX",
	}
	want.GivenLimits = []string{"resource-timeout", "fs-backup-timeout", "client-qps", "client-burst"}
	if !reflect.DeepEqual(f, want) {
		t.Errorf("got %+v\nwant %+v", f, want)
	}
	f = ParseServerFlags(
		[]string{
			"server",
			"--resource-timeout=soon",
			"--fs-backup-timeout=-1h",
			"--default-item-operation-timeout",
			"--client-qps=x",
		},
	)
	want = DefaultServerFlags()
	want.PodVolumeTimeout, want.GivenLimits = -time.Hour, []string{"fs-backup-timeout"}
	want.UnreadableLimits = []string{"resource-timeout", "default-item-operation-timeout", "client-qps"}
	if !reflect.DeepEqual(f, want) {
		t.Errorf("values that cannot be read, or are below zero: %+v", f)
	}
	a := parseAgentFlags(
		[]string{"node-agent", "server", "--data-mover-prepare-timeout=2h", "--node-agent-configmap", "slots"},
	)
	if a != (NodeAgentFlags{2 * time.Hour, "slots"}) {
		t.Errorf("node-agent: %+v", a)
	}
}
