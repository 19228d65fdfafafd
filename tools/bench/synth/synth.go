// Package synth makes backup tarballs of the form Velero stores them in, as
// large as wanted and always the same for the same Spec. It exists for
// benchmarks and tests of the collector.
package synth

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"time"
)

// Spec says what archive to make.
type Spec struct {
	Items int    // items; each is stored twice, as Velero does
	Bytes int64  // about how many bytes the tar stream has, unpacked
	Seed  uint64 // the same seed makes the same bytes
}

// Large is the size that users report: about 66,000 items and 1 GB unpacked.
var Large = Spec{Items: 66_000, Bytes: 1_000_000_000, Seed: 1}

// String names the spec in a way that fits a file name.
func (s Spec) String() string {
	return fmt.Sprintf("synth-v1-%d-%d-%d.tar.gz", s.Items, s.Bytes, s.Seed)
}

// Write writes the gzip-compressed archive of s to w, compressed as Velero
// compresses it (Go's compress/gzip at its default level).
func Write(w io.Writer, s Spec) error {
	buffered := bufio.NewWriterSize(w, 1<<20)
	zip := gzip.NewWriter(buffered)
	if err := writeTar(zip, s); err != nil {
		return fmt.Errorf("writing synthetic archive: %w", err)
	}
	if err := zip.Close(); err != nil {
		return fmt.Errorf("writing synthetic archive: %w", err)
	}
	return buffered.Flush()
}

func writeTar(w io.Writer, s Spec) error {
	archive := tar.NewWriter(w)
	if err := writeFile(archive, "metadata/version", []byte("1.1.0\n")); err != nil {
		return err
	}
	g := generator{rand: rand.New(rand.NewPCG(s.Seed, 66))}
	mean := 0
	if s.Items > 0 {
		// Two entries an item, each with a header, half a block of padding and
		// some 650 bytes of metadata; managed fields grow with the rest.
		mean = max(int(s.Bytes/int64(s.Items))/2-512-256-650, 0) * 3 / 4
	}
	for i := range s.Items {
		k := g.pickKind()
		name, namespace := g.name(k, i), ""
		dir := "cluster"
		if k.namespaced {
			namespace = g.namespace()
			dir = "namespaces/" + namespace
		}
		body := g.object(k, namespace, name, mean)
		plain := fmt.Sprintf("resources/%s/%s/%s.json", k.dir, dir, name)
		preferred := fmt.Sprintf("resources/%s/%s-preferredversion/%s/%s.json", k.dir, k.version, dir, name)
		for _, path := range []string{plain, preferred} {
			if err := writeFile(archive, path, body); err != nil {
				return err
			}
		}
	}
	return archive.Close()
}

// stamp is every entry's time: the archive must not depend on the clock.
var stamp = time.Date(2026, 11, 21, 1, 46, 0, 0, time.UTC)

func writeFile(w *tar.Writer, name string, body []byte) error {
	header := &tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(body)), ModTime: stamp}
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	_, err := w.Write(body)
	return err
}
