package collector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/veltui/veltui/collector/internal/inflate"
	"github.com/veltui/veltui/internal/human"
)

// maxProblems is how many problems are reported one by one.
const maxProblems = 20

// maxTail is how much padding is read after the tar, to verify the gzip checksum.
const maxTail = 1 << 20

type archive struct {
	limits  Limits
	tar     tarReader
	entries int64
}

// openArchive begins to read; that ends with ctx.
func openArchive(ctx context.Context, r io.Reader, limits Limits) archive {
	limits = limits.withDefaults()
	blocks := startPump(ctx, r, limits)
	return archive{limits: limits, tar: tarReader{more: blocks.next, maxName: limits.Name}}
}

func (a *archive) each(visit func(entry) error) error {
	for {
		e, err := a.tar.next()
		if err == io.EOF {
			return nil
		}
		if a.entries++; err == nil && a.entries > a.limits.Entries {
			err = fmt.Errorf("%w: more than %d entries", ErrLimit, a.limits.Entries)
		}
		if err == nil {
			err = visit(e)
		}
		switch {
		case err != nil && len(e.name) == 0:
			return fmt.Errorf("tar entry at byte %d: %w", e.offset, err)
		case err != nil:
			return fmt.Errorf("tar entry %.200q at byte %d: %w", e.name, e.offset, err)
		}
	}
}

// walker reads the items of an archive into an index.
type walker struct {
	archive
	builder *builder
	scanner scanner
	object  object

	version    string
	hasVersion bool
	unexpected int // links, devices and the like
	partial    bool
	problems   []string
	untold     int
}

// problem notes a sentence. format must quote (%q) whatever comes from the archive.
func (w *walker) problem(format string, args ...any) {
	if len(w.problems) >= maxProblems {
		w.untold++
		return
	}
	w.problems = append(w.problems, fmt.Sprintf(format, args...))
}

func (w *walker) entry(e entry) error {
	if w.entries%512 == 0 && w.builder.size() > w.limits.Index {
		return fmt.Errorf("%w: the index would take more than %d bytes", ErrLimit, w.limits.Index)
	}
	name, err := cleanPath(e.name)
	if err == errOddName {
		w.partial = true
		w.problem("Entry %.200q was left out: %v.", e.name, err)
		return nil
	}
	if err != nil {
		return err // Velero refuses such an archive as a whole
	}
	switch {
	case e.flag == typeDir:
		return nil
	case e.flag != typeReg:
		w.unexpected++ // Velero does not extract them
		return nil
	case string(name) == "metadata/version":
		return w.readVersion(e)
	}
	at, ok := placeOf(name)
	if !ok {
		w.builder.atVersion(name)
		return nil
	}
	if !at.isItem() {
		w.problem("Entry %.200q was left out: Velero reads only NAME.json there.", e.name)
		return nil
	}
	return w.item(e, at)
}

func (w *walker) item(e entry, at place) error {
	_, want := w.builder.at(at)
	switch {
	case w.limits.NamesOnly && !want.decides():
		w.builder.add(at, nil, flagUnread)
		return nil
	case e.size > w.limits.Object:
		w.partial = true
		w.problem("Entry %.200q was not read: %d bytes are too many for one object.", e.name, e.size)
		w.builder.add(at, nil, flagUnread)
		return nil
	}
	body, err := w.tar.body(e)
	if err != nil {
		return err
	}
	w.object.withNeeds = !w.limits.NamesOnly
	switch err := w.object.read(&w.scanner, body, want); {
	case err == nil:
		w.builder.add(at, &w.object, 0)
	case errors.Is(err, errTooManyParts):
		w.partial = true
		w.problem("Entry %.200q was not read: %v.", e.name, err)
		w.builder.add(at, nil, flagUnread)
	default:
		w.problem("Entry %.200q is no object that Velero can read: %v.", e.name, err)
		w.builder.add(at, nil, flagUndecodable)
	}
	return nil
}

func (w *walker) readVersion(e entry) error {
	w.hasVersion = true
	if e.size > 64 {
		w.partial = true
		w.problem("metadata/version is %d bytes long and was not read.", e.size)
		return nil
	}
	body, err := w.tar.body(e)
	if err != nil {
		return err
	}
	w.version = strings.TrimSpace(string(body))
	if w.version != "1" && w.version != "1.1.0" {
		w.partial = true
		w.problem("Format version %q of the backup is not known; it was read as 1.1.0.", w.version)
	}
	return nil
}

// tail reads on to the end of the gzip stream, so that its checksum is
// verified. Velero does not look at what comes there.
func (w *walker) tail() error {
	for range maxTail / tarBlock {
		if err := w.tar.skip(tarBlock); err != nil {
			switch {
			case err == io.ErrUnexpectedEOF: // not wrapped: the stream's proper end
				return nil
			case errors.Is(err, inflate.ErrTrailing):
				w.problem("After its end the archive goes on with data that is not part of it (%v).", err)
				return nil
			}
			return err
		}
	}
	w.problem("The archive goes on for more than %d bytes after the end of its tar; the rest was not read.", maxTail)
	return nil
}

// index makes the Index of what was found until err.
func (w *walker) index(err error) *Index {
	x := w.builder.index()
	x.Format, x.NamesOnly = w.version, w.limits.NamesOnly
	x.Incomplete = w.partial || err != nil
	if !w.hasVersion && err == nil {
		w.problem("The archive has no metadata/version; Velero writes one into every backup.")
	}
	if w.unexpected > 0 {
		w.problem(
			"Entries that Velero does not extract, because they are links, devices or the like: %d.",
			w.unexpected,
		)
	}
	x.Noted = w.problems
	if w.untold > 0 {
		x.Noted = append(
			x.Noted,
			human.Plural(w.untold, "more problem like these is", "more problems like these are")+" not listed here.",
		)
	}
	if err != nil {
		x.Noted = append(x.Noted, fmt.Sprintf("The archive was not read to its end: %v.", err))
	}
	return x
}

// Bodies reads the gzip-compressed tarball of a backup from r and visits the bodies of the items that are wanted. An
// item is plural and group, the namespace in the backup and the name. A body is valid until visit returns, and nil
// where it has more than limits.Object bytes. Nothing else of the archive is kept. Its errors are those of [Read].
func Bodies(
	ctx context.Context,
	r io.Reader,
	limits Limits,
	wanted func(resource, namespace, name string) bool,
	visit func(resource, namespace, name string, body []byte),
) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a := openArchive(ctx, r, limits)
	err := a.each(func(e entry) error {
		path, err := cleanPath(e.name)
		if err == errOddName {
			return nil
		}
		if err != nil {
			return err
		}
		at, ok := placeOf(path)
		if !ok || e.flag != typeReg || !at.isItem() {
			return nil
		}
		resource, namespace, name := string(at.resource), string(at.namespace), string(at.name)
		if !wanted(resource, namespace, name) {
			return nil
		}
		var body []byte
		if e.size <= a.limits.Object {
			body, err = a.tar.body(e)
		}
		if err == nil {
			visit(resource, namespace, name, body)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("reading backup archive: %w", err)
	}
	return nil
}

var (
	errEscapes = errors.New("path leaves the archive")
	errOddName = errors.New("path is not printable UTF-8")
)

// place is where an item lies in a backup: resources/RESOURCE/cluster/NAME.json or
// resources/RESOURCE/namespaces/NAMESPACE/NAME.json (pkg/archive/parser.go).
type place struct {
	resource, namespace, name []byte
	named                     bool // the file is called NAME.json
}

func (p place) isItem() bool { return p.named && len(p.name) > 0 && len(p.resource) > 0 }

var (
	resourcesDir   = []byte("resources")
	resourcesSlash = []byte("resources/")
	clusterDir     = []byte("cluster")
	namespacesDir  = []byte("namespaces")
	jsonSuffix     = []byte(".json")
	slash          = []byte("/")
)

// placeOf says which item a path stands for, if any. Paths of version directories, of other depth,
// or outside resources/ are no items: Velero does not look at them.
func placeOf(p []byte) (at place, ok bool) {
	top, rest, ok := bytes.Cut(p, slash)
	if !ok || !bytes.Equal(top, resourcesDir) {
		return at, false
	}
	if at.resource, rest, ok = bytes.Cut(rest, slash); !ok {
		return at, false
	}
	scope, rest, ok := bytes.Cut(rest, slash)
	if !ok {
		return at, false
	}
	switch {
	case bytes.Equal(scope, clusterDir):
	case bytes.Equal(scope, namespacesDir):
		if at.namespace, rest, ok = bytes.Cut(rest, slash); !ok {
			return at, false
		}
	default:
		return at, false
	}
	if bytes.IndexByte(rest, '/') >= 0 {
		return at, false
	}
	at.name, at.named = bytes.CutSuffix(rest, jsonSuffix)
	return at, true
}

// preferredSuffix marks the directory of the API version that the server
// preferred when it was backed up (pkg/archive/parser.go).
const preferredSuffix = "-preferredversion"

// atVersion notes the API version of resources/RESOURCE/VERSION[-preferredversion]/...
func (b *builder) atVersion(p []byte) {
	rest, ok := bytes.CutPrefix(p, resourcesSlash)
	if !ok {
		return
	}
	if n := len(b.lastVersioned); n > 0 && len(rest) > n && rest[n] == '/' && bytes.Equal(rest[:n], b.lastVersioned) {
		return
	}
	resource, below, ok := bytes.Cut(rest, slash)
	if !ok || len(resource) == 0 {
		return
	}
	dir, _, ok := bytes.Cut(below, slash)
	if !ok || len(dir) == 0 || bytes.Equal(dir, clusterDir) || bytes.Equal(dir, namespacesDir) {
		return
	}
	b.lastVersioned = append(b.lastVersioned[:0], rest[:len(resource)+1+len(dir)]...)
	version, preferred := bytes.CutSuffix(dir, []byte(preferredSuffix))
	if v := (storedVersion{b.strings.id(resource), b.strings.id(version), preferred}); !b.knownVersions[v] {
		b.knownVersions[v] = true
		b.versions = append(b.versions, v)
	}
}

// cleanPath makes an entry's name relative, as Velero does (pkg/archive/extractor.go).
func cleanPath(name []byte) ([]byte, error) {
	if !printable(name) {
		return nil, errOddName
	}
	if isClean(name) {
		return name, nil
	}
	relative := path.Clean(strings.TrimLeft(string(name), "/"))
	if relative == ".." || strings.HasPrefix(relative, "../") {
		return nil, errEscapes
	}
	return []byte(relative), nil
}

// isClean says whether path.Clean would change nothing, quickly.
func isClean(name []byte) bool {
	start := true
	for i, c := range name {
		if start && (c == '/' || c == '.' && (i+1 == len(name) || name[i+1] == '/' || name[i+1] == '.')) {
			return false
		}
		start = c == '/'
	}
	return !start
}

func printable(name []byte) bool {
	for _, c := range name {
		if c < ' ' || c >= 0x7f {
			return utf8.Valid(name) && !bytes.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
		}
	}
	return true
}
