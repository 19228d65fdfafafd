package cmd

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/sanitize"
	"github.com/veltui/veltui/ui"
)

func newExplain(c *cli) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "explain KIND/NAME",
		Short: "Say how a backup or restore fares, with every fact behind it and what would help",
		Long: `Say how a backup or restore fares, with every fact behind it and what would help.

Each fact has its source and its age. What could not be looked at, or speaks
against the verdict, is listed as such.

Exit codes: 0, or 3 if it ended PartiallyFailed, 4 if it ended Failed or
FailedValidation, 6 if it is stuck or orphaned.`,
		Example: `  veltui explain restore/crm-old
  veltui explain backup nightly-20261120 -o json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			selected, err := parseOne(args)
			if err != nil {
				return err
			}
			if err := checkTextOutput(output); err != nil {
				return err
			}
			return c.explain(cmd.Context(), selected, output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text, json or yaml")
	return cmd
}

// parseOne reads exactly one KIND/NAME or KIND NAME.
func parseOne(args []string) (selection, error) {
	s, err := parseSelection(args)
	if err == nil && len(s.names) != 1 {
		err = usagef("expected one KIND/NAME, such as restore/crm-old")
	}
	return s, err
}

func checkTextOutput(output string) error {
	switch output {
	case "text", "json", "yaml":
		return nil
	}
	return usagef("-o %s: expected text, json or yaml", output)
}

// explanation is what `explain -o json` prints.
type explanation struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Job is the same as in a JobList.
	Job jobItem `json:"job"`
	// Verdict is there for ended jobs too; its state is empty then.
	Verdict verdictJSON `json:"verdict"`
}

func (c *cli) explain(ctx context.Context, selected selection, output string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// A job may wait for one of the other kind, so both are waited for.
	_, snap, err := c.firstSnapshot(ctx, cancel, selected, 0)
	if err != nil {
		return err
	}
	if err := selected.missing(snap.Jobs, snap.Namespace); err != nil {
		return err
	}
	j := pick(snap.Jobs, selected)[0]
	surroundings := snap.Surroundings(c.clock())
	verdict := j.Verdict(surroundings)
	if output == "text" {
		err = printVerdict(c.streams.Out, j, verdict, surroundings.Now)
	} else {
		p := documentPrinter{w: c.streams.Out, yaml: output == "yaml"}
		err = p.document(explanation{APIVersion: apiVersion, Kind: "Explanation", Job: itemOf(j, surroundings),
			Verdict: verdictJSON{State: string(verdict.State), Facts: factsOf(verdict.Facts), Advice: verdict.Advice}})
	}
	if err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return exitFor(j, verdict)
}

// exitFor is the exit code that a job's state asks for, as an error without
// words: all has been said.
func exitFor(j *job.Job, v job.Verdict) error {
	switch {
	case v.State == job.Stuck || v.State == job.Orphaned:
		return exitError{ExitRefused, nil}
	case j.Phase == "PartiallyFailed":
		return exitError{ExitPartiallyFailed, nil}
	case j.Phase == "Failed" || j.Phase == "FailedValidation":
		return exitError{ExitFailed, nil}
	}
	return nil
}

func factsOf(facts []job.Fact) []factJSON {
	out := make([]factJSON, 0, len(facts))
	for _, f := range facts {
		out = append(out, factJSON{f.Text, f.Holds, f.Source, stamp(f.At)})
	}
	return out
}

func printVerdict(w io.Writer, j *job.Job, v job.Verdict, now time.Time) error {
	l := lines{w: w}
	l.add("%s %s/%s, phase %s", strings.ToLower(string(j.Kind)), j.Namespace, j.Name, dash(j.Phase))
	l.add("%s", v.Summary)
	if v.State != "" {
		l.add("verdict: %s", v.State)
	}
	l.facts(v.Facts, now)
	if v.Advice != "" {
		l.add("\nwhat would help: %s", v.Advice)
	}
	return l.err
}

// lines writes harmless lines until one fails.
type lines struct {
	w   io.Writer
	err error
}

// add writes one line; a leading line feed makes an empty one before it.
func (l *lines) add(format string, args ...any) {
	text, gap := strings.CutPrefix(fmt.Sprintf(format, args...), "\n")
	if l.err == nil && gap {
		_, l.err = fmt.Fprintln(l.w)
	}
	if l.err == nil {
		_, l.err = fmt.Fprintln(l.w, sanitize.String(text))
	}
}

// list writes a titled list, or nothing if it is empty.
func (l *lines) list(title string, items []string) {
	if len(items) == 0 {
		return
	}
	l.add("\n%s", title)
	for _, item := range items {
		l.add("  - %s", item)
	}
}

func (l *lines) facts(facts []job.Fact, now time.Time) {
	for _, holds := range []bool{true, false} {
		title := "\nfacts:"
		if !holds {
			title = "\nnot looked at, or against it:"
		}
		for _, f := range facts {
			if f.Holds != holds {
				continue
			}
			if title != "" {
				l.add("%s", title)
				title = ""
			}
			l.add("  - %s (%s%s)", f.Text, f.Source, factAge(f.At, now))
		}
	}
}

func factAge(at, now time.Time) string {
	switch {
	case at.IsZero():
		return ""
	case now.Sub(at) < time.Second:
		return ", now"
	}
	return ", " + ui.Duration(now.Sub(at)) + " ago"
}
