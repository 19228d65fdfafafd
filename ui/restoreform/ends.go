package restoreform

import (
	"context"
	"errors"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/velero"
)

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

// older says which flags the command of the server's version lacks and its server ignores.
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

func (f *Form) save() tea.Cmd {
	if f.options.Previewer == nil {
		f.say(true, "veltui cannot save files here.")
		return nil
	}
	text, err := "", f.ready()
	if err == nil {
		text, err = f.yaml()
	}
	if err != nil {
		f.say(true, "Not saved: "+err.Error()+".")
		return nil
	}
	name := f.draft.Restore.Name + ".yaml"
	f.saved.Outdate()
	return f.saved.Ask(f.asker(f.handleSaved), 0, func(context.Context) (string, error) {
		return f.options.Previewer.Save(name, []byte(text))
	})
}

func (f *Form) copy() tea.Cmd {
	if err := f.ready(); err != nil {
		f.say(true, "Not copied: "+err.Error()+".")
		return nil
	}
	line, _ := f.command()
	f.parting = sanitize.Text(line) // a terminal may act on what is pasted
	if f.options.WhyNoClipboard != "" {
		f.tell("Not copied: " + f.options.WhyNoClipboard + " veltui prints the command on exit.")
		f.bad = true
		return nil
	}
	f.tell("The command is in the clipboard if your terminal supports OSC 52. veltui also prints it on exit.")
	return tea.SetClipboard(f.parting)
}

// ready reports which fields have to be corrected first.
func (f *Form) ready() error {
	if wrong := f.wrong(); len(wrong) > 0 {
		return errors.New("correct " + human.List(wrong, 3) + " first")
	}
	return nil
}

// handleSaved says where a file is.
func (f *Form) handleSaved() tea.Cmd {
	if f.saved.Err != nil {
		f.say(true, "Not saved: "+f.saved.Err.Error()+".")
		return nil
	}
	text := "Saved to " + f.saved.Value + "."
	if len(f.refused()) == 0 {
		text += " To restore: " + f.options.Reach.Kubectl("", "create", "-f", f.saved.Value)
	}
	f.tell(text)
	return nil
}

// say answers a key. What esc asked is no longer asked then.
func (f *Form) say(bad bool, text string) { f.said, f.bad, f.leaving = text, bad, false }

// tell says what was done, and the first reason why Velero would refuse the restore.
func (f *Form) tell(text string) {
	refused := f.refused()
	if len(refused) > 0 {
		text += " Velero would refuse it: " + refused[0]
	}
	f.say(len(refused) > 0, text)
}
