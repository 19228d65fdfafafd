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

func (p *plain) obey(ctx context.Context, line string) (quit bool) {
	words := splitWords(line)
	if len(words) > 0 && words[0] == "veltui" {
		words = words[1:] // as advice prints it
	}
	if len(words) == 0 {
		return false
	}
	switch command, rest := strings.ToLower(words[0]), words[1:]; {
	case command == "quit" || command == "exit" || command == "q":
		return true
	case command == "help" && len(rest) > 0:
		p.execute(ctx, rest[0], "--help")
	case command == "help" || command == "?":
		p.say(plainHelp...)
	case command == "mute":
		p.muted = true
		p.say("veltui says nothing on its own until you type: unmute")
	case command == "unmute":
		p.muted = false
		p.say("veltui tells you again what happens.")
	case command == "reconnect":
		for _, one := range p.clusters {
			if one.unusable == nil {
				one.options.Watcher.Retry()
			}
		}
		p.say("veltui tries the cluster again.")
	case command == "list" || command == "ls":
		p.list()
	case command == "show":
		p.show(rest)
	case slices.Contains(plainCommands, command):
		p.execute(ctx, append([]string{command}, rest...)...)
	default:
		p.say(fmt.Sprintf("There is no command %q. Type help for the commands.", words[0]))
	}
	return false
}

const stillReading = "veltui is still reading the cluster. Try again in a moment."

func (p *plain) list() {
	for _, one := range p.clusters {
		switch {
		case one.unusable != nil:
			p.say(p.unusable(one))
		case one.assessed != nil:
			p.say(p.overview(one)...)
		default:
			p.say(p.about(one, stillReading))
		}
	}
}

const plainFacts = 8

func (p *plain) show(names []string) {
	if len(names) == 0 {
		p.say("Type show and a name, such as: show crm-old")
		return
	}
	name := strings.Join(names, "/") // restore crm-old, too
	var lines, facts []string
	found := 0
	for _, one := range p.clusters {
		if one.assessed == nil {
			lines = append(lines, p.about(one, stillReading))
			continue
		}
		for _, j := range narrate.Find(one.assessed, name) {
			if found++; found <= plainShown {
				lines, facts = append(
					lines,
					p.about(one, narrate.Job(j, one.assessed.Environment.Now, one.changes.Flags)),
				), narrate.Facts(
					j,
					plainFacts,
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
	case found > plainShown:
		lines = append(lines, fmt.Sprintf("And %d more have %q in their names.", found-plainShown, name))
	}
	p.say(lines...)
}

// execute runs a command with the session's flags, and cuts long output.
func (p *plain) execute(ctx context.Context, args ...string) {
	c := p.cli
	if len(p.clusters) == 1 {
		c = p.clusters[0].cli // its context stays, whatever becomes the current one
	} else {
		c = c.forContext(strings.Join(p.names(), ","), "") // which one that is typed overrides
	}
	for _, arg := range args {
		switch name, _, _ := strings.Cut(arg, "="); name {
		case "-w", "--watch", "-f", "--follow":
			p.say(
				fmt.Sprintf(
					"%s goes on until it is interrupted. Leave it out: this session tells you what happens.",
					name,
				),
			)
			return
		}
	}
	out := &excerpt{w: c.streams.Out, last: args[0] == "logs", whole: args[0] == "finalize"}
	sub := newCLI(c.stdin, c.stdout, c.stderr)
	sub.streams.Out, sub.streams.ErrOut, sub.screen, sub.clock, sub.log = out, c.streams.ErrOut, c.screen, c.clock, c.log
	sub.env = func(name string) string {
		switch {
		case name == "TERM":
			return "dumb" // no meters
		case name == "VELTUI_READ_ONLY" && c.isReadOnly():
			return "1" // whatever is typed
		}
		return c.env(name)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // what the command has left behind
	root := newRoot(sub, "veltui")
	root.SetArgs(append(c.globalFlags(), args...))
	err := root.ExecuteContext(ctx)
	if closing := out.close(args[0]); err == nil {
		err = closing
	}
	exitCode(err, c.streams.ErrOut)
	sub.awaitRequests()
}

func (p *plain) names() []string {
	return mapSlice(p.clusters, func(one *plainCluster) string { return one.name })
}

func (c *cli) globalFlags() []string {
	var args []string
	c.flags.Set.VisitAll(func(f *pflag.Flag) {
		for _, value := range flagValues(f) {
			args = append(args, "--"+f.Name+"="+value)
		}
	})
	if c.plainHTTP.allowed {
		args = append(args, "--allow-plain-http")
	}
	return args
}

// splitWords takes a line apart; double quotes keep words together.
func splitWords(line string) []string {
	r := csv.NewReader(strings.NewReader(strings.TrimSpace(line)))
	r.Comma, r.LazyQuotes, r.TrimLeadingSpace = ' ', true, true
	words, err := r.Read()
	if err != nil {
		return strings.Fields(line)
	}
	return slices.DeleteFunc(words, func(w string) bool { return w == "" })
}

const excerptLines = 60

// excerpt passes on the first lines, or keeps the last ones for the end, or passes on all.
type excerpt struct {
	w           io.Writer
	last, whole bool
	part        []byte   // of an unfinished line
	kept        []string // for the end
	lines       int
	err         error
}

func (e *excerpt) Write(text []byte) (int, error) {
	for _, b := range text {
		if b == '\n' {
			e.line()
		} else {
			e.part = append(e.part, b)
		}
	}
	if e.err != nil {
		return 0, e.err
	}
	return len(text), nil
}

func (e *excerpt) print(format string, args ...any) {
	if e.err == nil {
		_, e.err = fmt.Fprintf(e.w, format, args...)
	}
}

func (e *excerpt) line() {
	text := sanitize.Whole(string(e.part)) // a command to copy is of no use when it is cut
	e.part = e.part[:0]
	e.lines++
	switch {
	case e.last:
		if e.kept = append(e.kept, text); len(e.kept) > excerptLines {
			e.kept = slices.Delete(e.kept, 0, 1)
		}
	case e.whole, e.lines <= excerptLines:
		e.print("%s\n", text)
	}
}

func (e *excerpt) close(command string) error {
	if len(e.part) > 0 {
		e.line()
	}
	left := e.lines - excerptLines
	if e.last && left > 0 {
		e.print(
			"These are the last %d lines of %d; --level warning or --since 10m leaves lines out.\n",
			excerptLines,
			e.lines,
		)
	}
	for _, line := range e.kept {
		e.print("%s\n", line)
	}
	if !e.last && !e.whole && left > 0 {
		e.print(
			"%s left out; 'veltui %s' in a shell prints the whole text.\n",
			human.Plural(left, "more line is", "more lines are"),
			command,
		)
	}
	return e.err
}
