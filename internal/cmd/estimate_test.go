package cmd

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/view/document"
)

const (
	captures       = "../../collector/testdata"
	captureTarball = captures + "/b-full.tar.gz"
	// captureNamespaces are those that the captures' target had.
	captureNamespaces = "default,kube-system,kube-public,kube-node-lease,velero,shop,billing,media,ops"
)

// runOffline runs veltui in this process, with no cluster in reach.
func runOffline(t *testing.T, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("KUBECONFIG", filepath.Join(dir, "none"))
	t.Setenv("HOME", dir)
	file := func(name, content string) *os.File {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	in, out, errs := file("in", stdin), file("out", ""), file("err", "")
	code = newCLI(in, out, errs).runCommand(t.Context(), append([]string{"veltui", "estimate"}, args...))
	read := func(f *os.File) string {
		data, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	return read(out), read(errs), code
}

func parseEstimate(t *testing.T, stdout string) document.Estimate {
	t.Helper()
	var d document.Estimate
	decoder := json.NewDecoder(strings.NewReader(stdout))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&d); err != nil {
		t.Fatalf("%v in:\n%s", err, stdout)
	}
	if d.APIVersion != "veltui/v1" || d.Kind != "Estimate" || d.Resources == nil || d.Assumptions == nil {
		t.Errorf("not a whole Estimate: %s", stdout)
	}
	sum := 0
	for _, r := range d.Resources {
		sum += r.Items
	}
	if sum != d.Items {
		t.Errorf("%d items, but the resources add up to %d", d.Items, sum)
	}
	return d
}

// TestEstimateCaptures holds the built command against what Velero 1.18.3
// really ended with. It has no HOME and no kubeconfig.
func TestEstimateCaptures(t *testing.T) {
	skipUnderRace(t)
	binary := control(t).binary
	dirs, err := filepath.Glob(captures + "/restores/r*")
	if err != nil || len(dirs) < 9 {
		t.Fatalf("captures: %v, %v", dirs, err)
	}
	for _, dir := range dirs {
		name := filepath.Base(dir)
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(dir, "expected.json"))
			if err != nil {
				t.Fatal(err)
			}
			var expected struct {
				Phase      string
				TotalItems int
			}
			if err := json.Unmarshal(data, &expected); err != nil {
				t.Fatal(err)
			}
			existing := captureNamespaces
			if name == "r17-errors-quota" {
				existing += ",quota-r17"
			}
			cmd := exec.Command(
				binary,
				"estimate",
				"--tarball",
				captureTarball,
				"-f",
				filepath.Join(dir, "restore.yaml"),
				"--existing-namespaces",
				existing,
				"-o",
				"json",
			)
			cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			err = cmd.Run()
			if expected.Phase == "FailedValidation" {
				if cmd.ProcessState.ExitCode() != ExitError || stdout.Len() > 0 ||
					!strings.Contains(stderr.String(), "Velero refuses this restore: ") {
					t.Errorf("%v, printed %q and %q", err, stdout.String(), stderr.String())
				}
				return
			}
			if err != nil {
				t.Fatalf("%v: %s", err, stderr.String())
			}
			if d := parseEstimate(t, stdout.String()); d.Items != expected.TotalItems || d.Partial {
				t.Errorf("%d items, partial %v; Velero ended with %d", d.Items, d.Partial, expected.TotalItems)
			}
		})
	}
	t.Run("meter", func(t *testing.T) { testEstimateMeter(t, binary) })
}

// TestEstimateFlags says with flags what the captures' Restores say.
func TestEstimateFlags(t *testing.T) {
	for _, c := range []struct {
		args  string
		items int
	}{
		{"--include-namespaces shop,billing,media,ops --namespace-mappings billing:billing-r1,media:media-r1 --namespace-mappings ops:ops-r1,shop:shop-r1", 2359},
		{"--include-namespaces no-such-ns", 0},
		{"--include-namespaces shop --include-resources cm,secret --namespace-mappings shop:shop-r2", 952},
		{"--include-namespaces shop,billing -l app=web,team=red --namespace-mappings shop:shop-r3,billing:billing-r3", 264},
		{"--include-namespaces shop,billing --selector app=web,team=red --namespace-mappings shop:shop-r3,billing:billing-r3", 264},
		{"--include-namespaces media,ops --or-selector app=web§or§tier=data --namespace-mappings media:media-r4,ops:ops-r4", 169},
		{"--exclude-namespaces shop,billing,velero,kube-system,kube-public,kube-node-lease,default --namespace-mappings media:media-r5,ops:ops-r5", 337},
		{"--include-namespaces ops --include-cluster-resources --namespace-mappings ops:ops-r6", 145},
		{"--include-namespaces ops --include-cluster-resources=true --namespace-mappings ops:ops-r6", 145},
		// A flag replaces what the file says.
		{"-f " + captures + "/restores/r2-resources/restore.yaml --include-namespaces no-such-ns", 0},
		// With every namespace there, none is made.
		{"--existing-namespaces * -f " + captures + "/restores/r2-resources/restore.yaml", 951},
	} {
		args := []string{"--tarball", captureTarball, "--existing-namespaces", captureNamespaces, "-o", "json"}
		for word := range strings.FieldsSeq(c.args) {
			args = append(args, strings.ReplaceAll(word, "§", " "))
		}
		stdout, stderr, code := runOffline(t, "", args...)
		if code != ExitOK {
			t.Errorf("%s: exit code %d: %s", c.args, code, stderr)
			continue
		}
		if d := parseEstimate(t, stdout); d.Items != c.items {
			t.Errorf("%s: %d items, Velero ended with %d", c.args, d.Items, c.items)
		}
	}
}

func TestEstimateTable(t *testing.T) {
	stdout, stderr, code := runOffline(
		t,
		"",
		"--tarball",
		captureTarball,
		"--include-namespaces",
		"ops,media",
		"--include-resources",
		"configmaps,secrets",
	)
	for _, want := range []string{"RESOURCE", "NAMESPACES\n", "secrets ", "media ", "\nTotal: ", " items\n"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in:\n%s", want, stdout)
		}
	}
	if code != ExitOK || strings.Index(stdout, "secrets ") > strings.Index(stdout, "configmaps ") {
		t.Errorf("exit code %d, or secrets not before configmaps:\n%s", code, stdout)
	}
	// Nothing was said about the target, so that is an assumption, told once.
	if strings.Count(stderr, "note: Of the target's namespaces only") != 1 || !strings.Contains(stderr, "media, ops") {
		t.Errorf("assumptions: %s", stderr)
	}
	_, stderr, _ = runOffline(t, "", "--tarball", captureTarball, "--existing-namespaces", "")
	if strings.Contains(stderr, "Of the target's namespaces") {
		t.Errorf("the target was said to have no other namespaces, but: %s", stderr)
	}
	stdout, _, _ = runOffline(t, "", "--tarball", captureTarball, "-o", "yaml")
	if !strings.Contains(stdout, "kind: Estimate\n") {
		t.Errorf("yaml: %s", stdout)
	}
}

func TestEstimateSettings(t *testing.T) {
	items := func(args ...string) document.Estimate {
		stdout, stderr, code := runOffline(
			t,
			"",
			append([]string{"--tarball", captureTarball, "-o", "json"}, args...)...)
		if code != ExitOK {
			t.Fatalf("%v: %s", args, stderr)
		}
		return parseEstimate(t, stdout)
	}
	narrow := []string{"--include-resources", "services,configmaps", "--existing-namespaces", "*"}
	if d := items(narrow...); d.Resources[0].Resource != "configmaps" {
		t.Errorf("the restore begins with %s", d.Resources[0].Resource)
	}
	if d := items(
		append(narrow, "--restore-resource-priorities", "services,secrets")...); d.Resources[0].Resource != "services" {
		t.Errorf("with priorities of its own the restore begins with %s", d.Resources[0].Resource)
	}
	if d := items("--include-resources", "namespaces"); d.Items == 0 {
		t.Error("no namespaces are made")
	} else if old := items("--include-resources", "namespaces", "--velero-version", "v1.12.4"); old.Items != 0 {
		t.Errorf("Velero 1.12 has no items for namespaces, estimated %d", old.Items)
	}
	if d := items("--resource-policies-configmap", "p1"); !strings.Contains(strings.Join(d.Assumptions, "\n"), `"p1"`) {
		t.Errorf("nothing is said about the policies: %q", d.Assumptions)
	}
}

func TestEstimateStdin(t *testing.T) {
	tarball, err := os.ReadFile(captureTarball)
	if err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := runOffline(t, string(tarball), "--tarball", "-", "-o", "json")
	if code != ExitOK || parseEstimate(t, stdout).Items == 0 {
		t.Errorf("tarball from standard input: %d, %s", code, stderr)
	}
	spec := "---\n{}\n---\napiVersion: velero.io/v1\nkind: Restore\nspec: {includedNamespaces: [no-such-ns]}\n"
	stdout, stderr, code = runOffline(t, spec, "--tarball", captureTarball, "-f", "-", "-o", "json")
	if code != ExitOK || parseEstimate(t, stdout).Items != 0 {
		t.Errorf("restore from standard input: %d, %s%s", code, stdout, stderr)
	}
}

// TestEstimatePartial reads half of an archive.
func TestEstimatePartial(t *testing.T) {
	data, err := os.ReadFile(captureTarball)
	if err != nil {
		t.Fatal(err)
	}
	half := filepath.Join(t.TempDir(), "half.tar.gz")
	if err := os.WriteFile(half, data[:len(data)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := runOffline(t, "", "--tarball", half, "-o", "json")
	d := parseEstimate(t, stdout)
	if code != ExitError || !d.Partial || d.Items == 0 || !strings.Contains(stderr, "partial") {
		t.Errorf("exit code %d, partial %v, %d items: %s", code, d.Partial, d.Items, stderr)
	}
	if !strings.Contains(strings.Join(d.Assumptions, "\n"), "not read to its end") {
		t.Errorf("assumptions do not say why: %q", d.Assumptions)
	}
}

func TestEstimateErrors(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const head = "apiVersion: velero.io/v1\nkind: Restore\n"
	good := write("good.yaml", head)
	for _, c := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"no tarball", []string{"--tarball", filepath.Join(dir, "none")}, ExitError, "no such file"},
		{"a directory", []string{"--tarball", dir}, ExitError, "is a directory"},
		{"a text", []string{"--tarball", good}, ExitError, "it is plain text"},
		{"empty", []string{"--tarball", write("empty", "")}, ExitError, "empty"},
		{"another tarball", []string{"--tarball", write("other.tar.gz", otherTarball(t))}, ExitError, "not a backup"},
		{"no restore file", []string{"--tarball", captureTarball, "-f", filepath.Join(dir, "none")}, ExitError, "no such file"},
		{"not yaml", []string{"--tarball", captureTarball, "-f", write("bad.yaml", "a: [")}, ExitError, "yaml"},
		{"another kind", []string{"--tarball", captureTarball, "-f", write("pod.yaml", "apiVersion: v1\nkind: Pod\n")}, ExitError, `"Pod"`},
		{"another version", []string{"--tarball", captureTarball, "-f", write("v9.yaml", "apiVersion: velero.io/v9\nkind: Restore\n")}, ExitError, "velero.io/v9"},
		{"misspelt", []string{"--tarball", captureTarball, "-f", write("typo.yaml", head+"spec: {includeNamespaces: [a]}\n")}, ExitError, "includeNamespaces"},
		{"two restores", []string{"--tarball", captureTarball, "-f", write("two.yaml", head+"---\n"+head)}, ExitError, "more than one"},
		{"no restore", []string{"--tarball", captureTarball, "-f", write("nothing.yaml", "# nothing\n")}, ExitError, "no Restore"},
		{"refused", []string{"--tarball", captureTarball, "--include-resources", "nodes"}, ExitError, "nodes"},
		{"two selectors", []string{"--tarball", captureTarball, "-l", "a=b", "--or-selector", "c=d"}, ExitUsage, "not both"},
		{"bad selector", []string{"--tarball", captureTarball, "-l", "a in"}, ExitUsage, "selector"},
		{"bad mapping", []string{"--tarball", captureTarball, "--namespace-mappings", "a"}, ExitUsage, "src:dst"},
		{"bad version", []string{"--tarball", captureTarball, "--velero-version", "newest"}, ExitUsage, "v1.18.3"},
		{"bad priorities", []string{"--tarball", captureTarball, "--restore-resource-priorities", "a,-,b,-"}, ExitUsage, "priorities"},
		{"bad output", []string{"--tarball", captureTarball, "-o", "xml"}, ExitUsage, "xml"},
		{"both", []string{"backup/b", "--tarball", captureTarball}, ExitUsage, "--tarball"},
		{"nothing", nil, ExitUsage, "--tarball"},
		{"standard input twice", []string{"--tarball", "-", "-f", "-"}, ExitUsage, "standard input"},
	} {
		t.Run(c.name, func(t *testing.T) {
			stdout, stderr, code := runOffline(t, "", c.args...)
			if code != c.code || !strings.Contains(stderr, c.want) || !strings.HasPrefix(stderr, "error: ") ||
				stdout != "" {
				t.Errorf(
					"exit code %d (want %d), %q on standard output, said %q (want %q)",
					code,
					c.code,
					stdout,
					stderr,
					c.want,
				)
			}
		})
	}
}

// otherTarball is a tarball of something else.
func otherTarball(t *testing.T) string {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	body := "hello"
	err := w.WriteHeader(&tar.Header{Name: "README", Mode: 0o644, Size: int64(len(body))})
	if err == nil {
		_, err = fmt.Fprint(w, body)
	}
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestServerFlagsOrderTheEstimate: --restore-resource-priorities is read from
// the server's pod.
func TestServerFlagsOrderTheEstimate(t *testing.T) {
	of := func(args ...string) *collector.Priorities {
		return cluster.BuildCollectorServer(
			velero.Server{
				Visible:   true,
				ServerPod: velero.ServerPod{Name: "velero-1", Flags: velero.ParseServerFlags(args)},
			},
		).Priorities
	}
	if p := of("server"); p != nil {
		t.Errorf("the default: %+v", p)
	}
	if p := of(
		"server",
		"--restore-resource-priorities=namespaces,pods,-,secrets",
	); p == nil || len(p.High) != 2 || p.High[1] != "pods" ||
		len(p.Low) != 1 {
		t.Errorf("%+v", p)
	}
	if p := of("server", "--restore-resource-priorities=pods,-,secrets,-"); p != nil {
		t.Errorf("a value that Velero refuses: %+v", p)
	}
}
