package artifact

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/job"
)

// document is what the small artifacts are read into. Everything in them was
// written by others: fields may be missing, and every string is made harmless.
type document interface{ read(*json.Decoder) error }

const (
	// maxParts is how many commas a document may have, those in its texts
	// included: each may stand for a value that takes far more memory than the
	// one byte that it is.
	maxParts = 2_000_000
	// maxList is how many operations or volumes a list may have.
	maxList = 100_000
)

// load fetches a JSON artifact of a job into a document.
func (f *Fetcher) load(ctx context.Context, target Target, into document) error {
	text, err := f.openText(ctx, target, f.limits.JSON)
	if err != nil {
		return err
	}
	defer text.Close()
	if err := readJSON(text, into); err != nil {
		return fmt.Errorf("reading %s of %s: %w", target.Kind, target.Name, err)
	}
	return nil
}

// readJSON reads one JSON value and nothing after it.
func readJSON(r io.Reader, into document) error {
	d := json.NewDecoder(&parts{from: r})
	if err := into.read(d); err != nil {
		return explainJSON(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		if err == nil || isSyntax(err) {
			err = errors.New("it continues after its end")
		}
		return err
	}
	return nil
}

// parts ends a document that has too many.
type parts struct {
	from io.Reader
	n    int
}

func (p *parts) Read(b []byte) (int, error) {
	n, err := p.from.Read(b)
	if p.n += bytes.Count(b[:n], []byte{','}); p.n > maxParts {
		return 0, fmt.Errorf("%w: it has more than %d parts", ErrTooLarge, maxParts)
	}
	return n, err
}

// readList reads a list, or null, one element at a time.
func readList[T any](d *json.Decoder, take func(*T)) error {
	start, err := d.Token()
	switch {
	case err != nil || start == nil:
		return err
	case start != json.Delim('['):
		return errors.New("it is not the JSON that Velero writes: it is not a list")
	}
	for n := 0; d.More(); n++ {
		if n == maxList {
			return fmt.Errorf("%w: it has more than %d elements", ErrTooLarge, maxList)
		}
		var one T
		if err := d.Decode(&one); err != nil {
			return err
		}
		take(&one)
	}
	_, err = d.Token()
	return err
}

// explainJSON keeps what a JSON error quotes from reaching a terminal.
func explainJSON(err error) error {
	var wrongType *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("it ends too early: %w", io.ErrUnexpectedEOF)
	case isSyntax(err), errors.As(err, &wrongType):
		return errors.New("it is not the JSON that Velero writes: " + sanitize.Cut(err.Error(), 200))
	}
	return err
}

func isSyntax(err error) bool {
	var syntax *json.SyntaxError
	return errors.As(err, &syntax)
}

func targetOf(kind job.Kind, name string, backup, restore velerov1.DownloadTargetKind) Target {
	if kind == job.Restore {
		return Target{Kind: restore, Name: name}
	}
	return Target{Kind: backup, Name: name}
}

// cleanAll makes every string of a list harmless, in place.
func cleanAll(list []string) {
	for i, s := range list {
		list[i] = sanitize.String(s)
	}
}

func cleanEach(texts ...*string) {
	for _, s := range texts {
		*s = sanitize.String(*s)
	}
}

// moment is a time that may be missing or unreadable, which is as good.
type moment struct{ time.Time }

func (m *moment) UnmarshalJSON(text []byte) error {
	var t time.Time
	if t.UnmarshalJSON(text) == nil {
		m.Time = t
	}
	return nil
}
