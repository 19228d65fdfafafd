package ui

import (
	"context"
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/finalize"
	"github.com/veltui/veltui/job"
)

// Finalizer looks into jobs that nobody works on any more, and moves them on.
// Whatever it answers is safe to draw. Its methods end with ctx.
type Finalizer interface {
	// Allowed asks the API server whether we may change jobs of a kind; why
	// says why not, and is empty if we may.
	Allowed(ctx context.Context, namespace string, kind job.Kind) (why string, err error)
	// Gather reads all that a plan for one job stands on. It may take minutes.
	Gather(ctx context.Context, namespace string, kind job.Kind, name string) (finalize.Evidence, error)
	// Apply applies a plan, as [finalize.Engine.Apply] does.
	Apply(ctx context.Context, plan finalize.Plan, dryRun bool, report func(finalize.Progress)) (finalize.Outcome, error)
}

// finalizing is what the dialog works with: the ways to the Finalizer, as
// commands, and the number of the last question, by which late answers are
// known.
type finalizing struct {
	clock       func() time.Time
	contextName string
	request     finalize.Request
	number      int
	// allowed, gather and start are nil where nothing may be changed.
	allowed func(namespace string) tea.Cmd
	gather  func(number int, t target) (tea.Cmd, context.CancelFunc)
	start   func(number int, t target, c choice, dryRun bool) (*run, tea.Cmd)
}

func newFinalizing(ctx context.Context, o Options) *finalizing {
	f := &finalizing{clock: o.Clock, contextName: o.Context, request: o.Request}
	if o.ReadOnly || o.Finalizer == nil {
		return f
	}
	f.allowed = func(namespace string) tea.Cmd {
		return guarded(func() tea.Msg {
			answered := rightsAnswered{namespace: namespace, why: map[job.Kind]string{}}
			for _, kind := range []job.Kind{job.Backup, job.Restore} {
				// Without an answer the dialog's own look tells.
				if why, err := o.Finalizer.Allowed(ctx, namespace, kind); err == nil {
					answered.why[kind] = why
				}
			}
			return answered
		})
	}
	f.gather = func(number int, t target) (tea.Cmd, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)
		return guarded(func() tea.Msg {
			evidence, err := o.Finalizer.Gather(ctx, t.namespace, t.kind, t.name)
			return evidenceGathered{number, evidence, err}
		}), cancel
	}
	f.start = func(number int, t target, c choice, dryRun bool) (*run, tea.Cmd) {
		ctx, cancel := context.WithCancelCause(ctx)
		r := newRun(number, t, c, dryRun, cancel, o.Clock())
		return r, tea.Batch(r.news(), guarded(func() tea.Msg { return r.execute(ctx, o.Finalizer, o.Clock) }))
	}
	return f
}

// rights are what the API server said about what we may change.
type rights struct {
	namespace string
	asking    bool
	why       map[job.Kind]string
}

// askRights asks once for each namespace.
func (m *Model) askRights() tea.Cmd {
	if m.finalizing.allowed == nil || m.digest == nil || m.digest.snap.Namespace == "" || m.digest.snap.Namespace == m.rights.namespace {
		return nil
	}
	return m.askRightsAgain()
}

// askRightsAgain asks anew: a right may have been given meanwhile.
func (m *Model) askRightsAgain() tea.Cmd {
	if m.finalizing.allowed == nil || m.digest == nil || m.rights.asking {
		return nil
	}
	namespace := m.digest.snap.Namespace
	if namespace != m.rights.namespace {
		m.rights = rights{namespace: namespace}
	}
	m.rights.asking = true
	return m.finalizing.allowed(namespace)
}

func (m *Model) takeRights(answered rightsAnswered) {
	if answered.namespace == m.rights.namespace {
		m.rights.asking, m.rights.why = false, answered.why
	}
}

// whyNotFinalize says why a job cannot be finalized from here, and is empty if
// it may be looked into. The evidence decides about the rest.
func (m *Model) whyNotFinalize(j *job.Job) string {
	switch {
	case m.options.ReadOnly:
		return "read-only: nothing may be changed (--read-only or VELTUI_READ_ONLY)"
	case m.finalizing.gather == nil:
		return "this dashboard cannot change anything"
	case j == nil:
		return "no backup or restore is selected"
	case m.job != nil && m.job.deleted:
		return j.Name + " is deleted from the cluster"
	case j.Deleting:
		return j.Name + " is being deleted, which is no matter of its phase"
	case j.Terminal() && !slices.ContainsFunc(j.Volumes, func(v job.Volume) bool { return !v.Ended() }):
		return fmt.Sprintf("%s has ended: %s is a final phase, which Velero never leaves", j.Name, j.Phase)
	case m.rights.why[j.Kind] != "":
		return m.rights.why[j.Kind]
	}
	return ""
}

// finalizable is the job that the finalize key means: the open one, or the one
// under the cursor.
func (m *Model) finalizable() *job.Job {
	if m.job != nil {
		return m.job.last
	}
	return m.dashboard.selectedJob()
}
