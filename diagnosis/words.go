package diagnosis

import (
	"strings"

	"github.com/veltui/veltui/job"
)

// word is a kind in a sentence.
func word(k job.Kind) string { return strings.ToLower(string(k)) }
