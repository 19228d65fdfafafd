package command

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"
)

// Command is one command as data.
type Command struct {
	// Name is the typed name, and Aliases are other names for it.
	Name        string
	Aliases     []string
	Argument    string // the argument's name in help, in brackets if optional; empty for none
	Description string // what the command does, in a few words
	// ArgumentValues are the completions of the argument; with IsList it is a comma-separated list.
	ArgumentValues iter.Seq[string]
	IsList         bool
	Do             func(argument string) (tea.Cmd, error) // runs the command; the error tells the user why it could not
}

// Usage returns the command as it is typed, with its argument.
func (c *Command) Usage() string { return strings.TrimSpace(":" + c.Name + " " + c.Argument) }

func (c *Command) hasName(name string) bool {
	return c.Name == name || slices.Contains(c.Aliases, name)
}

func (c *Command) needsArgument() bool {
	return c.Argument != "" && !strings.HasPrefix(c.Argument, "[")
}

// Run runs the command of a typed line. The error is for the user.
func Run(commands []Command, line string) (tea.Cmd, error) {
	name, argument := parseLine(line)
	if name == "" {
		return nil, nil
	}
	c, err := findCommand(commands, name)
	switch {
	case err != nil:
		return nil, err
	case argument != "" && c.Argument == "":
		return nil, fmt.Errorf(":%s takes no argument", c.Name)
	case argument == "" && c.needsArgument():
		return nil, fmt.Errorf("type %s: %s", c.Usage(), c.Description)
	}
	return c.Do(argument)
}

// parseLine splits a typed line into a command's name and its argument.
func parseLine(line string) (name, argument string) {
	name, argument, _ = strings.Cut(strings.TrimSpace(strings.TrimLeft(line, ": ")), " ")
	return strings.ToLower(name), strings.TrimSpace(argument)
}

// findCommand returns the command with a name, or the only one whose name begins with it.
func findCommand(commands []Command, name string) (*Command, error) {
	var like []string
	var only *Command
	for i := range commands {
		c := &commands[i]
		if c.hasName(name) {
			return c, nil
		}
		if strings.HasPrefix(c.Name, name) {
			like, only = append(like, ":"+c.Name), c
		}
	}
	if len(like) == 1 {
		return only, nil
	}
	if len(like) == 0 {
		like = suggestNames(commands, name)
	}
	if len(like) == 0 {
		return nil, fmt.Errorf("unknown command :%s; :help lists all commands", name)
	}
	return nil, fmt.Errorf(
		"unknown command :%s; did you mean %s?",
		name,
		strings.Join(like[:min(len(like), 3)], " or "),
	)
}

// suggestNames returns the commands whose name resembles a misspelt one.
func suggestNames(commands []Command, name string) []string {
	names := &cobra.Command{SuggestionsMinimumDistance: 2}
	for i := range commands {
		names.AddCommand(
			&cobra.Command{Use: commands[i].Name, Aliases: commands[i].Aliases, Run: func(*cobra.Command, []string) {}},
		)
	}
	like := names.SuggestionsFor(name)
	for i := range like {
		like[i] = ":" + like[i]
	}
	return like
}

const maxCompletions = 50

// findCompletions returns the whole lines to which a line can be completed.
func findCompletions(commands []Command, line string) []string {
	var found []string
	offer := func(text string) bool {
		found = append(found, text)
		return len(found) < maxCompletions
	}
	word, argument, second := strings.Cut(line, " ")
	for i := range commands {
		c := &commands[i]
		if !second && hasPrefix(c.Name, word) {
			text := c.Name
			if c.Argument != "" {
				text += " "
			}
			offer(text)
		}
		if !second || !c.hasName(strings.ToLower(word)) || c.ArgumentValues == nil {
			continue
		}
		before, part := "", strings.TrimLeft(argument, " ")
		typed := line[:len(line)-len(part)] // with all its spaces
		if at := strings.LastIndexByte(part, ','); c.IsList && at >= 0 {
			before, part = part[:at+1], part[at+1:]
		}
		taken := strings.Split(strings.TrimSuffix(before, ","), ",")
		for value := range c.ArgumentValues {
			if hasPrefix(value, part) && !slices.Contains(taken, value) && !offer(typed+before+value) {
				break
			}
		}
	}
	return found
}

func hasPrefix(text, prefix string) bool {
	return strings.HasPrefix(strings.ToLower(text), strings.ToLower(prefix))
}
