package cmd

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/assess/coverage"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/statedir"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/internal/view/resource"
	"github.com/veltui/veltui/watch"
)

// coverageTimeout limits one reading of coverage: the first reading of hundreds of backups takes some minutes.
const coverageTimeout = 10 * time.Minute

type coverageCommand struct {
	cli                  *cli
	maxAge, timeout      time.Duration
	unprotected, claims  bool
	nextSchedule, output string
}

func newCoverageCommand(c *cli) *cobra.Command {
	f := coverageCommand{cli: c}
	cmd := &cobra.Command{
		Use:   "coverage [NAMESPACE...] | --next SCHEDULE",
		Short: "Print which namespaces, claims and workloads backups protect, and why not",
		Long: `Print for each namespace, and within it each volume claim and workload, the newest
backup that holds it, for a claim with its data; the schedule that takes it next; and
when the last copy expires if nothing changes. What is not covered comes with the rule
that leaves it out or the failure. With namespaces, or with --claims, their claims and
workloads are printed one by one.

A Completed backup proves nothing: veltui reads Velero's list of what each
holds and its record of volumes, newest first, until all is decided. For this you need
the right to create downloadrequests.velero.io, and to list what there is: see 'veltui
rbac artifacts --with coverage'. veltui keeps names and states on disk. It names
what it could not read, and never counts that as covered.

The namespaces of Kubernetes, OpenShift and Velero are left out unless you name them. A
copy may be as old as --max-age, by default until the second run after it.

What is not read within --timeout is unknown: veltui names those backups, and exits with
1 unless something is in no backup. It keeps what it has read, so that the next run
gets further. No list of one backup may take longer than two minutes.

--next prints what the next backup of a schedule takes, by Velero's rules.

Exit codes: 0 if everything is covered, 3 if a copy is still to come, too old or will not
be renewed, 6 if something is in no backup, 1 if not everything could be read.`,
		Example: `  # The claims and workloads of two namespaces
  veltui coverage shop billing

  # What is in no backup, and why
  veltui coverage --unprotected --claims

  # The last copies that expire first
  veltui coverage -o json | jq -r '.items[].claims[] | select(.expiresAt) | ` +
			`"\(.expiresAt) \(.namespace)/\(.name)"' | sort

  # The claims whose data the next run takes
  veltui coverage --next nightly -o json | jq -r '.data[]'

  # In a script: no copy older than a day
  veltui coverage --max-age 24h > coverage.txt || mail -s 'unprotected' on-call < coverage.txt`,
		RunE: func(cmd *cobra.Command, namespaces []string) error { return f.runCoverage(cmd.Context(), namespaces) },
	}
	flags := cmd.Flags()
	flags.DurationVar(
		&f.maxAge,
		"max-age",
		0,
		"How old the newest copy may be, such as 24h (default until the second run after it)",
	)
	flags.DurationVar(&f.timeout, "timeout", coverageTimeout, "How long to read; 0 for no limit")
	flags.BoolVar(&f.unprotected, "unprotected", false, "Only what is in no backup")
	flags.BoolVar(&f.claims, "claims", false, "Print claims and workloads, not only namespaces")
	flags.StringVar(&f.nextSchedule, "next", "", "Print what the next backup of this schedule takes")
	addOutputFlag(cmd, &f.output, "table", "wide", "json", "yaml")
	c.addStoreCAFlag(cmd, flags)
	cmd.ValidArgsFunction = c.settings.completeValues(c.connector.fetchNamespaces)
	return cmd
}

func (f *coverageCommand) runCoverage(ctx context.Context, namespaces []string) error {
	switch {
	case f.nextSchedule != "" && (len(namespaces) > 0 || f.unprotected || f.maxAge != 0):
		return usageErrorf("--next takes no namespaces, and neither --max-age nor --unprotected")
	case f.maxAge < 0:
		return usageErrorf("--max-age %s: must not be negative", f.maxAge)
	case f.timeout < 0:
		return usageErrorf("--timeout %s: must not be negative", f.timeout)
	}
	ctx, cancel := cluster.WithTimeout(ctx, f.timeout)
	defer cancel()
	log := f.cli.openLogger(ctx)
	snap, err := f.cli.readSnapshot(
		ctx,
		watch.Query{
			Kinds:        []string{watch.Backups},
			ExtraKinds:   []string{watch.Schedules, watch.StorageLocations, watch.DeleteRequests, watch.Pods},
			SkipVerdicts: true,
		},
		log,
	)
	if err != nil {
		return err
	}
	assessed := new(assess.Estimates).AssessSnapshot(snap, f.cli.process.clock())
	cluster := f.cli.newCluster()
	say, done := f.cli.stdio.startStepMeter("looking at the cluster")
	if f.nextSchedule != "" {
		p, err := cluster.PredictBackup(ctx, assessed, f.nextSchedule, say)
		done()
		if err != nil {
			return err
		}
		return f.printPrediction(p)
	}
	result, err := cluster.AssessCoverage(
		ctx,
		assessed,
		coverage.Options{OnlyNamespaces: namespaces, MaxAge: f.maxAge},
		say,
	)
	done()
	if err != nil {
		return err
	}
	if err := f.printCoverage(result, f.claims || len(namespaces) > 0); err != nil {
		return err
	}
	if code := coverageExitCodes[result.State]; code != 0 {
		return exitError{code, nil}
	}
	return nil
}

var coverageExitCodes = map[coverage.State]int{
	coverage.Unprotected:        ExitRefused,
	coverage.Undecided:          ExitError,
	coverage.CoveredWithWarning: ExitPartiallyFailed,
}

// openCoverageRecords returns the cache of the contents of backups, as names and states.
func (c *localFiles) openCoverageRecords() cluster.CoverageRecords {
	r := cluster.CoverageRecords{OnError: func(err error) { slog.Warn("the cache of what backups hold", "error", err) }}
	if dir, err := c.process.xdgDir("XDG_CACHE_HOME", ".cache"); err == nil {
		r.Dir = statedir.Dir{
			Path:     filepath.Join(dir, "coverage"),
			Suffix:   cluster.CoverageRecordSuffix,
			MaxFiles: 2000,
			MaxBytes: 512 << 20,
			Clock:    c.process.clock,
		}
	}
	return r
}

func (f *coverageCommand) printPrediction(p *coverage.Prediction) error {
	err := f.cli.stdio.printOutput(f.output, document.NewPrediction(*p), func(l *linePrinter) {
		if p.RefusalReason != "" {
			l.Line("schedule %s makes no backup: %s", p.Schedule, p.RefusalReason)
			return
		}
		for _, list := range p.TitledLists() {
			l.List(list.Title, list.Items)
		}
	})
	switch {
	case err != nil:
		return err
	case p.RefusalReason != "":
		return exitError{ExitRefused, nil}
	case len(p.Undecided) > 0:
		return exitError{ExitError, nil}
	}
	return nil
}

func (f *coverageCommand) printCoverage(r *coverage.Result, claims bool) error {
	shown := *r
	if f.unprotected {
		shown.Namespaces = []coverage.Namespace{}
		gone := func(i coverage.Item) bool { return i.State != coverage.Unprotected }
		for _, n := range r.Namespaces {
			if claims || f.output == "json" || f.output == "yaml" { // a table only counts them
				n.CoveredClaims, n.Claims, n.Workloads = 0, slices.DeleteFunc(
					slices.Clone(n.Claims),
					gone,
				), slices.DeleteFunc(
					slices.Clone(n.Workloads),
					gone,
				)
			}
			if n.State == coverage.Unprotected {
				shown.Namespaces = append(shown.Namespaces, n)
			}
		}
	}
	err := f.cli.stdio.printOutput(f.output, document.NewCoverage(shown), func(l *linePrinter) {
		hidden := []string{"kind", "name"}
		if claims {
			hidden = []string{"claims"}
		}
		columns := slices.Clone(resource.CoverageColumns)
		for i, c := range columns {
			columns[i].ScreenOnly = slices.Contains(hidden, c.Name)
		}
		var rows [][]view.Cell
		for _, n := range shown.Namespaces {
			items := []coverage.Item{n.Item}
			if all := slices.Concat(n.Claims, n.Workloads); claims && len(all) > 0 {
				items = all
			}
			for _, i := range items {
				rows = append(rows, resource.CoverageCells(i, n, r.At))
			}
		}
		t := f.cli.stdio.newTable()
		l.RecordError(t.PrintCells(columns, rows, f.output == "wide", "why"))
	})
	if err != nil || f.output == "json" || f.output == "yaml" {
		return err
	}
	if len(r.SkippedNamespaces) > 0 {
		fmt.Fprintf(
			f.cli.stdio.streams.ErrOut,
			"Left out: %s; name them to see them.\n",
			human.JoinNames(r.SkippedNamespaces, 5),
		)
	}
	for _, what := range r.Unchecked {
		printErrorLines(f.cli.stdio.streams.ErrOut, fmt.Errorf("not read: %s", what))
	}
	return nil
}
