package cmd

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/veltui/veltui/internal/view/describe"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/internal/view/report"
)

// judgement is what one command says of a job.
type judgement struct{ state, reason, summary, advice string }

// durations pass between two commands.
var durations = regexp.MustCompile(`[0-9]+(\.[0-9]+)?(ms|s|m|h|d)([0-9]+(s|m|h))?|[0-9]{1,2}:[0-9]{2}(:[0-9]{2})?`)

func judgementOf(j document.Job) judgement {
	a := judgement{summary: j.Summary}
	if j.Verdict != nil {
		a.state, a.reason, a.advice = j.Verdict.State, j.Verdict.Reason, j.Verdict.Advice
	}
	return a.timeless()
}

func (a judgement) timeless() judgement {
	a.summary = durations.ReplaceAllString(a.summary, "#")
	a.advice = durations.ReplaceAllString(a.advice, "#")
	return a
}

// agreement has every command that judges a job say what explain says of it, at the same moment and by the same
// evidence.
func (c *scenarioCheck) agreement() {
	kind, name := c.want.KindAndName()
	subject := strings.ToLower(kind) + "/" + name
	is := func(j document.Job) bool { return strings.EqualFold(j.Kind, kind) && j.Name == name }
	trouble := c.said.state == "stuck" || c.said.state == "orphaned"

	var named document.Job
	c.document(&named, "get", subject, "-o", "json")
	c.agrees("get "+subject, judgementOf(named))
	for _, args := range [][]string{{"get", "-o", "json"}, {"get", "--stuck", "-o", "json"}} {
		var list document.JobList
		c.document(&list, args...)
		i := slices.IndexFunc(list.Items, is)
		if isListed, expected := i >= 0, trouble || args[1] != "--stuck"; isListed != expected {
			c.Errorf(
				"%s lists it: %v, and explain says %s (%s)",
				strings.Join(args, " "),
				isListed,
				c.said.state,
				c.said.reason,
			)
		} else if isListed {
			c.agrees(strings.Join(args, " "), judgementOf(list.Items[i]))
			if list.Items[i].Stuck != trouble {
				c.Errorf(
					"%s: stuck is %v of a job that is %s",
					strings.Join(args, " "),
					list.Items[i].Stuck,
					c.said.state,
				)
			}
		}
	}
	var described describe.Document
	if c.document(&described, "describe", subject, "-o", "json"); described.Job != nil {
		c.agrees("describe", judgementOf(*described.Job))
	}
	var results document.Results
	if out, _, _ := c.run(c.T, "results", subject, "-o", "json"); json.Unmarshal([]byte(out), &results) == nil {
		c.agrees("results", judgementOf(results.Job)) // else nothing is stored of it
	}
	var made report.Document
	c.document(&made, "report", subject, "-o", "json")
	v := made.Verdict
	reported := judgement{v.State, v.Reason, v.Summary, v.Advice}
	if v.State == "" { // other commands leave the reason of an ended job to its phase
		reported.reason, reported.advice = c.said.reason, c.said.advice
	}
	c.agrees("report", reported.timeless())
	c.checkAgrees(kind, name, trouble)
	var waited document.WaitResult
	c.document(&waited, "wait", subject, "--timeout", "3s", "--no-artifacts", "-o", "json")
	if len(waited.Items) == 1 && waited.Items[0].Job != nil {
		if stuck := waited.Items[0].Result == "stuck"; stuck && !trouble {
			c.Errorf("wait says that it is stuck, explain says %s (%s)", c.said.state, c.said.reason)
		}
	}
}

// checkAgrees: check lists a job among its findings with the same reason, or among what another finding affects, exactly
// if it is stuck or orphaned. A job that has ended may be a finding for how it ended.
func (c *scenarioCheck) checkAgrees(kind, name string, trouble bool) {
	var check document.Check
	c.document(&check, "check", "-o", "json")
	i := slices.IndexFunc(check.Items, func(f document.Finding) bool {
		return strings.EqualFold(f.Object.Kind, kind) && f.Object.Name == name
	})
	ref := strings.ToLower(kind) + "/" + name
	follows := slices.ContainsFunc(
		check.Items,
		func(f document.Finding) bool { return slices.Contains(f.Affects, ref) },
	)
	switch {
	case c.said.state == "":
	case i < 0 && trouble && !follows:
		c.Errorf("check does not list it, explain says %s (%s)", c.said.state, c.said.reason)
	case i >= 0 && check.Items[i].Severity == "critical" && !trouble:
		c.Errorf("check says %s, explain says %s (%s)", check.Items[i].Reason, c.said.state, c.said.reason)
	case i >= 0 && trouble && check.Items[i].Reason != c.said.reason:
		c.Errorf("check says %s, explain says %s", check.Items[i].Reason, c.said.reason)
	}
}

func (c *scenarioCheck) agrees(command string, got judgement) {
	c.Helper()
	if isEnded := c.said.state == "" && got.state == ""; isEnded && strings.HasPrefix(c.said.summary, got.summary) {
		return // explain reads more about the end than a list does
	}
	if got != c.said {
		c.Errorf("%s says\n%q, explain says\n%q", command, got, c.said)
	}
}
