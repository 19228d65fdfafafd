package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

// manifest is what the templates in tools/packaging may use.
type manifest struct {
	release
	Homepage, Description, License string
	Platforms                      []platform
}

type platform struct{ Os, Arch, File, Sum, Binary string }

// manifests makes the manifests for archives that goreleaser has made.
func manifests(root string) error {
	c, of, err := open(root)
	if err != nil {
		return err
	}
	dist := filepath.Join(root, "dist")
	text, err := os.ReadFile(filepath.Join(dist, c.Checksum.Name))
	if err != nil {
		return err
	}
	sums := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if sum, file, ok := strings.Cut(strings.TrimSpace(line), "  "); ok {
			sums[file] = sum
		}
	}
	return writeManifests(root, dist, c, of, sums)
}

// writeManifests fills in tools/packaging/*.tmpl with the names and checksums of the
// archives.
func writeManifests(root, dist string, c *config, of release, sums map[string]string) error {
	m := manifest{release: of, Homepage: c.Packages[0].Homepage, Description: c.Packages[0].Description, License: c.Packages[0].License}
	for _, target := range c.Builds[0].Targets {
		at := of.at(target)
		file := at.fill(c.Archives[0].Name) + ".tar.gz"
		if at.Os == "windows" {
			file = at.fill(c.Archives[0].Name) + ".zip"
		}
		if sums[file] == "" {
			return fmt.Errorf("there is no archive %s", file)
		}
		m.Platforms = append(m.Platforms, platform{at.Os, at.Arch, file, sums[file], "veltui" + at.Ext})
	}
	templates, err := filepath.Glob(filepath.Join(root, "tools", "packaging", "*.tmpl"))
	if err != nil || len(templates) == 0 {
		return fmt.Errorf("there are no templates in tools/packaging: %w", err)
	}
	for _, path := range templates {
		t, err := template.ParseFiles(path)
		if err != nil {
			return err
		}
		var b strings.Builder
		if err := t.Execute(&b, m); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".tmpl")
		if err := os.WriteFile(filepath.Join(dist, name), []byte(b.String()), 0o644); err != nil {
			return err
		}
		fmt.Println(name)
	}
	return nil
}
