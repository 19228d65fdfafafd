package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/job/forecast"
	"github.com/veltui/veltui/internal/restore/restorespec"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero/decode"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/watch"
)

type estimateCommand struct {
	requestedRestore
	tarball, existing, version, priorities, output string
	features                                       []string
	flagChanged                                    func(flag string) bool
}

func newEstimateCommand(c *cli) *cobra.Command {
	f := estimateCommand{requestedRestore: requestedRestore{cli: c}}
	cmd := &cobra.Command{
		Use:   "estimate [backup/NAME | restore/NAME | --tarball FILE] [-f RESTORE.yaml] [flags of velero restore create]",
		Short: "Print what a restore of a backup would restore",
		Long: `Print how many items a restore would restore, by resource, in the order in which
Velero restores them. The total is the totalItems that Velero reports at the end.

For backup/NAME, choose what to restore with the flags of 'velero restore create', ` +
			`with a Restore in a file (-f), or with both; a flag overrides the file.
With -f alone, the file also names the backup. restore/NAME is a restore that
exists already. veltui downloads the backup through Velero; for this you need the
right to create downloadrequests.velero.io. It downloads each backup once and
keeps a list of its contents in its cache folder.

With --tarball, veltui needs no cluster and no kubeconfig. It assumes that the
target serves the kinds of Kubernetes and of the backup's CRDs. Give the
namespaces that already exist with --existing-namespaces, because each namespace
that the restore has to create is an item too.

veltui prints its assumptions on standard error; with -o json they are in
"assumptions".`,
		Example: `  # From a downloaded backup, without a cluster
  velero backup download nightly -o nightly.tar.gz
  veltui estimate --tarball nightly.tar.gz --include-namespaces shop

  # A Restore that does not exist yet, into a cluster with two namespaces
  veltui estimate --tarball nightly.tar.gz -f restore.yaml --existing-namespaces shop,billing

  # Two namespaces of a backup, into this cluster, one under a new name
  veltui estimate backup/nightly-20261120 --include-namespaces shop,billing --namespace-mappings shop:shop-2

  # Everything that a running restore has to restore
  veltui estimate restore/shop-restore-2`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.flagChanged = cmd.Flags().Changed
			return f.runEstimate(cmd.Context(), args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.tarball, "tarball", "", "Read a backup's tarball, not a cluster ('-' for standard input)")
	f.requestedRestore.addRestoreFlags(cmd)
	flags.StringVar(
		&f.existing,
		"existing-namespaces",
		"",
		"Namespaces that exist in the target, comma-separated, besides default and kube-* ('*' for all; default: ask "+
			"the cluster)",
	)
	flags.StringVar(
		&f.version,
		"velero-version",
		"",
		"Version of the Velero server, such as v1.17.2 (default: the cluster's, or v1.18.3)",
	)
	flags.StringVar(
		&f.priorities,
		"restore-resource-priorities",
		"",
		"The Velero server's --restore-resource-priorities",
	)
	flags.StringSliceVar(
		&f.features,
		"features",
		nil,
		"The Velero server's --features; only EnableCSI matters (default: the cluster's, or deduced from the backup)",
	)
	addOutputFlag(cmd, &f.output, "table", "wide", "json", "yaml")
	cmd.ValidArgsFunction = c.completeKindAndName(false, jobKinds...)
	completeFiles(cmd, "tarball")
	completeFlag(cmd, "existing-namespaces", c.settings.completeValues(func(ctx context.Context, typed string) []string {
		return appendToTyped(typed, c.connector.fetchNamespaces(ctx, typed))
	}))
	completeFlag(cmd, "features", completeCommaList([]string{veleroapi.CSIFeatureFlag}))
	return cmd
}

func (f *estimateCommand) runEstimate(ctx context.Context, args []string) error {
	if f.tarball == "-" && f.file == "-" {
		return usageErrorf("--tarball and -f cannot both be standard input")
	}
	server, err := f.parseServer()
	if err != nil {
		return err
	}
	restore, err := f.buildSpec()
	if err != nil {
		return err
	}
	spec := collector.RestoreInput{
		Restore:            restore,
		Policy:             (&restorespec.Draft{Selected: f.onlyItems}).BuildPolicy(),
		ExistingNamespaces: collector.ParseNamespaces(f.existing),
		Server:             server,
	}
	spec.ExistingNamespaces.IsComplete = f.flagChanged("existing-namespaces")
	switch {
	case f.tarball != "" && len(args) > 0:
		return usageErrorf("%q: --tarball reads no cluster; give one or the other", args[0])
	case f.tarball == "":
		return f.estimateFromCluster(ctx, args, spec)
	}
	index, err := f.readTarball(ctx, f.tarball, restore)
	if err != nil && !isUsableIndex(ctx, index) {
		return err
	}
	estimate, ended := index.Estimate(ctx, spec, collector.Discovery{})
	if ended != nil {
		return ended
	}
	return f.printEstimate(index, estimate, err)
}

func isUsableIndex(ctx context.Context, index *collector.Index) bool {
	return index != nil && index.ItemCount() > 0 && ctx.Err() == nil
}

func (f *estimateCommand) parseServer() (collector.VeleroServer, error) {
	s := cluster.ServerFromTag(f.version)
	if f.version != "" && s.Version == [3]int{} {
		return s, usageErrorf("--velero-version %s: expected a version such as v1.18.3", f.version)
	}
	if f.priorities != "" {
		p, err := collector.ParsePriorities(f.priorities)
		if err != nil {
			return s, exitError{ExitUsage, err}
		}
		s.Priorities = &p
	}
	if f.flagChanged("features") {
		csi := slices.Contains(f.features, "EnableCSI")
		s.CSIEnabled = &csi
	}
	return s, nil
}

// readTarball reads a backup's tarball. Like [collector.Read] it may return both an index and an error.
func (f *estimateCommand) readTarball(
	ctx context.Context,
	path string,
	spec veleroapi.RestoreSpec,
) (*collector.Index, error) {
	m, stop := f.cli.stdio.startByteMeter("reading " + sanitize.Truncate(filepath.Base(path), 30))
	defer stop()
	in := io.Reader(f.cli.stdio.stdin)
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }()
		info, err := file.Stat()
		switch {
		case err != nil:
			return nil, err
		case info.IsDir():
			return nil, fmt.Errorf("%s is a directory, not a backup's tarball", path)
		case info.Mode().IsRegular():
			m.total.Store(info.Size())
		}
		in = file
	}
	// Reading labels takes time, and only selectors need them.
	limits := collector.Limits{NamesOnly: spec.LabelSelector == nil && spec.OrLabelSelectors == nil}
	index, err := collector.Read(ctx, io.TeeReader(in, m), limits)
	if err != nil {
		err = fmt.Errorf("%s: %w", sanitize.String(path), err)
	}
	return index, err
}

// printEstimate prints an estimate, then returns readErr, which is why the index is incomplete.
func (f *estimateCommand) printEstimate(index *collector.Index, e collector.Estimate, readErr error) error {
	if len(e.Refusals) > 0 {
		return errors.New(view.EstimateRefusal(mapSlice(e.Refusals, sanitize.String)))
	}
	e.Assumptions = slices.Concat(e.Assumptions, index.Noted)
	err := f.cli.stdio.printOutput(f.output, document.NewEstimate(e), func(l *linePrinter) {
		shown := view.NewEstimate(&e, forecast.TimeEstimate{}, f.output == "wide")
		l.Table(shown.Columns, shown.Rows)
		l.Line("%s", shown.Summary.Text)
		for _, assumption := range e.Assumptions {
			fmt.Fprintln(f.cli.stdio.streams.ErrOut, "note:", sanitize.String(assumption))
		}
	})
	if err != nil {
		return err
	}
	if readErr != nil {
		return fmt.Errorf("the estimate is partial: %w", readErr)
	}
	return nil
}

func (f *estimateCommand) estimateFromCluster(ctx context.Context, args []string, spec collector.RestoreInput) error {
	if len(args) == 0 && f.file == "" && spec.Restore.BackupName == "" && spec.Restore.ScheduleName == "" {
		return usageErrorf("nothing to estimate: give backup/NAME, restore/NAME, --tarball FILE or -f FILE")
	}
	selected, err := f.resolveJob(ctx, args, spec.Restore)
	if err != nil {
		return err
	}
	snap, subject, err := f.cli.readJob(ctx, selected, watch.Query{SkipVerdicts: true, ExtraKinds: []string{watch.Pods}})
	if err != nil {
		return err
	}
	backupName, began := subject.Name, time.Time{}
	if subject.Kind == job.Restore {
		if spec.Restore, err = cluster.FindRestoreSpec(subject); err != nil {
			return err
		}
		backupName, began, spec.Policy = spec.Restore.BackupName, subject.Started, cluster.SelectionPolicy(subject)
	}
	if err := f.checkFileIsFor(snap); err != nil {
		return err
	}
	seen := cluster.BuildCollectorServer(snap.Server)
	if spec.Server.Tag == "" {
		spec.Server.Version, spec.Server.Tag = seen.Version, seen.Tag
	}
	if spec.Server.Priorities == nil {
		spec.Server.Priorities = seen.Priorities
	}
	if spec.Server.CSIEnabled == nil {
		spec.Server.CSIEnabled = seen.CSIEnabled
	}

	_, store, err := f.openStore(snap.Namespace)
	if err != nil {
		return err
	}
	index, readErr := f.readBackupIndex(ctx, store, backupName)
	if readErr != nil && len(snap.Malformed) > 0 {
		blind := snap.Malformed[0]
		readErr = fmt.Errorf("%w (%s: %s; %s)", readErr, blind.Ref(), blind.Fields[0], decode.ServerWarning)
	}
	if readErr != nil && !isUsableIndex(ctx, index) {
		return readErr
	}
	estimate, err := store.EstimateRestoreSpec(ctx, index, spec, began)
	if err != nil {
		return err
	}
	estimate.Assumptions = slices.Concat(
		estimate.Assumptions,
		cluster.MalformedSpecNotes(subject),
	)
	if difference := view.EstimateDifference(subject, &estimate); difference != "" {
		estimate.Assumptions = append(estimate.Assumptions, difference)
	}
	return f.printEstimate(index, estimate, readErr)
}
