//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/veltui/veltui/e2e/lab"
)

// told is what `veltui get -w -o json` prints for each change: the fields that
// scripts may rely on.
type told struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	Phase     string `json:"phase"`
	Stage     string `json:"stage"`
	Fraction  *float64
	Items     *struct {
		Done      int  `json:"done"`
		Total     int  `json:"total"`
		Estimated bool `json:"estimated"`
		Published *int `json:"published"`
	} `json:"items"`
	Operations struct{ Attempted, Completed, Failed int } `json:"operations"`
	Queue      *struct {
		Position int    `json:"position"`
		Reason   string `json:"reason"`
	} `json:"queue"`
	Warnings      int        `json:"warnings"`
	Errors        int        `json:"errors"`
	FailureReason string     `json:"failureReason"`
	StartedAt     *time.Time `json:"startedAt"`
	CompletedAt   *time.Time `json:"completedAt"`
	ETASeconds    *int64     `json:"etaSeconds"`
	// ETALowSeconds and ETAHighSeconds are there while the ETA is a range.
	ETALowSeconds  *int64 `json:"etaLowSeconds"`
	ETAHighSeconds *int64 `json:"etaHighSeconds"`
	Verdict        *struct {
		State  string `json:"state"`
		Reason string `json:"reason"`
		Facts  []struct {
			Text  string `json:"text"`
			Holds bool   `json:"holds"`
		} `json:"facts"`
		Advice string `json:"advice"`
	} `json:"verdict"`
	Deleted bool `json:"deleted"`
	// readAt is when the test read it.
	readAt time.Time
}

// state is what was told in the raw watch's terms.
func (d told) state() lab.State {
	s := lab.State{Phase: d.Phase}
	switch i := d.Items; {
	case i == nil:
	case i.Published != nil:
		s.Progress = &lab.Progress{Done: i.Done, Total: *i.Published}
	case !i.Estimated:
		s.Progress = &lab.Progress{Done: i.Done, Total: i.Total}
	}
	return s
}

// verdict is the word of the verdict, empty without one.
func (d told) verdict() string {
	if d.Verdict == nil {
		return ""
	}
	return d.Verdict.State
}

// follower runs `veltui get -w -o json` beside the recorder.
type follower struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer
	done   chan struct{}

	mu   sync.Mutex
	docs []told
	err  error
	more chan struct{}
}

// veltui is the binary that is held against Velero.
func veltui() (string, error) {
	if path := os.Getenv("VELTUI"); path != "" {
		return path, nil
	}
	return "", errors.New("VELTUI is not set: run the tests through `make e2e`, which builds veltui")
}

// follow starts veltui; home is where it keeps its files.
func follow(kubeconfig, home string) (*follower, error) {
	path, err := veltui()
	if err != nil {
		return nil, err
	}
	f := &follower{done: make(chan struct{}), more: make(chan struct{})}
	f.cmd = exec.Command(path, "get", "-w", "-o", "json", "--kubeconfig", kubeconfig, "-n", lab.Namespace)
	f.cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	f.cmd.Stderr = &f.stderr
	out, err := f.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := f.cmd.Start(); err != nil {
		return nil, err
	}
	go f.read(out)
	// The lab's watchdog ends it if this process is killed.
	return f, os.WriteFile(
		filepath.Join(filepath.Dir(home), "veltui-follows.pid"),
		[]byte(strconv.Itoa(f.cmd.Process.Pid)),
		0o600,
	)
}

func (f *follower) read(out io.Reader) {
	defer close(f.done)
	decoder := json.NewDecoder(out)
	for {
		var doc told
		err := decoder.Decode(&doc)
		f.mu.Lock()
		if err != nil {
			f.err = err
		} else {
			doc.readAt = time.Now()
			f.docs = append(f.docs, doc)
		}
		close(f.more)
		f.more = make(chan struct{})
		f.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// stop interrupts veltui as a user would and checks how it ends.
func (f *follower) stop() error {
	if err := f.cmd.Process.Signal(syscall.SIGINT); err != nil {
		return fmt.Errorf("veltui get -w ended before it was interrupted: %w: %s", err, f.stderr.String())
	}
	<-f.done
	err := f.cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 130 {
		return nil
	}
	return fmt.Errorf("veltui get -w ended with %v after an interrupt, want exit code 130: %s", err, f.stderr.String())
}

// of returns what was told of one job, by uid, so that a name used twice is no
// trouble.
func (f *follower) of(uid string) ([]told, <-chan struct{}, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var docs []told
	for _, d := range f.docs {
		if d.UID == uid {
			docs = append(docs, d)
		}
	}
	return docs, f.more, f.err
}

// await waits until the newest word on a job satisfies done, and returns all
// that was told of it.
func (f *follower) await(ctx context.Context, h lab.History, what string, done func(told) bool) ([]told, error) {
	object := h.LastEvent().Object
	for {
		docs, more, err := f.of(string(object.GetUID()))
		if len(docs) > 0 && done(docs[len(docs)-1]) {
			return docs, nil
		}
		if err != nil {
			return docs, fmt.Errorf("reading what veltui tells: %w: %s", err, f.stderr.String())
		}
		select {
		case <-more:
		case <-ctx.Done():
			last := "nothing"
			if len(docs) > 0 {
				last = fmt.Sprintf("%+v, verdict %q", docs[len(docs)-1].state(), docs[len(docs)-1].verdict())
			}
			return docs, fmt.Errorf(
				"waiting for veltui to tell of %s %s that %s (it told %s): %w",
				object.GetKind(),
				object.GetName(),
				what,
				last,
				ctx.Err(),
			)
		}
	}
}

// ask runs `veltui get -o json` for one job until what it says satisfies done,
// and returns that. Unlike the follower, which tells of changes of a job, it
// judges the job by everything around it as it is now.
func ask(t *testing.T, h lab.History, what string, done func(told) bool) told {
	t.Helper()
	path, err := veltui()
	must(t, err)
	object := h.LastEvent().Object
	ctx := patient(t)
	for {
		cmd := exec.CommandContext(
			t.Context(),
			path,
			"get",
			object.GetKind()+"/"+object.GetName(),
			"-o",
			"json",
			"--kubeconfig",
			theLab.Kubeconfig(),
			"-n",
			lab.Namespace,
		)
		cmd.Env = veltuiTells.cmd.Env
		out, err := cmd.Output()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		must(t, err)
		var got struct {
			APIVersion string `json:"apiVersion"`
			told
		}
		must(t, json.Unmarshal(out, &got))
		if got.APIVersion != "veltui/v1" || got.Name != object.GetName() {
			t.Fatalf("veltui get printed %s", out)
		}
		if done(got.told) {
			return got.told
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf(
				"waiting for veltui to say of %s %s that %s; it says %s",
				object.GetKind(),
				object.GetName(),
				what,
				out,
			)
		}
	}
}

// wantVerdict waits until veltui tells a verdict, and returns the facts that
// speak for it.
func wantVerdict(t *testing.T, h lab.History, verdicts ...string) []string {
	t.Helper()
	d := ask(
		t,
		h,
		fmt.Sprintf("the verdict is one of %q", verdicts),
		func(d told) bool { return slices.Contains(verdicts, d.verdict()) },
	)
	var facts []string
	for _, f := range d.Verdict.Facts {
		if f.Holds {
			facts = append(facts, f.Text)
		}
	}
	t.Logf("%s is %s: %s", h.LastEvent().Object.GetName(), d.verdict(), strings.Join(facts, "; "))
	if d.Fraction != nil && *d.Fraction >= 1 {
		t.Error("the bar is full although the job has not ended")
	}
	return facts
}

// wantTold checks all that veltui told of a job that has ended against what
// the raw watch recorded of it.
func wantTold(t *testing.T, h lab.History) []told {
	t.Helper()
	end := h.LastState()
	docs, err := veltuiTells.await(patient(t), h, "it ended as "+end.Phase, func(d told) bool {
		return d.Phase == end.Phase && d.CompletedAt != nil == (h.StatusText("completionTimestamp") != "")
	})
	must(t, err)
	wantSameStates(t, h, docs)
	wantForward(t, docs)
	last := docs[len(docs)-1]
	if last.Warnings != h.StatusNumber("warnings") || last.Errors != h.StatusNumber("errors") {
		t.Errorf(
			"veltui told %d warnings and %d errors, Velero wrote %d and %d",
			last.Warnings,
			last.Errors,
			h.StatusNumber("warnings"),
			h.StatusNumber("errors"),
		)
	}
	if v := last.verdict(); v != "" {
		t.Errorf("veltui still has the verdict %q on a job that has ended", v)
	}
	if last.Stage != "Done" {
		t.Errorf("veltui told the stage %q of a job that has ended", last.Stage)
	}
	return docs
}

// wantSameStates checks that veltui told every phase, count and total that
// Velero wrote, in the same order, and no other.
func wantSameStates(t *testing.T, h lab.History, docs []told) {
	t.Helper()
	want := h.DistinctStates()
	var got []lab.State
	for _, d := range docs {
		if s := d.state(); len(got) == 0 || !got[len(got)-1].Equal(s) {
			got = append(got, s)
		}
	}
	if !slices.EqualFunc(got, want, lab.State.Equal) {
		t.Errorf("veltui told\n%s\nVelero wrote\n%s", lab.DescribeStates(got), lab.DescribeStates(want))
	}
}

// stages in the order in which a job passes them.
var stages = []string{"Queued", "Items", "Volumes", "Operations", "Finalizing", "Done"}

// wantForward checks that no stage and no bar ever went back, and that nothing
// was shown as finished before it was.
func wantForward(t *testing.T, docs []told) {
	t.Helper()
	stage, fraction := 0, 0.0
	for _, d := range docs {
		i := slices.Index(stages, d.Stage)
		switch {
		case i < 0:
			t.Errorf("stage %q is none that a job passes", d.Stage)
		case i < stage:
			t.Errorf("stage went back from %s to %s", stages[stage], d.Stage)
		case i > stage:
			stage, fraction = i, 0
		}
		if d.Fraction == nil {
			continue
		}
		if *d.Fraction < fraction {
			t.Errorf("the bar went back from %g to %g in stage %s", fraction, *d.Fraction, d.Stage)
		}
		if *d.Fraction >= 1 && d.Stage != "Done" {
			t.Errorf("the bar is full in stage %s, phase %s", d.Stage, d.Phase)
		}
		fraction = *d.Fraction
	}
}
