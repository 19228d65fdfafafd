package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/safefile"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/stored/logs"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/internal/view/remedy"
	"github.com/veltui/veltui/internal/view/report"
	"github.com/veltui/veltui/watch"
)

type reportFlags struct {
	output      string
	file        string
	noArtifacts bool
}

func newReportCommand(c *cli) *cobra.Command {
	var f reportFlags
	cmd := &cobra.Command{
		Use:   "report KIND/NAME",
		Short: "Make one document about a backup or restore, to hand over",
		Long: `Make one document about a backup or restore, to hand over to somebody who was not
there: what, since when, why, what was done and by whom, and what is left to do.

It has the verdict with its evidence, the timeline, errors and warnings in groups, the
log's decisive lines, volumes and operations, the limits in force, versions, and what
could not be looked at. It has no Secret, and veltui takes out what looks like a
credential: queries of addresses, tokens, keys, passwords, certificates. It does hold
names of your resources, and what Velero logged.

report changes nothing. To read what is stored, it makes DownloadRequests and removes
them again; with --read-only or --no-artifacts it does not, and the document says so.

--file writes a new file that only you can read, and never overwrites one.`,
		Example: `  # As Markdown, for a ticket
  veltui report restore/crm-old --file crm-old.md

  # For a program
  veltui report backup/nightly-20261120 -o json`,
	}
	addOutputFlag(cmd, &f.output, "markdown", "json")
	cmd.Flags().StringVar(&f.file, "file", "", "Write a new file in place of standard output")
	cmd.Flags().BoolVar(&f.noArtifacts, "no-artifacts", false, "Do not download from the object store")
	c.addStoreCAFlag(cmd, cmd.Flags())
	completeFiles(cmd, "file")
	return c.requireOneJob(
		cmd,
		func(ctx context.Context, selected selection) error { return c.runReport(ctx, selected, f) },
	)
}

func (c *cli) runReport(ctx context.Context, selected selection, f reportFlags) error {
	if f.file != "" {
		if _, err := os.Lstat(f.file); err == nil {
			return fmt.Errorf("%s is there already; veltui overwrites no file", f.file)
		}
	}
	// The pods tell Velero's version, which an ended job needs for nothing else.
	examined, judged, err := c.examineJob(ctx, selected, watch.Pods)
	if err != nil {
		return err
	}
	made, err := c.buildReport(ctx, examined.Assessment, judged, f)
	c.connector.awaitRequestCleanup()
	if err != nil {
		return err
	}
	text := []byte(made.Markdown())
	if f.output == "json" {
		if text, err = document.Encode(made, "  "); err != nil {
			return err
		}
	}
	if f.file == "" {
		_, err := c.stdio.streams.Out.Write(text)
		return err
	}
	if err := safefile.WriteNew(f.file, text); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	fmt.Fprintf(c.stdio.streams.ErrOut, "The report is in %s.\n", f.file)
	return nil
}

const reportTimeout = 90 * time.Second // for artifacts and logs; the report names what is missing

type reportBuilder struct {
	cli             *cli
	flags           reportFlags
	storeSkipReason error // why no stored data is read
	messagesUnread  bool  // the results may have more than the report
	report.Input
}

// buildReport makes the report, which names everything that could not be read. It fails if the context has moved.
func (c *cli) buildReport(
	ctx context.Context,
	assessed *assess.Assessment,
	judged assess.JudgedJob,
	f reportFlags,
) (report.Document, error) {
	conn, err := c.connector.openConnection()
	if err != nil {
		return report.Document{}, err
	}
	r := &reportBuilder{
		cli:   c,
		flags: f,
		Input: report.Input{VeltuiVersion: version, Context: conn.Context, Assessment: assessed, Job: judged},
	}
	switch {
	case c.settings.isReadOnly():
		r.storeSkipReason = errors.New("read-only: to read it, veltui would have to create a DownloadRequest in the cluster")
	case f.noArtifacts:
		r.storeSkipReason = errors.New("veltui was started with --no-artifacts")
	}
	r.addAnnotations()
	r.addAuditLog(conn.Context)
	reading, stop := context.WithTimeout(ctx, reportTimeout)
	defer stop()
	r.addDecisiveLog(reading)
	r.addPlans(ctx, portableRequest(conn.Request)) // after the log, so that the verdict includes it
	r.addStoredMessages(reading)
	r.addNextSteps(portableRequest(conn.Request)) // after the messages, so that it leads to no command without an answer
	r.Now = r.Assessment.World.Now
	r.Limits = r.Assessment.ListLimits(judged.Job)
	if ctx.Err() != nil {
		return report.Document{}, context.Cause(ctx)
	}
	if err := conn.Session.CheckKubeconfig(); err != nil { // the context has moved, so little was readable
		return report.Document{}, err
	}
	return report.New(r.Input), nil
}

func (r *reportBuilder) addUnchecked(what string, err error) {
	r.Unchecked = append(r.Unchecked, report.Unchecked{What: what, Why: err.Error()})
}

func (r *reportBuilder) addPlans(ctx context.Context, reach action.Request) {
	f := explainFlags{artifacts: r.storeSkipReason == nil, isReport: true}
	l, err := r.cli.buildExplanation(ctx, r.Assessment, r.Job, cluster.CloserLook{}, f)
	r.Assessment, r.Job = l.assessed, l.JudgedJob
	if err != nil {
		r.addUnchecked("a closer look at the job", err)
	}
	j, v, plan := l.Job, l.Verdict, l.finalizePlan
	left := func(text string, commands ...string) {
		r.Remaining = append(r.Remaining, report.Step{Text: text, Commands: commands})
	}
	subject := j.Kind.Noun() + "/" + j.Name
	command := func(args ...string) string { return reach.ClusterAccess().VeltuiCommand(j.Namespace, args...) }
	if plan != nil && plan.Effect() != action.EffectRefuse {
		left("Finalize it, which moves it "+remedy.TransitionText(plan), command("finalize", subject))
	}
	v.Names.Access = reach.ClusterAccess()
	if next := v.Next(); next.Text != "" {
		left(next.Text, next.Commands...)
	}
	if plan != nil && plan.Effect() == action.EffectRefuse {
		left(human.EndSentence(human.Capitalize(plan.FinalizeRefusal())) + " " + plan.Advice)
	}
	for i, other := range remedy.OtherPlans(l.remedies, action.Finalize) {
		left(human.Capitalize(remedy.OptionTitle(i+1))+": "+other.Title+". "+other.EvidenceText, other.Commands...)
	}
}

// addNextSteps adds what is left to do besides the plans.
func (r *reportBuilder) addNextSteps(reach action.Request) {
	j, v, subject := r.Job.Job, r.Job.Verdict, r.Job.Kind.Noun()+"/"+r.Job.Name
	left := func(text string, commands ...string) {
		r.Remaining = append(r.Remaining, report.Step{Text: text, Commands: commands})
	}
	command := func(args ...string) string { return reach.ClusterAccess().VeltuiCommand(j.Namespace, args...) }
	switch {
	case j.IsTerminal():
		r.addEndedSteps(left, command)
	case v.State() == diagnosis.Progressing:
		left("Wait: it moves.", command("wait", subject))
	case v.State() == diagnosis.Waiting && len(r.Remaining) == 0:
		left("Wait: it goes on by itself.", command("wait", subject))
	}
}

// addEndedSteps adds what is left to do about a job that has ended.
func (r *reportBuilder) addEndedSteps(left func(text string, commands ...string), command func(args ...string) string) {
	j, subject := r.Job.Job, r.Job.Kind.Noun()+"/"+r.Job.Name
	switch {
	case j.Errors+j.Warnings == 0:
	case len(r.Sections) > 0 || r.messagesUnread:
		left("Decide about the errors and warnings below.", command("results", subject, "--all"))
	default: // the results have nothing
		left("Find the errors that the status counts in Velero's log.", command("logs", subject, "--level", "error"))
	}
	switch {
	case j.Phase == velero.PhaseFailedValidation:
		left(
			"Velero does not look at it again. Correct what the validation error says, and create a new " + j.Kind.Noun() + ".",
		)
	case j.Kind == job.Restore && j.Phase == velero.PhaseFailed:
		left("Velero does not go on with it. Remove the cause, and create a new restore.")
	case j.Kind == job.Backup && j.Phase == velero.PhaseFailed:
		left("Velero does not go on with it. Remove the cause, and create a new backup: do not rely on this one.")
	}
	if j.Kind == job.Restore && j.Phase != velero.PhaseFailedValidation {
		left("See what came back, and what did not.", command("verify", subject))
	}
}

// deedTexts describes veltui's marks on a resource, by the prefixes of their names.
var deedTexts = map[string]string{
	"finalized": "finalized it",
	"woken":     "had Velero look at it again",
	"cancelled": "cancelled volumes",
}

// addAnnotations adds the changes by veltui, and reads no other annotation.
func (r *reportBuilder) addAnnotations() {
	if r.Job.Object == nil {
		return
	}
	notes := r.Job.Object.GetAnnotations()
	for _, mark := range slices.Sorted(maps.Keys(deedTexts)) {
		by := notes["veltui.io/"+mark+"-by"]
		if by == "" {
			continue
		}
		at, _ := time.Parse(time.RFC3339, notes["veltui.io/"+mark+"-at"]) // zero if it is no time
		text := deedTexts[mark] + human.Prefixed(", from phase ", notes["veltui.io/"+mark+"-from"])
		r.PastActions = append(
			r.PastActions,
			report.PastAction{At: document.Moment{Time: at.Truncate(time.Second)}, By: by, Text: text,
				Reason: notes["veltui.io/"+mark+"-reason"], Source: "annotation veltui.io/" + mark},
		)
	}
}

const maxDeeds = 40

// addAuditLog adds what the audit log on this machine records about the job. Patches are not copied. The entries of
// one attempt become one deed, even if the first entries are lost.
func (r *reportBuilder) addAuditLog(in string) {
	const log = "veltui's audit log on this machine"
	type deed struct {
		report.PastAction
		sent, end string
		isDryRun  bool // and nothing was changed
	}
	var deeds []*deed
	attempts := map[string]*deed{}
	dir, err := r.cli.files.auditDir()
	var damage action.AuditLogDamage
	if err == nil {
		damage, err = action.ReadAuditLog(dir, func(e action.AuditEntry) {
			if e.UID != string(r.Job.UID) || e.Context != "" && e.Context != in {
				return
			}
			d := attempts[e.Attempt]
			if d == nil {
				d = &deed{PastAction: newAuditDeed(e), sent: "and nothing was sent"}
				attempts[e.Attempt], deeds = d, append(deeds, d)
			}
			switch at := human.MomentUTC(e.Time); e.Event {
			case "send":
				d.sent = "and it is unknown whether it was applied"
			case "landed":
				d.sent = "but it was applied at " + at
			case "end":
				d.isDryRun = e.DryRun && e.Sent == action.NotSent
				d.end = fmt.Sprintf(
					"; %s at %s, %s. Phase then: %s. %s",
					e.State,
					at,
					cmp.Or(string(e.Sent), "nothing sent"),
					orDash(e.Phase),
					cmp.Or(e.Error, e.Message),
				)
				d.end = strings.TrimRight(d.end, ". ")
				d.Text += d.end
			}
		})
	}
	deeds = slices.DeleteFunc(deeds, func(d *deed) bool { return d.isDryRun })
	for _, d := range deeds[max(0, len(deeds)-maxDeeds):] {
		if d.end == "" {
			d.Text += "; its end is not recorded, " + d.sent
		}
		r.PastActions = append(r.PastActions, d.PastAction)
	}
	if err != nil {
		r.addUnchecked(log, err)
	}
	if damage.IsTruncated {
		r.addUnchecked("the beginning of "+log, errors.New("it is too large to be read whole"))
	}
	if damage.BadLines > 0 {
		r.addUnchecked("part of "+log, fmt.Errorf("%s damaged", human.Count(damage.BadLines, "line")))
	}
}

// newAuditDeed returns the deed of an attempt, from its first entry.
func newAuditDeed(e action.AuditEntry) report.PastAction {
	text := fmt.Sprintf("began to %s it, from phase %s to %s", cmp.Or(e.Action, "change"), orDash(e.From), orDash(e.To))
	if e.Event != "begin" {
		text += " (the entry of its beginning is lost)"
	}
	return report.PastAction{
		At:     document.Moment{Time: e.Time.UTC().Truncate(time.Second)},
		By:     e.By,
		Text:   text,
		Reason: e.Reason,
		Source: "audit log of veltui on the machine of this report",
	}
}

func (r *reportBuilder) addStoredMessages(ctx context.Context) {
	j := r.Job.Job
	reader := r.cli.newCluster()
	m := reader.FetchMessages(ctx, r.Job, cluster.MessageSources{
		FetchResults: func(ctx context.Context, j *job.Job) (artifact.Results, error) {
			if r.storeSkipReason != nil {
				return artifact.Results{}, r.storeSkipReason
			}
			return reader.FetchResults(ctx, j)
		},
		FetchOperations: reader.FetchOperations,
	})
	r.Sections, r.MessagesComplete, r.MessagesNote = m.Sections, m.IsComplete, m.Note
	if r.messagesUnread = m.Err != nil; r.messagesUnread {
		r.addUnchecked("the stored errors and warnings", m.Err)
	}
	if m.Log != nil && m.LogErr == nil { // else the log itself is listed as unchecked
		r.Sections = m.Log.Sections
		r.MessagesNote = strings.TrimSpace(m.Note + " " + m.Log.Summary())
	}
	if j.Operations.Attempted == 0 || !r.Job.HasStoredLists() {
		return
	}
	err := r.storeSkipReason
	if err == nil {
		r.Operations, err = reader.FetchOperations(ctx, j)
	}
	if err != nil {
		r.addUnchecked("the list of item operations", err)
	}
}

func (r *reportBuilder) addDecisiveLog(ctx context.Context) {
	j := r.Job.Job
	decisive := &report.DecisiveLines{}
	r.Log = decisive
	reader := r.cli.newCluster().NewLogReader(j.Namespace, r.storeSkipReason)
	err := reader.Read(ctx, logs.Query{Job: j}, logs.Output{
		OnLine: func(e logs.Entry) error {
			switch {
			case e.Level == logs.Notice:
				r.addUnchecked("part of the log", errors.New(logs.Parse(string(e.Raw)).Text))
			case !e.IsContinuation:
				decisive.AddLine(e.ParseLine())
			}
			return nil
		},
		OnOrigin: func(from logs.Origin) {
			decisive.From = "the log that Velero stored with the " + j.Kind.Noun()
			if !from.Stored {
				decisive.From = "the logs of Velero's server, as far as its pods still have them"
			}
			if from.NotStored != nil {
				r.addUnchecked("the stored log", from.NotStored)
			}
		},
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		r.Unchecked = slices.DeleteFunc(
			r.Unchecked,
			func(n report.Unchecked) bool { return n.What == "the stored log" },
		) // the error says so too
		r.addUnchecked("the log", cluster.WithLogRightsAdvice(err, j.Namespace))
	}
}
