package filetype

import (
	"bytes"
	"encoding/xml"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/veltui/veltui/internal/sanitize"
)

// HeadBytes is the number of bytes that Detect reads; it ignores what follows.
const HeadBytes = 4096

// Format is a format that Detect knows.
type Format uint8

// The formats. Unknown is data of any other format.
const (
	Unknown Format = iota
	Empty
	Gzip
	Tar
	Zip
	Zstd
	XZ
	Bzip2
	LZ4
	SevenZip
	HTML
	XML
	JSON
	UTF16
	Text
)

// Type is what the first bytes say of a file. Its strings are sanitized and short.
type Type struct {
	Format Format
	// Title is the title of an HTML page, empty if it has none.
	Title string
	// Root is the outermost element of an XML document; Code and Message are what an error document of S3, Azure or
	// Google Cloud Storage says.
	Root, Code, Message string
}

// signatures are the first bytes of binary formats.
var signatures = []struct {
	format Format
	prefix string
}{
	{Gzip, "\x1f\x8b"},
	{Zip, "PK\x03\x04"},
	{Zip, "PK\x05\x06"}, // without a file in it
	{Zstd, "\x28\xb5\x2f\xfd"},
	{XZ, "\xfd7zXZ\x00"},
	{Bzip2, "BZh"},
	{LZ4, "\x04\x22\x4d\x18"},
	{SevenZip, "7z\xbc\xaf\x27\x1c"},
	{UTF16, "\xff\xfe"},
	{UTF16, "\xfe\xff"},
}

// Detect tells what a file or an answer is from its first bytes, at least HeadBytes unless it is shorter.
func Detect(head []byte) Type {
	head = head[:min(len(head), HeadBytes)]
	if len(head) == 0 {
		return Type{Format: Empty}
	}
	for _, s := range signatures {
		if bytes.HasPrefix(head, []byte(s.prefix)) {
			return Type{Format: s.format}
		}
	}
	if isTarHeader(head) {
		return Type{Format: Tar}
	}
	text := trimStart(head)
	switch {
	case bytes.HasPrefix(text, []byte("<")):
		return detectMarkup(text)
	case !isText(head):
		return Type{}
	case bytes.HasPrefix(text, []byte("{")), bytes.HasPrefix(text, []byte("[")):
		return Type{Format: JSON}
	}
	return Type{Format: Text}
}

var byteOrderMark = []byte("\xef\xbb\xbf")

func trimStart(head []byte) []byte {
	return bytes.TrimLeft(bytes.TrimPrefix(head, byteOrderMark), " \t\r\n")
}

// MayBeMarkup reports whether what begins with these bytes may be a page or a document, which takes more of them to
// tell.
func MayBeMarkup(head []byte) bool {
	text := trimStart(head)
	return len(text) == 0 || text[0] == '<' || bytes.HasPrefix(byteOrderMark, text)
}

// tarHeaderBytes is the size of a tar entry's header; its checksum is in the bytes from tarSumStart to tarSumEnd.
const tarHeaderBytes, tarSumStart, tarSumEnd = 512, 148, 156

// isTarHeader reports whether the head begins with a tar header whose checksum is right; tar before POSIX has no magic.
func isTarHeader(head []byte) bool {
	if len(head) < tarHeaderBytes {
		return false
	}
	sum, want, digits := 0, 0, 0
	for i, c := range head[:tarHeaderBytes] {
		if i >= tarSumStart && i < tarSumEnd {
			c = ' '
		}
		sum += int(c)
	}
	for _, c := range bytes.Trim(head[tarSumStart:tarSumEnd], " \x00") {
		if c < '0' || c > '7' {
			return false
		}
		want, digits = want<<3|int(c-'0'), digits+1
	}
	return digits > 0 && sum == want
}

// htmlTags are elements that only HTML has, or its document type.
var htmlTags = regexp.MustCompile(`(?i)<(!doctype html|html|head|body|title|meta|script|center|h1)[\s>]`)

var htmlTitle = regexp.MustCompile(`(?is)<title[^>]*>(.*?)(</title|$)`)

const maxTitle, maxMessage = 80, 300

func detectMarkup(text []byte) Type {
	if htmlTags.Match(text) {
		t := Type{Format: HTML}
		if m := htmlTitle.FindSubmatch(text); m != nil {
			t.Title = shortenText(string(m[1]), maxTitle)
		}
		return t
	}
	if t := readXML(text); t.Root != "" {
		return t
	}
	if isText(text) {
		return Type{Format: Text}
	}
	return Type{}
}

// maxXMLTokens is how many tokens of a document are read: an error document has its code and message at its start.
const maxXMLTokens = 200

// readXML reads the outermost element, and the first Code and Message in it.
func readXML(text []byte) Type {
	t := Type{Format: XML}
	d := xml.NewDecoder(bytes.NewReader(text))
	d.Strict = false
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	within := ""
	for range maxXMLTokens {
		token, err := d.Token()
		if err != nil {
			break // cut off, or not XML from here on
		}
		switch x := token.(type) {
		case xml.StartElement:
			within = x.Name.Local
			if t.Root == "" {
				t.Root = shortenText(within, maxTitle)
			}
		case xml.EndElement:
			within = ""
		case xml.CharData:
			switch {
			case within == "Code" && t.Code == "":
				t.Code = shortenText(string(x), maxTitle)
			case within == "Message" && t.Message == "":
				t.Message = shortenText(string(x), maxMessage)
			}
		}
	}
	return t
}

// shortenText returns a text of others on one line, with at most limit characters.
func shortenText(text string, limit int) string {
	return sanitize.Truncate(strings.Join(strings.Fields(text), " "), limit)
}

// isText reports whether the head is UTF-8 without control characters that no text has. It may end within a character.
func isText(head []byte) bool {
	for i := 0; i < len(head); {
		r, size := utf8.DecodeRune(head[i:])
		switch {
		case r == utf8.RuneError && size <= 1:
			return !utf8.FullRune(head[i:])
		case r < ' ' && !strings.ContainsRune("\t\n\v\f\r\x1b\b", r):
			return false
		}
		i += size
	}
	return true
}

var formatNames = map[Format]string{
	Unknown:  "data of an unknown format",
	Empty:    "empty",
	Gzip:     "gzip data",
	Tar:      "a tar archive",
	Zip:      "a zip archive",
	Zstd:     "zstd data",
	XZ:       "xz data",
	Bzip2:    "bzip2 data",
	LZ4:      "lz4 data",
	SevenZip: "a 7z archive",
	HTML:     "an HTML page",
	XML:      "an XML document",
	JSON:     "JSON",
	UTF16:    "text in UTF-16",
	Text:     "plain text",
}

// String returns the words for a type behind "it is".
func (t Type) String() string {
	text := formatNames[t.Format]
	switch {
	case t.Code != "":
		text = "an XML error document (" + t.Code
		if t.Message != "" {
			text += ": " + strings.TrimRight(t.Message, ".")
		}
		return text + ")"
	case t.Title != "":
		return text + " (" + t.Title + ")"
	case t.Root != "":
		return text + " (" + t.Root + ")"
	}
	return text
}

// IsCompressed reports whether the data is packed in a way that Velero never uses.
func (t Type) IsCompressed() bool {
	switch t.Format {
	case Zip, Zstd, XZ, Bzip2, LZ4, SevenZip:
		return true
	}
	return false
}

// IsMarkup reports whether it is a page or a document that a server sends in place of a file: Velero stores none.
func (t Type) IsMarkup() bool { return t.Format == HTML || t.Format == XML }
