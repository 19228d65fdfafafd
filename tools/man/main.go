// Man writes the manual pages of all commands into a folder, from what --help says.
//
//	go run -C tools/man . VERSION FOLDER
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/veltui/veltui/internal/cmd"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: man VERSION FOLDER")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "man:", err)
		os.Exit(1)
	}
}

// write writes a page a command. SOURCE_DATE_EPOCH dates them.
func write(version, dir string) error {
	root := cmd.Root()
	verbatim(root)
	root.Long += "\n\n" + asIs(cmd.ExitCodesHelp)
	root.DisableAutoGenTag = true
	header := &doc.GenManHeader{Section: "1", Source: "veltui " + version, Manual: "veltui"}
	return doc.GenManTree(root, header, dir)
}

// verbatim keeps the tables in the help of a command, and of those below it, as they are
// laid out: the pages are made from Markdown, which would fill them.
func verbatim(cmd *cobra.Command) {
	paragraphs := strings.Split(cmd.Long, "\n\n")
	for i, text := range paragraphs {
		if strings.Contains(strings.TrimSpace(text), "  ") {
			paragraphs[i] = asIs(text)
		}
	}
	cmd.Long = strings.Join(paragraphs, "\n\n")
	for _, sub := range cmd.Commands() {
		verbatim(sub)
	}
}

// asIs is text as a block of code.
func asIs(text string) string {
	return "    " + strings.ReplaceAll(text, "\n", "\n    ")
}
