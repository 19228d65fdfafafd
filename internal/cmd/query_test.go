package cmd

import (
	"bufio"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// askedBy runs a command through a counting proxy and returns what it asked.
func (b *bed) askedBy(t *testing.T, args ...string) []string {
	t.Helper()
	proxy := b.counted(t)
	cmd := through(proxy.Kubeconfig(), b.command(t, args...))
	if out, err := cmd.CombinedOutput(); err != nil && cmd.ProcessState.ExitCode() != ExitRefused {
		t.Fatalf("%q: %v: %s", args, err, out)
	}
	var asked []string
	for what, n := range proxy.ReadTraffic().RequestCounts {
		for range n {
			asked = append(asked, strings.Replace(what, "/apis/velero.io/", "", 1))
		}
	}
	slices.Sort(asked)
	return asked
}

// What has ended needs nothing but itself. What has not ended needs what its verdict depends on, and, silent as it is, a
// closer look, which reads what explain reads.
func TestAsksForNoMoreThanItNeeds(t *testing.T) {
	b := control(t)
	b.create(t, restore("asks-ended", veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseCompleted}))
	search := "GET v1/backupstoragelocations"
	job := "GET v1/namespaces/velero/restores/asks-ended"
	own := []string{"GET v1/namespaces/velero/podvolumerestores", "GET v2alpha1/namespaces/velero/datadownloads"}
	for _, c := range []struct {
		args string
		want []string
	}{
		{"get restore/asks-ended -n velero", []string{job}},
		{"get restore/asks-ended", []string{search, job}},
		{"get restores -n velero", []string{"GET v1/namespaces/velero/restores"}},
		{"get -n velero -o name", []string{"GET v1/namespaces/velero/backups", "GET v1/namespaces/velero/restores"}},
		{"get restore/asks-ended -n velero -o json", append([]string{job}, own...)},
		{"finalize restore/asks-ended -n velero --yes", nil},
		{"explain restore/asks-ended -n velero", append([]string{job, "GET v1/namespaces/velero/deletebackuprequests"}, own...)},
	} {
		got := b.askedBy(t, strings.Fields(c.args)...)
		if c.want == nil {
			for _, kind := range []string{"schedules", "datauploads"} {
				if slices.ContainsFunc(got, func(s string) bool { return strings.HasSuffix(s, "/"+kind) }) {
					t.Errorf("%s asks %q", c.args, got)
				}
			}
			continue
		}
		slices.Sort(c.want)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s asks\n%s, want\n%s", c.args, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}

	b.create(t, restore("asks-active", veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseInProgress}))
	want := slices.Concat(own, []string{
		"GET v1/namespaces/velero/restores/asks-active", "GET v1/namespaces/velero/backups/b",
		"GET /api/v1/namespaces/velero/pods", "GET v1/namespaces/velero/backupstoragelocations",
		"GET v1/namespaces/velero/backuprepositories", "GET v1/namespaces/velero/deletebackuprequests",
		"GET v1/namespaces/velero/schedules",
	})
	look := []string{
		"GET /api/v1/namespaces", "GET /api/v1/namespaces/kube-system", "GET /api/v1/pods", "GET v1",
		"GET /apis/apiextensions.k8s.io/v1/customresourcedefinitions/restores.velero.io",
		"GET v1/namespaces/velero/backups", "GET v1/namespaces/velero/restores", // what blinds the server
		"POST /apis/authentication.k8s.io/v1/selfsubjectreviews",
		"POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
	}
	for _, output := range []string{"table", "json"} {
		asked := b.askedBy(t, "get", "restore/asks-active", "-n", "velero", "-o", output)
		each := slices.Concat(want, look)
		slices.Sort(each)
		if asked = slices.Compact(asked); !slices.Equal(asked, each) {
			t.Errorf(
				"an active restore asks\n%s, want\n%s",
				strings.Join(asked, "\n"),
				strings.Join(each, "\n"),
			)
		}
	}
}

// Only verdicts need more than the jobs that are asked for and their volumes.
func TestFollowingWatchesNoMoreThanItNeeds(t *testing.T) {
	b := control(t)
	b.create(t, restore("followed", veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseCompleted}))
	for args, want := range map[string][]string{
		"get restores -w -n velero -o name":         {"datadownloads", "podvolumerestores", "restores"},
		"get restore/followed -w -n velero -o name": {"datadownloads", "podvolumerestores", "restores"},
		"get restores -w -n velero --no-headers": {"backuprepositories", "backups", "backupstoragelocations", "datadownloads", "datauploads",
			"deletebackuprequests", "pods", "podvolumebackups", "podvolumerestores", "restores", "schedules"},
	} {
		proxy := b.counted(t)
		follower := through(proxy.Kubeconfig(), b.command(t, strings.Fields(args)...))
		out, err := follower.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := follower.Start(); err != nil {
			t.Fatal(err)
		}
		for scanner := bufio.NewScanner(out); scanner.Scan() && !strings.Contains(scanner.Text(), "followed"); {
		}
		var kinds []string
		for asked := range proxy.ReadTraffic().RequestCounts {
			kind := strings.TrimSuffix(asked[strings.LastIndex(asked, "/")+1:], " (watch)")
			if strings.Contains(asked, "/namespaces/velero/") && !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
		}
		_ = follower.Process.Kill()
		_ = follower.Wait()
		proxy.Close()
		if slices.Sort(kinds); !slices.Equal(kinds, want) {
			t.Errorf("%s asks for\n%q, want\n%q", args, kinds, want)
		}
	}
}

// severalContexts is a kubeconfig with the contexts east and west, which lead to
// the control plane, and dead, which leads nowhere.
func (b *bed) severalContexts(t *testing.T) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(b.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	here := config.Contexts[config.CurrentContext]
	config.Clusters["nowhere"] = &clientcmdapi.Cluster{Server: "https://127.0.0.1:1"}
	for _, name := range []string{"east", "west", "dead"} {
		c := here.DeepCopy()
		if name == "dead" {
			c.Cluster = "nowhere"
		}
		config.Contexts[name] = c
	}
	path := filepath.Join(t.TempDir(), "several")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSeveralContexts(t *testing.T) {
	b := control(t)
	b.create(t, restore("several", veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseCompleted}))
	kubeconfig := b.severalContexts(t)
	run := func(args ...string) (string, string, int) {
		cmd := through(kubeconfig, b.command(t, args...))
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		_ = cmd.Run()
		return out.String(), errs.String(), cmd.ProcessState.ExitCode()
	}
	out, errs, code := run("get", "restore/several", "--context", "w*,east")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != ExitOK || errs != "" || len(lines) != 3 || !strings.HasPrefix(lines[0], "CONTEXT   KIND") ||
		!strings.HasPrefix(lines[1], "west      restore   several") ||
		!strings.HasPrefix(lines[2], "east ") {
		t.Errorf("exit code %d, %s\n%s", code, errs, out)
	}
	out, errs, code = run("get", "restore/several", "--context", "east,dead", "-o", "json", "--request-timeout", "1s")
	got := list(t, out)
	if code != ExitError || len(got.Items) != 1 || got.Items[0].Context != "east" ||
		!holdsAll(errs, "error: context dead: gave up after 1s", "refused") ||
		strings.Contains(errs, "context east") {
		t.Errorf("exit code %d, %s\n%s", code, errs, out)
	}
	out, errs, code = run("get", "restore/nope", "--context", "east,west")
	if code != ExitError || out != "" || !holdsAll(errs, `restores.velero.io "nope"`, "not found in namespace velero") {
		t.Errorf("exit code %d, %s\n%s", code, errs, out)
	}
	for _, args := range [][]string{{"explain", "restore/several"}, {"finalize", "restore/several"}, {"get", "-w"}} {
		if out, errs, code = run(
			append(args, "--context", "east,west")...); code != ExitUsage || out != "" ||
			!strings.Contains(
				errs,
				"needs one context, and --context east,west names 2; give one of them, such as --context east",
			) {
			t.Errorf("%q: exit code %d, %s\n%s", args, code, errs, out)
		}
	}
}

// A list that keeps coming is slow and no silence; one that stops is.
func TestOnlySilenceTimesOut(t *testing.T) {
	b := control(t)
	b.create(t, restore("slow", veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseCompleted}))
	for name, c := range map[string]struct {
		pause, silence time.Duration
		code           int
	}{"slow": {300 * time.Millisecond, 2 * time.Second, ExitOK}, "silent": {time.Minute, time.Second, ExitError}} {
		kubeconfig := b.slowly(t, c.pause)
		cmd := through(
			kubeconfig,
			b.command(t, "get", "restores", "slow", "-n", "velero", "--request-timeout", c.silence.String()),
		)
		began := time.Now()
		out, _ := cmd.CombinedOutput()
		took := time.Since(began)
		if code := cmd.ProcessState.ExitCode(); code != c.code || code == ExitOK && took < c.silence ||
			code != ExitOK && !strings.Contains(string(out), "the API server sent nothing for 1s") {
			t.Errorf("%s: exit code %d after %s: %s", name, code, took, out)
		}
	}
}

// slowly is a kubeconfig that leads to the API server through a proxy which sends
// each answer in ten pieces with a pause between them.
func (b *bed) slowly(t *testing.T, pause time.Duration) string {
	t.Helper()
	transport, err := rest.TransportFor(b.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	target, _, err := rest.DefaultServerUrlFor(b.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.URL.Scheme, r.URL.Host, r.RequestURI = target.Scheme, target.Host, ""
		r.Header.Del("Accept-Encoding")
		answer, err := transport.RoundTrip(r)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer answer.Body.Close()
		body, _ := io.ReadAll(answer.Body)
		w.Header().Set("Content-Type", answer.Header.Get("Content-Type"))
		w.WriteHeader(answer.StatusCode)
		for piece := range slices.Chunk(body, len(body)/10+1) {
			_, _ = w.Write(piece)
			w.(http.Flusher).Flush()
			select {
			case <-time.After(pause):
			case <-r.Context().Done():
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	path, err := b.KubeconfigFor(
		&rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: ca}},
		fmt.Sprintf("slow-%d", pause),
	)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
