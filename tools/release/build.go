package main

import (
	"archive/tar"
	"archive/zip"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

func build(root, binary string, c *config, of release) error {
	b := c.Builds[0]
	binary, err := filepath.Abs(binary)
	if err != nil {
		return err
	}
	args := slices.Concat([]string{"build", "-p", "2"}, b.Flags, []string{"-ldflags", of.fill(strings.Join(b.Ldflags, " ")), "-o", binary, "."})
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = root, os.Stdout, os.Stderr
	cmd.Env = slices.Concat(os.Environ(), b.Env, []string{"GOOS=" + of.Os, "GOARCH=" + of.Arch})
	return cmd.Run()
}

// pack puts the binary and the documents into an archive and returns its name.
func pack(root, dist, binary string, c *config, of release) (string, error) {
	name := of.fill(c.Archives[0].Name) + ".tar.gz"
	if of.Os == "windows" {
		name = of.fill(c.Archives[0].Name) + ".zip"
	}
	file, err := os.Create(filepath.Join(dist, name))
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	add, finish := tarWriter(file, of)
	if of.Os == "windows" {
		add, finish = zipWriter(file, of)
	}
	take := func(source, as string, mode os.FileMode) error {
		text, err := os.ReadFile(source)
		if err != nil {
			return err
		}
		return add(as, mode, text)
	}
	if err := take(binary, filepath.Base(binary), 0o755); err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	for _, f := range c.Archives[0].Files {
		found, err := filepath.Glob(filepath.Join(root, f.Src))
		if err == nil && len(found) == 0 {
			err = fmt.Errorf("there is no %s", f.Src)
		}
		for _, source := range found {
			err = errors.Join(err, take(source, path.Join(f.Dst, filepath.Base(source)), 0o644))
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := finish(); err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return name, file.Close()
}

type adder func(name string, mode os.FileMode, text []byte) error

func tarWriter(w io.Writer, of release) (adder, func() error) {
	zipped := gzip.NewWriter(w)
	archive := tar.NewWriter(zipped)
	return func(name string, mode os.FileMode, text []byte) error {
			if err := archive.WriteHeader(&tar.Header{Name: name, Mode: int64(mode), Size: int64(len(text)), ModTime: of.time, Format: tar.FormatUSTAR}); err != nil {
				return err
			}
			_, err := archive.Write(text)
			return err
		}, func() error {
			if err := archive.Close(); err != nil {
				return err
			}
			return zipped.Close()
		}
}

func zipWriter(w io.Writer, of release) (adder, func() error) {
	archive := zip.NewWriter(w)
	return func(name string, mode os.FileMode, text []byte) error {
		header := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: of.time}
		header.SetMode(mode)
		entry, err := archive.CreateHeader(header)
		if err == nil {
			_, err = entry.Write(text)
		}
		return err
	}, archive.Close
}

// makePackages makes a package of each format and returns their names.
func makePackages(root, dist, binary string, c *config, of release) ([]string, error) {
	p := c.Packages[0]
	var names []string
	for _, format := range p.Formats {
		contents := files.Contents{{Source: binary, Destination: p.Bindir + "/veltui", FileInfo: &files.ContentFileInfo{Mode: 0o755, MTime: of.time}}}
		for _, f := range p.Contents {
			content := &files.Content{Source: f.Src, Destination: f.Dst, Type: f.Type, Packager: f.Packager, FileInfo: &files.ContentFileInfo{Mode: cmp.Or(f.FileInfo.Mode, 0o644), MTime: of.time}}
			if f.Type != files.TypeSymlink {
				content.Source = filepath.Join(root, f.Src)
			}
			contents = append(contents, content)
		}
		info := nfpm.WithDefaults(&nfpm.Info{
			Name: p.Name, Arch: of.Arch, Platform: "linux", Version: of.Version, Section: p.Section, Maintainer: p.Maintainer,
			Description: p.Description, Homepage: p.Homepage, License: p.License, MTime: of.time,
			Overridables: nfpm.Overridables{Contents: contents, RPM: nfpm.RPM{BuildHost: p.RPM.BuildHost}},
		})
		if err := nfpm.PrepareForPackager(info, format); err != nil {
			return nil, fmt.Errorf("%s: %w", format, err)
		}
		packager, err := nfpm.Get(format)
		if err != nil {
			return nil, err
		}
		name := packager.ConventionalFileName(info)
		file, err := os.Create(filepath.Join(dist, name))
		if err != nil {
			return nil, err
		}
		err = packager.Package(info, file)
		if closed := file.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		names = append(names, name)
	}
	return names, nil
}

// writeChecksums writes the SHA-256 of files, as sha256sum does, and returns them.
func writeChecksums(dist, name string, made []string) (map[string]string, error) {
	slices.Sort(made)
	sums := map[string]string{}
	var b strings.Builder
	for _, f := range made {
		text, err := os.ReadFile(filepath.Join(dist, f))
		if err != nil {
			return nil, err
		}
		sums[f] = fmt.Sprintf("%x", sha256.Sum256(text))
		fmt.Fprintf(&b, "%s  %s\n", sums[f], f)
	}
	return sums, os.WriteFile(filepath.Join(dist, name), []byte(b.String()), 0o644)
}
