package filetype

import (
	"archive/tar"
	"bytes"
	"strings"
	"testing"
	"unicode"
)

func tarHead(t testing.TB) string {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Name: "metadata/version", Mode: 0o600, Size: 0}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestDetect(t *testing.T) {
	const s3 = `<Error><Code>AccessDenied</Code><Message>Request has expired</Message><Expires>x</Expires></Error>`
	for name, c := range map[string]struct{ head, want string }{
		"nothing":       {"", "empty"},
		"gzip":          {"\x1f\x8b\x08\x00", "gzip data"},
		"zip":           {"PK\x03\x04xyz", "a zip archive"},
		"zstd":          {"\x28\xb5\x2f\xfdxyz", "zstd data"},
		"xz":            {"\xfd7zXZ\x00xyz", "xz data"},
		"bzip2":         {"BZh91AY", "bzip2 data"},
		"tar":           {tarHead(t), "a tar archive"},
		"tar, damaged":  {strings.Replace(tarHead(t), "version", "versiom", 1), "data of an unknown format"},
		"page":          {"<html><head><title>Login</title></head>", "an HTML page (Login)"},
		"document type": {"\xef\xbb\xbf\r\n<!DOCTYPE html><p>", "an HTML page"},
		"XHTML":         {`<?xml version="1.0"?><!DOCTYPE html PUBLIC "a"><html xmlns="x">`, "an HTML page"},
		"commented":     {"<!-- proxy --><HTML><TITLE>\n Sign\n in </TITLE>", "an HTML page (Sign in)"},
		"title cut off": {"<html><title>Sign in to the", "an HTML page (Sign in to the)"},
		"S3":            {s3, "an XML error document (AccessDenied: Request has expired)"},
		"Azure": {"\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"utf-8\"?><Error><Code>BlobNotFound</Code>" +
			"<Message>The blob does not exist.\nRequestId:1</Message></Error>",
			"an XML error document (BlobNotFound: The blob does not exist. RequestId:1)"},
		"other charset":   {`<?xml version="1.0" encoding="latin1"?>` + s3, "an XML error document (AccessDenied: Request has expired)"},
		"a listing":       {`<ListBucketResult><Name>b</Name></ListBucketResult>`, "an XML document (ListBucketResult)"},
		"JSON":            {` {"velero": ["x"]}`, "JSON"},
		"a list":          {`["x"]`, "JSON"},
		"UTF-16":          {"\xff\xfea\x00", "text in UTF-16"},
		"a log":           {`time="2026-11-28T00:00:00Z" level=info msg="x"` + "\n", "plain text"},
		"a kernel's log":  {"<4>device busy", "plain text"},
		"half a letter":   {"ä\xc3", "plain text"},
		"not UTF-8":       {"\xe4\xf6x", "data of an unknown format"},
		"zeroes":          {strings.Repeat("\x00", 1024), "data of an unknown format"},
		"hostile title":   {"<html><title>\x1b[2Jx</title>", `an HTML page (\x1b[2Jx)`},
		"message, period": {`<Error><Code>A</Code><Message>Gone.</Message></Error>`, "an XML error document (A: Gone)"},
	} {
		if got := Detect([]byte(c.head)).String(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func FuzzDetect(f *testing.F) {
	for _, head := range []string{
		"", "\x1f\x8b\x08", "PK\x03\x04", "<html><title>x", "<Error><Code>A</Code><Message>b</Message>", "{\"a\":1}",
		"<?xml version=\"1.0\" encoding=\"x\"?><a>&#x0;<b/>", "<!ENTITY a \"b\">&a;", "\xff\xfea\x00", tarHead(f),
	} {
		f.Add([]byte(head))
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		got := Detect(head)
		text := got.String()
		if len(text) > 4*(maxTitle+maxMessage)+200 || strings.ContainsFunc(text, unicode.IsControl) {
			t.Errorf("%q", text)
		}
		if len(head) > HeadBytes && Detect(head[:HeadBytes]) != got {
			t.Error("it depends on more than the head")
		}
	})
}
