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

// maxTrailingBytes is how much padding is read after the tar, to verify the gzip checksum.
const maxTrailingBytes = 1 << 20

type archive struct {
	limits  Limits
	blocks  *blockPump
	tar     tarReader
	entries int64
}

// openArchive starts reading from r, until ctx ends.
func openArchive(ctx context.Context, r io.Reader, limits Limits) archive {
	limits = limits.withDefaults()
	blocks := startBlockPump(ctx, r, limits)
	return archive{
		limits: limits,
		blocks: blocks,
		tar:    tarReader{nextBlock: blocks.nextBlock, maxName: limits.NameBytes},
	}
}

func (a *archive) eachEntry(visit func(tarEntry) error) error {
	for {
		e, err := a.tar.nextEntry()
		if err == io.EOF && a.blocks.isPlain && !a.tar.hasEndMark {
			err = errNoEndMark
		}
		if err == io.EOF {
			return nil
		}
		if _, unopened := errors.AsType[*openingError](err); unopened || errors.Is(err, ErrNotBackup) {
			return err
		}
		if a.entries++; err == nil && a.entries > a.limits.Entries {
			err = fmt.Errorf("%w: more than %d entries", ErrLimitExceeded, a.limits.Entries)
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

// archiveIndexer reads the items of an archive into an index.
type archiveIndexer struct {
	archive
	builder *indexBuilder
	scanner jsonScanner
	object  parsedObject

	version         string
	hasVersion      bool
	unexpected      int // links, devices and the like
	partial         bool
	problems        []string
	omittedProblems int

	// What an archive without items may hold instead: a tarball, or items in a folder.
	innerTarball, itemFolder string
}

// addProblem records a sentence. format must quote (%q) text from the archive.
func (w *archiveIndexer) addProblem(format string, args ...any) {
	if len(w.problems) >= maxProblems {
		w.omittedProblems++
		return
	}
	w.problems = append(w.problems, fmt.Sprintf(format, args...))
}

func (w *archiveIndexer) readEntry(e tarEntry) error {
	if w.entries%512 == 0 && w.builder.memorySize() > w.limits.IndexBytes {
		return fmt.Errorf("%w: the index would take more than %d bytes", ErrLimitExceeded, w.limits.IndexBytes)
	}
	name, err := cleanPath(e.name)
	if err == errUnprintableName {
		w.partial = true
		w.addProblem("Entry %.200q was left out: %v.", e.name, err)
		return nil
	}
	if err != nil {
		return err // Velero rejects the whole archive
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
	at, ok := parseItemPath(name)
	if !ok {
		w.builder.addVersion(name)
		w.noteInner(name)
		return nil
	}
	if !at.isItem() {
		w.addProblem("Entry %.200q was left out: Velero reads only NAME.json there.", e.name)
		return nil
	}
	return w.readItem(e, at)
}

// maxFolders is how many folders deep items are looked for.
const maxFolders = 4

// noteInner notes an entry that tells where a backup's items are, if no item was found so far: a whole folder of a
// bucket holds a tarball, and an archive that was packed anew may hold the items in a folder.
func (w *archiveIndexer) noteInner(name []byte) {
	if w.hasVersion || len(w.builder.flags) > 0 {
		return
	}
	if w.innerTarball == "" && bytes.HasSuffix(name, []byte(".tar.gz")) {
		w.innerTarball = string(name)
	}
	below := name
	for range maxFolders {
		_, rest, found := bytes.Cut(below, slash)
		if !found || w.itemFolder != "" {
			return
		}
		below = rest
		if at, ok := parseItemPath(below); ok && at.isItem() || string(below) == "metadata/version" {
			w.itemFolder = string(name[:len(name)-len(below)-1])
		}
	}
}

// explainNoItems returns the error for an archive with neither items nor a version.
func (w *archiveIndexer) explainNoItems() error {
	advice := ""
	switch {
	case w.itemFolder != "":
		advice = fmt.Sprintf("; its items are in the folder %.200q, and Velero reads them only at the top of the archive",
			w.itemFolder)
	case w.innerTarball != "":
		advice = fmt.Sprintf("; it holds the tarball %.200q: extract that one, and read it", w.innerTarball)
	}
	return fmt.Errorf("%w: it contains neither items nor metadata/version%s", ErrNotBackup, advice)
}

func (w *archiveIndexer) readItem(e tarEntry, at itemPath) error {
	_, want := w.builder.findPlace(at)
	switch {
	case w.limits.NamesOnly && !want.decidesRestore():
		w.builder.addItem(at, nil, flagUnchecked)
		return nil
	case e.size > w.limits.ObjectBytes:
		w.partial = true
		w.addProblem("Entry %.200q was not read: %d bytes are too many for one object.", e.name, e.size)
		w.builder.addItem(at, nil, flagUnchecked)
		return nil
	}
	body, err := w.tar.readBody(e)
	if err != nil {
		return err
	}
	w.object.withNeeds = !w.limits.NamesOnly
	switch err := w.object.parseBody(&w.scanner, body, want); {
	case err == nil:
		w.builder.addItem(at, &w.object, 0)
	case errors.Is(err, errTooManyParts):
		w.partial = true
		w.addProblem("Entry %.200q was not read: %v.", e.name, err)
		w.builder.addItem(at, nil, flagUnchecked)
	default:
		w.addProblem("Entry %.200q is no object that Velero can read: %v.", e.name, err)
		w.builder.addItem(at, nil, flagUndecodable)
	}
	return nil
}

func (w *archiveIndexer) readVersion(e tarEntry) error {
	w.hasVersion = true
	if e.size > 64 {
		w.partial = true
		w.addProblem("metadata/version is %d bytes long and was not read.", e.size)
		return nil
	}
	body, err := w.tar.readBody(e)
	if err != nil {
		return err
	}
	w.version = strings.TrimSpace(string(body))
	if w.version != "1" && w.version != "1.1.0" {
		w.partial = true
		w.addProblem("Format version %q of the backup is not known; it was read as 1.1.0.", w.version)
	}
	return nil
}

// verifyTail reads up to the end of the gzip stream, so that its checksum is verified. Velero does not read that
// part.
func (w *archiveIndexer) verifyTail() error {
	for range maxTrailingBytes / tarBlock {
		if err := w.tar.skipBytes(tarBlock); err != nil {
			switch {
			case err == io.ErrUnexpectedEOF: // not wrapped: the regular end of the stream
				return nil
			case errors.Is(err, inflate.ErrTrailing):
				w.addProblem("After its end the archive goes on with data that is not part of it (%v).", err)
				return nil
			}
			return err
		}
	}
	w.addProblem(
		"The archive goes on for more than %d bytes after the end of its tar; the rest was not read.",
		maxTrailingBytes,
	)
	return nil
}

// buildIndex returns the Index of the items found before err.
func (w *archiveIndexer) buildIndex(err error) *Index {
	x := w.builder.buildIndex()
	x.Format, x.NamesOnly = w.version, w.limits.NamesOnly
	x.Incomplete = w.partial || err != nil
	if !w.hasVersion && err == nil {
		w.addProblem("The archive has no metadata/version; Velero writes one into every backup.")
	}
	if w.unexpected > 0 {
		w.addProblem(
			"Entries that Velero does not extract, because they are links, devices or the like: %d.",
			w.unexpected,
		)
	}
	x.Noted = w.problems
	if w.omittedProblems > 0 {
		x.Noted = append(
			x.Noted,
			human.CountForms(
				w.omittedProblems,
				"more problem like these is",
				"more problems like these are",
			)+" not listed here.",
		)
	}
	if err != nil {
		x.Noted = append(x.Noted, fmt.Sprintf("The archive was not read to its end: %v.", err))
	}
	return x
}

// VisitBodies reads the gzip-compressed tarball of a backup from r and calls visit with the bodies of the wanted
// items. resource is the plural with its group, and namespace the one in the backup. A body is valid until visit
// returns, and nil if it has more than limits.Object bytes. Nothing else of the archive is kept. It returns the same
// errors as [Read].
func VisitBodies(
	ctx context.Context,
	r io.Reader,
	limits Limits,
	wanted func(resource, namespace, name string) bool,
	visit func(resource, namespace, name string, body []byte),
) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a := openArchive(ctx, r, limits)
	err := a.eachEntry(func(e tarEntry) error {
		path, err := cleanPath(e.name)
		if err == errUnprintableName {
			return nil
		}
		if err != nil {
			return err
		}
		at, ok := parseItemPath(path)
		if !ok || e.flag != typeReg || !at.isItem() {
			return nil
		}
		resource, namespace, name := string(at.resource), string(at.namespace), string(at.name)
		if !wanted(resource, namespace, name) {
			return nil
		}
		var body []byte
		if e.size <= a.limits.ObjectBytes {
			body, err = a.tar.readBody(e)
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
	errPathEscapes     = errors.New("path leaves the archive")
	errUnprintableName = errors.New("path is not printable UTF-8")
)

// itemPath is the path of an item in a backup: resources/RESOURCE/cluster/NAME.json or
// resources/RESOURCE/namespaces/NAMESPACE/NAME.json (pkg/archive/parser.go).
type itemPath struct {
	resource, namespace, name []byte
	named                     bool // the file is called NAME.json
}

func (p itemPath) isItem() bool { return p.named && len(p.name) > 0 && len(p.resource) > 0 }

var (
	resourcesDir    = []byte("resources")
	resourcesPrefix = []byte("resources/")
	clusterDir      = []byte("cluster")
	namespacesDir   = []byte("namespaces")
	jsonSuffix      = []byte(".json")
	slash           = []byte("/")
)

// parseItemPath parses the path of an item; ok is false for other paths. Velero ignores version directories and paths
// of another depth or outside resources/.
func parseItemPath(p []byte) (at itemPath, ok bool) {
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

// addVersion records the API version of resources/RESOURCE/VERSION[-preferredversion]/...
func (b *indexBuilder) addVersion(p []byte) {
	rest, ok := bytes.CutPrefix(p, resourcesPrefix)
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
	if v := (storedVersion{b.strings.internID(resource), b.strings.internID(version), preferred}); !b.knownVersions[v] {
		b.knownVersions[v] = true
		b.versions = append(b.versions, v)
	}
}

// cleanPath makes an entry's name relative, as Velero does (pkg/archive/extractor.go).
func cleanPath(name []byte) ([]byte, error) {
	if !isPrintable(name) {
		return nil, errUnprintableName
	}
	if isClean(name) {
		return name, nil
	}
	relative := path.Clean(strings.TrimLeft(string(name), "/"))
	if relative == ".." || strings.HasPrefix(relative, "../") {
		return nil, errPathEscapes
	}
	return []byte(relative), nil
}

// isClean reports whether path.Clean would change nothing. It is fast.
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

func isPrintable(name []byte) bool {
	for _, c := range name {
		if c < ' ' || c >= 0x7f {
			return utf8.Valid(name) && !bytes.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
		}
	}
	return true
}
