package action

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/velero"
)

// finalizeChanges write a plan's phase, and what belongs to it.
func finalizeChanges(p *Plan, o *unstructured.Unstructured, s stamp) (ops []operation, notes [][2]string) {
	if status, _, _ := unstructured.NestedMap(o.Object, "status"); status == nil {
		ops = append(ops, operation{"add", "/status", map[string]any{}})
	}
	ops = append(ops, operation{"add", "/status/phase", p.To})
	for _, f := range p.Set {
		ops = append(ops, operation{"add", "/status/" + f.Name, f.Value})
	}
	if p.Effect() == End {
		at := s.at.UTC().Format(time.RFC3339)
		ops = append(ops,
			operation{"add", "/status/completionTimestamp", at},
			operation{"add", "/status/failureReason", fmt.Sprintf("%s (finalized by %s with veltui at %s)", p.Reason, cmp.Or(s.by, "an unknown user"), at)})
	}
	return ops, [][2]string{{"-from", p.From}, {"-to", p.To}}
}

// observeFinalize checks for at least one sync period whether the phase holds:
// Velero's server may write its own over it, and its backup sync may remove a
// backup that is not in the object store.
func observeFinalize(x *execution, ctx context.Context, late bool) error {
	if err := x.readJob(ctx); err != nil {
		return err
	}
	held, over := x.plan.holds(x.out.Phase)
	switch {
	case !held:
		return x.stop(Reverted, "somebody changed it to %s: a Velero server was still working on it", x.out.Phase)
	case over && x.observed():
		return x.stop(Settled, "it is %s, and stayed so for %s", x.out.Phase, human.Duration(x.f.o.Observe))
	case !over && late:
		return x.stop(Moving, "it is %s; Velero did not end it within %s", x.out.Phase, human.Duration(x.limit()))
	}
	return nil
}

// onward are the phases that Velero goes through after each of its own, up to
// the end.
var onward = []string{velero.PhaseWaiting, velero.PhaseWaitingPartly, velero.PhaseFinalizing, velero.PhaseFinalizingPartly, velero.PhaseCompleted, velero.PhasePartiallyFailed, velero.PhaseFailed}

// holds reports whether a phase is what follows from the plan, and whether it
// is the end.
func (p *Plan) holds(phase string) (held, over bool) {
	if p.Effect() == End {
		return phase == p.To, phase == p.To
	}
	from := slices.Index(onward, p.To)
	// The partly failed form of a phase may follow the plain one, but not the
	// other way round.
	return from >= 0 && slices.Index(onward, phase) >= from, velero.TerminalPhase(phase)
}
