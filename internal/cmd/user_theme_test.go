package cmd

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/veltui/veltui/assets"
)

func TestUserThemes(t *testing.T) {
	dark, err := assets.Themes.ReadFile("themes/dark.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "themes"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"themes/mine.yaml": string(dark), "themes/short.yml": "bad: {color: \"#ff0000\"}\n",
		"broken.yaml": "bad: {colour: 9}\nbda: {bold: true}\ngood:\n  color: green\n  bold: 1\ndim: {basic: {basic: {}}}\n",
		"mine.yaml":   "theme: mine\n", "path.yaml": "theme: themes/short.yml\n", "bad.yaml": "fps: 9\ntheme: broken.yaml\n", "none.yaml": "# none\ntheme: mien\n",
		"gone.yaml": "theme: ./gone-theme.yaml\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args []string
		code int
		want []string
	}{
		{[]string{"--config", filepath.Join(dir, "mine.yaml")}, ExitOK, []string{"theme: mine  # "}},
		{[]string{"--config", filepath.Join(dir, "path.yaml")}, ExitOK, []string{"theme: themes/short.yml  # "}},
		{[]string{"--config", filepath.Join(dir, "none.yaml"), "--theme", "short"}, ExitOK, []string{"theme: short  # --theme"}},
		{[]string{"--theme", filepath.Join(dir, "themes", "mine.yaml")}, ExitOK, []string{"# --theme"}},
		{[]string{"--theme", "mien"}, ExitUsage, []string{"--theme mien: must be one of auto, "}},
		{[]string{"--config", filepath.Join(dir, "none.yaml")}, ExitUsage, []string{`none.yaml:2: theme: "mien": must be one of auto, `, "or a file (did you mean mine?)"}},
		{[]string{"--config", filepath.Join(dir, "gone.yaml")}, ExitUsage, []string{"gone.yaml:1: theme: ", "no such file"}},
		{[]string{"--config", filepath.Join(dir, "bad.yaml")}, ExitUsage, []string{
			`broken.yaml:1:7: bad: unknown key "colour" (did you mean color?)`, `broken.yaml:2:1: unknown key "bda" (did you mean bad?)`,
			`broken.yaml:4:10: good.color: "green" is no colour`, `broken.yaml:5:9: good.bold: "1" must be true or false`, `dim.basic: unknown key "basic"`}},
	} {
		stdout, stderr, code := configured(t, "", nil, append([]string{"config"}, c.args...)...)
		if code != c.code || !holdsAll(stdout+stderr, c.want...) {
			t.Errorf("%v: exit code %d\n%s%s", c.args, code, stdout, stderr)
		}
	}
}
