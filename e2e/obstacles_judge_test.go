//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/e2e/lab"
)

// truth is what came of a restore, by the names of objects.
type truth struct {
	phase                     string
	errors, warnings, pending map[string]bool
	failed                    int // errors, also those that name nothing
}

// String is short: 2e are two errors, 1p is a claim that stays Pending, 3w are three warnings.
func (r truth) String() string {
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprint(n, what))
		}
	}
	add(r.failed, "e")
	add(len(r.pending), "p")
	switch {
	case r.phase == "FailedValidation":
		return "refused"
	case len(parts) == 0:
		add(len(r.warnings), "w")
	}
	return strings.Join(parts, "+")
}

// naming matches what names an object in Velero's errors and warnings.
var naming = []*regexp.Regexp{
	regexp.MustCompile(`^error (?:restoring|preparing) [^/ ]+/(?:[^/ ]+/)?([^/ :]+): `),
	regexp.MustCompile(`^could not restore, [A-Za-z]+(?::| ")([^" ]+)"? already exists`),
	regexp.MustCompile(`^[A-Za-z.0-9]+ "([^"]+)" `),
}

// restored returns what came of the restore, and holds it to what was planted.
func (p *plot) restored(h lab.History, to string, items int) truth {
	t := p.T
	r := truth{
		phase:    h.LastState().Phase,
		errors:   map[string]bool{},
		warnings: map[string]bool{},
		pending:  map[string]bool{},
	}
	phase := p.ends
	switch {
	case phase != "":
	case p.errors != "" || p.whole:
		phase = "PartiallyFailed"
	default:
		phase = "Completed"
	}
	wantEnd(t, h, phase)
	if r.phase == "FailedValidation" {
		return r
	}
	var results map[string]struct {
		Velero, Cluster []string
		Namespaces      map[string][]string
	}
	must(t, json.Unmarshal([]byte(stored(t, p.namespace, "results")), &results))
	read := func(severity string, into map[string]bool) (n int) {
		all := slices.Concat(results[severity].Velero, results[severity].Cluster)
		for _, more := range results[severity].Namespaces {
			all = append(all, more...)
		}
		for _, message := range all {
			t.Logf("%s: %.300s", severity, message)
			for _, pattern := range naming {
				if m := pattern.FindStringSubmatch(message); m != nil {
					into[m[1]] = true
					break
				}
			}
		}
		return len(all)
	}
	r.failed = read("errors", r.errors)
	read("warnings", r.warnings)
	for _, name := range strings.Fields(p.pending) {
		time.Sleep(2 * settling) // Kubernetes binds in moments, and says of a volume that is missing nothing at all
		claim := &corev1.PersistentVolumeClaim{}
		must(t, theLab.Client.Get(patient(t), client.ObjectKey{Namespace: to, Name: name}, claim))
		if claim.Status.Phase != corev1.ClaimPending {
			t.Errorf("claim %s is %s", name, claim.Status.Phase)
		}
		r.pending[name] = true
	}
	want := strings.Fields(p.errors)
	for name := range r.errors {
		if !slices.Contains(want, name) && !p.whole {
			t.Errorf("Velero has an error for %s, which was not planted", name)
		}
	}
	n := len(want)
	switch {
	case p.some > 0:
		n = p.some
	case len(r.errors) < r.failed: // not all name their object
		r.errors = set(want)
	}
	if p.whole && r.failed < items-1 || !p.whole && r.failed != n {
		t.Errorf("Velero has %d errors, planted were %d of %d items", r.failed, n, items)
	}
	if p.warnings != "" && p.warnings != "*" && !maps.Equal(r.warnings, set(strings.Fields(p.warnings))) {
		t.Errorf("Velero warns of %q, planted were %q", slices.Sorted(maps.Keys(r.warnings)), p.warnings)
	}
	return r
}

func set(names []string) map[string]bool {
	all := map[string]bool{}
	for _, name := range names {
		all[name] = true
	}
	return all
}

func baseOf(name string) string { return name[strings.LastIndex(name, "/")+1:] }

// foresight is what veltui says before the restore.
type foresight struct {
	items                             int
	obstacles, doubts, warnings, open map[string]bool
	cause                             string // the severity of the finding with the row's cause
	rejected                          int
	text                              string
	code                              int
}

func foretold(t *testing.T, o obstacle, args ...string) foresight {
	t.Helper()
	code, printed := runVeltui(t, append([]string{"preflight", "-o", "json", "--compare"}, args...)...)
	var d struct {
		preflighted
		Existing []existingObject
		DryRun   *struct {
			AsVelero bool
			WhyNot   string
			Rejected []struct {
				Name, Message string
				Warned        bool
			}
			CannotTell []struct{ Names []string }
		}
	}
	if err := json.Unmarshal(document(printed), &d); err != nil {
		t.Fatalf("%v in %s", err, printed)
	}
	f := foresight{
		items:     d.Items,
		obstacles: map[string]bool{},
		doubts:    map[string]bool{},
		warnings:  map[string]bool{},
		open:      map[string]bool{},
		text:      printed,
		code:      code,
	}
	for _, finding := range d.Findings {
		if finding.Reason == o.cause && f.cause != "obstacle" {
			f.cause = finding.Severity
		}
		if finding.Reason == "Rejected" || finding.Reason == o.cause {
			continue // the first are listed in whole
		}
		for _, name := range finding.Names {
			switch finding.Severity {
			case "obstacle":
				f.obstacles[baseOf(name)] = true
			case "doubt":
				f.doubts[baseOf(name)] = true
			}
		}
	}
	for _, unseen := range d.NotSeen {
		if o.decider != "" && strings.Contains(unseen.What, o.decider) {
			maps.Copy(f.open, set(strings.Fields(o.errors)))
		}
	}
	for _, e := range d.Existing {
		switch e.Outcome {
		case "Left", "PatchRefused":
			f.warnings[e.Name] = true
		case "CannotTell":
			f.open[e.Name] = true
		}
	}
	if d.DryRun == nil {
		return f
	}
	if !d.DryRun.AsVelero {
		t.Errorf("the dry run is not as Velero: %s", d.DryRun.WhyNot)
	}
	for _, r := range d.DryRun.Rejected {
		if r.Warned {
			f.warnings[r.Name], f.doubts[r.Name] = true, true
			continue
		}
		f.rejected++
		f.obstacles[r.Name] = true
	}
	for _, untold := range d.DryRun.CannotTell {
		for _, name := range untold.Names {
			f.open[baseOf(name)] = true
		}
	}
	return f
}

// What is said of a row.
const (
	wasFound  = "found"
	wasRight  = "right" // nothing was in the way
	wasDoubt  = "doubt"
	wasOpen   = "open" // named as what could not be found out
	wasMissed = "missed"
)

// against compares what was said with what came.
func (f foresight) against(t *testing.T, how string, o obstacle, r truth) (verdict string, wrong int) {
	t.Helper()
	bad := slices.Concat(slices.Collect(maps.Keys(r.errors)), slices.Collect(maps.Keys(r.pending)))
	if !o.whole {
		for name := range f.obstacles {
			if !slices.Contains(bad, name) {
				wrong++
				t.Logf("%s: %s is no obstacle", how, name)
			}
		}
	}
	defer func() {
		if wrong > 0 || verdict != wasFound && verdict != wasRight {
			t.Logf("%s: %s", how, f.text)
		}
	}()
	all := func(in map[string]bool) bool {
		return !slices.ContainsFunc(bad, func(name string) bool { return !f.obstacles[name] && !in[name] })
	}
	switch {
	case o.cause != "" && f.cause == "obstacle", o.whole && f.rejected >= f.items-1 && f.items > 0:
		return wasFound, wrong
	case o.cause != "" && f.cause == "doubt":
		return wasDoubt, wrong
	case o.whole:
		return wasMissed, wrong
	case len(bad) == 0 && o.warnings == "":
		return wasRight, wrong
	case len(bad) == 0:
		for name := range f.warnings {
			if !r.warnings[name] {
				wrong++
				t.Logf("%s: Velero does not warn of %s", how, name)
			}
		}
		verdict = wasFound
		for name := range r.warnings {
			if f.warnings[name] {
				continue
			}
			t.Logf("%s: Velero warns of %s", how, name)
			if verdict = wasOpen; !f.open[name] {
				return wasMissed, wrong
			}
		}
		return verdict, wrong
	case all(nil):
		return wasFound, wrong
	case all(f.doubts):
		return wasDoubt, wrong
	case all(f.open):
		return wasOpen, wrong
	}
	return wasMissed, wrong
}
