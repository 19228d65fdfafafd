package restoreform

import (
	"context"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/inspect"
	"github.com/veltui/veltui/restore/restorespec"
)

// Previewer works out what a restore would do. What it answers is safe to draw,
// and so are its errors, which are on one line.
type Previewer interface {
	// Preview takes as long as downloading the backup, the first time, and ends
	// with ctx. a is what is known of the cluster, nil for nothing yet.
	Preview(ctx context.Context, d restorespec.Draft, a *assess.Assessment) inspect.Preview
	// Check looks what stands in the way in the live cluster, for a preview that is
	// known. It may take seconds, and ends with ctx.
	Check(ctx context.Context, d restorespec.Draft, p inspect.Preview, a *assess.Assessment) inspect.Check
	// Compare is a Check that also compares what exists with the backup, which it
	// downloads once more. far is told how far that is, in a few words, by any
	// goroutine.
	Compare(ctx context.Context, d restorespec.Draft, p inspect.Preview, a *assess.Assessment, far func(string)) (inspect.Check, error)
	// Save writes a new file and says where it is, also if it holds data already. It
	// never replaces another: that error is ErrExists.
	Save(name string, data []byte) (path string, err error)
}
