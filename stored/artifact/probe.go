package artifact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// State is whether an artifact is stored.
type State int

// The three answers.
const (
	// Unknown: the store does not say, or what it says proves nothing.
	Unknown State = iota
	Absent
	Present
)

func (s State) String() string {
	switch s {
	case Absent:
		return "absent"
	case Present:
		return "present"
	}
	return "unknown"
}

// Presence is what a probe found.
type Presence struct {
	State State
	// Modified is when it was stored, by the store's clock, and Size its bytes;
	// zero and -1 if the store does not say. An object that is older than the
	// job belongs to an earlier one of the same name.
	Modified time.Time
	Size     int64
	// Reason says why the answer is not Present.
	Reason string
}

// Probe asks whether an artifact is stored, by a GET of its first byte: the URL
// is signed for GET, and Velero signs without looking. All artifacts are
// gzipped, so that another first byte is not ours but, say, a proxy's error
// page. An error means that the question could not be asked or was not answered.
func (f *Fetcher) Probe(ctx context.Context, target Target) (Presence, error) {
	p, err := f.probe(ctx, target)
	switch {
	case errors.Is(err, ErrAbsent):
		return Presence{State: Absent, Size: -1, Reason: err.Error()}, nil
	case errors.Is(err, ErrUnknowable):
		return Presence{State: Unknown, Size: -1, Reason: err.Error()}, nil
	case err != nil:
		return Presence{Size: -1}, fmt.Errorf("checking whether %s of %s is stored: %w", target.Kind, target.Name, err)
	}
	return p, nil
}

func (f *Fetcher) probe(ctx context.Context, target Target) (Presence, error) {
	s, err := f.open(ctx, target, "bytes=0-0")
	if err != nil {
		return Presence{}, err
	}
	defer s.Close()
	p := Presence{Modified: s.Modified(), Size: s.Size()}
	if s.empty {
		p.Size, p.Reason = 0, "an empty object is stored"
		return p, nil
	}
	first := make([]byte, 1)
	switch _, err := io.ReadFull(s, first); {
	case errors.Is(err, io.EOF):
		p.Size, p.Reason = 0, "an empty object is stored"
	case err != nil:
		return Presence{}, err
	case first[0] != gzipMagic[0]:
		p.Reason = "what the object store returns is not gzip, which every artifact is"
	default:
		p.State = Present
	}
	return p, nil
}
