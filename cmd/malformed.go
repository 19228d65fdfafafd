package cmd

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/diagnosis"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/velero/decode"
	"github.com/veltui/veltui/watch"
)

// malformedJSON is a field that Velero's types cannot hold.
type malformedJSON struct {
	// Context is the kubeconfig context that leads to the resource's cluster, in a
	// list of jobs.
	Context string `json:"context,omitempty"`
	// Resource is KIND/NAME; it is left out where the field's owner is at hand.
	Resource string `json:"resource,omitempty"`
	Field    string `json:"field"`
	// Value is the value in JSON, shortened.
	Value string `json:"value"`
	Error string `json:"error"`
}

func malformedOf(fields []decode.Malformed) []malformedJSON {
	var out []malformedJSON
	for _, m := range fields {
		out = append(out, malformedJSON{Field: m.Field, Value: m.Value, Error: m.Error})
	}
	return out
}

// malformedResources are all in Velero's namespace, of whatever kind.
func malformedResources(found []diagnosis.Malformed) []malformedJSON {
	var out []malformedJSON
	for _, m := range found {
		out = append(out, malformedJSON{Resource: m.Ref, Field: m.Field.Field, Value: m.Field.Value, Error: m.Field.Error})
	}
	return out
}

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
