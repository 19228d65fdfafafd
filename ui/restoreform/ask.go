package restoreform

import (
	"context"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/inspect"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/restore/restorespec"
)

// pause is how long nothing must be typed before the preview is worked out anew.
const pause = 250 * time.Millisecond

// source is what decides which backup is read.
type source struct {
	backup, schedule string
	partial          bool
}

// paused tells that nothing was typed for a while.
type paused struct {
	of    *Form
	asked int
}

// previewed brings what the restore would do.
type previewed struct {
	of      *Form
	asked   int
	preview inspect.Preview
}

// checkEnded tells what stands in the way.
type checkEnded struct {
	of    *Form
	asked int
	check inspect.Check
}

func (f *Form) source() source {
	spec := &f.draft.Restore.Spec
	return source{spec.BackupName, spec.ScheduleName, f.draft.AllowPartiallyFailed != nil && *f.draft.AllowPartiallyFailed}
}

// Ask asks again once the backup, or one of the schedule, is another than it was: it
// has ended, say, or is being deleted.
func (f *Form) Ask() tea.Cmd {
	if state := f.sourceState(); state != f.asOf {
		return f.ask()
	}
	return nil
}

// sourceState is what decides whether Velero would take a backup, and which.
func (f *Form) sourceState() string {
	if f.assessed == nil {
		return ""
	}
	var state strings.Builder
	from := f.source()
	for _, j := range f.assessed.Snapshot.Jobs {
		if j.Kind == job.Backup && (j.Name == from.backup || from.schedule != "" && j.ScheduleName == from.schedule) {
			fmt.Fprintln(&state, j.Name, j.Phase, j.Deleting, j.StorageLocation)
		}
	}
	for _, l := range f.assessed.Snapshot.Locations {
		fmt.Fprintln(&state, l.Name, l.Status.Phase)
	}
	return state.String()
}

// ask works the preview out anew once nothing is typed for a moment. The first look
// into a backup takes as long as its download, so that goes on: each of its answers
// needs it. So does a look at the cluster: the next one needs most of what it lists.
func (f *Form) ask() tea.Cmd {
	from := f.source()
	if f.flight == 0 || f.from != from || f.read == f.from {
		f.stop(&f.cancel)
		f.flight = 0
	}
	if f.looksFrom != from {
		f.stop(&f.cancelLook)
		f.looking, f.looksFrom, f.found = 0, from, inspect.Check{}
	}
	f.asked, f.asOf = f.asked+1, f.sourceState()
	f.pending, f.checked = f.options.Previewer != nil, false
	f.outdate()
	of := paused{f, f.asked}
	return tea.Tick(pause, func(time.Time) tea.Msg { return of })
}

func (f *Form) stop(cancel *context.CancelFunc) {
	if *cancel != nil {
		(*cancel)()
	}
	*cancel = nil
}

// Close withdraws what was asked for.
func (f *Form) Close() {
	f.stop(&f.cancel)
	f.stop(&f.cancelLook)
	f.stop(&f.cancelCompare)
}

func (f *Form) start() tea.Cmd {
	if f.options.Previewer == nil || len(f.wrong()) > 0 {
		f.pending = false
		return nil
	}
	if f.flight != 0 {
		return nil // its answer starts this one
	}
	f.flight, f.from = f.asked, f.source()
	draft, asked, a := restorespec.Draft{Restore: *f.draft.Restore.DeepCopy(), AllowPartiallyFailed: f.draft.AllowPartiallyFailed}, f.asked, f.assessed
	cmd, cancel := f.options.Start(func(ctx context.Context) tea.Msg {
		return previewed{f, asked, f.options.Previewer.Preview(ctx, draft, a)}
	})
	f.cancel = cancel
	return cmd
}

// take takes the answer. If something was typed meanwhile it tells what is in the
// backup, and the next question follows.
func (f *Form) take(answer inspect.Preview) tea.Cmd {
	late := f.flight != f.asked
	f.preview, f.known, f.flight, f.read = answer, true, 0, source{}
	if answer.Unknown == "" {
		f.read = f.from
	}
	switch {
	case !late:
		f.pending = false
		return f.look()
	case f.rested == f.asked:
		return f.start()
	}
	return nil // more is being typed
}

// look asks what stands in the way of what would be restored. One look runs at a time:
// the end of the one that runs starts the next.
func (f *Form) look() tea.Cmd {
	if f.preview.Backup == "" || len(f.refused()) > 0 {
		f.found, f.checked = inspect.Check{}, true // there is nothing to look at
		return nil
	}
	if f.looking != 0 {
		return nil
	}
	f.looking = f.asked
	draft, asked, preview, a := restorespec.Draft{Restore: *f.draft.Restore.DeepCopy()}, f.asked, f.preview, f.assessed
	cmd, cancel := f.options.Start(func(ctx context.Context) tea.Msg {
		return checkEnded{f, asked, f.options.Previewer.Check(ctx, draft, preview, a)}
	})
	f.cancelLook = cancel
	return cmd
}

// looked takes what a look found. If something was typed meanwhile it is for what had
// been typed before, and the next look follows.
func (f *Form) looked(msg checkEnded) tea.Cmd {
	f.looking, f.found, f.checked = 0, msg.check, msg.asked == f.asked
	if f.checked || f.pending || len(f.wrong()) > 0 {
		return nil
	}
	return f.look()
}
