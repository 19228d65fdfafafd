package inspect

import (
	"errors"
	"time"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/restore/preflight"
)

// Progress takes how many bytes of a backup have come, of how many; total is 0
// while that is not known. It may be called from any goroutine, and never
// blocks. While nothing is downloaded it is not called.
type Progress func(done, total int64)

// ErrExists is why a file is not saved; the path goes before it.
var ErrExists = errors.New("exists already, and veltui does not replace it")

// Preview is what a restore would do, as far as that is known.
type Preview struct {
	Backup   string             // the one that would be restored: with a schedule, its newest
	Refused  []string           // why Velero would not do it, in sentences
	Unknown  string             // why the items are not known, empty if they are
	Estimate collector.Estimate // what would be restored
	// Takes is between Low and High, 0 if unknown; Learned is true if earlier restores told.
	Takes, Low, High time.Duration
	Learned          bool
	// Namespaces, Resources and Labels (key=value) are those in the backup.
	Namespaces, Resources, Labels []string
	Notes                         []string // what was taken for granted or could not be looked at
}

// Check is what a look at the live cluster found. Unseen is never a no.
type Check struct {
	Findings []preflight.Finding
	Unseen   []string
	// Existing is how many objects can be compared, WhyNotCompare why they must not be.
	Existing      int
	WhyNotCompare string
}
