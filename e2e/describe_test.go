//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestDescribe makes jobs with every setting that a test can give them, and
// compares what Velero's own command prints of them, and of all others that are
// there, with the table in the table of velero describe and with veltui.
func TestDescribe(t *testing.T) {
	ctx := patient(t)
	must(t, theLab.EnsureVelero(ctx))
	inVelero := func(name, data string) *corev1.TypedLocalObjectReference {
		must(
			t,
			theLab.Client.Create(
				ctx,
				&corev1.ConfigMap{
					ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: name},
					Data:       map[string]string{"rules.yaml": data},
				},
			),
		)
		return &corev1.TypedLocalObjectReference{Kind: "configmap", Name: name}
	}
	policy := inVelero(
		"describe-policy",
		"version: v1\nvolumePolicies:\n- conditions:\n    capacity: \"0,1Gi\"\n  action:\n    type: skip\n",
	)
	modifier := inVelero(
		"describe-modifier",
		"version: v1\nresourceModifierRules:\n- conditions:\n    groupResource: configmaps\n    resourceNameRegex: \"^none$\"\n"+
			"  patches:\n  - operation: add\n    path: \"/metadata/annotations/x\"\n    value: \"y\"\n",
	)
	minutes := func(n int) metav1.Duration { return metav1.Duration{Duration: time.Duration(n) * time.Minute} }
	yes, no := true, false
	red, blue := metav1.LabelSelector{
		MatchLabels: map[string]string{"team": "red"},
	}, metav1.LabelSelector{
		MatchLabels: map[string]string{"team": "blue"},
	}
	exec := veleroapi.BackupResourceHook{
		Exec: &veleroapi.ExecHook{
			Container: "db",
			Command:   []string{"sync", "-f"},
			OnError:   "Fail",
			Timeout:   minutes(2),
		},
	}

	scoped := veleroapi.BackupSpec{
		IncludedNamespaces: []string{
			"media",
			"ops",
		},
		ExcludedNamespaces:               []string{"shop"},
		IncludedNamespaceScopedResources: []string{"configmaps", "widgets.lab.veltui.io"},
		ExcludedNamespaceScopedResources: []string{
			"secrets",
		},
		ExcludedClusterScopedResources: []string{"storageclasses"},
		LabelSelector: &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "team", Operator: "In", Values: []string{"red", "blue", "green"}},
			},
		},
		TTL: minutes(
			48 * 60,
		),
		CSISnapshotTimeout:       minutes(12),
		ItemOperationTimeout:     minutes(90),
		ResourcePolicy:           policy,
		DataMover:                "velero",
		SnapshotVolumes:          &no,
		SnapshotMoveData:         &no,
		DefaultVolumesToFsBackup: &no,
		UploaderConfig:           &veleroapi.UploaderConfigForBackup{ParallelFilesUpload: 4},
		OrderedResources:         map[string]string{"configmaps": "ops/a,ops/b"},
		Hooks: veleroapi.BackupHooks{
			Resources: []veleroapi.BackupResourceHookSpec{
				{
					Name:               "flush",
					IncludedNamespaces: []string{"shop"},
					ExcludedResources:  []string{"secrets"},
					LabelSelector:      &red,
					PreHooks:           []veleroapi.BackupResourceHook{exec},
					PostHooks:          []veleroapi.BackupResourceHook{exec},
				},
			},
		},
	}
	wantEnd(t, backup(t, "describe-scoped", scoped, lab.Annotations{lab.OperationAnnotation: "1s"}), "Completed")
	backup(
		t,
		"describe-invalid",
		veleroapi.BackupSpec{LabelSelector: &red, OrLabelSelectors: []*metav1.LabelSelector{&red, &blue},
			IncludedNamespaces: []string{"ops"}, ExcludedNamespaces: []string{"ops"}},
		nil,
	)

	// A ConfigMap that is there already and differs gives a warning.
	var maps corev1.ConfigMapList
	must(t, theLab.Client.List(ctx, &maps, client.InNamespace("ops"), client.MatchingLabels{"team": "red"}))
	must(t, theLab.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ops-described"}}))
	must(
		t,
		theLab.Client.Create(
			ctx,
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ops-described", Name: maps.Items[0].Name}},
		),
	)
	restored := veleroapi.RestoreSpec{
		BackupName:              "describe-scoped",
		IncludedNamespaces:      []string{"ops"},
		IncludedResources:       []string{"configmaps", "widgets.lab.veltui.io"},
		IncludeClusterResources: &no,
		OrLabelSelectors: []*metav1.LabelSelector{
			&red,
			&blue,
		},
		NamespaceMapping:  map[string]string{"ops": "ops-described"},
		RestorePVs:        &no,
		PreserveNodePorts: &yes,
		ItemOperationTimeout: minutes(
			61,
		),
		ResourceModifier: modifier,
		UploaderConfig:   &veleroapi.UploaderConfigForRestore{WriteSparseFiles: &yes, ParallelFilesDownload: 3},
	}
	wantEnd(t, restore(t, "describe-restored", restored, lab.Annotations{lab.OperationAnnotation: "1s"}), "Completed")

	// One that runs, and one that waits behind it.
	createBackup(
		t,
		"describe-running",
		veleroapi.BackupSpec{
			IncludedNamespaces: []string{"ops"},
			OrLabelSelectors:   []*metav1.LabelSelector{&red, &blue},
			IncludedResources: []string{
				"configmaps",
				"widgets.lab.veltui.io",
			},
		},
		lab.Annotations{lab.HoldAnnotation: "describe-running"},
	)
	await(
		t,
		"Backup",
		"describe-running",
		"be held with some items done",
		func(h lab.History) bool { return h.LastState().Progress != nil && h.LastState().Progress.Done > 0 },
	)
	createBackup(t, "describe-queued", veleroapi.BackupSpec{IncludedNamespaces: []string{"ops"}}, nil)
	await(t, "Backup", "describe-queued", "wait for its turn", notStarted(t))

	table := readTable(t)
	seen := map[*tableRow]bool{}
	for _, name := range []string{"describe-scoped", "describe-invalid", "describe-running", "describe-queued"} {
		table.compare(t, "backup", name, seen)
	}
	table.compare(t, "restore", "describe-restored", seen)
	must(t, theLab.OpenGate("describe-running"))
	wantEnd(t, ended(t, "Backup", "describe-running"), "Completed")
	ended(t, "Backup", "describe-queued")

	// What other tests left, if they ran before.
	stored := map[string]bool{"Completed": true, "PartiallyFailed": true}
	var backups veleroapi.BackupList
	must(t, theLab.Client.List(ctx, &backups, client.InNamespace(lab.Namespace)))
	for i := range min(len(backups.Items), 20) {
		if b := backups.Items[i]; stored[string(b.Status.Phase)] && b.Name != "describe-scoped" {
			table.compare(t, "backup", b.Name, seen)
		}
	}
	var restores veleroapi.RestoreList
	must(t, theLab.Client.List(ctx, &restores, client.InNamespace(lab.Namespace)))
	for i := range min(len(restores.Items), 20) {
		// Velero prints some messages of TestCompare's restores on many lines, which this
		// test cannot tell from labels.
		if r := restores.Items[i]; stored[string(r.Status.Phase)] && r.Name != "describe-restored" &&
			!strings.HasPrefix(r.Name, "cmp-") {
			table.compare(t, "restore", r.Name, seen)
		}
	}
	if len(seen) < 60 {
		t.Errorf("Velero printed only %d of the table's lines", len(seen))
	}
	t.Logf("Velero printed %d lines of the table", len(seen))
}

// tableRow is a line of the table in the table of velero describe, or a part of its path.
type tableRow struct {
	label    string
	named    *regexp.Regexp // for a label with a word in capitals, that stands for a name
	field    string         // veltui's, empty for none
	children []*tableRow
}

var anyName = regexp.MustCompile(`\b(NAMESPACE|KIND|NAME|ITEM|PV|CLAIM|PHASE|POD|TIME|UPLOADER)\b`)

func readTable(t *testing.T) *tableRow {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "internal", "view", "describe", "testdata", "velero-describe.md"))
	must(t, err)
	root := &tableRow{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) < 5 || !strings.Contains(cells[1], "`") {
			continue
		}
		at := root
		for label := range strings.SplitSeq(strings.Trim(strings.TrimSpace(cells[1]), "`"), " > ") {
			i := slices.IndexFunc(at.children, func(r *tableRow) bool { return r.label == label })
			if i < 0 {
				r := &tableRow{label: label}
				if anyName.MatchString(label) {
					r.named = regexp.MustCompile("^" + anyName.ReplaceAllString(label, ".+") + "$")
				}
				at.children = append(at.children, r)
				i = len(at.children) - 1
			}
			at = at.children[i]
		}
		at.field = strings.TrimSpace(cells[2])
	}
	return root
}

// child is the row of a label, with what Velero adds to some of them left out.
func (r *tableRow) child(label string) *tableRow {
	label = regexp.MustCompile(`( \(\d+ failed\)| - [a-z]+)$`).ReplaceAllString(label, "")
	for _, c := range r.children {
		if c.label == label {
			return c
		}
	}
	for _, c := range r.children {
		if c.named != nil && c.named.MatchString(label) {
			return c
		}
	}
	return nil
}

// printedLine is a label that Velero printed, with its value, or those below it.
type printedLine struct {
	row    *tableRow
	label  string
	above  *printedLine
	values []string
}

// hook is the name of the hook that the line is about, empty for none.
func (l *printedLine) hook() string {
	for ; l != nil; l = l.above {
		if l.row.label == "NAME" {
			return l.label
		}
	}
	return ""
}

var labelled = regexp.MustCompile(`^ *(.+?):(?:\s+(.*))?$`)

// read takes what Velero printed apart. What has no row is an error.
func (r *tableRow) read(t *testing.T, printed string) []*printedLine {
	t.Helper()
	type open struct {
		indent int
		line   *printedLine
	}
	stack := []open{{-1, &printedLine{row: r}}}
	var lines []*printedLine
	for text := range strings.Lines(ansi.Strip(printed)) {
		text = strings.TrimRight(text, " \n")
		if text == "" || strings.HasPrefix(strings.TrimSpace(text), "<error") { // of a job that has nothing stored
			continue
		}
		indent := len(text) - len(strings.TrimLeft(text, " "))
		for stack[len(stack)-1].indent >= indent {
			stack = stack[:len(stack)-1]
		}
		above := stack[len(stack)-1].line
		if len(above.row.children) == 0 {
			above.values = append(above.values, strings.TrimSpace(text))
			continue
		}
		m := labelled.FindStringSubmatch(text)
		if m == nil || above.row.child(m[1]) == nil {
			t.Errorf("the table of velero describe has no row for this line, below %q: %q", above.label, text)
			continue
		}
		line := &printedLine{row: above.row.child(m[1]), label: m[1], above: above}
		if m[2] != "" {
			line.values = []string{m[2]}
		}
		stack = append(stack, open{indent, line})
		lines = append(lines, line)
	}
	return lines
}

// compare runs both commands on one job.
func (r *tableRow) compare(t *testing.T, kind, name string, seen map[*tableRow]bool) {
	t.Helper()
	printed, err := theLab.VeleroCLI(patient(t), kind, "describe", name, "--details")
	must(t, err)
	code, document := runVeltui(t, "describe", kind+"/"+name, "-o", "json")
	var described struct {
		Sections []struct {
			Fields []struct {
				Title  string
				Values []string
			}
		}
	}
	if err := json.Unmarshal([]byte(document), &described); err != nil || code != 0 {
		t.Fatalf("veltui describe %s/%s: exit code %d, %v: %s", kind, name, code, err, document)
	}
	fields := map[string]string{}
	for _, s := range described.Sections {
		for _, f := range s.Fields {
			fields[f.Title] = strings.Join(f.Values, "\n")
		}
	}
	for _, line := range r.read(t, printed) {
		seen[line.row] = true
		title, part, _ := strings.Cut(line.row.field, " (")
		if title == "the hook's name" {
			title = line.hook()
		}
		got, known := fields[title]
		value := asVeltui(line)
		// Some fields of veltui's hold several of Velero's.
		several := line.hook() != "" || title == "Deletion" || title == "Ordered resources" ||
			line.above.row.field == "" && slices.Contains([]string{"Type", "Name"}, line.label)
		switch {
		case title == "", part == "the counts)" && strings.Contains(value, "<none"), value == "" && !known:
		case !known:
			t.Errorf("%s/%s: Velero prints %q, veltui describe has no %q", kind, name, line.label, title)
		case value == "", strings.HasPrefix(part, "the count"), line.hook() != "" && (value == "none" || value == "*"):
		case several:
			if !strings.Contains(got, value) {
				t.Errorf(
					"%s/%s: %s > %s is %q, which veltui's %s does not hold: %q",
					kind,
					name,
					line.above.label,
					line.label,
					value,
					title,
					got,
				)
			}
		default:
			if before, after, found := strings.Cut(got, " of "); title == "Items" && found {
				got = before
				if part != "" {
					got = after
				}
			}
			if got != value {
				t.Errorf(
					"%s/%s: %s > %s is %q, veltui's %s is %q",
					kind,
					name,
					line.above.label,
					line.label,
					value,
					title,
					got,
				)
			}
		}
	}
}

// asVeltui is a value of Velero's as veltui writes it.
func asVeltui(l *printedLine) string {
	var values []string
	for _, v := range l.values {
		v, _, _ = strings.Cut(v, " (run ")
		at, notTime := time.Parse("2006-01-02 15:04:05 -0700 MST", v)
		d, notDuration := time.ParseDuration(v)
		switch {
		case v == "<none>":
			v = "none"
		case v == "<n/a>", v == "<nil>":
			v = ""
		case v == "all namespaces found in the backup":
			v = "*"
		case v == "" && l.label == "Storage Location", notDuration == nil && d == 0 && v != "0":
			v = "not set"
		case notTime == nil:
			v = at.UTC().Format("2006-01-02 15:04:05 UTC")
		case notDuration == nil && v != "0":
			v = regexp.MustCompile(`([hm])0s$`).ReplaceAllString(v, "$1")
			v = regexp.MustCompile(`h0m$`).ReplaceAllString(v, "h")
		case l.row.label == "Namespace mappings":
			v = strings.Replace(v, "=", " -> ", 1)
		}
		if l.row.named != nil && v != "" && l.row.label == "KIND" {
			v = l.label + ": " + v
		}
		values = append(values, v)
	}
	return strings.Join(values, "\n")
}
