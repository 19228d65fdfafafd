package cmd

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/veltui/veltui/internal/config"
	"github.com/veltui/veltui/internal/view/document"
)

// configured runs the built binary without a cluster, with a configuration file
// of this text, and environment.
func configured(t *testing.T, text string, env []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "veltui"), 0o700); err != nil {
		t.Fatal(err)
	}
	if text != "" {
		if err := os.WriteFile(filepath.Join(dir, "veltui", "config.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out, errs strings.Builder
	cmd := exec.Command(control(t).binary, args...)
	cmd.Env = append(
		append(
			os.Environ(),
			"XDG_CONFIG_HOME="+dir,
			"XDG_STATE_HOME="+dir,
			"VELERO_NAMESPACE=",
			"KUBECONFIG=/dev/null",
		),
		env...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func TestConfigPrecedence(t *testing.T) {
	const file = "# mine\ntheme: dark\nfps: 4\nread-only: true\nnamespace: from-file\ncacert: ca.pem\ncontexts: [east, west]\nnotifications: bell\nthresholds: {backup-age: 26h}\n"
	for _, c := range []struct {
		name       string
		env, args  []string
		wantSource config.Source
		want       string
	}{
		{"theme", nil, nil, "file", "dark"},
		{"theme", []string{"VELTUI_THEME=light"}, nil, "environment", "light"},
		{"theme", []string{"VELTUI_THEME=light"}, []string{"--theme=mono"}, "flag", "mono"},
		{"fps", nil, []string{"--fps=9"}, "flag", "9"},
		{"plain", []string{"VELTUI_PLAIN=1"}, nil, "environment", "true"},
		{"plain", []string{"VELTUI_PLAIN=1"}, []string{"--plain=false"}, "flag", "false"},
		{"notifications", nil, nil, "file", "bell"},
		{"notifications", []string{"VELTUI_NOTIFICATIONS=osc9"}, nil, "environment", "osc9"},
		{"notifications", nil, []string{"--notify=none"}, "flag", "none"},
		{"thresholds", nil, nil, "file", "map[backup-age:26h]"},
		{"ascii", nil, nil, "default", "<nil>"},
		{"ascii", []string{"VELTUI_ASCII=1"}, nil, "environment", "true"},
		{"ascii", []string{"VELTUI_ASCII=1"}, []string{"--ascii=false"}, "flag", "false"},
		{"namespace", nil, nil, "file", "from-file"},
		{"namespace", []string{"VELERO_NAMESPACE=from-env"}, nil, "environment", "from-env"},
		{"namespace", []string{"VELERO_NAMESPACE=from-env"}, []string{"-n", "flagged"}, "flag", "flagged"},
		{"read-only", nil, nil, "file", "true"},
		{"read-only", nil, []string{"--read-only=false"}, "flag", "false"},
		{"read-only", []string{"VELTUI_READ_ONLY=0"}, nil, "environment", "false"},
		{"read-only", []string{"VELTUI_READ_ONLY=1"}, []string{"--read-only=false"}, "environment", "true"},
		{"read-only", []string{"VELTUI_READ_ONLY=indeed"}, nil, "environment", "true"},
		{"cacert", nil, nil, "file", "ca.pem"},
		{"contexts", nil, nil, "file", "[east west]"},
		{"contexts", []string{"VELTUI_CONTEXTS=north, south"}, nil, "environment", "[north south]"},
		{"contexts", []string{"VELTUI_CONTEXTS=north"}, []string{"--context=a,b"}, "flag", "[a b]"},
		{"contexts", nil, []string{"--kubecontext=a"}, "flag", "[a]"},
		{"contexts", nil, []string{"--all-contexts"}, "flag", "[*]"},
	} {
		stdout, stderr, code := configured(t, file, c.env, append([]string{"config", "-o", "json"}, c.args...)...)
		var d document.Config
		if err := json.Unmarshal([]byte(stdout), &d); err != nil || code != ExitOK {
			t.Fatalf("%v, exit code %d, %s", err, code, stderr)
		}
		for _, s := range d.Settings {
			if s.Name == c.name && (s.Source != c.wantSource || fmt.Sprint(s.Value) != c.want) {
				t.Errorf("%s with %v %v: %v from %s", c.name, c.env, c.args, s.Value, s.From)
			}
		}
	}
}

// What config prints is a configuration that says the same.
func TestConfigCanBeSaved(t *testing.T) {
	const file = "theme: dark\nfps: 4\n"
	printed, stderr, code := configured(t, file, []string{"VELTUI_ASCII=1"}, "config", "--no-alt-screen")
	if code != ExitOK ||
		!holdsAll(
			printed,
			"theme: dark  # ",
			"config.yaml:1",
			"ascii: true  # VELTUI_ASCII",
			"no-alt-screen: true  # --no-alt-screen",
			"#cacert: ",
		) {
		t.Fatalf("exit code %d\n%s%s", code, printed, stderr)
	}
	again, stderr, code := configured(t, printed, nil, "config")
	if code != ExitOK || !holdsAll(again, "\ntheme: dark", "\nfps: 4", "\nascii: true", "\nno-alt-screen: true") {
		t.Errorf("exit code %d\n%s%s", code, again, stderr)
	}
}

// A mistake ends every command that heeds the configuration, with its place, and
// before anything of a terminal or a cluster is touched.
func TestConfigMistakesEndTheProgram(t *testing.T) {
	const file = "thmee: dark\nfps: fast\nnamespace: \"\\e]0;x\\a\"\n"
	for _, args := range [][]string{nil, {"demo"}, {"get"}, {"config"}, {"finalize", "restore/x"}} {
		stdout, stderr, code := configured(t, file, []string{"VELTUI_ASCII=perhaps"}, args...)
		if code != ExitUsage || stdout != "" || strings.Contains(stderr, "\x1b") ||
			!holdsAll(
				stderr,
				`config.yaml:1:1: unknown key "thmee" (did you mean theme?)`,
				"config.yaml:2:6: fps:",
				"config.yaml:3:12: namespace:",
				"VELTUI_ASCII:",
			) {
			t.Errorf("%v: exit code %d\n%s%s", args, code, stdout, stderr)
		}
	}
	const conflicts = "keys:\n  finalize: [x, F]\n  quit: ctrl+c\n  back:\n    - b\n    - 3\n"
	if _, stderr, code := configured(t, conflicts, nil); code != ExitUsage || !holdsAll(
		stderr,
		`config.yaml:2:17: keys.finalize: "F" is already "follow the end of a log" on the same screen (action follow)`,
		"config.yaml:3:9: keys.quit: ctrl+c always quits",
		`config.yaml:6:7: keys.back: "3" is already "go to a tab or page"`,
	) {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	for _, args := range [][]string{{"version"}, {"--help"}, {"help", "get"}, {"completion", "bash"}} {
		if _, stderr, code := configured(t, file, nil, args...); code != ExitOK {
			t.Errorf("%v: exit code %d\n%s", args, code, stderr)
		}
	}
}

func TestConfigFilesThatAreNotRead(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string, mode os.FileMode) string {
		if err := os.WriteFile(path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path(name), mode); err != nil {
			t.Fatal(err)
		}
		return path(name)
	}
	fine := write("fine.yaml", "fps: 7\n", 0o644)
	for name, c := range map[string]struct {
		file, want string
		code       int
	}{
		"another one":       {fine, "fps: 7", ExitOK},
		"none":              {os.DevNull, "#fps: 4", ExitOK},
		"not there":         {path("nope"), "no such file", ExitUsage},
		"a folder":          {dir, "is a directory", ExitUsage},
		"a device":          {"/dev/zero", "not a regular file", ExitUsage},
		"anyone's":          {write("all.yaml", "fps: 7\n", 0o666), "chmod go-w", ExitUsage},
		"large":             {write("large.yaml", strings.Repeat("# much\n", 1_500_000), 0o600), "more than 65536 bytes", ExitUsage},
		"binary":            {write("binary.yaml", "\x7fELF\x02\x01\x00\x00", 0o600), "control character", ExitUsage},
		"a bomb of aliases": {write("bomb.yaml", "a: &a [x,x]\nb: &b [*a,*a]\nkeys: &c [*b,*b]\n", 0o600), "unknown key", ExitUsage},
	} {
		stdout, stderr, code := configured(t, "", nil, "config", "--config", c.file)
		if code != c.code || !strings.Contains(stdout+stderr, c.want) {
			t.Errorf("%s: exit code %d\n%s%s", name, code, stdout, stderr)
		}
		if stdout, stderr, code := configured(
			t,
			"",
			[]string{"VELTUI_CONFIG=" + c.file},
			"config",
		); code != c.code ||
			!strings.Contains(stdout+stderr, c.want) {
			t.Errorf("%s, by the environment: exit code %d\n%s%s", name, code, stdout, stderr)
		}
	}
	if stdout, stderr, code := configured(
		t,
		"fps: 8",
		[]string{"VELTUI_CONFIG=" + path("nope")},
		"config",
		"--config",
		fine,
	); code != ExitOK ||
		!strings.Contains(stdout, "fps: 7") {
		t.Errorf("--config does not win: exit code %d\n%s%s", code, stdout, stderr)
	}
}

// docs/config.md has a row for each setting, as the program knows it.
func TestConfigIsDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/config.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range allSettings() {
		flag, env := "", ""
		if s.Flag != "" {
			flag = "`--" + s.Flag + "`"
		}
		if s.Env != "" {
			env = "`" + s.Env + "`"
		}
		row := fmt.Sprintf("| `%s` | %s | %s | %s | `%s` | %s |", s.Name, s.Description, flag, env, s.Example, s.Default)
		if !strings.Contains(string(doc), row+"\n") {
			t.Errorf("docs/config.md lacks this row:\n%s", row)
		}
	}
}
