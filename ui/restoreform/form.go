package restoreform

import (
	"cmp"
	"context"
	"slices"
	"time"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/kubectl"
	"github.com/veltui/veltui/internal/restore/restorespec"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/ui/keys"
)

// Backend previews a restore and checks it against the cluster.
type Backend interface {
	// UnavailableReason says why what a part answers is not asked, empty if it is.
	UnavailableReason(p cluster.Capability) string
	PreviewRestore(ctx context.Context, d restorespec.Draft, a *assess.Assessment) cluster.Preview
	CheckRestore(
		ctx context.Context,
		d restorespec.Draft,
		p cluster.Preview,
		a *assess.Assessment,
	) cluster.CheckResult
	CompareRestore(
		ctx context.Context,
		d restorespec.Draft,
		p cluster.Preview,
		a *assess.Assessment,
		far func(string),
	) (cluster.CheckResult, error)
	DryRunRestore(
		ctx context.Context,
		d restorespec.Draft,
		p cluster.Preview,
		a *assess.Assessment,
		secrets bool,
		far func(string),
	) (cluster.CheckResult, error)
	SaveFile(path string, data []byte) (saved string, err error) // as a new file
}

type Options struct {
	Draft                restorespec.Draft     // the initial draft
	Context              string                // the cluster's name
	ClusterAccess        kubectl.ClusterAccess // how a command gets there
	Backend              Backend
	Start                fetch.StartFunc // makes a command of work that ends with the program
	Clock                func() time.Time
	Keys                 keys.Overrides // the keys that sentences name
	ClipboardUnavailable string         // why nothing can be copied; empty if copying is possible
	OnBack               func() tea.Cmd // closes the form
	// OnCreate proceeds to the creation of the restore, with its known consequences; CreateUnavailable is why that is
	// impossible, empty if it is possible.
	OnCreate          func(d restorespec.Draft, consequences []string) tea.Cmd
	CreateUnavailable string
}

// formRow is one line of the form. The last row has no field: it is the command.
type formRow struct {
	title, hint string
	field       *restorespec.FlagSpec // nil for the name and the command
	text        string
	err         error
}

type Form struct {
	options      Options
	rows         []formRow
	focusedIndex int
	input        textinput.Model
	draft        restorespec.Draft
	keyBindings  []keys.Binding
	assessment   *assess.Assessment

	previewAnswer          fetch.Answer[wordedPreview]
	checkAnswer            fetch.Answer[cluster.CheckResult] // the obstacles
	checkedSource          previewSource                     // what checkAnswer is about
	changeNumber           int                               // only the answer to the last change counts
	debounce               fetch.Debouncer                   // after a change
	lastSourceState        string                            // the backup's state at the last change
	closerCheck            *closerCheck
	confirmedWithoutDryRun int // the change whose restore may be created without a dry run
	// carriedOutText says which object a dry run of this form stored, and how to remove it; empty if none did. Once it
	// is set, the form sends no more requests that write.
	carriedOutText string
	saveAnswer     fetch.Answer[string]

	// rowAtLine are the rows in the lines from firstRowLine on, -1 for a line without a row. firstRow is the first row.
	rowAtLine                         []int
	firstRowLine, rowsWidth, firstRow int
	isZoomed                          bool
	// scrollTop is the first visible line of the preview, which has lineCount lines, of which pageHeight are visible.
	scrollTop, lineCount, pageHeight int
	// message answers a key. isEdited is true once something was typed, and askedToDiscard once esc has asked whether to
	// discard it.
	message                  string
	isWarning                bool
	isEdited, askedToDiscard bool
	copiedCommand            string
}

// New opens a form, and requests its first preview.
func New(o Options, a *assess.Assessment) (*Form, tea.Cmd) {
	f := &Form{options: o, input: keys.NewTextField(), assessment: a, draft: o.Draft}
	f.rows = []formRow{{title: "Name", hint: "of the new Restore; empty: Velero makes one", text: o.Draft.Restore.Name}}
	for _, field := range restorespec.FlagSpecs() {
		text, given := field.ValueText(&f.draft)
		if !given {
			text = ""
		}
		f.rows = append(f.rows, formRow{title: field.Title, hint: field.Hint, field: &field, text: text})
	}
	f.rows = append(f.rows, formRow{title: "Command", hint: "The form ends in this command, or in the YAML as a file."})
	f.keyBindings = f.newBindings()
	for i := range f.rows {
		f.readRow(i)
	}
	start := slices.IndexFunc(
		f.rows,
		func(r formRow) bool { return r.field != nil && r.field.Flag == "include-namespaces" },
	)
	return f, tea.Batch(f.focusRow(start), f.schedulePreview())
}

func (f *Form) SetAssessment(a *assess.Assessment) {
	if a != nil {
		f.assessment = a
	}
}

// RestoreName returns the name of the restore in the form, empty if Velero is to make one.
func (f *Form) RestoreName() string { return f.draft.Restore.Name }

// ExitMessage returns the last copied command, for the user's own terminal.
func (f *Form) ExitMessage() string { return f.copiedCommand }

func NewDraft(backup string, now time.Time) restorespec.Draft {
	var d restorespec.Draft
	d.Restore.Name, d.Restore.Spec.BackupName = restorespec.DefaultName(backup, now), backup
	return d
}

// NewDraftLike returns a draft of a new restore with the settings of an existing one.
func NewDraftLike(r *veleroapi.Restore, now time.Time) restorespec.Draft {
	d := restorespec.NewDraftFrom(r)
	d.Restore.Name = restorespec.DefaultName(cmp.Or(d.Restore.Spec.BackupName, d.Restore.Spec.ScheduleName), now)
	return d
}
