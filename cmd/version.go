package cmd

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the linker in release builds.
var version = buildVersion()

// buildVersion is what the Go toolchain wrote into a binary that was made with
// `go install` or `go build`.
func buildVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}

func newVersion(c *cli) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the versions of veltui and of the Velero API it was built for",
		Example: `  veltui version`,
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(c.streams.Out, "veltui %s\nvelero API %s\n%s %s/%s\n", version,
				moduleVersion("github.com/vmware-tanzu/velero"), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

func moduleVersion(path string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == path {
				return m.Version
			}
		}
	}
	return "unknown"
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no arguments, got %q\nSee '%[1]s --help'.", cmd.CommandPath(), args[0])
	}
	return nil
}
