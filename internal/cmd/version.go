package cmd

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/view/document"
)

// The linker sets these variables in builds of the Makefile and in releases; it can only set variables without an
// initial value. date is the commit's date, so that builds are reproducible.
var release, commit, date string

var version = cmp.Or(release, readBuildInfo().moduleVersion())

type buildInfo struct{ *debug.BuildInfo }

func readBuildInfo() buildInfo {
	info, _ := debug.ReadBuildInfo()
	return buildInfo{cmp.Or(info, &debug.BuildInfo{})}
}

func (b buildInfo) moduleVersion() string {
	if b.Main.Version == "" || b.Main.Version == "(devel)" {
		return "dev"
	}
	return b.Main.Version
}

func (b buildInfo) findSetting(key string) string {
	for _, s := range b.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

func (b buildInfo) dependencyVersion(path string) string {
	for _, m := range b.Deps {
		if m.Path == path {
			return cmp.Or(m.Replace, m).Version
		}
	}
	return "unknown"
}

// newDocument prefers the linker's values to the toolchain's.
func (b buildInfo) newDocument(version, commit, date string) document.Version {
	d := document.Version{
		Header:  document.NewHeader("Version"),
		Version: version,
		Commit:  commit,
		Date:    date,
		VeleroAPI: b.dependencyVersion(
			"github.com/vmware-tanzu/velero",
		),
		GoVersion: runtime.Version(),
		Platform:  runtime.GOOS + "/" + runtime.GOARCH,
	}
	if d.Commit == "" {
		d.Commit, d.Date, d.Modified = b.findSetting(
			"vcs.revision",
		), b.findSetting(
			"vcs.time",
		), b.findSetting(
			"vcs.modified",
		) == "true"
	}
	return d
}

func versionText(d document.Version) string {
	commit := cmp.Or(d.Commit, "unknown") + human.Prefixed(" of ", d.Date)
	if d.Modified {
		commit += ", with changes"
	}
	return fmt.Sprintf(
		"veltui %s\ncommit %s\nvelero API %s\n%s %s\n",
		d.Version,
		commit,
		d.VeleroAPI,
		d.GoVersion,
		d.Platform,
	)
}

func newVersionCommand(c *cli) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of veltui and of the Velero API it was built for",
		Long: `version prints veltui's version, the commit that it was built from and that
commit's date, the version of the Velero API, and the Go version and platform.
Built with "go install", veltui knows its version but not its commit.`,
		Example: `  veltui version

  # For a script
  veltui version -o json`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			d := readBuildInfo().newDocument(version, commit, date)
			return c.stdio.printOutput(output, d, func(l *linePrinter) { _, _ = io.WriteString(l, versionText(d)) })
		},
	}
	addOutputFlag(cmd, &output, "text", "json", "yaml")
	return cmd
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageErrorf("%s takes no arguments, got %q\nSee '%[1]s --help'.", cmd.CommandPath(), args[0])
	}
	return nil
}
