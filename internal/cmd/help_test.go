package cmd

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// called runs a command that needs no cluster.
func called(t *testing.T, name string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	c := newCLI(nil, nil, nil)
	var out, errs bytes.Buffer
	c.stdio.streams.Out, c.stdio.streams.ErrOut = &out, &errs
	code = c.runCommand(t.Context(), append([]string{name}, args...))
	return out.String(), errs.String(), code
}

// everyCommand calls f with each command that a person can call.
func everyCommand(cmd *cobra.Command, f func(*cobra.Command)) {
	f(cmd)
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			everyCommand(sub, f)
		}
	}
}

// argsOf are arguments that a command takes: a job's name, or the first of its words.
func argsOf(cmd *cobra.Command, restore string) []string {
	switch {
	case strings.Contains(cmd.Use, "KIND/NAME"), strings.Contains(cmd.Use, "restore/NAME"):
		return []string{"restore/" + restore}
	case len(cmd.ValidArgs) > 0:
		return cmd.ValidArgs[:1]
	}
	return nil
}

// The table that help, the manual page and docs/commands.md have lists each exit code.
func TestTableOfExitCodes(t *testing.T) {
	var listed []string
	for _, m := range regexp.MustCompile(`(?m)^  (\d+) `).FindAllStringSubmatch(ExitCodesHelp, -1) {
		listed = append(listed, m[1])
	}
	var want []string
	for _, code := range []int{ExitOK, ExitError, ExitUsage, ExitPartiallyFailed, ExitFailed, ExitTimeout, ExitRefused, ExitInterrupted} {
		want = append(want, strconv.Itoa(code))
	}
	if !slices.Equal(listed, want) {
		t.Errorf("the table has %q, want %q", listed, want)
	}
}

// Every command with -o refuses a format that it does not have, and names those that it
// has, before it asks a cluster.
func TestEveryCommandChecksItsFormat(t *testing.T) {
	everyCommand(Root(), func(cmd *cobra.Command) {
		f := cmd.Flags().Lookup("output")
		if f == nil {
			return
		}
		args := slices.Concat(
			strings.Fields(cmd.CommandPath())[1:],
			argsOf(cmd, "x"),
			[]string{"-o", "xml", "--kubeconfig", "/nowhere"},
		)
		_, stderr, code := called(t, "veltui", args...)
		if code != ExitUsage || !strings.Contains(stderr, "-o xml: expected ") {
			t.Errorf("%q: exit code %d, %q", args, code, stderr)
		}
		for _, format := range f.Value.(choiceFlag).choices {
			if !strings.Contains(stderr, format) {
				t.Errorf("%q does not name %s: %q", args, format, stderr)
			}
		}
	})
}

// Every command has examples that begin with what is typed, and lists its own flags
// only.
func TestHelpOfEveryCommand(t *testing.T) {
	everyCommand(newRootCommand(newCLI(nil, nil, nil), "veltui"), func(cmd *cobra.Command) {
		if cmd.HasParent() && cmd.Parent().Name() == "completion" {
			return // cobra's, with its own way to say so
		}
		path := cmd.CommandPath()
		if !strings.Contains(cmd.Example, path) {
			t.Errorf("%s has no example:\n%s", path, cmd.Example)
		}
		stdout, stderr, code := called(t, "veltui", append(strings.Fields(path)[1:], "--help")...)
		if code != ExitOK || stderr != "" ||
			!strings.Contains(stdout, `Use "veltui options" for the flags that all commands take.`) ||
			strings.Contains(stdout, "--kubeconfig string") ||
			strings.Contains(stdout, "--as-group") {
			t.Errorf("%s --help: exit code %d, %s%s", path, code, stdout, stderr)
		}
	})
}

func TestOptionsListTheFlagsOfAllCommands(t *testing.T) {
	stdout, stderr, code := called(t, "veltui", "options")
	if code != ExitOK || stderr != "" ||
		!holdsAll(stdout, "--kubeconfig", "--as-group", "--read-only", "-n, --namespace", "  6    ", "  130  ") ||
		strings.Contains(stdout, "--fps") {
		t.Errorf("exit code %d, %s%s", code, stdout, stderr)
	}
}

func TestTypingErrorsSuggestWhatWasMeant(t *testing.T) {
	for typed, want := range map[string]string{
		"gte":                    `unknown command "gte" (did you mean get?)`,
		"exlpain restore/x":      "(did you mean explain?)",
		"list":                   "(did you mean get?)",
		"restores":               "(did you mean get restores?)",
		"backup describe x":      "(did you mean get backup?)",
		"rst/crm":                "(did you mean explain rst/crm?)",
		"xyzzy":                  "unknown command \"xyzzy\"\nSee 'veltui --help'.",
		"get --contxt a":         "unknown flag: --contxt (did you mean --context?)\nSee 'veltui get --help'.",
		"get --sort-yb age":      "(did you mean --sort-by?)",
		"--themee dark":          "(did you mean --theme?)",
		"get --xyzzy":            "unknown flag: --xyzzy\nSee",
		"get -o jsn":             "(did you mean json?)",
		"get -o yml":             "(did you mean yaml?)",
		"etcd -o wid":            "(did you mean wide?)",
		"get restroes":           "did you mean restores?",
		"--theme drak":           "(did you mean dark?)",
		"get --sort-by {":        "expected a column",
		"get --sort-by age:desc": "--sort-by age --no-headers | tac",
		"get --sort-by=-age":     "--sort-by age --no-headers | tac",
		"wait -A":                "in its own namespace, so leave it out",
		"wait --all-namespaces":  "in its own namespace, so leave it out",
		"help foo":               `unknown command "foo"`,
		"help exlpain":           "did you mean explain?",
		"help demo foo":          `unknown command "foo"`,
		"completion foo":         `unknown command "foo"`,
		"completion bahs":        "did you mean bash?",
	} {
		_, stderr, code := called(t, "veltui", strings.Fields(typed)...)
		if code != ExitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d, %q; want %q", typed, code, stderr, want)
		}
	}
}

// As a plugin of kubectl veltui calls itself as it was called.
func TestPluginNamesItselfAsItWasCalled(t *testing.T) {
	everyCommand(newRootCommand(newCLI(nil, nil, nil), "kubectl veltui"), func(cmd *cobra.Command) {
		if cmd.HasParent() && cmd.Parent().Name() == "completion" {
			return
		}
		for line := range strings.Lines(cmd.Example) {
			if text := strings.TrimSpace(
				line,
			); strings.Contains(text, "veltui ") && !strings.HasPrefix(text, "#") &&
				!strings.Contains(text, "kubectl veltui") {
				t.Errorf("%s: %q", cmd.CommandPath(), line)
			}
		}
		if !strings.HasPrefix(cmd.CommandPath(), "kubectl veltui") {
			t.Errorf("it is called %q", cmd.CommandPath())
		}
	})
	for path, want := range map[string]string{"/x/kubectl-veltui": "kubectl veltui get", "oc-veltui": "oc veltui get", "/usr/bin/veltui": "  veltui get"} {
		if stdout, _, _ := called(t, path, "get", "--help"); !strings.Contains(stdout, want) {
			t.Errorf("%s: %s", path, stdout)
		}
	}
}
