package ui

import (
	"context"
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/ui/dialog"
	"github.com/veltui/veltui/ui/draw"
)

type dialogScreen struct {
	base
	*dialog.Dialog
}

func (s *dialogScreen) allows() allowed {
	return allowed{help: s.HasHelp(), quit: s.Stage() != dialog.Typing, suspend: s.Stage() != dialog.Applying}
}

// Takes reports whether a key is not acted on: the stage is deaf, or has no such key.
func (s *dialogScreen) Takes(msg tea.KeyPressMsg, bound bool) bool {
	return s.Swallows() || !bound && msg.Mod != tea.ModAlt
}

func (s *dialogScreen) View(c draw.Canvas) string { return s.ViewOver(c, "") }

func (s *dialogScreen) ViewOver(c draw.Canvas, behind string) string { return s.Dialog.View(c, behind) }

// Close unmarks the settled jobs, and keeps what was done for the exit messages.
func (s *dialogScreen) Close() {
	for _, uid := range s.Settled() {
		delete(s.m.dashboard.marked, s.of.key(string(uid)))
	}
	s.m.parting = append(s.m.parting, s.Parting()...)
}

// Finalizer inspects jobs on which nothing works any more, and moves them on.
type Finalizer interface {
	dialog.Actions
	// Allowed asks the API server whether we may change jobs of a kind; why is empty if so.
	Allowed(ctx context.Context, namespace string, kind job.Kind) (why string, err error)
}

func (m *Model) canChange(c *cluster) bool { return !m.options.ReadOnly && c.Finalizer != nil }

// checkAccess asks the API server what we may change: once for each namespace.
func (m *Model) checkAccess(c *cluster) tea.Cmd {
	if !m.canChange(c) || c.assessed == nil || c.assessed.Snapshot.Namespace == "" {
		return nil
	}
	namespace, finalizer := c.assessed.Snapshot.Namespace, c.Finalizer
	c.rights.About(namespace)
	return c.rights.Ask(c.asker(nil), 0, func(ctx context.Context) (map[job.Kind]string, error) {
		denied := map[job.Kind]string{}
		for _, kind := range []job.Kind{job.Backup, job.Restore} {
			// Without an answer the dialog's own evidence tells.
			if why, err := finalizer.Allowed(ctx, namespace, kind); err == nil {
				denied[kind] = why
			}
		}
		return denied, nil
	})
}

// subjects are the jobs that the finalize key means: the open one, the marked, or the selected.
func (m *Model) subjects() (*cluster, []*job.Job) {
	if s := m.job(); s != nil {
		return s.of, []*job.Job{s.Job()}
	}
	if c, marked := m.dashboard.markedJobs(); len(marked) > 0 {
		return c, marked
	}
	return m.focus(), []*job.Job{m.dashboard.selectedJob()}
}

func (m *Model) openFinalize() tea.Cmd {
	of, jobs := m.subjects()
	o := m.options
	opened, cmd := dialog.Open(dialog.Options{
		Actions: of.Finalizer, Request: of.Request, Jobs: jobs, Context: of.Context, Clock: o.Clock, Keys: o.Keys,
		Readable: m.readable, NoClipboard: o.Terminal.WhyNoClipboard != "", Start: of.sources.Start,
	})
	m.push(&dialogScreen{base{m: m, of: of}, opened})
	return cmd
}

// finalizeUnavailable is why the finalize key can do nothing; the evidence decides the rest.
func (m *Model) finalizeUnavailable() string {
	if m.job() == nil && len(m.dashboard.marked) > 0 {
		return ""
	}
	of, jobs := m.subjects()
	return m.changeUnavailable(of, jobs[0])
}

func (m *Model) changeUnavailable(of *cluster, j *job.Job) string {
	switch {
	case m.options.ReadOnly:
		return "read-only: nothing may be changed (--read-only or VELTUI_READ_ONLY)"
	case of.Finalizer == nil:
		return "this dashboard cannot change anything"
	case j == nil:
		return "no backup or restore is selected"
	case m.job() != nil && m.job().Deleted():
		return j.Name + " has been deleted from the cluster"
	case j.Deleting:
		return j.Name + " is being deleted, so its phase no longer matters"
	case j.Terminal() && !slices.ContainsFunc(j.Volumes, func(v job.Volume) bool { return !v.Ended() }):
		return fmt.Sprintf("%s has ended: %s is a final phase, which Velero never leaves", j.Name, j.Phase)
	}
	return of.rights.Value[j.Kind]
}

// markUnavailable also keeps all marks in one cluster: a dialog is about one.
func (m *Model) markUnavailable() string {
	of, j := m.focus(), m.dashboard.selectedJob()
	why := m.changeUnavailable(of, j)
	other, marked := m.dashboard.markedJobs()
	switch {
	case why != "":
		return why
	case j.Terminal():
		return j.Name + " has ended; unmark the others and press " + m.options.Keys.Key("finalize") + " to see its volumes"
	case len(marked) > 0 && other != of:
		return "the marked jobs are in " + other.Context + ": finalize or unmark those first"
	}
	return ""
}
