// Command veltui is a terminal dashboard for Velero.
package main

import (
	"os"

	"github.com/veltui/veltui/internal/cmd"
)

func main() {
	os.Exit(cmd.Main(os.Args, os.Stdin, os.Stdout, os.Stderr))
}
