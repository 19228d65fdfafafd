//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/veltui/veltui/e2e/lab"
	rules "github.com/veltui/veltui/internal/velero"
)

// plantedCause is something that makes a job of the real Velero end badly, and what veltui has to say about it.
type plantedCause struct {
	name string
	// isQuick is true for those that run with every suite.
	isQuick bool
	// plant plants the cause, makes the job, and returns it as KIND/NAME.
	plant func(*causePlot) (job string)
	// phase is how Velero ends the job.
	phase string
	// reason is the cause of docs/reasons.md; empty where the phase, with what it says, is all there is to say.
	reason string
	// says are words of the explanation.
	says []string
	// isCured has the first command of the next step carried out; the same job then completes.
	isCured bool
}

// causeRow is a row of the table.
type causeRow struct {
	plantedCause
	ended, found, next, verdict string
	commands                    int
}

// TestCauses plants one cause after the other and holds what veltui says of the end against it: the cause, the next
// step, and that each command of the next step can be run. With E2E_CAUSES it plants all of them and writes the table
// into that file.
func TestCauses(t *testing.T) {
	needs(t, !serverVersion(t).Before(rules.Version{1, 18, 0}), "same messages")
	path := os.Getenv("E2E_CAUSES")
	plantCauseSource(t)
	var rows []causeRow
	for n, c := range plantedCauses {
		if !c.isQuick && path == "" {
			continue
		}
		t.Run(c.name, func(t *testing.T) { rows = append(rows, c.judge(t, fmt.Sprintf("cause-%02d", n+1))) })
	}
	table := causeTable(rows)
	t.Log("\n" + table)
	if path == "" || len(rows) < len(plantedCauses) {
		return // not all of them ran
	}
	const begin = "<!-- written by make e2e-causes -->\n"
	text, err := os.ReadFile(path)
	must(t, err)
	before, _, found := strings.Cut(string(text), begin)
	if !found {
		t.Fatalf("%s has no place for the table", path)
	}
	must(t, os.WriteFile(path, []byte(before+begin+"\n"+table), 0o644))
}

func (c plantedCause) judge(t *testing.T, namespace string) causeRow {
	t.Helper()
	p := &causePlot{plot: &plot{T: t, namespace: namespace}}
	defer func() {
		for _, undo := range slices.Backward(p.undo) {
			undo()
		}
	}()
	job := c.plant(p)
	kind, name := splitJob(job)
	h := ended(t, kind, name)
	wantEnd(t, h, c.phase)
	row := causeRow{plantedCause: c, ended: h.LastState().Phase}

	plain, e := explainEnd(t, job), explainEnd(t, job, "--artifacts")
	row.found, row.verdict = e.cause(), e.judge(c)
	row.next = e.Verdict.Next.Text
	if row.verdict != wasRight {
		t.Errorf("%s: the cause is %q, want %q, and %q:\n%s", row.verdict, row.found, c.reason, c.says, e.printed)
	}
	t.Logf("%s: %s; cause %s; without --artifacts %q: %s; next: %s",
		job, row.ended, row.found, plain.cause(), e.Summary(), row.next)
	if row.next == "" {
		t.Error("nothing to do next")
	}
	// The results name the cause with no flag, and check what is known without them.
	results := explainedBy(t, "results", job)
	if (e.fromResults() || row.verdict != wasRight) && results.cause() != c.reason {
		t.Errorf("results: the cause is %q, want %q:\n%s", results.cause(), c.reason, results.printed)
	}
	commands := append(slices.Clone(e.Verdict.Next.Commands), plain.Verdict.Next.Commands...)
	for _, f := range findingsOf(t, kind, name) {
		t.Logf("check: %s, %s, cause %q: %s", f.Severity, f.Reason, f.Cause, f.Summary)
		if f.Cause != "" && f.Cause != c.reason {
			t.Errorf("check says the cause %q, want %q", f.Cause, c.reason)
		}
		commands = append(commands, f.Next.Commands...)
	}
	slices.Sort(commands)
	for _, command := range slices.Compact(commands) {
		wantAdvisable(t, command)
		row.commands++
	}
	if c.isCured {
		p.cure(e.Verdict.Next.Commands[0])
		again := c.repeat(t, h, name)
		wantEnd(t, again, "Completed")
	}
	return row
}

// repeat makes the same job once more under another name.
func (c plantedCause) repeat(t *testing.T, h lab.History, name string) lab.History {
	t.Helper()
	job := h.LastEvent().Object.DeepCopy()
	job.SetName(name + "-again")
	job.SetResourceVersion("")
	job.SetUID("")
	job.SetAnnotations(nil)
	delete(job.Object, "status")
	must(t, theLab.Client.Create(patient(t), job))
	return ended(t, job.GetKind(), job.GetName())
}

func splitJob(job string) (kind, name string) {
	kind, name, _ = strings.Cut(job, "/")
	return map[string]string{"backup": "Backup", "restore": "Restore"}[kind], name
}

// endExplained is what `veltui explain -o json` prints of a job that has ended; `veltui results` has the cause, too.
type endExplained struct {
	Job     struct{ Summary string }
	Cause   *struct{ Reason string }
	Verdict struct {
		Reason string
		Cause  *struct {
			Reason, Text string
			Facts        []struct{ Text, Source string }
		}
		Next struct {
			Text     string
			Commands []string
		}
	}
	printed string
}

// explainEnd runs `veltui explain`.
func explainEnd(t *testing.T, job string, flags ...string) endExplained {
	t.Helper()
	return explainedBy(t, "explain", append([]string{job}, flags...)...)
}

func explainedBy(t *testing.T, command string, args ...string) (e endExplained) {
	t.Helper()
	code, printed := runVeltui(t, append([]string{command, "-o", "json"}, args...)...)
	e.printed = printed
	if err := json.NewDecoder(strings.NewReader(string(document(printed)))).Decode(&e); err != nil {
		t.Fatalf("veltui %s %q ended with %d: %v:\n%s", command, args, code, err, printed)
	}
	return e
}

func (e endExplained) Summary() string { return e.Job.Summary }

func (e endExplained) cause() string {
	switch {
	case e.Cause != nil:
		return e.Cause.Reason
	case e.Verdict.Cause != nil:
		return e.Verdict.Cause.Reason
	}
	return ""
}

// fromResults reports whether the cause was found in the job's results.
func (e endExplained) fromResults() bool {
	return e.Verdict.Cause != nil && len(e.Verdict.Cause.Facts) > 0 && e.Verdict.Cause.Facts[0].Source == "storage"
}

// What veltui says of a planted cause besides wasRight.
const (
	wasWrong   = "wrong"
	wasNothing = "nothing"
)

// judge compares what was explained with what was planted.
func (e endExplained) judge(c plantedCause) string {
	switch got := e.cause(); {
	case got == "" && c.reason != "":
		return wasNothing
	case got != c.reason:
		return wasWrong
	}
	for _, words := range c.says {
		if !strings.Contains(e.printed, words) {
			return wasWrong
		}
	}
	return wasRight
}

// finding is one of `veltui check -o json`.
type finding struct {
	Severity, Reason, Cause, Summary string
	Object                           struct{ Kind, Name string }
	Affects                          []string
	Next                             struct {
		Text     string
		Commands []string
	}
}

// findingsOf returns what `veltui check` has found about an object.
func findingsOf(t *testing.T, kind, name string) (found []finding) {
	t.Helper()
	code, printed := runVeltui(t, "check", "-o", "json")
	var d struct{ Items []finding }
	if err := json.Unmarshal(document(printed), &d); err != nil {
		t.Fatalf("veltui check ended with %d: %v:\n%s", code, err, printed)
	}
	for _, f := range d.Items {
		if strings.EqualFold(f.Object.Kind, kind) && f.Object.Name == name {
			found = append(found, f)
		}
	}
	return found
}

// causeTable writes the rows as Markdown.
func causeTable(rows []causeRow) string {
	count := func(verdict string) (n int) {
		for _, r := range rows {
			if r.verdict == verdict {
				n++
			}
		}
		return n
	}
	commands := 0
	var b strings.Builder
	b.WriteString("|planted|Velero|cause|next step|\n|---|---|---|---|\n")
	for _, r := range rows {
		found := r.found
		if found == "" {
			found = "(its own words)"
		}
		if r.verdict != wasRight {
			found += ": " + r.verdict
		}
		if commands += r.commands; r.isCured {
			r.next += " *Done: the job then completes.*"
		}
		fmt.Fprintf(&b, "|%s|%s|%s|%s|\n", r.name, r.ended, found, r.next)
	}
	return fmt.Sprintf("Of %d causes, %d are right, %d wrong, and of %d nothing is said; %d advised commands were run.\n\n",
		len(rows), count(wasRight), count(wasWrong), count(wasNothing), commands) + b.String()
}
