package logs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/session"
)

// maxTailBytes is how many bytes are kept of the end of a line that is too long.
const maxTailBytes = 8 << 10

// logPosition is how far a container's log was read: up to a time of the kubelet, and a number of lines of that time.
type logPosition struct {
	at    time.Time
	lines int
}

// advanceTo counts a line, unless its time is unknown.
func (p *logPosition) advanceTo(at time.Time) {
	switch {
	case at.IsZero():
	case at.Equal(p.at):
		p.lines++
	default:
		p.at, p.lines = at, 1
	}
}

// podLog is the log of a container as it is received.
type podLog struct {
	body        io.ReadCloser
	lines       *lineSplitter
	idle        *time.Timer
	idleTimeout time.Duration
	cancel      context.CancelFunc
	rereadLines int         // lines that were read before and are read again
	rereadFrom  logPosition // the position of those lines
	isFirstLine bool
}

var errNoAnswer = errors.New("the log does not come")

// openPodLog requests the log of a container from a position on. A followed log may be silent.
func (r *Reader) openPodLog(
	ctx context.Context,
	c container,
	from logPosition,
	o corev1.PodLogOptions,
) (*podLog, error) {
	pods, err := r.options.PodsClient()
	if err != nil {
		return nil, err
	}
	o.Container, o.Timestamps = c.name, true
	if !from.at.IsZero() {
		o.SinceTime = &metav1.Time{Time: from.at}
	}
	ctx, cancel := context.WithCancel(ctx)
	l := &podLog{cancel: cancel, rereadFrom: from, rereadLines: from.lines, isFirstLine: true}
	l.idle = time.AfterFunc(r.options.IdleTimeout, cancel)
	body, err := pods.StreamLog(session.WithStreaming(ctx), c.pod, o)
	if err != nil {
		late := !l.idle.Stop()
		cancel()
		if late {
			err = errNoAnswer
		}
		return nil, err
	}
	l.body, l.lines = body, newLineSplitter(l)
	if l.idleTimeout = r.options.IdleTimeout; o.Follow {
		l.idleTimeout = 0
	}
	l.idle.Stop()
	return l, nil
}

// Read reads what the API server sends; only the wait for it counts.
func (l *podLog) Read(p []byte) (int, error) {
	if l.idleTimeout > 0 {
		l.idle.Reset(l.idleTimeout)
		defer l.idle.Stop()
	}
	return l.body.Read(p)
}

func (l *podLog) closeLog() {
	l.idle.Stop()
	l.cancel()
	_ = l.body.Close()
}

// containerLine is a line of a container's log: the kubelet's time and the text. A line that is too long has its
// beginning in text, its end in tail, and the number of bytes left out in between.
type containerLine struct {
	at           time.Time
	text         []byte
	tail         []byte
	omittedBytes int64
}

// nextLine returns the next line that was not read before. gap is true if lines in between may be missing.
func (l *podLog) nextLine() (line containerLine, gap bool, err error) {
	for {
		line, err = l.readWhole()
		if err != nil {
			return line, false, err
		}
		first := l.isFirstLine
		l.isFirstLine = false
		switch {
		case l.rereadFrom.at.IsZero() || l.rereadFrom.lines == 0:
			return line, false, nil
		case line.at.IsZero() || line.at.Before(l.rereadFrom.at):
			continue
		case line.at.Equal(l.rereadFrom.at) && l.rereadLines > 0:
			l.rereadLines--
			continue
		}
		return line, first, nil
	}
}

// readWhole reads a line to its end, whatever its length.
func (l *podLog) readWhole() (line containerLine, err error) {
	part, _, ends, err := l.lines.nextPart()
	if err != nil {
		return line, err
	}
	line.at, line.text = cutStamp(part)
	if ends {
		return line, nil
	}
	line.text = bytes.Clone(line.text)
	for !ends {
		if part, _, ends, err = l.lines.nextPart(); err != nil {
			return line, err
		}
		line.omittedBytes += int64(len(line.tail) + len(part))
		line.tail = append(line.tail, part...)
		line.tail = bytes.Clone(line.tail[max(0, len(line.tail)-maxTailBytes):])
		line.omittedBytes -= int64(len(line.tail))
	}
	return line, nil
}

// cutStamp cuts off the kubelet's time stamp.
func cutStamp(line []byte) (time.Time, []byte) {
	const longestStamp = len("2006-01-02T15:04:05.000000000+00:00")
	space := bytes.IndexByte(line[:min(len(line), longestStamp+1)], ' ')
	if space < 0 {
		return time.Time{}, line
	}
	at, err := time.Parse(time.RFC3339Nano, string(line[:space]))
	switch {
	case err != nil:
		return time.Time{}, line
	case at.Year() <= 1:
		at = time.Time{}
	}
	return at, line[space+1:]
}

// toEntries returns the entries that show a line, none if it is not about the job.
func (line containerLine) toEntries(b *jobFilter) []Entry {
	if line.tail == nil {
		is, at := b.matchesLine(line.text)
		if !is {
			return nil
		}
		if at.IsZero() {
			at = line.at
		}
		return []Entry{{Raw: line.text, Level: parseLineLevel(line.text), At: at, Source: b.container.source}}
	}
	if !b.matchesLongLine(line.text, line.tail) {
		return nil
	}
	e := Entry{
		Raw:             line.text,
		Level:           parseLineLevel(line.text),
		At:              line.at,
		Source:          b.container.source,
		HasContinuation: true,
	}
	rest := Entry{Raw: line.tail, Level: e.Level, At: line.at, IsContinuation: true}
	if line.omittedBytes > 0 {
		rest.Raw = append([]byte(" ... "+human.Bytes(line.omittedBytes)+" left out ... "), line.tail...)
	}
	return []Entry{e, rest}
}
