package cluster

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/assess/coverage"
	"github.com/veltui/veltui/internal/statedir"
)

func newRecords(t *testing.T, cluster statedir.ClusterID, failed func(error)) CoverageRecords {
	t.Helper()
	return CoverageRecords{
		Dir:     statedir.Dir{Path: t.TempDir(), Suffix: CoverageRecordSuffix, MaxFiles: 10, Clock: time.Now},
		OnError: failed, cluster: cluster,
	}
}

// A record is used for the backup of the cluster that it names, not for the name of its file.
func TestRecordOfSomethingElse(t *testing.T) {
	own := statedir.ClusterID{Address: "https://east", UID: "east", Identified: true}
	elsewhere, anew, unread := own, own, own
	elsewhere.Address, anew.UID, unread.UID = "https://west", "made anew", ""
	sealed := func(cluster statedir.ClusterID, uid types.UID) []byte {
		r := newRecords(t, cluster, func(err error) { t.Error(err) })
		r.saveRecord(uid, &coverage.Record{})
		if got := r.loadRecord(uid); !reflect.DeepEqual(got, &coverage.Record{}) {
			t.Fatalf("its own: %+v", got)
		}
		data, err := os.ReadFile(filepath.Join(r.Path, r.fileName(uid)))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	good := sealed(own, "a")
	flipped := bytes.Clone(good)
	flipped[len(flipped)-10] ^= 1
	start := bytes.Index(good, []byte("\x1f\x8b")) // gzip's: all that older versions wrote
	for name, content := range map[string][]byte{
		"another backup": sealed(own, "b"), "another address": sealed(elsewhere, "a"), "another cluster": sealed(anew, "a"),
		"a cluster that hid its uid": sealed(unread, "a"), "an older format": good[start : len(good)-4],
		"flipped": flipped, "truncated": good[:len(good)-1], "empty": {}, "twice": append(bytes.Clone(good), good...),
	} {
		t.Run(name, func(t *testing.T) {
			said := 0
			r := newRecords(t, own, func(error) { said++ })
			if err := os.WriteFile(filepath.Join(r.Path, r.fileName("a")), content, 0o600); err != nil {
				t.Fatal(err)
			}
			if got := r.loadRecord("a"); got != nil || said != 1 {
				t.Errorf("%+v, said %d times", got, said)
			}
			r.saveRecord("a", &coverage.Record{})
			if got := r.loadRecord("a"); got == nil || said != 1 {
				t.Error("it was not replaced")
			}
		})
	}
}
