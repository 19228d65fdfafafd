package ui

import (
	"strings"
	"testing"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero/decode"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/watch"
)

// spoiled is a snapshot with a malformed backup, restore, schedule, location
// and repository.
func spoiled() *watch.Snapshot {
	hook := decode.MalformedField{
		Field: "spec.hooks.resources[0].pre[0].exec.timeout",
		Value: `"30d"`,
		Error: "expected a duration",
	}
	ttl := decode.MalformedField{
		Field: "spec.template.ttl",
		Value: `"` + strings.Repeat("long ", 11) + `"`,
		Error: "expected a duration",
	}
	b := &veleroapi.Backup{ObjectMeta: meta("bad-backup", 0)}
	r := &veleroapi.Restore{
		ObjectMeta: meta("bad-restore", 0),
		Status:     veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseCompleted, CompletionTimestamp: ptr(ago(0))},
	}
	snap := snapshotOf(job.Fold(nil, job.Observation{Backup: b, MalformedFields: []decode.MalformedField{hook}, ObservedAt: noon}),
		job.Fold(nil, job.Observation{Restore: r, MalformedFields: []decode.MalformedField{hook}, ObservedAt: noon}),
		running("good", "b", 871, 1402, 34))
	snap.Malformed = append(
		snap.Malformed,
		watch.MalformedObject{
			Resource: watch.Backups,
			Kind:     "Backup",
			Name:     b.Name,
			UID:      b.UID,
			Fields:   []decode.MalformedField{hook},
		},
		watch.MalformedObject{
			Resource: watch.StorageLocations,
			Kind:     "BackupStorageLocation",
			Name:     snap.StorageLocations[0].Name,
			UID:      snap.StorageLocations[0].UID,
			Fields:   []decode.MalformedField{ttl},
		},
		watch.MalformedObject{
			Resource: watch.Repositories,
			Kind:     "BackupRepository",
			Name:     "repo",
			UID:      "repo",
			Fields:   []decode.MalformedField{ttl},
		},
		watch.MalformedObject{
			Resource: watch.Schedules,
			Kind:     "Schedule",
			Name:     snap.Schedules[0].Name,
			UID:      snap.Schedules[0].UID,
			Fields:   []decode.MalformedField{ttl},
		},
	)
	return snap
}

// A malformed resource names its field and its value in its own row, however
// narrow that is, and takes nothing from the others.
func TestMalformedRows(t *testing.T) {
	for _, size := range [][2]int{{150, 40}, {80, 24}, {60, 24}, {40, 12}} {
		m := screen(t, spoiled(), size[0], size[1])
		for key, rows := range map[string]map[string][]string{
			"1": {"bad-backup": {"eout", `"30d"`}, "bad-restore": {"eout", `"30d"`}, "good": {"62%"}},
			"2": {"bad-restore": {"eout", `"30d"`}},
			"3": {"bad-backup": {"eout", `"30d"`}},
			"4": {"nightly": {"ttl", `"lo`}},
			"5": {"default": {"ttl", `"lo`}, "backupreposit": {"ttl", `"lo`}},
		} {
			if size[0] == 40 && (key == "1" || key == "4" || key == "5") {
				continue // there only jobs have more than their name, and the first tab scrolls
			}
			press(t, m, key)
			frame := plain(checkFrame(t, m))
			for name, words := range rows {
				if !hasLine(frame, append(words, name)...) {
					t.Errorf("%dx%d, tab %s: no row of %s with %q in\n%s", size[0], size[1], key, name, words, frame)
				}
			}
		}
	}
	m := screen(t, spoiled(), 120, 40)
	if frame := plain(checkFrame(t, m)); !strings.Contains(frame, "4 malformed resources") {
		t.Errorf("the top does not count them:\n%s", frame)
	}
	press(t, m, "4")
	frame := plain(checkFrame(t, m))
	if text := strings.Join(
		strings.Fields(frame),
		" ",
	); !strings.Contains(
		text,
		"expected a duration. Velero's own server may fail on it too",
	) {
		t.Errorf("the line about the row does not say what it means:\n%s", frame)
	}
}

func hasLine(frame string, words ...string) bool {
	for line := range strings.Lines(frame) {
		found := true
		for _, w := range words {
			found = found && strings.Contains(line, w)
		}
		if found {
			return true
		}
	}
	return false
}
