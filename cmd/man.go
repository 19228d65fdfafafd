package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newMan writes the manual pages from what --help says, so that they cannot differ.
// Packages hold them; nobody has to type it.
func newMan() *cobra.Command {
	return &cobra.Command{
		Use:     "man FOLDER",
		Short:   "Write the manual pages of all commands into a folder",
		Hidden:  true,
		Example: `  veltui man /usr/local/share/man/man1`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("expected one folder\nSee '%s --help'.", cmd.CommandPath())
			}
			return writePages(cmd.Root(), args[0])
		},
	}
}

func writePages(cmd *cobra.Command, dir string) error {
	if err := os.WriteFile(filepath.Join(dir, pageName(cmd)+".1"), []byte(manualPage(cmd)), 0o644); err != nil {
		return fmt.Errorf("writing a manual page: %w", err)
	}
	for _, sub := range documented(cmd) {
		if err := writePages(sub, dir); err != nil {
			return err
		}
	}
	return nil
}

// documented are the commands below another that have a page.
func documented(cmd *cobra.Command) (subs []*cobra.Command) {
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			subs = append(subs, sub)
		}
	}
	return subs
}

func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manualPage is a command's page in the man macros (man-pages(7)).
func manualPage(cmd *cobra.Command) string {
	var b strings.Builder
	section := func(title string) { fmt.Fprintf(&b, ".SH %s\n", title) }
	fmt.Fprintf(&b, ".TH %q 1 \"\" \"veltui %s\" \"veltui\"\n", strings.ToUpper(pageName(cmd)), roff(version))
	section("NAME")
	fmt.Fprintf(&b, "%s \\- %s\n", roff(pageName(cmd)), roff(cmd.Short))
	section("SYNOPSIS")
	fmt.Fprintf(&b, ".B %s\n", roff(cmd.UseLine()))
	section("DESCRIPTION")
	text := cmd.Long
	if text == "" {
		text = cmd.Short + "."
	}
	paragraphs(&b, text)
	if subs := documented(cmd); len(subs) > 0 {
		section("COMMANDS")
		for _, sub := range subs {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(sub.Name()), roff(sub.Short))
		}
	}
	if flags := OwnFlags(cmd); flags.HasAvailableFlags() {
		section("OPTIONS")
		flagPages(&b, flags)
	}
	if !cmd.HasParent() {
		section("OPTIONS OF ALL COMMANDS")
		flagPages(&b, cmd.PersistentFlags())
		section("EXIT STATUS")
		paragraphs(&b, ExitCodes)
	}
	if cmd.Example != "" {
		section("EXAMPLES")
		verbatim(&b, strings.Split(cmd.Example, "\n"))
	}
	section("SEE ALSO")
	var also []string
	if cmd.HasParent() {
		also = append(also, ".BR "+roff(pageName(cmd.Parent()))+" (1): the options and exit codes of all commands")
	}
	for _, sub := range documented(cmd) {
		also = append(also, ".BR "+roff(pageName(sub))+" (1)")
	}
	fmt.Fprintln(&b, strings.Join(append(also, ".BR kubectl (1)"), "\n.br\n"))
	return b.String()
}

func flagPages(b *strings.Builder, flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" {
			return
		}
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		kind, usage := pflag.UnquoteUsage(f)
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(strings.TrimSpace(name+" "+kind)), roff(usage))
	})
}

// paragraphs sets text as it stands in help: indented lines stay as they are.
func paragraphs(b *strings.Builder, text string) {
	for i, paragraph := range strings.Split(text, "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		lines := strings.Split(strings.Trim(paragraph, "\n"), "\n")
		for len(lines) > 0 && !strings.HasPrefix(lines[0], " ") {
			b.WriteString(roff(lines[0]) + "\n")
			lines = lines[1:]
		}
		if len(lines) > 0 {
			verbatim(b, lines)
		}
	}
}

func verbatim(b *strings.Builder, lines []string) {
	b.WriteString(".nf\n")
	for _, line := range lines {
		b.WriteString(roff(line) + "\n")
	}
	b.WriteString(".fi\n")
}

// roff quotes text for troff: a backslash begins an escape, a dot or an apostrophe at
// the start of a line a request, and a bare hyphen may be drawn as a dash.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	text = strings.ReplaceAll(text, "\n", " ")
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		return `\&` + text
	}
	return text
}
