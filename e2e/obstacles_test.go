//go:build e2e

package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// TestObstacles plants one obstacle after the other, asks veltui without and with a dry run, and then has the real
// Velero restore. It writes what was found, missed and false into the file that E2E_OBSTACLES names.
func TestObstacles(t *testing.T) {
	path := os.Getenv("E2E_OBSTACLES")
	if path == "" {
		t.Skip("E2E_OBSTACLES is not set: make e2e-obstacles")
	}
	plantObstacles(t)
	var rows []judged
	all := slices.Concat(obstacles, broughtObstacles)
	for n, o := range all {
		t.Run(o.name, func(t *testing.T) { rows = append(rows, judge(t, fmt.Sprintf("ob-%02d", n+1), o)) })
	}
	table := tableOf(rows)
	t.Log("\n" + table)
	if len(rows) < len(all) {
		return // not all of them ran
	}
	text, err := os.ReadFile(path)
	must(t, err)
	const begin = "<!-- written by make e2e-obstacles -->\n"
	before, _, found := strings.Cut(string(text), begin)
	if !found {
		t.Fatalf("%s has no place for the table", path)
	}
	must(t, os.WriteFile(path, []byte(before+begin+"\n"+table), 0o644))
}

// judged is a row of the table.
type judged struct {
	obstacle
	velero        string
	without, with string
	wrong         [2]int
}

func judge(t *testing.T, namespace string, o obstacle) judged {
	t.Helper()
	p := &plot{T: t, obstacle: o, namespace: namespace}
	defer func() {
		for _, undo := range slices.Backward(p.undo) {
			undo()
		}
	}()
	from, to := o.from, o.to
	if from == "" {
		from = obMain
	}
	if to == "" {
		to = namespace
	}
	if !o.isNew && o.to == "" {
		var labels map[string]string
		must(t, yaml.Unmarshal([]byte(o.labels), &labels))
		p.makeNamespace(labels)
	}
	p.spec = veleroapi.RestoreSpec{BackupName: from, NamespaceMapping: map[string]string{from: to}}
	if from == obMain {
		p.spec.LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "ob", Operator: metav1.LabelSelectorOpIn, Values: append(strings.Fields(o.groups), "base")}}}
	}
	if o.spec != nil {
		o.spec(&p.spec)
	}
	p.plantAll(o.plant)
	if o.also != nil {
		o.also(p)
	}
	if o.plant != "" || o.also != nil {
		time.Sleep(settling)
	}
	file := t.TempDir() + "/restore.json"
	body, err := json.Marshal(
		map[string]any{
			"apiVersion": "velero.io/v1",
			"kind":       "Restore",
			"metadata":   map[string]any{"name": namespace, "namespace": lab.Namespace},
			"spec":       p.spec,
		},
	)
	must(t, err)
	must(t, os.WriteFile(file, body, 0o600))
	asks := []string{"-f", file, "--dry-run", "--dry-run-secrets"}
	if o.standIn {
		asks = append(asks, "--dry-run-namespace", obMain)
	}
	without, with := foretold(t, o, "-f", file), foretold(t, o, asks...)

	h := restore(t, namespace, p.spec, nil)
	real := p.restored(h, to, with.items)
	row := judged{obstacle: o, velero: real.String()}
	row.without, row.wrong[0] = without.against(t, "without a dry run", o, real)
	row.with, row.wrong[1] = with.against(t, "with a dry run", o, real)
	t.Logf(
		"Velero: %s; without: %s, %d false; with: %s, %d false",
		row.velero,
		row.without,
		row.wrong[0],
		row.with,
		row.wrong[1],
	)
	switch {
	case row.wrong[0]+row.wrong[1] > 0:
		t.Error("FALSE")
	case with.code == 0 && real.failed+len(real.pending) > 0 && o.unknowable == "":
		t.Error("exit code 0, and Velero did not restore everything")
	case row.with != wasRight && row.with != wasFound && o.unknowable == "" && (row.with != wasOpen || o.decider == ""):
		t.Errorf("MISSED: %s", row.with)
	}
	return row
}

// tableOf writes the rows as Markdown.
func tableOf(rows []judged) string {
	var b strings.Builder
	count := func(of func(judged) bool) (n int) {
		for _, row := range rows {
			if of(row) {
				n++
			}
		}
		return n
	}
	bites := func(r judged) bool { return r.velero != "" }
	fmt.Fprintf(
		&b,
		"Of %d in the way and %d that are not:\n\n||found|doubt or open|missed|false|\n|---|---|---|---|---|\n",
		count(bites),
		count(func(r judged) bool { return !bites(r) }),
	)
	for n, of := range []func(judged) string{func(r judged) string { return r.without }, func(r judged) string { return r.with }} {
		wrong := 0
		for _, r := range rows {
			wrong += r.wrong[n]
		}
		fmt.Fprintf(
			&b,
			"|%s|%d|%d|%d|%d|\n",
			[]string{"without", "with"}[n],
			count(func(r judged) bool { return of(r) == wasFound }),
			count(
				func(r judged) bool { return of(r) == wasDoubt || of(r) == wasOpen },
			),
			count(func(r judged) bool { return of(r) == wasMissed }),
			wrong,
		)
	}
	b.WriteString("\n|planted|Velero|without|with|\n|---|---|---|---|\n")
	for _, r := range rows {
		with := r.with
		if r.unknowable != "" {
			with += ": " + r.unknowable
		}
		fmt.Fprintf(&b, "|%s|%s|%s|%s|\n", r.name, cmp.Or(r.velero, "-"), r.without, with)
	}
	return b.String()
}
