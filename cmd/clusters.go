package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/inspect"
	"github.com/veltui/veltui/internal/safefile"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/ui"
	"github.com/veltui/veltui/watch"
)

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
			one = ui.Cluster{Source: unusable{err}}
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
	return cs.connect(ctx, named, namespace)
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
	watcher, err := c.watch(ctx, conn, cs.log, func(o *watch.Options) { o.SumVolumes, o.EndedWithin = true, cs.endedWithin })
	if err != nil {
		cancel()
		return ui.Cluster{}, err
	}
	cluster := c.inspected()
	logs := &inspect.Logs{Cluster: cluster}
	switch {
	case cs.noArtifacts:
		logs.NotStored = inspect.ErrNoArtifactsLog
	case c.isReadOnly():
		logs.NotStored = inspect.ErrReadOnlyLog
	}
	one := ui.Cluster{
		Context: conn.Context, Request: conn.Request, Source: watcher, EtcdLogs: watcher, Looker: &inspect.Looks{Cluster: cluster},
		Stop:         func() { cancel(); watcher.Stop() },
		WriteFailure: func() string { return c.writes.Last(conn.Config.Host) },
	}
	one.Sources.Logs, one.Sources.Problems = logs.Read, logs.Problems
	one.Sources.WhyNoArtifacts = "With --no-artifacts veltui does not read what Velero has stored."
	one.Sources.Volumes = watcher.ReadVolumes
	held := &inspect.Verifier{Cluster: cluster}
	one.Sources.Verify = held.Verify
	one.Sources.Reporter = &reporter{cli: c, flags: reportFlags{noArtifacts: cs.noArtifacts}}
	one.Sources.Objects = &inspect.Objects{Cluster: cluster}
	restores := &inspect.Previews{Cluster: cluster, Why: "with --no-artifacts veltui does not read backups"}
	one.Previewer = restores
	if !cs.noArtifacts {
		cluster.Indexes = c.openIndexes(conn.Config)
		backups := &inspect.Backups{Cluster: cluster}
		items := &inspect.Items{Stored: &inspect.Artifacts{Cluster: cluster}, Backups: backups}
		one.Sources.Artifacts, one.Sources.Items, one.Estimator = items.Stored, items.Items, backups
		held.Items = items
		rates := c.openRates(conn)
		one.Rates, restores.Backups, restores.Rates = rates, backups, rates
	}
	if !c.isReadOnly() {
		one.Finalizer = &inspect.Actions{Cluster: cluster, NoStore: cs.noArtifacts}
	}
	return one, nil
}

type unusable struct{ err error }

func (u unusable) Next(context.Context) (*watch.Snapshot, error) { return nil, u.err }

func (unusable) Retry() {}

type reporter struct {
	cli   *cli
	flags reportFlags
}

func (r *reporter) Report(ctx context.Context, assessed *assess.Assessment, judged assess.Judged) (string, error) {
	quiet := *r.cli
	quiet.streams.ErrOut = io.Discard // the screen is the dashboard's
	document, err := quiet.reportOn(ctx, assessed, judged, r.flags)
	if err != nil {
		return "", inspect.Clean(err)
	}
	return document.Markdown(), nil
}

// Save writes a report to a new file in the working directory or, where veltui may not write, in its state folder.
func (r *reporter) Save(name, text string) (string, error) {
	write := func(path string, err error) (string, error) {
		if err == nil {
			err = safefile.WriteNew(path, []byte(text))
		}
		return path, err
	}
	path, err := write(filepath.Abs(name))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		first := err
		if path, err = write(r.cli.stateFile(name)); err != nil {
			err = fmt.Errorf("%w; %w", first, err)
		}
	}
	if err != nil {
		return "", inspect.Clean(err)
	}
	return sanitize.Whole(path), nil
}
