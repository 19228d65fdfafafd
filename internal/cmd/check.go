package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/assess/coverage"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/etcd"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/watch"
)

type checkFlags struct {
	output, minSeverity  string
	ignore               []string
	nagios, acknowledged bool
	coverage             bool
	critical             bool // leave out warnings
	timeout              time.Duration
}

// How long a check may take by default. Nagios ends a check after 60 s (service_check_timeout), and then has no result.
const (
	checkTimeout  = 5 * time.Minute
	nagiosTimeout = 50 * time.Second
)

func newCheck(c *cli) *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:   "check",
		Short: "List what needs attention and exit by its severity, for cron, Nagios and CI",
		Long: `List what needs attention, one finding per line, worst first. If all is well, check
prints nothing. With --acknowledged, it prints how many findings it leaves out.

The findings are those of the dashboard's first screen; docs/reasons.md explains each
reason. One cause is one finding.

Exit codes: 0 nothing, 3 warnings, 6 something is critical, 1 not everything could be
read, unless something is critical; check names what and which right is missing.
What is not read within --timeout counts as not read. With --nagios that is 50s, as
Nagios ends a check after 60s; NRPE does after 10s unless its own -t is raised. What was
read of backups is kept, so that the next check with --coverage gets further.
With --nagios: 0, 1 warnings, 2 critical, 3 not everything could be read, or a flag or
the configuration is wrong.`,
		Example: `  # In cron, which mails what is printed
  veltui check --context 'prod-*'

  # A Nagios check of what is critical
  veltui check --nagios --min-severity critical

  # Without failing runs, and without what was acknowledged in the dashboard
  veltui check --ignore LastRunFailed,FailingRepeatedly --acknowledged

  # With namespaces, claims and workloads that no backup protects
  veltui check --coverage

  # The names of the schedules that need attention
  veltui check -o json | jq -r '.items[].object | select(.kind == "schedule") | .name'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			return c.check(cmd.Context(), f)
		},
	}
	addOutput(cmd, &f.output, "text", "json", "yaml")
	cmd.Flags().
		StringVar(&f.minSeverity, "min-severity", "warning", "Leave out findings that are less severe: warning or critical")
	cmd.Flags().StringSliceVar(&f.ignore, "ignore", nil, "Leave out findings with this `REASON`; repeatable")
	cmd.Flags().BoolVar(&f.nagios, "nagios", false, "Print one line and exit as Nagios plugins do")
	cmd.Flags().
		BoolVar(&f.acknowledged, "acknowledged", false, "Leave out what was acknowledged in the dashboard on this machine")
	cmd.Flags().
		BoolVar(&f.coverage, "coverage", false, "Read too what backups protect, as veltui coverage does, with its rights")
	cmd.Flags().
		DurationVar(&f.timeout, "timeout", checkTimeout, "How long to read, of each context; 0 for no limit (default "+
			"with --nagios 50s)")
	completeFlag(cmd, "min-severity", fixed([]string{"warning", "critical"}))
	completeFlag(cmd, "ignore", fixed(findingReasons()))
	return cmd
}

func findingReasons() []string {
	return slices.Sorted(
		slices.Values(mapSlice(assess.FindingReasons(), func(r diagnosis.Reason) string { return string(r) })),
	)
}

func (f *checkFlags) check(cmd *cobra.Command) error {
	if f.nagios && cmd.Flags().Changed("output") {
		return usagef("--nagios prints one line; leave -o %s out", f.output)
	}
	if f.critical = f.minSeverity == assess.Critical.String(); !f.critical && f.minSeverity != assess.Warning.String() {
		return usagef("--min-severity %s: must be warning or critical", f.minSeverity)
	}
	switch {
	case f.timeout < 0:
		return usagef("--timeout %s: must not be negative", f.timeout)
	case f.nagios && !cmd.Flags().Changed("timeout"):
		f.timeout = nagiosTimeout
	}
	known := findingReasons()
	for i, reason := range f.ignore {
		at := slices.IndexFunc(known, func(r string) bool { return strings.EqualFold(r, reason) })
		if at < 0 {
			return usagef("--ignore %s: there is no such reason; the reasons are %s", reason, strings.Join(known, ", "))
		}
		f.ignore[i] = known[at]
	}
	return nil
}

// leavesOut reports whether the flags leave a finding out, acknowledged or not.
func (f *checkFlags) leavesOut(found assess.Finding) bool {
	return f.critical && found.Severity < assess.Critical || slices.Contains(f.ignore, string(found.Reason))
}

// checked is what was found in one cluster.
type checked struct {
	context string
	found   []foundIn
	leftOut int // acknowledged findings that --acknowledged leaves out
	unread  []document.Unread
	warning error // why acknowledgements are not used
	err     error
}

// foundIn is a finding of a context.
type foundIn struct {
	assess.Finding
	context      string
	acknowledged bool
}

func (c *cli) check(ctx context.Context, f checkFlags) error {
	contexts, err := c.contexts()
	if err != nil {
		return err
	}
	log := c.logging(ctx)
	answers := make([]checked, len(contexts))
	seen, unused := c.readAcknowledgements()
	var all sync.WaitGroup
	for i, name := range contexts {
		all.Go(func() { answers[i] = c.forContext(name, "").checkCluster(ctx, f, seen, log) })
	}
	all.Wait()
	switch {
	case context.Cause(ctx) != nil:
		return context.Cause(ctx)
	case len(answers) == 1 && answers[0].err != nil:
		return answers[0].err
	}
	for _, one := range answers {
		unused = append(unused, one.warning)
	}
	c.warn(slices.DeleteFunc(unused, func(err error) bool { return err == nil }))
	d := document.Check{Header: document.NewHeader("Check"), Items: []document.Finding{}, Unread: []document.Unread{}}
	var found []foundIn
	for _, one := range answers {
		found = append(found, one.found...)
		d.AcknowledgedLeftOut += one.leftOut
		for _, u := range one.unread {
			u.Context = one.context
			d.Unread = append(d.Unread, u)
		}
	}
	slices.SortStableFunc(found, func(a, b foundIn) int { return assess.CompareFindings(&a.Finding, &b.Finding) })
	for _, one := range found {
		d.Items = append(d.Items, document.NewFinding(one.Finding, one.context, one.acknowledged))
		if one.Severity == assess.Critical {
			d.Critical++
		} else {
			d.Warnings++
		}
	}
	if f.nagios {
		text, data := nagiosText(d)
		return c.printNagios(outcomeOfCheck(d), text, data)
	}
	return c.printCheck(d, f.output, len(contexts) > 1)
}

// readAcknowledgements reads the file for all clusters.
func (c *cli) readAcknowledgements() (all *acknowledgements, unused []error) {
	all, err := c.acknowledgedStore().Read()
	if err != nil {
		return &acknowledgements{}, []error{unusedAcknowledgements(err)}
	}
	return all, nil
}

func (c *cli) warn(warnings []error) {
	for _, err := range warnings {
		fmt.Fprintln(c.streams.ErrOut, sanitize.Whole("warning: "+err.Error()))
	}
}

func (c *cli) checkCluster(
	ctx context.Context,
	f checkFlags,
	seen *acknowledgements,
	log *slog.Logger,
) (found checked) {
	ctx, cancel := cluster.WithTimeout(ctx, f.timeout)
	defer cancel()
	assessed, unread, err := c.readFindings(ctx, f, log)
	if late := cluster.OutOfTime(ctx); late != nil {
		unread = append(unread, document.Unread{Error: late.Error() + "; --timeout allows more"})
	}
	found.context, found.unread, found.err = cmp.Or(c.flags.CurrentContext, inCluster), unread, err
	if err != nil {
		found.unread = append(unread, document.Unread{Error: strings.Join(strings.Fields(err.Error()), " ")})
		return found
	}
	acknowledged, err := c.acknowledgedIn(ctx, seen)
	if err != nil {
		found.warning = fmt.Errorf("context %s: %w", found.context, err)
	}
	for _, finding := range assessed.Attention() {
		switch known := acknowledged[finding.Key()]; {
		case f.leavesOut(finding):
		case known && f.acknowledged:
			found.leftOut++
		default:
			found.found = append(found.found, foundIn{finding, found.context, known})
		}
	}
	return found
}

// acknowledgedIn returns the keys of the cluster's findings that were acknowledged.
func (c *cli) acknowledgedIn(ctx context.Context, seen *acknowledgements) (map[string]bool, error) {
	conn, err := c.connect()
	if err != nil {
		return nil, err
	}
	return c.acknowledgedStore().forCluster(conn).keysIn(ctx, seen)
}

// readForMalformed are kinds of which check says only what Velero cannot read. Those who may not list them
// lose no more.
var readForMalformed = []string{watch.SnapshotLocations, watch.Downloads}

func (c *cli) readFindings(
	ctx context.Context,
	f checkFlags,
	log *slog.Logger,
) (*assess.Assessment, []document.Unread, error) {
	q := watch.Query{Kinds: []string{watch.Backups, watch.Restores}, Also: slices.Concat([]string{
		watch.Schedules, watch.Locations, watch.Repositories, watch.Deletions, watch.Pods}, readForMalformed)}
	if !f.leavesOut(assess.Finding{Severity: assess.Warning, Reason: assess.RunsLostData}) {
		q.Then = assess.NeedsVolumes
	}
	snap, err := c.readSources(ctx, q, log)
	if err != nil {
		return nil, nil, err
	}
	unread := append(unreadSources(snap), c.addEtcd(ctx, snap)...)
	monitor, err := c.newMonitor(c.tellSlow(waitingForAnswer))
	if err != nil {
		return nil, unread, err
	}
	examined := monitor.AssessOnce(ctx, snap, func(*job.Job) bool { return true }, false)
	assessed := examined.Assessment
	for _, j := range examined.Unseen {
		unread = append(
			unread,
			document.Unread{Resource: nameOf(j).String(), Error: "veltui could not look closer at it"},
		)
	}
	if f.coverage {
		say, done := c.startSteps("looking at the cluster")
		result, err := c.inspected().Coverage(ctx, assessed, coverage.Options{}, say)
		done()
		switch {
		case err != nil && cluster.OutOfTime(ctx) != nil: // the other findings stand
			return assessed, append(
				unread,
				document.Unread{Resource: "coverage", Error: cluster.OutOfTime(ctx).Error()},
			), nil
		case err != nil:
			return nil, unread, fmt.Errorf("reading what backups protect: %w", err)
		}
		assessed.Coverage = &coverage.Reading[coverage.Result]{Result: result}
		for _, what := range result.NotSeen {
			unread = append(unread, document.Unread{Resource: "coverage", Error: what})
		}
	}
	return assessed, unread, nil
}

// addEtcd adds OpenShift's etcd backups to a snapshot, if the cluster has them, and returns what could not be read.
func (c *cli) addEtcd(ctx context.Context, snap *watch.Snapshot) (unread []document.Unread) {
	cluster, err := c.readEtcd(ctx)
	switch {
	case errors.Is(err, watch.ErrNoEtcdBackups):
		return nil
	case err != nil:
		return []document.Unread{{Resource: etcd.Backups, Error: err.Error()}}
	}
	snap.Etcd = cluster
	for _, u := range cluster.Unseen {
		if !u.Missing {
			unread = append(unread, document.Unread{Resource: u.Resource, Right: "list " + u.Resource, Error: u.Why})
		}
	}
	return unread
}

// unreadSources names the kinds that could not be read, without which something may be missing.
func unreadSources(snap *watch.Snapshot) (unread []document.Unread) {
	if snap.NamespaceFrom == watch.FromFallback && snap.Notice != "" {
		unread = append(unread, document.Unread{Error: snap.Notice})
	}
	for _, s := range snap.Sources {
		u := document.Unread{Resource: s.Resource, Error: s.Err}
		switch {
		case slices.Contains(readForMalformed, s.Resource) && s.State == watch.SourceForbidden:
			continue
		case s.State == watch.SourceForbidden:
			u.Right = fmt.Sprintf("list %s in namespace %s", s.Resource, snap.Namespace)
		case s.State == watch.SourceMissing && s.Resource == watch.Backups:
			u.Error = "this cluster has no such kind: Velero's CRDs are not installed"
		default:
			continue
		}
		unread = append(unread, u)
	}
	return unread
}

func checkCounts(d document.Check) string {
	text := fmt.Sprintf("%d critical, %s", d.Critical, human.Count(d.Warnings, "warning"))
	if n := len(d.Unread); n > 0 {
		text += fmt.Sprintf(", %d not read", n)
	}
	if n := d.AcknowledgedLeftOut; n > 0 {
		text += fmt.Sprintf(", %d acknowledged left out", n)
	}
	return text
}

var checkColumns = []view.Column{
	{Name: "context", Rank: 1, Least: 6, Middle: true},
	{Name: "severity"},
	{Name: "object", Least: 12, Middle: true},
	{Name: "reason", Rank: 2},
	{Name: "since", Rank: 3},
	{Name: "summary", Least: 20},
}

func (c *cli) printCheck(d document.Check, output string, several bool) error {
	columns, skip := checkColumns, 0
	if !several {
		columns, skip = columns[1:], 1
	}
	err := c.print(output, d, func(l *lines) {
		rows := mapSlice(d.Items, func(f document.Finding) []string {
			summary := f.Summary + human.Clause(". Affects ", human.List(f.Affects, 3))
			if f.Acknowledged {
				summary = "(acknowledged) " + summary
			}
			row := []string{
				f.Context,
				strings.ToUpper(f.Severity),
				f.Object.Kind + "/" + f.Object.Name,
				f.Reason,
				human.Age(f.Since.Time, c.clock()),
				summary,
			}
			return row[skip:]
		})
		t := c.newTable()
		t.noHeaders = true
		l.err = t.print(columns, rows)
		if len(d.Items)+d.AcknowledgedLeftOut > 0 {
			fmt.Fprintln(c.streams.ErrOut, checkCounts(d))
		}
	})
	for _, u := range d.Unread {
		where := ""
		if several {
			where = "context " + u.Context + ": "
		}
		what := u.Error
		if u.Resource != "" {
			what = u.Resource + human.Clause(": ", u.Error)
		}
		fmt.Fprintf(
			c.streams.ErrOut,
			"incomplete: %s%s%s\n",
			where,
			what,
			human.Clause("; you need the right to ", u.Right),
		)
	}
	if err != nil {
		return err
	}
	return exitWith(outcomeOfCheck(d).code)
}

// checkOutcome is what a check may come to, with its exit code, and that of Nagios plugins (Monitoring Plugins
// Development Guidelines, Plugin Return Codes).
type checkOutcome struct {
	name         string
	code, nagios int
}

var unknownOutcome = checkOutcome{"UNKNOWN", ExitError, 3}

func outcomeOfCheck(d document.Check) checkOutcome {
	switch {
	case d.Critical > 0:
		return checkOutcome{"CRITICAL", ExitRefused, 2}
	case len(d.Unread) > 0:
		return unknownOutcome
	case d.Warnings > 0:
		return checkOutcome{"WARNING", ExitPartiallyFailed, 1}
	}
	return checkOutcome{"OK", ExitOK, 0}
}

// nagiosText sums up a check in a line, with data behind it.
func nagiosText(d document.Check) (text, data string) {
	named := mapSlice(
		d.Items,
		func(f document.Finding) string { return f.Object.Kind + "/" + f.Object.Name + " " + f.Reason },
	)
	return checkCounts(
			d,
		) + human.Clause(
			": ",
			human.List(named, 3),
		), fmt.Sprintf(
			" | critical=%d warnings=%d unread=%d acknowledged=%d",
			d.Critical,
			d.Warnings,
			len(d.Unread),
			d.AcknowledgedLeftOut,
		)
}

// printNagios prints the line of a plugin. Only data follows a |.
func (c *cli) printNagios(o checkOutcome, text, data string) error {
	_, err := fmt.Fprintf(c.streams.Out, "VELERO %s - %s%s\n", o.name, strings.ReplaceAll(text, "|", "/"), data)
	return cmp.Or(err, exitWith(o.nagios))
}

// nagiosError makes of an error of check --nagios what Nagios calls unknown, also of one in flags or configuration.
func (c *cli) nagiosError(ran *cobra.Command, args []string, err error) error {
	var coded exitError
	if err == nil || ran.Name() != "check" ||
		!slices.Contains(args, "--nagios") && !slices.Contains(args, "--nagios=true") ||
		errors.As(err, &coded) && coded.error == nil {
		return err
	}
	return c.printNagios(unknownOutcome, sanitize.String(strings.Join(strings.Fields(err.Error()), " ")), "")
}
