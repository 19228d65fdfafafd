package restoreform

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/human"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/kubectl"
	"github.com/veltui/veltui/restorespec"
	"github.com/veltui/veltui/ui/keys"
	"github.com/veltui/veltui/velero"
)

// pause is how long nothing must be typed before the preview is worked out anew.
const pause = 250 * time.Millisecond

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

	preview Preview
	known   bool // preview has been answered once
	// found is what stands in the way of what preview is about; checked once that
	// is known.
	found   Check
	checked bool
	// asked counts changes, and rested is the last one after which nothing was typed
	// for a while: only the answer to the last change counts.
	asked, rested int
	pending       bool
	cancel        context.CancelFunc
	// flight is the change that a preview is being worked out for, 0 for none, from
	// where it reads; read is where the last preview could read from.
	flight     int
	from, read source

	// rowsAt is where the rows were drawn last: as many as shownRows from firstRow
	// on, rowsWidth wide.
	rowsAt, firstRow, shownRows, rowsWidth int
	// top is the first line of the preview that is shown, of lines, page a time.
	top, lines, page int
	// said answers a key until the next one; changed is true once something was
	// typed, and leaving once esc was pressed after that.
	said             string
	bad              bool
	changed, leaving bool
	// parting is the last command that was copied, files the path of each text that
	// was saved.
	parting string
	files   map[string]string
}

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
	preview Preview
}

// checkEnded tells what stands in the way.
type checkEnded struct {
	of    *Form
	asked int
	check Check
}

// saved tells where the YAML is.
type saved struct {
	of         *Form
	text, path string
	err        error
}

// New opens a form, and asks for its first preview.
func New(o Options, a *assess.Assessment) (*Form, tea.Cmd) {
	input := textinput.New()
	input.Prompt = ""
	styles := input.Styles()
	styles.Cursor.Blink = false // a screen on which nothing happens is silent
	input.SetStyles(styles)
	f := &Form{options: o, input: input, assessed: a, draft: o.Draft, files: map[string]string{}}
	f.rows = []row{{title: "Name", hint: "of the new Restore; empty: Velero makes one", text: o.Draft.Restore.Name}}
	for _, field := range restorespec.Fields() {
		text, given := field.Text(&f.draft)
		if !given {
			text = ""
		}
		f.rows = append(f.rows, row{title: field.Title, hint: field.Hint, field: &field, text: text})
	}
	f.rows = append(f.rows, row{title: "Command"})
	f.keys = f.bindings()
	for i := range f.rows {
		f.check(i)
	}
	start := slices.IndexFunc(f.rows, func(r row) bool { return r.field != nil && r.field.Flag == "include-namespaces" })
	return f, tea.Batch(f.move(start), f.ask())
}

// Load takes the cluster's newest state. A form asks no question of its own then.
func (f *Form) Load(a *assess.Assessment) {
	if a != nil {
		f.assessed = a
	}
}

// Handles reports whether a message is one to a form.
func Handles(msg tea.Msg) bool {
	switch msg.(type) {
	case paused, previewed, checkEnded, saved:
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
		if msg.of == f && msg.asked == f.asked {
			f.found, f.checked = msg.check, true
		}
	case saved:
		if msg.of == f {
			f.keep(msg)
		}
	}
	return nil
}

// keep says where a file is. One that holds this very text already is the one that
// was asked for.
func (f *Form) keep(msg saved) {
	if path, there := f.files[msg.text]; there && errors.Is(msg.err, ErrExists) {
		msg.path, msg.err = path, nil
	}
	if msg.err != nil {
		f.say(true, "Not saved: "+msg.err.Error()+".")
		return
	}
	f.files[msg.text] = msg.path
	text := "Saved to " + msg.path + "."
	if len(f.refused()) == 0 {
		text += " To restore: " + f.options.Reach.Kubectl("", "create", "-f", msg.path)
	}
	f.tell(text)
}

// say answers a key. What esc asked is no longer asked then.
func (f *Form) say(bad bool, text string) { f.said, f.bad, f.leaving = text, bad, false }

// tell says what was done with the restore, and the first reason why Velero would
// refuse it.
func (f *Form) tell(text string) {
	refused := f.refused()
	if len(refused) > 0 {
		text += " Velero would refuse it: " + refused[0]
	}
	f.say(len(refused) > 0, text)
}

// Close withdraws what was asked for.
func (f *Form) Close() {
	if f.cancel != nil {
		f.cancel()
	}
}

// Parting is the command that was copied last, for the user's own terminal; empty
// for none.
func (f *Form) Parting() string { return f.parting }

// Typing reports whether letters go into a field.
func (f *Form) Typing() bool { return f.focus < len(f.rows)-1 }

// edits are the keys that edit a field. Some terminals send ctrl+h for backspace.
var edits = []string{
	"backspace", "delete", "left", "right", "home", "end", "ctrl+a", "ctrl+d", "ctrl+e", "ctrl+h", "ctrl+k", "ctrl+u", "ctrl+w", "ctrl+left", "ctrl+right",
	"alt+b", "alt+d", "alt+f", "alt+backspace", "alt+delete", "alt+left", "alt+right",
}

// Takes reports whether a key is one for the field: a letter, or one that edits.
func (f *Form) Takes(msg tea.KeyPressMsg) bool {
	if !f.Typing() {
		return false
	}
	if msg.Text != "" {
		return true
	}
	return slices.Contains(edits, msg.String())
}

// Type takes a key or pasted text into the field.
func (f *Form) Type(msg tea.Msg) tea.Cmd {
	f.settle()
	if !f.Typing() {
		return nil
	}
	if paste, ok := msg.(tea.PasteMsg); ok {
		paste.Content = strings.Join(strings.Fields(paste.Content), " ")
		msg = paste
	}
	before := f.input.Value()
	var cmd tea.Cmd
	f.input, cmd = f.input.Update(msg)
	if f.input.Value() == before {
		return cmd
	}
	return tea.Batch(cmd, f.typed())
}

// settle ends what the last key led to.
func (f *Form) settle() { f.said, f.leaving = "", false }

// typed reads what is in the field now.
func (f *Form) typed() tea.Cmd {
	f.rows[f.focus].text, f.changed = f.input.Value(), true
	f.check(f.focus)
	return f.ask()
}

// check reads one row into the draft. A field that cannot be read is not set.
func (f *Form) check(at int) {
	r := &f.rows[at]
	switch {
	case r.field == nil && at == 0:
		f.draft.Restore.Name = strings.TrimSpace(r.text)
		r.err = nameError(f.draft.Restore.Name)
	case r.field != nil:
		r.field.Clear(&f.draft)
		if text := r.field.Tidy(r.text); text != "" {
			if r.err = r.field.Set(&f.draft, text); r.err == nil {
				r.err = r.field.Check(&f.draft)
			}
			if r.err != nil {
				r.field.Clear(&f.draft)
			}
		} else {
			r.err = nil
		}
	}
}

// nameError says why the API server would not take a Restore with a name.
func nameError(name string) error {
	if name == "" {
		return nil
	}
	if why := validation.IsDNS1123Subdomain(name); len(why) > 0 {
		return errors.New("a name has only lower-case letters, digits, '-' and '.', begins and ends with a letter or digit, and has at most 253 characters")
	}
	return nil
}

// ask works the preview out anew once nothing is typed for a moment. The first look
// into a backup takes as long as its download, so that goes on: each of its answers
// needs it.
func (f *Form) ask() tea.Cmd {
	if f.flight == 0 || f.from != f.source() || f.read == f.from {
		f.Close()
		f.flight = 0
	}
	f.asked++
	f.pending, f.found, f.checked = f.options.Previewer != nil, Check{}, false
	of := paused{f, f.asked}
	return tea.Tick(pause, func(time.Time) tea.Msg { return of })
}

func (f *Form) source() source {
	spec := &f.draft.Restore.Spec
	return source{spec.BackupName, spec.ScheduleName, f.draft.AllowPartiallyFailed != nil && *f.draft.AllowPartiallyFailed}
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
func (f *Form) take(answer Preview) tea.Cmd {
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

// look asks what stands in the way of what would be restored.
func (f *Form) look() tea.Cmd {
	if f.preview.Unknown != "" || len(f.refused()) > 0 {
		return nil
	}
	draft, asked, preview, a := restorespec.Draft{Restore: *f.draft.Restore.DeepCopy()}, f.asked, f.preview, f.assessed
	cmd, cancel := f.options.Start(func(ctx context.Context) tea.Msg {
		return checkEnded{f, asked, f.options.Previewer.Check(ctx, draft, preview, a)}
	})
	f.cancel = cancel
	return cmd
}

// wrong are the titles of the rows that cannot be read.
func (f *Form) wrong() []string {
	var titles []string
	for i := range f.rows {
		if f.rows[i].err != nil {
			titles = append(titles, strings.TrimSpace(f.rows[i].title))
		}
	}
	return titles
}

// refused is why neither Velero nor the API server would take the restore.
func (f *Form) refused() []string {
	var all []string
	spec := &f.draft.Restore.Spec
	switch {
	case spec.BackupName != "" && spec.ScheduleName != "":
		all = append(all, "Give a backup or a schedule, not both.")
	case spec.BackupName == "" && spec.ScheduleName == "":
		all = append(all, "Give a backup or a schedule to restore from.")
	}
	if f.assessed != nil {
		for _, j := range f.assessed.Snapshot.Jobs {
			if j.Kind == job.Restore && j.Name == f.draft.Restore.Name {
				all = append(all, fmt.Sprintf("There is a restore %s already: choose another name.", j.Name))
			}
		}
	}
	for _, why := range f.preview.Refused {
		if !f.pending && !slices.Contains(all, why) {
			all = append(all, why)
		}
	}
	return all
}

// namespace is Velero's.
func (f *Form) namespace() string {
	if f.assessed == nil || f.assessed.Snapshot.Namespace == "" {
		return "velero"
	}
	return f.assessed.Snapshot.Namespace
}

// command is the equivalent command, and what it cannot say.
func (f *Form) command() (line string, unsaid []string) {
	words, unsaid := f.draft.Words()
	line, flags := f.options.Reach.Velero(f.namespace(), words...)
	return line, append(unsaid, flags...)
}

// older says what the command of the server's version lacks, and what the server
// ignores.
func (f *Form) older() string {
	if f.assessed == nil {
		return ""
	}
	name := f.assessed.Snapshot.Server.Version
	v, known := velero.ParseVersion(name)
	var lacks, ignores []string
	for _, field := range f.draft.Given() {
		if known && !field.HasFlag(v) {
			lacks = append(lacks, "--"+field.Flag)
		}
		if known && !field.IsRead(v) {
			ignores = append(ignores, "--"+field.Flag)
		}
	}
	switch {
	case len(lacks) == 0:
		return ""
	case len(ignores) > 0:
		return fmt.Sprintf("The command of Velero %s lacks %s. Its server ignores %s.", name, human.List(lacks, 5), human.List(ignores, 5))
	}
	return fmt.Sprintf("The command of Velero %s lacks %s. Use the YAML, or a newer command.", name, human.List(lacks, 5))
}

// yaml is the Restore as a file. It needs a name.
func (f *Form) yaml() (string, error) {
	d := f.draft
	if d.Restore.Name == "" {
		return "", errors.New("a file needs a name for the Restore: fill in Name")
	}
	if d.AllowPartiallyFailed != nil && *d.AllowPartiallyFailed && d.Restore.Spec.ScheduleName != "" {
		if f.pending || f.preview.Backup == "" {
			return "", errors.New("a Restore cannot say --allow-partially-failed, and the newest backup of the schedule is not known")
		}
		// So does the command (pkg/cmd/cli/restore/create.go, Run).
		d.Restore.Spec.BackupName, d.Restore.Spec.ScheduleName = f.preview.Backup, ""
	}
	data, err := d.YAML(f.namespace())
	return string(data), err
}

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
	from := d.Restore.Spec.BackupName
	if from == "" {
		from = d.Restore.Spec.ScheduleName
	}
	d.Restore.Name = Name(from, now)
	return d
}
