// Command release makes what a release of veltui consists of, as .goreleaser.yaml
// says, with the Go toolchain alone: binaries, archives, packages, SBOMs, checksums,
// a krew manifest and a Homebrew formula. The same sources give the same bytes.
//
//	release snapshot -root DIR [-only OS/ARCH]   all of it, into DIR/dist
//	release licenses -root DIR [FILE]            check the licences, and write them all
//	release manifests -root DIR                  the manifests, for the archives in DIR/dist
//	release sbom -version VERSION BINARY FILE    a CycloneDX document of a binary
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("expected snapshot, licenses, manifests or sbom")
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	root := flags.String("root", ".", "veltui's sources")
	only := flags.String("only", "", "one platform, as linux/amd64; all if empty")
	version := flags.String("version", "", "the release's version, for its SBOM")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	switch rest := flags.Args(); {
	case args[0] == "snapshot" && len(rest) == 0:
		return snapshot(*root, strings.ReplaceAll(*only, "/", "_"))
	case args[0] == "licenses" && len(rest) < 2:
		file := os.DevNull
		if len(rest) == 1 {
			file = rest[0]
		}
		return writeLicenses(*root, file)
	case args[0] == "manifests" && len(rest) == 0:
		return manifests(*root)
	case args[0] == "sbom" && len(rest) == 2:
		return writeSBOM(rest[0], rest[1], *version)
	}
	return fmt.Errorf("cannot do %q", args)
}

// snapshot builds a release of the commit that is checked out.
func snapshot(root, only string) error {
	c, of, err := open(root)
	if err != nil {
		return err
	}
	dist := filepath.Join(root, "dist")
	if err := errors.Join(os.RemoveAll(dist), os.MkdirAll(dist, 0o755)); err != nil {
		return err
	}
	var made []string
	for _, target := range c.Builds[0].Targets {
		if only != "" && target != only {
			continue
		}
		files, err := makeTarget(root, dist, c, of.at(target))
		if err != nil {
			return fmt.Errorf("%s: %w", target, err)
		}
		made = append(made, files...)
		fmt.Println(strings.Join(files, "\n"))
	}
	sums, err := writeChecksums(dist, c.Checksum.Name, made)
	if err != nil || only != "" {
		return err
	}
	return writeManifests(root, dist, c, of, sums)
}

// makeTarget makes all files of one platform and returns their names.
func makeTarget(root, dist string, c *config, of release) ([]string, error) {
	binary := filepath.Join(dist, of.Target, "veltui"+of.Ext)
	if err := build(root, binary, c, of); err != nil {
		return nil, err
	}
	archive, err := pack(root, dist, binary, c, of)
	if err != nil {
		return nil, err
	}
	bom := of.fill(c.SBOMs[0].Documents[0])
	if err := writeSBOM(binary, filepath.Join(dist, bom), of.Version); err != nil {
		return nil, err
	}
	files := []string{archive, bom}
	if of.Os == "linux" {
		packages, err := makePackages(root, dist, binary, c, of)
		return append(files, packages...), err
	}
	return files, nil
}
