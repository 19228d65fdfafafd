package cmd

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/internal/view/text"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/watch"
)

const firstSnapshotTimeout = 30 * time.Second // for a silent cluster, without --request-timeout

type getFlags struct {
	output, selector, sortBy string
	follow, noHeaders, stuck bool
}

func newGetCommand(c *cli) *cobra.Command {
	var f getFlags
	cmd := &cobra.Command{
		Use:   "get [KIND] [NAME...]",
		Short: "Print backups, restores, schedules, storage, repositories or deletions, with verdicts",
		Long: `Print backups, restores, schedules, storage, repositories or deletions, with verdicts.

Without a kind, get prints backups and restores. Names are KIND/NAME, or the kind once
and then the names. kubectl's words for the kinds work too (bak, rst, bsl, vsl,
backuprepositories, deletebackuprequests, backups.velero.io).

Schedules, storage, repositories and deletions are ok, unusual or alarming; NOTE gives
the reason.

-o json, -o yaml and jsonpath templates print a list ({.items[*].phase}), or the
object itself if you name one ({.phase}).

--sort-by takes a column (also one of -o wide), or a JSONPath into what -o json
prints of one or into Velero's own resource. Rows without a value come first.

Without -n, get looks at one Velero, and says on standard error if there are others;
-A prints those of all namespaces.

With several contexts, the rows of a table come in the order of the contexts. A
context that has not answered within a second comes later, when it answers, so that
it does not hold up the others. JSON, YAML, a sorted table and one in a pipe wait for
all contexts.

In a pipe a table has all its columns with all their text. On a narrow terminal, veltui
drops empty columns first, then, for jobs, WARNINGS, ERRORS, AGE, DONE, ETA, PROGRESS,
KIND and CONTEXT, in this order, as the dashboard does, and shortens long names in the
middle.
It keeps NAMESPACE, NAME, STAGE or STATE, VERDICT, NOTE, the column of --sort-by and, with -o wide, all columns.

With -w, veltui prints every change until you interrupt it: one line per change in
a table, which keeps to the columns that it began with, one JSON document per line with
-o json. A new verdict is also a change, whether time has passed or a Velero server has
stopped. veltui watches all that verdicts depend on,
and looks closer at jobs that do not move, as 'veltui explain' does; with -o name it
watches only what you ask for.`,
		Example: `  # All jobs
  veltui get

  # Follow one restore until interrupted
  veltui get restore/shop-restore-2 -w

  # Names of the stuck and orphaned jobs
  veltui get --stuck -o name

  # The same with a template
  veltui get -o jsonpath='{.items[?(@.stuck==true)].name}'

  # Of every Velero in the cluster
  veltui get -A

  # The phase of one restore
  veltui get restore/shop-restore-2 -o jsonpath='{.phase}'

  # Which schedules need attention
  veltui get schedules --sort-by verdict

  # The backups of one schedule, the oldest first
  veltui get backups -l velero.io/schedule-name=nightly --sort-by .metadata.creationTimestamp

  # Every change as JSON lines
  veltui get -w -o json`,
		SuggestFor: []string{"list", "ls", "watch"},
		RunE: func(cmd *cobra.Command, args []string) error {
			selected, err := parseSelection(args, true)
			if err != nil {
				return err
			}
			if err := f.narrowSelection(&selected); err != nil {
				return err
			}
			order, err := parseSortBy(f.sortBy, selected.thingKind)
			if err != nil {
				return err
			}
			p, err := f.newRowPrinter(c, selected, order)
			if err != nil {
				return err
			}
			switch {
			case f.follow && c.connector.allNamespaces:
				return usageErrorf("-w follows one Velero: name its namespace with -n instead of --%s", allNamespacesFlag)
			case f.follow:
				return c.followRows(cmd.Context(), selected, order, p)
			}
			return c.runGet(cmd.Context(), selected, order, p)
		},
	}
	c.addAllNamespacesFlag(cmd)
	addOutputFlag(cmd, &f.output, "table", "wide", "json", "yaml", "name", "jsonpath=TEMPLATE")
	cmd.Flags().BoolVarP(&f.follow, "watch", "w", false, "Print every change until interrupted")
	cmd.Flags().
		StringVarP(&f.selector, "selector", "l", "", "Only those whose labels match, such as velero.io/schedule-name=nightly")
	cmd.Flags().
		StringVar(&f.sortBy, "sort-by", "", "Sort by a column such as age, or by a JSONPath such as "+
			".metadata.creationTimestamp")
	cmd.Flags().BoolVar(&f.noHeaders, "no-headers", false, "Print the table without its titles")
	cmd.Flags().BoolVar(&f.stuck, "stuck", false, "Only jobs that are stuck or orphaned")
	cmd.ValidArgsFunction = c.completeKindAndName(true, knownKinds...)
	completeFlag(
		cmd,
		"sort-by",
		func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			selected, _ := parseSelection(args, true)
			return completeFixed(columnNames(selected.thingKind))(cmd, args, typed)
		},
	)
	return cmd
}

func (f getFlags) narrowSelection(s *selection) (err error) {
	s.stuck = f.stuck
	names := human.JoinNames(mapSlice(s.names, func(n jobRef) string { return n.name }), maxNamesInError)
	switch {
	case s.stuck && s.thingKind != nil:
		return usageErrorf("--stuck is about jobs; of %s, see the column VERDICT", s.thingKind.Aliases[0])
	case s.stuck && names != "":
		return usageErrorf(
			"--stuck cannot be combined with names, here %s; 'veltui explain' says whether one job is stuck",
			names,
		)
	case f.selector != "" && names != "":
		return usageErrorf("--selector cannot be combined with names, here %s; leave one of them out", names)
	case f.selector != "":
		if s.labels, err = labels.Parse(f.selector); err != nil {
			return usageErrorf("--selector %s: %w", f.selector, err)
		}
	}
	return nil
}

const maxNamesInError = 3

// newTable returns a table that fits the terminal; in a pipe it has all columns, like kubectl's.
func (c *stdio) newTable() text.Table {
	t := text.Table{Writer: c.streams.Out, Ellipsis: draw.ASCIIGlyphs.Ellipsis}
	if columns, _, err := term.GetSize(int(c.stdout.Fd())); err == nil {
		t.Width = columns
	}
	if c.detectTerminal().utf8 {
		t.Ellipsis = draw.UnicodeGlyphs.Ellipsis
	}
	return t
}

// runGet prints the selected jobs of all targets, which it reads concurrently; if one target fails, only its jobs are
// missing.
func (c *cli) runGet(ctx context.Context, selected selection, order *sortOrder, p rowPrinter) error {
	targets, places, err := c.resolveTargets(ctx)
	if err != nil {
		return err
	}
	q, need := selected.buildQuery(), p.dataNeeds.mergeNeeds(order.neededData())
	q.EndedVolumes, q.SkipVerdicts = need.volumes, !need.verdicts && !selected.stuck
	if selected.thingKind != nil {
		if q.EndedVolumes = false; q.SkipVerdicts {
			q.ExtraKinds, q.KindsByJob = selected.thingKind.ExtraKinds, nil
		}
	}
	log := c.openLogger(ctx)
	add, stop := c.stdio.startCountMeter()
	stopCounts := sync.OnceFunc(stop)
	defer stopCounts()
	q.Progress = add
	answers, came := make([]targetAnswer, len(targets)), make(chan int, len(targets))
	for i, t := range targets {
		go func() {
			answers[i] = c.forTarget(t).readRows(ctx, t, selected, q, log)
			came <- i
		}()
	}
	late := time.NewTimer(partialAnswerDelay)
	defer late.Stop()
	var answered []targetAnswer
	for some := range batchAnswers(len(targets), came, late.C, need.waitForAll) {
		stopCounts()
		if err := context.Cause(ctx); err != nil {
			return err
		}
		var rows []listRow
		var malformed []document.Malformed
		for _, i := range some {
			switch a := answers[i]; {
			case a.err == nil:
				answered, rows, malformed = append(
					answered,
					a,
				), append(
					rows,
					a.rows...), append(
					malformed,
					a.malformedDocuments()...)
			case len(targets) == 1:
				return a.err
			}
		}
		rows, err := order.sortRows(rows)
		if err != nil {
			return err
		}
		if p.table != nil {
			p.table.Grows = len(some) < len(targets)
		}
		if err := p.printRows(rows, malformed, places); err != nil {
			return err
		}
	}
	for _, a := range answered {
		c.printRemarks(a, selected, places)
	}
	for i, t := range targets {
		if err := answers[i].err; err != nil {
			printErrorLines(c.stdio.streams.ErrOut, fmt.Errorf("%s: %w", places.describeTarget(t.context, t.namespace), err))
		}
	}
	switch err := checkFoundAnywhere(answered, selected); {
	case err != nil && places.isEmpty():
		return fmt.Errorf("%w%s", err, c.connector.suggestName(ctx, selected, rowRefs(answered[0].rows)))
	case err != nil:
		return err
	case len(answered) < len(targets):
		return exitError{ExitError, nil}
	}
	return nil
}

const partialAnswerDelay = time.Second // after this time, the answers so far are printed

// batchAnswers yields the indexes of the n contexts as they answer: all in their order if they answer before late or
// whole is set, or else first those in time, then each of the others.
func batchAnswers(n int, answers <-chan int, late <-chan time.Time, whole bool) iter.Seq[[]int] {
	return func(yield func([]int) bool) {
		var held []int
		isLate := false
		for came := 0; came < n; {
			select {
			case i := <-answers:
				came++
				held = append(held, i)
			case <-late:
				isLate = true
			}
			if len(held) == 0 || came < n && (whole || !isLate) {
				continue
			}
			slices.Sort(held)
			if !yield(held) {
				return
			}
			held = nil
		}
	}
}

func (c *cli) readRows(
	ctx context.Context, t target, selected selection, q watch.Query, log *slog.Logger,
) targetAnswer {
	if t.err != nil {
		return targetAnswer{err: t.err}
	}
	snap, err := c.readCompleteSnapshot(ctx, q, log)
	if err != nil {
		return targetAnswer{err: err}
	}
	assessed, err := c.assessSnapshot(ctx, snap, selected)
	if err != nil {
		return targetAnswer{err: err}
	}
	context := c.connector.flags.CurrentContext
	return targetAnswer{context: context, assessed: assessed, rows: selected.buildRows(context, assessed)}
}

func (c *cli) printRemarks(a targetAnswer, selected selection, places rowPlaces) {
	var warn malformedWarnings
	place, where := places.describeTarget(a.context, a.assessed.Snapshot.Namespace), ""
	if place != "" {
		warn.prefix = place + ": "
	}
	if places.contexts {
		where = " of context " + a.context
	}
	c.noteOtherVeleros(a.assessed.Snapshot, place)
	warn.printNewWarnings(c.stdio, a.assessed.Snapshot)
	if len(a.rows) == 0 && len(selected.names) == 0 {
		fmt.Fprintf(
			c.stdio.streams.ErrOut,
			"No %s found in namespace %s%s.\n",
			selected.kindText(),
			a.assessed.Snapshot.Namespace,
			where,
		)
	}
}

func checkFoundAnywhere(answered []targetAnswer, selected selection) error {
	var found []jobRef
	var namespaces []string
	for _, a := range answered {
		found = append(found, rowRefs(a.rows)...)
		namespaces = appendUnique(namespaces, a.assessed.Snapshot.Namespace)
	}
	if len(answered) == 0 {
		return nil
	}
	return selected.checkFound(found, strings.Join(namespaces, ", "))
}

func selectJobs(jobs []*job.Job, selected selection) []*job.Job {
	return slices.DeleteFunc(slices.Clone(jobs), func(j *job.Job) bool { return !selected.matchesJob(j) })
}
