package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/veltui/veltui/demo"
)

type demoFlags struct {
	dashboardFlags
	headless bool
	scene    string
	speed    float64
}

func newDemo(c *cli) *cobra.Command {
	var f demoFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "The dashboard with no cluster, on recordings of a real Velero",
		Long: `demo serves a cluster in memory and shows the dashboard on it. Nothing is
installed or downloaded, nothing leaves this machine, and nothing is left behind.

Restores move as a real Velero's did. One restore is stuck because its last
patch was lost: select crm-rollback and press f to finalize it.

With --scene it shows one situation from a file instead; the format is described
in docs/demo.md.`,
		Example: `  # The dashboard
  veltui demo

  # Only the cluster; use it from another terminal with --kubeconfig
  veltui demo --headless

  # One situation
  veltui demo --scene stuck.yaml

  # What was recorded, ten times as fast
  veltui demo replay recordings/ --speed 10`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.demo(cmd, f, nil)
		},
	}
	flags := cmd.PersistentFlags()
	f.register(flags)
	flags.BoolVar(&f.headless, "headless", false, "Show no dashboard: print the path of a kubeconfig and serve until a signal comes")
	flags.Float64Var(&f.speed, "speed", 1, "How many times as fast recordings are played, 0.1 to 1000")
	cmd.Flags().StringVar(&f.scene, "scene", "", "File with one situation to show")
	cmd.AddCommand(&cobra.Command{
		Use:   "replay DIR",
		Short: "Play recordings: every watch.jsonl in a tree of folders",
		Long: `replay plays all recordings below a folder, side by side and once, with their own
timing. A recording is a file watch.jsonl, or watch.jsonl.gz, with a line for
each event of a watch: {"t":SECONDS,"type":"ADDED","object":{...}}.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("replay takes one folder\nSee '%s --help'.", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.demo(cmd, f, os.DirFS(args[0]))
		},
	})
	return cmd
}

// demo serves the demo's cluster, and shows the dashboard on it.
func (c *cli) demo(cmd *cobra.Command, f demoFlags, recordings fs.FS) (err error) {
	if err := f.check(cmd); err != nil {
		return err
	}
	o := demo.Options{Recordings: recordings, Speed: f.speed, Clock: c.clock}
	if f.scene != "" {
		file, err := os.Open(f.scene)
		if err != nil {
			return usagef("--scene: %w", err)
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
		return c.serveDemo(cmd.Context(), d)
	}
	c.lead(d)
	return c.dashboard(cmd.Context(), f.dashboardFlags)
}

// check refuses flags that the demo cannot heed.
func (f demoFlags) check(cmd *cobra.Command) error {
	if f.speed < 0.1 || f.speed > 1000 {
		return usagef("--speed %g: must be from 0.1 to 1000", f.speed)
	}
	cluster := pflag.NewFlagSet("", pflag.ContinueOnError)
	genericclioptions.NewConfigFlags(false).AddFlags(cluster)
	given := ""
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if cluster.Lookup(flag.Name) != nil || flag.Name == "kubecontext" {
			given = flag.Name
		}
	})
	if given != "" {
		return usagef("--%s: the demo has a cluster of its own and takes no flags that lead to another", given)
	}
	return f.dashboardFlags.check(cmd)
}

// serveDemo names the kubeconfig and waits for a signal.
func (c *cli) serveDemo(ctx context.Context, d *demo.Demo) error {
	if _, err := fmt.Fprintln(c.streams.Out, d.Kubeconfig); err != nil {
		return fmt.Errorf("naming the kubeconfig: %w", err)
	}
	fmt.Fprintln(c.streams.ErrOut, "Serving until a signal comes; ctrl+c ends it.")
	<-ctx.Done()
	return nil
}

// lead has the dashboard find the demo's cluster and no other. What it keeps
// goes with the demo's folder.
func (c *cli) lead(d *demo.Demo) {
	c.flags = genericclioptions.NewConfigFlags(false)
	c.flags.KubeConfig = &d.Kubeconfig
	env := c.env
	c.env = func(name string) string {
		switch name {
		case "XDG_STATE_HOME", "XDG_CACHE_HOME":
			return filepath.Join(d.Dir, "state")
		case "VELERO_NAMESPACE":
			return ""
		}
		return env(name)
	}
}
