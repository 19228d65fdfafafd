package ui

import (
	"fmt"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/ui/draw"
)

// overviewPage tells how the job fares and why veltui thinks so, and the facts
// about the job itself.
func overviewPage(c draw.Canvas, j *job.Job, v job.Verdict, s job.Surroundings) []string {
	var lines []string
	text := c.Sized(c.Width-2, 0)
	for _, line := range text.Wrap(v.Summary, 4) {
		lines = append(lines, " "+c.Theme.Strong.Render(line))
	}
	for _, f := range v.Facts {
		glyph, style := c.Glyphs.Fact, c.Theme.Text
		if !f.Holds {
			glyph, style = c.Glyphs.Open, c.Theme.Waiting
		}
		seen := f.Source
		if !f.At.IsZero() {
			seen += ", " + since(c.Now, f.At)
		}
		lines = append(lines, c.Sized(c.Width-1, 0).Split("  "+style.Render(glyph)+" "+f.Text, c.Theme.Dim.Render(" ("+seen+")")))
	}
	for _, line := range text.Wrap(v.Advice, 4) {
		lines = append(lines, " "+c.Theme.Accent.Render(line))
	}
	if troubled(v.State) {
		what := strings.ToLower(string(j.Kind)) + "/" + j.Name
		for _, line := range text.Wrap("f looks closer and says what can be done. From a shell: veltui explain "+what+", veltui finalize "+what, 3) {
			lines = append(lines, " "+c.Theme.Dim.Render(line))
		}
	}
	lines = append(lines, "")
	for _, fact := range jobFacts(c, j, s) {
		lines = append(lines, fact.lines(c)...)
	}
	return lines
}

// labelled is a line with a label at the left.
type labelled struct {
	label, text string
	style       lipgloss.Style
}

const labelWidth = 14

func (l labelled) lines(c draw.Canvas) []string {
	var lines []string
	label := l.label
	for _, part := range c.Sized(c.Width-labelWidth-2, 0).Wrap(l.text, 6) {
		lines = append(lines, " "+c.Cell(c.Theme.Dim, label, labelWidth, false)+l.style.Render(part))
		label = ""
	}
	return lines
}

func jobFacts(c draw.Canvas, j *job.Job, s job.Surroundings) []labelled {
	var facts []labelled
	add := func(label, text string, style lipgloss.Style) {
		if text != "" {
			facts = append(facts, labelled{label, text, style})
		}
	}
	add("Phase", cmpPhase(j.Phase), c.Theme.Text)
	if !j.Created.After(j.Began()) { // a backup that was synced is older than its resource
		add("Created", moment(c, j.Created), c.Theme.Text)
	}
	add("Started", moment(c, j.Started), c.Theme.Text)
	add("Completed", moment(c, j.Completed), c.Theme.Text)
	if !j.Started.IsZero() {
		add("Elapsed", Duration(j.Elapsed(s.Now)), c.Theme.Text)
	}
	if !j.Terminal() {
		add("Last moved", since(c.Now, j.QuietSince())+" ago", c.Theme.Text)
	}
	add("Bound", boundText(c, j), c.Theme.Text)
	add("Items", itemsText(c, j), c.Theme.Text)
	if j.Warnings > 0 {
		add("Warnings", fmt.Sprint(j.Warnings), c.Theme.Waiting)
	}
	if j.Errors > 0 {
		add("Errors", fmt.Sprint(j.Errors), c.Theme.Bad)
	}
	add("Failed because", j.FailureReason, c.Theme.Bad)
	add("Not valid", strings.Join(j.ValidationErrors, "; "), c.Theme.Bad)
	if origin(j) != "" {
		add("From", originKind(j)+" "+origin(j), c.Theme.Text)
	}
	add("Stored in", j.StorageLocation, c.Theme.Text)
	return facts
}

func cmpPhase(phase string) string {
	if phase == "" {
		return "New (Velero has not looked at it yet)"
	}
	return phase
}

// moment is a time stamp with its age.
func moment(c draw.Canvas, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.In(c.Now.Location()).Format("2006-01-02 15:04:05") + "  " + since(c.Now, t) + " ago"
}

// boundText says when Velero itself gives up on the present stage.
func boundText(c draw.Canvas, j *job.Job) string {
	for _, record := range j.Stages {
		if record.Stage != j.Stage || record.Bound.IsZero() {
			continue
		}
		if record.Bound.Before(c.Now) {
			return fmt.Sprintf("was to end %s ago (%s)", since(c.Now, record.Bound), record.BoundBy)
		}
		return fmt.Sprintf("Velero gives up in %s (%s)", Duration(record.Bound.Sub(c.Now)), record.BoundBy)
	}
	return ""
}

func itemsText(c draw.Canvas, j *job.Job) string {
	if !j.Items.Known {
		return ""
	}
	text := fmt.Sprintf("%d of %s%d", j.Items.Done, estimated(c, j, job.UnitItems), j.Items.Total)
	if from := j.Items.RevisedFrom; from > 0 && from != j.Items.Total {
		text += fmt.Sprintf(" (Velero revised the total from %d)", from)
	}
	return text
}

var volumeColumns = []draw.Column{
	{Width: 1},
	{Title: "VOLUME", Width: 22, Grow: 2, Limit: 60},
	{Title: "PHASE", Width: 10},
	{Title: "PROGRESS", Width: 16, Grow: 1, Limit: 30},
	{Title: "DONE", Width: 11, Right: true},
	{Title: "CHANGED", Width: 8, Priority: 1, Right: true},
	{Title: "NODE", Width: 14, Grow: 1, Limit: 30, Priority: 3},
	{Title: "KIND", Width: 16, Priority: 2},
}

func volumesPage(c draw.Canvas, j *job.Job) []string {
	if len(j.Volumes) == 0 {
		return []string{"", "  No volume data is moved for this job (so far)."}
	}
	widths := draw.FitColumns(volumeColumns, c.Width)
	lines := []string{c.Titles(volumeColumns, widths, "")}
	for _, v := range j.Volumes {
		style := volumeStyle(c, v)
		progress := c.NoBar(widths[3])
		if fraction, known := v.Fraction(); known {
			progress = c.Bar(fraction, widths[3]-5) + c.FitRight(Percent(fraction), 5)
		}
		lines = append(lines, draw.JoinCells([]string{
			" ",
			c.Cell(c.Theme.Text, v.Target, widths[1], false),
			c.Cell(style, v.Phase, widths[2], false),
			progress,
			c.Cell(c.Theme.Text, sizes(v.Done, v.Total), widths[4], true),
			c.Cell(c.Theme.Dim, since(c.Now, v.Changed), widths[5], true),
			c.Cell(c.Theme.Dim, v.Node, widths[6], false),
			c.Cell(c.Theme.Dim, string(v.Kind), widths[7], false),
		}, widths))
		if v.Message != "" {
			lines = append(lines, "    "+style.Render(v.Message))
		}
	}
	return lines
}

func volumeStyle(c draw.Canvas, v job.Volume) lipgloss.Style {
	switch v.Phase {
	case "Completed":
		return c.Theme.Good
	case "Failed", "Canceled", "Canceling":
		return c.Theme.Bad
	case "InProgress":
		return c.Theme.Running
	default:
		return c.Theme.Waiting
	}
}

func operationsPage(c draw.Canvas, j *job.Job) []string {
	o := j.Operations
	if o.Attempted == 0 {
		return []string{"", "  No asynchronous operation was started for this job (so far)."}
	}
	left := o.Attempted - o.Completed - o.Failed
	lines := []string{"",
		labelled{"Started", fmt.Sprint(o.Attempted), c.Theme.Text}.lines(c)[0],
		labelled{"Completed", fmt.Sprint(o.Completed), c.Theme.Good}.lines(c)[0],
		labelled{"Failed", fmt.Sprint(o.Failed), c.Theme.Bad}.lines(c)[0],
		labelled{"Still going", fmt.Sprint(max(left, 0)), c.Theme.Running}.lines(c)[0],
		"",
	}
	note := "Velero counts operations every 10 s. The bytes that its own data mover moves are on the Volumes page."
	for _, line := range c.Sized(c.Width-2, 0).Wrap(note, 3) {
		lines = append(lines, " "+c.Theme.Dim.Render(line))
	}
	return lines
}

// yamlPage is the resource as it is in the cluster, without managed fields.
func yamlPage(c draw.Canvas, j *job.Job) []string {
	if j.Object == nil {
		return []string{"", "  The resource is not at hand."}
	}
	object := j.Object.DeepCopyObject().(interface {
		SetManagedFields([]metav1.ManagedFieldsEntry)
	})
	object.SetManagedFields(nil)
	text, err := yaml.Marshal(object)
	if err != nil {
		return []string{"", "  The resource cannot be shown: " + err.Error()}
	}
	lines := []string{"apiVersion: velero.io/v1", "kind: " + string(j.Kind)}
	for _, line := range strings.Split(strings.TrimRight(string(text), "\n"), "\n") {
		if !strings.HasPrefix(line, "apiVersion:") && !strings.HasPrefix(line, "kind:") {
			lines = append(lines, line)
		}
	}
	for i, line := range lines {
		lines[i] = " " + yamlLine(c, line)
	}
	return lines
}

// yamlLine sets the key of a line off from its value.
func yamlLine(c draw.Canvas, line string) string {
	key, value, found := strings.Cut(line, ":")
	if !found || strings.ContainsAny(strings.TrimLeft(key, " -"), " '\"") {
		return line
	}
	return c.Theme.Accent.UnsetBold().Render(key+":") + value
}
