package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/inspect"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/restore/target"
	"github.com/veltui/veltui/restore/verify"
	"github.com/veltui/veltui/say/document"
	"github.com/veltui/veltui/watch"
)

type verifyCommand struct {
	*cli
	output string
	all    bool
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

Exit codes: 0 if everything came back, 6 if something did not, 1 if veltui could not
look at everything or if data may still come.`,
		Example: `  veltui verify restore/shop-restore-2

  # With the names of all items that did not come back
  veltui verify restore/shop-restore-2 --all

  # The Secrets that did not come back
  veltui verify restore/shop-restore-2 -o json |
    jq -r '.resources[] | select(.resource == "secrets") | .items[] | select(.lost) | .name'

  # In a script, once the restore has ended
  veltui verify restore/shop-restore-2 > verify.txt || mail -s 'restore incomplete' on-call < verify.txt`,
	}
	cmd.Flags().StringVarP(&f.output, "output", "o", "text", "text, json or yaml")
	cmd.Flags().BoolVar(&f.all, "all", false, "Name all items that did not come back, and those that are there in another way")
	c.addCAFile(cmd.Flags())
	return c.forJob(cmd, f.run, job.Restore)
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
	cluster.Indexes = f.openIndexes(conn.Config)
	v := &inspect.Verifier{Cluster: cluster, Items: &inspect.Items{Stored: &inspect.Artifacts{Cluster: cluster}, Backups: &inspect.Backups{Cluster: cluster}}}
	say, done := f.startSteps("reading what was to come back")
	result, verifyErr := v.Verify(ctx, judged.Job, assessed, func(p target.Progress) {
		say(lookedFor(p))
		if p.Done == p.Total {
			say("looking at claims and volumes")
		}
	})
	done()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(verifyErr, verify.ErrNotStarted):
		return exitError{ExitRefused, fmt.Errorf("restore %s, phase %s: %w", judged.Name, dash(judged.Phase), verifyErr)}
	case verifyErr != nil && result.Count == nil:
		return fmt.Errorf("verifying restore %s: %w", judged.Name, verifyErr)
	}
	r := verified{Judged: judged, Result: result}
	switch err := f.print(f.output, document.NewVerification(judged, assessed.Volumes(judged.Job), &result), func(l *lines) { r.print(l, f.all) }); {
	case err != nil:
		return err
	case verifyErr != nil:
		return fmt.Errorf("verifying restore %s: %w", judged.Name, verifyErr)
	case result.Lost() > 0:
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

var stateTitles = map[verify.State]string{
	verify.Failed: "failed", verify.Missing: "missing", verify.Gone: "gone", verify.Deleting: "being deleted",
	verify.Differs: "existed, differs", verify.NotLookedAt: "not looked at", verify.MadeAnew: "made again",
	verify.Passing: "comes and goes", verify.Existed: "existed", verify.Restored: "restored", verify.LeftOut: "left out",
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
	r.counts(l)
	l.clause("\n", r.VolumeWords())
	var unseen []string
	for _, not := range r.NotSeen {
		unseen = append(unseen, not.Resource+human.Clause(" in ", not.Namespace)+": "+not.Why)
	}
	if n := len(unseen) - maxUnseen; n > 0 && !all {
		unseen = append(unseen[:maxUnseen], fmt.Sprintf("and %d more (--all)", n))
	}
	l.list("not looked at, and so not known:", unseen)
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
		add(dataTitles[v.State], v.String()+human.Clause(": ", v.Why))
	}
	for _, d := range r.Result.Data {
		add("data not moved", d.Target+": "+d.Words())
	}
	for _, c := range r.Claims {
		add("not bound", fmt.Sprintf("%s/%s is %s: %s", c.Namespace, c.Name, dash(c.Phase), c.Why))
	}
}

var dataTitles = map[verify.DataState]string{
	verify.DataEmpty: "without data", verify.DataFailed: "failed", verify.DataUnknown: "not known", verify.DataWaiting: "waiting",
	verify.DataLeftOut: "left out", verify.DataExisted: "existed", verify.DataKept: "kept", verify.DataRestored: "restored",
}

// findings prints the items that did not come back; with all also those that differ.
func (r verified) findings(l *lines, k verify.Kind, all bool) {
	list := stateList{lines: l, title: k.Name, all: all}
	quiet := []verify.State{verify.Restored, verify.LeftOut, verify.Existed}
	for _, i := range k.Items {
		if i.State.Lost() || all && !slices.Contains(quiet, i.State) {
			list.add(stateTitles[i.State], itemWords(i), fmt.Sprintf("and %d more (--all)", k.Count[i.State]-namedItems))
		}
	}
}

func itemWords(i verify.Item) string {
	name := i.Name
	if i.Namespace != "" {
		name = i.Namespace + "/" + name
	}
	if i.From != "" {
		name += " (from " + i.From + ")"
	}
	return name + human.Clause(": ", i.Why)
}

func (r verified) counts(l *lines) {
	width := len("RESOURCE")
	for _, k := range r.Kinds {
		if k.Wanted() > 0 {
			width = max(width, min(len(k.Name), maxResource))
		}
	}
	if r.Wanted() > 0 {
		l.add("\n%-*s  %6s  %6s  %8s  %s", width, "RESOURCE", "WANTED", "THERE", "NOT BACK", "OF THESE")
	}
	for _, k := range r.Kinds {
		wanted := k.Wanted()
		if wanted == 0 {
			continue
		}
		var of []string
		for _, state := range verify.States {
			if n := k.Count[state]; n > 0 && state != verify.Restored && state != verify.LeftOut {
				of = append(of, fmt.Sprintf("%d %s", n, stateTitles[state]))
			}
		}
		l.add("%s", strings.TrimRight(fmt.Sprintf("%-*s  %6d  %6d  %8d  %s", width, human.Shorten(k.Name, maxResource), wanted, k.There(), k.Lost(), strings.Join(of, ", ")), " "))
	}
	if n := r.Count[verify.LeftOut]; n > 0 {
		l.add("The restore's filters left out %s of the backup.", human.Count(n, "item"))
	}
}

const maxResource = 50
