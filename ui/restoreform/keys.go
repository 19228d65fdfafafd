package restoreform

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/restorespec"
	"github.com/veltui/veltui/ui/keys"
)

func (f *Form) Bindings() []keys.Binding { return f.keyBindings }

func (f *Form) newBindings() []keys.Binding {
	act := func(do func() tea.Cmd) func(string) tea.Cmd {
		return func(string) tea.Cmd {
			f.clearMessage()
			return do()
		}
	}
	compared := func() bool { return f.closerCheck != nil && !f.isComparing() && !f.closerCheck.isDryRun }
	atCommand := func() bool { return !f.IsTyping() }
	return []keys.Binding{
		{
			Name:               "zoom-preview",
			Keys:               []string{"ctrl+p"},
			Label:              "ctrl+p",
			Description:        "whole preview",
			DynamicDescription: keys.ChooseText(func() bool { return f.isZoomed }, "form", "preview"),
			Group:              keys.GroupLook,
			InFooter:           true,
			Do:                 act(f.toggleZoom),
		},
		{
			Keys:        []string{"shift+tab"},
			Label:       "shift+tab",
			Description: "previous field",
			Group:       keys.GroupMove,
			Active:      func() bool { return !f.isZoomed },
			Do:          act(func() tea.Cmd { return f.focusRow(f.focusedIndex - 1) }),
		},
		{
			Keys:        []string{"up"},
			Label:       "up",
			Description: "previous field",
			Group:       keys.GroupMove,
			Do:          act(func() tea.Cmd { return f.moveOrScroll(-1) }),
		},
		{
			Keys:        []string{"down", "enter"},
			Label:       "down enter",
			Description: "next field",
			Group:       keys.GroupMove,
			Do:          act(func() tea.Cmd { return f.moveOrScroll(1) }),
		},
		{
			Keys:        []string{"pgup"},
			Label:       "pgup",
			Description: "scroll the preview up",
			Group:       keys.GroupMove,
			Do:          act(func() tea.Cmd { return f.scrollPreview(-f.pageHeight) }),
		},
		{
			Keys:        []string{"pgdown"},
			Label:       "pgdn",
			Description: "scroll the preview down",
			Group:       keys.GroupMove,
			Do:          act(func() tea.Cmd { return f.scrollPreview(f.pageHeight) }),
		},
		{
			Name:               "compare-restore",
			Keys:               []string{"ctrl+t"},
			Label:              "ctrl+t",
			Description:        "compare what exists",
			DynamicDescription: keys.ChooseText(compared, "compare again", "compare"),
			Group:              keys.GroupLook,
			InFooter:           true,
			Active:             f.canCompare,
			Unavailable:        f.compareUnavailable,
			Do:                 act(f.startComparison),
		},
		{
			Name:        "dry-run-restore",
			Keys:        []string{"ctrl+r"},
			Label:       "ctrl+r",
			Description: "dry run",
			Group:       keys.GroupLook,
			InFooter:    true,
			Active:      f.canDryRun,
			Unavailable: f.compareUnavailable,
			Do:          act(func() tea.Cmd { return f.startDryRun(false) }),
		},
		{
			Name:        "dry-run-secrets",
			Keys:        []string{"ctrl+g"},
			Label:       "ctrl+g",
			Description: "dry run with Secrets",
			Group:       keys.GroupLook,
			InFooter:    true,
			Active:      f.hasSkippedSecrets,
			Do:          act(func() tea.Cmd { return f.startDryRun(true) }),
		},
		{
			Name:        "start-restore",
			Keys:        []string{"ctrl+o"},
			Label:       "ctrl+o",
			Description: "start it",
			Group:       keys.GroupChange,
			InFooter:    true,
			Writes:      true,
			Unavailable: func() string { return f.options.CreateUnavailable },
			Do:          act(f.startRestore),
		},
		{
			Name:        "save-restore",
			Keys:        []string{"ctrl+s"},
			Label:       "ctrl+s",
			Description: "save YAML",
			Group:       keys.GroupLook,
			InFooter:    true,
			Do:          act(f.saveYAML),
		},
		{
			Name:        "copy-restore",
			Keys:        []string{"ctrl+y"},
			Label:       "ctrl+y",
			Description: "copy command",
			Group:       keys.GroupLook,
			InFooter:    true,
			Do:          act(f.copyCommand),
		},
		{
			Keys:        []string{"y"},
			Label:       "y",
			Description: "copy command",
			Group:       keys.GroupLook,
			Active:      atCommand,
			Do:          act(f.copyCommand),
		},
		{
			Keys:               []string{"tab"},
			Label:              "tab",
			Description:        "next, or complete",
			DynamicDescription: keys.ChooseText(f.canComplete, "complete", "next"),
			Group:              keys.GroupMove,
			InFooter:           true,
			Active:             func() bool { return !f.isZoomed },
			Do:                 act(f.completeWord),
		},
		{
			Keys:        []string{"q"},
			Label:       "q",
			Description: "back",
			Group:       keys.GroupLook,
			Active:      atCommand,
			Do:          func(string) tea.Cmd { return f.leaveForm() },
		},
		{
			Keys:        []string{"esc"},
			Label:       "esc",
			Description: "back",
			Group:       keys.GroupLook,
			InFooter:    true,
			Do:          func(string) tea.Cmd { return f.leaveForm() },
		},
	}
}

func (f *Form) toggleZoom() tea.Cmd {
	f.isZoomed, f.scrollTop = !f.isZoomed, 0
	return nil
}

// moveOrScroll moves to another field, or scrolls if no fields are shown.
func (f *Form) moveOrScroll(by int) tea.Cmd {
	if f.isZoomed {
		return f.scrollPreview(by)
	}
	return f.focusRow(f.focusedIndex + by)
}

// leaveForm goes back. A single key discards neither typed text nor a running comparison.
func (f *Form) leaveForm() tea.Cmd {
	if f.isZoomed {
		return f.toggleZoom()
	}
	if f.isComparing() {
		was := f.closerCheck.checkNoun()
		f.closerCheck.cancelCheck()
		f.closerCheck = nil
		return f.showMessage(true, "The "+was+" is cancelled.")
	}
	if f.isEdited && !f.askedToDiscard {
		f.showMessage(true, "Press esc again to discard the form; any other key continues.")
		f.askedToDiscard = true
		return nil
	}
	return f.options.OnBack()
}

func (f *Form) focusRow(to int) tea.Cmd {
	f.isZoomed = false
	f.focusedIndex = (to + len(f.rows)) % len(f.rows)
	f.input.Blur()
	if !f.IsTyping() {
		return nil
	}
	f.input.SetValue(f.rows[f.focusedIndex].text)
	f.input.CursorEnd()
	return f.input.Focus()
}

func (f *Form) scrollPreview(by int) tea.Cmd {
	f.scrollTop = max(min(f.scrollTop+by, f.lineCount-f.pageHeight), 0)
	return nil
}

func (f *Form) HandleWheel(lines int) {
	f.clearMessage()
	f.scrollPreview(lines)
}

func (f *Form) HandleClick(x, y int) {
	f.clearMessage()
	if at := y - f.firstRowLine; x < f.rowsWidth && at >= 0 && at < len(f.rowAtLine) && f.rowAtLine[at] >= 0 {
		f.focusRow(f.rowAtLine[at])
	}
}

// wordAtCursor returns the word before the cursor, which can be completed, and its position in the text.
func (f *Form) wordAtCursor() (at int, word string) {
	r := f.rows[f.focusedIndex]
	runes := []rune(f.input.Value())
	text := string(runes[:min(f.input.Position(), len(runes))])
	if r.field == nil || !r.field.IsList {
		return 0, text
	}
	at = strings.LastIndexByte(text, ',') + 1
	if or := strings.LastIndex(text, " or "); or >= 0 && r.field.CompleteFrom == restorespec.Labels {
		at = max(at, or+len(" or "))
	}
	for at < len(text) && text[at] == ' ' {
		at++
	}
	return at, text[at:]
}

func (f *Form) findCompletions() []string {
	r := f.rows[f.focusedIndex]
	if r.field == nil || !f.IsTyping() {
		return nil
	}
	_, word := f.wordAtCursor()
	return slices.DeleteFunc(
		slices.Clone(f.completionValues(r.field.CompleteFrom)),
		func(value string) bool { return !strings.HasPrefix(value, word) },
	)
}

func (f *Form) completionValues(of restorespec.CompletionSource) []string {
	switch of {
	case restorespec.Backups:
		return f.collectFromBackups(func(j *job.Job) string { return j.Name })
	case restorespec.Schedules:
		return f.collectFromBackups(func(j *job.Job) string { return j.ScheduleName })
	case restorespec.Namespaces:
		return f.currentPreview().Namespaces
	case restorespec.Mappings:
		var all []string
		for _, name := range f.currentPreview().Namespaces {
			all = append(all, name+":")
		}
		return all
	case restorespec.Resources:
		return f.currentPreview().Resources
	case restorespec.Labels:
		return f.currentPreview().Labels
	case restorespec.Booleans:
		return []string{"true", "false"}
	case restorespec.Policies:
		return []string{"none", "update"}
	}
	return nil
}

// collectFromBackups collects a property of all backups, sorted and without duplicates.
func (f *Form) collectFromBackups(of func(*job.Job) string) []string {
	if f.assessment == nil {
		return nil
	}
	var all []string
	for _, j := range f.assessment.Snapshot.Jobs {
		if name := of(j); j.Kind == job.Backup && name != "" {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// canComplete reports whether the word before the cursor can be completed further.
func (f *Form) canComplete() bool {
	_, word := f.wordAtCursor()
	fit := f.findCompletions()
	return word != "" && len(fit) > 0 && fit[0] != word
}

// completeWord completes the word before the cursor as far as it is unambiguous, or else moves to the next field.
func (f *Form) completeWord() tea.Cmd {
	if !f.canComplete() { // also for shop, even if there is shop-2 too
		return f.focusRow(f.focusedIndex + 1)
	}
	at, word := f.wordAtCursor()
	fit := f.findCompletions()
	common := fit[0]
	for _, value := range fit {
		for !strings.HasPrefix(value, common) {
			common = common[:len(common)-1]
		}
	}
	if common == word {
		return f.showMessage(false, "Type on: several names begin with "+word+".")
	}
	value := []rune(f.input.Value())
	end := min(f.input.Position(), len(value))
	done := string(value[:end])[:at] + common
	f.input.SetValue(done + string(value[end:]))
	f.input.SetCursor(len([]rune(done)))
	return f.handleEdit()
}
