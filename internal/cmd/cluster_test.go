package cmd

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/internal/view/document"
)

// TestDashboardForesees watches a restore from the download of its backup to
// its end, and then asks `get` about another one of the same backup.
func TestDashboardForesees(t *testing.T) {
	b := control(t)
	s := openStore(t, b)
	s.stored(t, b, "b-foreseen", veleroapi.BackupPhaseCompleted)
	targetNamespaces(t, b, "there-before")
	begin := func(name string) *veleroapi.Restore {
		now := aLaterSecond(t)
		r := restore(name, veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseInProgress, StartTimestamp: &now})
		r.Spec = veleroapi.RestoreSpec{
			BackupName:         "b-foreseen",
			IncludedNamespaces: []string{"shop"},
			IncludedResources:  []string{"configmaps", "secrets"},
			NamespaceMapping:   map[string]string{"shop": "there-before"},
		}
		b.create(t, r)
		return r
	}
	writes := func(r *veleroapi.Restore, done int, phase veleroapi.RestorePhase) {
		before := r.DeepCopy()
		r.Status.Phase, r.Status.Progress = phase, &veleroapi.RestoreProgress{ItemsRestored: done, TotalItems: 951}
		if err := b.client.Patch(t.Context(), r, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
	home := []string{"XDG_STATE_HOME=" + t.TempDir(), "XDG_CACHE_HOME=" + t.TempDir()}
	s.hold, s.held = make(chan struct{}), make(chan struct{})

	r := begin("foreseen")
	cmd := b.command(t, "-n", "velero")
	cmd.Env = append(cmd.Env, home...)
	c := startConsole(t, cmd, 100, 30)
	c.sees(t, "foreseen")
	c.types(t, "/foreseen\r\r4")
	<-s.held
	c.sees(t, "Reading the backup's contents", "50%", "119/237K")
	close(s.hold)
	c.sees(t, "RESOURCE (restore order)", "configmaps")
	if strings.Contains(c.ScreenText(), "119/237K") {
		t.Errorf("the download is over, but still there:\n%s", c.ScreenText())
	}
	// Velero's pace: a number a second. That is no waiting for something to
	// settle; on a slow machine the restore is a slow one.
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for i := range 5 {
		writes(r, 50+50*i, veleroapi.RestorePhaseInProgress)
		<-second.C
	}
	c.sees(t, "250/951", "ETA ")
	writes(r, 951, veleroapi.RestorePhaseInProgress)
	c.sees(t, "951/951")
	writes(r, 951, veleroapi.RestorePhaseCompleted)
	c.sees(t, "Completed")
	var books []string
	eventually(t, "what was learned is written down", func() bool {
		books, _ = filepath.Glob(
			filepath.Join(strings.TrimPrefix(home[0], "XDG_STATE_HOME="), "veltui", "rates", "*.rates"),
		)
		return len(books) == 1
	})
	if data, err := os.ReadFile(books[0]); err != nil || !bytes.Contains(data, []byte("secondsPerItem")) {
		t.Errorf("%s: %s, %v", books[0], data, err)
	}
	c.types(t, "q")
	c.exits(t)

	// One look has no speed, so only what was learned makes an ETA.
	writes(begin("foreseen-again"), 100, veleroapi.RestorePhaseInProgress)
	for _, c := range []struct {
		what     string
		home     []string
		foresees bool
	}{
		{"learned and read", home, true},
		{"learned, not read", []string{home[0], "XDG_CACHE_HOME=" + t.TempDir()}, false},
		{"read, not learned", []string{"XDG_STATE_HOME=" + t.TempDir(), home[1]}, false},
	} {
		cmd := b.command(t, "get", "restore/foreseen-again", "-n", "velero", "-o", "json")
		cmd.Env = append(cmd.Env, c.home...)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		var item document.Job
		if err := json.Unmarshal(out, &item); err != nil {
			t.Fatal(err)
		}
		if (item.ETASeconds != nil) != c.foresees || item.RatePerSecond != nil {
			book, _ := os.ReadFile(books[0])
			t.Errorf("%s: %s\nlearned: %s", c.what, out, book)
		}
	}
	if n := s.contents.Load(); n != 1 {
		t.Errorf("%d downloads for one backup", n)
	}
	var left veleroapi.DownloadRequestList
	if err := b.client.List(t.Context(), &left); err != nil || len(left.Items) > 0 {
		t.Errorf("%d download requests left, %v", len(left.Items), err)
	}
}
