package logs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/velero"
)

// Stored is an artifact on its way, unpacked; an [artifact.Text] is one.
type Stored interface {
	io.ReadCloser
	// Size is the stored size in bytes, -1 if unknown; Done of them have come.
	Size() int64
	Done() int64
}

// stored brings the log that Velero stored when the job ended.
func (r *Reader) stored(ctx context.Context, q Query, out Output) (err error) {
	if r.o.Open == nil {
		return r.o.NotOpen
	}
	kind := velerov1.DownloadTargetKindBackupLog
	if q.Job.Kind == job.Restore {
		kind = velerov1.DownloadTargetKindRestoreLog
	}
	text, err := r.o.Open(ctx, artifact.Target{Kind: kind, Name: q.Job.Name})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, text.Close()) }()
	out.origin(Origin{Stored: true, Size: text.Size(), Done: text.Done})
	if err := split(ctx, text, q.Since, out.Line); err != nil {
		return fmt.Errorf("reading the stored log of %s %s: %w", q.Job.Kind.Word(), q.Job.Name, err)
	}
	return nil
}

// split brings the lines of a log from a moment on; those without a time belong to the one before.
func split(ctx context.Context, log io.Reader, since time.Time, line func(Entry) error) error {
	s := newSplitter(log)
	level, wanted := NoLevel, since.IsZero()
	for {
		raw, more, ends, err := s.next()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if !more {
			level = levelOf(raw)
			if at := timeOf(raw); !wanted && !at.IsZero() {
				wanted = !at.Before(since)
			}
		}
		if !wanted {
			continue
		}
		if err := line(Entry{Raw: raw, Level: level, More: more, Open: !ends}); err != nil {
			return err
		}
	}
}

// levelOf is the level of a line, which may be long.
func levelOf(raw []byte) Level {
	if len(raw) > 0 && raw[0] != '{' {
		raw = raw[:min(len(raw), 256)] // a text's level is its second field
	}
	return ParseLevel(velero.LogLevel(string(raw)))
}

// timeOf is when a line was written, zero if it does not say.
func timeOf(raw []byte) time.Time {
	if len(raw) > 0 && raw[0] == '{' {
		e, _ := velero.ParseLogLine(string(raw))
		return e.At
	}
	head, _ := velero.CutLogLine(string(raw[:min(len(raw), 256)]))
	return head.At
}

// splitter takes text apart into lines, and lines that are too long into parts.
type splitter struct {
	from *bufio.Reader
	part []byte
	more bool
}

func newSplitter(r io.Reader) *splitter {
	return &splitter{from: bufio.NewReaderSize(r, unwritten)}
}

// next is the next line without its end, or the next part of one: more says that it continues, ends that
// the line ends with it. The part is valid until the next call. The error is [io.EOF] in the end.
func (s *splitter) next() (part []byte, more, ends bool, err error) {
	s.part = s.part[:0]
	for {
		chunk, err := s.from.ReadSlice('\n')
		s.part = append(s.part, chunk...)
		more = s.more
		switch {
		case err == nil:
			s.more = false
			return bytes.TrimSuffix(s.part[:len(s.part)-1], []byte("\r")), more, true, nil
		case errors.Is(err, bufio.ErrBufferFull):
			if len(s.part) >= longest {
				s.more = true
				return s.part, more, false, nil
			}
		case len(s.part) > 0 && errors.Is(err, io.EOF):
			s.more = false
			return s.part, more, true, nil
		default:
			return nil, more, false, err
		}
	}
}
