package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/ui"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/guide"
	uiterminal "github.com/veltui/veltui/ui/terminal"
	"github.com/veltui/veltui/watch"
)

type dashboardCommand struct {
	cli                                           *cli
	theme, notify                                 string
	ascii, noAltScreen, plain, mouse, noArtifacts bool
	fps                                           int
	endedWithin                                   time.Duration
	guide                                         *guide.Guide // of the demo
}

func newDashboardCommand(c *cli) *cobra.Command {
	f := dashboardCommand{cli: c}
	cmd := &cobra.Command{
		Short: "A live dashboard for Velero's backups and restores",
		Long: `veltui shows every Velero backup and restore of a cluster live: how far each one
is, how fast it goes, when it may end, and what is holding it up.

Without a command, veltui opens the dashboard; press ? there for the keys. It
takes Velero's namespace from -n, from VELERO_NAMESPACE, or from the context if
Velero is there; otherwise it searches for it.`,
		Example: `  # The dashboard for the current context
  veltui

  # Another context and namespace, over a slow connection
  veltui --context prod-east -n openshift-adp --fps 4

  # Several clusters on one screen
  veltui --context 'prod-*,lab'

  # On a terminal without UTF-8 or colour
  NO_COLOR=1 veltui --ascii

  # In sentences, for a screen reader, a dumb terminal or a log file
  veltui --plain

  # All backups and restores, for a script
  veltui get -o json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommandError(cmd, args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.checkUsage(cmd); err != nil {
				return err
			}
			return f.runDashboard(cmd.Context())
		},
	}
	cmd.PersistentFlags().
		BoolVar(&c.settings.readOnly, "read-only", false, "Never change the cluster (also VELTUI_READ_ONLY=1)")
	cmd.PersistentFlags().
		BoolVar(&c.plainHTTP.allowedByFlag, "allow-plain-http", false, "Allow downloads from a remote object store without "+
			"TLS; backups contain Secrets (also VELTUI_ALLOW_PLAIN_HTTP=1)")
	f.addDashboardFlags(cmd, cmd.Flags())
	return cmd
}

func (f *dashboardCommand) addDashboardFlags(cmd *cobra.Command, flags *pflag.FlagSet) {
	flags.BoolVar(&f.ascii, "ascii", false, "Draw with ASCII only (the default where the locale is not UTF-8)")
	flags.StringVar(
		&f.theme,
		"theme",
		draw.ThemeAuto,
		draw.ThemeAuto+", "+strings.Join(draw.ThemeNames(), ", ")+", or a theme file of your own (see docs/config.md)",
	)
	flags.IntVar(&f.fps, "fps", 0, "Frames per second at most, 1 to 60 (default 30, or 10 over ssh)")
	flags.BoolVar(&f.noAltScreen, "no-alt-screen", false, "Draw on the normal screen, not on the alternate screen")
	flags.BoolVar(
		&f.plain,
		"plain",
		false,
		"Print events as plain lines and read commands, for screen readers and dumb terminals (also VELTUI_PLAIN=1)",
	)
	flags.BoolVar(&f.mouse, "mouse", false, "Use the mouse: wheel, clicks on tabs and rows; hold shift to select text")
	flags.StringVar(
		&f.notify,
		"notify",
		string(uiterminal.NoNotification),
		"Notify you when a job ends, fails or is stuck: "+strings.Join(
			uiterminal.NotificationMethodNames(),
			", ",
		)+" (see docs/terminals.md)",
	)
	flags.DurationVar(
		&f.endedWithin,
		"ended-within",
		0,
		"Hide jobs that ended longer ago, such as 720h, to use less memory; running and stuck jobs stay (default: show all)",
	)
	flags.BoolVar(
		&f.noArtifacts,
		"no-artifacts",
		false,
		"Do not download from the object store, not even the contents of backups",
	)
	f.cli.addStoreCAFlag(cmd, flags)
	completeFlag(cmd, "theme", f.cli.settings.completeValues(
		func(context.Context, string) []string { return f.cli.settings.themeNames() },
	))
	completeFlag(cmd, "notify", completeFixed(uiterminal.NotificationMethodNames()))
}

func (f *dashboardCommand) checkUsage(cmd *cobra.Command) error {
	if f.fps < 0 || f.fps > maxFPS || f.fps == 0 && cmd.Flags().Changed("fps") {
		return usageErrorf("--fps %d: must be from 1 to %d", f.fps, maxFPS)
	}
	if known := uiterminal.NotificationMethodNames(); !slices.Contains(known, f.notify) {
		return usageErrorf("--notify %s: must be one of %s", f.notify, strings.Join(known, ", "))
	}
	if f.endedWithin < 0 {
		return usageErrorf("--ended-within %s: must not be negative", f.endedWithin)
	}
	return nil
}

// gcPercent limits the growth of the heap: a dashboard runs for days and makes little garbage.
const gcPercent = 25

func (f *dashboardCommand) runDashboard(ctx context.Context) error {
	if f.plain {
		return f.cli.runPlain(ctx)
	}
	if !isTerminal(f.cli.stdio.stdin) || !isTerminal(f.cli.stdio.stdout) {
		return usageErrorf(
			"the dashboard needs a terminal; in scripts use 'veltui get', or 'veltui --plain' to print events as lines",
		)
	}
	term := f.cli.stdio.detectTerminal()
	if term.dumb {
		return usageErrorf("the dashboard cannot draw with TERM=%s; 'veltui --plain' works on any terminal", term.name)
	}
	contexts, err := f.cli.connector.resolveContexts()
	if err != nil {
		return err
	}
	if err := f.cli.connector.runLogins(ctx, contexts); err != nil {
		return err
	}
	f.cli.connector.logins.takeKeyboard()
	if f.cli.process.getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	logFile, logPath := f.cli.files.openLog()
	defer func() { _ = logFile.Close() }()
	f.cli.plainHTTP.silent = true
	o := f.buildOptions(term)
	clusters := &clusterOpener{
		cli:         f.cli,
		noArtifacts: f.noArtifacts,
		endedWithin: f.endedWithin,
		log:         f.cli.newLogger(logFile),
	}
	if o.Clusters, err = clusters.openClusters(ctx, contexts, ""); err != nil {
		return err
	}
	o.SwitchClusters = clusters.switchContexts
	o.UnfinishedAttempts = func(ctx context.Context) []string {
		return f.cli.describeUnfinishedAttempts(ctx, nil, f.cli.connector.openConnections(contexts)...)
	}
	o.LoadAudit = f.cli.files.loadAudit
	if raw, err := f.cli.connector.loadKubeconfig(); err == nil {
		o.Contexts = contextNames(raw)
	}
	restore, err := redirectStderr(logFile)
	if err != nil {
		return err
	}
	f.cli.stdio.screen.restoreStderr.Store(&restore)
	said, err := ui.Run(ctx, o)
	f.cli.stdio.screen.releaseScreen()
	f.cli.stdio.screen.restoreTerminal()
	cancel()
	f.cli.connector.awaitRequestCleanup()
	for _, line := range said {
		fmt.Fprintln(f.cli.stdio.streams.ErrOut, sanitize.FullLine(line))
	}
	if err != nil && logPath != "" && err != ui.ErrInterrupted {
		return fmt.Errorf("%w (log: %s)", err, logPath)
	}
	return err
}

func (f *dashboardCommand) buildOptions(term terminalTraits) ui.Options {
	o := ui.Options{
		SaveFolder:              f.proposedSaveDir(),
		ReadOnly:                f.cli.settings.isReadOnly(),
		Clock:                   f.cli.process.clock,
		Guide:                   f.guide,
		Input:                   f.cli.stdio.stdin,
		Output:                  f.cli.stdio.screen,
		Theme:                   f.theme,
		UserTheme:               f.cli.settings.userTheme,
		UserThemes:              f.cli.settings.userThemeNames(),
		LoadTheme:               f.cli.settings.loadUserTheme,
		Keys:                    f.cli.settings.keyOverrides,
		Tabs:                    f.cli.settings.explicitValues("tabs"),
		Columns:                 f.cli.settings.explicitValues("columns"),
		MaxBackupAge:            f.cli.settings.ageThreshold(backupAgeSetting),
		ASCII:                   f.ascii || !term.utf8,
		NoColor:                 !term.color,
		NoAltScreen:             f.noAltScreen,
		Mouse:                   f.mouse,
		FPS:                     f.fps,
		TickInterval:            time.Second,
		QuerySynchronizedOutput: term.remote && term.hasWindow,
		Term:                    term.name,
		Terminal: ui.Terminal{
			Title:       term.hasWindow,
			Progress:    term.hasWindow,
			Notify:      uiterminal.NotificationMethod(f.notify),
			Multiplexer: uiterminal.DetectMultiplexer(f.cli.process.getenv),
		},
	}
	if !term.hasWindow {
		o.Terminal.ClipboardUnavailable = fmt.Sprintf(
			"this terminal (TERM=%s) has no clipboard. Commands such as veltui results and veltui logs print the same.",
			sanitize.String(term.name),
		)
	}
	switch {
	case o.FPS != 0:
	case term.remote:
		o.FPS = 10
	default:
		o.FPS = 30
	}
	return o
}

// proposedSaveDir returns the folder proposed for files: veltui's state folder if it exists, or else the folder for
// temporary files.
func (f *dashboardCommand) proposedSaveDir() string {
	dir, err := f.cli.files.stateDir()
	if err == nil {
		_, err = os.Stat(dir)
	}
	if err != nil {
		return os.TempDir()
	}
	return dir
}

const cleanupTimeout = 2 * time.Second

// awaitRequestCleanup waits until cancelled work has deleted its requests.
func (c *connector) awaitRequestCleanup() {
	for end := time.Now().Add(cleanupTimeout); c.pendingRequests.Load() > 0 && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
}

type clusterOpener struct {
	cli *cli
	log *slog.Logger

	noArtifacts bool
	endedWithin time.Duration
}

// openClusters follows the clusters of some contexts until ctx ends or they are stopped. An empty namespace means
// that of the flags. If one of several cannot be used, it is shown with the reason.
func (cs *clusterOpener) openClusters(ctx context.Context, contexts []string, namespace string) ([]ui.Cluster, error) {
	var connected []ui.Cluster
	for _, name := range contexts {
		one, err := cs.openCluster(ctx, cs.cli.forContext(name, namespace))
		switch {
		case err != nil && len(contexts) == 1 && name != "":
			return nil, fmt.Errorf("context %s: %w", name, err)
		case err != nil && len(contexts) == 1:
			return nil, err
		case err != nil:
			cs.log.Warn("cannot use a context", "context", name, "err", err)
			one = ui.Cluster{Backend: newBrokenCluster(err)}
		}
		one.Context = sanitize.FullLine(cmp.Or(one.Context, name))
		connected = append(connected, one)
	}
	return connected, nil
}

// switchContexts is like openClusters, for contexts that a person typed, including globs.
func (cs *clusterOpener) switchContexts(
	ctx context.Context,
	contexts []string,
	namespace string,
) ([]ui.Cluster, error) {
	raw, err := cs.cli.connector.loadKubeconfig()
	if err != nil {
		return nil, err
	}
	var named []string
	for _, name := range contexts {
		found := []string{""} // the context if no kubeconfig names one
		if name != inClusterContext || raw.Contexts[inClusterContext] != nil {
			if found, err = matchContextList(contextNames(raw), name); err != nil {
				return nil, err
			}
		}
		named = appendUnique(named, found...)
	}
	if flag := cs.cli.connector.singleClusterFlag(); flag != "" {
		// The flag would lead to this cluster under another name, or send this cluster's credentials to another one.
		if begun, err := cs.cli.connector.resolveContexts(); err != nil || !slices.Equal(begun, named) {
			return nil, fmt.Errorf("%s is about one cluster only; leave veltui and start it without that flag", flag)
		}
	}
	if namespace != "" {
		missing := mapSlice(
			named,
			func(name string) string { return cs.namespaceProblem(ctx, cs.cli.forContext(name, namespace)) },
		)
		if !slices.Contains(missing, "") {
			return nil, errors.New(missing[0])
		}
	}
	return cs.openClusters(ctx, named, namespace)
}

func (cs *clusterOpener) namespaceProblem(ctx context.Context, c *cli) string {
	conn, err := c.connector.openConnection()
	if err != nil || c.connector.logins.loginSilently(ctx, conn) != nil {
		return "" // connecting to it reports why
	}
	return watch.MissingNamespaceNotice(ctx, c.connector.watchOptions(conn))
}

func (cs *clusterOpener) openCluster(ctx context.Context, c *cli) (ui.Cluster, error) {
	conn, err := c.connector.openConnection()
	if err != nil {
		return ui.Cluster{}, err
	}
	if err := c.connector.logins.loginSilently(ctx, conn); err != nil {
		return ui.Cluster{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	watcher, err := c.connector.startWatch(
		ctx,
		conn,
		cs.log,
		func(o *watch.Options) { o.SumVolumes, o.EndedWithin = true, cs.endedWithin },
	)
	if err != nil {
		cancel()
		return ui.Cluster{}, err
	}
	cluster := c.newCluster()
	if cluster.NoArtifacts = cs.noArtifacts; !cs.noArtifacts {
		cluster.Indexes, cluster.RestoreRates = c.files.openIndexCache(conn), c.files.openRates(conn)
	}
	return ui.Cluster{
		Backend:          &dashboardCluster{cluster, watcher, c, conn.Config.Host},
		Context:          conn.Context,
		Request:          conn.Request,
		Acknowledgements: c.files.openAcknowledgements().forCluster(conn),
		Stop:             func() { cancel(); watcher.Stop() },
	}, nil
}

// dashboardCluster is what the dashboard asks of a cluster that it follows.
type dashboardCluster struct {
	*cluster.Cluster
	*watch.Watcher
	cli  *cli
	host string
}

func (f *dashboardCluster) WriteFailure() string {
	return f.cli.connector.writeFailures.LastFailure(f.host)
}

func (f *dashboardCluster) BuildReport(
	ctx context.Context,
	assessed *assess.Assessment,
	judged assess.JudgedJob,
) (string, error) {
	quiet := f.cli.withoutMessages() // the dashboard owns the screen
	document, err := quiet.buildReport(ctx, assessed, judged, reportFlags{noArtifacts: f.NoArtifacts})
	if err != nil {
		return "", cluster.SanitizeError(err)
	}
	return document.Markdown(), nil
}
