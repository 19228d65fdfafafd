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
	_ "k8s.io/client-go/plugin/pkg/client/auth" // credential plugins that are compiled in

	"github.com/veltui/veltui/ui"
)

// Main runs veltui and returns its exit code. A signal ends the program in order; a second signal, or exitTimeout,
// ends it at once. The terminal is restored in any case.
func Main(args []string, stdin, stdout, stderr *os.File) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	c := newCLI(stdin, stdout, stderr)
	if isCompletionRequest(args) {
		c.stdio.discardMessages()
	}
	defer c.stdio.sanitizeStderr()()
	signals := watchSignals(c.stdio.screen, stderr, cancel)
	code := c.runCommand(ctx, args)
	signals.dumpStacks()
	return code
}

func (c *cli) runCommand(ctx context.Context, args []string) int {
	ctx, c.cancel = context.WithCancelCause(ctx)
	defer c.cancel(nil)
	root := newRootCommand(c, programName(args[0]))
	root.SetArgs(args[1:])
	ran, err := root.ExecuteContextC(ctx)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause // errors after a cancellation are caused by it
	} else {
		err = c.stdio.nagiosError(ran, args, c.connector.pinned.explainError(err))
	}
	return reportExitError(err, c.stdio.streams.ErrOut)
}

// programName returns "kubectl veltui" for a plugin of kubectl, and "oc veltui" for one of oc.
func programName(path string) string {
	name := strings.TrimSuffix(filepath.Base(path), ".exe")
	for _, host := range []string{"kubectl", "oc"} {
		if strings.HasPrefix(name, host+"-") {
			return host + " veltui"
		}
	}
	return "veltui"
}

// processEnv is what the program was started with.
type processEnv struct {
	getenv func(string) string
	clock  func() time.Time
}

// cli is what the commands share. Each part owns its state and its methods; a cli for another context shares the parts
// that it does not replace.
type cli struct {
	process     *processEnv
	stdio       *stdio
	connector   *connector
	settings    *settings
	files       *localFiles
	plainHTTP   *plainHTTPPolicy
	storeCAFile string                  // of the object store
	cancel      context.CancelCauseFunc // ends the run with a cause
}

func newCLI(stdin, stdout, stderr *os.File) *cli {
	p := &processEnv{getenv: os.Getenv, clock: time.Now}
	return &cli{
		process:   p,
		stdio:     newStdio(p, stdin, stdout, stderr),
		connector: newConnector(p),
		settings:  &settings{process: p},
		files:     &localFiles{process: p},
		plainHTTP: &plainHTTPPolicy{process: p},
	}
}

// forContext returns a cli for another context and, unless it is empty, another namespace.
func (c *cli) forContext(context, namespace string) *cli {
	return c.withParts(c.stdio, c.connector.withContext(context, namespace))
}

// withoutMessages returns a cli that discards its messages.
func (c *cli) withoutMessages() *cli {
	return c.withParts(c.stdio.withoutMessages(), c.connector)
}

// withParts returns a cli with another terminal and another connector. The rest is shared.
func (c *cli) withParts(s *stdio, n *connector) *cli {
	return &cli{
		process:     c.process,
		stdio:       s,
		connector:   n,
		settings:    c.settings,
		files:       c.files,
		plainHTTP:   c.plainHTTP,
		storeCAFile: c.storeCAFile,
		cancel:      c.cancel,
	}
}

// Root returns the root command for documents and tests; it cannot be run.
func Root() *cobra.Command {
	root := newRootCommand(newCLI(os.Stdin, os.Stdout, os.Stderr), "veltui")
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	return root
}

func newRootCommand(c *cli, name string) *cobra.Command {
	root := newDashboardCommand(c)
	root.Use = strings.ReplaceAll(name, " ", "-") // completion scripts are named after it
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: name}
	root.SetIn(c.stdio.streams.In)
	root.SetOut(c.stdio.streams.Out)
	root.SetErr(c.stdio.streams.ErrOut)
	root.SilenceErrors = true
	root.SilenceUsage = true
	root.SetFlagErrorFunc(flagUsageError)
	root.PersistentFlags().AddFlagSet(c.connector.flags.FlagSet)
	root.PersistentFlags().Lookup("context").Usage = "The kubeconfig context; the dashboard and get take several: " +
		"a,b or 'prod-*'"
	root.PersistentFlags().Lookup("namespace").Usage = "Velero's namespace (also VELERO_NAMESPACE; default: veltui " +
		"searches for it)"
	root.PersistentFlags().
		BoolVar(&c.connector.allContexts, "all-contexts", false, "All contexts of the kubeconfig, in the dashboard and get")
	root.PersistentFlags().
		StringVar(&c.connector.flags.CurrentContext, "kubecontext", "", "Same as --context, for users of the velero command")
	root.PersistentFlags().
		StringVar(&c.settings.configFlag, "config", "", "Configuration file (also VELTUI_CONFIG); 'veltui config' prints "+
			"what is in force")
	completeFiles(root, append(pathFlags, "config")...)
	c.completeClusterFlags(root)
	root.PersistentPreRunE = c.settings.preRun
	root.AddCommand(
		newConfigCommand(c),
		newRBACCommand(c),
		newGetCommand(c),
		newCheckCommand(c),
		newExplainCommand(c),
		newWaitCommand(c),
		newDescribeCommand(c),
		newResultsCommand(c),
		newReportCommand(c),
		newVerifyCommand(c),
		newLogsCommand(c),
		newEtcdCommand(c),
		newEstimateCommand(c),
		newPreflightCommand(c),
		newCoverageCommand(c),
		newFinalizeCommand(c),
		newRestoreCommand(c),
		newBackupCommand(c),
		newScheduleCommand(c),
		newAuditCommand(c),
		newDemoCommand(c),
		newOptionsCommand(),
		newVersionCommand(c),
	)
	addCompletionScripts(c, root)
	refuseUnknownTopics(root)
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	root.SetHelpFunc(hideGlobalFlags(root.HelpFunc()))
	renameProgram(root, name)
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

func usageErrorf(format string, args ...any) error {
	return exitError{ExitUsage, fmt.Errorf(format, args...)}
}

// exitError asks for an exit code. Without an inner error, everything was already printed.
type exitError struct {
	code int
	error
}

// newExitError returns an [exitError], or nil for [ExitOK].
func newExitError(code int) error {
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

// reportExitError prints an error and returns its exit code; for a signal, 128 plus its number.
func reportExitError(err error, stderr io.Writer) int {
	var signal signalError
	var coded exitError
	var printing outputError
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
		return 128 + int(syscall.SIGPIPE) // like other programs that write to head
	default:
		printErrorLines(stderr, err)
		return ExitError
	}
}

const maxErrorLines = 40

// printErrorLines prints an error that may contain foreign text: sanitized, limited, and with all lines but the first
// indented, so that none looks like ours.
func printErrorLines(stderr io.Writer, err error) {
	l := newLinePrinter(stderr)
	for i, line := range strings.Split(err.Error(), "\n") {
		switch i {
		case 0:
			l.Line("error: %s", line)
		case maxErrorLines:
			l.Line("  ...")
			return
		default:
			l.Line("  %s", line)
		}
	}
}

type outputError struct{ error }

func (e outputError) Error() string { return "printing: " + e.error.Error() }

func (e outputError) Unwrap() error { return e.error }

const (
	// exitTimeout limits how long the exit may take, because a terminal, a pipe or a plugin can block it forever. An
	// interrupted finalize needs two seconds to find out what it has sent.
	exitTimeout  = 3500 * time.Millisecond
	minSignalGap = time.Second // tells a second signal from those that the end of a session sends together
)

type signalWatcher struct {
	screen   *terminalScreen
	stderr   io.Writer
	cancel   context.CancelCauseFunc
	received chan os.Signal
	exit     func(code int)
	stacks   atomic.Pointer[[]byte] // of all goroutines at SIGQUIT or SIGABRT
}

// watchSignals lets signals end the context; SIGQUIT and SIGABRT also dump the stacks at the end. A broken pipe ends
// nothing, because the result of what was sent must still be reported. All signals stay handled until the process
// exits, so that a late signal does not change the exit code.
func watchSignals(s *terminalScreen, stderr io.Writer, cancel context.CancelCauseFunc) *signalWatcher {
	n := &signalWatcher{
		screen: s, stderr: stderr, cancel: cancel, received: make(chan os.Signal, 8), exit: os.Exit,
	}
	signal.Notify(n.received, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGABRT)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	go n.awaitSignals()
	return n
}

func (n *signalWatcher) awaitSignals() {
	first := <-n.received
	if first == syscall.SIGQUIT || first == syscall.SIGABRT {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		n.stacks.Store(&stacks)
	}
	n.cancel(signalError{first})
	began := time.Now()
	for over := time.After(exitTimeout); ; {
		select {
		case <-n.received:
			if time.Since(began) < minSignalGap {
				continue
			}
		case <-over:
		}
		n.screen.restoreTerminal()
		dumped := make(chan struct{})
		go func() { defer close(dumped); n.dumpStacks() }()
		select {
		case <-dumped:
		case <-time.After(blockedTerminalTimeout): // nobody reads standard error
		}
		n.exit(reportExitError(signalError{first}, n.stderr))
		return
	}
}

func (n *signalWatcher) dumpStacks() {
	if stacks := n.stacks.Swap(nil); stacks != nil {
		_, _ = n.stderr.Write(*stacks)
	}
}
