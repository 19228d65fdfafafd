// Command release makes what goreleaser does not: the licences of everything that a
// release holds, and its SBOMs. The same sources give the same bytes.
//
//	release licenses -root DIR [FILE]            check the licences, and write them all
//	release sbom -version VERSION BINARY FILE    a CycloneDX document of a binary
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("expected licenses or sbom")
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	root := flags.String("root", ".", "veltui's sources")
	version := flags.String("version", "", "the release's version, for its SBOM")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	switch rest := flags.Args(); {
	case args[0] == "licenses" && len(rest) < 2:
		file := os.DevNull
		if len(rest) == 1 {
			file = rest[0]
		}
		return writeLicenses(*root, file)
	case args[0] == "sbom" && len(rest) == 2:
		return writeSBOM(rest[0], rest[1], *version)
	}
	return fmt.Errorf("cannot do %q", args)
}

// targets returns the platforms of a release, as linux_amd64.
func targets(root string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(root, ".goreleaser.yaml"))
	if err != nil {
		return nil, err
	}
	var c struct {
		Builds []struct{ Targets []string }
	}
	if err := yaml.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf(".goreleaser.yaml: %w", err)
	}
	if len(c.Builds) != 1 {
		return nil, errors.New(".goreleaser.yaml: expected one build")
	}
	return c.Builds[0].Targets, nil
}
