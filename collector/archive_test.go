package collector

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"strings"
	"testing"
)

// file is an entry of an archive made for a test.
type file struct{ name, body string }

func buildTar(t testing.TB, files ...file) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(f.body))}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(f.body)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func pack(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func buildArchive(t testing.TB, files ...file) []byte { return pack(t, buildTar(t, files...)) }

func mustRead(t testing.TB, archive []byte) *Index {
	t.Helper()
	x, err := Read(context.Background(), bytes.NewReader(archive), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func podJSON(phase string, claims ...string) string {
	var volumes []string
	for _, c := range claims {
		volumes = append(volumes, fmt.Sprintf(`{"name":"x","persistentVolumeClaim":{"claimName":%q}}`, c))
	}
	return fmt.Sprintf(
		`{"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"app":"web"}},"spec":{"volumes":[%s]},"status":{"phase":%q}}`,
		strings.Join(volumes, ","),
		phase,
	)
}

func claimJSON(volume string) string {
	return fmt.Sprintf(
		`{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{},"spec":{"volumeName":%q},"status":{"phase":"Bound"}}`,
		volume,
	)
}

func crdJSON(plural, group, short string) string {
	return fmt.Sprintf(
		`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{},"spec":{"group":%q,"names":{"kind":"X","plural":%q,"singular":%q,"shortNames":[%q]},"scope":"Namespaced"}}`,
		group,
		plural,
		strings.TrimSuffix(plural, "s"),
		short,
	)
}

// labelled is an object of any kind with labels as "k=v,k=v".
func labelled(kind, labels string) string {
	var pairs []string
	for pair := range strings.SplitSeq(labels, ",") {
		if key, value, ok := strings.Cut(pair, "="); ok {
			pairs = append(pairs, fmt.Sprintf("%q:%q", key, value))
		}
	}
	return fmt.Sprintf(`{"apiVersion":"v1","kind":%q,"metadata":{"labels":{%s}}}`, kind, strings.Join(pairs, ","))
}
