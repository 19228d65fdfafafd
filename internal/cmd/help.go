package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/veltui/veltui/internal/config"
)

// ExitCodesHelp also appears in the manual page and docs/commands.md.
const ExitCodesHelp = `Exit codes of all commands:
  0    done; the job, if one is asked about, completed or goes on
  1    an error, or not all could be looked at
  2    a mistake in the command line or the configuration
  3    the job ended PartiallyFailed, or check has warnings only
  4    the job ended Failed or FailedValidation
  5    timed out
  6    the job is stuck or orphaned, veltui refuses, something stands in the way of a
       restore, something did not come back, or check has a critical finding
  130  interrupted; any other signal: 128 and its number`

func newOptionsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "options",
		Short: "List the flags that all commands take, and the exit codes",
		Long: "List the flags that all commands take, and the exit codes.\n\nThe flags that lead to a cluster are " +
			"kubectl's own.",
		Example: `  # The flags that all commands take
  veltui options`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(
				cmd.OutOrStdout(),
				"These flags can be given to any command:\n\n%s\n%s\n",
				cmd.Root().PersistentFlags().FlagUsages(),
				ExitCodesHelp,
			)
			return err
		},
	}
}

// hideGlobalFlags hides the flags that all commands take, like kubectl.
func hideGlobalFlags(whole func(*cobra.Command, []string)) func(*cobra.Command, []string) {
	return func(cmd *cobra.Command, args []string) {
		var hidden []*pflag.Flag
		cmd.Root().PersistentFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				f.Hidden = true
				hidden = append(hidden, f)
			}
		})
		defer func() {
			for _, f := range hidden {
				f.Hidden = false // completion offers them
			}
		}()
		whole(cmd, args)
		fmt.Fprintf(
			cmd.OutOrStdout(),
			"\nUse \"%s options\" for the flags that all commands take.\n",
			cmd.Root().CommandPath(),
		)
	}
}

var programPattern = regexp.MustCompile(`(^|\s|\()veltui(\s|$)`)

// renameProgram replaces the program's name in examples and texts, for a kubectl plugin.
func renameProgram(cmd *cobra.Command, name string) {
	if name == "veltui" {
		return
	}
	cmd.Long = strings.ReplaceAll(cmd.Long, "'veltui ", "'"+name+" ")
	lines := strings.Split(cmd.Example, "\n")
	for i, line := range lines {
		if at := programPattern.FindStringIndex(line); at != nil && !strings.HasPrefix(strings.TrimSpace(line), "#") {
			lines[i] = line[:at[0]] + strings.Replace(line[at[0]:], "veltui", name, 1)
		}
	}
	cmd.Example = strings.Join(lines, "\n")
	for _, sub := range cmd.Commands() {
		renameProgram(sub, name)
	}
}

func flagUsageError(cmd *cobra.Command, err error) error {
	var complete exitError // from a choiceFlag
	if errors.As(err, &complete) {
		return complete
	}
	var none *pflag.NotExistError
	near := ""
	if errors.As(err, &none) && slices.Contains([]string{"A", "all-namespaces"}, none.GetSpecifiedName()) {
		near = ": Velero keeps all backups and restores in its own namespace, so leave it out (-n names another " +
			"Velero's namespace, --all-contexts asks all clusters)"
	}
	if errors.As(err, &none) && near == "" && len(none.GetSpecifiedName()) > 1 {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, "--"+f.Name)
			}
		})
		near = config.SuggestionText("--"+none.GetSpecifiedName(), names)
	}
	return usageErrorf("%w%s\nSee '%s --help'.", err, near, cmd.CommandPath())
}

// unknownCommandError suggests one of our commands, also for the word order of the velero command.
func unknownCommandError(cmd *cobra.Command, word string) error {
	near := ""
	kind, name, isJob := strings.Cut(word, "/")
	switch known := slices.Contains(jobKinds, findKind(kind)); {
	case known && isJob:
		near = fmt.Sprintf(" (did you mean explain %s/%s?)", kind, name)
	case known:
		near = fmt.Sprintf(" (did you mean get %s?)", kind)
	default:
		var names []string
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				names = append(names, sub.Name())
			}
			if slices.ContainsFunc(sub.SuggestFor, func(other string) bool { return strings.EqualFold(other, word) }) {
				near = fmt.Sprintf(" (did you mean %s?)", sub.Name())
			}
		}
		near = cmp.Or(near, config.SuggestionText(word, names))
	}
	return usageErrorf("unknown command %q%s\nSee '%s --help'.", word, near, cmd.CommandPath())
}

// refuseUnknownTopics makes help and completion reject names of unknown commands.
func refuseUnknownTopics(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	topic, _, _ := root.Find([]string{"help"})
	help := topic.Run
	topic.Run = nil
	topic.RunE = func(cmd *cobra.Command, args []string) error {
		about := root
		for _, word := range args {
			i := slices.IndexFunc(
				about.Commands(),
				func(sub *cobra.Command) bool { return sub.Name() == word || sub.HasAlias(word) },
			)
			if i < 0 {
				return unknownCommandError(about, word)
			}
			about = about.Commands()[i]
		}
		help(cmd, args)
		return nil
	}
	completion, _, _ := root.Find([]string{"completion"})
	completion.Args = cobra.ArbitraryArgs
	completion.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommandError(cmd, args[0])
		}
		return cmd.Help()
	}
}
