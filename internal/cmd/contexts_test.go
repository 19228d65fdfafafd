package cmd

import (
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// manyClusters writes a kubeconfig with these contexts, the first the current
// one, and returns its path.
func manyClusters(t *testing.T, names ...string) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	for _, name := range names {
		config.Clusters[name] = &clientcmdapi.Cluster{Server: "https://" + name + ".example:6443"}
		config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: "secret-" + name}
		config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: "of-" + name}
	}
	config.CurrentContext = names[0]
	path := filepath.Join(t.TempDir(), "config")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestContexts(t *testing.T) {
	path := manyClusters(t, "prod-east", "prod-west", "staging", "ns/api-x:6443/me", "odd,name")
	for _, c := range []struct {
		args string
		want []string
		says string
	}{
		{"", []string{"prod-east"}, ""},
		{"--context=staging", []string{"staging"}, ""},
		{"--context=staging,prod-east,staging", []string{"staging", "prod-east"}, ""},
		{"--context=prod-*", []string{"prod-east", "prod-west"}, ""},
		{"--context=staging,*-west", []string{"staging", "prod-west"}, ""},
		{"--context=ns/*", []string{"ns/api-x:6443/me"}, ""},
		{"--context=odd,name", []string{"odd,name"}, ""},
		{"--all-contexts", []string{"ns/api-x:6443/me", "odd,name", "prod-east", "prod-west", "staging"}, ""},
		{"--context=prod-esat", nil, `no context "prod-esat" in the kubeconfig; did you mean prod-east or prod-west?`},
		{"--context=prod-east,nowhere-at-all", nil, `no context "nowhere-at-all" in the kubeconfig; it has ns/api-x:6443/me, odd,name, prod-east, prod-west and staging`},
		{"--context=qa-*", nil, `no context in the kubeconfig matches "qa-*"; it has`},
		{"--context=prod-[", nil, "--context prod-["},
		{"--context=staging,", nil, "empty name"},
		{"--context=staging --all-contexts", nil, "only one of them"},
		{"--context=prod-* --server=https://x.example", nil, "--server is about one cluster only"},
		{"--context=prod-* --token=secret", nil, "--token is about one cluster only"},
	} {
		cli := withFlags(t, append(strings.Fields(c.args), "--kubeconfig", path)...)
		got, err := cli.connector.resolveContexts()
		if c.says != "" {
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v, want %q", c.args, err, c.says)
			}
			continue
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, %v; want %q", c.args, got, err, c.want)
		}
	}
}

// Each context leads to its own cluster, and to nothing else, whatever the
// others do.
func TestEachContextIsItsOwn(t *testing.T) {
	path := manyClusters(t, "east", "west")
	c := withFlags(t, "--kubeconfig", path, "--context", "*", "--as", "jane")
	names, err := c.connector.resolveContexts()
	if err != nil {
		t.Fatal(err)
	}
	var all []*cli
	for _, name := range names {
		all = append(all, c.forContext(name, ""))
	}
	for i, own := range all {
		conn, err := own.connector.openConnection()
		if err != nil {
			t.Fatal(err)
		}
		reloaded, err := restConfig(own)
		if want := "https://" + names[i] + ".example:6443"; err != nil || conn.Config.Host != want || reloaded.Host != want ||
			conn.Context != names[i] || conn.Request.Context != names[i] ||
			conn.Namespace != "of-"+names[i] ||
			conn.Config.Impersonate.UserName != "jane" {
			t.Errorf("%s: %v, %+v", names[i], err, conn)
		}
	}
}

// A context that was taken out of the kubeconfig while veltui shows its cluster
// leads nowhere, even where its name looks like a list or a glob.
func TestContextThatIsGoneLeadsNowhere(t *testing.T) {
	c := withFlags(t, "--kubeconfig", manyClusters(t, "east", "west"), "--all-contexts")
	for _, gone := range []string{"e*", "east,", "north"} {
		if conn, err := c.forContext(gone, "").connector.openConnection(); err == nil {
			t.Errorf("%s leads to %s", gone, conn.Config.Host)
		}
	}
}

// With --server every context is that server, whatever it is called.
func TestServerIsNotShownUnderOtherContexts(t *testing.T) {
	path := manyClusters(t, "east", "west")
	c := withFlags(t, "--kubeconfig", path, "--context", "east", "--server", "https://127.0.0.1:1")
	shown := &clusterOpener{cli: c, noArtifacts: true, log: slog.New(slog.DiscardHandler)}
	if connected, err := shown.switchContexts(
		t.Context(),
		[]string{"west"},
		"",
	); err == nil ||
		!strings.Contains(err.Error(), "--server") {
		t.Errorf("%v, %+v", err, connected)
	}
	connected, err := shown.switchContexts(t.Context(), []string{"east"}, "adp")
	if err != nil || len(connected) != 1 {
		t.Fatalf("another namespace of the same cluster: %v", err)
	}
	connected[0].Stop()
}

// A command that is about one cluster says which context to give.
func TestOneContext(t *testing.T) {
	path := manyClusters(t, "east", "west")
	for _, args := range [][]string{{"--context", "*"}, {"--all-contexts"}} {
		c := withFlags(t, append(args, "--kubeconfig", path)...)
		if _, err := c.connector.openConnection(); err == nil ||
			!strings.Contains(
				err.Error(),
				strings.Join(args, " ")+" names 2; give one of them, such as --context east",
			) {
			t.Errorf("%q: %v", args, err)
		}
	}
}

func TestContextsWithoutKubeconfig(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	t.Setenv("KUBECONFIG", none)
	if _, err := withFlags(
		t,
		"--all-contexts",
	).connector.resolveContexts(); err == nil ||
		!strings.Contains(err.Error(), "no cluster is configured") {
		t.Error(err)
	}
	names, err := withFlags(t, "--server", "https://x.example").connector.resolveContexts()
	if err != nil || !slices.Equal(names, []string{""}) {
		t.Error(names, err)
	}
	conn, err := withFlags(t, "--server", "https://x.example").connector.openConnection()
	if err != nil || conn.Context != "in-cluster" || conn.Request.Context != "" ||
		conn.Config.Host != "https://x.example" {
		t.Errorf("%v %+v", err, conn)
	}
}
