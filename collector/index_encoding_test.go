package collector

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

func TestIndexSurvivesItsEncoding(t *testing.T) {
	for _, limits := range []Limits{{}, {NamesOnly: true}} {
		x := readCapture(t, limits)
		data, err := x.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var y Index
		if err := y.UnmarshalBinary(data); err != nil {
			t.Fatal(err)
		}
		clear(data) // the Index must not depend on the caller's bytes
		for _, spec := range []veleroapi.RestoreSpec{
			{}, {IncludedNamespaces: []string{"shop"}},
			{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
			{IncludedResources: []string{"widget"}},
		} {
			before, after := estimate(
				t,
				x,
				RestoreInput{Restore: spec},
				Discovery{},
			), estimate(
				t,
				&y,
				RestoreInput{Restore: spec},
				Discovery{},
			)
			if !reflect.DeepEqual(before, after) || before.Total == 0 {
				t.Errorf("before: %+v\nafter: %+v", before, after)
			}
		}
		if !reflect.DeepEqual(x.CountResources(), y.CountResources()) {
			t.Error("contents differ")
		}
		if before, after := needsIn(
			t,
			x,
		), needsIn(
			t,
			&y,
		); !reflect.DeepEqual(before, after) ||
			(len(before) > 0) != !x.NamesOnly {
			t.Errorf("needs: %v, after %v", before, after)
		}
	}
}

func TestDamagedIndex(t *testing.T) {
	data, err := readCapture(t, Limits{}).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	old := bytes.Clone(data)
	old[len(indexMagic)-1] = 99
	var x Index
	if err := x.UnmarshalBinary(old); !errors.Is(err, ErrIndexVersion) {
		t.Errorf("old version: %v", err)
	}
	for _, n := range []int{0, 5, len(indexMagic), len(data) / 2, len(data) - 1} {
		if err := x.UnmarshalBinary(data[:n]); !errors.Is(err, ErrIndexCorrupt) {
			t.Errorf("cut at %d: %v", n, err)
		}
	}
	for i := len(indexMagic); i < len(data); i += 97 {
		broken := bytes.Clone(data)
		broken[i] ^= 1
		if err := x.UnmarshalBinary(broken); !errors.Is(err, ErrIndexCorrupt) {
			t.Fatalf("byte %d: %v", i, err)
		}
	}
	if x.ItemCount() != 0 {
		t.Error("a failed decoding changed the index")
	}
}

// FuzzIndex damages an Index and makes the checksum fit again: what is
// accepted must be usable without a panic.
func FuzzIndex(f *testing.F) {
	small := buildArchive(
		f,
		file{"metadata/version", "1.1.0\n"},
		file{"resources/pods/namespaces/a/p.json", podJSON("Running", "c")},
		file{"resources/persistentvolumeclaims/namespaces/a/c.json", claimJSON("v")},
		file{
			"resources/persistentvolumes/cluster/v.json",
			`{"kind":"PersistentVolume","metadata":{"labels":{"a":"b"}}}`,
		},
		file{"resources/" + dirCRDs + "/cluster/w.json", crdJSON("widgets", "example.com", "wg")},
		file{"resources/services/v1-preferredversion/namespaces/a/s.json", needsOfBodies[0].body},
		file{"resources/services/namespaces/a/s.json", needsOfBodies[0].body},
	)
	x := mustRead(f, small)
	data, _ := x.MarshalBinary()
	f.Add(data[len(indexMagic) : len(data)-4])
	f.Fuzz(func(t *testing.T, body []byte) {
		data := append([]byte(indexMagic), body...)
		data = binary.LittleEndian.AppendUint32(data, crc32.Checksum(data, castagnoli))
		var x Index
		if x.UnmarshalBinary(data) != nil {
			return
		}
		x.CountResources()
		e := estimate(t, &x, RestoreInput{Restore: veleroapi.RestoreSpec{
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
		}}, Discovery{})
		e.PositionAfter(e.Total / 2)
		x.APIVersions("services")
		if fates, err := x.DetermineFates(t.Context(), RestoreInput{}, Discovery{}); err == nil {
			_ = fates.EachItemNeeds(func(Item, []Need) {})
		}
		estimate(t, &x, RestoreInput{}, Discovery{})
	})
}
