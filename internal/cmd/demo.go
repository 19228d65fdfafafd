package cmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/veltui/veltui/internal/demo"
	"github.com/veltui/veltui/internal/session"
	"github.com/veltui/veltui/ui/guide"
)

type demoDashboardCommand struct {
	dashboardCommand
	headless, noGuide bool
	scene             string
	speed             float64
}

var demoGuide = guide.Guide{
	Title:   "Demo",
	JobName: "crm-rollback",
	FindHint: "each row is a backup or a restore, live, with its stage, its bar and when it may end. Select " +
		"crm-rollback, which is stuck.",
	OpenHint: "each row is a backup or a restore, live. Some run, some wait in the queue, and crm-rollback is " +
		"stuck. Press <open> to see why.",
	ActHint: "the verdict says what keeps it, and the lines below it are the evidence. Press <finalize> to end it.",
	ConfirmHint: "nothing has changed yet. Read what the plan will do and what it will not, press enter, type " +
		"demo/crm-rollback, and press enter again.",
	DoneHint: "Velero has completed crm-rollback. Press esc until you are back at the list; <help> names all keys " +
		"there, and <quit> quits.",
}

func newDemoCommand(c *cli) *cobra.Command {
	f := demoDashboardCommand{dashboardCommand: dashboardCommand{cli: c}}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show the dashboard without a cluster, on recordings of a real Velero",
		Long: `demo runs a cluster in memory and shows the dashboard on it. It installs and
downloads nothing, sends nothing off this machine, and leaves nothing behind.

The restores are recordings of a real Velero. One of them is stuck because its
last patch was lost: hints above the keys lead you through finalizing it in
about a minute.

With --scene, it shows one scene from a file instead; docs/demo.md describes the
format.`,
		Example: `  # The dashboard
  veltui demo

  # Only the cluster, for veltui or kubectl in another terminal
  veltui demo --headless

  # One scene
  veltui demo --scene stuck.yaml

  # Your own recordings, ten times as fast
  veltui demo replay recordings/ --speed 10`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.runDemo(cmd, nil) },
	}
	flags := cmd.PersistentFlags()
	f.addDashboardFlags(cmd, flags)
	flags.BoolVar(
		&f.headless,
		"headless",
		false,
		"Show no dashboard: print the path of a kubeconfig and serve until interrupted",
	)
	flags.Float64Var(&f.speed, "speed", 1, "Speed of the recordings, 0.1 to 1000 times the original")
	cmd.Flags().BoolVar(&f.noGuide, "no-guide", false, "Show no hints of what to press; x hides them too")
	cmd.Flags().StringVar(&f.scene, "scene", "", "File with one scene to show")
	completeFiles(cmd, "scene")
	cmd.AddCommand(&cobra.Command{
		Use:   "replay DIR",
		Short: "Play recordings from a folder",
		Long: `replay plays all recordings in a folder and its subfolders once, side by side,
with their own timing. A recording is a file named watch.jsonl or watch.jsonl.gz.
Each line is one event of a watch: {"t":SECONDS,"type":"ADDED","object":{...}}.`,
		Example: `  # Play a folder at ten times the speed
  veltui demo replay recordings/ --speed 10

  # Serve it to kubectl in another terminal
  veltui demo replay recordings/ --headless`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageErrorf("replay takes exactly one folder\nSee '%s --help'.", cmd.CommandPath())
			}
			return nil
		},
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
		RunE:              func(cmd *cobra.Command, args []string) error { return f.runDemo(cmd, os.DirFS(args[0])) },
	})
	return cmd
}

func (f *demoDashboardCommand) runDemo(cmd *cobra.Command, recordings fs.FS) (err error) {
	if err := f.checkUsage(cmd); err != nil {
		return err
	}
	o := demo.Options{Recordings: recordings, Speed: f.speed, Clock: f.cli.process.clock}
	if f.scene != "" {
		file, err := os.Open(f.scene)
		if err != nil {
			return usageErrorf("--scene: %w", err)
		}
		defer func() { _ = file.Close() }()
		o.Scene = io.Reader(file)
	}
	d, err := demo.Start(o)
	if err != nil {
		return fmt.Errorf("starting the demo: %w", err)
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if f.headless {
		if _, err := fmt.Fprintln(f.cli.stdio.streams.Out, d.Kubeconfig); err != nil {
			return err
		}
		fmt.Fprintln(f.cli.stdio.streams.ErrOut, "Serving. Press ctrl+c to stop.")
		<-cmd.Context().Done()
		return nil
	}
	f.useDemoCluster(d)
	if o.Scene == nil && o.Recordings == nil && !f.noGuide {
		f.guide = &demoGuide
	}
	return f.dashboardCommand.runDashboard(cmd.Context())
}

func (f *demoDashboardCommand) checkUsage(cmd *cobra.Command) error {
	if f.speed < 0.1 || f.speed > 1000 {
		return usageErrorf("--speed %g: must be from 0.1 to 1000", f.speed)
	}
	cluster := session.NewFlags().FlagSet
	given := ""
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if cluster.Lookup(flag.Name) != nil || flag.Name == "kubecontext" {
			given = flag.Name
		}
	})
	if given != "" {
		return usageErrorf("--%s: the demo runs its own cluster and cannot use another one", given)
	}
	return f.dashboardCommand.checkUsage(cmd)
}

// useDemoCluster restricts the dashboard to the demo's cluster, and its files to the demo's folder.
func (f *demoDashboardCommand) useDemoCluster(d *demo.Demo) {
	f.cli.connector.flags = session.NewFlags()
	f.cli.connector.flags.Kubeconfig = d.Kubeconfig
	env := f.cli.process.getenv
	f.cli.process.getenv = func(name string) string {
		switch name {
		case "XDG_STATE_HOME", "XDG_CACHE_HOME":
			return filepath.Join(d.Dir, "state")
		case "VELERO_NAMESPACE":
			return ""
		}
		return env(name)
	}
}
