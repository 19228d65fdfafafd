package restoreform

import (
	"context"
	"errors"
	"time"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/restore/restorespec"
)

// Previewer works out what a restore would do. What it answers is safe to draw,
// and so are its errors, which are on one line.
type Previewer interface {
	// Preview takes as long as downloading the backup, the first time, and ends
	// with ctx. a is what is known of the cluster, nil for nothing yet.
	Preview(ctx context.Context, d restorespec.Draft, a *assess.Assessment) Preview
	// Check looks what stands in the way in the live cluster, for a preview that is
	// known. It may take seconds, and ends with ctx.
	Check(ctx context.Context, d restorespec.Draft, p Preview, a *assess.Assessment) Check
	// Compare is a Check that also compares what exists with the backup, which it
	// downloads once more. far is told how far that is, in a few words, by any
	// goroutine.
	Compare(ctx context.Context, d restorespec.Draft, p Preview, a *assess.Assessment, far func(string)) (Check, error)
	// Save writes a new file and says where it is, also if it holds data already. It
	// never replaces another: that error is ErrExists.
	Save(name string, data []byte) (path string, err error)
}

// ErrExists is why a file is not saved; the path goes before it.
var ErrExists = errors.New("exists already, and veltui does not replace it")

// Preview is what a restore would do, as far as that is known.
type Preview struct {
	// Backup is the one that would be restored: with a schedule, its newest.
	Backup string
	// Refused is why Velero would not do it, in sentences.
	Refused []string
	// Unknown is why the items are not known, empty if they are.
	Unknown string
	// Estimate is what would be restored.
	Estimate collector.Estimate
	// Takes is how long the items may take, between Low and High; 0 if that is not
	// known. Learned is true where earlier restores of the cluster told.
	Takes, Low, High time.Duration
	Learned          bool
	// Namespaces, Resources and Labels (key=value) are those in the backup.
	Namespaces, Resources, Labels []string
	// Notes are what was taken for granted or could not be looked at.
	Notes []string
}

// Check is what a look at the live cluster found. Unseen is what could not be
// looked at; it is never a no.
type Check struct {
	Findings []Finding
	Unseen   []string
	// Existing is how many objects exist and can be compared; WhyNotCompare is why
	// they must not be, empty if they may.
	Existing      int
	WhyNotCompare string
}

// Severity is how bad a finding is.
type Severity uint8

// The severities.
const (
	Note     Severity = iota
	Doubt             // it may go wrong
	Obstacle          // it will
)

// Finding is something in the live cluster that the restore will meet.
type Finding struct {
	Severity Severity
	// Resource is the kind that it is about, empty for none.
	Resource string
	// Text is a sentence, Remedy what to do about it; that may be empty.
	Text, Remedy string
}
