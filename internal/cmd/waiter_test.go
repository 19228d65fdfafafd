package cmd

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
)

// TestWaitSaysWhenItCannotTell whether a job is stuck, once until a look succeeds.
func TestWaitSaysWhenItCannotTell(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	var errs bytes.Buffer
	c := newCLI(null, null, null)
	c.streams.ErrOut = &errs
	w := &waiter{
		cli:     c,
		screen:  &waitScreen{cli: c},
		targets: []*awaited{{jobName: jobName{job.Restore, "crm"}, uid: "crm"}},
	}
	look := func(err error) { w.takeLook(fullLook{job: &job.Job{UID: "crm"}, err: err}) }
	for _, err := range []error{errGone, errors.New("forbidden"), errors.New("forbidden")} {
		look(err)
	}
	if said := errs.String(); strings.Count(said, "veltui cannot tell whether restore/crm is stuck: forbidden") != 1 ||
		strings.Contains(said, "gone") {
		t.Errorf("%q", said)
	}
	look(nil)
	look(errors.New("away"))
	if !strings.Contains(errs.String(), "is stuck: away") {
		t.Errorf("%q", &errs)
	}
}

// TestWaitCallsOnce for each job that ends or gets stuck, and again only after it moved.
func TestWaitCallsOnce(t *testing.T) {
	phase := func(p string, state diagnosis.State) assess.Judged {
		return assess.Judged{
			Job:   &job.Job{Kind: job.Restore, Name: "crm", Phase: p, Stage: job.StageOf(p)},
			State: state,
		}
	}
	target := &awaited{jobName: jobName{job.Restore, "crm"}}
	for i, step := range []struct {
		judged assess.Judged
		news   bool
	}{
		{assess.Judged{}, false},
		{phase("InProgress", diagnosis.Progressing), false},
		{phase("InProgress", diagnosis.Stuck), true},
		{phase("InProgress", ""), false},
		{phase("InProgress", diagnosis.Stuck), false},
		{phase("InProgress", diagnosis.Progressing), false},
		{phase("InProgress", diagnosis.Stuck), true},
		{phase("Failed", ""), true},
		{phase("Failed", ""), false},
	} {
		if target.last = step.judged; target.news() != step.news {
			t.Errorf("step %d: want %v", i, step.news)
		}
	}
}
