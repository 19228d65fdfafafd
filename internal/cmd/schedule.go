package cmd

import (
	"github.com/spf13/cobra"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/restore/restorespec"
)

func newScheduleCommand(c *cli) *cobra.Command {
	cmd := newCommandGroup("schedule", "Pause schedules, and let them go on", "veltui schedule pause nightly")
	cmd.AddCommand(
		newPauseCommand(
			c,
			action.Pause,
			"Let a schedule make no more backups",
			`Let a schedule make no more backups until it is unpaused. Backups that it has
made run on, and expire as before.`,
		),
		newPauseCommand(
			c,
			action.Unpause,
			"Let a paused schedule go on",
			`Let a paused schedule go on. If a run was missed meanwhile, Velero starts one at
once; --skip-immediately leaves it out. The plan says which.`,
		),
	)
	return cmd
}

// newCommandGroup returns a command that only contains other commands.
func newCommandGroup(name, short, example string) *cobra.Command {
	return &cobra.Command{
		Use:     name,
		Short:   short,
		Long:    short + ".",
		Example: "  " + example,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 { // as in Velero's own command
				return usageErrorf(
					"unknown command %q for %q (did you mean get %s?)\nSee '%s --help'.",
					args[0],
					cmd.CommandPath(),
					name,
					cmd.CommandPath(),
				)
			}
			return usageErrorf("expected a command\nSee '%s --help'.", cmd.CommandPath())
		},
	}
}

const confirmationHelp = `

veltui shows the plan and asks you to confirm it: you type context and name, the context
alone if the change only adds something, or yes if the opposite command takes it back.`

func newPauseCommand(c *cli, name action.Kind, short, long string) *cobra.Command {
	w := writeCommand{cli: c}
	cmd := &cobra.Command{
		Use:   string(name) + " NAME",
		Short: short,
		Long: long + confirmationHelp + `

Exit codes: those of 'veltui finalize'.`,
		Example: "  # Show evidence and plan, then ask\n  veltui schedule " + string(name) + " nightly\n\n" +
			"  # In a script, with a reason\n  veltui schedule " + string(name) + ` nightly --yes --reason "INC-4711"`,
		Args: requireOneName("a schedule"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return w.changeObjects(cmd.Context(), name, action.NewNamedObject("Schedule", args[0]))
		},
	}
	w.addWriteFlags(cmd, "none, or server: have the API server check the patch, and write nothing", "none", "server")
	if name == action.Unpause {
		cmd.Flags().BoolVar(&w.request.SkipImmediately, "skip-immediately", false, "Leave out a run that is due by now")
	}
	cmd.ValidArgsFunction = c.completeJobNames("Schedule")
	return cmd
}

// chosenName returns the single given name, or else the default.
func chosenName(args []string, byDefault string) (string, error) {
	name := append(args, byDefault)[0]
	if len(args) > 1 {
		return "", usageErrorf("expected at most one name, got %q", args)
	} else if err := restorespec.CheckName(name); err != nil {
		return "", usageErrorf("%q: %v", name, err)
	}
	return name, nil
}

func requireOneName(of string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 || args[0] == "" {
			return usageErrorf("expected the name of %s\nSee '%s --help'.", of, cmd.CommandPath())
		}
		return nil
	}
}

func allowOneArg(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return usageErrorf("expected at most one %s, got %q\nSee '%s --help'.", what, args, cmd.CommandPath())
		}
		return nil
	}
}
