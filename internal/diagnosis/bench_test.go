package diagnosis

import (
	"strconv"
	"testing"

	"github.com/veltui/veltui/internal/velero"
)

// BenchmarkVerdictQueued is the dearest verdict: the last of a long queue.
func BenchmarkVerdictQueued(b *testing.B) {
	s := healthy()
	s.Server.Flags.ConcurrentBackups = 4
	s.Jobs = jobs(
		b,
		spec{
			name:     "runs",
			phase:    velero.PhaseInProgress,
			started:  9,
			changed:  0.1,
			done:     1,
			total:    9,
			includes: []string{"*"},
		},
	)
	for i := range 250 {
		s.Jobs = append(
			s.Jobs,
			spec{
				name:     "q" + strconv.Itoa(i),
				phase:    velero.PhaseQueued,
				position: i + 1,
				total:    -1,
				includes: []string{"ns-" + strconv.Itoa(i)},
			}.job(
				b,
			),
		)
	}
	last := s.Jobs[len(s.Jobs)-1]
	for b.Loop() {
		if Judge(last, s).State() != Waiting {
			b.Fatal("it does not wait")
		}
	}
}
