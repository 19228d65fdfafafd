package cmd

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // credential plugins that need code of their own
)

// lastGrace is how long an ended program may take to leave before it is made
// to: a terminal that nobody reads can block it for ever. A finalize that was
// interrupted needs two seconds to find out what it has sent, on a fast machine.
const lastGrace = 10 * time.Second

// Main runs veltui as a program and returns its exit code. SIGINT, SIGTERM and
// SIGHUP end it in order; a second one, or lastGrace, ends it at once.
func Main(args []string, stdin, stdout, stderr *os.File) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	go func() {
		first := <-signals
		cancel(signalError{first})
		select {
		case <-signals:
		case <-time.After(lastGrace):
		}
		os.Exit(exitCode(signalError{first}, stderr))
	}()
	return Run(ctx, args, stdin, stdout, stderr)
}

// Run runs veltui with the given arguments (args[0] is the program's name)
// until it is done or ctx ends, and returns the exit code.
func Run(ctx context.Context, args []string, stdin, stdout, stderr *os.File) int {
	root := newRoot(&cli{
		streams: genericiooptions.IOStreams{In: stdin, Out: stdout, ErrOut: stderr},
		stdin:   stdin, stdout: stdout,
		flags: genericclioptions.NewConfigFlags(false),
		env:   os.Getenv,
		clock: time.Now,
	}, programName(args[0]))
	root.SetArgs(args[1:])
	err := root.ExecuteContext(ctx)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause // whatever failed then, failed because it was told to end
	}
	return exitCode(err, stderr)
}

// programName is how the program was called: kubectl veltui if it is installed
// as a plugin of kubectl or oc.
func programName(path string) string {
	name := strings.TrimSuffix(filepath.Base(path), ".exe")
	for _, host := range []string{"kubectl", "oc"} {
		if strings.HasPrefix(name, host+"-") {
			return host + " veltui"
		}
	}
	return "veltui"
}

// cli is what all commands share.
type cli struct {
	streams       genericiooptions.IOStreams
	stdin, stdout *os.File
	flags         *genericclioptions.ConfigFlags
	env           func(string) string
	clock         func() time.Time
	// readOnly is --read-only.
	readOnly bool
	// warnings are those of the API server.
	warnings warnings
}

func newRoot(c *cli, name string) *cobra.Command {
	root := newDashboard(c)
	root.Use = name
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: name}
	root.SetIn(c.streams.In)
	root.SetOut(c.streams.Out)
	root.SetErr(c.streams.ErrOut)
	root.SilenceErrors = true
	root.SilenceUsage = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w\nSee '%s --help'.", err, cmd.CommandPath())
	})
	c.flags.AddFlags(root.PersistentFlags())
	root.PersistentFlags().StringVar(c.flags.Context, "kubecontext", "", "The same as --context, as the velero command calls it")
	root.AddCommand(newGet(c), newExplain(c), newEstimate(c), newFinalize(c), newDemo(c), newVersion(c))
	return root
}
