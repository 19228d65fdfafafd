package synth

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"strings"
	"testing"
)

func TestWrite(t *testing.T) {
	spec := Spec{Items: 300, Bytes: 5_000_000, Seed: 7}
	var first, second bytes.Buffer
	for _, w := range []io.Writer{&first, &second} {
		if err := Write(w, spec); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Fatal("the same spec made two different archives")
	}
	zip, err := gzip.NewReader(&first)
	if err != nil {
		t.Fatal(err)
	}
	var unpacked int64
	items := 0
	archive := tar.NewReader(zip)
	for {
		h, err := archive.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		unpacked += 512 + (h.Size+511)/512*512
		if !strings.HasSuffix(h.Name, ".json") {
			continue
		}
		items++
		body, err := io.ReadAll(archive)
		if err != nil || !json.Valid(body) {
			t.Fatalf("%s: %v, valid %v", h.Name, err, json.Valid(body))
		}
	}
	if items != 2*spec.Items {
		t.Errorf("%d entries, want %d", items, 2*spec.Items)
	}
	if unpacked < spec.Bytes*8/10 || unpacked > spec.Bytes*12/10 {
		t.Errorf("%d bytes unpacked, asked for %d", unpacked, spec.Bytes)
	}
}
