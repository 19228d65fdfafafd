package inflate

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"testing"
	"testing/iotest"
)

func decodeAll(r io.Reader) ([]byte, error) {
	d := New(r)
	blocks := [2]Block{}
	var all []byte
	for i := 0; ; i++ {
		b := &blocks[i%2]
		err := d.NextBlock(b)
		all = append(all, b.Bytes()...)
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
	}
}

func compress(t testing.TB, level int, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, level)
	if err != nil {
		t.Fatal(err)
	}
	w.Write(data)
	w.Close()
	return b.Bytes()
}

func sample(kind string, n int) []byte {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	b := make([]byte, n)
	for i := range b {
		switch kind {
		case "random":
			b[i] = byte(r.Uint32())
		case "runs":
			b[i] = byte(i / 1000)
		case "skewed": // code words of every length
			b[i] = byte(r.ExpFloat64() * 8)
		case "text":
			b[i] = "the quick brown fox jumps over the lazy dog "[(i+r.IntN(2)*i/7)%44]
		case "far": // repeats at the far end of the window
			b[i] = byte((i % 32768) * 2654435761 >> 13)
		}
	}
	return b
}

func TestDecodesWhatGzipMakes(t *testing.T) {
	for _, kind := range []string{"random", "runs", "skewed", "text", "far", "zero"} {
		for _, n := range []int{0, 1, 7, 300, 65535, 70000, 1 << 20, 3<<20 + 17} {
			if testing.Short() && n > 70000 {
				continue
			}
			data := sample(kind, n)
			for _, level := range []int{gzip.HuffmanOnly, gzip.NoCompression, 1, 6, 9} {
				packed := compress(t, level, data)
				got, err := decodeAll(bytes.NewReader(packed))
				if err != nil || !bytes.Equal(got, data) {
					t.Fatalf("%s of %d at level %d: %d bytes, %v", kind, n, level, len(got), err)
				}
			}
		}
	}
	if testing.Short() {
		t.Skip("a sample of them passed")
	}
}

func TestSlowSource(t *testing.T) {
	data := sample("skewed", 100000)
	packed := compress(t, 6, data)
	for name, r := range map[string]io.Reader{
		"one byte":  iotest.OneByteReader(bytes.NewReader(packed)),
		"half":      iotest.HalfReader(bytes.NewReader(packed)),
		"data, err": iotest.DataErrReader(bytes.NewReader(packed)),
	} {
		got, err := decodeAll(r)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
}

func TestMembers(t *testing.T) {
	a, b := sample("text", 400000), sample("skewed", 1000)
	packed := append(compress(t, 6, a), compress(t, 0, b)...)
	got, err := decodeAll(bytes.NewReader(packed))
	if err != nil || !bytes.Equal(got, append(a[:len(a):len(a)], b...)) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	got, err = decodeAll(bytes.NewReader(append(compress(t, 6, a), "garbage"...)))
	if !errors.Is(err, ErrTrailing) || !bytes.Equal(got, a) {
		t.Fatalf("trailing garbage: %d bytes, %v", len(got), err)
	}
}

// A match must not reach into the member before.
func TestMatchBeyondMember(t *testing.T) {
	first := compress(t, 6, sample("text", 1000))
	// Fixed block: match of length 3 at distance 1 with nothing before it.
	second := []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 0x03, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	_, err := decodeAll(bytes.NewReader(append(first, second...)))
	if !errors.Is(err, ErrCorrupt) {
		t.Fatalf("got %v", err)
	}
}

// Every cut of a stream is an unexpected end, never a panic or a wrong answer.
func TestTruncated(t *testing.T) {
	for _, kind := range []string{"skewed", "text"} {
		data := sample(kind, 3000)
		packed := compress(t, 6, data)
		for n := range packed {
			if testing.Short() && n%11 != 0 {
				continue
			}
			got, err := decodeAll(bytes.NewReader(packed[:n]))
			if !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("%s cut at %d of %d: %v", kind, n, len(packed), err)
			}
			if !bytes.HasPrefix(data, got) {
				t.Fatalf("%s cut at %d: wrong data", kind, n)
			}
		}
	}
	if testing.Short() {
		t.Skip("a sample of them passed")
	}
}

// Every flipped bit is noticed, or (in the header's unchecked bytes) harmless.
func TestFlippedBits(t *testing.T) {
	data := sample("skewed", 2000)
	packed := compress(t, 6, data)
	for i := range packed {
		if testing.Short() && i%11 != 0 {
			continue
		}
		for bit := range 8 {
			broken := bytes.Clone(packed)
			broken[i] ^= 1 << bit
			got, err := decodeAll(bytes.NewReader(broken))
			if err == nil && !bytes.Equal(got, data) {
				t.Fatalf("byte %d bit %d: wrong data passed", i, bit)
			}
		}
	}
	if testing.Short() {
		t.Skip("a sample of them passed")
	}
}

func TestSourceError(t *testing.T) {
	packed := compress(t, 6, sample("skewed", 100000))
	broken := errors.New("connection reset")
	_, err := decodeAll(io.MultiReader(bytes.NewReader(packed[:5000]), iotest.ErrReader(broken)))
	var at *Error
	if !errors.Is(err, broken) || !errors.As(err, &at) || at.Offset == 0 {
		t.Fatalf("got %v", err)
	}
}

// The standard library is the judge: same data, and an error for an error.
func FuzzDecode(f *testing.F) {
	for _, kind := range []string{"random", "runs", "skewed", "text"} {
		for _, level := range []int{0, 1, 6, gzip.HuffmanOnly} {
			f.Add(compress(f, level, sample(kind, 5000)))
		}
	}
	f.Fuzz(func(t *testing.T, packed []byte) {
		got, err := decodeAll(bytes.NewReader(packed))
		var want []byte
		r, wantErr := gzip.NewReader(bytes.NewReader(packed))
		if wantErr == nil {
			want, wantErr = io.ReadAll(r)
		}
		if errors.Is(err, ErrTrailing) {
			return // the standard library calls that a bad header
		}
		if (err == nil) != (wantErr == nil) && !headerOnly(packed) {
			t.Fatalf("ours: %v, standard library: %v", err, wantErr)
		}
		if err == nil && wantErr == nil && !bytes.Equal(got, want) {
			t.Fatal("different data")
		}
	})
}

// headerOnly says whether a header uses what we take and the standard library
// is stricter about: its checksum, reserved flags, or over-long strings.
func headerOnly(packed []byte) bool { return len(packed) > 3 && packed[3] != 0 }

func BenchmarkDecode(b *testing.B) {
	path := os.Getenv("INFLATE_BENCH_FILE")
	var packed []byte
	if path != "" {
		var err error
		if packed, err = os.ReadFile(path); err != nil {
			b.Fatal(err)
		}
	} else {
		packed = compress(b, 6, sample("skewed", 8<<20))
	}
	for b.Loop() {
		d := New(bytes.NewReader(packed))
		var blocks [2]Block
		for i := 0; ; i++ {
			if err := d.NextBlock(&blocks[i%2]); err == io.EOF {
				break
			} else if err != nil {
				b.Fatal(err)
			}
		}
		b.SetBytes(d.BytesProduced())
	}
}
