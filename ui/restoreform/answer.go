package restoreform

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/restore/preflight"
	"github.com/veltui/veltui/internal/restore/restorespec"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/keys"
)

// answer is the preview: obstacles, items, assumptions, the command and the YAML.
func (f *Form) answer(c draw.Canvas) []string {
	lines := f.troubles(c)
	p := &f.preview
	switch {
	case len(f.wrong()) > 0:
		return append(lines, f.endings(c)...)
	case f.options.Inspector.Unavailable(cluster.Previews) != "":
		lines = append(
			lines,
			c.Para(c.Theme.Dim, "veltui cannot look into backups here. The command is right all the same.", 3)...)
	case f.pending && !f.previewed.Known:
		lines = append(lines, c.Para(c.Theme.Dim, "Reading what is in the backup"+c.Glyphs.Ellipsis, 2)...)
	}
	if f.previewed.Known && (len(f.refused()) == 0 || p.Unknown != "") {
		if p.Unknown != "" {
			lines = append(
				lines,
				c.Para(c.Theme.Waiting, "The items are not known: "+strings.TrimRight(p.Unknown, ".")+".", 4)...)
		} else {
			lines = append(lines, f.table(c)...)
		}
		for _, what := range f.checkShown().Unseen {
			lines = append(lines, c.Item(c.Theme.Waiting.Render(" "+c.Glyphs.Open)+" ", "Not checked: "+what, 3)...)
		}
		for _, note := range p.Notes {
			for _, line := range c.Sized(c.Width, 0).Item(" "+c.Glyphs.Fact+" ", note, 4) {
				lines = append(lines, c.Theme.Dim.Render(line))
			}
		}
	}
	return append(lines, f.endings(c)...)
}

// troubles are what is wrong in the form, what Velero refuses and what was found.
func (f *Form) troubles(c draw.Canvas) []string {
	var lines []string
	item := func(style lipgloss.Style, sign, text string, most int) {
		lines = append(lines, c.Item(style.Render(sign)+" ", text, most)...)
	}
	for i := range f.rows {
		if r := &f.rows[i]; r.err != nil {
			item(c.Theme.Bad, c.Glyphs.Failed, f.name(i)+": "+r.err.Error(), 3)
		}
	}
	for _, why := range f.refused() {
		item(c.Theme.Bad, c.Glyphs.Failed, "Refused: "+why, 4)
	}
	if len(lines) > 0 {
		return lines
	}
	if by := f.comparison; by != nil && by.outdated {
		item(
			c.Theme.Waiting,
			c.Glyphs.Attention,
			"The "+by.is()+" was of another restore. What follows does not rest on it.",
			2,
		)
	}
	for _, kind := range []struct {
		severity preflight.Severity
		style    lipgloss.Style
		sign     string
	}{
		{preflight.Obstacle, c.Theme.Bad, c.Glyphs.Failed},
		{preflight.Doubt, c.Theme.Waiting, c.Glyphs.Attention},
		{preflight.Note, c.Theme.Dim, c.Glyphs.Fact},
	} {
		for _, found := range f.checkShown().Findings {
			if found.Severity == kind.severity {
				item(kind.style, kind.sign, strings.TrimSpace(found.Sentence+" "+found.Remedy), 4)
			}
		}
	}
	return lines
}

func (f *Form) table(c draw.Canvas) []string {
	e := &f.preview.Estimate
	if len(e.Resources) == 0 {
		return []string{"Nothing would be restored."}
	}
	name := 9
	for _, r := range e.Resources {
		name = max(name, lipgloss.Width(r.Resource))
	}
	name = min(name, max(c.Width/2, 12))
	head := c.Fit("RESOURCE", name) + c.FitRight("ITEMS", 8) + "  NAMESPACES"
	lines := []string{c.Theme.Dim.Render(c.Cut(head, c.Width))}
	for _, r := range e.Resources {
		line := c.Fit(c.CutMiddle(r.Resource, name), name) + c.FitRight(human.Number(r.Items), 8) + "  "
		lines = append(lines, c.Cut(line+namespaces(r, c.Width-lipgloss.Width(line)), c.Width))
	}
	total := c.Fit("Total", name) + c.FitRight(human.Number(e.Total), 8)
	if f.preview.Takes > 0 {
		total += "  in " + human.Short.TimeLeftRange(f.preview.Low, f.preview.High)
	}
	return append(lines, c.Theme.Strong.Render(c.Cut(total, c.Width)))
}

// namespaces are a resource's, as many as there is room for.
func namespaces(r collector.ResourceCount, width int) string {
	most := len(r.Namespaces)
	for most > 1 && lipgloss.Width(human.Largest(r.Namespaces, most)) > width {
		most--
	}
	return human.Largest(r.Namespaces, max(most, 1))
}

func (f *Form) endings(c draw.Canvas) []string {
	if len(f.wrong()) > 0 {
		return nil
	}
	line, fields, flags := f.command()
	lines := append([]string{"", c.Theme.Strong.Render("Command")}, c.Command(line)...)
	if unsaid := append(flags, fields...); len(unsaid) > 0 {
		text := fmt.Sprintf("The command cannot say %s.", human.List(unsaid, 5))
		if len(fields) > 0 {
			text += " The YAML can."
		}
		lines = append(lines, c.Item(c.Theme.Waiting.Render(c.Glyphs.Attention)+" ", text, 3)...)
	}
	if lacks := f.older(); lacks != "" {
		lines = append(lines, c.Item(c.Theme.Waiting.Render(c.Glyphs.Attention)+" ", lacks, 4)...)
	}
	lines = append(lines, "", c.Theme.Strong.Render("YAML"))
	text, err := f.yaml()
	if err != nil {
		return append(lines, c.Para(c.Theme.Waiting, draw.Sentence(err.Error()), 3)...)
	}
	for yamlLine := range strings.Lines(text) {
		lines = append(lines, c.Whole(strings.TrimRight(yamlLine, "\n"))...)
	}
	return lines
}

func (f *Form) namespace() string {
	if f.assessed == nil || f.assessed.Snapshot.Namespace == "" {
		return "velero"
	}
	return f.assessed.Snapshot.Namespace
}

// command is the equivalent command, and what it cannot say: fields of the Restore, and flags to the cluster.
func (f *Form) command() (line string, fields, flags []string) {
	d := f.copyDraft()
	return d.Command(f.options.Reach, f.namespace())
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
		return fmt.Sprintf(
			"The command of Velero %s lacks %s. Its server ignores %s.",
			name,
			human.List(lacks, 5),
			human.List(ignores, 5),
		)
	}
	return fmt.Sprintf(
		"The command of Velero %s lacks %s. Use the YAML, or a newer command.",
		name,
		human.List(lacks, 5),
	)
}

// yaml is the Restore as a file. It needs a name.
func (f *Form) yaml() (string, error) {
	d, err := f.named()
	if err != nil {
		return "", err
	}
	data, err := d.YAML(f.namespace())
	return string(data), err
}

// named is the draft as a Restore can say it.
func (f *Form) named() (restorespec.Draft, error) {
	d := f.copyDraft()
	if d.Restore.Name == "" {
		return d, errors.New("the Restore needs a name: fill in Name")
	}
	if d.AllowPartiallyFailed != nil && *d.AllowPartiallyFailed && d.Restore.Spec.ScheduleName != "" {
		if f.pending || f.preview.Backup == "" {
			return d, errors.New(
				"a Restore cannot say --allow-partially-failed, and the newest backup of the schedule is not known",
			)
		}
		// So does the command (pkg/cmd/cli/restore/create.go, Run).
		d.Restore.Spec.BackupName, d.Restore.Spec.ScheduleName = f.preview.Backup, ""
	}
	return d, nil
}

// create leads on to the restore itself, once it is known what stands in its way.
func (f *Form) create() tea.Cmd {
	d, err := f.named()
	switch wrong := f.ready(); {
	case wrong != nil:
		err = wrong
	case len(f.refused()) > 0:
		err = errors.New("it would be refused: see above")
	case f.carriedOut != "":
		return f.say(true, "Not started: "+f.carriedOut)
	case f.pending || !f.checked || f.compares():
		err = errors.New("veltui still looks at what stands in the way")
	}
	if err != nil {
		return f.say(true, "Not started: "+err.Error()+".")
	}
	if f.offerDryRun() {
		return nil
	}
	return f.options.Create(d, append(slices.Clone(f.preview.Announced), f.consequences()...))
}

// offerDryRun says once what a dry run of the restore would cost. The key pressed again goes without.
func (f *Form) offerDryRun() (offered bool) {
	n, key := f.preview.Estimate.Total, f.options.Keys.Key
	if f.checkShown().DryRun != nil || !f.canDryRun() || n == 0 || f.undried == f.changes {
		return false
	}
	f.undried = f.changes
	var resources []string
	for _, r := range f.preview.Estimate.Resources {
		resources = append(resources, r.Resource)
	}
	f.say(true, fmt.Sprintf("The API server was not asked. %s: %s runs it, %s again starts without it.",
		cluster.DryRunCost(n, resources), key("dry-run-restore"), key("start-restore")))
	return true
}

func (f *Form) consequences() []string {
	var items *int
	if f.preview.Unknown == "" {
		items = &f.preview.Estimate.Total
	}
	check := f.checkShown()
	return preflight.Consequences(items, check.Findings, check.DryRun != nil, len(check.Unseen) == 0)
}

func (f *Form) save() tea.Cmd {
	text, err := "", f.ready()
	if err == nil {
		text, err = f.yaml()
	}
	if err != nil {
		return f.say(true, "Not saved: "+err.Error()+".")
	}
	name := f.draft.Restore.Name + ".yaml"
	write := func(path string) tea.Cmd {
		f.saved.Outdate()
		return f.saved.Ask(f.asker(f.handleSaved), 0, func(context.Context) (string, error) {
			return f.options.Inspector.Save(path, []byte(text))
		})
	}
	return func() tea.Msg { return keys.SaveAs{Name: name, Do: write} }
}

func (f *Form) copy() tea.Cmd {
	if err := f.ready(); err != nil {
		return f.say(true, "Not copied: "+err.Error()+".")
	}
	line, _, _ := f.command()
	f.parting = sanitize.Text(line) // a terminal may act on what is pasted
	if f.options.WhyNoClipboard != "" {
		f.tell("Not copied: " + f.options.WhyNoClipboard + " veltui prints the command on exit.")
		f.bad = true
		return nil
	}
	f.tell("The command is in the clipboard if your terminal supports OSC 52. veltui also prints it on exit.")
	return tea.SetClipboard(f.parting)
}

func (f *Form) ready() error {
	if wrong := f.wrong(); len(wrong) > 0 {
		return errors.New("correct " + human.List(wrong, 3) + " first")
	}
	return nil
}

func (f *Form) handleSaved() tea.Cmd {
	if f.saved.Err != nil {
		return f.say(true, "Not saved: "+f.saved.Err.Error()+".")
	}
	text := "Saved to " + f.saved.Value + "."
	if len(f.refused()) == 0 {
		text += " To restore: " + f.options.Reach.Kubectl("", "create", "-f", f.saved.Value)
	}
	return f.tell(text)
}

// say answers a key. What esc asked is no longer asked then.
func (f *Form) say(bad bool, text string) tea.Cmd {
	f.said, f.bad, f.leaving = text, bad, false
	return nil
}

// tell says what was done, and the first reason why Velero would refuse the restore.
func (f *Form) tell(text string) tea.Cmd {
	refused := f.refused()
	if len(refused) > 0 {
		text += " Velero would refuse it: " + refused[0]
	}
	return f.say(len(refused) > 0, text)
}
