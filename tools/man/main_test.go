package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/veltui/veltui/internal/cmd"
)

// Every command has a page, and each page every flag that --help lists.
func TestPages(t *testing.T) {
	dir := t.TempDir()
	if err := write("v1.2.3", dir); err != nil {
		t.Fatal(err)
	}
	page := func(c *cobra.Command) string {
		text, err := os.ReadFile(filepath.Join(dir, strings.ReplaceAll(c.CommandPath(), " ", "-")+".1"))
		if err != nil {
			t.Error(err)
		}
		return strings.ReplaceAll(string(text), `\-`, "-")
	}
	var check func(c *cobra.Command)
	check = func(c *cobra.Command) {
		text := page(c)
		for _, part := range []string{".TH", "VELTUI", "v1.2.3", ".SH NAME\nveltui", ".SH SYNOPSIS", ".SH DESCRIPTION", c.Short} {
			if !strings.Contains(text, part) {
				t.Errorf("%s lacks %q", c.CommandPath(), part)
			}
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && !strings.Contains(text, "--"+f.Name) {
				t.Errorf("%s lacks --%s", c.CommandPath(), f.Name)
			}
		})
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				check(sub)
			}
		}
	}
	root := cmd.Root()
	check(root)
	if text := page(
		root,
	); !strings.Contains(text, "the job is stuck or orphaned") ||
		!strings.Contains(text, "--kubeconfig") {
		t.Errorf("%s", text)
	}
}
