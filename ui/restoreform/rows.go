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

func (f *Form) IsTyping() bool { return !f.isZoomed && f.focusedIndex < len(f.rows)-1 }

// editingKeys are the keys that edit a field. Some terminals send ctrl+h for backspace.
var editingKeys = []string{
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

// AcceptsKey reports whether the field takes a key: a letter, or an editing key.
func (f *Form) AcceptsKey(msg tea.KeyPressMsg) bool {
	return f.IsTyping() && (msg.Text != "" || slices.Contains(editingKeys, msg.String()))
}

func (f *Form) HandleTyping(msg tea.Msg) tea.Cmd {
	f.clearMessage()
	if !f.IsTyping() {
		return nil
	}
	if paste, ok := msg.(tea.PasteMsg); ok {
		paste.Content = f.rows[f.focusedIndex].joinPasted(paste.Content)
		msg = paste
	}
	before := f.input.Value()
	var cmd tea.Cmd
	f.input, cmd = f.input.Update(msg)
	if safe := sanitize.FullLine(f.input.Value()); safe != f.input.Value() {
		f.input.SetValue(safe)
		f.input.CursorEnd()
	}
	if f.input.Value() == before {
		return cmd
	}
	return tea.Batch(cmd, f.handleEdit())
}

// joinPasted joins pasted text to one line: names on lines of their own become a list.
func (r *formRow) joinPasted(text string) string {
	between := " "
	if r.field != nil && r.field.IsList && r.field.CompleteFrom != restorespec.Labels {
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

func (f *Form) clearMessage() { f.message, f.askedToDiscard = "", false }

func (f *Form) handleEdit() tea.Cmd {
	f.rows[f.focusedIndex].text, f.isEdited = f.input.Value(), true
	f.readRow(f.focusedIndex)
	return f.schedulePreview()
}

// readRow reads one row into the draft. A field that cannot be read stays unset.
func (f *Form) readRow(at int) {
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
		if text := r.field.TidyText(r.text); text != "" {
			if r.err = r.field.Set(&f.draft, text); r.err == nil {
				r.err = r.field.Check(&f.draft)
			}
		}
		if r.err != nil {
			r.field.Clear(&f.draft)
		}
	}
}

// rowName returns the title of a row, after the title of the row above if it belongs to that one.
func (f *Form) rowName(at int) string {
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

// fieldProblem returns what is wrong with a readable field because of other fields or the backup; refused is true if
// Velero refuses the restore for it.
func (f *Form) fieldProblem(at int) (text string, refused bool) {
	r, spec := &f.rows[at], &f.draft.Restore.Spec
	switch {
	case at == 0 && f.isNameTaken():
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
		return f.unknownNamespace(r), false
	}
	return "", false
}

// unknownNamespace returns a warning about names of namespaces that are not in the backup.
func (f *Form) unknownNamespace(r *formRow) string {
	if len(f.currentPreview().Namespaces) == 0 || f.isPreviewPending() {
		return ""
	}
	for name := range strings.SplitSeq(r.field.TidyText(r.text), ",") {
		name, _, _ = strings.Cut(name, ":")
		if name != "" && !strings.ContainsAny(name, `*?[{"`) && !slices.Contains(f.currentPreview().Namespaces, name) {
			return "The backup has no namespace " + name + "."
		}
	}
	return ""
}

func (f *Form) isNameTaken() bool {
	return f.assessment != nil && slices.ContainsFunc(f.assessment.Snapshot.Jobs, func(j *job.Job) bool {
		return j.Kind == job.Restore && j.Name == f.draft.Restore.Name
	})
}

func (f *Form) invalidRowNames() []string {
	var titles []string
	for i := range f.rows {
		if f.rows[i].err != nil {
			titles = append(titles, f.rowName(i))
		}
	}
	return titles
}

// refusalReasons returns why Velero or the API server would not accept the restore.
func (f *Form) refusalReasons() []string {
	var all []string
	spec := &f.draft.Restore.Spec
	switch {
	case spec.BackupName != "" && spec.ScheduleName != "":
		all = append(all, "Give a backup or a schedule, not both.")
	case spec.BackupName == "" && spec.ScheduleName == "":
		all = append(all, "Give a backup or a schedule to restore from.")
	}
	if f.isNameTaken() {
		all = append(all, fmt.Sprintf("There is a restore %s already: choose another name.", f.draft.Restore.Name))
	}
	all = append(all, collector.RefusalReasons(*spec)...)
	for _, why := range f.currentPreview().RefusalReasons {
		if !f.isPreviewPending() && !slices.Contains(all, why) {
			all = append(all, why)
		}
	}
	return all
}
