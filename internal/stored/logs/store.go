package logs

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/sanitize"
)

const (
	// MaxText is how much text a Store keeps by default.
	MaxText = 2 << 30
	// longest is how many bytes a line of a Store has; longer ones are several.
	longest = 1 << 20
	// drawn is how many bytes of a line are read to draw it: more than sanitize.String lets through.
	drawn = 16 << 10
	// inBlock is how many lines share one offset in the index.
	inBlock = 64
	// unwritten is how much text waits in memory before it goes to the file.
	unwritten = 64 << 10
)

// An index entry holds a line's length, whether it continues the line before, and its level.
const (
	lengthBits = 24
	moreBit    = 1 << lengthBits
	levelShift = lengthBits + 1
)

// Store keeps lines in a nameless file, so that nothing is left behind, with 4 1/8 bytes of memory a line
// and [unwritten] bytes of text. One goroutine adds lines; others may read them meanwhile.
type Store struct {
	most int64

	mu    sync.RWMutex
	file  *os.File
	base  []int64  // where each block of lines begins
	lines []uint32 // of each line, see above
	// size is how many bytes there are; those from written on wait in tail.
	size, written int64
	tail          []byte
	counts        [Mark + 1]int
	// full is true from the first line on that did not fit; dropped counts from it.
	full    bool
	dropped int
	closed  bool
}

// NewStore makes an empty Store with a file in dir, empty for the usual one, for up to most bytes,
// [MaxText] if that is zero. It must be closed.
func NewStore(dir string, most int64) (*Store, error) {
	file, err := os.CreateTemp(dir, "veltui-log-") // its mode is 0600
	if err == nil {
		if err = os.Remove(file.Name()); err != nil {
			_ = file.Close()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("keeping the log: %w", err)
	}
	return &Store{file: file, most: cmp.Or(most, MaxText)}, nil
}

// Close gives the space back. Reading gives [os.ErrClosed] from then on.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.base, s.lines, s.tail = nil, nil, nil
	return s.file.Close()
}

// Add appends a line. After the first line that does not fit it only counts lines: there are no holes.
func (s *Store) Add(e Entry) error {
	raw := e.withSource()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return os.ErrClosed
	}
	for more := e.More; ; more = true {
		part := raw[:min(len(raw), longest)]
		switch {
		case s.full && e.More: // the rest of a line that is counted
			return nil
		case s.full, s.size+int64(len(part))+1 > s.most, len(s.lines) == math.MaxInt32:
			s.full = true
			s.dropped++
			return nil
		}
		if err := s.add(part, e.Level, more); err != nil {
			return err
		}
		if raw = raw[len(part):]; len(raw) == 0 {
			return nil
		}
	}
}

func (s *Store) add(raw []byte, level Level, more bool) error {
	if len(s.lines)%inBlock == 0 {
		s.base = append(s.base, s.size)
	}
	packed := uint32(len(raw)) | uint32(min(level, Mark))<<levelShift
	if more {
		packed |= moreBit
	} else {
		s.counts[min(level, Mark)]++
	}
	s.lines = append(s.lines, packed)
	s.tail = append(s.tail, raw...)
	s.tail = append(s.tail, '\n')
	s.size += int64(len(raw)) + 1
	if len(s.tail) < unwritten {
		return nil
	}
	n, err := s.file.WriteAt(s.tail, s.written)
	if err != nil {
		return fmt.Errorf("keeping the log: %w", err)
	}
	s.written += int64(n)
	s.tail = s.tail[:0]
	return nil
}

// Lines is how many lines were logged: the parts of a long one are one, and marks are none.
func (s *Store) Lines() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	lines := 0
	for _, n := range s.counts[:Mark] {
		lines += n
	}
	return lines
}

// Len is how many lines there are to show, parts of long ones each.
func (s *Store) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.lines)
}

// Size is how many bytes of text there are.
func (s *Store) Size() int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.size
}

// Dropped is how many lines did not fit.
func (s *Store) Dropped() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.dropped
}

// Count is how many lines have a level.
func (s *Store) Count(level Level) int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.counts[min(level, Mark)]
}

func (s *Store) level(i int) Level {
	if i < 0 || i >= len(s.lines) {
		return NoLevel
	}
	return Level(s.lines[i] >> levelShift)
}

// raw reads up to most bytes of line i, which are not harmless, and its index entry.
func (s *Store) raw(i, most int) (text string, packed uint32, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return "", 0, os.ErrClosed
	}
	if i < 0 || i >= len(s.lines) {
		return "", 0, nil
	}
	at, size := s.place(i)
	buffer := make([]byte, min(size, most))
	err = s.readAt(buffer, at)
	return string(buffer), s.lines[i], err
}

// Text is line i as it was written but harmless, of so many runes at most.
func (s *Store) Text(i, most int) string {
	raw, _, err := s.raw(i, 4*most)
	if err != nil {
		return sanitize.String(err.Error())
	}
	return sanitize.Cut(raw, most)
}

// place is where line i begins, and its length.
func (s *Store) place(i int) (at int64, size int) {
	block := i / inBlock
	at = s.base[block]
	for _, packed := range s.lines[block*inBlock : i] {
		at += int64(packed&(moreBit-1)) + 1
	}
	return at, int(s.lines[i] & (moreBit - 1))
}

// readAt fills text, which lies within what there is.
func (s *Store) readAt(text []byte, at int64) error {
	n := 0
	if at < s.written {
		n = int(min(int64(len(text)), s.written-at))
		if _, err := s.file.ReadAt(text[:n], at); err != nil {
			return fmt.Errorf("reading the log that was kept: %w", err)
		}
	}
	if n < len(text) {
		copy(text[n:], s.tail[at+int64(n)-s.written:])
	}
	return nil
}

// Line is line i, ready to draw; its cost does not depend on the line's length.
func (s *Store) Line(i int) Line {
	raw, packed, err := s.raw(i, drawn)
	if err != nil {
		return Line{Level: Mark, Text: sanitize.String(err.Error())}
	}
	level, more := Level(packed>>levelShift), packed&moreBit != 0
	if more || level == Mark {
		return Line{Level: level, More: more, Text: sanitize.String(raw)}
	}
	l := Parse(raw)
	l.Level = level
	return l
}

// Newest is the last known time of the newest hundred lines, else zero.
func (s *Store) Newest() time.Time { return s.firstTime(s.Len()-1, -1) }

// Oldest is the first known time of the oldest hundred lines, else zero.
func (s *Store) Oldest() time.Time { return s.firstTime(0, 1) }

func (s *Store) firstTime(from, step int) (at time.Time) {
	for i := range min(s.Len(), 100) {
		if at = s.Line(from + i*step).At; !at.IsZero() {
			break
		}
	}
	return at
}

// writeTo writes all lines, made harmless.
func (s *Store) writeTo(w io.Writer) error {
	out := bufio.NewWriterSize(w, unwritten) // it keeps its first error for Flush
	wrote := false
	err := s.scan(context.Background(), 0, func(i int, sizes []uint32, text []byte) bool {
		var failed error
		for _, packed := range sizes {
			if i > 0 && packed&moreBit == 0 {
				_ = out.WriteByte('\n')
			}
			size := int(packed & (moreBit - 1))
			_, failed = out.WriteString(sanitize.Whole(string(text[:size])))
			text, i, wrote = text[size+1:], i+1, wrote || i > 0 || size > 0
		}
		return failed == nil
	})
	if wrote {
		_ = out.WriteByte('\n')
	}
	return cmp.Or(err, out.Flush())
}

// scan reads the lines from one on in blocks: visit gets the first line's number, index entries, and text with a
// line feed after each, until it returns false. Lines that are added meanwhile may be left out.
func (s *Store) scan(ctx context.Context, from int, visit func(first int, sizes []uint32, text []byte) bool) error {
	var text []byte
	var sizes []uint32
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.mu.RLock()
		if s.closed {
			s.mu.RUnlock()
			return os.ErrClosed
		}
		if from >= len(s.lines) {
			s.mu.RUnlock()
			return nil
		}
		at, _ := s.place(from)
		sizes = sizes[:0]
		all := 0
		for _, packed := range s.lines[from:] {
			sizes = append(sizes, packed)
			if all += int(packed&(moreBit-1)) + 1; all >= longest {
				break
			}
		}
		text = slices.Grow(text[:0], all)[:all]
		err := s.readAt(text, at)
		s.mu.RUnlock()
		if err != nil || !visit(from, sizes, text) {
			return err
		}
		from += len(sizes)
	}
}

// Save writes all lines to a new file, mode 0600. It never overwrites one.
func (s *Store) Save(path string) (err error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("saving the log: %w", err)
	}
	defer func() {
		if err = errors.Join(err, file.Close()); err != nil {
			err = fmt.Errorf("saving the log: %w", err)
			_ = os.Remove(path)
		}
	}()
	return s.writeTo(file)
}

// Kept says in words what is not in the Store, empty if all is.
func (s *Store) Kept() string {
	if dropped := s.Dropped(); dropped > 0 {
		return human.Count(dropped, "line") + " after " + human.Bytes(s.Size()) + " not kept"
	}
	return ""
}
