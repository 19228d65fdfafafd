package kubectl

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// shell runs a command line in a POSIX shell where kubectl and veltui only tell
// how they were called: their KUBECONFIG, then their arguments.
func shell(t testing.TB, dir, line string) []string {
	t.Helper()
	cmd := exec.Command("sh", "-c", line)
	cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "LC_ALL=C"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", line, err, out)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

func fakes(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"kubectl", "veltui"} {
		script := "#!/bin/sh\nprintf '%s\\0' \"$KUBECONFIG\" \"$@\"\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestCommandsInAShell(t *testing.T) {
	dir := fakes(t)
	for _, odd := range []string{
		"plain", "two words", "it's", `back\slash`, "$HOME", "`id`", "$(id)", "100%", "a\nb", "a\r\nb", "tab\there", "\x1b]52;c;x\a",
		"é", "名前", "\u202eevil", "\u0085", "\u00a0", "\xff\xfe", "", "=x", "~", "a;b", "-n", "!!", "*", "e\u0301", "'\n'", `{"a":"b\n"}`, "\n%s\\n",
	} {
		r := ClusterAccess{
			Context:     odd,
			Flags:       []string{"--kubeconfig=/home/" + odd, "--as-group=" + odd},
			Environment: []string{"KUBECONFIG=/a/" + odd + "x:/b"},
		}
		want := []string{"/a/" + odd + "x:/b"}
		var reach []string
		if odd != "" {
			reach = append(reach, "--context", odd)
		}
		reach = append(reach, "--kubeconfig=/home/"+odd, "--as-group="+odd, "-n", odd+"x")
		line := r.KubectlCommand(odd+"x", "patch", odd)
		if got := shell(t, dir, line); !slices.Equal(got, slices.Concat(want, reach, []string{"patch", odd})) {
			t.Errorf("%s became %q", line, got)
		}
		again := r.VeltuiCommand(odd+"x", "finalize", odd)
		if got := shell(t, dir, again); !slices.Equal(got, slices.Concat(want, []string{"finalize", odd}, reach)) {
			t.Errorf("%s became %q", again, got)
		}
		if strings.ContainsAny(line+again, "\n\r\x1b\u0085\u202e") {
			t.Errorf("%q is no plain line", line)
		}
	}
}

func TestPlainCommandsStayPlain(t *testing.T) {
	r := ClusterAccess{Context: "prod-east", Flags: []string{"--kubeconfig=/home/jane/prod", "--as=root"}}
	if got, want := r.KubectlCommand(
		"velero",
		"get",
		"backups.velero.io",
	), "kubectl --context prod-east --kubeconfig=/home/jane/prod --as=root -n velero get backups.velero.io"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := (ClusterAccess{}).VeltuiCommand("", "explain", "restore/a"), "veltui explain restore/a"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestVeleroReach: velero has a flag of its own for the context, and not all of
// kubectl's others.
func TestVeleroReach(t *testing.T) {
	r := ClusterAccess{Context: "prod east", Flags: []string{"--kubeconfig=/home/jane/prod", "--as=root"}}
	line, unsaid := r.VeleroCommand("velero", "restore", "create", "--selector=a in (b)")
	if want := "velero restore create '--selector=a in (b)' --kubecontext 'prod east' --kubeconfig=/home/jane/prod -n velero"; line != want ||
		len(unsaid) != 1 ||
		unsaid[0] != "--as" {
		t.Errorf("%s, want %s; not said: %q", line, want, unsaid)
	}
}

// FuzzQuote: the shell makes the word again, from one plain line.
func FuzzQuote(f *testing.F) {
	for _, seed := range []string{"a b", "a'b", "\n", "%\\", "é\xff"} {
		f.Add(seed)
	}
	dir := fakes(f)
	f.Fuzz(func(t *testing.T, s string) {
		word := Quote(s)
		for _, r := range word {
			if needsPrintf(r) {
				t.Fatalf("%q holds %q", word, r)
			}
		}
		want := strings.ReplaceAll(s, "\x00", "")
		got := shell(t, dir, "kubectl "+word+" end")
		if len(got) != 3 || strings.TrimRight(got[1], "\n") != strings.TrimRight(want, "\n") || got[2] != "end" {
			t.Fatalf("%q became %s, which is %q", s, word, got)
		}
	})
}
