package cmd

import (
	"github.com/spf13/cobra"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/restore/restorespec"
)

func newSchedule(c *cli) *cobra.Command {
	cmd := group("schedule", "Pause schedules, and let them go on", "veltui schedule pause nightly")
	cmd.AddCommand(
		newPause(
			c,
			action.Pause,
			"Let a schedule make no more backups",
			`Let a schedule make no more backups until it is unpaused. Backups that it has
made run on, and expire as before.`,
		),
		newPause(
			c,
			action.Unpause,
			"Let a paused schedule go on",
			`Let a paused schedule go on. If a run was missed meanwhile, Velero starts one at
once; --skip-immediately leaves it out. The plan says which.`,
		),
	)
	return cmd
}

// group is a command that only holds others.
func group(name, short, example string) *cobra.Command {
	return &cobra.Command{
		Use:     name,
		Short:   short,
		Long:    short + ".",
		Example: "  " + example,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 { // as Velero's own command has it
				return usagef(
					"unknown command %q for %q (did you mean get %s?)\nSee '%s --help'.",
					args[0],
					cmd.CommandPath(),
					name,
					cmd.CommandPath(),
				)
			}
			return usagef("expected a command\nSee '%s --help'.", cmd.CommandPath())
		},
	}
}

const writes = `

veltui shows the plan and asks you to type the name, as 'veltui finalize' does.`

func newPause(c *cli, name action.Name, short, long string) *cobra.Command {
	w := writing{c: c}
	cmd := &cobra.Command{
		Use:   string(name) + " NAME",
		Short: short,
		Long: long + writes + `

Exit codes: those of 'veltui finalize'.`,
		Example: "  # Show evidence and plan, then ask\n  veltui schedule " + string(name) + " nightly\n\n" +
			"  # In a script, with a reason\n  veltui schedule " + string(name) + ` nightly --yes --reason "INC-4711"`,
		Args: oneName("a schedule"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return w.change(cmd.Context(), name, action.Named("Schedule", args[0]))
		},
	}
	w.addTo(cmd, "none, or server: have the API server check the patch, and write nothing", "none", "server")
	if name == action.Unpause {
		cmd.Flags().BoolVar(&w.request.SkipImmediately, "skip-immediately", false, "Leave out a run that is due by now")
	}
	cmd.ValidArgsFunction = c.completeJobs("Schedule")
	return cmd
}

// chosenName is the one name that was given, else the default.
func chosenName(args []string, byDefault string) (string, error) {
	name := append(args, byDefault)[0]
	if len(args) > 1 {
		return "", usagef("expected at most one name, got %q", args)
	} else if err := restorespec.CheckName(name); err != nil {
		return "", usagef("%q: %v", name, err)
	}
	return name, nil
}

func oneName(of string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 || args[0] == "" {
			return usagef("expected the name of %s\nSee '%s --help'.", of, cmd.CommandPath())
		}
		return nil
	}
}

func atMostOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return usagef("expected at most one %s, got %q\nSee '%s --help'.", what, args, cmd.CommandPath())
		}
		return nil
	}
}
