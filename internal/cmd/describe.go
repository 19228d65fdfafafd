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

func newDescribe(c *cli) *cobra.Command {
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
	addOutput(cmd, &output, "text", "json", "yaml")
	return c.forJob(cmd, func(ctx context.Context, selected selection) error {
		if selected.things != nil {
			return c.describeThing(ctx, selected, output)
		}
		return c.describe(ctx, selected, output)
	}, kinds...)
}

func (c *cli) describeThing(ctx context.Context, selected selection, output string) error {
	found := c.readRows(ctx, selected, selected.query(), c.logging(ctx))
	if found.err != nil {
		return found.err
	}
	if err := selected.missing(refs(found.rows), found.assessed.Snapshot.Namespace); err != nil {
		return fmt.Errorf("%w%s", err, c.nearName(ctx, selected, refs(found.rows)))
	}
	r := found.rows[0]
	data := describe.Document{Header: document.NewHeader("Description"), Sections: r.thing.Describe()}
	switch d := r.document(false).(type) {
	case *document.Schedule:
		data.Schedule = d
	case *document.StorageLocation:
		data.StorageLocation = d
	case *document.Repository:
		data.Repository = d
	case *document.Deletion:
		data.Deletion = d
	}
	return c.print(output, data, func(l *lines) {
		l.add("%s %s/%s", selected.things.Words[1], r.object.GetNamespace(), r.ref.name)
		for _, n := range r.thing.Notes {
			l.add("%s", n.Text)
		}
		l.sections(data.Sections, r.ref.String())
	})
}

func (c *cli) describe(ctx context.Context, selected selection, output string) error {
	// What Velero takes for filters that are not set depends on its version.
	assessed, judged, err := c.judgedJob(ctx, selected, watch.Pods)
	if err != nil {
		return err
	}
	sections := describe.Job(judged, assessed, assessed.Environment.Now)
	data := describe.Document{
		Header:   document.NewHeader("Description"),
		Job:      new(document.NewJob(judged, assessed.Volumes(judged.Job))),
		Sections: sections,
	}
	return c.print(output, data, func(l *lines) {
		l.add("%s %s/%s", judged.Kind.Word(), judged.Namespace, judged.Name)
		l.add("%s", judged.Verdict.Summary())
		l.sections(sections, nameOf(judged.Job).String())
	})
}

func (l *lines) sections(sections []describe.Section, subject string) {
	width := 0
	for _, s := range sections {
		for _, f := range s.Fields {
			width = max(width, len([]rune(f.Title)))
		}
	}
	for _, s := range sections {
		l.add("")
		if s.Title != "" {
			l.add("%s:", s.Title)
		}
		for _, f := range s.Fields {
			label := f.Title
			for i, value := range f.Values {
				if i == len(f.Values)-1 {
					value += about(f, subject)
				}
				l.add("  %-*s  %s", width, label, value)
				label = ""
			}
		}
	}
}

func about(f describe.Field, subject string) string {
	var words []string
	if f.Default() {
		words = append(words, "default")
	}
	if f.Note != "" {
		words = append(words, f.Note)
	}
	if f.More == describe.Results {
		words = append(words, fmt.Sprintf("see 'veltui results %s'", subject))
	}
	if len(words) == 0 {
		return ""
	}
	return "  (" + strings.Join(words, "; ") + ")"
}
