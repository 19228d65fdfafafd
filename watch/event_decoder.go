package watch

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"

	"github.com/veltui/veltui/internal/session"
)

const maxEventBytes = session.MaxAnswerBytes

// eventDecoder reads the events of a watch, one JSON document per line
// (k8s.io/apiserver/pkg/endpoints/handlers/watch.go). It is fast for lines in the API server's own form.
type eventDecoder struct {
	body         io.ReadCloser
	lines        *bufio.Reader
	decodeObject func(raw []byte) (*receivedObject, error)
	line, raw    []byte // reused
}

func newEventDecoder(body io.ReadCloser, object func(raw []byte) (*receivedObject, error)) *eventDecoder {
	return &eventDecoder{body: body, lines: bufio.NewReaderSize(body, 64<<10), decodeObject: object}
}

// Close closes the body, which ends a waiting Decode.
func (d *eventDecoder) Close() { _ = d.body.Close() }

// Decode returns the next event that has an object.
func (d *eventDecoder) Decode() (apiwatch.EventType, runtime.Object, error) {
	for {
		if err := d.readLine(); err != nil {
			return "", nil, err
		}
		kind, raw, plain := splitEvent(d.line)
		if plain {
			if o, err := d.decodeEvent(kind, raw); err == nil {
				return kind, o, nil
			}
		}
		// If the line has another form, decode it as plain JSON.
		var event struct {
			Type   apiwatch.EventType `json:"type"`
			Object json.RawMessage    `json:"object"`
		}
		if err := json.Unmarshal(d.line, &event); err != nil {
			return "", nil, fmt.Errorf("reading an event: %w", err)
		}
		if o, err := d.decodeEvent(event.Type, event.Object); err == nil {
			return event.Type, o, nil
		}
	}
}

func (d *eventDecoder) decodeEvent(kind apiwatch.EventType, raw []byte) (runtime.Object, error) {
	if kind != apiwatch.Error {
		// The line is needed again if this fails.
		d.raw = append(d.raw[:0], raw...)
		return d.decodeObject(emptyFieldSets(d.raw))
	}
	status := &metav1.Status{}
	return status, json.Unmarshal(raw, status)
}

func (d *eventDecoder) readLine() error {
	d.line = d.line[:0]
	for {
		part, err := d.lines.ReadSlice('\n')
		d.line = append(d.line, part...)
		switch {
		case len(d.line) > maxEventBytes:
			return &session.IncompleteError{
				Reason: fmt.Sprintf("incomplete: an event is longer than %d MiB", maxEventBytes>>20),
			}
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err == io.EOF && len(bytes.TrimSpace(d.line)) > 0:
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		}
		if d.line = bytes.TrimSpace(d.line); len(d.line) > 0 {
			return nil
		}
	}
}

var (
	typePrefix   = []byte(`{"type":"`)
	objectPrefix = []byte(`","object":`)
)

// splitEvent splits an event in the API server's own form into its type and its object.
func splitEvent(line []byte) (kind apiwatch.EventType, raw []byte, ok bool) {
	rest, ok := bytes.CutPrefix(line, typePrefix)
	if !ok || line[len(line)-1] != '}' {
		return "", nil, false
	}
	name, raw, ok := bytes.Cut(rest[:len(rest)-1], objectPrefix)
	if !ok || bytes.ContainsAny(name, `"\`) {
		return "", nil, false
	}
	return apiwatch.EventType(name), raw, true
}
