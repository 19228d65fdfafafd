package cmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/veltui/veltui/internal/view/describe"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/watch"
)

func newDescribeCommand(c *cli) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "describe KIND/NAME",
		Short: "Print every setting and count of a job, schedule, location, repository or deletion",
		Long: `Print every setting and count of a job, schedule, location, repository or deletion.

Of a backup or restore, describe prints what 'velero backup describe --details' and 'velero restore describe
--details' print of the object itself, and what they leave out: the failure reason,
hooks of restores, and fields that Velero cannot read. It reads only the cluster: it
makes no DownloadRequest, and needs no right to the object store.

In the text, (default) marks what the resource does not say; the value is what Velero
then does.`,
		Example: `  veltui describe backup/nightly-20261120
  veltui describe restore crm-old
  veltui describe restore/crm-old -o json

  # A schedule's recent runs side by side
  veltui describe schedule/nightly`,
	}
	addOutputFlag(cmd, &output, "text", "json", "yaml")
	return c.requireOneJob(cmd, func(ctx context.Context, selected selection) error {
		if selected.thingKind != nil {
			return c.describeThing(ctx, selected, output)
		}
		return c.describeJob(ctx, selected, output)
	}, knownKinds...)
}

func (c *cli) describeThing(ctx context.Context, selected selection, output string) error {
	found := c.readRows(ctx, target{}, selected, selected.buildQuery(), c.openLogger(ctx))
	if found.err != nil {
		return found.err
	}
	c.noteOtherVeleros(found.assessed.Snapshot, "")
	if err := selected.checkFound(rowRefs(found.rows), found.assessed.Snapshot.Namespace); err != nil {
		return fmt.Errorf("%w%s", err, c.connector.suggestName(ctx, selected, rowRefs(found.rows)))
	}
	r := found.rows[0]
	data := describe.Document{Header: document.NewHeader("Description"), Sections: r.thing.Describe()}
	switch d := r.newDocument(false).(type) {
	case *document.Schedule:
		data.Schedule = d
	case *document.StorageLocation:
		data.StorageLocation = d
	case *document.Repository:
		data.Repository = d
	case *document.Deletion:
		data.Deletion = d
	}
	return c.stdio.printOutput(output, data, func(l *linePrinter) {
		l.Line("%s %s/%s", selected.thingKind.Aliases[1], r.object.GetNamespace(), r.ref.name)
		for _, n := range r.thing.Notes {
			l.Line("%s", n.Text)
		}
		l.addSections(data.Sections, r.ref.String())
	})
}

func (c *cli) describeJob(ctx context.Context, selected selection, output string) error {
	// How Velero treats filters that are not set depends on its version, which its pods tell.
	assessed, judged, err := c.readJudgedJob(ctx, selected, watch.Pods)
	if err != nil {
		return err
	}
	sections := describe.Job(judged, assessed, assessed.World.Now)
	data := describe.Document{
		Header:   document.NewHeader("Description"),
		Job:      new(document.NewJob(judged, assessed.JudgeVolumes(judged.Job))),
		Sections: sections,
	}
	return c.stdio.printOutput(output, data, func(l *linePrinter) {
		l.Line("%s %s/%s", judged.Kind.Noun(), judged.Namespace, judged.Name)
		l.Line("%s", judged.Verdict.Summary())
		l.addSections(sections, jobRefOf(judged.Job).String())
	})
}

func (l *linePrinter) addSections(sections []describe.Section, subject string) {
	width := 0
	for _, s := range sections {
		for _, f := range s.Fields {
			width = max(width, len([]rune(f.Title)))
		}
	}
	for _, s := range sections {
		l.Line("")
		if s.Title != "" {
			l.Line("%s:", s.Title)
		}
		for _, f := range s.Fields {
			label := f.Title
			for i, value := range f.Values {
				if i == len(f.Values)-1 {
					value += fieldRemark(f, subject)
				}
				l.Line("  %-*s  %s", width, label, value)
				label = ""
			}
		}
	}
}

func fieldRemark(f describe.Field, subject string) string {
	var words []string
	if f.IsDefault() {
		words = append(words, "default")
	}
	if f.Note != "" {
		words = append(words, f.Note)
	}
	if f.DetailPage == describe.Results {
		words = append(words, fmt.Sprintf("see 'veltui results %s'", subject))
	}
	if len(words) == 0 {
		return ""
	}
	return "  (" + strings.Join(words, "; ") + ")"
}
