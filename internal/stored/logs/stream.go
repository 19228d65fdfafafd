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

// tailKept is how much is kept of the end of a line that is too long.
const tailKept = 8 << 10

// place is how far a container's log was read: up to a time of the kubelet, and so many lines of that time.
type place struct {
	at    time.Time
	lines int
}

// next counts a line, unless its time is not known.
func (p *place) next(at time.Time) {
	switch {
	case at.IsZero():
	case at.Equal(p.at):
		p.lines++
	default:
		p.at, p.lines = at, 1
	}
}

// podLog is the log of a container as it comes.
type podLog struct {
	body   io.ReadCloser
	lines  *splitter
	idle   *time.Timer
	within time.Duration
	cancel context.CancelFunc
	behind int   // lines that were read before, and are read again
	from   place // where that was
	first  bool
}

var errNoAnswer = errors.New("the log does not come")

// open requests the log of a container from a place on. A followed log may be silent.
func (r *Reader) open(ctx context.Context, c container, from place, o corev1.PodLogOptions) (*podLog, error) {
	pods, err := r.o.Pods()
	if err != nil {
		return nil, err
	}
	o.Container, o.Timestamps = c.name, true
	if !from.at.IsZero() {
		o.SinceTime = &metav1.Time{Time: from.at}
	}
	ctx, cancel := context.WithCancel(ctx)
	l := &podLog{cancel: cancel, from: from, behind: from.lines, first: true}
	l.idle = time.AfterFunc(r.o.Patience, cancel)
	body, err := pods.Log(session.Streaming(ctx), c.pod, o)
	if err != nil {
		late := !l.idle.Stop()
		cancel()
		if late {
			err = errNoAnswer
		}
		return nil, err
	}
	l.body, l.lines = body, newSplitter(l)
	if l.within = r.o.Patience; o.Follow {
		l.within = 0
	}
	l.idle.Stop()
	return l, nil
}

// Read reads what the API server sends; only waiting for it counts.
func (l *podLog) Read(p []byte) (int, error) {
	if l.within > 0 {
		l.idle.Reset(l.within)
		defer l.idle.Stop()
	}
	return l.body.Read(p)
}

func (l *podLog) close() {
	l.idle.Stop()
	l.cancel()
	_ = l.body.Close()
}

// logLine is a line of a container's log: the kubelet's time and the text, of one that
// is too long its beginning, its end (tail), and how many bytes are left out between.
type logLine struct {
	at   time.Time
	text []byte
	tail []byte
	left int64
}

// next is the next line that was not read before. gap is true if lines between may be gone.
func (l *podLog) next() (line logLine, gap bool, err error) {
	for {
		line, err = l.whole()
		if err != nil {
			return line, false, err
		}
		first := l.first
		l.first = false
		switch {
		case l.from.at.IsZero() || l.from.lines == 0:
			return line, false, nil
		case line.at.IsZero() || line.at.Before(l.from.at):
			continue
		case line.at.Equal(l.from.at) && l.behind > 0:
			l.behind--
			continue
		}
		return line, first, nil
	}
}

// whole reads a line to its end, whatever its length.
func (l *podLog) whole() (line logLine, err error) {
	part, _, ends, err := l.lines.next()
	if err != nil {
		return line, err
	}
	line.at, line.text = cutStamp(part)
	if ends {
		return line, nil
	}
	line.text = bytes.Clone(line.text)
	for !ends {
		if part, _, ends, err = l.lines.next(); err != nil {
			return line, err
		}
		line.left += int64(len(line.tail) + len(part))
		line.tail = append(line.tail, part...)
		line.tail = bytes.Clone(line.tail[max(0, len(line.tail)-tailKept):])
		line.left -= int64(len(line.tail))
	}
	return line, nil
}

// cutStamp cuts off the kubelet's time.
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

// entries returns what is shown of a line, nothing if it is not of the job.
func (line logLine) entries(b *belongs) []Entry {
	if line.tail == nil {
		is, at := b.line(line.text)
		if !is {
			return nil
		}
		if at.IsZero() {
			at = line.at
		}
		return []Entry{{Raw: line.text, Level: levelOf(line.text), At: at, Source: b.container.source}}
	}
	if !b.long(line.text, line.tail) {
		return nil
	}
	e := Entry{Raw: line.text, Level: levelOf(line.text), At: line.at, Source: b.container.source, Open: true}
	rest := Entry{Raw: line.tail, Level: e.Level, At: line.at, More: true}
	if line.left > 0 {
		rest.Raw = append([]byte(" ... "+human.Bytes(line.left)+" left out ... "), line.tail...)
	}
	return []Entry{e, rest}
}
