package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/licensecheck"
)

// writeSBOM lists the modules that a binary holds, as the Go toolchain wrote them
// into it; the version is the release's, which the toolchain does not know. It has no
// serial number and no time, so that equal binaries have equal documents.
func writeSBOM(binary, file, version string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return fmt.Errorf("reading what the binary was built from: %w", err)
	}
	component := func(path, version string) cdx.Component {
		url := "pkg:golang/" + path + "@" + version
		return cdx.Component{BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: path, Version: version, PackageURL: url}
	}
	parts := []cdx.Component{component("stdlib", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		parts = append(parts, component(m.Path, m.Version))
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{
		Component: &cdx.Component{
			BOMRef:  "veltui",
			Type:    cdx.ComponentTypeApplication,
			Name:    "veltui",
			Version: version,
		},
	}
	bom.Components = &parts
	var b bytes.Buffer
	if err := cdx.NewBOMEncoder(&b, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom); err != nil {
		return err
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}

// allowed are the licences that a module of the binary may have: those that ask for
// no more than their text and, of MPL-2.0, the sources of changed files. veltui
// changes none.
var allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0", "Unicode-DFS-2016"}

// module is one that the binary holds for some platform of a release.
type module struct{ Path, Version, Dir string }

func modules(root string, targets []string) ([]module, error) {
	held := map[string]module{}
	for _, target := range targets {
		goos, goarch, _ := strings.Cut(target, "_")
		cmd := exec.Command("go", "list", "-deps", "-json=Module", ".")
		cmd.Dir, cmd.Stderr = root, os.Stderr
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch)
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("listing packages for %s: %w", target, err)
		}
		for d := json.NewDecoder(bytes.NewReader(out)); ; {
			var p struct {
				Module *struct {
					module
					Main    bool
					Replace *module
				}
			}
			if err := d.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, err
			}
			if m := p.Module; m != nil && !m.Main {
				if m.Replace != nil {
					return nil, fmt.Errorf("%s is replaced by %s: a release holds no forks", m.Path, m.Replace.Path)
				}
				held[m.Path] = m.module
			}
		}
	}
	var all []module
	for _, path := range slices.Sorted(maps.Keys(held)) {
		all = append(all, held[path])
	}
	return all, nil
}

// licenses are the names and texts of a module's own licences and notices.
func (m module) licenses() (names []string, text string, err error) {
	entries, err := os.ReadDir(m.Dir)
	if err != nil {
		return nil, "", err
	}
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		license := strings.HasPrefix(name, "LICEN") || strings.HasPrefix(name, "COPYING")
		if e.IsDir() || strings.HasSuffix(name, ".GO") || !license && !strings.HasPrefix(name, "NOTICE") {
			continue
		}
		own, err := os.ReadFile(filepath.Join(m.Dir, e.Name()))
		if err != nil {
			return nil, "", err
		}
		text += "\n" + strings.TrimSpace(string(own)) + "\n"
		if !license {
			continue
		}
		found := licensecheck.Scan(own)
		if len(found.Match) == 0 || found.Percent < 75 {
			names = append(names, e.Name()+" (not known)")
		}
		for _, match := range found.Match {
			if !match.IsURL && !slices.Contains(names, match.ID) {
				names = append(names, match.ID)
			}
		}
	}
	return names, text, nil
}

// writeLicenses refuses licences that are not allowed, and writes those of all
// modules of a release into a file.
func writeLicenses(root, file string) error {
	platforms, err := targets(root)
	if err != nil {
		return err
	}
	all, err := modules(root, platforms)
	if err != nil {
		return err
	}
	var index, texts strings.Builder
	var problems []error
	for _, m := range all {
		names, text, err := m.licenses()
		if err != nil {
			return fmt.Errorf("%s: %w", m.Path, err)
		}
		if len(names) == 0 {
			problems = append(problems, fmt.Errorf("%s %s has no licence", m.Path, m.Version))
		}
		for _, name := range names {
			if !slices.Contains(allowed, name) {
				problems = append(
					problems,
					fmt.Errorf("%s %s has the licence %s, which is not on the list", m.Path, m.Version, name),
				)
			}
		}
		fmt.Fprintf(&index, "%s %s: %s\n", m.Path, m.Version, strings.Join(names, ", "))
		fmt.Fprintf(&texts, "\n%s\n%s %s\n%s", strings.Repeat("=", 80), m.Path, m.Version, text)
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	fmt.Printf("%d modules, all licences allowed\n", len(all))
	if file == os.DevNull {
		return nil
	}
	return os.WriteFile(file, []byte("veltui holds these modules of others:\n\n"+index.String()+texts.String()), 0o644)
}
