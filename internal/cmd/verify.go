package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/verify"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/watch"
)

type verifyCommand struct {
	*cli
	output       string
	all, compare bool
}

func newVerify(c *cli) *cobra.Command {
	f := verifyCommand{cli: c}
	cmd := &cobra.Command{
		Use:   "verify restore/NAME",
		Short: "Print what of a restore is in the cluster, and what is not",
		Long: `Print what a restore was to bring back, and whether it is in the cluster now: what
failed, what Velero does not list, what was deleted since, and what existed before
and differs from the backup. Of each volume it says whether its data came back, or
why it is empty. What did not come back is printed first.

veltui reads what Velero stored of the restore and of its backup; for this you need
the right to create downloadrequests.velero.io. Then it lists the metadata of the
kinds and namespaces that the restore concerns. What you may not list is named, and
never counts as lost. 'veltui rbac artifacts --with checks' prints the right to list all
kinds.

With --compare it also reads the backup once more and what is there as a whole, and
names the objects that are not as the restore was to make them: emptied, made again
with other content, changed or scaled, with the fields that differ, never their values.
What Kubernetes, controllers and Velero write by themselves does not count. Without it,
Services, claims and others that existed and that Velero finds different, whatever they
hold, are named as not compared.

Exit codes: 0 if everything came back, 6 if something did not or --compare finds other
content, 1 if veltui did not look at everything or compare it, or data may still come.`,
		Example: `  veltui verify restore/shop-restore-2

  # With the names of all items that did not come back
  veltui verify restore/shop-restore-2 --all

  # Also whether what came back still holds what the backup does
  veltui verify restore/shop-restore-2 --compare

  # The Secrets that did not come back
  veltui verify restore/shop-restore-2 -o json |
    jq -r '.resources[] | select(.resource == "secrets") | .items[] | select(.lost) | .name'

  # In a script, once the restore has ended
  veltui verify restore/shop-restore-2 > verify.txt || mail -s 'restore incomplete' on-call < verify.txt`,
	}
	addOutput(cmd, &f.output, "text", "json", "yaml")
	cmd.Flags().
		BoolVar(&f.all, "all", false, "Name all items that did not come back, and those that are there in another way")
	cmd.Flags().
		BoolVar(&f.compare, "compare", false, "Compare the content of what came back with the backup, and name the "+
			"fields that differ")
	c.addCAFile(cmd, cmd.Flags())
	return c.forJob(cmd, f.run, restoreKind)
}

func (f *verifyCommand) run(ctx context.Context, selected selection) error {
	if selected.names[0].kind != job.Restore {
		return usagef("%s: only a restore can be verified: give restore/NAME", selected.names[0])
	}
	assessed, judged, err := f.judgedJob(ctx, selected, watch.Pods)
	if err != nil {
		return err
	}
	conn, err := f.connect()
	if err != nil {
		return err
	}
	cluster := f.inspected()
	cluster.Indexes = f.openIndexes(conn)
	say, done := f.startSteps("reading what was to come back")
	var far func(string)
	if f.compare {
		far = func(text string) { say("comparing contents: " + text) }
	}
	result, verifyErr := cluster.Verify(ctx, judged.Job, assessed, func(p live.Progress) {
		say(lookedFor(p))
		if p.Done == p.Total {
			say("looking at claims and volumes")
		}
	}, far)
	done()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(verifyErr, verify.ErrNotStarted):
		return exitError{
			ExitRefused,
			fmt.Errorf("restore %s, phase %s: %w", judged.Name, dash(judged.Phase), verifyErr),
		}
	case verifyErr != nil && result.Count == nil:
		return fmt.Errorf("verifying restore %s: %w", judged.Name, verifyErr)
	}
	r := verified{Judged: judged, Result: result}
	whole := document.NewVerification(judged, assessed.Volumes(judged.Job), &result)
	switch err := f.print(f.output, whole, func(l *lines) { r.print(l, f.all) }); {
	case err != nil:
		return err
	case verifyErr != nil:
		return fmt.Errorf("verifying restore %s: %w", judged.Name, verifyErr)
	case result.Lost()+result.Changed() > 0:
		return exitError{ExitRefused, nil}
	case !result.Settled():
		return exitError{ExitError, nil}
	}
	return nil
}

type verified struct {
	assess.Judged
	verify.Result
}

const namedItems = 5 // of a kind and state, without --all

func (r verified) print(l *lines, all bool) {
	l.add("restore %s/%s, phase %s: %s", r.Namespace, r.Name, dash(r.Phase), r.Summary())
	if r.SoFar {
		l.add("It has not ended: this is how it is so far.")
	}
	r.volumes(l, all)
	for _, k := range r.Kinds {
		r.findings(l, k, all)
	}
	r.changes(l, all)
	r.counts(l)
	l.clause("\n", r.VolumeWords())
	var unseen []string
	for _, not := range r.NotSeen {
		unseen = append(unseen, not.Resource+human.Clause(" in ", not.Namespace)+": "+not.Why)
	}
	if n := len(unseen) - maxUnseen; n > 0 && !all {
		unseen = append(unseen[:maxUnseen], fmt.Sprintf("and %d more (--all)", n))
	}
	l.list("unchecked:", unseen)
	l.list("notes:", r.Notes)
}

const maxUnseen = 20

// stateList is a titled list by states; only the first of each are named, unless all are wanted.
type stateList struct {
	*lines
	title string
	all   bool
	named map[string]int
}

func (s *stateList) add(state, text, more string) {
	if s.named == nil {
		s.named = map[string]int{}
		s.lines.add("\n%s", s.title)
	}
	switch s.named[state]++; {
	case s.all || s.named[state] <= namedItems:
		s.lines.add("  %-16s %s", state, text)
	case s.named[state] == namedItems+1:
		s.lines.add("  %-16s %s", state, more)
	}
}

// volumes prints the volumes that need a look, and unbound claims; with all also the others.
func (r verified) volumes(l *lines, all bool) {
	list := stateList{lines: l, title: "volumes", all: all}
	add := func(state, text string) { list.add(state, text, "and more (--all)") }
	quiet := []verify.DataState{verify.DataFailed, verify.DataRestored, verify.DataExisted, verify.DataKept}
	for _, v := range r.Result.Volumes {
		if !all && slices.Contains(quiet, v.State) {
			continue
		}
		add(v.State.Words(), v.String()+human.Clause(": ", v.Why))
	}
	for _, d := range r.Result.Data {
		add("data not moved", d.Target+": "+d.Words())
	}
	for _, c := range r.Claims {
		add("not bound", fmt.Sprintf("%s/%s is %s: %s", c.Namespace, c.Name, dash(c.Phase), c.Why))
	}
}

// findings prints the items that did not come back; with all also those that differ.
func (r verified) findings(l *lines, k verify.Kind, all bool) {
	list := stateList{lines: l, title: k.Name, all: all}
	quiet := []verify.State{verify.Restored, verify.LeftOut, verify.Existed}
	for _, i := range k.Items {
		switch {
		case i.Content.Lost():
			list.add(
				i.Content.Words(),
				itemWords(i),
				fmt.Sprintf("and %d more (--all)", k.Content[i.Content]-namedItems),
			)
		case i.State.Lost() || all && !slices.Contains(quiet, i.State):
			list.add(i.State.Words(), itemWords(i), fmt.Sprintf("and %d more (--all)", k.Count[i.State]-namedItems))
		}
	}
}

// changes prints what is there with another content than the restore made, and what was not compared.
func (r verified) changes(l *lines, all bool) {
	list := stateList{lines: l, title: "other content", all: all}
	for _, k := range r.Kinds {
		for _, i := range k.Items {
			if slices.Contains(verify.Contents, i.Content) && !i.Content.Lost() {
				list.add(
					i.Content.Words(),
					k.Name+" "+itemWords(i),
					fmt.Sprintf("and %d more (--all)", r.Content[i.Content]-namedItems),
				)
			}
		}
	}
}

func itemWords(i verify.Item) string {
	return human.Namespaced(
		i.Namespace,
		i.Name,
	) + human.Parens(
		human.Clause("from ", i.From),
	) + human.Clause(
		": ",
		i.Reason(),
	)
}

func (r verified) counts(l *lines) {
	width := len("RESOURCE")
	for _, k := range r.Kinds {
		if k.Wanted() > 0 {
			width = max(width, min(len(k.Name), maxResource))
		}
	}
	if r.Wanted() > 0 {
		l.add("\n%-*s  %8s  %7s  %7s  %s", width, "RESOURCE", "EXPECTED", "PRESENT", "MISSING", "OF THESE")
	}
	for _, k := range r.Kinds {
		wanted := k.Wanted()
		if wanted == 0 {
			continue
		}
		var of []string
		for _, state := range verify.States {
			if n := k.Count[state]; n > 0 && state != verify.Restored && state != verify.LeftOut {
				of = append(of, fmt.Sprintf("%d %s", n, state.Words()))
			}
		}
		for _, c := range verify.Contents {
			if n := k.Content[c]; n > 0 {
				of = append(of, fmt.Sprintf("%d %s", n, c.Words()))
			}
		}
		l.add(
			"%s",
			strings.TrimRight(
				fmt.Sprintf(
					"%-*s  %8d  %7d  %7d  %s",
					width,
					human.Shorten(k.Name, maxResource),
					wanted,
					k.There(),
					k.Lost(),
					strings.Join(of, ", "),
				),
				" ",
			),
		)
	}
	if n := r.Count[verify.LeftOut]; n > 0 {
		l.add("The restore's filters left out %s of the backup.", human.Count(n, "item"))
	}
}

const maxResource = 50
