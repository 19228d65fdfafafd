package cmd

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// twoClusters is a kubeconfig with the contexts east and west.
func twoClusters(t *testing.T, path, current string) {
	t.Helper()
	config := clientcmdapi.NewConfig()
	for _, name := range []string{"east", "west"} {
		config.Clusters[name] = &clientcmdapi.Cluster{Server: "https://" + name + ".example:6443"}
		config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: "secret-" + name}
		config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	}
	config.CurrentContext = current
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
}

func withFlags(t *testing.T, args ...string) *cli {
	t.Helper()
	c := newCLI(nil, nil, nil)
	c.process.getenv = func(string) string { return "" }
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	flags.AddFlagSet(c.connector.flags.FlagSet)
	flags.BoolVar(&c.connector.allContexts, "all-contexts", false, "")
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return c
}

// restConfig leads to the cluster of a session, with the credentials of now.
func restConfig(c *cli) (*rest.Config, error) {
	s, err := c.connector.openSession()
	if err != nil {
		return nil, err
	}
	return s.RESTConfig(), nil
}

// Another shell that switches the current context must not lead a dashboard,
// whose header says east, to another cluster.
func TestContextStaysWhatItWas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	twoClusters(t, path, "east")
	c := withFlags(t, "--kubeconfig", path)
	first, err := c.connector.openConnection()
	if err != nil {
		t.Fatal(err)
	}
	twoClusters(t, path, "west")
	again, err := c.connector.openConnection()
	if err != nil {
		t.Fatal(err)
	}
	reloaded, err := restConfig(c)
	if err != nil {
		t.Fatal(err)
	}
	if again.Context != "east" || again.Config.Host != first.Config.Host || reloaded.Host != first.Config.Host {
		t.Errorf("led from %s to %s (%s) and %s", first.Config.Host, again.Config.Host, again.Context, reloaded.Host)
	}
}

// The commands that are shown lead to the cluster that was looked at, without
// telling secrets.
func TestCommandsLeadToTheSameCluster(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	twoClusters(t, path, "east")
	conn, err := withFlags(
		t,
		"--kubeconfig",
		path,
		"--context",
		"west",
		"--as",
		"jane",
		"--as-group",
		"a",
		"--as-group",
		"b",
		"--token",
		"secret",
	).connector.openConnection()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"--kubeconfig=" + path, "--as=jane", "--as-group=a", "--as-group=b"}
	if conn.Request.Context != "west" || !slices.Equal(conn.Request.Flags, want) {
		t.Errorf("%+v, want %q", conn.Request, want)
	}
	// What the environment says is said too: a file by the flag, several by the
	// variable, and relative ones in full.
	other := filepath.Join(filepath.Dir(path), "other config")
	twoClusters(t, other, "west")
	t.Chdir(filepath.Dir(path))
	for list, want := range map[string][]string{
		path:                  {"--kubeconfig=" + path},
		"config":              {"--kubeconfig=" + path},
		":" + other:           {"--kubeconfig=" + other},
		"other config:config": {"KUBECONFIG=" + other + ":" + path},
	} {
		t.Setenv("KUBECONFIG", list)
		c := withFlags(t, "--context", "west")
		c.process.getenv = os.Getenv
		conn, err := c.connector.openConnection()
		if err != nil || !slices.Equal(append(conn.Request.Flags, conn.Request.Environment...), want) {
			t.Errorf("KUBECONFIG=%s: %v, %+v, want %q", list, err, conn.Request, want)
		}
	}
	// Without a kubeconfig there is no context that kubectl would know.
	conn, err = withFlags(
		t,
		"--kubeconfig",
		filepath.Join(t.TempDir(), "none"),
		"--server",
		"https://east.example",
	).connector.openConnection()
	if err == nil && (conn.Request.Context != "" || conn.Context != "in-cluster") {
		t.Errorf("%+v", conn)
	}
}

// Another context leaves every other flag as it is, and the first context too.
func TestForContextSharesFlags(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	twoClusters(t, path, "east")
	c := withFlags(
		t,
		"--kubeconfig",
		path,
		"-n",
		"velero",
		"--as",
		"ann",
		"--as-group",
		"ops",
		"--as-group",
		"dba",
		"--as-user-extra",
		"team=a",
		"--request-timeout",
		"9s",
	)
	other := c.forContext("west", "")
	c.connector.flags.FlagSet.VisitAll(func(f *pflag.Flag) {
		if theirs := other.connector.flags.FlagSet.Lookup(f.Name).Value.String(); f.Name != "context" && theirs != f.Value.String() {
			t.Errorf("--%s is %q for another context, not %q", f.Name, theirs, f.Value)
		}
	})
	west, err := other.connector.openConnection()
	if err != nil || west.Context != "west" || west.Config.Host != "https://west.example:6443" ||
		other.connector.watchOptions(west).Namespace != "velero" {
		t.Errorf("%+v, %v", west, err)
	}
	adp := c.forContext("west", "adp")
	if moved, err := adp.connector.openConnection(); err != nil || adp.connector.watchOptions(moved).Namespace != "adp" {
		t.Errorf("%+v, %v", moved, err)
	}
	if east, err := c.connector.openConnection(); err != nil || east.Context != "east" || c.connector.watchOptions(east).Namespace != "velero" {
		t.Errorf("%+v, %v", east, err)
	}
}

// At client-go's default of five requests a second the stored files of one job
// take seconds to look at.
func TestClientsAreNotSlowedDown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	twoClusters(t, path, "east")
	config, err := restConfig(withFlags(t, "--kubeconfig", path))
	if err != nil || config.QPS < 50 || config.Burst < 50 {
		t.Fatalf("%v, %+v", err, config)
	}
}
