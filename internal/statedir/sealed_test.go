package statedir

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// wanted is what the tests' file is of.
var wanted = Header{
	Kind: "index", Format: 3, Backup: "11111111-aaaa",
	Cluster: ClusterID{Address: "https://east:6443\n/x", Identified: true, UID: "22222222-bbbb"},
}

func sealedDir(t *testing.T) (d Dir, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "state", "a.x")
	return Dir{Path: filepath.Dir(path), Suffix: ".x", MaxFiles: 3, Clock: time.Now}, path
}

func sealedFile(t *testing.T, h Header, content string) []byte {
	t.Helper()
	d, path := sealedDir(t)
	if err := d.WriteSealed("a.x", h, []byte(content)); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestSealedFiles(t *testing.T) {
	d, _ := sealedDir(t)
	if _, _, err := d.ReadSealed("a.x", 10, wanted); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	for _, content := range []string{"", "content", strings.Repeat("\x00", 10)} {
		if err := d.WriteSealed("a.x", wanted, []byte(content)); err != nil {
			t.Fatal(err)
		}
		h, data, err := d.ReadSealed("a.x", 10, wanted)
		if err != nil || string(data) != content || time.Since(h.Time) > time.Hour {
			t.Errorf("%q: %+v, %q, %v", content, h, data, err)
		}
	}
	if _, _, err := d.ReadSealed("a.x", 9, wanted); !errors.Is(err, ErrTooLarge) {
		t.Errorf("10 bytes, 9 allowed: %v", err)
	}
	if err := d.WriteSealed("a.x", Header{Kind: strings.Repeat("x", maxHeaderBytes)}, nil); err == nil {
		t.Error("written with a header that is too long to be read")
	}
}

// A file is used only for what it says that it is of, whatever its name is.
func TestFileOfSomethingElse(t *testing.T) {
	for name, c := range map[string]struct {
		change func(h *Header)
		want   string
	}{
		"another backup":     {func(h *Header) { h.Backup = "33333333-cccc" }, `it is of backup "33333333-cccc", not of "11111111-aaaa"`},
		"no backup":          {func(h *Header) { h.Backup = "" }, `it is of backup ""`},
		"another address":    {func(h *Header) { h.Cluster.Address = "https://west:6443" }, `of the cluster at "https://west:6443"`},
		"another cluster":    {func(h *Header) { h.Cluster.UID = "44444444" }, `it is of the cluster with the uid "44444444"`},
		"uid not read":       {func(h *Header) { h.Cluster.UID = "" }, `it is of the cluster with the uid ""`},
		"uid not asked for":  {func(h *Header) { h.Cluster = ClusterID{Address: h.Cluster.Address} }, "does not say of which cluster"},
		"another kind":       {func(h *Header) { h.Kind = "rates" }, `of kind "rates", not of "index"`},
		"an older format":    {func(h *Header) { h.Format = 2 }, "its format is 2, not 3"},
		"a newer format":     {func(h *Header) { h.Format = 4 }, "its format is 4, not 3"},
		"a format below all": {func(h *Header) { h.Format = -1 }, "its format is -1"},
	} {
		t.Run(name, func(t *testing.T) {
			h := wanted
			c.change(&h)
			data := sealedFile(t, h, "content")
			r := io.MultiReader(bytes.NewReader(data[:len(data)-len("content")-checksumBytes]), untouched{t})
			_, content, err := readSealedFile(r, int64(len(data)), 100, wanted)
			if !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), c.want) || content != nil {
				t.Errorf("%q, %v; want %q", content, err, c.want)
			}
		})
	}
	unasked := wanted
	unasked.Cluster = ClusterID{Address: wanted.Cluster.Address}
	data := sealedFile(t, wanted, "content")
	h, _, err := readSealedFile(bytes.NewReader(data), int64(len(data)), 100, unasked)
	if err != nil || h.Cluster != wanted.Cluster {
		t.Errorf("who has not asked for the uid: %+v, %v", h, err)
	}
}

// untouched is content that must not be read.
type untouched struct{ t *testing.T }

func (u untouched) Read([]byte) (int, error) {
	u.t.Error("the content is read")
	return 0, io.EOF
}

// Whatever bit is flipped and wherever the file ends: it is not used.
func TestDamagedFile(t *testing.T) {
	good := sealedFile(t, wanted, "some content")
	unusable := func(what string, data []byte) {
		t.Helper()
		d, path := sealedDir(t)
		if err := errors.Join(os.Mkdir(d.Path, 0o700), os.WriteFile(path, data, 0o600)); err != nil {
			t.Fatal(err)
		}
		if _, content, err := d.ReadSealed("a.x", 1000, wanted); !errors.Is(err, ErrUnusable) || content != nil {
			t.Errorf("%s: %q, %v", what, content, err)
		}
	}
	for n := range good {
		if _, _, err := readSealedFile(bytes.NewReader(good[:n]), int64(n), 100, wanted); !errors.Is(err, ErrUnusable) {
			t.Errorf("truncated to %d bytes: %v", n, err)
		}
		if _, _, err := readSealedFile(bytes.NewReader(good[:n]), int64(len(good)), 100, wanted); !errors.Is(err, ErrUnusable) {
			t.Errorf("truncated to %d bytes while it is read: %v", n, err)
		}
	}
	for bit := range len(good) * 8 {
		data := bytes.Clone(good)
		data[bit/8] ^= 1 << (bit % 8)
		if _, _, err := readSealedFile(bytes.NewReader(data), int64(len(data)), 100, wanted); !errors.Is(err, ErrUnusable) {
			t.Errorf("flipped bit %d of byte %d: %v", bit%8, bit/8, err)
		}
	}
	announcing := func(length uint32) []byte {
		return append(binary.LittleEndian.AppendUint32([]byte(sealMagic), length), good[prefixBytes:]...)
	}
	unusable("empty", nil)
	unusable("junk", []byte("junk"))
	unusable("content alone", []byte("some content"))
	unusable("more at its end", append(bytes.Clone(good), 0))
	unusable("twice", append(bytes.Clone(good), good...))
	unusable("a header longer than the file", announcing(uint32(len(good))))
	unusable("a header of 2 GB", announcing(math.MaxInt32))
	unusable("a header of 4 GB", announcing(math.MaxUint32))
	unusable("no header", announcing(0))
	for _, text := range []string{"[1]", "null", "{}", strings.Repeat("[", maxHeaderBytes), `{"format":"3"}`, `{"time":"yesterday"}`} {
		header := append(binary.LittleEndian.AppendUint32([]byte(sealMagic), uint32(len(text))), text...)
		unusable("the header "+text[:min(20, len(text))], append(header, "content and a sum"...))
	}
}

// A file of 2 GB costs no memory.
func TestHugeFile(t *testing.T) {
	for name, start := range map[string][]byte{"sealed": sealedFile(t, wanted, "content"), "not sealed": nil} {
		d, path := sealedDir(t)
		if err := errors.Join(
			os.Mkdir(d.Path, 0o700),
			os.WriteFile(path, start, 0o600),
			os.Truncate(path, 2<<30),
		); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := d.ReadSealed("a.x", 1<<20, wanted)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; err == nil || took > 1<<20 {
			t.Errorf("%s: %v, %d bytes", name, err, took)
		}
	}
}

// FuzzUnseal reads any file: what comes out was sealed so, and costs no more than the file has.
func FuzzUnseal(f *testing.F) {
	prefix, err := wanted.encodePrefix()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(prefix)
	f.Add(append(prefix, "content"...))
	f.Add([]byte(sealMagic + "\xff\xff\xff\x7f{}"))
	f.Add([]byte(sealMagic + "\x02\x00\x00\x00{}\x00\x00\x00\x00"))
	for _, change := range []func(h *Header){func(h *Header) { h.Time = time.Unix(1, 0) }, func(h *Header) { h.Backup = "" }} {
		h := wanted
		change(&h)
		dir := f.TempDir()
		d := Dir{Path: filepath.Join(dir, "state"), Suffix: ".x", MaxFiles: 3, Clock: time.Now}
		if err := d.WriteSealed("a.x", h, []byte("content")); err != nil {
			f.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(d.Path, "a.x"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		h, length, err := readHeader(bytes.NewReader(data), int64(len(data)))
		if err == nil && (length > len(data) || length > prefixBytes+maxHeaderBytes) {
			t.Fatalf("a header of %d bytes in %d", length, len(data))
		}
		if err != nil && !errors.Is(err, ErrUnusable) {
			t.Fatal(err)
		}
		const most = 1 << 10
		_, content, sealErr := readSealedFile(bytes.NewReader(data), int64(len(data)), most, wanted)
		switch {
		case sealErr == nil && (err != nil || h.checkAgainst(wanted) != nil || len(content) > most):
			t.Fatalf("%d bytes of %+v", len(content), h)
		case sealErr == nil && !bytes.Contains(data, content):
			t.Fatalf("%q is not in the file", content)
		case sealErr != nil && (content != nil || !errors.Is(sealErr, ErrUnusable) && !errors.Is(sealErr, ErrTooLarge)):
			t.Fatalf("%q, %v", content, sealErr)
		}
	})
}
