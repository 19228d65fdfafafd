package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // credential plugins that need code of their own

	"github.com/veltui/veltui/ui"
)

// Main runs veltui and returns its exit code. A signal ends it in order; another one, or
// exitTimeout, ends it at once. The terminal is restored in any case.
func Main(args []string, stdin, stdout, stderr *os.File) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	c := newCLI(stdin, stdout, stderr)
	if completes(args) {
		c.silence()
	}
	defer c.filterStderr()()
	signals := notify(c.screen, stderr, cancel)
	code := c.run(ctx, args)
	signals.dump()
	return code
}

func (c *cli) run(ctx context.Context, args []string) int {
	ctx, c.cancel = context.WithCancelCause(ctx)
	defer c.cancel(nil)
	root := newRoot(c, programName(args[0]))
	root.SetArgs(args[1:])
	ran, err := root.ExecuteContextC(ctx)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause // whatever failed then, failed because it was told to end
	} else {
		err = c.nagiosError(ran, args, c.pinned.explain(err))
	}
	return exitCode(err, c.streams.ErrOut)
}

// programName is kubectl veltui for a plugin of kubectl, or of oc.
func programName(path string) string {
	name := strings.TrimSuffix(filepath.Base(path), ".exe")
	for _, host := range []string{"kubectl", "oc"} {
		if strings.HasPrefix(name, host+"-") {
			return host + " veltui"
		}
	}
	return "veltui"
}

type process struct {
	env   func(string) string
	clock func() time.Time
}

type cli struct {
	*process
	stdio
	connector
	*settings
	files
	plainHTTP *plainHTTP
	caFile    string                  // of the object store
	cancel    context.CancelCauseFunc // ends the run with a cause
}

func newCLI(stdin, stdout, stderr *os.File) *cli {
	p := &process{env: os.Getenv, clock: time.Now}
	return &cli{
		process:   p,
		stdio:     newStdio(p, stdin, stdout, stderr),
		connector: newConnector(p),
		settings:  &settings{process: p},
		files:     files{process: p},
		plainHTTP: &plainHTTP{process: p},
	}
}

func (c *cli) forContext(context, namespace string) *cli {
	other := *c
	other.connector = *c.withContext(context, namespace)
	return &other
}

// Root is the root command for documents and tests; it cannot be run.
func Root() *cobra.Command {
	root := newRoot(newCLI(os.Stdin, os.Stdout, os.Stderr), "veltui")
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	return root
}

func newRoot(c *cli, name string) *cobra.Command {
	root := newDashboard(c)
	root.Use = strings.ReplaceAll(name, " ", "-") // scripts for completion are named by it
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: name}
	root.SetIn(c.streams.In)
	root.SetOut(c.streams.Out)
	root.SetErr(c.streams.ErrOut)
	root.SilenceErrors = true
	root.SilenceUsage = true
	root.SetFlagErrorFunc(wrongFlag)
	root.PersistentFlags().AddFlagSet(c.flags.Set)
	root.PersistentFlags().Lookup("context").Usage = "The kubeconfig context; the dashboard and get take several: " +
		"a,b or 'prod-*'"
	root.PersistentFlags().Lookup("namespace").Usage = "Velero's namespace (also VELERO_NAMESPACE; default: veltui " +
		"searches for it)"
	root.PersistentFlags().
		BoolVar(&c.allContexts, "all-contexts", false, "All contexts of the kubeconfig, in the dashboard and get")
	root.PersistentFlags().
		StringVar(&c.flags.CurrentContext, "kubecontext", "", "Same as --context, for users of the velero command")
	root.PersistentFlags().
		StringVar(&c.configFlag, "config", "", "Configuration file (also VELTUI_CONFIG); 'veltui config' prints what "+
			"is in force")
	completeFiles(root, append(fileFlags, "config")...)
	c.completeClusterFlags(root)
	root.PersistentPreRunE = c.preRun
	root.AddCommand(
		newConfig(c),
		newRBAC(c),
		newGet(c),
		newCheck(c),
		newExplain(c),
		newWait(c),
		newDescribe(c),
		newResults(c),
		newReport(c),
		newVerify(c),
		newLogs(c),
		newEtcd(c),
		newEstimate(c),
		newPreflight(c),
		newCoverage(c),
		newFinalize(c),
		newRestore(c),
		newBackup(c),
		newSchedule(c),
		newAudit(c),
		newDemo(c),
		newOptions(),
		newVersion(c),
	)
	addCompletionScripts(c, root)
	checkTopics(root)
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	root.SetHelpFunc(helpOf(root.HelpFunc()))
	calledAs(root, name)
	return root
}

const (
	ExitOK              = 0
	ExitError           = 1
	ExitUsage           = 2
	ExitPartiallyFailed = 3
	ExitFailed          = 4 // Failed or FailedValidation
	ExitTimeout         = 5
	ExitRefused         = 6 // stuck, or refused
	ExitInterrupted     = 130
)

func usagef(format string, args ...any) error {
	return exitError{ExitUsage, fmt.Errorf(format, args...)}
}

// exitError asks for an exit code. Without an error inside, everything was printed.
type exitError struct {
	code int
	error
}

// exitWith is nil for [ExitOK].
func exitWith(code int) error {
	if code == ExitOK {
		return nil
	}
	return exitError{code, nil}
}

func (e exitError) Unwrap() error { return e.error }

func (e exitError) Error() string {
	if e.error == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.error.Error()
}

type signalError struct{ signal os.Signal }

func (e signalError) Error() string { return e.signal.String() }

// exitCode prints an error and returns its exit code: 128 and the signal's number after a signal.
func exitCode(err error, stderr io.Writer) int {
	var signal signalError
	var coded exitError
	var printing printError
	switch {
	case err == nil:
		return ExitOK
	case errors.Is(err, ui.ErrInterrupted):
		return ExitInterrupted
	case errors.As(err, &signal):
		if number, ok := signal.signal.(syscall.Signal); ok {
			return 128 + int(number)
		}
		return ExitInterrupted
	case errors.Is(err, context.Canceled):
		return ExitInterrupted
	case errors.As(err, &coded):
		switch {
		case coded.error == nil:
		case coded.code == ExitUsage:
			fmt.Fprintln(stderr, "error:", err)
		default:
			printErrorLines(stderr, err)
		}
		return coded.code
	case errors.As(err, &printing) && errors.Is(err, syscall.EPIPE):
		return 128 + int(syscall.SIGPIPE) // as for others that feed head
	default:
		printErrorLines(stderr, err)
		return ExitError
	}
}

const maxErrorLines = 40

// printErrorLines prints an error that may hold words of others: cleaned, bounded, and with all
// lines but the first indented, so that none looks like ours.
func printErrorLines(stderr io.Writer, err error) {
	l := lines{w: stderr}
	for i, line := range strings.Split(err.Error(), "\n") {
		switch i {
		case 0:
			l.add("error: %s", line)
		case maxErrorLines:
			l.add("  ...")
			return
		default:
			l.add("  %s", line)
		}
	}
}

type printError struct{ error }

func (e printError) Error() string { return "printing: " + e.error.Error() }

func (e printError) Unwrap() error { return e.error }

const (
	// exitTimeout is how long the end may take: a terminal, a pipe or a plugin can block it for
	// ever. An interrupted finalize needs two seconds to find out what it has sent.
	exitTimeout  = 3500 * time.Millisecond
	minSignalGap = time.Second // between a second signal and those that the end of a session sends together
)

type signals struct {
	screen *screen
	stderr io.Writer
	cancel context.CancelCauseFunc
	coming chan os.Signal
	stacks atomic.Pointer[[]byte] // of all goroutines at SIGQUIT or SIGABRT
}

// notify has signals end the context; SIGQUIT and SIGABRT also dump the stacks at the end. A
// broken pipe ends nothing: what was sent must still be said. All signals stay handled until the
// process is gone, so that a late one does not change the exit code.
func notify(s *screen, stderr io.Writer, cancel context.CancelCauseFunc) *signals {
	n := &signals{screen: s, stderr: stderr, cancel: cancel, coming: make(chan os.Signal, 8)}
	signal.Notify(n.coming, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGABRT)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	go n.wait()
	return n
}

func (n *signals) wait() {
	first := <-n.coming
	if first == syscall.SIGQUIT || first == syscall.SIGABRT {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		n.stacks.Store(&stacks)
	}
	n.cancel(signalError{first})
	began := time.Now()
	for over := time.After(exitTimeout); ; {
		select {
		case <-n.coming:
			if time.Since(began) < minSignalGap {
				continue
			}
		case <-over:
		}
		n.screen.restore()
		dumped := make(chan struct{})
		go func() { defer close(dumped); n.dump() }()
		select {
		case <-dumped:
		case <-time.After(drawTimeout): // nobody reads standard error
		}
		os.Exit(exitCode(signalError{first}, n.stderr))
	}
}

func (n *signals) dump() {
	if stacks := n.stacks.Swap(nil); stacks != nil {
		_, _ = n.stderr.Write(*stacks)
	}
}
