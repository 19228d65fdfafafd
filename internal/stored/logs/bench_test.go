package logs

import (
	"fmt"
	"io"
	"runtime"
	"testing"
	"time"
)

// generated is a log of so many bytes as a restore writes it, made as it is read.
type generated struct {
	left, line int
	rest       []byte
}

func (g *generated) Read(p []byte) (int, error) {
	if g.left <= 0 && len(g.rest) == 0 {
		return 0, io.EOF
	}
	if len(g.rest) == 0 {
		level := "info"
		switch {
		case g.line%5000 == 4999:
			level = "error"
		case g.line%500 == 499:
			level = "warning"
		}
		g.rest = fmt.Appendf(
			g.rest[:0],
			"time=%q level=%s msg=\"Restored %d items out of an estimated total of 1200000 (estimate will change throughout the restore)\" "+
				"logSource=\"github.com/vmware-tanzu/velero@v1.18.3/pkg/restore/restore.go:812\" name=token-%07d namespace=shop-%d progress= resource=secrets restore=velero/big\n",
			start.Add(time.Duration(g.line)*time.Millisecond).Format(time.RFC3339),
			level,
			g.line,
			g.line,
			g.line%100,
		)
		g.line++
		g.left -= len(g.rest)
	}
	n := copy(p, g.rest)
	g.rest = g.rest[n:]
	return n, nil
}

// largeLog is what veltui promises to take (docs/reading.md).
const largeLog = 300 << 20

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestLargeLog keeps a log of 300 MB: its first lines are there at once, memory
// stays small, and all of it can be searched, filtered and drawn.
func TestLargeLog(t *testing.T) {
	if testing.Short() {
		t.Skip("it writes 300 MB")
	}
	s := newStore(t, 0)
	before := heap()
	began := time.Now()
	var first time.Duration
	err := splitLines(t.Context(), &generated{left: largeLog}, time.Time{}, func(e Entry) error {
		if first == 0 {
			first = time.Since(began)
		}
		return s.AddEntry(e)
	})
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	v := NewView(s, Warning)
	v.Update()
	grown := int64(heap()) - int64(before)
	t.Logf("%d lines of %d bytes in %v, the first after %v; %.2f bytes of memory a line, %d in all",
		s.Len(), s.Size(), took, first, float64(memory(s))/float64(s.Len()), grown)
	if first > time.Second {
		t.Errorf("the first line came after %v", first)
	}
	if grown > 16<<20 || memory(s) > 8*int64(s.Len())+2*maxUnwrittenBytes {
		t.Errorf("it takes %d bytes of memory, %d of them its own, for %d lines", grown, memory(s), s.Len())
	}
	last := s.Len() - 1
	began = time.Now()
	found, err := findAll(t.Context(), s, fmt.Sprintf("TOKEN-%07d", last), 0)
	if err != nil || len(found) != 1 || found[0] != last {
		t.Errorf("the last line is found at %v, %v", found, err)
	}
	t.Logf("searched in %v", time.Since(began))
	if row := v.FirstError(0); row < 0 || s.LineAt(v.LineIndex(row)).Level != Error {
		t.Errorf("the first error is at %d", row)
	}
	if l := s.LineAt(last); len(l.Fields) < 5 || l.Text == "" {
		t.Errorf("the last line is %+v", l)
	}
}

// BenchmarkKeep is what it costs to keep a log of 300 MB as it comes.
func BenchmarkKeep(b *testing.B) {
	b.SetBytes(largeLog)
	for b.Loop() {
		s := newStore(b, 0)
		if err := splitLines(b.Context(), &generated{left: largeLog}, time.Time{}, s.AddEntry); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(memory(s))/float64(s.Len()), "B/line")
		_ = s.Close()
	}
}

// BenchmarkSearch looks through all of a log of 300 MB.
func BenchmarkSearch(b *testing.B) {
	s := newStore(b, 0)
	if err := splitLines(b.Context(), &generated{left: largeLog}, time.Time{}, s.AddEntry); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(s.Size())
	for b.Loop() {
		if found, err := findAll(b.Context(), s, "nothing like that", 0); err != nil || len(found) > 0 {
			b.Fatal(found, err)
		}
	}
}

// BenchmarkDraw draws a screen of 60 lines from the middle of a large log.
func BenchmarkDraw(b *testing.B) {
	s := newStore(b, 0)
	if err := splitLines(b.Context(), &generated{left: largeLog}, time.Time{}, s.AddEntry); err != nil {
		b.Fatal(err)
	}
	middle := s.Len() / 2
	for b.Loop() {
		for i := range 60 {
			s.LineAt(middle + i)
		}
	}
}

// memory is how many bytes of memory a Store takes.
func memory(s *Store) int64 {
	return int64(cap(s.lines))*4 + int64(cap(s.base))*8 + int64(cap(s.tail))
}
