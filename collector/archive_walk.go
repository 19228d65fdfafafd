package collector

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/veltui/veltui/collector/internal/inflate"
)

// maxProblems is how many problems are reported one by one.
const maxProblems = 20

// maxTail is how much is read after the end of the tar, to verify the gzip
// checksum: padding, as tar programs write it.
const maxTail = 1 << 20

// walker goes through the entries of one archive.
type walker struct {
	limits  Limits
	tar     tarReader
	builder *builder
	scanner scanner
	object  object

	entries    int64
	version    string
	hasVersion bool
	unexpected int // links, devices and the like
	partial    bool
	problems   []string
	untold     int
}

// problem notes a sentence about the archive. format must quote (%q) whatever
// comes from the archive.
func (w *walker) problem(format string, args ...any) {
	if len(w.problems) >= maxProblems {
		w.untold++
		return
	}
	w.problems = append(w.problems, fmt.Sprintf(format, args...))
}

// walk reads all entries and then the rest of the stream.
func (w *walker) walk() error {
	for {
		e, err := w.tar.next()
		if err == io.EOF {
			return w.tail()
		}
		if err != nil {
			return entryError(e, err)
		}
		if w.entries++; w.entries > w.limits.Entries {
			return entryError(e, fmt.Errorf("%w: more than %d entries", ErrLimit, w.limits.Entries))
		}
		if w.entries%512 == 0 && w.builder.size() > w.limits.Index {
			return entryError(e, fmt.Errorf("%w: the index would take more than %d bytes", ErrLimit, w.limits.Index))
		}
		if err := w.entry(e); err != nil {
			return entryError(e, err)
		}
	}
}

// entryError says where in the archive err came up.
func entryError(e entry, err error) error {
	if len(e.name) == 0 {
		return fmt.Errorf("tar entry at byte %d: %w", e.offset, err)
	}
	return fmt.Errorf("tar entry %.200q at byte %d: %w", e.name, e.offset, err)
}

func (w *walker) entry(e entry) error {
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
	if !at.named || len(at.name) == 0 || len(at.resource) == 0 {
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
		w.problem("Entries that Velero does not extract, because they are links, devices or the like: %d.", w.unexpected)
	}
	x.Noted = w.problems
	if w.untold > 0 {
		x.Noted = append(x.Noted, fmt.Sprintf("There are %d more problems like these.", w.untold))
	}
	if err != nil {
		x.Noted = append(x.Noted, fmt.Sprintf("The archive was not read to its end: %v.", err))
	}
	return x
}
