package logs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// ArtifactStream is an artifact that is being downloaded, unpacked, such as an [artifact.TextStream].
type ArtifactStream interface {
	io.ReadCloser
	// Size returns the stored size in bytes, -1 if unknown; Done returns how many of them have been read.
	Size() int64
	BytesRead() int64
}

// readStored passes on the log that Velero stored when the job ended.
func (r *Reader) readStored(ctx context.Context, q Query, out Output) (err error) {
	if r.options.OpenArtifact == nil {
		return r.options.OpenUnavailable
	}
	kind := veleroapi.DownloadTargetKindBackupLog
	if q.Job.Kind == job.Restore {
		kind = veleroapi.DownloadTargetKindRestoreLog
	}
	text, err := r.options.OpenArtifact(ctx, artifact.Target{Kind: kind, Name: q.Job.Name})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, text.Close()) }()
	out.reportOrigin(Origin{Stored: true, Size: text.Size(), BytesRead: text.BytesRead})
	if err := splitLines(ctx, text, q.Since, out.OnLine); err != nil {
		return fmt.Errorf("reading the stored log of %s %s: %w", q.Job.Kind.Noun(), q.Job.Name, err)
	}
	return nil
}

// splitLines passes on the lines of a log from a time on; lines without a time belong to the line before.
func splitLines(ctx context.Context, log io.Reader, since time.Time, line func(Entry) error) error {
	s := newLineSplitter(log)
	level, wanted := NoLevel, since.IsZero()
	for {
		raw, more, ends, err := s.nextPart()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if !more {
			level = parseLineLevel(raw)
			if at := parseLineTime(raw); !wanted && !at.IsZero() {
				wanted = !at.Before(since)
			}
		}
		if !wanted {
			continue
		}
		if err := line(Entry{Raw: raw, Level: level, IsContinuation: more, HasContinuation: !ends}); err != nil {
			return err
		}
	}
}

// parseLineLevel returns the level of a line, which may be long.
func parseLineLevel(raw []byte) Level {
	if len(raw) > 0 && raw[0] != '{' {
		raw = raw[:min(len(raw), 256)] // a text's level is its second field
	}
	return ParseLevel(velero.LogLevel(string(raw)))
}

// parseLineTime returns when a line was written, zero if it does not say.
func parseLineTime(raw []byte) time.Time {
	if len(raw) > 0 && raw[0] == '{' {
		e, _ := velero.ParseLogLine(string(raw))
		return e.At
	}
	head, _ := velero.CutLogLine(string(raw[:min(len(raw), 256)]))
	return head.At
}

// lineSplitter splits text into lines, and lines that are too long into parts.
type lineSplitter struct {
	from *bufio.Reader
	part []byte
	more bool
}

func newLineSplitter(r io.Reader) *lineSplitter {
	return &lineSplitter{from: bufio.NewReaderSize(r, maxUnwrittenBytes)}
}

// nextPart returns the next line without its end, or the next part of a long line: more says that the part continues
// a line, ends that the line ends with it. The part is valid until the next call. The error is [io.EOF] at the end.
func (s *lineSplitter) nextPart() (part []byte, more, ends bool, err error) {
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
			if len(s.part) >= maxLineBytes {
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
