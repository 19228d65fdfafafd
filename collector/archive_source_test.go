package collector

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestOtherFormatsAreNamed gives Read what people have in place of a backup's tarball.
func TestOtherFormatsAreNamed(t *testing.T) {
	item := file{podA + "p.json", podJSON("")}
	below := func(folder string, files ...file) []byte {
		for i := range files {
			files[i].name = folder + "/" + files[i].name
		}
		return buildArchive(t, files...)
	}
	version := file{"metadata/version", "1.1.0"}
	for name, c := range map[string]struct {
		archive []byte
		want    string
	}{
		"nothing":       {nil, "it is empty"},
		"page":          {[]byte("<html><head><title>502 Bad Gateway</title>"), "an HTML page (502 Bad Gateway), which a server sent"},
		"S3":            {[]byte("<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>"), "an XML error document (AccessDenied: Request has expired)"},
		"zip":           {[]byte("PK\x03\x04..."), "a zip archive, and Velero writes tar and gzip: unpack it first"},
		"zstd":          {[]byte("\x28\xb5\x2f\xfd..."), "zstd data"},
		"xz":            {[]byte("\xfd7zXZ\x00..."), "xz data"},
		"JSON":          {[]byte(`{"apiVersion":"velero.io/v1"}`), "it is JSON"},
		"text":          {[]byte("apiVersion: velero.io/v1\n"), "it is plain text"},
		"packed page":   {pack(t, []byte("<html><title>?sig=secret</title>")), "it is an HTML page, which"},
		"packed log":    {pack(t, []byte("time=now level=info\n")), "it is plain text"},
		"three layers":  {pack(t, pack(t, pack(t, manyPods(t, 2)))), "with gzip more than 2 times"},
		"bucket folder": {buildArchive(t, file{"b/velero-backup.json", "{}"}, file{"b/b.tar.gz", "x"}), `it holds the tarball "b/b.tar.gz": extract that one`},
		"repacked":      {below("nightly/x", version, item), `its items are in the folder "nightly/x", and Velero reads them only at the top`},
		"other archive": {buildArchive(t, file{"README", "x"}), "it contains neither items nor metadata/version"},
		"no entries":    {buildArchive(t), "it contains neither items nor metadata/version"},
	} {
		t.Run(name, func(t *testing.T) {
			x, err := read(c.archive, Limits{})
			if !errors.Is(err, ErrNotBackup) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if x == nil || !x.Incomplete || x.ItemCount() != 0 {
				t.Errorf("index %+v", x)
			}
		})
	}
}

// TestOtherLayersAreRead reads archives that were decompressed on the way, or compressed once more.
func TestOtherLayersAreRead(t *testing.T) {
	plain := manyPods(t, 2000)
	twice := pack(t, pack(t, plain))
	for name, archive := range map[string][]byte{"plain": plain, "twice": twice, "once": pack(t, plain)} {
		for way, r := range map[string]io.Reader{
			"at once": bytes.NewReader(archive), "in pieces": iotest.HalfReader(bytes.NewReader(archive)),
		} {
			x, err := Read(context.Background(), r, Limits{})
			if err != nil || x.ItemCount() != 2000 || x.Incomplete || len(x.Noted) > 0 {
				t.Errorf("%s, %s: %v, %d items, %q", name, way, err, x.ItemCount(), x.Noted)
			}
		}
		items := 0
		err := VisitBodies(context.Background(), bytes.NewReader(archive), Limits{},
			func(_, _, _ string) bool { return true }, func(_, _, _ string, _ []byte) { items++ })
		if err != nil || items != 2000 {
			t.Errorf("%s: %v, %d bodies", name, err, items)
		}
	}
	withEnd := bytes.TrimRight(plain, "\x00")
	atEntry := plain[:(len(withEnd)+tarBlock-1)/tarBlock*tarBlock]
	wantPartial(t, atEntry, Limits{}, 2000, io.ErrUnexpectedEOF, "no end mark")
	wantPartial(t, plain[:len(plain)/2], Limits{}, 500, io.ErrUnexpectedEOF, "at byte")
	wantPartial(t, twice[:len(twice)/2], Limits{}, 500, io.ErrUnexpectedEOF, "at byte")
	damaged := bytes.Clone(twice)
	damaged[len(damaged)-6] ^= 1
	wantPartial(t, damaged, Limits{}, 2000, nil, "checksum")
}

// TestLayeredBombs compresses twice, so that each layer alone keeps the ratio.
func TestLayeredBombs(t *testing.T) {
	var header bytes.Buffer
	big := &tar.Header{Name: podA + "big.json", Typeflag: tar.TypeReg, Size: 400 << 20}
	if err := tar.NewWriter(&header).WriteHeader(big); err != nil {
		t.Fatal(err)
	}
	inner := append(pack(t, header.Bytes()), bytes.Repeat(pack(t, make([]byte, 4<<20)), 100)...)
	wantPartial(t, pack(t, inner), Limits{}, 0, ErrLimitExceeded, "more than 400 times")
	// Members without data give the inner layer nothing to count.
	empty := bytes.Repeat(pack(t, nil), 100_000)
	_, err := read(pack(t, empty), Limits{UnpackedBytes: 100_000})
	if !errors.Is(err, ErrLimitExceeded) {
		t.Errorf("empty members: %v", err)
	}
}

// TestUnreadableInputBlamesNoEntry fails to read the first byte.
func TestUnreadableInputBlamesNoEntry(t *testing.T) {
	gone := errors.New("the store is away")
	x, err := Read(context.Background(), iotest.ErrReader(gone), Limits{})
	if !errors.Is(err, gone) || strings.Contains(err.Error(), "byte") || x == nil || !x.Incomplete {
		t.Errorf("%v, %+v", err, x)
	}
}
