package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/yaml"

	"github.com/veltui/veltui/e2e/lab"
)

// scenarioLogs is how many of the last lines of the server's log a scenario has.
const scenarioLogs = 200

// scenario is a scenario file as package internal/demo/scene reads it.
type scenario struct {
	Name    string           `json:"name"`
	Source  string           `json:"source"`
	Expect  map[string]any   `json:"expect"`
	Objects []map[string]any `json:"objects"`
	Logs    []string         `json:"logs"`
}

// WriteScenarios writes each wrong moment into dir, as the cluster was when the
// moment began.
func WriteScenarios(dir string, entries []Entry, r Result) error {
	wrong := r.knownWrongPeriods()
	if len(wrong) == 0 {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("writing the scenarios: %w", err)
	}
	for i, m := range wrong {
		data, err := yaml.Marshal(scenarioOf(entries, r.Story, m))
		if err != nil {
			return fmt.Errorf("writing the scenarios: %w", err)
		}
		name := fmt.Sprintf(
			"%03d-%s-%s.yaml",
			i+1,
			strings.ReplaceAll(string(m.Mistake), " ", "-"),
			strings.ReplaceAll(m.Job, "/", "-"),
		)
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return fmt.Errorf("writing the scenarios: %w", err)
		}
	}
	return nil
}

func scenarioOf(entries []Entry, story Story, m WrongPeriod) scenario {
	s := scenario{
		Name:   fmt.Sprintf("chaos, seed %d, Velero %s: %s", story.Seed, story.Version, m.Proof),
		Source: "the recording of a run: " + m.Proof,
		Expect: map[string]any{"job": m.Job, "never": []string{"stuck", "orphaned"}, "remedies": []string{}},
	}
	if m.Mistake == Miss {
		s.Expect = map[string]any{"job": m.Job, "state": []string{"stuck", "orphaned"},
			"remedies": []string{"finalize", "wake", "cancel-volumes", "restart", "restart-node-agent", "delete"}}
	}
	objects, server := map[string]*unstructured.Unstructured{}, ""
	for _, e := range entries {
		if e.At.After(m.From) {
			break
		}
		switch e.Kind {
		case ObjectEntry:
			key := e.Object.GetAPIVersion() + e.Object.GetKind() + "/" + e.Object.GetNamespace() + "/" + e.Object.GetName()
			if objects[key] = e.Object; e.Type == watch.Deleted {
				delete(objects, key)
			}
		case LogEntry:
			if e.Pod == lab.Namespace+"/"+lab.SecondServerPod {
				continue // a scenario has the log of one server
			}
			server = e.Pod
			s.Logs = append(
				s.Logs,
				fmt.Sprintf("[%s] %s", formatRelative(e.At, m.From), lineTimePattern.ReplaceAllString(e.Text, "time=... ")),
			)
		}
	}
	_, running := objects["v1Pod/"+lab.Namespace+"/"+strings.TrimPrefix(server, lab.Namespace+"/")]
	if s.Logs = s.Logs[max(0, len(s.Logs)-scenarioLogs):]; !running {
		s.Logs = nil
	}
	for _, key := range slices.SortedFunc(maps.Keys(objects), func(a, b string) int { return cmp.Compare(a, b) }) {
		s.Objects = append(s.Objects, relativeTimes(objects[key].DeepCopy().Object, m.From).(map[string]any))
	}
	return s
}

// formatRelative is a time as scenarios write it: a signed duration from now.
func formatRelative(at, now time.Time) string {
	d := at.Sub(now).Round(time.Second)
	if d <= 0 {
		return "-" + d.Abs().String()
	}
	return "+" + d.String()
}

// relativeTimes makes every time in decoded JSON relative, in place.
func relativeTimes(value any, now time.Time) any {
	switch value := value.(type) {
	case map[string]any:
		for key, v := range value {
			value[key] = relativeTimes(v, now)
		}
	case []any:
		for i, v := range value {
			value[i] = relativeTimes(v, now)
		}
	case string:
		if at, err := time.Parse(time.RFC3339, value); err == nil {
			return formatRelative(at, now)
		}
	}
	return value
}

// lineTimePattern is a line's own time, for which its brackets stand.
var lineTimePattern = regexp.MustCompile(`^time="[^"]*" `)
