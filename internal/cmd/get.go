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

With several contexts, the rows of a table come in the order of the contexts. A
context that has not answered within a second comes later, when it answers, so that
it does not hold up the others. JSON, YAML, a sorted table and one in a pipe wait for
all contexts.

In a pipe a table has all its columns with all their text. On a narrow terminal, veltui
drops empty columns first, then, for jobs, DONE, WARNINGS, AGE, ETA, ERRORS, PROGRESS,
KIND and CONTEXT, in this order, and shortens long names in the middle.
It keeps NAME, STAGE or STATE, VERDICT, NOTE, the column of --sort-by and, with -o wide, all columns.

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
			if err := f.narrow(&selected); err != nil {
				return err
			}
			order, err := parseSortBy(f.sortBy, selected.things)
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
	addOutput(cmd, &f.output, "table", "wide", "json", "yaml", "name", "jsonpath=TEMPLATE")
	cmd.Flags().BoolVarP(&f.follow, "watch", "w", false, "Print every change until interrupted")
	cmd.Flags().
		StringVarP(&f.selector, "selector", "l", "", "Only those whose labels match, such as velero.io/schedule-name=nightly")
	cmd.Flags().
		StringVar(&f.sortBy, "sort-by", "", "Sort by a column such as age, or by a JSONPath such as "+
			".metadata.creationTimestamp")
	cmd.Flags().BoolVar(&f.noHeaders, "no-headers", false, "Print the table without its titles")
	cmd.Flags().BoolVar(&f.stuck, "stuck", false, "Only jobs that are stuck or orphaned")
	cmd.ValidArgsFunction = c.completeNames(true, kinds...)
	completeFlag(
		cmd,
		"sort-by",
		func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			selected, _ := parseSelection(args, true)
			return fixed(columnNames(selected.things))(cmd, args, typed)
		},
	)
	return cmd
}

func (f getFlags) narrow(s *selection) (err error) {
	s.stuck = f.stuck
	names := human.List(mapSlice(s.names, func(n jobName) string { return n.name }), maxNamesInError)
	switch {
	case s.stuck && s.things != nil:
		return usagef("--stuck is about jobs; of %s, see the column VERDICT", s.things.Words[0])
	case s.stuck && names != "":
		return usagef(
			"--stuck cannot be combined with names, here %s; 'veltui explain' says whether one job is stuck",
			names,
		)
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
	if selected.things != nil {
		if q.Volumes = false; q.NoVerdict {
			q.Also, q.Then = selected.things.Lists, nil
		}
	}
	log := c.logging(ctx)
	add, stop := c.startCounts()
	stopCounts := sync.OnceFunc(stop)
	defer stopCounts()
	q.Progress = add
	answers, came := make([]answer, len(contexts)), make(chan int, len(contexts))
	for i, name := range contexts {
		go func() {
			answers[i] = c.forContext(name, "").readRows(ctx, selected, q, log)
			came <- i
		}()
	}
	late := time.NewTimer(lateAfter)
	defer late.Stop()
	var answered []answer
	for some := range asTheyCome(len(contexts), came, late.C, need.whole) {
		stopCounts()
		if err := context.Cause(ctx); err != nil {
			return err
		}
		var rows []row
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
					a.malformed()...)
			case !several:
				return a.err
			}
		}
		rows, err := order.sorted(rows)
		if err != nil {
			return err
		}
		if p.table != nil {
			p.table.grows = len(some) < len(contexts)
		}
		if err := p.list(rows, malformed, several); err != nil {
			return err
		}
	}
	for _, a := range answered {
		c.remarks(a, selected, several)
	}
	for i, name := range contexts {
		if err := answers[i].err; err != nil {
			printErrorLines(c.streams.ErrOut, fmt.Errorf("context %s: %w", name, err))
		}
	}
	switch err := missingEverywhere(answered, selected); {
	case err != nil && !several:
		return fmt.Errorf("%w%s", err, c.nearName(ctx, selected, refs(answered[0].rows)))
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

func (c *cli) readRows(ctx context.Context, selected selection, q watch.Query, log *slog.Logger) answer {
	snap, err := c.read(ctx, q, log)
	if err != nil {
		return answer{err: err}
	}
	assessed, err := c.assess(ctx, snap, selected)
	if err != nil {
		return answer{err: err}
	}
	context := c.flags.CurrentContext
	return answer{context: context, assessed: assessed, rows: selected.rows(context, assessed)}
}

func (c *cli) remarks(a answer, selected selection, several bool) {
	var warn malformedWarnings
	where := ""
	if several {
		where, warn.where = " of context "+a.context, "context "+a.context+": "
	}
	warn.print(c, a.assessed.Snapshot)
	if len(a.rows) == 0 && len(selected.names) == 0 {
		fmt.Fprintf(
			c.streams.ErrOut,
			"No %s found in namespace %s%s.\n",
			selected.what(),
			a.assessed.Snapshot.Namespace,
			where,
		)
	}
}

func missingEverywhere(answered []answer, selected selection) error {
	var found []jobName
	var namespaces []string
	for _, a := range answered {
		found = append(found, refs(a.rows)...)
		namespaces = appendNew(namespaces, a.assessed.Snapshot.Namespace)
	}
	if len(answered) == 0 {
		return nil
	}
	return selected.missing(found, strings.Join(namespaces, ", "))
}

func pick(jobs []*job.Job, selected selection) []*job.Job {
	return slices.DeleteFunc(slices.Clone(jobs), func(j *job.Job) bool { return !selected.matches(j) })
}
