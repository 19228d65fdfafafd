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
	"github.com/veltui/veltui/internal/view/report"
	"github.com/veltui/veltui/watch"
)

type reportFlags struct {
	output      string
	file        string
	noArtifacts bool
}

func newReport(c *cli) *cobra.Command {
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
	addOutput(cmd, &f.output, "markdown", "json")
	cmd.Flags().StringVar(&f.file, "file", "", "Write a new file in place of standard output")
	cmd.Flags().BoolVar(&f.noArtifacts, "no-artifacts", false, "Do not download from the object store")
	c.addCAFile(cmd, cmd.Flags())
	completeFiles(cmd, "file")
	return c.forJob(cmd, func(ctx context.Context, selected selection) error { return c.report(ctx, selected, f) })
}

func (c *cli) report(ctx context.Context, selected selection, f reportFlags) error {
	if f.file != "" {
		if _, err := os.Lstat(f.file); err == nil {
			return fmt.Errorf("%s is there already; veltui overwrites no file", f.file)
		}
	}
	// Pods tell the version, which an ended job needs for nothing else.
	examined, judged, err := c.examineJob(ctx, selected, watch.Pods)
	if err != nil {
		return err
	}
	made, err := c.reportOn(ctx, examined.Assessment, judged, f)
	c.awaitRequests()
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
		_, err := c.streams.Out.Write(text)
		return err
	}
	if err := safefile.WriteNew(f.file, text); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	fmt.Fprintf(c.streams.ErrOut, "The report is in %s.\n", f.file)
	return nil
}

const reportPatience = 90 * time.Second // for artifacts and logs; what is missing is named

type reporting struct {
	cli     *cli
	flags   reportFlags
	noStore error // why nothing stored is read
	report.Input
}

// reportOn makes the report, and names in it what cannot be read. A moved context fails it.
func (c *cli) reportOn(
	ctx context.Context,
	assessed *assess.Assessment,
	judged assess.Judged,
	f reportFlags,
) (report.Document, error) {
	conn, err := c.connect()
	if err != nil {
		return report.Document{}, err
	}
	r := &reporting{
		cli:   c,
		flags: f,
		Input: report.Input{Veltui: version, Context: conn.Context, Assessed: assessed, Judged: judged},
	}
	switch {
	case c.isReadOnly():
		r.noStore = errors.New("read-only: to read it, veltui would have to create a DownloadRequest in the cluster")
	case f.noArtifacts:
		r.noStore = errors.New("veltui was started with --no-artifacts")
	}
	r.annotations()
	r.audit(conn.Context)
	reading, stop := context.WithTimeout(ctx, reportPatience)
	defer stop()
	r.log(reading)
	r.plans(ctx, elsewhere(conn.Request)) // after the log: the verdict knows of all that it says
	r.stored(reading)
	r.Now = r.Assessed.Environment.Now
	r.Limits = limitsOf(judged.Job, r.Assessed.Environment)
	if ctx.Err() != nil {
		return report.Document{}, context.Cause(ctx)
	}
	if err := conn.Session.Moved(); err != nil { // after which little could be seen
		return report.Document{}, err
	}
	return report.Make(r.Input), nil
}

func (r *reporting) missing(what string, err error) {
	r.NotSeen = append(r.NotSeen, report.NotSeen{What: what, Why: err.Error()})
}

func (r *reporting) plans(ctx context.Context, reach action.Request) {
	f := explainFlags{artifacts: r.noStore == nil, isReport: true}
	l, err := r.cli.closeLook(ctx, r.Assessed, r.Judged, cluster.CloserLook{}, f)
	r.Assessed, r.Judged = l.assessed, l.Judged
	if err != nil {
		r.missing("a closer look at the job", err)
	}
	j, v, plan := l.Job, l.Verdict, l.plan
	left := func(text string, commands ...string) {
		r.Left = append(r.Left, report.Step{Text: text, Commands: commands})
	}
	subject := j.Kind.Word() + "/" + j.Name
	command := func(args ...string) string { return reach.Reach().Veltui(j.Namespace, args...) }
	if plan != nil && plan.Effect() != action.Refuse {
		left(
			fmt.Sprintf("Finalize it, which moves it from %s to %s: %s", dash(plan.From), plan.To, plan.Why),
			command("finalize", subject),
		)
	}
	if v.Advice != "" {
		left(v.Advice)
	}
	if plan != nil && plan.Effect() == action.Refuse {
		left(human.Stop(human.Capital(plan.Objection())) + " " + plan.Advice)
	}
	for i := range l.remedies {
		if w := &l.remedies[i]; w.Action != action.Finalize {
			left("Another option: "+w.Title+". "+w.Why, w.Commands...)
		}
	}
	switch {
	case j.Terminal():
		r.afterwards(left, command)
	case v.State() == diagnosis.Progressing:
		left("Wait: it moves.", command("wait", subject))
	case v.State() == diagnosis.Waiting && len(r.Left) == 0:
		left("Wait: it goes on by itself.", command("wait", subject))
	}
}

func (r *reporting) afterwards(left func(text string, commands ...string), command func(args ...string) string) {
	j, subject := r.Judged.Job, r.Judged.Kind.Word()+"/"+r.Judged.Name
	if j.Errors+j.Warnings > 0 {
		left("Decide about the errors and warnings below.", command("results", subject, "--all"))
	}
	switch {
	case j.Phase == velero.PhaseFailedValidation:
		left(
			"Velero does not look at it again. Correct what the validation error says, and create a new " + j.Kind.Word() + ".",
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

// deeds are veltui's marks on a resource, by what their names begin with.
var deeds = map[string]string{
	"finalized": "finalized it",
	"woken":     "had Velero look at it again",
	"cancelled": "cancelled volumes",
}

// annotations reports changes by veltui, and reads no other annotation.
func (r *reporting) annotations() {
	if r.Judged.Object == nil {
		return
	}
	notes := r.Judged.Object.GetAnnotations()
	for _, mark := range slices.Sorted(maps.Keys(deeds)) {
		by := notes["veltui.io/"+mark+"-by"]
		if by == "" {
			continue
		}
		at, _ := time.Parse(time.RFC3339, notes["veltui.io/"+mark+"-at"]) // zero for what is no time
		text := deeds[mark] + human.Clause(", from phase ", notes["veltui.io/"+mark+"-from"])
		r.Done = append(r.Done, report.Deed{At: document.Moment{Time: at.Truncate(time.Second)}, By: by, Text: text,
			Reason: notes["veltui.io/"+mark+"-reason"], Source: "annotation veltui.io/" + mark})
	}
}

const maxDeeds = 40

// audit tells what the audit log on this machine says of the job. Patches stay there. Entries
// of one attempt are one deed, also if the first are lost.
func (r *reporting) audit(in string) {
	const log = "veltui's audit log on this machine"
	type deed struct {
		report.Deed
		sent, end string
		isDryRun  bool // and changed nothing
	}
	var deeds []*deed
	attempts := map[string]*deed{}
	dir, err := r.cli.auditDir()
	var damage action.LogDamage
	if err == nil {
		damage, err = action.ReadLog(dir, func(e action.Entry) {
			if e.UID != string(r.Judged.UID) || e.Context != "" && e.Context != in {
				return
			}
			d := attempts[e.Attempt]
			if d == nil {
				d = &deed{Deed: auditedDeed(e), sent: "and nothing was sent"}
				attempts[e.Attempt], deeds = d, append(deeds, d)
			}
			switch at := e.Time.UTC().Format(time.RFC3339); e.Event {
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
					dash(e.Phase),
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
		r.Done = append(r.Done, d.Deed)
	}
	if err != nil {
		r.missing(log, err)
	}
	if damage.Begins {
		r.missing("the beginning of "+log, errors.New("it is too large to be read whole"))
	}
	if damage.Lines > 0 {
		r.missing("part of "+log, fmt.Errorf("%s damaged", human.Count(damage.Lines, "line")))
	}
}

// auditedDeed is an attempt by its first entry.
func auditedDeed(e action.Entry) report.Deed {
	text := fmt.Sprintf("began to %s it, from phase %s to %s", cmp.Or(e.Action, "change"), dash(e.From), dash(e.To))
	if e.Event != "begin" {
		text += " (the entry of its beginning is lost)"
	}
	return report.Deed{
		At:     document.Moment{Time: e.Time.UTC().Truncate(time.Second)},
		By:     e.By,
		Text:   text,
		Reason: e.Reason,
		Source: "audit log of veltui on the machine of this report",
	}
}

func (r *reporting) stored(ctx context.Context) {
	j := r.Judged.Job
	reader := r.cli.inspected()
	m := reader.Messages(ctx, r.Judged, func(ctx context.Context, j *job.Job) (artifact.Results, error) {
		if r.noStore != nil {
			return artifact.Results{}, r.noStore
		}
		return reader.Results(ctx, j)
	})
	r.Sections, r.MessagesComplete, r.MessagesNote = m.Sections, m.Complete, m.Note
	if m.Err != nil {
		r.missing("the stored errors and warnings", m.Err)
	}
	if m.Log != nil && m.LogErr == nil { // else the log has been named
		r.Sections = m.Log.Sections
		r.MessagesNote = strings.TrimSpace(m.Note + " " + m.Log.Summary())
	}
	if j.Operations.Attempted == 0 || !r.Judged.ListsStored() {
		return
	}
	err := r.noStore
	if err == nil {
		r.Operations, err = reader.Operations(ctx, j)
	}
	if err != nil {
		r.missing("the list of item operations", err)
	}
}

func (r *reporting) log(ctx context.Context) {
	j := r.Judged.Job
	decisive := &report.Decisive{}
	r.Log = decisive
	reader := r.cli.inspected().LogReader(j.Namespace, r.noStore)
	err := reader.Read(ctx, logs.Query{Job: j}, logs.Output{
		Line: func(e logs.Entry) error {
			switch {
			case e.Level == logs.Mark:
				r.missing("part of the log", errors.New(logs.Parse(string(e.Raw)).Text))
			case !e.More:
				decisive.Take(e.Parse())
			}
			return nil
		},
		Origin: func(from logs.Origin) {
			decisive.From = "the log that Velero stored with the " + j.Kind.Word()
			if !from.Stored {
				decisive.From = "the logs of Velero's server, as far as its pods still have them"
			}
			if from.NotStored != nil {
				r.missing("the stored log", from.NotStored)
			}
		},
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		r.NotSeen = slices.DeleteFunc(
			r.NotSeen,
			func(n report.NotSeen) bool { return n.What == "the stored log" },
		) // the error says so, too
		r.missing("the log", cluster.WithRights(err, j.Namespace))
	}
}
