package restoreform

import (
	"context"
	"slices"
	"time"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/inspect"
	"github.com/veltui/veltui/internal/kubectl"
	"github.com/veltui/veltui/restore/restorespec"
	"github.com/veltui/veltui/ui/keys"
)

// Options say what the form is about and what it works with.
type Options struct {
	// Draft is what the form begins with.
	Draft restorespec.Draft
	// Context is the cluster's name, and Reach how a command gets there.
	Context string
	Reach   kubectl.Reach
	// Previewer tells what the restore would do; nil where nobody can.
	Previewer Previewer
	// Start makes a command of work that ends with the program, or when it is
	// cancelled.
	Start func(func(context.Context) tea.Msg) (tea.Cmd, context.CancelFunc)
	Clock func() time.Time
	// WhyNoClipboard says why nothing can be copied; empty where the terminal may
	// have a clipboard.
	WhyNoClipboard string
	// Back leaves the form.
	Back func() tea.Cmd
}

// row is one line of the form. The last one has no field: it is the command.
type row struct {
	title, hint string
	field       *restorespec.Field // nil for the name and the command
	text        string
	err         error
}

// Form is the screen.
type Form struct {
	options Options
	rows    []row
	focus   int
	input   textinput.Model
	draft   restorespec.Draft
	keys    []keys.Binding
	// assessed is the cluster as it was known last.
	assessed *assess.Assessment

	preview inspect.Preview
	known   bool // preview has been answered once
	// found is what stands in the way; checked is true once that is for what is in the
	// form now, and not for what had been typed before.
	found   inspect.Check
	checked bool
	// asked counts changes, and rested is the last one after which nothing was typed
	// for a while: only the answer to the last change counts. asOf is the state of the
	// backup that was asked about.
	asked, rested int
	asOf          string
	pending       bool
	// flight is the change that a preview is being worked out for, 0 for none, from
	// where it reads; read is where the last preview could read from.
	flight     int
	from, read source
	cancel     context.CancelFunc
	// looking is the change that the cluster is looked at for, 0 for none, and
	// looksFrom the source of that and of found.
	looking    int
	looksFrom  source
	cancelLook context.CancelFunc
	// comparison is the last one, nil for none.
	comparison    *comparison
	cancelCompare context.CancelFunc

	// drawn are the rows as they were drawn last, -1 for a line that is none: from line
	// rowsAt on, rowsWidth wide. firstRow is the first of them.
	drawn                       []int
	rowsAt, rowsWidth, firstRow int
	// zoomed is true while the preview has the whole screen.
	zoomed bool
	// top is the first line of the preview that is shown, of lines, page a time.
	top, lines, page int
	// said answers a key until the next one; changed is true once something was
	// typed, and leaving once esc was pressed after that.
	said             string
	bad              bool
	changed, leaving bool
	// parting is the last command that was copied.
	parting string
}

// saved tells where the YAML is.
type saved struct {
	of   *Form
	path string
	err  error
}

// New opens a form, and asks for its first preview.
func New(o Options, a *assess.Assessment) (*Form, tea.Cmd) {
	input := textinput.New()
	input.Prompt = ""
	styles := input.Styles()
	styles.Cursor.Blink = false // a screen on which nothing happens is silent
	input.SetStyles(styles)
	f := &Form{options: o, input: input, assessed: a, draft: o.Draft}
	f.rows = []row{{title: "Name", hint: "of the new Restore; empty: Velero makes one", text: o.Draft.Restore.Name}}
	for _, field := range restorespec.Fields() {
		text, given := field.Text(&f.draft)
		if !given {
			text = ""
		}
		f.rows = append(f.rows, row{title: field.Title, hint: field.Hint, field: &field, text: text})
	}
	f.rows = append(f.rows, row{title: "Command", hint: "The form ends in this command, or in the YAML as a file."})
	f.keys = f.bindings()
	for i := range f.rows {
		f.check(i)
	}
	start := slices.IndexFunc(f.rows, func(r row) bool { return r.field != nil && r.field.Flag == "include-namespaces" })
	return f, tea.Batch(f.move(start), f.ask())
}

// Load takes the cluster's newest state.
func (f *Form) Load(a *assess.Assessment) {
	if a != nil {
		f.assessed = a
	}
}

// Handles reports whether a message is one to a form.
func Handles(msg tea.Msg) bool {
	switch msg.(type) {
	case paused, previewed, checkEnded, compared, comparing, saved:
		return true
	}
	return false
}

// Update takes a message to a form, and drops late ones.
func (f *Form) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case paused:
		if msg.of == f && msg.asked == f.asked {
			f.rested = f.asked
			return f.start()
		}
	case previewed:
		if msg.of == f && msg.asked == f.flight {
			return f.take(msg.preview)
		}
	case checkEnded:
		if msg.of == f && msg.asked == f.looking {
			return f.looked(msg)
		}
	case compared:
		if msg.by == f.comparison && f.compares() {
			f.takeCompared(msg)
		}
	case comparing:
		if msg.by == f.comparison && f.compares() {
			return msg.by.follow()
		}
	case saved:
		if msg.of == f {
			f.keep(msg)
		}
	}
	return nil
}

// Parting is the command that was copied last, for the user's own terminal; empty
// for none.
func (f *Form) Parting() string { return f.parting }
