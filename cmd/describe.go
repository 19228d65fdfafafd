package cmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/say/describe"
	"github.com/veltui/veltui/say/document"
	"github.com/veltui/veltui/watch"
)

func newDescribe(c *cli) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "describe KIND/NAME",
		Short: "Print every setting and count of a backup or restore",
		Long: `Print every setting and count of a backup or restore.

describe prints what 'velero backup describe --details' and 'velero restore describe
--details' print of the object itself, and what they leave out: the failure reason,
hooks of restores, and fields that Velero cannot read. It reads only the cluster: it
makes no DownloadRequest, and needs no right to the object store.

In the text, (default) marks what the resource does not say; the value is what Velero
then does.`,
		Example: `  veltui describe backup/nightly-20261120
  veltui describe restore crm-old
  veltui describe restore/crm-old -o json`,
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text, json or yaml")
	return c.forJob(cmd, func(ctx context.Context, selected selection) error { return c.describe(ctx, selected, output) })
}

func (c *cli) describe(ctx context.Context, selected selection, output string) error {
	// What Velero takes for filters that are not set depends on its version.
	assessed, judged, err := c.judgedJob(ctx, selected, watch.Pods)
	if err != nil {
		return err
	}
	sections := describe.Job(judged, assessed, assessed.Environment.Now)
	data := describe.Document{Header: document.NewHeader("Description"), Job: document.NewJob(judged, assessed.Volumes(judged.Job)), Sections: sections}
	return c.print(output, data, func(l *lines) { l.describe(judged, sections) })
}

func (l *lines) describe(j assess.Judged, sections []describe.Section) {
	subject := j.Kind.Word() + "/" + j.Name
	l.add("%s %s/%s", j.Kind.Word(), j.Namespace, j.Name)
	l.add("%s", j.Verdict.Summary)
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
