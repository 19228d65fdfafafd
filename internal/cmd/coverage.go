package cmd

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/assess/coverage"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/statedir"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/watch"
)

// coverageTimeout bounds a reading of coverage: the first one of hundreds of backups takes some minutes.
const coverageTimeout = 10 * time.Minute

type coverageCommand struct {
	*cli
	maxAge, timeout     time.Duration
	unprotected, claims bool
	next, output        string
}

func newCoverage(c *cli) *cobra.Command {
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
		RunE: func(cmd *cobra.Command, namespaces []string) error { return f.run(cmd.Context(), namespaces) },
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
	flags.StringVar(&f.next, "next", "", "Print what the next backup of this schedule takes")
	addOutput(cmd, &f.output, "table", "wide", "json", "yaml")
	c.addCAFile(cmd, flags)
	cmd.ValidArgsFunction = c.completeValues(c.namespaces)
	return cmd
}

func (f *coverageCommand) run(ctx context.Context, namespaces []string) error {
	switch {
	case f.next != "" && (len(namespaces) > 0 || f.unprotected || f.maxAge != 0):
		return usagef("--next takes no namespaces, and neither --max-age nor --unprotected")
	case f.maxAge < 0:
		return usagef("--max-age %s: must not be negative", f.maxAge)
	case f.timeout < 0:
		return usagef("--timeout %s: must not be negative", f.timeout)
	}
	ctx, cancel := cluster.WithTimeout(ctx, f.timeout)
	defer cancel()
	log := f.logging(ctx)
	snap, err := f.read(
		ctx,
		watch.Query{
			Kinds:     []string{watch.Backups},
			Also:      []string{watch.Schedules, watch.Locations, watch.Deletions, watch.Pods},
			NoVerdict: true,
		},
		log,
	)
	if err != nil {
		return err
	}
	assessed := new(assess.Estimates).Assess(snap, f.clock())
	cluster := f.inspected()
	say, done := f.startSteps("looking at the cluster")
	if f.next != "" {
		p, err := cluster.Predict(ctx, assessed, f.next, say)
		done()
		if err != nil {
			return err
		}
		return f.printPrediction(p)
	}
	result, err := cluster.Coverage(ctx, assessed, coverage.Options{Only: namespaces, MaxAge: f.maxAge}, say)
	done()
	if err != nil {
		return err
	}
	if err := f.printCoverage(result, f.claims || len(namespaces) > 0); err != nil {
		return err
	}
	if code := coverageExits[result.State]; code != 0 {
		return exitError{code, nil}
	}
	return nil
}

var coverageExits = map[coverage.State]int{
	coverage.Unprotected: ExitRefused,
	coverage.Undecided:   ExitError,
	coverage.Warned:      ExitPartiallyFailed,
}

// records keeps what backups hold, as names and states.
func (c *files) records() cluster.Records {
	r := cluster.Records{Failed: func(err error) { slog.Warn("the cache of what backups hold", "error", err) }}
	if dir, err := c.folder("XDG_CACHE_HOME", ".cache"); err == nil {
		r.Dir = statedir.Dir{
			Path:   filepath.Join(dir, "coverage"),
			Suffix: cluster.RecordSuffix,
			Files:  2000,
			Bytes:  512 << 20,
			Clock:  c.clock,
		}
	}
	return r
}

func (f *coverageCommand) printPrediction(p *coverage.Prediction) error {
	err := f.print(f.output, document.NewPrediction(*p), func(l *lines) {
		if p.Refused != "" {
			l.add("schedule %s makes no backup: %s", p.Schedule, p.Refused)
			return
		}
		for _, list := range p.Lists() {
			l.list(list.Title, list.Items)
		}
	})
	switch {
	case err != nil:
		return err
	case p.Refused != "":
		return exitError{ExitRefused, nil}
	case len(p.Unknown) > 0:
		return exitError{ExitError, nil}
	}
	return nil
}

var coverageColumns = []view.Column{
	{Name: "namespace", Middle: true, Least: 20},
	{Name: "kind", Rank: 3},
	{Name: "name", Middle: true, Least: 20},
	{Name: "state"},
	{Name: "newest copy", Middle: true, Rank: 2},
	{Name: "age"},
	{Name: "next", Rank: 4},
	{Name: "claims", Rank: 5},
	{Name: "last copy expires", Rank: 1},
	{Name: "reason", Rank: 6, Wide: true},
	{Name: "why", Rank: 7},
}

func (f *coverageCommand) printCoverage(r *coverage.Result, claims bool) error {
	shown := *r
	if f.unprotected {
		shown.Namespaces = []coverage.Namespace{}
		gone := func(i coverage.Item) bool { return i.State != coverage.Unprotected }
		for _, n := range r.Namespaces {
			if claims || f.output == "json" || f.output == "yaml" { // else the table counts them
				n.Covered, n.Claims, n.Workloads = 0, slices.DeleteFunc(
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
	err := f.print(f.output, document.NewCoverage(shown), func(l *lines) {
		hidden := []string{"KIND", "NAME"}
		if claims {
			hidden = []string{"CLAIMS"}
		}
		columns := slices.DeleteFunc(
			chooseColumns(coverageColumns, f.output == "wide", "why"),
			func(c view.Column) bool { return slices.Contains(hidden, c.Title()) },
		)
		var rows [][]string
		for _, n := range shown.Namespaces {
			items := []coverage.Item{n.Item}
			if all := slices.Concat(n.Claims, n.Workloads); claims && len(all) > 0 {
				items = all
			}
			for _, i := range items {
				cells := coverageCells(i, n, r.At)
				rows = append(rows, mapSlice(columns, func(c view.Column) string { return cells[c.Title()] }))
			}
		}
		t := f.newTable()
		l.err = t.print(columns, rows)
	})
	if err != nil || f.output == "json" || f.output == "yaml" {
		return err
	}
	if len(r.LeftOut) > 0 {
		fmt.Fprintf(f.streams.ErrOut, "Left out: %s; name them to see them.\n", human.List(r.LeftOut, 5))
	}
	for _, what := range r.NotSeen {
		printErrorLines(f.streams.ErrOut, fmt.Errorf("not read: %s", what))
	}
	return nil
}

var coverageStates = map[coverage.State]string{
	coverage.Covered:     "covered",
	coverage.Warned:      "! warning",
	coverage.Undecided:   "?",
	coverage.Unprotected: "! unprotected",
}

func coverageCells(i coverage.Item, n coverage.Namespace, now time.Time) map[string]string {
	return map[string]string{
		"NAMESPACE": cmp.Or(
			i.Namespace,
			i.Name,
		),
		"KIND":        i.Kind,
		"NAME":        i.Name,
		"STATE":       coverageStates[i.State],
		"NEWEST COPY": i.Backup,
		"AGE":         human.Age(i.At, now),
		"NEXT": cmp.Or(
			human.In(i.Next, now),
			"never",
		),
		"CLAIMS":            n.ClaimsCovered(),
		"LAST COPY EXPIRES": i.Expiry(now),
		"REASON":            string(i.Reason),
		"WHY":               strings.TrimSuffix(i.Sentence, "."),
	}
}
