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
	// DefaultMaxBytes is how many bytes of text a Store keeps by default.
	DefaultMaxBytes = 2 << 30
	// maxLineBytes is how many bytes a line of a Store has at most; a longer line is stored in parts.
	maxLineBytes = 1 << 20
	// maxDrawnBytes is how many bytes of a line are read to draw it: more than sanitize.String keeps.
	maxDrawnBytes = 16 << 10
	// linesPerBlock is how many lines share one offset in the index.
	linesPerBlock = 64
	// maxUnwrittenBytes is how many bytes of text wait in memory before they are written to the file.
	maxUnwrittenBytes = 64 << 10
)

// An index entry holds a line's length, whether it continues the line before, and its level.
const (
	lengthBits      = 24
	continuationBit = 1 << lengthBits
	levelShift      = lengthBits + 1
)

// Store keeps lines in an unnamed file, so that nothing is left behind, with 4 1/8 bytes of memory a line and
// [maxUnwrittenBytes] bytes of text. One goroutine adds lines; others may read them meanwhile.
type Store struct {
	maxBytes int64

	mu    sync.RWMutex
	file  *os.File
	base  []int64  // where each block of lines begins
	lines []uint32 // one index entry a line, see above
	// size is how many bytes are stored; those from written on wait in tail.
	size, written int64
	tail          []byte
	counts        [Notice + 1]int
	// full is true from the first line that did not fit; dropped counts the lines from there.
	full    bool
	dropped int
	closed  bool
}

// NewStore makes an empty Store with a file in dir, or in the default directory if dir is empty, for up to most
// bytes, [DefaultMaxBytes] if most is zero. It must be closed.
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
	return &Store{file: file, maxBytes: cmp.Or(most, DefaultMaxBytes)}, nil
}

// Close releases the space. After that, reads return [os.ErrClosed].
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

// AddEntry appends a line. After the first line that does not fit, it only counts lines, so there are no gaps.
func (s *Store) AddEntry(e Entry) error {
	raw := e.prefixedRaw()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return os.ErrClosed
	}
	for more := e.IsContinuation; ; more = true {
		part := raw[:min(len(raw), maxLineBytes)]
		switch {
		case s.full && e.IsContinuation: // the rest of a line that was counted
			return nil
		case s.full, s.size+int64(len(part))+1 > s.maxBytes, len(s.lines) == math.MaxInt32:
			s.full = true
			s.dropped++
			return nil
		}
		if err := s.appendLine(part, e.Level, more); err != nil {
			return err
		}
		if raw = raw[len(part):]; len(raw) == 0 {
			return nil
		}
	}
}

func (s *Store) appendLine(raw []byte, level Level, more bool) error {
	if len(s.lines)%linesPerBlock == 0 {
		s.base = append(s.base, s.size)
	}
	packed := uint32(len(raw)) | uint32(min(level, Notice))<<levelShift
	if more {
		packed |= continuationBit
	} else {
		s.counts[min(level, Notice)]++
	}
	s.lines = append(s.lines, packed)
	s.tail = append(s.tail, raw...)
	s.tail = append(s.tail, '\n')
	s.size += int64(len(raw)) + 1
	if len(s.tail) < maxUnwrittenBytes {
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

// CountLines returns the number of logged lines: the parts of a long line count as one, and marks do not count.
func (s *Store) CountLines() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	lines := 0
	for _, n := range s.counts[:Notice] {
		lines += n
	}
	return lines
}

// Len returns the number of lines to show. Each part of a long line counts.
func (s *Store) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.lines)
}

// Size returns how many bytes of text are stored.
func (s *Store) Size() int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.size
}

// CountDropped returns the number of lines that did not fit.
func (s *Store) CountDropped() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.dropped
}

// CountLevel returns the number of lines with a level.
func (s *Store) CountLevel(level Level) int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.counts[min(level, Notice)]
}

func (s *Store) levelAt(i int) Level {
	if i < 0 || i >= len(s.lines) {
		return NoLevel
	}
	return Level(s.lines[i] >> levelShift)
}

// readRaw reads up to most bytes of line i, not sanitized, and its index entry.
func (s *Store) readRaw(i, most int) (text string, packed uint32, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return "", 0, os.ErrClosed
	}
	if i < 0 || i >= len(s.lines) {
		return "", 0, nil
	}
	at, size := s.linePosition(i)
	buffer := make([]byte, min(size, most))
	err = s.readAt(buffer, at)
	return string(buffer), s.lines[i], err
}

// TextAt returns line i as it was written but sanitized, cut to most runes.
func (s *Store) TextAt(i, most int) string {
	raw, _, err := s.readRaw(i, 4*most)
	if err != nil {
		return sanitize.String(err.Error())
	}
	return sanitize.Truncate(raw, most)
}

// linePosition returns the offset of line i, and its length.
func (s *Store) linePosition(i int) (at int64, size int) {
	block := i / linesPerBlock
	at = s.base[block]
	for _, packed := range s.lines[block*linesPerBlock : i] {
		at += int64(packed&(continuationBit-1)) + 1
	}
	return at, int(s.lines[i] & (continuationBit - 1))
}

// readAt fills text from an offset. The caller ensures that it lies within what is stored.
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

// LineAt returns line i, ready to draw; the cost does not depend on the line's length.
func (s *Store) LineAt(i int) Line {
	raw, packed, err := s.readRaw(i, maxDrawnBytes)
	if err != nil {
		return Line{Level: Notice, Text: sanitize.String(err.Error())}
	}
	level, more := Level(packed>>levelShift), packed&continuationBit != 0
	if more || level == Notice {
		return Line{Level: level, IsContinuation: more, Text: sanitize.String(raw)}
	}
	l := Parse(raw)
	l.Level = level
	return l
}

// NewestTime returns the last known time of the newest hundred lines, zero if none is known.
func (s *Store) NewestTime() time.Time { return s.firstTime(s.Len()-1, -1) }

// OldestTime returns the first known time of the oldest hundred lines, zero if none is known.
func (s *Store) OldestTime() time.Time { return s.firstTime(0, 1) }

func (s *Store) firstTime(from, step int) (at time.Time) {
	for i := range min(s.Len(), 100) {
		if at = s.LineAt(from + i*step).At; !at.IsZero() {
			break
		}
	}
	return at
}

// writeTo writes all lines, sanitized.
func (s *Store) writeTo(w io.Writer) error {
	out := bufio.NewWriterSize(w, maxUnwrittenBytes) // it keeps its first error for Flush
	wrote := false
	err := s.scanBlocks(context.Background(), 0, func(i int, sizes []uint32, text []byte) bool {
		var failed error
		for _, packed := range sizes {
			if i > 0 && packed&continuationBit == 0 {
				_ = out.WriteByte('\n')
			}
			size := int(packed & (continuationBit - 1))
			_, failed = out.WriteString(sanitize.FullLine(string(text[:size])))
			text, i, wrote = text[size+1:], i+1, wrote || i > 0 || size > 0
		}
		return failed == nil
	})
	if wrote {
		_ = out.WriteByte('\n')
	}
	return cmp.Or(err, out.Flush())
}

// scanBlocks reads the lines from one on in blocks, until visit returns false: visit gets the number of the first
// line, the index entries, and the text with a line feed after each line. It may miss lines that are added meanwhile.
func (s *Store) scanBlocks(
	ctx context.Context,
	from int,
	visit func(first int, sizes []uint32, text []byte) bool,
) error {
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
		at, _ := s.linePosition(from)
		sizes = sizes[:0]
		all := 0
		for _, packed := range s.lines[from:] {
			sizes = append(sizes, packed)
			if all += int(packed&(continuationBit-1)) + 1; all >= maxLineBytes {
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

// SaveTo writes all lines to a new file, mode 0600. It never overwrites one.
func (s *Store) SaveTo(path string) (err error) {
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

// DroppedText says what is not in the Store, empty if everything is.
func (s *Store) DroppedText() string {
	if dropped := s.CountDropped(); dropped > 0 {
		return human.Count(dropped, "line") + " after " + human.Bytes(s.Size()) + " not kept"
	}
	return ""
}
