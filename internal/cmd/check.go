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
	output, minSeverity      string
	ignore                   []string
	nagios, omitAcknowledged bool
	coverage                 bool
	criticalOnly             bool // leaves out warnings
	timeout                  time.Duration
}

// The default limits of a check's duration. Nagios ends a check after 60 s (service_check_timeout), and then has no
// result.
const (
	checkTimeout  = 5 * time.Minute
	nagiosTimeout = 50 * time.Second
)

func newCheckCommand(c *cli) *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:   "check",
		Short: "List what needs attention and exit by its severity, for cron, Nagios and CI",
		Long: `List what needs attention, one finding per line, worst first. If all is well, check
prints nothing. With --acknowledged, it prints how many findings it leaves out.

The findings are those of the dashboard's first screen; docs/reasons.md explains each
reason. One cause is one finding.

Without -n, check looks at one Velero, and says on standard error if the cluster has
others; -A checks all, and its exit code is that of the worst.

Exit codes: 0 nothing, 3 warnings, 6 something is critical, 1 not everything could be
read, unless something is critical; check names what and which right is missing.
What is not read within --timeout counts as not read. With --nagios that is 50s, as
Nagios ends a check after 60s; NRPE does after 10s unless its own -t is raised. What was
read of backups is kept, so that the next check with --coverage gets further.
With --nagios: 0, 1 warnings, 2 critical, 3 not everything could be read, or a flag or
the configuration is wrong.`,
		Example: `  # In cron, which mails what is printed
  veltui check --context 'prod-*'

  # Every Velero in the cluster
  veltui check -A

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
			if err := f.checkUsage(cmd); err != nil {
				return err
			}
			if f.coverage && c.connector.allNamespaces {
				return usageErrorf("--coverage is about one Velero: name its namespace with -n instead of --%s", allNamespacesFlag)
			}
			return c.runCheck(cmd.Context(), f)
		},
	}
	addOutputFlag(cmd, &f.output, "text", "wide", "json", "yaml")
	c.addAllNamespacesFlag(cmd)
	cmd.Flags().
		StringVar(&f.minSeverity, "min-severity", "warning", "Leave out findings that are less severe: warning or critical")
	cmd.Flags().StringSliceVar(&f.ignore, "ignore", nil, "Leave out findings with this `REASON`; repeatable")
	cmd.Flags().BoolVar(&f.nagios, "nagios", false, "Print one line and exit as Nagios plugins do")
	cmd.Flags().
		BoolVar(&f.omitAcknowledged, "acknowledged", false,
			"Leave out what was acknowledged in the dashboard on this machine")
	cmd.Flags().
		BoolVar(&f.coverage, "coverage", false, "Read too what backups protect, as veltui coverage does, with its rights")
	cmd.Flags().
		DurationVar(&f.timeout, "timeout", checkTimeout, "How long to read, of each context; 0 for no limit (default "+
			"with --nagios 50s)")
	completeFlag(cmd, "min-severity", completeFixed([]string{"warning", "critical"}))
	completeFlag(cmd, "ignore", completeFixed(findingReasons()))
	return cmd
}

func findingReasons() []string {
	return slices.Sorted(
		slices.Values(mapSlice(assess.FindingReasons(), func(r diagnosis.Reason) string { return r.String() })),
	)
}

func (f *checkFlags) checkUsage(cmd *cobra.Command) error {
	if f.nagios && cmd.Flags().Changed("output") {
		return usageErrorf("--nagios prints one line; leave -o %s out", f.output)
	}
	if f.criticalOnly = f.minSeverity == assess.Critical.String(); !f.criticalOnly &&
		f.minSeverity != assess.Warning.String() {
		return usageErrorf("--min-severity %s: must be warning or critical", f.minSeverity)
	}
	switch {
	case f.timeout < 0:
		return usageErrorf("--timeout %s: must not be negative", f.timeout)
	case f.nagios && !cmd.Flags().Changed("timeout"):
		f.timeout = nagiosTimeout
	}
	known := findingReasons()
	for i, reason := range f.ignore {
		at := slices.IndexFunc(known, func(r string) bool { return strings.EqualFold(r, reason) })
		if at < 0 {
			return usageErrorf("--ignore %s: there is no such reason; the reasons are %s", reason, strings.Join(known, ", "))
		}
		f.ignore[i] = known[at]
	}
	return nil
}

// excludesFinding reports whether the flags leave out a finding, acknowledged or not.
func (f *checkFlags) excludesFinding(found assess.Finding) bool {
	return f.criticalOnly && found.Severity < assess.Critical || slices.Contains(f.ignore, found.Reason.String())
}

// clusterCheck is the result of checking one target.
type clusterCheck struct {
	context      string
	namespace    string          // of --all-namespaces
	snapshot     *watch.Snapshot // nil if nothing could be read
	findings     []placedFinding
	omittedCount int // the acknowledged findings left out by --acknowledged
	unchecked    []document.Unread
	warning      error // why acknowledgements are not used
	err          error
}

// newInstallation returns the document about the Velero that was checked.
func (c *clusterCheck) newInstallation() document.Installation {
	others := append([]string{}, c.snapshot.OtherNamespaces...) // not null
	return document.Installation{Context: c.context, Namespace: c.snapshot.Namespace, OtherNamespaces: others}
}

// placedFinding is a finding of a target.
type placedFinding struct {
	assess.Finding
	context      string
	velero       string // the namespace that was checked
	acknowledged bool
}

func (c *cli) runCheck(ctx context.Context, f checkFlags) error {
	targets, places, err := c.resolveTargets(ctx)
	if err != nil {
		return err
	}
	log := c.openLogger(ctx)
	answers := make([]clusterCheck, len(targets))
	seen, unused := c.files.loadAcknowledgements()
	var all sync.WaitGroup
	for i, t := range targets {
		all.Go(func() { answers[i] = c.forTarget(t).checkTarget(ctx, t, f, seen, log) })
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
	c.stdio.printWarnings(slices.DeleteFunc(unused, func(err error) bool { return err == nil }))
	d, found := newCheckDocument(answers)
	var notes []string
	for _, one := range answers {
		if one.snapshot == nil {
			continue
		}
		if note := c.connector.otherVelerosNote(one.snapshot, places.describeTarget(one.context, "")); note != "" {
			notes = append(notes, note)
		}
	}
	if f.nagios {
		counts := countFindings(d)
		summary := view.CheckSummary(counts, mapSlice(found, func(f placedFinding) assess.Finding { return f.Finding }))
		return c.stdio.printNagios(judgeCheck(d), strings.Join(append([]string{summary}, notes...), "; "), nagiosData(counts))
	}
	for _, note := range notes {
		fmt.Fprintln(c.stdio.streams.ErrOut, "note: "+note)
	}
	return c.printCheck(d, found, f.output, places)
}

// newCheckDocument returns the document about all answers, and the findings, the worst first.
func newCheckDocument(answers []clusterCheck) (document.Check, []placedFinding) {
	d := document.Check{
		Header:        document.NewHeader("Check"),
		Items:         []document.Finding{},
		Unread:        []document.Unread{},
		Installations: []document.Installation{},
	}
	var found []placedFinding
	for _, one := range answers {
		found = append(found, one.findings...)
		d.AcknowledgedLeftOut += one.omittedCount
		for _, u := range one.unchecked {
			u.Context, u.Namespace = one.context, one.namespace
			d.Unread = append(d.Unread, u)
		}
		if one.snapshot != nil {
			d.Installations = append(d.Installations, one.newInstallation())
		}
	}
	slices.SortStableFunc(found, func(a, b placedFinding) int { return assess.CompareFindings(&a.Finding, &b.Finding) })
	for _, one := range found {
		d.Items = append(d.Items, document.NewFinding(one.Finding, one.context, one.acknowledged))
		if one.Severity == assess.Critical {
			d.Critical++
		} else {
			d.Warnings++
		}
	}
	return d, found
}

// loadAcknowledgements reads the acknowledgements of all clusters.
func (c *localFiles) loadAcknowledgements() (all *acknowledgements, unused []error) {
	all, err := c.openAcknowledgements().LoadAll()
	if err != nil {
		return &acknowledgements{}, []error{acknowledgementsUnusedError(err)}
	}
	return all, nil
}

func (c *stdio) printWarnings(warnings []error) {
	for _, err := range warnings {
		fmt.Fprintln(c.streams.ErrOut, sanitize.FullLine("warning: "+err.Error()))
	}
}

func (c *cli) checkTarget(
	ctx context.Context,
	t target,
	f checkFlags,
	seen *acknowledgements,
	log *slog.Logger,
) (found clusterCheck) {
	ctx, cancel := cluster.WithTimeout(ctx, f.timeout)
	defer cancel()
	found.context, found.namespace = cmp.Or(c.connector.flags.CurrentContext, inClusterContext), t.namespace
	assessed, unread, err := c.assessTarget(ctx, t, f, log)
	if late := cluster.OutOfTimeCause(ctx); late != nil {
		unread = append(unread, document.Unread{Error: late.Error() + "; --timeout allows more"})
	}
	found.unchecked, found.err = unread, err
	if err != nil {
		found.unchecked = append(unread, document.Unread{Error: strings.Join(strings.Fields(err.Error()), " ")})
		return found
	}
	found.snapshot = assessed.Snapshot
	acknowledged, err := c.loadAcknowledgedKeys(ctx, seen)
	if err != nil {
		found.warning = fmt.Errorf("context %s: %w", found.context, err)
	}
	for _, finding := range assessed.ListFindings() {
		switch known := acknowledged[finding.Key()]; {
		case f.excludesFinding(finding):
		case known && f.omitAcknowledged:
			found.omittedCount++
		default:
			found.findings = append(found.findings, placedFinding{finding, found.context, assessed.Snapshot.Namespace, known})
		}
	}
	return found
}

// loadAcknowledgedKeys returns the keys of the cluster's acknowledged findings.
func (c *cli) loadAcknowledgedKeys(ctx context.Context, seen *acknowledgements) (map[string]bool, error) {
	conn, err := c.connector.openConnection()
	if err != nil {
		return nil, err
	}
	return c.files.openAcknowledgements().forCluster(conn).selectKeys(ctx, seen)
}

// malformedOnlyKinds are the kinds of which check reports only malformed resources. A user who may not list them
// misses nothing else.
var malformedOnlyKinds = []string{watch.SnapshotLocations, watch.DownloadRequests}

func (c *cli) assessTarget(
	ctx context.Context,
	t target,
	f checkFlags,
	log *slog.Logger,
) (*assess.Assessment, []document.Unread, error) {
	if t.err != nil {
		return nil, nil, t.err
	}
	q := watch.Query{Kinds: []string{watch.Backups, watch.Restores}, ExtraKinds: slices.Concat([]string{
		watch.Schedules, watch.StorageLocations, watch.Repositories, watch.DeleteRequests, watch.Pods}, malformedOnlyKinds)}
	needs := func(r diagnosis.Reason) bool { // a leftover is critical only if a running job waits for it
		return !f.excludesFinding(assess.Finding{Severity: assess.Warning, Reason: r})
	}
	switch {
	case needs(assess.VolumesLeftOver):
		q.KindsByJob = assess.LeftoverKinds
	case needs(assess.RunsLostData):
		q.KindsByJob = assess.NeededVolumeKinds
	}
	snap, err := c.readPartialSnapshot(ctx, q, log)
	if err != nil {
		return nil, nil, err
	}
	unread := unreadSources(snap)
	if !t.repeated { // the cluster has them once
		unread = append(unread, c.connector.addEtcdBackups(ctx, snap)...)
	}
	monitor, err := c.newMonitor(c.stdio.warnSlow(waitingForAnswerText))
	if err != nil {
		return nil, unread, err
	}
	examined := monitor.AssessOnce(ctx, snap, func(*job.Job) bool { return true }, false)
	assessed := examined.Assessment
	for _, j := range examined.Unchecked {
		unread = append(
			unread,
			document.Unread{Resource: jobRefOf(j).String(), Error: "veltui could not look closer at it"},
		)
	}
	if f.coverage {
		say, done := c.stdio.startStepMeter("looking at the cluster")
		result, err := c.newCluster().AssessCoverage(ctx, assessed, coverage.Options{}, say)
		done()
		switch {
		case err != nil && cluster.OutOfTimeCause(ctx) != nil: // the other findings remain valid
			return assessed, append(
				unread,
				document.Unread{Resource: "coverage", Error: cluster.OutOfTimeCause(ctx).Error()},
			), nil
		case err != nil:
			return nil, unread, fmt.Errorf("reading what backups protect: %w", err)
		}
		assessed.Coverage = &coverage.Reading[coverage.Result]{Result: result}
		for _, what := range result.Unchecked {
			unread = append(unread, document.Unread{Resource: "coverage", Error: what})
		}
	}
	return assessed, unread, nil
}

// addEtcdBackups adds OpenShift's etcd backups to a snapshot, if the cluster has them, and returns what could not be
// read.
func (c *connector) addEtcdBackups(ctx context.Context, snap *watch.Snapshot) (unread []document.Unread) {
	cluster, err := c.readEtcd(ctx)
	switch {
	case errors.Is(err, watch.ErrNoEtcdBackups):
		return nil
	case err != nil:
		return []document.Unread{{Resource: etcd.ResourceBackups, Error: err.Error()}}
	}
	snap.Etcd = cluster
	for _, u := range cluster.Unchecked {
		if !u.IsMissing {
			unread = append(unread, document.Unread{Resource: u.Resource, Right: "list " + u.Resource, Error: u.Reason})
		}
	}
	return unread
}

// unreadSources returns the kinds that could not be read, without which findings may be missing.
func unreadSources(snap *watch.Snapshot) (unread []document.Unread) {
	if snap.NamespaceOrigin == watch.OriginFallback && snap.NamespaceNotice != "" {
		unread = append(unread, document.Unread{Error: snap.NamespaceNotice})
	}
	for _, s := range snap.Sources {
		u := document.Unread{Resource: s.Resource, Error: s.Err}
		switch {
		case slices.Contains(malformedOnlyKinds, s.Resource) && s.State == watch.SourceForbidden:
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

func countFindings(d document.Check) view.CheckCounts {
	return view.CheckCounts{
		Critical:            d.Critical,
		Warnings:            d.Warnings,
		Unread:              len(d.Unread),
		AcknowledgedLeftOut: d.AcknowledgedLeftOut,
	}
}

func (c *cli) printCheck(d document.Check, found []placedFinding, output string, places rowPlaces) error {
	err := c.stdio.printOutput(output, d, func(l *linePrinter) {
		columns := slices.Clone(view.FindingColumns)
		columns[0].ScreenOnly, columns[1].ScreenOnly = !places.contexts, !places.namespaces
		t := c.stdio.newTable()
		t.NoHeaders = true
		l.RecordError(t.PrintCells(columns, mapSlice(found, func(f placedFinding) []view.Cell {
			return view.FindingRow{
				Finding:      f.Finding,
				Context:      f.context,
				Velero:       f.velero,
				Acknowledged: f.acknowledged,
				Now:          c.process.clock(),
			}.Cells()
		}), output == "wide", ""))
		if len(d.Items)+d.AcknowledgedLeftOut > 0 {
			fmt.Fprintln(c.stdio.streams.ErrOut, countFindings(d))
		}
	})
	for _, u := range d.Unread {
		where := places.describeTarget(u.Context, u.Namespace)
		if where != "" {
			where += ": "
		}
		what := u.Error
		if u.Resource != "" {
			what = u.Resource + human.Prefixed(": ", u.Error)
		}
		fmt.Fprintf(
			c.stdio.streams.ErrOut,
			"incomplete: %s%s%s\n",
			where,
			what,
			human.Prefixed("; you need the right to ", u.Right),
		)
	}
	if err != nil {
		return err
	}
	return newExitError(judgeCheck(d).code)
}

// checkOutcome is a possible outcome of a check, with its exit code and the exit code of Nagios plugins (Monitoring
// Plugins Development Guidelines, Plugin Return Codes).
type checkOutcome struct {
	name             string
	code, nagiosCode int
}

var unknownOutcome = checkOutcome{"UNKNOWN", ExitError, 3}

func judgeCheck(d document.Check) checkOutcome {
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

// nagiosData returns the performance data of a check.
func nagiosData(c view.CheckCounts) string {
	return fmt.Sprintf(" | critical=%d warnings=%d unread=%d acknowledged=%d",
		c.Critical, c.Warnings, c.Unread, c.AcknowledgedLeftOut)
}

// printNagios prints the output line of a plugin. Only data follows a "|".
func (c *stdio) printNagios(o checkOutcome, text, data string) error {
	_, err := fmt.Fprintf(c.streams.Out, "VELERO %s - %s%s\n", o.name, strings.ReplaceAll(text, "|", "/"), data)
	return cmp.Or(err, newExitError(o.nagiosCode))
}

// nagiosError turns an error of check --nagios, even in flags or configuration, into the Nagios status UNKNOWN. It
// returns other errors unchanged.
func (c *stdio) nagiosError(ran *cobra.Command, args []string, err error) error {
	var coded exitError
	if err == nil || ran.Name() != "check" ||
		!slices.Contains(args, "--nagios") && !slices.Contains(args, "--nagios=true") ||
		errors.As(err, &coded) && coded.error == nil {
		return err
	}
	return c.printNagios(unknownOutcome, sanitize.String(strings.Join(strings.Fields(err.Error()), " ")), "")
}
