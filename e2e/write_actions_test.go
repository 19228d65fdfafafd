//go:build e2e

package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// runChange runs a command that writes, and reads what it says came of it.
func runChange(t *testing.T, wantCode int, args ...string) (state, sent, message string) {
	t.Helper()
	code, printed := runVeltui(t, append(args, "--yes", "-o", "json")...)
	var d struct {
		Outcome struct{ State, Sent, Message string }
	}
	if err := json.Unmarshal(document(printed), &d); err != nil || code != wantCode {
		t.Fatalf("%q ended with %d, %v:\n%s", args, code, err, printed)
	}
	return d.Outcome.State, d.Outcome.Sent, d.Outcome.Message
}

// TestPauseAndBackUpNow: a paused schedule makes no backup, one that goes on makes up for what was missed unless that is
// left out, and a backup made now has what the schedule's own have.
func TestPauseAndBackUpNow(t *testing.T) {
	ctx := patient(t)
	must(t, theLab.EnsureVelero(ctx))
	s := &veleroapi.Schedule{
		ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: "acted", Labels: map[string]string{"team": "a"}},
		Spec: veleroapi.ScheduleSpec{
			Schedule: "@every 2s",
			Template: veleroapi.BackupSpec{IncludedNamespaces: []string{"orders"}, StorageLocation: lab.LocationName},
		},
	}
	must(t, theLab.Client.Create(ctx, s))
	defer func() { must(t, theLab.DeleteAndWait(ctx, s)) }()
	of := client.MatchingLabels{veleroapi.ScheduleNameLabel: s.Name}
	count := func() int {
		var made veleroapi.BackupList
		must(t, theLab.Client.List(ctx, &made, client.InNamespace(lab.Namespace), of))
		return len(made.Items)
	}
	for count() == 0 {
		time.Sleep(500 * time.Millisecond)
	}
	if state, sent, message := runChange(
		t,
		0,
		"schedule",
		"pause",
		s.Name,
		"--observe",
		"2s",
		"--reason",
		"end-to-end test",
	); state != "settled" ||
		sent != "landed" {
		t.Fatalf("%s, %s: %s", state, sent, message)
	}
	if state, _, message := runChange(
		t,
		exitRefused,
		"schedule",
		"pause",
		s.Name,
	); state != "refused" ||
		!strings.Contains(message, "paused already") {
		t.Errorf("paused twice: %s: %s", state, message)
	}
	before := count()

	now := "acted-now"
	if state, sent, message := runChange(
		t,
		0,
		"backup",
		"create",
		now,
		"--from-schedule",
		s.Name,
	); state != "settled" ||
		sent != "landed" {
		t.Fatalf("%s, %s: %s", state, sent, message)
	}
	wantEnd(t, ended(t, "Backup", now), "Completed")
	var mine, theirs veleroapi.Backup
	must(t, theLab.Client.Get(ctx, client.ObjectKey{Namespace: lab.Namespace, Name: now}, &mine))
	_, err := theLab.VeleroCLI(ctx, "backup", "create", "acted-velero", "--from-schedule", s.Name)
	must(t, err)
	wantEnd(t, ended(t, "Backup", "acted-velero"), "Completed")
	must(t, theLab.Client.Get(ctx, client.ObjectKey{Namespace: lab.Namespace, Name: "acted-velero"}, &theirs))
	spec := func(b veleroapi.Backup) string {
		data, err := json.Marshal(b.Spec)
		must(t, err)
		return string(data)
	}
	if spec(mine) != spec(theirs) || mine.Labels["team"] != "a" || mine.Labels[veleroapi.ScheduleNameLabel] != s.Name {
		t.Errorf("veltui made\n%s %v\nVelero's command\n%s %v", spec(mine), mine.Labels, spec(theirs), theirs.Labels)
	}
	if state, _, message := runChange(
		t,
		exitRefused,
		"backup",
		"create",
		now,
		"--from-schedule",
		s.Name,
	); state != "refused" ||
		!strings.Contains(message, "there is a backup of that name") {
		t.Errorf("made twice: %s: %s", state, message)
	}
	if made := count() - before; made != 2 {
		t.Errorf("%d backups while the schedule was paused, want the two that were asked for", made)
	}

	if state, _, message := runChange(
		t,
		0,
		"schedule",
		"unpause",
		s.Name,
		"--skip-immediately",
		"--observe",
		"1s",
	); state != "settled" {
		t.Fatalf("%s: %s", state, message)
	}
	code, printed := runVeltui(t, "audit", "schedule/"+s.Name)
	if code != 0 || strings.Count(printed, "landed") != 2 || !strings.Contains(printed, "end-to-end test") {
		t.Errorf("audit ended with %d:\n%s", code, printed)
	}
}

// TestRestoreCreateRefuses what Velero would refuse, and what stands in the way in a script.
func TestRestoreCreateRefuses(t *testing.T) {
	fullBackup(t)
	if state, sent, message := runChange(
		t,
		exitRefused,
		"restore",
		"create",
		"refused-1",
		"--from-backup",
		"no-such-backup",
		"--preflight",
		"none",
	); state != "refused" || sent != "not sent" ||
		!strings.Contains(message, "there is no backup") {
		t.Errorf("of a missing backup: %s, %s: %s", state, sent, message)
	}
	code, printed := runVeltui(
		t,
		"restore",
		"create",
		"refused-2",
		"--from-backup",
		full,
		"--include-namespaces",
		"orders",
		"--namespace-mappings",
		"orders:Orders_2",
		"--preflight",
		"dry-run",
		"--yes",
	)
	if code != exitRefused || !strings.Contains(printed, "refused: ") || !strings.Contains(printed, "in the way") {
		t.Errorf("onto an invalid name: %d\n%s", code, printed)
	}
	// Without an agreement to a dry run nobody has asked the API server: --yes does not go on by default.
	code, printed = runVeltui(
		t,
		"restore",
		"create",
		"refused-3",
		"--from-backup",
		full,
		"--include-namespaces",
		"orders",
		"--namespace-mappings",
		"orders:acted-none",
		"--yes",
	)
	if code != exitRefused || !strings.Contains(printed, "The API server was not asked about the objects") ||
		!strings.Contains(printed, "--preflight dry-run") || !strings.Contains(printed, "refused: ") {
		t.Errorf("without a dry run: %d\n%s", code, printed)
	}
	for _, name := range []string{"refused-1", "refused-2", "refused-3"} {
		if err := theLab.Client.Get(
			patient(t),
			client.ObjectKey{Namespace: lab.Namespace, Name: name},
			&veleroapi.Restore{},
		); err == nil {
			t.Errorf("%s was created", name)
		}
	}
	code, printed = runVeltui(
		t,
		"restore",
		"create",
		"acted-wait",
		"--from-backup",
		full,
		"--include-namespaces",
		"orders",
		"--include-resources",
		"configmaps",
		"--namespace-mappings",
		"orders:acted-orders",
		"--preflight",
		"look",
		"--yes",
		"--wait",
		"--reason",
		"end-to-end test",
	)
	if code != 0 || !strings.Contains(printed, "restore/acted-wait") || !strings.Contains(printed, "Completed") {
		t.Errorf("with --wait: %d\n%s", code, printed)
	}
}
