package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"
	"time"

	"sigs.k8s.io/yaml"
)

// config is what this program heeds of .goreleaser.yaml.
type config struct {
	Project string `json:"project_name"`
	Builds  []struct {
		Env, Flags, Ldflags, Targets []string
	} `json:"builds"`
	Archives []struct {
		Name  string `json:"name_template"`
		Files []struct {
			Src string `json:"src"`
			Dst string `json:"dst"`
		} `json:"files"`
	} `json:"archives"`
	Packages []struct {
		Name        string   `json:"package_name"`
		Homepage    string   `json:"homepage"`
		Maintainer  string   `json:"maintainer"`
		Description string   `json:"description"`
		License     string   `json:"license"`
		Section     string   `json:"section"`
		Formats     []string `json:"formats"`
		Bindir      string   `json:"bindir"`
		RPM         struct {
			BuildHost string `json:"buildhost"`
		} `json:"rpm"`
		Contents []struct {
			Src      string `json:"src"`
			Dst      string `json:"dst"`
			Type     string `json:"type"`
			Packager string `json:"packager"`
			FileInfo struct {
				Mode os.FileMode `json:"mode"`
			} `json:"file_info"`
		} `json:"contents"`
	} `json:"nfpms"`
	Checksum struct {
		Name string `json:"name_template"`
	} `json:"checksum"`
	SBOMs []struct {
		Documents []string `json:"documents"`
	} `json:"sboms"`
	Snapshot struct {
		Version string `json:"version_template"`
	} `json:"snapshot"`
}

func readConfig(root string) (*config, error) {
	text, err := os.ReadFile(filepath.Join(root, ".goreleaser.yaml"))
	if err != nil {
		return nil, err
	}
	c := &config{}
	if err := yaml.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf(".goreleaser.yaml: %w", err)
	}
	if len(c.Builds) != 1 || len(c.Archives) != 1 || len(c.Packages) != 1 || len(c.SBOMs) != 1 {
		return nil, fmt.Errorf(".goreleaser.yaml: expected one build, archive, package and SBOM")
	}
	return c, nil
}

// release is what the templates of .goreleaser.yaml may use.
type release struct {
	Version, FullCommit, ShortCommit, CommitDate string
	Target, Os, Arch, Ext                        string
	time                                         time.Time
}

// open reads the configuration and tells what a release of the commit that is
// checked out is called.
func open(root string) (*config, release, error) {
	c, err := readConfig(root)
	if err != nil {
		return nil, release{}, err
	}
	of, err := readCommit(root, c)
	return c, of, err
}

// readCommit tells of the commit that is checked out. SOURCE_DATE_EPOCH goes before
// its date.
func readCommit(root string, c *config) (release, error) {
	out, err := exec.Command("git", "-C", root, "log", "-1", "--format=%H %h %ct").Output()
	if err != nil {
		return release{}, fmt.Errorf("asking git for the commit: %w", err)
	}
	words := strings.Fields(string(out))
	if epoch := os.Getenv("SOURCE_DATE_EPOCH"); epoch != "" {
		words[2] = epoch
	}
	seconds, err := strconv.ParseInt(words[2], 10, 64)
	if err != nil {
		return release{}, fmt.Errorf("the commit's date: %w", err)
	}
	r := release{FullCommit: words[0], ShortCommit: words[1], time: time.Unix(seconds, 0).UTC()}
	r.CommitDate = r.time.Format(time.RFC3339)
	r.Version = r.fill(c.Snapshot.Version)
	if tag, err := exec.Command("git", "-C", root, "describe", "--tags", "--exact-match", "--dirty").Output(); err == nil {
		r.Version = strings.TrimPrefix(strings.TrimSpace(string(tag)), "v")
	}
	return r, nil
}

// at is the release for one target, as linux_amd64.
func (r release) at(target string) release {
	r.Target = target
	r.Os, r.Arch, _ = strings.Cut(target, "_")
	if r.Os == "windows" {
		r.Ext = ".exe"
	}
	return r
}

// fill fills in a template of our own configuration.
func (r release) fill(text string) string {
	var b strings.Builder
	if err := template.Must(template.New("").Parse(text)).Execute(&b, r); err != nil {
		panic(err) // the configuration is part of the sources
	}
	return b.String()
}
