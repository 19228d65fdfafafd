package view

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/stored/results"
)

func messageSections() []results.MessageSection {
	return results.GroupMessages(artifact.Results{
		Errors: artifact.Messages{Namespaces: map[string][]string{"ops": {
			"error restoring pods/ops/a: exceeded quota",
			"error restoring pods/ops/b: exceeded quota",
			"error restoring pods/ops/c: exceeded quota",
		}}},
		Warnings: artifact.Messages{Velero: []string{""}},
	})
}

// resultLines are the texts of results with their tones.
func resultLines(r Results) (lines []string) {
	add := func(tone Tone, text string) { lines = append(lines, fmt.Sprintf("%d %s", tone, text)) }
	add(r.Counts.Tone, r.Counts.Text)
	for _, note := range r.Notes {
		add(note.Tone, note.Text)
	}
	for _, f := range r.Failures {
		add(f.Tone, f.Label+": "+f.Text.Text)
	}
	for _, g := range r.Groups {
		add(g.Tone, fmt.Sprintf("%s %t", g.Heading(), g.Open))
		for _, m := range g.Messages {
			lines = append(lines, MessageRepeats(&m)+m.DisplayText()+"|"+MessagePlace(&m)+"|"+MessageInstances(&m, 2))
		}
	}
	return lines
}

func TestResults(t *testing.T) {
	failed := &job.Job{Errors: 2, FailureReason: "found it", ValidationErrors: []string{"no backup", "no location"}}
	for name, c := range map[string]struct {
		in   ResultsInput
		want []string
	}{
		"stored": {
			ResultsInput{Job: &job.Job{Errors: 9}, Sections: messageSections(), FromResults: true, Note: "More may come."},
			[]string{
				fmt.Sprint(Bad, " 3 errors, 1 warning"), fmt.Sprint(Dim, " More may come."),
				fmt.Sprint(Bad, " errors, namespace ops (3) true"),
				"3x exceeded quota|3 errors, namespace ops|pods/a, b and 1 more",
				fmt.Sprint(Waiting, " warnings, velero (1) false"), "(no message)|1 warning, velero|",
			},
		},
		"only warnings": {
			ResultsInput{Job: &job.Job{}, Sections: messageSections()[1:], FromResults: true},
			[]string{
				fmt.Sprint(Waiting, " 0 errors, 1 warning"),
				fmt.Sprint(Waiting, " warnings, velero (1) true"), "(no message)|1 warning, velero|",
			},
		},
		"unread": {
			ResultsInput{Job: failed, Err: errors.New("forbidden"), Note: "The results cannot be read."},
			[]string{
				fmt.Sprint(Bad, " 2 errors, 0 warnings"), fmt.Sprint(Bad, " The results cannot be read: forbidden"),
				fmt.Sprint(Dim, " The counts above are those of the job's status."), fmt.Sprint(Bad, " Failure reason: found it"),
				fmt.Sprint(Bad, " Validation error: no backup"), fmt.Sprint(Bad, " Validation error: no location"),
			},
		},
		"nothing": {ResultsInput{Job: &job.Job{}, FromResults: true}, []string{fmt.Sprint(Plain, " ")}},
		"empty so far": {
			ResultsInput{Job: &job.Job{Warnings: 4}, FromResults: true},
			[]string{fmt.Sprint(Waiting, " 0 errors, 4 warnings")},
		},
	} {
		if got := resultLines(NewResults(c.in)); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%s\nwant:\n%s", name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

func TestMessageInstancesFit(t *testing.T) {
	m := &messageSections()[0].Messages[0]
	for width, want := range map[int]string{
		1: "pods/a and 2 more", 19: "pods/a and 2 more", 20: "pods/a, b, c",
	} {
		if got := FitMessageInstances(m, width); got != want {
			t.Errorf("%q in %d cells, want %q", got, width, want)
		}
	}
	if got := MessageInstances(m, -1); got != "pods/a, b, c" {
		t.Errorf("%q", got)
	}
}

// The width of names is counted in cells, not in bytes.
func TestResourcesFitInCells(t *testing.T) {
	m := &results.Message{Resources: []results.Resource{{Name: "a"}, {Name: "\u00e9\u00e9\u00e9\u00e9"}}}
	all := MessageInstances(m, 2)
	if got := FitMessageInstances(m, ansi.StringWidth(all)); got != all {
		t.Errorf("%q in %d cells, want %q", got, ansi.StringWidth(all), all)
	}
}
