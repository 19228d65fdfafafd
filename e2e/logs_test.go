//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/veltui/veltui/e2e/lab"
)

// TestLogs holds a backup at its end, reads and follows its live log, and compares
// that with the log that Velero stores: no line of it may be missing in the other.
func TestLogs(t *testing.T) {
	const name = "logged"
	ctx := patient(t)
	d := doomedBackup(name, "ops")
	hold, err := theLab.HoldUploads(ctx, d.heldUp())
	must(t, err)
	t.Cleanup(hold.ReleaseAll)
	d.create(t)
	must(t, hold.AwaitUpload(ctx, d.heldUp()))

	if code, printed := runVeltui(
		t,
		"logs",
		"backup/"+name,
		"--read-only",
	); code != 0 ||
		!strings.Contains(printed, "Backed up") {
		t.Errorf("its live log ends with %d:\n%s", code, printed)
	}
	path, err := veltui()
	must(t, err)
	ending, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	follow := exec.CommandContext(
		ending,
		path,
		"logs",
		"backup/"+name,
		"-f",
		"--kubeconfig",
		theLab.Kubeconfig(),
		"-n",
		lab.Namespace,
	)
	follow.Env = veltuiTells.cmd.Env
	var live, notes bytes.Buffer
	follow.Stdout, follow.Stderr = &live, &notes
	must(t, follow.Start())
	time.Sleep(2 * time.Second) // so that it follows when the rest comes
	hold.ReleaseAll()
	wantEnd(t, ended(t, "Backup", name), "Completed")
	if err := follow.Wait(); err != nil || !strings.Contains(notes.String(), "has ended") {
		t.Errorf("the log that is followed ends with %v: %s", err, &notes)
	}
	must(t, hold.RemoveHold(ctx))

	code, stored := runVeltui(t, "logs", "backup/"+name)
	if code != 0 || !strings.Contains(stored, "Setting up backup temp file") {
		t.Fatalf("its stored log ends with %d:\n%s", code, stored)
	}
	followed := map[string]bool{}
	for line := range strings.Lines(live.String()) {
		followed[line] = true
		if !strings.Contains(line, name) {
			t.Errorf("a line of another: %s", line)
		}
	}
	lines := 0
	for line := range strings.Lines(stored) {
		if lines++; !followed[line] {
			t.Errorf("the live log lacks: %s", line)
		}
	}
	t.Logf("%d lines are stored, %d were followed", lines, len(followed))
	if code, printed := runVeltui(
		t,
		"logs",
		"backup/"+name,
		"--level",
		"error",
	); code != 0 ||
		strings.Contains(printed, "level=info") {
		t.Errorf("its errors end with %d:\n%s", code, printed)
	}
	if code, printed := runVeltui(
		t,
		"logs",
		"backup/"+name,
		"--read-only",
	); code != 0 ||
		!strings.Contains(printed, "still have") {
		t.Errorf("without DownloadRequests it ends with %d:\n%.500s", code, printed)
	}
}
