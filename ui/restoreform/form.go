package restoreform

import (
	"cmp"
	"slices"
	"time"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/kubectl"
	"github.com/veltui/veltui/internal/restore/restorespec"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/ui/keys"
)

type Options struct {
	Draft          restorespec.Draft // what the form begins with
	Context        string            // the cluster's name
	Reach          kubectl.Reach     // how a command gets there
	Inspector      cluster.Inspector
	Start          fetch.Start // makes a command of work that ends with the program
	Clock          func() time.Time
	Keys           keys.Map       // those that sentences name
	WhyNoClipboard string         // says why nothing can be copied; empty if something can
	Back           func() tea.Cmd // leaves the form
	// Create leads to the creation of the restore, with what was found of its consequences; WhyNotCreate says
	// why it cannot.
	Create       func(d restorespec.Draft, consequences []string) tea.Cmd
	WhyNotCreate string
}

// row is one line of the form. The last one has no field: it is the command.
type row struct {
	title, hint string
	field       *restorespec.Field // nil for the name and the command
	text        string
	err         error
}

type Form struct {
	options  Options
	rows     []row
	focus    int
	input    textinput.Model
	draft    restorespec.Draft
	keys     []keys.Binding
	assessed *assess.Assessment

	preview    cluster.Preview // the last one that was answered
	previewed  asked[cluster.Preview]
	found      asked[cluster.Check] // what stands in the way
	checked    bool                 // found is of the present form
	changes    int                  // only the answer to the last one counts
	pause      fetch.Pause          // after a change
	asOf       string               // the backup's state at the last change
	pending    bool
	read       source // where the last preview could read from
	comparison *comparison
	undried    int // the change whose restore may be created without a dry run
	// carriedOut says which object a dry run of this form stored, and how to remove it; empty if none did. Nothing more
	// is sent from this form then.
	carriedOut string
	saved      fetch.Answer[string]

	// drawn are the rows in the lines from rowsAt on, -1 for none, and firstRow is the first.
	drawn                       []int
	rowsAt, rowsWidth, firstRow int
	zoomed                      bool
	// top is the first line of the preview that is shown, of lines, page a time.
	top, lines, page int
	// said answers a key; changed is true once something was typed, leaving after esc then.
	said             string
	bad              bool
	changed, leaving bool
	parting          string
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
	start := slices.IndexFunc(
		f.rows,
		func(r row) bool { return r.field != nil && r.field.Flag == "include-namespaces" },
	)
	return f, tea.Batch(f.move(start), f.ask())
}

func (f *Form) Load(a *assess.Assessment) {
	if a != nil {
		f.assessed = a
	}
}

// Parting is the last copied command, for the user's own terminal.
func (f *Form) Parting() string { return f.parting }

func From(backup string, now time.Time) restorespec.Draft {
	var d restorespec.Draft
	d.Restore.Name, d.Restore.Spec.BackupName = restorespec.Name(backup, now), backup
	return d
}

// Again is a draft of another restore like one that there was.
func Again(r *velerov1.Restore, now time.Time) restorespec.Draft {
	d := restorespec.Again(r)
	d.Restore.Name = restorespec.Name(cmp.Or(d.Restore.Spec.BackupName, d.Restore.Spec.ScheduleName), now)
	return d
}
