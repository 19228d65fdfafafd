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
	// Name is what is typed, and Also are other names for it.
	Name     string
	Also     []string
	Argument string // its name in help, in brackets if optional; empty for none
	What     string // says in a few words what the command does
	// Values complete the argument; with List it is several, with commas between.
	Values iter.Seq[string]
	List   bool
	Do     func(argument string) (tea.Cmd, error) // acts. Its error is for the user: why nothing was done
}

// Usage is the command as it is typed, with its argument.
func (c *Command) Usage() string { return strings.TrimSpace(":" + c.Name + " " + c.Argument) }

func (c *Command) called(name string) bool { return c.Name == name || slices.Contains(c.Also, name) }

func (c *Command) needsArgument() bool {
	return c.Argument != "" && !strings.HasPrefix(c.Argument, "[")
}

// Run acts on a typed line. The error is for the user.
func Run(commands []Command, line string) (tea.Cmd, error) {
	name, argument := split(line)
	if name == "" {
		return nil, nil
	}
	c, err := named(commands, name)
	switch {
	case err != nil:
		return nil, err
	case argument != "" && c.Argument == "":
		return nil, fmt.Errorf(":%s takes no argument", c.Name)
	case argument == "" && c.needsArgument():
		return nil, fmt.Errorf("type %s: %s", c.Usage(), c.What)
	}
	return c.Do(argument)
}

// split takes a typed line apart into a command's name and its argument.
func split(line string) (name, argument string) {
	name, argument, _ = strings.Cut(strings.TrimSpace(strings.TrimLeft(line, ": ")), " ")
	return strings.ToLower(name), strings.TrimSpace(argument)
}

// named is the command of a name, or the only one whose name begins with it.
func named(commands []Command, name string) (*Command, error) {
	var like []string
	var only *Command
	for i := range commands {
		c := &commands[i]
		if c.called(name) {
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
		like = near(commands, name)
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

// near are the commands with a name much like a misspelt one.
func near(commands []Command, name string) []string {
	names := &cobra.Command{SuggestionsMinimumDistance: 2}
	for i := range commands {
		names.AddCommand(
			&cobra.Command{Use: commands[i].Name, Aliases: commands[i].Also, Run: func(*cobra.Command, []string) {}},
		)
	}
	like := names.SuggestionsFor(name)
	for i := range like {
		like[i] = ":" + like[i]
	}
	return like
}

const most = 50

// completions are whole lines that a line can become.
func completions(commands []Command, line string) []string {
	var found []string
	offer := func(text string) bool {
		found = append(found, text)
		return len(found) < most
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
		if !second || !c.called(strings.ToLower(word)) || c.Values == nil {
			continue
		}
		before, part := "", strings.TrimLeft(argument, " ")
		typed := line[:len(line)-len(part)] // with all its spaces
		if at := strings.LastIndexByte(part, ','); c.List && at >= 0 {
			before, part = part[:at+1], part[at+1:]
		}
		taken := strings.Split(strings.TrimSuffix(before, ","), ",")
		for value := range c.Values {
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
