package cmd

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/veltui/veltui/internal/statedir"
)

func newAcknowledgedStore(t *testing.T, content string) *acknowledgementStore {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "acknowledged")
	s := &acknowledgementStore{dir: statedir.Dir{Path: dir, Suffix: ".json", MaxFiles: 1, Clock: time.Now}}
	if content != "" {
		if err := s.dir.Write(acknowledgedFile, []byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *acknowledgementStore) mustUpdate(t *testing.T, name clusterIdentity, namespace string, keys map[string]bool) {
	t.Helper()
	if err := s.updateKeys(name, namespace, keys); err != nil {
		t.Fatal(err)
	}
}

func (s *acknowledgementStore) keysOf(t *testing.T, name clusterIdentity) string {
	t.Helper()
	all, err := s.LoadAll()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(slices.Sorted(maps.Keys(all.activeKeys(name, s.dir.Clock()))), ", ")
}

var (
	clusterA = clusterIdentity{"prod", "uid-a", "https://a:443", "sha256:a"}
	clusterB = clusterIdentity{"prod", "uid-b", "https://b:443", "sha256:b"}
	unnamedA = clusterIdentity{"prod", "", "https://a:443", "sha256:a"}
	unnamedB = clusterIdentity{"prod", "", "https://a:443", "sha256:b"}
)

// Clusters behind one context's name share nothing, whatever names them.
func TestAcknowledgementsAreOfOneCluster(t *testing.T) {
	moved := clusterIdentity{"prod", "uid-a", "https://127.0.0.1:7443", "sha256:other"}
	twin := clusterIdentity{"copy", "uid-a", "https://a:443", "sha256:a"}
	s := newAcknowledgedStore(t, "")
	for i, name := range []clusterIdentity{clusterA, clusterB, unnamedA, unnamedB, twin} {
		s.mustUpdate(t, name, "velero", map[string]bool{fmt.Sprintf("velero/server/%d Reason", i): true})
	}
	for i, name := range []clusterIdentity{clusterA, clusterB, unnamedA, unnamedB, twin} {
		if got, want := s.keysOf(t, name), fmt.Sprintf("velero/server/%d Reason", i); got != want {
			t.Errorf("%+v: %s, want %s", name, got, want)
		}
	}
	if got := s.keysOf(t, moved); got != "velero/server/0 Reason" {
		t.Errorf("the same cluster at another address: %s", got)
	}
	if got := s.keysOf(t, clusterIdentity{Context: "other", UID: "uid-c"}); got != "" {
		t.Errorf("of a cluster that nobody knows: %s", got)
	}
}

// The first format named clusters by contexts: what is of one object is believed, the rest is not.
func TestAcknowledgementsAreMigrated(t *testing.T) {
	s := newAcknowledgedStore(
		t,
		`{"prod": {"0b1c Failed warning ": "2026-11-01T00:00:00Z", "velero/server/velero Down critical ": "2026-11-01T00:00:00Z"},
		"version": {"77aa Failed warning ": "2026-11-02T00:00:00Z"}}`,
	)
	if got := s.keysOf(t, clusterA); got != "0b1c Failed warning " {
		t.Errorf("read: %s", got)
	}
	s.mustUpdate(t, clusterA, "velero", map[string]bool{"new Reason": true})
	if got := s.keysOf(t, clusterA); got != "0b1c Failed warning , new Reason" {
		t.Errorf("written: %s", got)
	}
	if got := s.keysOf(t, clusterIdentity{Context: "version", UID: "u"}); got != "77aa Failed warning " {
		t.Errorf("a context with an odd name: %s", got)
	}
	s.mustUpdate(t, clusterA, "velero", map[string]bool{"0b1c Failed warning ": false})
	if got := s.keysOf(t, clusterA) + s.keysOf(t, clusterB); got != "new Reason" {
		t.Errorf("after a removal: %s", got)
	}
	text, err := s.dir.Read(acknowledgedFile, maxAcknowledgedSize)
	if err != nil || !strings.Contains(string(text), `"time": "2026-11-02T00:00:00Z"`) {
		t.Errorf("%v\n%s", err, text)
	}
}

const newerAcknowledgements = `{"version": 2, "future": [1], "clusters": [{"context": "prod", "uid": "uid-a", "server": "https://a:443",
	"color": "red", "findings": {
	"k1 R": {"time": "2026-11-01T00:00:00Z", "reason": "known", "ticket": "OPS-1", "by": {"name": "jane"}},
	"k2 R": {"time": "2026-11-01T00:00:00Z", "until": "2026-11-02T00:00:00Z"},
	"k3 R": {"time": "2026-11-01T00:00:00Z", "until": "2226-11-02T00:00:00Z"},
	"k4 R": {"time": "2026-11-01T00:00:00Z", "until": 7}}}]}`

// What a newer version has added survives, and an end is an end.
func TestAcknowledgementsKeepUnknownFields(t *testing.T) {
	s := newAcknowledgedStore(t, newerAcknowledgements)
	s.dir.Clock = func() time.Time { return time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC) }
	if got := s.keysOf(t, clusterA); got != "k1 R, k3 R" {
		t.Errorf("acknowledged: %s", got)
	}
	s.mustUpdate(t, clusterA, "velero", map[string]bool{"k5 R": true, "k2 R": false})
	text, err := s.dir.Read(acknowledgedFile, maxAcknowledgedSize)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"future"`, `"color": "red"`, `"reason": "known"`, `"ticket": "OPS-1"`, `"name": "jane"`, `"2226-`, `"k4 R"`, `"k5 R"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "k2 R") {
		t.Errorf("k2 was not removed:\n%s", text)
	}
}

// Programs that write at a time keep each other's keys, and a removal removes its own only.
func TestAcknowledgementsOfSeveralPrograms(t *testing.T) {
	first := newAcknowledgedStore(t, "")
	const programs, times = 4, 10
	var all sync.WaitGroup
	for p := range programs {
		all.Go(func() {
			s := *first
			for n := range times {
				err := statedir.ErrBusy
				for err == statedir.ErrBusy { // a slow machine is no reason to fail
					err = s.updateKeys(
						clusterA,
						"velero",
						map[string]bool{fmt.Sprintf("%d-%d R", p, n): true, fmt.Sprintf("%d-%d R", p, n-1): false},
					)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if got := first.keysOf(t, clusterA); got != "0-9 R, 1-9 R, 2-9 R, 3-9 R" {
		t.Errorf("acknowledged: %s", got)
	}
	if entries, err := os.ReadDir(first.dir.Path); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// A dashboard of another Velero in the cluster sees other findings: those of this one are not over.
func TestAcknowledgementsOfTwoVeleros(t *testing.T) {
	s := newAcknowledgedStore(t, "")
	s.mustUpdate(t, clusterA, "velero", map[string]bool{"k1 R": true})
	s.mustUpdate(t, clusterA, "other", map[string]bool{"k1 R": false, "k2 R": true})
	if got := s.keysOf(t, clusterA); got != "k1 R, k2 R" {
		t.Errorf("acknowledged: %s", got)
	}
	s.mustUpdate(t, clusterA, "velero", map[string]bool{"k1 R": false})
	if got := s.keysOf(t, clusterA); got != "k2 R" {
		t.Errorf("acknowledged: %s", got)
	}
}

func TestAcknowledgementsAreBounded(t *testing.T) {
	s := newAcknowledgedStore(t, "")
	now := time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)
	s.dir.Clock = func() time.Time { return now }
	old := map[string]bool{}
	for i := range maxAcknowledgedKeys {
		old[fmt.Sprintf("old-%d R", i)] = true
	}
	s.mustUpdate(t, clusterB, "velero", old)
	now = now.Add(time.Minute)
	s.mustUpdate(t, clusterA, "velero", map[string]bool{"new R": true})
	all, err := s.LoadAll()
	if err != nil {
		t.Fatal(err)
	}
	if n := len(all.activeKeys(clusterB, now)); n != maxAcknowledgedKeys-1 || s.keysOf(t, clusterA) != "new R" {
		t.Errorf("%d of %d old ones are left", n, maxAcknowledgedKeys)
	}
}

// A damaged file acknowledges nothing, is not written over, and the error says what to do.
func TestDamagedAcknowledgements(t *testing.T) {
	for name, content := range map[string]string{
		"empty": " ", "junk": "\x00\x01", "zeros": strings.Repeat("\x00", 2<<20), "a list": "[]", "half": newerAcknowledgements[:200],
		"a newer format": `{"version": 3, "clusters": []}`, "no clusters": `{"version": 2}`, "odd clusters": `{"version": 2, "clusters": [7]}`,
		"odd findings": `{"version": 2, "clusters": [{"context": "prod", "findings": {"k": "time"}}]}`, "an odd name": `{"version": 2, "clusters": [{"context": 7, "findings": {}}]}`,
		"deep": strings.Repeat("[", 100_000), "huge": `{"version": 2, "clusters": []` + strings.Repeat(" ", maxAcknowledgedSize) + "}",
		"odd times": `{"prod": {"k": "yesterday"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := newAcknowledgedStore(t, content)
			path := filepath.Join(s.dir.Path, acknowledgedFile)
			if all, err := s.LoadAll(); err == nil || !strings.Contains(err.Error(), "run: mv "+path) {
				t.Errorf("%v, %v", all, err)
			}
			if err := s.updateKeys(clusterA, "velero", map[string]bool{"k R": true}); err == nil {
				t.Error("written over")
			}
			if text, err := os.ReadFile(path); err != nil || string(text) != content {
				t.Errorf("changed: %v", err)
			}
		})
	}
}

func FuzzAcknowledgements(f *testing.F) {
	f.Add([]byte(newerAcknowledgements))
	f.Add([]byte(`{"prod": {"0b1c Failed warning ": "2026-11-01T00:00:00Z"}}`))
	f.Add([]byte(`{"version": 2, "clusters": [null, {"findings": null}, {"findings": {"k": null}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := parseAcknowledgements(text)
		if err != nil {
			return
		}
		before := all.activeKeys(clusterB, time.Time{})
		all.setKeys(clusterA, "velero", map[string]bool{"a R": true, "b R": false}, time.Time{})
		written, err := all.encodeFile()
		if err != nil {
			return // too large
		}
		again, err := parseAcknowledgements(written)
		if err != nil {
			t.Fatalf("%v\n%s", err, written)
		}
		if !again.activeKeys(clusterA, time.Time{})["a R"] {
			t.Fatalf("what was set is gone\n%s", written)
		}
		delete(before, "b R") // of the migrated ones
		if after := again.activeKeys(clusterB, time.Time{}); !maps.Equal(before, after) && len(before) < maxAcknowledgedKeys {
			got, _ := json.Marshal(after)
			t.Fatalf("another cluster's were %v, are %s\n%s", before, got, written)
		}
	})
}
