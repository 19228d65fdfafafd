package narrate

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/internal/human"
)

// attention are sentences about all that needs someone, the worst first, and the jobs among it.
func attention(a *assess.Assessment, flags string) (lines []string, jobs map[types.UID]bool) {
	jobs = map[types.UID]bool{}
	found := a.SpokenAttention()
	if n := len(found); n > 1 {
		lines = append(lines, sentence("%d things need attention, the worst first", n))
	}
	for _, f := range found {
		if j := a.Find(f.UID); j != nil {
			jobs[j.UID] = true
			lines = append(lines, Job(a.Of(j), a.Environment.Now, flags))
			continue
		}
		if f.Kind != "server" { // said before all jobs
			lines = append(lines, findingText(f))
		}
	}
	return lines, jobs
}

func findingText(f assess.Finding) string {
	return sentence("%s: %s %s: %s%s", human.Capital(f.Severity.String()), f.Kind, f.Name, f.Summary, human.Clause(". It affects ", human.List(f.Affects, 3)))
}

// Findings tells what has come to need someone, and what no longer does. The zero value is ready.
type Findings struct{ before map[string]assess.Finding }

// Since are the lines since the last call, which the first has none of. Others tell of jobs.
func (n *Findings) Since(found []assess.Finding) []Line {
	now := make(map[string]assess.Finding, len(found))
	var lines []Line
	for _, f := range found {
		if f.In == assess.InBackups || f.In == assess.InRestores {
			continue
		}
		about := fmt.Sprint("finding ", f.Ref(), " ", f.Reason)
		now[about] = f
		if _, known := n.before[about]; !known && n.before != nil {
			lines = append(lines, Line{About: about, Text: findingText(f), Weight: Urgent})
		}
	}
	for about, f := range n.before {
		if _, still := now[about]; !still {
			lines = append(lines, Line{About: about, Text: sentence("No longer %s: %s %s, %s", f.Severity, f.Kind, f.Name, f.Reason), Weight: Normal})
		}
	}
	n.before = now
	return lines
}
