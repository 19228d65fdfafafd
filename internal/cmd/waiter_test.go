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
	c.stdio.streams.ErrOut = &errs
	w := &waiter{
		cli:     c,
		screen:  &waitScreen{stdio: c.stdio},
		targets: []*waitTarget{{jobRef: jobRef{job.Restore, "crm"}, uid: "crm"}},
	}
	look := func(err error) { w.handleFullLook(fullLook{job: &job.Job{UID: "crm"}, err: err}) }
	for _, err := range []error{errJobGone, errors.New("forbidden"), errors.New("forbidden")} {
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
	phase := func(p string, state diagnosis.State) assess.JudgedJob {
		return assess.JudgedJob{
			Job:   &job.Job{Kind: job.Restore, Name: "crm", Phase: p, Stage: job.StageOf(p)},
			State: state,
		}
	}
	target := &waitTarget{jobRef: jobRef{job.Restore, "crm"}}
	for i, step := range []struct {
		judged assess.JudgedJob
		news   bool
	}{
		{assess.JudgedJob{}, false},
		{phase("InProgress", diagnosis.Progressing), false},
		{phase("InProgress", diagnosis.Stuck), true},
		{phase("InProgress", ""), false},
		{phase("InProgress", diagnosis.Stuck), false},
		{phase("InProgress", diagnosis.Progressing), false},
		{phase("InProgress", diagnosis.Stuck), true},
		{phase("Failed", ""), true},
		{phase("Failed", ""), false},
	} {
		if target.lastJudged = step.judged; target.shouldNotify() != step.news {
			t.Errorf("step %d: want %v", i, step.news)
		}
	}
}
