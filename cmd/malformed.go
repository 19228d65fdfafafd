package cmd

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/velero/decode"
	"github.com/veltui/veltui/watch"
)

// maxMalformedWarnings is how many malformed resources are named at a time.
const maxMalformedWarnings = 10

// malformedWarnings tells of malformed resources, each once: they are no rows of a list
// of jobs unless they are jobs, and may still be why nothing moves.
type malformedWarnings struct {
	warned map[types.UID]bool
	// where comes before each warning, as "context east: ".
	where string
}

func (w *malformedWarnings) print(c *cli, snap *watch.Snapshot) {
	if w.warned == nil {
		w.warned = map[types.UID]bool{}
	}
	fresh := 0
	for _, m := range snap.Malformed {
		if w.warned[m.UID] {
			continue
		}
		w.warned[m.UID] = true
		if fresh++; fresh <= maxMalformedWarnings {
			fmt.Fprintf(c.streams.ErrOut, "warning: %s\n", sanitize.String(fmt.Sprintf("%s%s: %s; %s", w.where, m.Ref(), m.Fields[0], decode.ServerWarning)))
		}
	}
	if fresh > maxMalformedWarnings {
		fmt.Fprintf(c.streams.ErrOut, "warning: %s%d more resources are malformed; -o json lists them\n", w.where, fresh-maxMalformedWarnings)
	}
}
