package restoreform

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/restore/restorespec"
)

// word is what stands before the cursor and is completed: the text from at on.
func (f *Form) word() (at int, word string) {
	r := f.rows[f.focus]
	runes := []rune(f.input.Value())
	text := string(runes[:min(f.input.Position(), len(runes))])
	if r.field == nil || !r.field.Many {
		return 0, text
	}
	at = strings.LastIndexByte(text, ',') + 1
	if or := strings.LastIndex(text, " or "); or >= 0 && r.field.Completes == restorespec.Labels {
		at = max(at, or+len(" or "))
	}
	for at < len(text) && text[at] == ' ' {
		at++
	}
	return at, text[at:]
}

// candidates are what the word before the cursor may become.
func (f *Form) candidates() []string {
	r := f.rows[f.focus]
	if r.field == nil || !f.Typing() {
		return nil
	}
	_, word := f.word()
	var fit []string
	for _, value := range f.values(r.field.Completes) {
		if strings.HasPrefix(value, word) {
			fit = append(fit, value)
		}
	}
	return fit
}

// values are all that a field may be completed to.
func (f *Form) values(of restorespec.Source) []string {
	switch of {
	case restorespec.Backups:
		return f.names(func(j *job.Job) string { return j.Name })
	case restorespec.Schedules:
		return f.names(func(j *job.Job) string { return j.ScheduleName })
	case restorespec.Namespaces:
		return f.preview.Namespaces
	case restorespec.Mappings:
		var all []string
		for _, name := range f.preview.Namespaces {
			all = append(all, name+":")
		}
		return all
	case restorespec.Resources:
		return f.preview.Resources
	case restorespec.Labels:
		return f.preview.Labels
	case restorespec.YesNo:
		return []string{"true", "false"}
	case restorespec.Policies:
		return []string{"none", "update"}
	}
	return nil
}

// names are something of all backups, sorted.
func (f *Form) names(of func(*job.Job) string) []string {
	if f.assessed == nil {
		return nil
	}
	var all []string
	for _, j := range f.assessed.Snapshot.Jobs {
		if name := of(j); j.Kind == job.Backup && name != "" {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// tabSays is what tab does now.
func (f *Form) tabSays() string {
	if f.completable() {
		return "complete"
	}
	return "next"
}

// completable reports whether the word before the cursor can still become another.
func (f *Form) completable() bool {
	_, word := f.word()
	fit := f.candidates()
	return word != "" && len(fit) > 0 && fit[0] != word
}

// complete completes the word before the cursor as far as it is clear, else goes to the next field.
func (f *Form) complete() tea.Cmd {
	if !f.completable() { // also for shop, though there is shop-2 too
		return f.move(f.focus + 1)
	}
	at, word := f.word()
	fit := f.candidates()
	common := fit[0]
	for _, value := range fit {
		for !strings.HasPrefix(value, common) {
			common = common[:len(common)-1]
		}
	}
	if common == word {
		f.say(false, "Type on: several names begin with "+word+".")
		return nil
	}
	value := []rune(f.input.Value())
	end := min(f.input.Position(), len(value))
	done := string(value[:end])[:at] + common
	f.input.SetValue(done + string(value[end:]))
	f.input.SetCursor(len([]rune(done)))
	return f.typed()
}
