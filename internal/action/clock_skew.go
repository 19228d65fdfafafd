package action

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// maxClockSkew is the difference between the clocks behind an age up to which rules may use that age.
const maxClockSkew = velero.ClockMargin

// clockSkew is the largest difference seen between two clocks, with the names of the clocks.
type clockSkew struct {
	difference time.Duration
	clocks     string
}

func (s clockSkew) largerSkew(by time.Duration, what string) clockSkew {
	if by.Abs() > s.difference {
		return clockSkew{by.Abs(), what}
	}
	return s
}

func (s clockSkew) doubtText() string {
	if s.difference <= maxClockSkew {
		return ""
	}
	return fmt.Sprintf(
		"%s differ by %s, so that veltui cannot tell how long nothing has moved",
		s.clocks,
		human.Duration(s.difference),
	)
}

// remarkText returns the remark about differing clocks for a plan that no age decides, empty if the clocks agree.
func (s clockSkew) remarkText() string {
	if s.difference <= maxClockSkew {
		return ""
	}
	return fmt.Sprintf(
		"%s differ by %s: the ages shown may be wrong, and decide nothing here",
		s.clocks,
		human.Duration(s.difference),
	)
}

const skewAdvice = "Set the clock of this machine, of the control plane or of the proxy between them right, " +
	"then look again."

// compareClocks returns the present time by the earliest of the known clocks, so that nothing looks older than it is,
// and the difference between the clocks. The API server notes the time of each write; its newest record cannot be
// later than its present time.
func (a *connection) compareClocks(now time.Time, objects ...*unstructured.Unstructured) (time.Time, clockSkew) {
	offset, _ := a.meter.ClockOffset()
	apart := clockSkew{}.largerSkew(offset, "the clocks of this machine and of the API server")
	at := now.Add(min(0, offset))
	var newest time.Time
	for _, o := range objects {
		newest = job.LatestTime(newest, job.LastWritten(o))
	}
	if newest.After(at) {
		apart = apart.largerSkew(newest.Sub(at), "the clock and the API server's newest record")
	}
	return at, apart
}

// compareWriterClock compares the clock behind the ages with the clock of the API server that would carry out the
// write, which notes the time in its answer to a dry run: of several servers one clock may be wrong, and a proxy may
// set another Date. wrote is a time that this very request set, zero for none.
func (a *connection) compareWriterClock(now, wrote time.Time) clockSkew {
	if wrote.IsZero() {
		return clockSkew{}
	}
	at, _ := a.compareClocks(now)
	return clockSkew{}.largerSkew(wrote.Sub(at), "the clock and that of the API server that would write")
}
