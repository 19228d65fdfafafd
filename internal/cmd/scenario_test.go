package cmd

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/demo/scene"
	"github.com/veltui/veltui/internal/testbed"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/watch"
)

// TestScenarios serves each scenario of internal/diagnosis/testdata/scenarios, or of the
// folder that VELTUI_SCENARIOS names, with the demo, and holds what the built
// binary says about it against what the scenario says is right. Under the race
// detector, which sees only the page's part, it takes each tenth.
func TestScenarios(t *testing.T) {
	control(t)
	dir := os.Getenv("VELTUI_SCENARIOS")
	if dir == "" {
		dir = filepath.Join("..", "diagnosis", "testdata", "scenarios")
	}
	files := 0
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".yaml") {
			return err
		}
		if files++; testbed.RaceDetector && files%10 != 0 {
			return nil
		}
		t.Run(strings.TrimSuffix(filepath.Base(path), ".yaml"), func(t *testing.T) {
			t.Parallel()
			checkScenario(t, path)
		})
		return nil
	})
	if err != nil || files < 12 {
		t.Fatalf("%s holds %d scenarios: %v", dir, files, err)
	}
}

func checkScenario(t *testing.T, path string) {
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	s, err := scene.Load(file, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	c := &scenarioCheck{T: t, headless: startHeadless(t, "--scene", path), want: s.Expect}
	c.explain()
	c.page()
	c.get()
	c.agreement()
	c.finalize()
}

// scenarioCheck is one scenario that is served.
type scenarioCheck struct {
	*testing.T
	*headless
	want scene.Expectation
	// state, reason, advice and the number of facts are what explain says.
	state, reason, advice string
	advised               action.Kind
	facts                 int
	said                  judgement // by explain
}

// document runs a command and reads what it prints.
func (c *scenarioCheck) document(into any, args ...string) (text string, code int) {
	c.Helper()
	out, errOut, code := c.run(c.T, args...)
	if err := json.Unmarshal([]byte(out), into); err != nil {
		c.Fatalf("%s: %v: exit code %d\n%s\n%s", strings.Join(args, " "), err, code, out, errOut)
	}
	if code == ExitError || code == ExitUsage {
		c.Errorf("%s: exit code %d: %s", strings.Join(args, " "), code, errOut)
	}
	return out, code
}

func (c *scenarioCheck) explain() {
	var e document.Explanation
	text, code := c.document(&e, "explain", c.want.Job, "-o", "json")
	c.state, c.reason, c.advice, c.facts = e.Verdict.State, e.Verdict.Reason, e.Verdict.Advice, len(e.Verdict.Facts)
	summary := e.Job.Summary
	if len(c.want.AllowedStates) > 0 && !slices.Contains(c.want.AllowedStates, c.state) || slices.Contains(c.want.ForbiddenStates, c.state) {
		c.Errorf("explain: state %q, want one of %q: %s", c.state, c.want.AllowedStates, summary)
	}
	if len(c.want.AllowedReasons) > 0 && !slices.Contains(c.want.AllowedReasons, c.reason) {
		c.Errorf("explain: reason %s (%s), want one of %q: %s", c.reason, c.state, c.want.AllowedReasons, summary)
	}
	for _, word := range c.want.RequiredWords {
		if !strings.Contains(strings.ToLower(text), strings.ToLower(word)) {
			c.Errorf("explain does not say %q: %s. %s", word, summary, e.Verdict.Advice)
		}
	}
	if e.Finalize != nil {
		c.checkPlan("explain", *e.Finalize)
	}
	c.checkRemedies("explain", e.Remedies)
	c.advised = action.Kind(e.Verdict.Action)
	c.said = judgementOf(e.Job)
	trouble := c.state == "stuck" || c.state == "orphaned"
	if phase := e.Job.Phase; trouble != (code == ExitRefused) || !trouble && c.state != "" && code != ExitOK {
		c.Errorf("explain: exit code %d of a job that is %q in phase %s", code, c.state, phase)
	}
}

// page is what the dashboard says of the job while its screen is open: the same
// as explain.
func (c *scenarioCheck) page() {
	kind, name := c.want.KindAndName()
	selected, err := parseSelection([]string{kind + "/" + name}, false)
	if err != nil {
		c.Fatal(err)
	}
	own := withFlags(c.T, "--kubeconfig", c.kubeconfig)
	home := c.TempDir()
	own.process.clock, own.stdio.streams = time.Now, genericiooptions.NewTestIOStreamsDiscard()
	own.process.getenv = func(name string) string {
		if strings.HasPrefix(name, "XDG_") {
			return home
		}
		return ""
	}
	ctx, cancel := context.WithCancelCause(c.Context())
	defer cancel(nil)
	conn, err := own.connector.openConnection()
	if err != nil {
		c.Fatal(err)
	}
	w, err := own.connector.startWatch(
		ctx,
		conn,
		slog.New(slog.DiscardHandler),
		func(*watch.Options) {},
	) // openLogger sets the log of the whole process
	if err != nil {
		c.Fatal(err)
	}
	var snap *watch.Snapshot
	for ready := false; !ready; {
		if snap, err = w.Next(ctx); err != nil {
			c.Fatal(err)
		}
		if ready, err = selected.checkReady(snap); err != nil {
			c.Fatal(err)
		}
	}
	var known assess.Estimates
	var lookout assess.LookScheduler
	assessed := known.AssessSnapshot(snap, time.Now())
	j := selectJobs(assessed.Snapshot.Jobs, selected)[0]
	cluster := own.newCluster()
	for { // as the dashboard does
		due := lookout.NextInFocus(assessed, j, time.Now())
		if due == nil {
			break
		}
		found, err := cluster.TakeCloserLook(ctx, assessed, due)
		if err != nil {
			c.Errorf("looking closer at %s: %v", due.Name, err)
		}
		lookout.FinishLook(time.Now())
		known.RecordCloserLook(due.UID, found.CloserLook)
		assessed = known.AssessSnapshot(snap, time.Now())
	}
	judged := assessed.AssessJob(j)
	if j.IsTerminal() {
		_, judged = assessed.WithEndEvidence(j, cluster.GatherEndEvidence(ctx, assessed, j))
	}
	if string(judged.Verdict.State()) != c.state || judged.Verdict.Reason.String() != c.reason ||
		judged.Verdict.Advice != c.advice {
		c.Errorf(
			"the page says %s (%s): %s\n%s\nexplain says %s (%s)\n%s",
			judged.Verdict.State(),
			judged.Verdict.Reason,
			judged.Verdict.Summary(),
			judged.Verdict.Advice,
			c.state,
			c.reason,
			c.advice,
		)
	}
	var facts []string
	for _, f := range judged.Verdict.Facts {
		facts = append(facts, f.Text)
	}
	if len(facts) != c.facts {
		c.Errorf("the page has %d facts, explain %d:\n%s", len(facts), c.facts, strings.Join(facts, "\n"))
	}
}

func (c *scenarioCheck) get() {
	var list document.JobList
	_, code := c.document(&list, "get", "-o", "json")
	if code != ExitOK {
		c.Errorf("get: exit code %d", code)
	}
	kind, name := c.want.KindAndName()
	for _, item := range list.Items {
		if !strings.EqualFold(item.Kind, kind) || item.Name != name {
			continue
		}
		var state, reason string
		if item.Verdict != nil {
			state, reason = item.Verdict.State, item.Verdict.Reason
		}
		trouble := state == "stuck" || state == "orphaned"
		switch {
		case slices.Contains(c.want.ForbiddenStates, state):
			c.Errorf("get: state %s (%s), which is wrong: %s", state, reason, item.Summary)
		case trouble && state != c.state: // a closer look may change the reason
			c.Errorf("get: %s (%s), but explain: %s (%s)", state, reason, c.state, c.reason)
		case trouble != item.Stuck:
			c.Errorf("get: stuck is %v of a job that is %s", item.Stuck, state)
		}
		return
	}
	c.Errorf("get does not list %s", c.want.Job)
}

func (c *scenarioCheck) finalize() {
	var f document.Finalization
	_, code := c.document(&f, "finalize", c.want.Job, "--dry-run=server", "--yes", "-o", "json")
	c.checkPlan("finalize", f.Plan)
	if c.want.Finalize != "" && c.want.Finalize != "refuse" && f.Plan.To != c.want.Finalize {
		c.Errorf("finalize: %q, want %s: %s. %s", f.Plan.To, c.want.Finalize, f.Plan.Refusal, f.Plan.Advice)
	}
	c.checkRemedies("finalize", f.Remedies)
	c.checkAdvice(f)
	want := ExitOK
	if f.Plan.Action == action.EffectRefuse {
		want = ExitRefused
	}
	if code != want {
		c.Errorf("finalize: exit code %d, want %d: %+v", code, want, f.Outcome)
	}
}

// checkAdvice holds what the verdict advises against what can be done: veltui must
// not answer its own advice with a refusal. Finalizing is advised for the case that
// the results are stored; where they are not, another action must be possible.
func (c *scenarioCheck) checkAdvice(f document.Finalization) {
	backed := c.advised == "" || c.advised == action.Finalize && f.Plan.Action != action.EffectRefuse ||
		strings.Contains(f.Plan.Refusal, "cannot tell") // it says what it could not look at
	for _, r := range f.Remedies {
		backed = backed ||
			(c.advised == action.Finalize || r.Action == c.advised) && (r.Possible || len(r.Commands) > 0)
	}
	if !backed {
		c.Errorf(
			"the verdict advises %s (%s), finalize refuses (%s) and offers %+v",
			c.advised,
			c.advice,
			f.Plan.Refusal,
			f.Remedies,
		)
	}
}

// checkPlan holds what finalizing would do against what it may do.
func (c *scenarioCheck) checkPlan(who string, p document.Plan) {
	c.Helper()
	if p.Action == action.EffectRefuse {
		return
	}
	switch {
	case c.want.Finalize == "refuse", c.want.Finalize != "" && p.To != c.want.Finalize:
		c.Errorf("%s: finalizing writes %s, want %s: %s", who, p.To, c.want.Finalize, p.Why)
	case !slices.Contains(c.want.Remedies, "finalize"):
		c.Errorf("%s offers to finalize to %s: %s", who, p.To, p.Why)
	}
}

// checkRemedies holds what is offered, by veltui itself or as a command, against
// what may be.
func (c *scenarioCheck) checkRemedies(who string, remedies []document.Remedy) {
	c.Helper()
	for _, r := range remedies {
		name := string(r.Action)
		allowed := slices.Contains(c.want.Remedies, name) ||
			r.Action == action.RestartNodeAgent && slices.Contains(c.want.Remedies, string(action.Restart))
		offered := r.Possible || len(r.Commands) > 0
		if offered && r.Action != action.FixField && !allowed {
			c.Errorf("%s offers %s, want at most %q: %s", who, r.Action, c.want.Remedies, r.Why)
		}
	}
}
