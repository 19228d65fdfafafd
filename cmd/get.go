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

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/watch"
)

const firstSnapshotTimeout = 30 * time.Second // for a silent cluster, without --request-timeout

type getFlags struct {
	output, selector, sortBy string
	follow, noHeaders, stuck bool
}

func newGet(c *cli) *cobra.Command {
	var f getFlags
	cmd := &cobra.Command{
		Use:   "get [backups|restores] [NAME...]",
		Short: "Print backups and restores with stage, progress, ETA and verdict",
		Long: `Print backups and restores with stage, progress, ETA and verdict.

Without a kind, get prints both. Names are KIND/NAME, or the kind once and then the
names. kubectl's other words for the kinds work too (bak, rst, backups.velero.io).

-o json and -o yaml print a list, even of a single job. A jsonpath template is
applied to this list too: {.items[*].phase}. If you ask for one job by its name,
it also finds the job's fields at the top: {.phase}.

--sort-by takes a column (also one of -o wide), or a JSONPath into what -o json
prints of a job or into Velero's own resource. Jobs without a value come first.

With several contexts, the rows of a table come in the order of the contexts. A
context that has not answered within a second comes later, when it answers, so that
it does not hold up the others. JSON, YAML, a sorted table and one in a pipe wait for
all contexts.

In a pipe a table has all its columns with all their text. On a narrow terminal, veltui
drops first the columns in which no job has anything, then DONE, WARNINGS, AGE, ETA,
ERRORS, PROGRESS, KIND and CONTEXT, in this order, and shortens long names in the middle.
It keeps NAME, STAGE, VERDICT, the column of --sort-by and, with -o wide, all columns.

With -w, veltui prints every change until you interrupt it: one line per change in
a table, which keeps to the columns that it began with, one JSON document per line with
-o json. A verdict that becomes another one is a change as well, be it because time
passes or because a Velero server goes away. veltui watches all that verdicts depend on,
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

  # The phase of one restore
  veltui get restore/shop-restore-2 -o jsonpath='{.phase}'

  # The backups of one schedule, the oldest first
  veltui get backups -l velero.io/schedule-name=nightly --sort-by .metadata.creationTimestamp

  # Every change as JSON lines
  veltui get -w -o json`,
		SuggestFor: []string{"list", "ls", "watch"},
		RunE: func(cmd *cobra.Command, args []string) error {
			selected, err := parseSelection(args)
			if err != nil {
				return err
			}
			if err := f.narrow(&selected); err != nil {
				return err
			}
			order, err := parseSortBy(f.sortBy)
			if err != nil {
				return err
			}
			p, err := f.printer(c, selected, order)
			if err != nil {
				return err
			}
			if f.follow {
				return c.follow(cmd.Context(), selected, order, p)
			}
			return c.get(cmd.Context(), selected, order, p)
		},
	}
	cmd.Flags().StringVarP(&f.output, "output", "o", "table", "table, wide, json, yaml, name or jsonpath=TEMPLATE")
	cmd.Flags().BoolVarP(&f.follow, "watch", "w", false, "Print every change until interrupted")
	cmd.Flags().StringVarP(&f.selector, "selector", "l", "", "Only jobs whose labels match, such as velero.io/schedule-name=nightly")
	cmd.Flags().StringVar(&f.sortBy, "sort-by", "", "Sort by a column such as age, or by a JSONPath such as .metadata.creationTimestamp")
	cmd.Flags().BoolVar(&f.noHeaders, "no-headers", false, "Print the table without its titles")
	cmd.Flags().BoolVar(&f.stuck, "stuck", false, "Only jobs that are stuck or orphaned")
	cmd.ValidArgsFunction = c.completeJobs(true)
	completeFlag(cmd, "sort-by", fixed(columnNames()))
	return cmd
}

func (f getFlags) narrow(s *selection) (err error) {
	s.stuck = f.stuck
	names := human.List(mapSlice(s.names, func(n jobName) string { return n.name }), maxNamesInError)
	switch {
	case s.stuck && names != "":
		return usagef("--stuck cannot be combined with names, here %s; 'veltui explain' says whether one job is stuck", names)
	case f.selector != "" && names != "":
		return usagef("--selector cannot be combined with names, here %s; leave one of them out", names)
	case f.selector != "":
		if s.labels, err = labels.Parse(f.selector); err != nil {
			return usagef("--selector %s: %w", f.selector, err)
		}
	}
	return nil
}

const maxNamesInError = 3

// newTable fits the terminal; in a pipe it has all columns, as kubectl's.
func (c *stdio) newTable() table {
	t := table{w: c.streams.Out, glyphs: &draw.ASCII}
	if columns, _, err := term.GetSize(int(c.stdout.Fd())); err == nil {
		t.width = columns
	}
	if c.terminal().utf8 {
		t.glyphs = &draw.Unicode
	}
	return t
}

// get prints the selected jobs of all contexts, asked at once; one that fails costs its own jobs only.
func (c *cli) get(ctx context.Context, selected selection, order *sortBy, p printer) error {
	contexts, err := c.contexts()
	if err != nil {
		return err
	}
	several := c.allContexts || len(contexts) > 1
	q, need := selected.query(), p.parts.and(order.needs())
	q.Volumes, q.NoVerdict = need.volumes, !need.verdicts && !selected.stuck
	log := c.logging(ctx)
	add, stop := c.startCounts()
	stopCounts := sync.OnceFunc(stop)
	defer stopCounts()
	q.Progress = add
	answers, came := make([]clusterJobs, len(contexts)), make(chan int, len(contexts))
	for i, name := range contexts {
		go func() {
			answers[i] = c.forContext(name, "").jobs(ctx, selected, q, log)
			came <- i
		}()
	}
	late := time.NewTimer(lateAfter)
	defer late.Stop()
	var answered []clusterJobs
	for some := range asTheyCome(len(contexts), came, late.C, need.whole) {
		stopCounts()
		if err := context.Cause(ctx); err != nil {
			return err
		}
		var clusters []clusterJobs
		for _, i := range some {
			switch err := answers[i].err; {
			case err == nil:
				clusters = append(clusters, answers[i])
			case !several:
				return err
			}
		}
		answered = append(answered, clusters...)
		sorted, err := order.sorted(clusters)
		if err != nil {
			return err
		}
		if p.table != nil {
			p.table.grows = len(some) < len(contexts)
		}
		if err := p.list(sorted, several); err != nil {
			return err
		}
	}
	for _, f := range answered {
		c.remarks(f, selected, several)
	}
	for i, name := range contexts {
		if err := answers[i].err; err != nil {
			printErrorLines(c.streams.ErrOut, fmt.Errorf("context %s: %w", name, err))
		}
	}
	switch err := missingEverywhere(answered, selected); {
	case err != nil && !several:
		return fmt.Errorf("%w%s", err, c.nearName(ctx, selected, answered[0].jobs))
	case err != nil:
		return err
	case len(answered) < len(contexts):
		return exitError{ExitError, nil}
	}
	return nil
}

const lateAfter = time.Second // contexts that have answered are printed

// asTheyCome yields those of n contexts that have answered: all in their order if they answer
// before late or all are needed, else those in time, and then each of the others.
func asTheyCome(n int, answers <-chan int, late <-chan time.Time, whole bool) iter.Seq[[]int] {
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

func (c *cli) jobs(ctx context.Context, selected selection, q watch.Query, log *slog.Logger) clusterJobs {
	snap, err := c.read(ctx, q, log)
	if err != nil {
		return clusterJobs{err: err}
	}
	assessed, err := c.assess(ctx, snap, selected)
	if err != nil {
		return clusterJobs{err: err}
	}
	return selected.clusterJobs(c.flags.CurrentContext, assessed)
}

func (c *cli) remarks(f clusterJobs, selected selection, several bool) {
	var warn malformedWarnings
	where := ""
	if several {
		where, warn.where = " of context "+f.context, "context "+f.context+": "
	}
	warn.print(c, f.assessed.Snapshot)
	if len(f.jobs) == 0 && len(selected.names) == 0 {
		fmt.Fprintf(c.streams.ErrOut, "No %s found in namespace %s%s.\n", selected.what(), f.assessed.Snapshot.Namespace, where)
	}
}

func missingEverywhere(clusters []clusterJobs, selected selection) error {
	var jobs []*job.Job
	var namespaces []string
	for _, f := range clusters {
		jobs = append(jobs, f.jobs...)
		namespaces = appendNew(namespaces, f.assessed.Snapshot.Namespace)
	}
	if len(clusters) == 0 {
		return nil
	}
	return selected.missing(jobs, strings.Join(namespaces, ", "))
}

func pick(jobs []*job.Job, selected selection) []*job.Job {
	return slices.DeleteFunc(slices.Clone(jobs), func(j *job.Job) bool { return !selected.matches(j) })
}

func (s selection) clusterJobs(context string, a *assess.Assessment) clusterJobs {
	jobs := pick(a.Snapshot.Jobs, s)
	if s.stuck {
		jobs = slices.DeleteFunc(jobs, func(j *job.Job) bool { return !a.Of(j).Troubled() })
	}
	return clusterJobs{context: context, jobs: jobs, assessed: a}
}
