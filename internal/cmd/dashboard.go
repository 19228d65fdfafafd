package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
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
	*cli
	theme, notify                                 string
	ascii, noAltScreen, plain, mouse, noArtifacts bool
	fps                                           int
	endedWithin                                   time.Duration
	guide                                         *guide.Guide // the demo's
}

func newDashboard(c *cli) *cobra.Command {
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
				return wrongCommand(cmd, args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			return f.run(cmd.Context())
		},
	}
	cmd.PersistentFlags().BoolVar(&c.readOnly, "read-only", false, "Never change the cluster (also VELTUI_READ_ONLY=1)")
	cmd.PersistentFlags().
		BoolVar(&c.plainHTTP.allowed, "allow-plain-http", false, "Allow downloads from a remote object store without "+
			"TLS; backups contain Secrets (also VELTUI_ALLOW_PLAIN_HTTP=1)")
	f.register(cmd, cmd.Flags())
	return cmd
}

func (f *dashboardCommand) register(cmd *cobra.Command, flags *pflag.FlagSet) {
	flags.BoolVar(&f.ascii, "ascii", false, "Draw with ASCII only (the default where the locale is not UTF-8)")
	flags.StringVar(
		&f.theme,
		"theme",
		draw.ThemeAuto,
		draw.ThemeAuto+", "+strings.Join(draw.Themes(), ", ")+", or a theme file of your own (see docs/config.md)",
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
			uiterminal.Notifications(),
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
	f.addCAFile(cmd, flags)
	completeFlag(cmd, "theme", f.completeValues(func(context.Context, string) []string { return f.themes() }))
	completeFlag(cmd, "notify", fixed(uiterminal.Notifications()))
}

func (f *dashboardCommand) check(cmd *cobra.Command) error {
	if f.fps < 0 || f.fps > maxFPS || f.fps == 0 && cmd.Flags().Changed("fps") {
		return usagef("--fps %d: must be from 1 to %d", f.fps, maxFPS)
	}
	if known := uiterminal.Notifications(); !slices.Contains(known, f.notify) {
		return usagef("--notify %s: must be one of %s", f.notify, strings.Join(known, ", "))
	}
	if f.endedWithin < 0 {
		return usagef("--ended-within %s: must not be negative", f.endedWithin)
	}
	return nil
}

// gcPercent bounds the growth of the heap: a dashboard runs for days and makes little garbage.
const gcPercent = 25

func (f *dashboardCommand) run(ctx context.Context) error {
	if f.plain {
		return f.cli.plain(ctx)
	}
	if !isTerminal(f.stdin) || !isTerminal(f.stdout) {
		return usagef(
			"the dashboard needs a terminal; in scripts use 'veltui get', or 'veltui --plain' to print events as lines",
		)
	}
	term := f.terminal()
	if term.dumb {
		return usagef("the dashboard cannot draw with TERM=%s; 'veltui --plain' works on any terminal", term.name)
	}
	contexts, err := f.contexts()
	if err != nil {
		return err
	}
	if err := f.login(ctx, contexts); err != nil {
		return err
	}
	f.logins.takeKeyboard()
	if f.env("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	logFile, logPath := f.openLog()
	defer func() { _ = logFile.Close() }()
	f.plainHTTP.silent = true
	o := f.options(term)
	clusters := &clusters{cli: f.cli, noArtifacts: f.noArtifacts, endedWithin: f.endedWithin, log: f.logTo(logFile)}
	if o.Clusters, err = clusters.connect(ctx, contexts, ""); err != nil {
		return err
	}
	o.Switch = clusters.switchTo
	o.Unfinished = func(ctx context.Context) []string { return f.unfinished(ctx, nil, f.connections(contexts)...) }
	o.Audit = f.audit
	if raw, err := f.kubeconfig(); err == nil {
		o.Contexts = contextNames(raw)
	}
	restore, err := redirectStderr(logFile)
	if err != nil {
		return err
	}
	f.screen.restoreStderr.Store(&restore)
	said, err := ui.Run(ctx, o)
	f.screen.release()
	f.screen.restore()
	cancel()
	f.awaitRequests()
	for _, line := range said {
		fmt.Fprintln(f.streams.ErrOut, sanitize.Whole(line))
	}
	if err != nil && logPath != "" && err != ui.ErrInterrupted {
		return fmt.Errorf("%w (log: %s)", err, logPath)
	}
	return err
}

func (f *dashboardCommand) options(term terminal) ui.Options {
	o := ui.Options{
		Folder:      f.saveFolder(),
		ReadOnly:    f.isReadOnly(),
		Clock:       f.clock,
		Guide:       f.guide,
		Input:       f.stdin,
		Output:      f.screen,
		Theme:       f.theme,
		UserTheme:   f.userTheme,
		Themes:      f.ownThemes(),
		LoadTheme:   f.ownTheme,
		Keys:        f.keys,
		Tabs:        f.chosen("tabs"),
		Columns:     f.chosen("columns"),
		BackupAge:   f.threshold(backupAge),
		ASCII:       f.ascii || !term.utf8,
		NoColor:     !term.color,
		NoAltScreen: f.noAltScreen,
		Mouse:       f.mouse,
		FPS:         f.fps,
		Tick:        time.Second,
		QuerySync:   term.remote && term.window,
		Term:        term.name,
		Terminal: ui.Terminal{
			Title:    term.window,
			Progress: term.window,
			Notify:   uiterminal.Notification(f.notify),
			Through:  uiterminal.MultiplexerOf(f.env),
		},
	}
	if !term.window {
		o.Terminal.WhyNoClipboard = fmt.Sprintf(
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

// saveFolder is where files are proposed to be written: veltui's state folder if there is one, else that for
// temporary files.
func (f *dashboardCommand) saveFolder() string {
	dir, err := f.stateDir()
	if err == nil {
		_, err = os.Stat(dir)
	}
	if err != nil {
		return os.TempDir()
	}
	return dir
}

const tidyPatience = 2 * time.Second

// awaitRequests waits until what was cancelled has deleted its requests.
func (c *connector) awaitRequests() {
	for end := time.Now().Add(tidyPatience); c.requests.Load() > 0 && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
}

type clusters struct {
	cli *cli
	log *slog.Logger

	noArtifacts bool
	endedWithin time.Duration
}

// connect follows the clusters of some contexts until ctx ends or they are stopped. An empty
// namespace is that of the flags. Of several, one that cannot be used is shown with the reason.
func (cs *clusters) connect(ctx context.Context, contexts []string, namespace string) ([]ui.Cluster, error) {
	var connected []ui.Cluster
	for _, name := range contexts {
		one, err := cs.one(ctx, cs.cli.forContext(name, namespace))
		switch {
		case err != nil && len(contexts) == 1 && name != "":
			return nil, fmt.Errorf("context %s: %w", name, err)
		case err != nil && len(contexts) == 1:
			return nil, err
		case err != nil:
			cs.log.Warn("cannot use a context", "context", name, "err", err)
			one = ui.Cluster{Inspector: unusable{err: err}}
		}
		one.Context = sanitize.Whole(cmp.Or(one.Context, name))
		connected = append(connected, one)
	}
	return connected, nil
}

// switchTo is connect for contexts that a person typed, globs among them.
func (cs *clusters) switchTo(ctx context.Context, contexts []string, namespace string) ([]ui.Cluster, error) {
	raw, err := cs.cli.kubeconfig()
	if err != nil {
		return nil, err
	}
	var named []string
	for _, name := range contexts {
		found := []string{""} // what no kubeconfig names
		if name != inCluster || raw.Contexts[inCluster] != nil {
			if found, err = namedContexts(contextNames(raw), name); err != nil {
				return nil, err
			}
		}
		named = appendNew(named, found...)
	}
	if flag := cs.cli.flagOfOneCluster(); flag != "" {
		// It would be this cluster under another name, or another one sent this one's credentials.
		if begun, err := cs.cli.contexts(); err != nil || !slices.Equal(begun, named) {
			return nil, fmt.Errorf("%s is about one cluster only; leave veltui and start it without that flag", flag)
		}
	}
	if namespace != "" {
		missing := mapSlice(
			named,
			func(name string) string { return cs.namespaceMissing(ctx, cs.cli.forContext(name, namespace)) },
		)
		if !slices.Contains(missing, "") {
			return nil, errors.New(missing[0])
		}
	}
	return cs.connect(ctx, named, namespace)
}

func (cs *clusters) namespaceMissing(ctx context.Context, c *cli) string {
	conn, err := c.connect()
	if err != nil || c.logins.silent(ctx, conn) != nil {
		return "" // connecting to it says why
	}
	return watch.NamespaceMissing(ctx, c.watchOptions(conn))
}

func (cs *clusters) one(ctx context.Context, c *cli) (ui.Cluster, error) {
	conn, err := c.connect()
	if err != nil {
		return ui.Cluster{}, err
	}
	if err := c.logins.silent(ctx, conn); err != nil {
		return ui.Cluster{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	watcher, err := c.watch(
		ctx,
		conn,
		cs.log,
		func(o *watch.Options) { o.SumVolumes, o.EndedWithin = true, cs.endedWithin },
	)
	if err != nil {
		cancel()
		return ui.Cluster{}, err
	}
	cluster := c.inspected()
	if cluster.NoArtifacts = cs.noArtifacts; !cs.noArtifacts {
		cluster.Indexes, cluster.Rates = c.openIndexes(conn), c.openRates(conn)
	}
	return ui.Cluster{
		Inspector:    &shownCluster{cluster, watcher, c, conn.Config.Host},
		Context:      conn.Context,
		Request:      conn.Request,
		Acknowledged: c.acknowledgedStore().forCluster(conn),
		Stop:         func() { cancel(); watcher.Stop() },
	}, nil
}

// unusable is a cluster of which nothing is known but why.
type unusable struct {
	cluster.Inspector
	err error
}

func (u unusable) Next(context.Context) (*watch.Snapshot, error) { return nil, u.err }

func (unusable) Retry() {}

func (unusable) WriteFailure() string { return "" }

func (u unusable) Unavailable(cluster.Part) string { return u.err.Error() }

// shownCluster is what the dashboard asks of a cluster that it follows.
type shownCluster struct {
	*cluster.Cluster
	*watch.Watcher
	cli  *cli
	host string
}

func (f *shownCluster) WriteFailure() string { return f.cli.writes.Last(f.host) }

func (f *shownCluster) Report(ctx context.Context, assessed *assess.Assessment, judged assess.Judged) (string, error) {
	quiet := *f.cli
	quiet.streams.ErrOut = io.Discard // the screen is the dashboard's
	document, err := quiet.reportOn(ctx, assessed, judged, reportFlags{noArtifacts: f.NoArtifacts})
	if err != nil {
		return "", cluster.Clean(err)
	}
	return document.Markdown(), nil
}
