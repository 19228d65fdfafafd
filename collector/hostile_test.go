package collector

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/veltui/veltui/collector/internal/inflate"
)

const podA = "resources/pods/namespaces/a/"

func read(archive []byte, limits Limits) (*Index, error) {
	return Read(context.Background(), bytes.NewReader(archive), limits)
}

// wantPartial reads a broken archive: an error that says where, and what was
// understood before it.
func wantPartial(t *testing.T, archive []byte, limits Limits, items int, is error, says string) {
	t.Helper()
	x, err := read(archive, limits)
	if err == nil || is != nil && !errors.Is(err, is) || !strings.Contains(err.Error(), says) {
		t.Fatalf("error %v, want %v saying %q", err, is, says)
	}
	if x == nil || !x.Incomplete || x.ItemCount() < items || len(x.Noted) == 0 {
		t.Fatalf("want a partial index of at least %d items and a problem, got %+v", items, x)
	}
	if e := estimate(t, x, RestoreInput{}, Discovery{}); !e.Partial {
		t.Fatal("the estimate does not say that it is partial")
	}
}

// manyPods is larger than a few blocks of the inflater, and does not compress.
func manyPods(t testing.TB, n int) []byte {
	files := []file{{"metadata/version", "1.1.0\n"}}
	for i := range n {
		noise := fmt.Sprintf("%x", sha(i))
		files = append(
			files,
			file{
				fmt.Sprintf("%sp%05d.json", podA, i),
				`{"kind":"Pod","metadata":{"labels":{"n":"` + noise[:20] + `"}},"x":"` + noise + `"}`,
			},
		)
	}
	return buildTar(t, files...)
}

func sha(i int) []byte {
	out := make([]byte, 0, 600)
	for v := uint64(i)*0x9e3779b97f4a7c15 + 1; len(out) < 600; v = v*6364136223846793005 + 1442695040888963407 {
		out = append(out, byte(v>>56), byte(v>>48))
	}
	return out
}

func TestBrokenGzip(t *testing.T) {
	packed := pack(t, manyPods(t, 2000))
	cut := packed[:len(packed)/2]
	wantPartial(t, cut, Limits{}, 500, io.ErrUnexpectedEOF, "at byte")

	flipped := bytes.Clone(packed)
	for i := range 50 {
		flipped[len(flipped)/2+i] ^= 0xff
	}
	wantPartial(t, flipped, Limits{}, 500, nil, "at byte")

	checksum := bytes.Clone(packed)
	checksum[len(checksum)-6] ^= 1
	wantPartial(t, checksum, Limits{}, 2000, inflate.ErrChecksum, "at byte")

	wantPartial(t, []byte{0x1f}, Limits{}, 0, nil, "gzip stream")
}

func TestMembersAndTrailers(t *testing.T) {
	plain := manyPods(t, 1500)
	half := len(plain) / 2 / 512 * 512
	x, err := read(append(pack(t, plain[:half]), pack(t, plain[half:])...), Limits{})
	if err != nil || x.ItemCount() != 1500 || x.Incomplete {
		t.Fatalf("two members: %v, %d items", err, x.ItemCount())
	}
	x, err = read(append(pack(t, plain), "trailing garbage"...), Limits{})
	if err != nil || x.ItemCount() != 1500 || x.Incomplete || len(x.Noted) != 1 {
		t.Fatalf("trailing garbage: %v, %q", err, x.Noted)
	}
	// A second archive behind the first is not read, by Velero neither.
	x, err = read(append(pack(t, plain), pack(t, buildTar(t, file{podA + "other.json", podJSON("")}))...), Limits{})
	if err != nil || x.ItemCount() != 1500 {
		t.Fatalf("second archive: %v, %d items", err, x.ItemCount())
	}
	endless := append(pack(t, plain), pack(t, make([]byte, 8<<20))...)
	x, err = read(endless, Limits{})
	if err != nil || x.ItemCount() != 1500 || !strings.Contains(strings.Join(x.Noted, " "), "rest was not read") {
		t.Fatalf("endless zeros: %v, %q", err, x.Noted)
	}
}

// zeros is an endless body.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

func TestBombs(t *testing.T) {
	// One entry that claims, and has, far too much: members of zeros that are
	// packed once.
	const piece = 4 << 20
	member := pack(t, make([]byte, piece))
	bomb := func(size int) []byte {
		var header bytes.Buffer
		if err := tar.NewWriter(&header).
			WriteHeader(&tar.Header{Name: podA + "big.json", Typeflag: tar.TypeReg, Size: int64(size)}); err != nil {
			t.Fatal(err)
		}
		return append(pack(t, header.Bytes()), bytes.Repeat(member, size/piece)...)
	}
	wantPartial(t, bomb(400<<20), Limits{}, 0, ErrLimitExceeded, "more than 400 times")
	wantPartial(t, bomb(2*piece), Limits{UnpackedBytes: piece}, 0, ErrLimitExceeded, "bytes unpacked")

	packed := pack(t, manyPods(t, 3000))
	wantPartial(t, packed, Limits{CompressedBytes: int64(len(packed) / 2)}, 100, ErrLimitExceeded, "archive is too large")
	wantPartial(t, packed, Limits{Entries: 1000}, 999, ErrLimitExceeded, "more than 1000 entries")
	wantPartial(t, packed, Limits{IndexBytes: 100_000}, 511, ErrLimitExceeded, "index would take")
	if _, err := read(packed, Limits{CompressedBytes: int64(len(packed))}); err != nil {
		t.Errorf("exactly at the limit: %v", err)
	}

	// An object that is too large is counted, and said to be unread.
	x, err := read(bomb(5*piece), Limits{})
	if err != nil || x.ItemCount() != 1 || !x.Incomplete || !strings.Contains(x.Noted[0], "too many for one object") {
		t.Errorf("large object: %v, %q", err, x.Noted)
	}
}

func rawTar(headers ...*tar.Header) func(t *testing.T) []byte {
	return func(t *testing.T) []byte {
		t.Helper()
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for _, h := range headers {
			if err := w.WriteHeader(h); err != nil {
				t.Fatal(err)
			}
			io.CopyN(w, zeros{}, h.Size)
		}
		w.Close()
		return b.Bytes()
	}
}

func reg(name string) *tar.Header { return &tar.Header{Name: name, Typeflag: tar.TypeReg} }

// patched overwrites bytes of a good header and mends its checksum.
func patched(offset int, with string) func(t *testing.T) []byte {
	return func(t *testing.T) []byte {
		raw := buildTar(t, file{podA + "p.json", podJSON("")})
		copy(raw[offset:], with)
		copy(raw[148:156], fmt.Sprintf("%06o\x00 ", headerSum(raw[:512])))
		return raw
	}
}

func TestHostileEntriesAreRefused(t *testing.T) {
	long := strings.Repeat("x", 64<<10)
	pax := func(key, value string) func(t *testing.T) []byte {
		record := fmt.Sprintf(" %s=%s\n", key, value)
		n := len(record) + 1
		for len(fmt.Sprint(n))+len(record) != n {
			n++
		}
		body := fmt.Sprint(n) + record
		return func(t *testing.T) []byte {
			raw := buildTar(t, file{"meta", body}, file{podA + "p.json", podJSON("")})
			raw[156] = 'x'
			copy(raw[148:156], fmt.Sprintf("%06o\x00 ", headerSum(raw[:512])))
			return raw
		}
	}
	for name, c := range map[string]struct {
		make func(t *testing.T) []byte
		is   error
		says string
	}{
		"escape":             {rawTar(reg("resources/../../etc/passwd")), errPathEscapes, `"resources/../../etc/passwd"`},
		"absolute escape":    {rawTar(reg("/../etc/passwd")), errPathEscapes, "at byte 0"},
		"64 KiB name":        {rawTar(reg(podA + long + ".json")), ErrLongName, "too long"},
		"negative size":      {patched(124, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00"), ErrTarHeader, "bad size"},
		"size not octal":     {patched(124, "99999999999\x00"), ErrTarHeader, "bad size"},
		"size of exabytes":   {patched(124, "\x80\x00\x00\x00\x7f\xff\xff\xff\xff\xff\xff\xff"), ErrTarHeader, ""},
		"size beyond end":    {patched(124, "77777777777\x00"), io.ErrUnexpectedEOF, podA},
		"old GNU sparse":     {patched(156, "S"), ErrSparse, "sparse"},
		"PAX sparse":         {pax("GNU.sparse.realsize", "1000000000000"), ErrSparse, "sparse"},
		"PAX path with NUL":  {pax("path", "resources/pods\x00/x"), ErrTarHeader, "NUL"},
		"PAX negative size":  {pax("size", "-5"), ErrTarHeader, "size is no number"},
		"PAX size too large": {pax("size", "9223372036854775807"), nil, ""},
		"PAX path escapes":   {pax("path", "../../x"), errPathEscapes, "leaves the archive"},
		"wrong checksum": {func(t *testing.T) []byte {
			raw := buildTar(t, file{podA + "p.json", podJSON("")})
			raw[0] ^= 1
			return raw
		}, ErrTarHeader, "wrong checksum"},
		"PAX record cut": {func(t *testing.T) []byte {
			raw := pax("path", "abc")(t)
			copy(raw[512:], "999 ")
			return raw
		}, ErrTarHeader, "PAX record"},
		"PAX header of a gigabyte": {func(t *testing.T) []byte {
			raw := pax("path", "abc")(t)
			copy(raw[124:136], "07777777777\x00")
			copy(raw[148:156], fmt.Sprintf("%06o\x00 ", headerSum(raw[:512])))
			return raw
		}, ErrTarHeader, "extended header"},
		"tar cut in a header": {func(t *testing.T) []byte { return manyPods(t, 9)[:5*1024+100] }, io.ErrUnexpectedEOF, "at byte"},
		"tar cut in a body":   {func(t *testing.T) []byte { return manyPods(t, 9)[:5*1024+700] }, io.ErrUnexpectedEOF, "at byte"},
	} {
		t.Run(name, func(t *testing.T) { wantPartial(t, pack(t, c.make(t)), Limits{}, 0, c.is, c.says) })
	}
}

func TestHostileEntriesAreLeftOut(t *testing.T) {
	good := file{podA + "good.json", podJSON("Running")}
	for name, c := range map[string]struct {
		header  *tar.Header
		partial bool
		says    string
	}{
		"not UTF-8":     {&tar.Header{Name: podA + "\xff\xfe.json", Format: tar.FormatGNU}, true, `\xff\xfe`},
		"escape code":   {&tar.Header{Name: podA + "\x1b[2J.json", Format: tar.FormatGNU}, true, `\x1b[2J`},
		"bidi override": {&tar.Header{Name: podA + "\u202egpj.json", Format: tar.FormatGNU}, true, "\\u202e"},
		"symlink":       {&tar.Header{Name: podA + "l.json", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}, false, "links, devices"},
		"hard link":     {&tar.Header{Name: podA + "l.json", Typeflag: tar.TypeLink, Linkname: podA + "good.json"}, false, "links, devices"},
		"device":        {&tar.Header{Name: podA + "d.json", Typeflag: tar.TypeBlock, Devmajor: 8}, false, "links, devices"},
		"pipe":          {&tar.Header{Name: podA + "f.json", Typeflag: tar.TypeFifo}, false, "links, devices"},
		"no .json":      {reg(podA + "readme"), false, "NAME.json"},
		"no name":       {reg(podA + ".json"), false, "NAME.json"},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			w := tar.NewWriter(&b)
			for _, h := range []*tar.Header{{Name: "metadata/version", Size: 6}, c.header, {Name: good.name, Size: int64(len(good.body))}} {
				if h.Typeflag == 0 {
					h.Typeflag = tar.TypeReg
				}
				if err := w.WriteHeader(h); err != nil {
					t.Fatal(err)
				}
				if h.Size > 0 {
					io.WriteString(w, map[bool]string{true: "1.1.0\n", false: good.body}[h.Size == 6])
				}
			}
			w.Close()
			x, err := read(pack(t, b.Bytes()), Limits{})
			if err != nil || x.ItemCount() != 1 || x.Incomplete != c.partial {
				t.Fatalf("%v, %d items, partial %v", err, x.ItemCount(), x.Incomplete)
			}
			if len(x.Noted) != 1 || !strings.Contains(x.Noted[0], c.says) {
				t.Errorf("problems %q", x.Noted)
			}
		})
	}
}

// Paths that Velero extracts to the same place, or does not look at.
func TestOddPaths(t *testing.T) {
	body := podJSON("Running")
	x := mustRead(t, buildArchive(t,
		file{"metadata/version", "1.1.0"},
		file{podA + "one.json", podJSON("Succeeded")},
		file{"./" + podA + "one.json", body}, // overwrites the first
		file{"/" + podA + "two.json", body},  // lands inside
		file{"resources/pods/../pods/namespaces//a/./three.json", body},
		file{"resources/pods/v1-preferredversion/namespaces/a/four.json", body},
		file{podA + "deeper/five.json", body},
		file{"resources/six.json", body},
		file{"other/pods/namespaces/a/seven.json", body},
		file{"resourcesX/pods/namespaces/a/eight.json", body},
	))
	if x.ItemCount() != 3 || x.Incomplete {
		t.Fatalf("%d items, %q", x.ItemCount(), x.Noted)
	}
	if e := estimate(t, x, RestoreInput{ExistingNamespaces: ParseNamespaces("*")}, Discovery{}); e.Total != 3 {
		t.Errorf("total %d: the later entry of two must win", e.Total)
	}
}

func TestHostileJSON(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 9000) + "1" + strings.Repeat("}", 9000)
	tooDeep := strings.Repeat(`[`, 20000) + strings.Repeat("]", 20000)
	labels := strings.Repeat(`"k":"v",`, 20000)
	for name, c := range map[string]struct {
		body     string
		selected int // by app=web
		total    int
		partial  bool
	}{
		"good":                      {`{"kind":"Pod","metadata":{"labels":{"app":"web"}}}`, 1, 1, false},
		"white space":               {" \n{ \"kind\" : \"Pod\" ,\t\"metadata\":{ \"labels\" : { \"app\" : \"web\" } } } \r\n", 1, 1, false},
		"escaped":                   {`{"kind":"Pod","metadata":{"labels":{"\u0061pp":"w\u0065b"}}}`, 1, 1, false},
		"later key wins":            {`{"kind":"Pod","metadata":{"labels":{"app":"x"}},"metadata":{"labels":{"app":"x","app":"web"}}}`, 1, 1, false},
		"labels elsewhere":          {`{"kind":"Pod","labels":{"app":"web"},"spec":{"metadata":{"labels":{"app":"web"}}},"metadata":{"annotations":{"labels":"{\"app\":\"web\"}"}}}`, 0, 1, false},
		"labels in a string":        {`{"kind":"Pod","data":"\"metadata\":{\"labels\":{\"app\":\"web\"}}","metadata":{}}`, 0, 1, false},
		"labels in a list":          {`{"kind":"Pod","metadata":{"labels":[{"app":"web"}]}}`, 0, 1, false},
		"label that is a number":    {`{"kind":"Pod","metadata":{"labels":{"app":"web","n":1}}}`, 0, 1, false},
		"deep":                      {`{"kind":"Pod","x":` + deep + `,"metadata":{"labels":{"app":"web"}}}`, 1, 1, false},
		"too deep":                  {`{"kind":"Pod","x":` + tooDeep + `,"metadata":{"labels":{"app":"web"}}}`, 0, 0, false},
		"too deep where we look":    {`{"kind":"Pod","spec":{"volumes":` + tooDeep + `}}`, 0, 0, false},
		"cut off":                   {`{"kind":"Pod","metadata":{"labels":{"app":"web"}}`, 0, 0, false},
		"cut off in a string":       {`{"kind":"Pod","metadata":{"labels":{"app":"web`, 0, 0, false},
		"cut off after a backslash": {`{"kind":"Pod","x":"\`, 0, 0, false},
		"no kind":                   {`{"metadata":{"labels":{"app":"web"}}}`, 0, 0, false},
		"a list":                    {`[{"kind":"Pod","metadata":{"labels":{"app":"web"}}}]`, 0, 0, false},
		"two objects":               {`{"kind":"Pod"}{"kind":"Pod"}`, 0, 0, false},
		"empty":                     {``, 0, 0, false},
		"null":                      {`null`, 0, 0, false},
		"brackets do not match":     {`{"kind":"Pod","x":[{]}}`, 0, 0, false},
		"too many labels":           {`{"kind":"Pod","metadata":{"labels":{` + labels + `"app":"web"}}}`, 1, 1, true},
		"phase is a number":         {`{"kind":"Pod","metadata":{"labels":{"app":"web"}},"status":{"phase":1}}`, 0, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			x := mustRead(t, buildArchive(t, file{"metadata/version", "1.1.0"}, file{podA + "p.json", c.body}))
			if x.ItemCount() != 1 || x.Incomplete != c.partial {
				t.Fatalf("%d items, partial %v", x.ItemCount(), x.Incomplete)
			}
			spec := RestoreInput{ExistingNamespaces: ParseNamespaces("*")}
			if e := estimate(t, x, spec, Discovery{}); e.Total != c.total {
				t.Errorf("total %d, want %d; %q", e.Total, c.total, x.Noted)
			}
			spec.Restore.LabelSelector = appWeb
			if e := estimate(t, x, spec, Discovery{}); e.Total != c.selected {
				t.Errorf("selected %d, want %d", e.Total, c.selected)
			}
		})
	}
}

func TestFormatVersions(t *testing.T) {
	pod := file{podA + "p.json", podJSON("")}
	for name, c := range map[string]struct {
		files   []file
		partial bool
		says    string
	}{
		"current": {[]file{{"metadata/version", "1.1.0\n"}, pod}, false, ""},
		"old":     {[]file{{"metadata/version", "1"}, pod}, false, ""},
		"none":    {[]file{pod}, false, "no metadata/version"},
		"unknown": {[]file{{"metadata/version", "7\x1b[31m"}, pod}, true, `"7\x1b[31m"`},
		"huge":    {[]file{{"metadata/version", strings.Repeat("1", 100000)}, pod}, true, "100000 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			x := mustRead(t, buildArchive(t, c.files...))
			if x.ItemCount() != 1 || x.Incomplete != c.partial || !strings.Contains(strings.Join(x.Noted, " "), c.says) ||
				c.says == "" && len(x.Noted) > 0 {
				t.Errorf("%d items, partial %v, %q", x.ItemCount(), x.Incomplete, x.Noted)
			}
		})
	}
}

func TestProblemsAreBounded(t *testing.T) {
	var files []file
	for i := range 1000 {
		files = append(files, file{fmt.Sprintf("%sp%d.json", podA, i), "{"})
	}
	x := mustRead(t, buildArchive(t, files...))
	if n := len(x.Noted); n != maxProblems+1 {
		t.Errorf("%d problems", n)
	}
}

// Read must come back when its context ends, even if the source hangs.
func TestCancelled(t *testing.T) {
	packed := pack(t, manyPods(t, 500))
	hang := make(chan struct{})
	defer close(hang)
	ctx, cancel := context.WithCancel(context.Background())
	source := io.MultiReader(bytes.NewReader(packed[:len(packed)/2]), readerFunc(func([]byte) (int, error) {
		cancel()
		<-hang
		return 0, io.EOF
	}))
	x, err := Read(ctx, source, Limits{})
	if !errors.Is(err, context.Canceled) || !x.Incomplete {
		t.Fatalf("%v", err)
	}
}

func TestDeadlineIsNamed(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 0)
	defer cancel()
	if _, err := Read(
		ctx,
		bytes.NewReader(pack(t, manyPods(t, 5))),
		Limits{},
	); !errors.Is(
		err,
		context.DeadlineExceeded,
	) {
		t.Fatalf("%v", err)
	}
}

func TestSourceFails(t *testing.T) {
	packed := pack(t, manyPods(t, 2000))
	reset := errors.New("connection reset by peer")
	x, err := Read(
		context.Background(),
		io.MultiReader(bytes.NewReader(packed[:len(packed)/2]), iotest.ErrReader(reset)),
		Limits{},
	)
	if !errors.Is(err, reset) || x.ItemCount() == 0 || !x.Incomplete {
		t.Fatalf("%v", err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }
