package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/veltui/veltui/internal/cluster"
)

// Once the dashboard has the keyboard, a credential plugin may not ask there: the one
// that always asks is refused, one that fails is said to need a login first, and
// what was logged in before goes on with its credentials.
func TestPluginsLeaveTheKeyboardToTheDashboard(t *testing.T) {
	if os.PathSeparator != '/' {
		t.Skip("the plugins are shell scripts")
	}
	dir := t.TempDir()
	ran := func(name string) int {
		runs, _ := os.ReadFile(filepath.Join(dir, name+".runs"))
		return strings.Count(string(runs), "\n")
	}
	config := clientcmdapi.NewConfig()
	for name, mode := range map[string]clientcmdapi.ExecInteractiveMode{
		"first": clientcmdapi.IfAvailableExecInteractiveMode, "quiet": clientcmdapi.IfAvailableExecInteractiveMode,
		"failing": clientcmdapi.IfAvailableExecInteractiveMode, "asking": clientcmdapi.AlwaysExecInteractiveMode,
	} {
		script := "#!/bin/sh\nread x && echo \"stdin: $x\" >&2\necho run >> " + filepath.Join(dir, name+".runs") + "\n"
		if name == "failing" {
			script += "exit 1\n"
		}
		script += `echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"t"}}'` + "\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		config.Clusters[name] = &clientcmdapi.Cluster{Server: "https://127.0.0.1:1"}
		config.AuthInfos[name] = &clientcmdapi.AuthInfo{
			Exec: &clientcmdapi.ExecConfig{
				APIVersion:      "client.authentication.k8s.io/v1",
				Command:         filepath.Join(dir, name),
				InteractiveMode: mode,
			},
		}
		config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	}
	file := filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = null.Close() }()
	c := newCLI(null, null, null)
	c.connector.flags.Kubeconfig = file
	connect := func(name string) cluster.Connection {
		t.Helper()
		conn, err := c.forContext(name, "").connector.openConnection()
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}

	if err := c.connector.runLogins(t.Context(), []string{"first"}); err != nil {
		t.Fatal(err)
	}
	c.connector.logins.takeKeyboard()
	again := connect("first")
	if err := c.connector.logins.loginSilently(t.Context(), again); err != nil || again.Config.ExecProvider.StdinUnavailable {
		t.Errorf("what was logged in before: %v", err)
	}
	if err := runCredentialPlugin(t.Context(), again); err != nil || ran("first") != 1 {
		t.Errorf("%v; the plugin ran %d times, want once", err, ran("first"))
	}
	if made := c.connector.logins.records[0]; !made.cachedExec.StdinUnavailable {
		t.Error("when the first login expires, its plugin asks on the dashboard's keyboard")
	}

	quiet := connect("quiet")
	if err := c.connector.logins.loginSilently(
		t.Context(),
		quiet,
	); err != nil || !quiet.Config.ExecProvider.StdinUnavailable ||
		ran("quiet") != 1 {
		t.Errorf("a plugin that asks nothing: %v, ran %d times", err, ran("quiet"))
	}
	err = c.connector.logins.loginSilently(t.Context(), connect("failing"))
	if want := "first run in another terminal: kubectl --context failing get --raw /version"; err == nil ||
		!holdsAll(err.Error(), "logging in to context failing", want) {
		t.Errorf("a plugin that fails: %v", err)
	}
	err = c.connector.logins.loginSilently(t.Context(), connect("asking"))
	if err == nil ||
		!holdsAll(
			err.Error(),
			filepath.Join(dir, "asking"),
			"interactiveMode: Always",
			"quit veltui and start it with --context asking",
		) ||
		ran("asking") != 0 {
		t.Errorf("a plugin that always asks: %v, ran %d times", err, ran("asking"))
	}
}
