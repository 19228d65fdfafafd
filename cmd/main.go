package cmd

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // credential plugins that need code of their own
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
	err := root.ExecuteContext(ctx)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause // whatever failed then, failed because it was told to end
	} else {
		err = c.pinned.explain(err)
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
	inDemo    bool
	caFile    string                  // of the object store
	cancel    context.CancelCauseFunc // ends the run with a cause
}

func newCLI(stdin, stdout, stderr *os.File) *cli {
	p := &process{env: os.Getenv, clock: time.Now}
	return &cli{
		process: p, stdio: newStdio(p, stdin, stdout, stderr), connector: newConnector(p), settings: &settings{process: p}, files: files{process: p},
		plainHTTP: &plainHTTP{process: p},
	}
}

// forContext is c with another kubeconfig context, and namespace unless that is empty.
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
	root.PersistentFlags().Lookup("context").Usage = "The kubeconfig context; the dashboard and get take several: a,b or 'prod-*'"
	root.PersistentFlags().Lookup("namespace").Usage = "Velero's namespace (also VELERO_NAMESPACE; default: veltui searches for it)"
	root.PersistentFlags().BoolVar(&c.allContexts, "all-contexts", false, "All contexts of the kubeconfig, in the dashboard and get")
	root.PersistentFlags().StringVar(&c.flags.CurrentContext, "kubecontext", "", "Same as --context, for users of the velero command")
	root.PersistentFlags().StringVar(&c.configFlag, "config", "", "Configuration file (also VELTUI_CONFIG); 'veltui config' prints what is in force")
	completeFiles(root.PersistentFlags(), append(fileFlags, "config")...)
	c.completeClusterFlags(root)
	root.PersistentPreRunE = c.preRun
	root.AddCommand(newConfig(c), newRBAC(c), newGet(c), newExplain(c), newWait(c), newDescribe(c), newResults(c), newReport(c), newVerify(c), newLogs(c), newEtcd(c), newEstimate(c), newPreflight(c), newFinalize(c), newDemo(c), newOptions(), newVersion(c))
	addCompletionScripts(c, root)
	checkTopics(root)
	completeRest(root)
	root.SetHelpFunc(helpOf(root.HelpFunc()))
	calledAs(root, name)
	return root
}
