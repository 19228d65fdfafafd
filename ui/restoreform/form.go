package restoreform

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/inspect"
	"github.com/veltui/veltui/internal/kubectl"
	"github.com/veltui/veltui/restore/restorespec"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/ui/keys"
)

// Options say what the form is about and what it works with.
type Options struct {
	// Draft is what the form begins with.
	Draft restorespec.Draft
	// Context is the cluster's name, and Reach how a command gets there.
	Context string
	Reach   kubectl.Reach
	// Previewer tells what the restore would do; nil where that is not known.
	Previewer Previewer
	// Start makes a command of work that ends with the program, or when it is
	// cancelled.
	Start fetch.Start
	Clock func() time.Time
	// WhyNoClipboard says why nothing can be copied; empty where the terminal may
	// have a clipboard.
	WhyNoClipboard string
	// Back leaves the form.
	Back func() tea.Cmd
}

// Previewer works out what a restore would do. What it answers is safe to draw,
// and so are its errors, which are on one line.
type Previewer interface {
	// Preview takes as long as downloading the backup, the first time, and ends
	// with ctx. a is what is known of the cluster, nil for nothing yet.
	Preview(ctx context.Context, d restorespec.Draft, a *assess.Assessment) inspect.Preview
	// Check looks what stands in the way in the live cluster, for a preview that is
	// known. It may take seconds, and ends with ctx.
	Check(ctx context.Context, d restorespec.Draft, p inspect.Preview, a *assess.Assessment) inspect.Check
	// Compare is a Check that also compares what exists with the backup, which it
	// downloads once more. far is told how far that is, in a few words, by any
	// goroutine.
	Compare(ctx context.Context, d restorespec.Draft, p inspect.Preview, a *assess.Assessment, far func(string)) (inspect.Check, error)
	// Save writes a new file and says where it is, also if it holds data already. It
	// never replaces another: that error is ErrExists.
	Save(name string, data []byte) (path string, err error)
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

	// preview is the last one that was answered, and previewed the question.
	preview   inspect.Preview
	previewed asked[inspect.Preview]
	// found is what stands in the way; checked is true once that is for what is in the
	// form now, and not for what had been typed before.
	found   asked[inspect.Check]
	checked bool
	// changes counts changes, and pause is that after the last: only the answer to the
	// last change counts. asOf is the state of the backup that was asked about.
	changes int
	pause   fetch.Pause
	asOf    string
	pending bool
	// read is where the last preview could read from.
	read source
	// comparison is the last one, nil for none.
	comparison *comparison
	saved      fetch.Answer[string]

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

// New opens a form, and asks for its first preview.
func New(o Options, a *assess.Assessment) (*Form, tea.Cmd) {
	f := &Form{options: o, input: keys.Field(), assessed: a, draft: o.Draft}
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

// Parting is the command that was copied last, for the user's own terminal; empty
// for none.
func (f *Form) Parting() string { return f.parting }

// Name is the default name of a restore, as Velero makes it; cut where the API server
// would not take it whole, and empty where there is nothing to name it after.
func Name(from string, now time.Time) string {
	if from == "" {
		return ""
	}
	end := "-" + now.Format("20060102150405")
	return strings.TrimRight(from[:min(len(from), validation.DNS1123SubdomainMaxLength-len(end))], "-.") + end
}

// From is a draft of a restore of a backup.
func From(backup string, now time.Time) restorespec.Draft {
	var d restorespec.Draft
	d.Restore.Name, d.Restore.Spec.BackupName = Name(backup, now), backup
	return d
}

// Again is a draft of another restore like one that there was.
func Again(r *velerov1.Restore, now time.Time) restorespec.Draft {
	d := restorespec.Again(r)
	d.Restore.Name = Name(cmp.Or(d.Restore.Spec.BackupName, d.Restore.Spec.ScheduleName), now)
	return d
}
