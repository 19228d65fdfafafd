package diagnosis

import (
	"strings"
	"time"

	"github.com/veltui/veltui/job"
)

// word is a kind in a sentence.
func word(k job.Kind) string { return strings.ToLower(string(k)) }

func latest(times ...time.Time) time.Time {
	var newest time.Time
	for _, t := range times {
		if t.After(newest) {
			newest = t
		}
	}
	return newest
}
