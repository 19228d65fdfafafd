package repo

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// A release is built with the variables that make build sets, and its packages hold
// files that are there or that `make release-files` makes.
func TestReleaseConfiguration(t *testing.T) {
	read := func(path string) string {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	var c struct {
		Builds []struct {
			Env, Flags, Ldflags, Targets []string
		}
		Archives []struct{ Files []struct{ Src string } }
		Nfpms    []struct {
			Contents []struct{ Src, Dst, Type, Packager string }
		}
		SBOMs []struct{ Args []string }
	}
	if err := yaml.Unmarshal([]byte(read(".goreleaser.yaml")), &c); err != nil {
		t.Fatal(err)
	}
	set := regexp.MustCompile(`veltui/internal/cmd\.\w+=`)
	made, released := set.FindAllString(
		read("Makefile"),
		-1,
	), set.FindAllString(
		strings.Join(c.Builds[0].Ldflags, " "),
		-1,
	)
	if len(made) == 0 || !slices.Equal(made, released) {
		t.Errorf("the Makefile sets %q, a release %q", made, released)
	}
	for _, target := range []string{"linux_amd64", "linux_arm64", "linux_ppc64le", "linux_s390x", "darwin_amd64", "darwin_arm64", "windows_amd64"} {
		if !slices.Contains(c.Builds[0].Targets, target) {
			t.Errorf("a release has nothing for %s", target)
		}
	}
	files := read("tools/release/release.mk")
	var sources, installed []string
	for _, f := range c.Archives[0].Files {
		sources = append(sources, f.Src)
	}
	for _, f := range c.Nfpms[0].Contents {
		if f.Type != "symlink" {
			sources = append(sources, f.Src)
		}
		installed = append(installed, strings.TrimSpace(f.Dst+" "+f.Packager))
	}
	for _, path := range []string{
		"/usr/share/man/man1/", "/usr/share/bash-completion/completions/veltui", "/usr/share/fish/vendor_completions.d/veltui.fish",
		"/usr/share/zsh/vendor-completions/_veltui deb", "/usr/share/zsh/site-functions/_veltui rpm", "/usr/bin/kubectl-veltui", "/usr/bin/kubectl_complete-veltui",
	} {
		if !slices.Contains(installed, path) {
			t.Errorf("packages do not install %s", path)
		}
	}
	// goreleaser runs the command in dist.
	if args := strings.Join(
		c.SBOMs[0].Args,
		" ",
	); !strings.HasPrefix(
		args,
		"run -C ../tools/release . sbom -version {{ .Version }} ../../dist/",
	) {
		t.Errorf("goreleaser makes an SBOM with go %s", args)
	}
	for _, source := range sources {
		if strings.HasPrefix(source, "bin/release/") {
			if !strings.Contains(files, strings.TrimSuffix(source, "/*")) {
				t.Errorf("make release-files does not make %s", source)
			}
		} else if _, err := os.Stat(source); err != nil {
			t.Errorf("a release holds %s: %v", source, err)
		}
	}
}
