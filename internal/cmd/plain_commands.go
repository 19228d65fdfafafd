package cmd

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/view/narrate"
)

var plainCommands = []string{
	"get",
	"check",
	"explain",
	"describe",
	"results",
	"logs",
	"etcd",
	"estimate",
	"finalize",
	"version",
}

var plainHelp = []string{
	"list: how everything is now.",
	"show NAME: how one backup or restore is, with the facts. Part of a name is enough.",
	"get, check, describe, explain, results, logs, etcd, estimate, version: veltui's commands, such as: explain " +
		"restore/crm-old. Add --help for their flags.",
	"finalize KIND/NAME: finish a job that Velero has abandoned. It shows a plan and asks you to type the name.",
	"mute: say nothing on its own. unmute: speak again.",
	"reconnect: try the cluster again at once, with fresh credentials.",
	"quit: end veltui.",
}

func (p *plainSession) handleCommand(ctx context.Context, line string) (quit bool) {
	words := splitWords(line)
	if len(words) > 0 && words[0] == "veltui" {
		words = words[1:] // advice is printed with this word
	}
	if len(words) == 0 {
		return false
	}
	switch command, rest := strings.ToLower(words[0]), words[1:]; {
	case command == "quit" || command == "exit" || command == "q":
		return true
	case command == "help" && len(rest) > 0:
		p.runSubcommand(ctx, rest[0], "--help")
	case command == "help" || command == "?":
		p.printLines(plainHelp...)
	case command == "mute":
		p.muted = true
		p.printLines("veltui says nothing on its own until you type: unmute")
	case command == "unmute":
		p.muted = false
		p.printLines("veltui tells you again what happens.")
	case command == "reconnect":
		for _, one := range p.clusters {
			if one.followErr == nil {
				one.options.Watcher.Retry()
			}
		}
		p.printLines("veltui tries the cluster again.")
	case command == "list" || command == "ls":
		p.printOverviews()
	case command == "show":
		p.printJobs(rest)
	case slices.Contains(plainCommands, command):
		p.runSubcommand(ctx, append([]string{command}, rest...)...)
	default:
		p.printLines(fmt.Sprintf("There is no command %q. Type help for the commands.", words[0]))
	}
	return false
}

const stillReadingText = "veltui is still reading the cluster. Try again in a moment."

func (p *plainSession) printOverviews() {
	for _, one := range p.clusters {
		switch {
		case one.followErr != nil:
			p.printLines(p.unusableText(one))
		case one.assessed != nil:
			p.printLines(p.overviewLines(one)...)
		default:
			p.printLines(p.prefixContext(one, stillReadingText))
		}
	}
}

const maxPlainFacts = 8

func (p *plainSession) printJobs(names []string) {
	if len(names) == 0 {
		p.printLines("Type show and a name, such as: show crm-old")
		return
	}
	name := strings.Join(names, "/") // also for "restore crm-old"
	var lines, facts []string
	found := 0
	for _, one := range p.clusters {
		if one.assessed == nil {
			lines = append(lines, p.prefixContext(one, stillReadingText))
			continue
		}
		for _, j := range narrate.FindJobs(one.assessed, name) {
			if found++; found <= maxPlainJobs {
				lines, facts = append(
					lines,
					p.prefixContext(one, narrate.Job(j, one.assessed.World.Now, one.changes.CommandFlags)),
				), narrate.Facts(
					j,
					maxPlainFacts,
				)
			}
		}
	}
	switch {
	case found == 0 && len(lines) == 0:
		lines = append(
			lines,
			fmt.Sprintf("No backup or restore has %q in its name. Type list, or get for all of them.", name),
		)
	case found == 1:
		lines = append(lines, facts...)
	case found > maxPlainJobs:
		lines = append(lines, fmt.Sprintf("And %s have %q in their names.", human.More(found-maxPlainJobs), name))
	}
	p.printLines(lines...)
}

// runSubcommand runs a command with the session's flags, and cuts long output.
func (p *plainSession) runSubcommand(ctx context.Context, args ...string) {
	c := p.cli
	if len(p.clusters) == 1 {
		c = p.clusters[0].cli // the command keeps its context if the current one changes
	} else {
		c = c.forContext(strings.Join(p.clusterNames(), ","), "") // a typed --context overrides this
	}
	for _, arg := range args {
		switch name, _, _ := strings.Cut(arg, "="); name {
		case "-w", "--watch", "-f", "--follow":
			p.printLines(
				fmt.Sprintf(
					"%s goes on until it is interrupted. Leave it out: this session tells you what happens.",
					name,
				),
			)
			return
		}
	}
	out := &excerptWriter{w: c.stdio.streams.Out, keepLast: args[0] == "logs", keepAll: args[0] == "finalize"}
	sub := newCLI(c.stdio.stdin, c.stdio.stdout, c.stdio.stderr)
	sub.stdio.streams.Out, sub.stdio.streams.ErrOut = out, c.stdio.streams.ErrOut
	sub.stdio.screen, sub.process.clock, sub.files.log = c.stdio.screen, c.process.clock, c.files.log
	sub.process.getenv = func(name string) string {
		switch {
		case name == "TERM":
			return "dumb" // no meters
		case name == "VELTUI_READ_ONLY" && c.settings.isReadOnly():
			return "1" // whatever the user sets
		}
		return c.process.getenv(name)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends what the command has left behind
	root := newRootCommand(sub, "veltui")
	root.SetArgs(append(c.globalFlags(), args...))
	err := root.ExecuteContext(ctx)
	if closing := out.writeRest(args[0]); err == nil {
		err = closing
	}
	reportExitError(err, c.stdio.streams.ErrOut)
	sub.connector.awaitRequestCleanup()
}

func (p *plainSession) clusterNames() []string {
	return mapSlice(p.clusters, func(one *plainCluster) string { return one.name })
}

func (c *cli) globalFlags() []string {
	var args []string
	c.connector.flags.FlagSet.VisitAll(func(f *pflag.Flag) {
		for _, value := range givenFlagValues(f) {
			args = append(args, "--"+f.Name+"="+value)
		}
	})
	if c.plainHTTP.allowedByFlag {
		args = append(args, "--allow-plain-http")
	}
	return args
}

// splitWords splits a line into words; double quotes keep words together.
func splitWords(line string) []string {
	r := csv.NewReader(strings.NewReader(strings.TrimSpace(line)))
	r.Comma, r.LazyQuotes, r.TrimLeadingSpace = ' ', true, true
	words, err := r.Read()
	if err != nil {
		return strings.Fields(line)
	}
	return slices.DeleteFunc(words, func(w string) bool { return w == "" })
}

const maxExcerptLines = 60

// excerptWriter passes on the first lines, or keeps the last lines for the end, or passes on all.
type excerptWriter struct {
	w                 io.Writer
	keepLast, keepAll bool
	partialLine       []byte   // the unfinished line
	keptLines         []string // printed at the end
	lineCount         int
	err               error
}

func (e *excerptWriter) Write(text []byte) (int, error) {
	for _, b := range text {
		if b == '\n' {
			e.endLine()
		} else {
			e.partialLine = append(e.partialLine, b)
		}
	}
	if e.err != nil {
		return 0, e.err
	}
	return len(text), nil
}

func (e *excerptWriter) printText(format string, args ...any) {
	if e.err == nil {
		_, e.err = fmt.Fprintf(e.w, format, args...)
	}
}

func (e *excerptWriter) endLine() {
	text := sanitize.FullLine(string(e.partialLine)) // a command to copy must not be cut
	e.partialLine = e.partialLine[:0]
	e.lineCount++
	switch {
	case e.keepLast:
		if e.keptLines = append(e.keptLines, text); len(e.keptLines) > maxExcerptLines {
			e.keptLines = slices.Delete(e.keptLines, 0, 1)
		}
	case e.keepAll, e.lineCount <= maxExcerptLines:
		e.printText("%s\n", text)
	}
}

func (e *excerptWriter) writeRest(command string) error {
	if len(e.partialLine) > 0 {
		e.endLine()
	}
	left := e.lineCount - maxExcerptLines
	if e.keepLast && left > 0 {
		e.printText(
			"These are the last %d lines of %d; --level warning or --since 10m leaves lines out.\n",
			maxExcerptLines,
			e.lineCount,
		)
	}
	for _, line := range e.keptLines {
		e.printText("%s\n", line)
	}
	if !e.keepLast && !e.keepAll && left > 0 {
		e.printText(
			"%s left out; 'veltui %s' in a shell prints the whole text.\n",
			human.CountForms(left, "more line is", "more lines are"),
			command,
		)
	}
	return e.err
}
