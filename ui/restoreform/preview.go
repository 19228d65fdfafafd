package restoreform

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/restore/restorespec"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/keys"
)

// renderPreview draws the preview: obstacles, items, assumptions, the command and the YAML.
func (f *Form) renderPreview(c draw.Canvas) []string {
	lines := f.renderProblems(c)
	p := f.currentPreview()
	switch {
	case len(f.invalidRowNames()) > 0:
		return append(lines, f.renderCommandAndYAML(c)...)
	case f.options.Backend.UnavailableReason(cluster.CapabilityPreviews) != "":
		lines = append(
			lines,
			c.RenderParagraph(c.Theme.Dim, "veltui cannot look into backups here. The command is right all the same.", 3)...)
	case f.isPreviewPending() && !f.previewAnswer.HasValue:
		lines = append(lines, c.RenderParagraph(c.Theme.Dim, "Reading what is in the backup"+c.Glyphs.Ellipsis, 2)...)
	}
	if f.previewAnswer.HasValue && (len(f.refusalReasons()) == 0 || p.ItemsUnchecked != "") {
		lines = append(lines, f.renderEstimate(c)...)
		for _, what := range f.shownCheck().Unchecked {
			lines = append(lines, c.RenderBullet(c.Theme.Waiting.Render(" "+c.Glyphs.Unproven)+" ", "Unchecked: "+what, 3)...)
		}
		for _, note := range p.Notes {
			for _, line := range c.WithSize(c.Width, 0).RenderBullet(" "+c.Glyphs.Fact+" ", note, 4) {
				lines = append(lines, c.Theme.Dim.Render(line))
			}
		}
	}
	return append(lines, f.renderCommandAndYAML(c)...)
}

// renderProblems draws the form's errors, the reasons for which Velero refuses the restore, and the findings.
func (f *Form) renderProblems(c draw.Canvas) []string {
	var lines []string
	item := func(style lipgloss.Style, sign, text string, most int) {
		lines = append(lines, c.RenderBullet(style.Render(sign)+" ", text, most)...)
	}
	for i := range f.rows {
		if r := &f.rows[i]; r.err != nil {
			item(c.Theme.Bad, c.Glyphs.Failed, f.rowName(i)+": "+r.err.Error(), 3)
		}
	}
	for _, why := range f.refusalReasons() {
		item(c.Theme.Bad, c.Glyphs.Failed, "Refused: "+why, 4)
	}
	if len(lines) > 0 {
		return lines
	}
	if by := f.closerCheck; by != nil && by.isOutdated {
		item(
			c.Theme.Waiting,
			c.Glyphs.Attention,
			"The "+by.checkNoun()+" was of another restore. What follows does not rest on it.",
			2,
		)
	}
	for _, found := range view.NewPreflightFindings(f.shownCheck().Findings) {
		sign := c.Glyphs.Fact
		switch found.Severity.Tone {
		case view.Bad:
			sign = c.Glyphs.Failed
		case view.Waiting:
			sign = c.Glyphs.Attention
		}
		item(c.Theme.ToneStyle(found.Severity.Tone), sign, found.Paragraph(), 4)
	}
	return lines
}

// renderEstimate draws what the restore would restore, as a table, or why there is none.
func (f *Form) renderEstimate(c draw.Canvas) []string {
	e := &f.previewAnswer.Value.estimate
	if len(e.Rows) == 0 {
		return c.RenderParagraph(c.Theme.ToneStyle(e.Summary.Tone), e.Summary.Text, 4)
	}
	columns := view.ScreenColumns(e.Columns)
	widths := view.FitColumns(columns, c.Width)
	lines := []string{c.RenderTableHeader(columns, widths, draw.SortOrder{})}
	for _, cells := range append(slices.Clone(e.Rows), e.TotalRow) {
		lines = append(lines, c.RenderCells(columns, widths, view.ScreenTexts(e.Columns, cells)))
	}
	return lines
}

func (f *Form) renderCommandAndYAML(c draw.Canvas) []string {
	if len(f.invalidRowNames()) > 0 {
		return nil
	}
	line, fields, flags := f.buildCommand()
	lines := []string{"", c.Theme.Strong.Render("Command")}
	if line == "" {
		lines = append(lines, c.RenderParagraph(c.Theme.Dim, draw.FormatSentence(restorespec.NoCommand), 2)...)
	} else {
		lines = append(lines, c.WrapCommand(line)...)
	}
	if unsaid := append(flags, fields...); len(unsaid) > 0 {
		text := fmt.Sprintf("The command cannot say %s.", human.JoinNames(unsaid, 5))
		if len(fields) > 0 {
			text += " The YAML can."
		}
		lines = append(lines, c.RenderBullet(c.Theme.Waiting.Render(c.Glyphs.Attention)+" ", text, 3)...)
	}
	if lacks := f.missingFlagsText(); lacks != "" {
		lines = append(lines, c.RenderBullet(c.Theme.Waiting.Render(c.Glyphs.Attention)+" ", lacks, 4)...)
	}
	lines = append(lines, "", c.Theme.Strong.Render("YAML"))
	text, err := f.buildYAML()
	if err != nil {
		return append(lines, c.RenderParagraph(c.Theme.Waiting, draw.FormatSentence(err.Error()), 3)...)
	}
	for yamlLine := range strings.Lines(text) {
		lines = append(lines, c.WrapForCopying(strings.TrimRight(yamlLine, "\n"))...)
	}
	return lines
}

func (f *Form) veleroNamespace() string {
	if f.assessment == nil || f.assessment.Snapshot.Namespace == "" {
		return "velero"
	}
	return f.assessment.Snapshot.Namespace
}

// buildCommand returns the equivalent command, and what it cannot express: fields of the Restore, and the flags to
// reach the cluster.
func (f *Form) buildCommand() (line string, fields, flags []string) {
	d := f.copyDraft()
	return d.CommandLine(f.options.ClusterAccess, f.veleroNamespace())
}

// missingFlagsText returns which flags the command of the server's version lacks, and which its server ignores.
func (f *Form) missingFlagsText() string {
	if f.assessment == nil {
		return ""
	}
	name := f.assessment.Snapshot.Server.Version
	v, known := velero.ParseVersion(name)
	var lacks, ignores []string
	for _, field := range f.draft.GivenFlags() {
		if known && !field.HasFlag(v) {
			lacks = append(lacks, "--"+field.Flag)
		}
		if known && !field.IsReadBy(v) {
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
			human.JoinNames(lacks, 5),
			human.JoinNames(ignores, 5),
		)
	}
	return fmt.Sprintf(
		"The command of Velero %s lacks %s. Use the YAML, or a newer command.",
		name,
		human.JoinNames(lacks, 5),
	)
}

// buildYAML returns the Restore as a file. The Restore needs a name.
func (f *Form) buildYAML() (string, error) {
	d, err := f.namedDraft()
	if err != nil {
		return "", err
	}
	data, err := d.YAML(f.veleroNamespace())
	return string(data), err
}

// namedDraft returns the draft in the form in which a Restore can express it.
func (f *Form) namedDraft() (restorespec.Draft, error) {
	d := f.copyDraft()
	if d.Restore.Name == "" {
		return d, errors.New("the Restore needs a name: fill in Name")
	}
	if d.AllowPartiallyFailed != nil && *d.AllowPartiallyFailed && d.Restore.Spec.ScheduleName != "" {
		if f.isPreviewPending() || f.currentPreview().Backup == "" {
			return d, errors.New(
				"a Restore cannot say --allow-partially-failed, and the newest backup of the schedule is not known",
			)
		}
		// The command does the same (pkg/cmd/cli/restore/create.go, Run).
		d.Restore.Spec.BackupName, d.Restore.Spec.ScheduleName = f.currentPreview().Backup, ""
	}
	return d, nil
}

// startRestore proceeds to the restore itself, once the obstacles are known.
func (f *Form) startRestore() tea.Cmd {
	d, err := f.namedDraft()
	switch wrong := f.checkReady(); {
	case wrong != nil:
		err = wrong
	case len(f.refusalReasons()) > 0:
		err = errors.New("it would be refused: see above")
	case f.carriedOutText != "":
		return f.showMessage(true, "Not started: "+f.carriedOutText)
	case f.isPreviewPending() || !f.isChecked() || f.isComparing():
		err = errors.New("veltui still looks at what stands in the way")
	}
	if err != nil {
		return f.showMessage(true, "Not started: "+err.Error()+".")
	}
	if f.offerDryRun() {
		return nil
	}
	return f.options.OnCreate(d, append(slices.Clone(f.currentPreview().AlsoRestored), f.buildConsequences()...))
}

// offerDryRun tells once what a dry run of the restore would cost. The same key pressed again starts without it.
func (f *Form) offerDryRun() (offered bool) {
	n, key := f.currentPreview().Estimate.Total, f.options.Keys.FirstKey
	if f.shownCheck().DryRun != nil || !f.canDryRun() || n == 0 || f.confirmedWithoutDryRun == f.changeNumber {
		return false
	}
	f.confirmedWithoutDryRun = f.changeNumber
	var resources []string
	for _, r := range f.currentPreview().Estimate.Resources {
		resources = append(resources, r.Resource)
	}
	f.showMessage(true, fmt.Sprintf("The API server was not asked. %s: %s runs it, %s again starts without it.",
		cluster.DryRunCostText(n, resources), key("dry-run-restore"), key("start-restore")))
	return true
}

func (f *Form) buildConsequences() []string {
	var items *int
	if f.currentPreview().ItemsUnchecked == "" {
		items = &f.currentPreview().Estimate.Total
	}
	check := f.shownCheck()
	return view.PreflightConsequences(items, check.Findings, check.DryRun != nil, len(check.Unchecked) == 0)
}

func (f *Form) saveYAML() tea.Cmd {
	text, err := "", f.checkReady()
	if err == nil {
		text, err = f.buildYAML()
	}
	if err != nil {
		return f.showMessage(true, "Not saved: "+err.Error()+".")
	}
	name := f.draft.Restore.Name + ".yaml"
	write := func(path string) tea.Cmd {
		return f.saveAnswer.Refetch(f.newRequester(f.handleSaved), path, func(context.Context) (string, error) {
			return f.options.Backend.SaveFile(path, []byte(text))
		})
	}
	return func() tea.Msg { return keys.SaveAsMsg{ProposedPath: name, WriteFile: write} }
}

func (f *Form) copyCommand() tea.Cmd {
	if err := f.checkReady(); err != nil {
		return f.showMessage(true, "Not copied: "+err.Error()+".")
	}
	line, _, _ := f.buildCommand()
	if line == "" {
		return f.showMessage(true, "Not copied: "+restorespec.NoCommand+".")
	}
	f.copiedCommand = sanitize.Text(line) // a terminal may act on pasted control characters
	if f.options.ClipboardUnavailable != "" {
		f.showResult("Not copied: " + f.options.ClipboardUnavailable + " veltui prints the command on exit.")
		f.isWarning = true
		return nil
	}
	f.showResult("The command is in the clipboard if your terminal supports OSC 52. veltui also prints it on exit.")
	return tea.SetClipboard(f.copiedCommand)
}

func (f *Form) checkReady() error {
	if wrong := f.invalidRowNames(); len(wrong) > 0 {
		return errors.New("correct " + human.JoinNames(wrong, 3) + " first")
	}
	return nil
}

func (f *Form) handleSaved() tea.Cmd {
	if f.saveAnswer.Err != nil {
		return f.showMessage(true, "Not saved: "+f.saveAnswer.Err.Error()+".")
	}
	text := "Saved to " + f.saveAnswer.Value + "."
	if len(f.refusalReasons()) == 0 {
		text += " To restore: " + f.options.ClusterAccess.KubectlCommand("", "create", "-f", f.saveAnswer.Value)
	}
	return f.showResult(text)
}

// showMessage shows the answer to a key, and takes back the question that esc asked.
func (f *Form) showMessage(bad bool, text string) tea.Cmd {
	f.message, f.isWarning, f.askedToDiscard = text, bad, false
	return nil
}

// showResult shows what was done, with the first reason why Velero would refuse the restore.
func (f *Form) showResult(text string) tea.Cmd {
	refused := f.refusalReasons()
	if len(refused) > 0 {
		text += " Velero would refuse it: " + refused[0]
	}
	return f.showMessage(len(refused) > 0, text)
}
