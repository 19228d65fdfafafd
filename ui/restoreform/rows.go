package restoreform

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/restorespec"
	"github.com/veltui/veltui/internal/sanitize"
)

func (f *Form) Typing() bool { return !f.zoomed && f.focus < len(f.rows)-1 }

// edits are the keys that edit a field. Some terminals send ctrl+h for backspace.
var edits = []string{
	"backspace",
	"delete",
	"left",
	"right",
	"home",
	"end",
	"ctrl+a",
	"ctrl+d",
	"ctrl+e",
	"ctrl+h",
	"ctrl+k",
	"ctrl+u",
	"ctrl+w",
	"ctrl+left",
	"ctrl+right",
	"alt+b",
	"alt+d",
	"alt+f",
	"alt+backspace",
	"alt+delete",
	"alt+left",
	"alt+right",
}

// Takes reports whether a key is one for the field: a letter, or one that edits.
func (f *Form) Takes(msg tea.KeyPressMsg) bool {
	return f.Typing() && (msg.Text != "" || slices.Contains(edits, msg.String()))
}

func (f *Form) Type(msg tea.Msg) tea.Cmd {
	f.settle()
	if !f.Typing() {
		return nil
	}
	if paste, ok := msg.(tea.PasteMsg); ok {
		paste.Content = f.rows[f.focus].pasted(paste.Content)
		msg = paste
	}
	before := f.input.Value()
	var cmd tea.Cmd
	f.input, cmd = f.input.Update(msg)
	if safe := sanitize.Whole(f.input.Value()); safe != f.input.Value() {
		f.input.SetValue(safe)
		f.input.CursorEnd()
	}
	if f.input.Value() == before {
		return cmd
	}
	return tea.Batch(cmd, f.typed())
}

// pasted is pasted text on one line: names on lines of their own become a list.
func (r *row) pasted(text string) string {
	between := " "
	if r.field != nil && r.field.Many && r.field.Completes != restorespec.Labels {
		between = ","
	}
	var lines []string
	// Terminals send a carriage return for each end of a line.
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, between)
}

func (f *Form) settle() { f.said, f.leaving = "", false }

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
		if r.err = nil; f.draft.Restore.Name != "" {
			r.err = restorespec.CheckName(f.draft.Restore.Name)
		}
	case r.field != nil:
		r.err = nil
		r.field.Clear(&f.draft)
		if text := r.field.Tidy(r.text); text != "" {
			if r.err = r.field.Set(&f.draft, text); r.err == nil {
				r.err = r.field.Check(&f.draft)
			}
		}
		if r.err != nil {
			r.field.Clear(&f.draft)
		}
	}
}

// name is the title of a row, with that of the row above where it belongs to it.
func (f *Form) name(at int) string {
	title := f.rows[at].title
	if own := strings.TrimSpace(title); own != title && at > 0 {
		of := at - 1
		for strings.HasPrefix(f.rows[of].title, " ") {
			of--
		}
		if f.rows[of].field != nil && f.rows[of].field.Flag != "namespace-mappings" {
			return f.rows[of].title + " " + own
		}
	}
	return title
}

// odd is what is wrong with a readable field because of others; refused if Velero refuses it.
func (f *Form) odd(at int) (text string, refused bool) {
	r, spec := &f.rows[at], &f.draft.Restore.Spec
	switch {
	case at == 0 && f.taken():
		return "There is a restore of this name already.", true
	case r.field == nil || strings.TrimSpace(r.text) == "" || r.err != nil:
		return "", false
	}
	switch r.field.Flag {
	case "from-backup", "from-schedule":
		if spec.BackupName != "" && spec.ScheduleName != "" {
			return "Give a backup or a schedule, not both.", true
		}
	case "allow-partially-failed":
		if spec.ScheduleName == "" {
			return "It has no effect without a schedule.", false
		}
	case "selector", "or-selector":
		if spec.LabelSelector != nil && spec.OrLabelSelectors != nil {
			return "Give a selector or several with \" or \" between, not both.", true
		}
	case "status-exclude-resources":
		if d := f.copyDraft(); d.Restore.Spec.RestoreStatus == nil {
			return "It has no effect without the field above.", false
		}
	case "include-namespaces", "exclude-namespaces", "namespace-mappings":
		return f.notThere(r), false
	}
	return "", false
}

// notThere doubts names of namespaces that are not in the backup.
func (f *Form) notThere(r *row) string {
	if len(f.preview.Namespaces) == 0 || f.pending {
		return ""
	}
	for name := range strings.SplitSeq(r.field.Tidy(r.text), ",") {
		name, _, _ = strings.Cut(name, ":")
		if name != "" && !strings.ContainsAny(name, `*?[{"`) && !slices.Contains(f.preview.Namespaces, name) {
			return "The backup has no namespace " + name + "."
		}
	}
	return ""
}

func (f *Form) taken() bool {
	return f.assessed != nil && slices.ContainsFunc(f.assessed.Snapshot.Jobs, func(j *job.Job) bool {
		return j.Kind == job.Restore && j.Name == f.draft.Restore.Name
	})
}

func (f *Form) wrong() []string {
	var titles []string
	for i := range f.rows {
		if f.rows[i].err != nil {
			titles = append(titles, f.name(i))
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
	if f.taken() {
		all = append(all, fmt.Sprintf("There is a restore %s already: choose another name.", f.draft.Restore.Name))
	}
	all = append(all, collector.Refusals(*spec)...)
	for _, why := range f.preview.Refused {
		if !f.pending && !slices.Contains(all, why) {
			all = append(all, why)
		}
	}
	return all
}
