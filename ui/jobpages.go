package ui

import (
	"fmt"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/veltui/veltui/diagnosis"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero/decode"
)

// overviewPage tells how the job fares and why veltui thinks so, and the facts
// about the job itself.
func (c canvas) overviewPage(j *job.Job, v diagnosis.Verdict, s diagnosis.Environment) []string {
	var lines []string
	text := c.sized(c.width-2, 0)
	for _, line := range text.wrap(v.Summary, 4) {
		lines = append(lines, " "+c.theme.strong.Render(line))
	}
	for _, f := range v.Facts {
		glyph, style := c.glyphs.fact, c.theme.text
		if !f.Holds {
			glyph, style = c.glyphs.open, c.theme.waiting
		}
		seen := f.Source
		if !f.At.IsZero() {
			seen += ", " + since(c.now, f.At)
		}
		lines = append(lines, c.sized(c.width-1, 0).split("  "+style.Render(glyph)+" "+f.Text, c.theme.dim.Render(" ("+seen+")")))
	}
	for _, line := range text.wrap(v.Advice, 4) {
		lines = append(lines, " "+c.theme.accent.Render(line))
	}
	if troubled(v.State) {
		what := strings.ToLower(string(j.Kind)) + "/" + j.Name
		for _, line := range text.wrap("f looks closer and says what can be done. From a shell: veltui explain "+what+", veltui finalize "+what, 3) {
			lines = append(lines, " "+c.theme.dim.Render(line))
		}
	}
	lines = append(lines, "")
	for _, fact := range c.jobFacts(j, s) {
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

func (l labelled) lines(c canvas) []string {
	var lines []string
	label := l.label
	for _, part := range c.sized(c.width-labelWidth-2, 0).wrap(l.text, 6) {
		lines = append(lines, " "+c.cell(c.theme.dim, label, labelWidth, false)+l.style.Render(part))
		label = ""
	}
	return lines
}

func (c canvas) jobFacts(j *job.Job, s diagnosis.Environment) []labelled {
	var facts []labelled
	add := func(label, text string, style lipgloss.Style) {
		if text != "" {
			facts = append(facts, labelled{label, text, style})
		}
	}
	add("Phase", cmpPhase(j.Phase), c.theme.text)
	if !j.Created.After(j.Began()) { // a backup that was synced is older than its resource
		add("Created", c.moment(j.Created), c.theme.text)
	}
	add("Started", c.moment(j.Started), c.theme.text)
	add("Completed", c.moment(j.Completed), c.theme.text)
	if !j.Started.IsZero() {
		add("Elapsed", Duration(j.Elapsed(s.Now)), c.theme.text)
	}
	if !j.Terminal() {
		add("Last moved", since(c.now, j.QuietSince())+" ago", c.theme.text)
	}
	add("Bound", c.boundText(j, s), c.theme.text)
	add("Items", c.itemsText(j), c.theme.text)
	if j.Warnings > 0 {
		add("Warnings", fmt.Sprint(j.Warnings), c.theme.waiting)
	}
	if j.Errors > 0 {
		add("Errors", fmt.Sprint(j.Errors), c.theme.bad)
	}
	for _, m := range j.Malformed {
		add("Malformed", m.String(), c.theme.bad)
	}
	add("Failed because", j.FailureReason, c.theme.bad)
	add("Not valid", strings.Join(j.ValidationErrors, "; "), c.theme.bad)
	if origin(j) != "" {
		add("From", originKind(j)+" "+origin(j), c.theme.text)
	}
	add("Stored in", j.StorageLocation, c.theme.text)
	return facts
}

func cmpPhase(phase string) string {
	if phase == "" {
		return "New (Velero has not looked at it yet)"
	}
	return phase
}

// moment is a time stamp with its age.
func (c canvas) moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.In(c.now.Location()).Format("2006-01-02 15:04:05") + "  " + since(c.now, t) + " ago"
}

// boundText says when Velero itself gives up on the present stage.
func (c canvas) boundText(j *job.Job, s diagnosis.Environment) string {
	switch at, setting := diagnosis.Deadline(j, s); {
	case at.IsZero():
		return ""
	case at.Before(c.now):
		return fmt.Sprintf("was to end %s ago (%s)", since(c.now, at), setting)
	default:
		return fmt.Sprintf("Velero gives up in %s (%s)", Duration(at.Sub(c.now)), setting)
	}
}

func (c canvas) itemsText(j *job.Job) string {
	if !j.Items.Known {
		return ""
	}
	text := fmt.Sprintf("%d of %s%d", j.Items.Done, c.estimated(j, job.UnitItems), j.Items.Total)
	if from := j.Items.RevisedFrom; from > 0 && from != j.Items.Total {
		text += fmt.Sprintf(" (Velero revised the total from %d)", from)
	}
	return text
}

var volumeColumns = []column{
	{width: 1},
	{title: "VOLUME", width: 22, grow: 2, limit: 60},
	{title: "PHASE", width: 10},
	{title: "PROGRESS", width: 16, grow: 1, limit: 30},
	{title: "DONE", width: 11, right: true},
	{title: "CHANGED", width: 8, priority: 1, right: true},
	{title: "NODE", width: 14, grow: 1, limit: 30, priority: 3},
	{title: "KIND", width: 16, priority: 2},
}

func (c canvas) volumesPage(j *job.Job) []string {
	if len(j.Volumes) == 0 {
		return []string{"", "  No volume data is moved for this job (so far)."}
	}
	widths := fitColumns(volumeColumns, c.width)
	lines := []string{c.titles(volumeColumns, widths, "")}
	for _, v := range j.Volumes {
		style := c.volumeStyle(v)
		progress := c.noBar(widths[3])
		if fraction, known := v.Fraction(); known {
			progress = c.bar(fraction, widths[3]-5) + c.fitRight(Percent(fraction), 5)
		}
		lines = append(lines, joinCells([]string{
			" ",
			c.cell(c.theme.text, v.Target, widths[1], false),
			c.cell(style, v.Phase, widths[2], false),
			progress,
			c.cell(c.theme.text, sizes(v.Done, v.Total), widths[4], true),
			c.cell(c.theme.dim, since(c.now, v.Changed), widths[5], true),
			c.cell(c.theme.dim, v.Node, widths[6], false),
			c.cell(c.theme.dim, string(v.Kind), widths[7], false),
		}, widths))
		if v.Malformed != (decode.Malformed{}) {
			lines = append(lines, "    "+c.theme.bad.Render(v.Name+" is malformed: "+v.Malformed.String()))
		}
		if v.Message != "" {
			lines = append(lines, "    "+style.Render(v.Message))
		}
	}
	return lines
}

func (c canvas) volumeStyle(v job.Volume) lipgloss.Style {
	switch v.Phase {
	case "Completed":
		return c.theme.good
	case "Failed", "Canceled", "Canceling":
		return c.theme.bad
	case "InProgress":
		return c.theme.running
	default:
		return c.theme.waiting
	}
}

func (c canvas) operationsPage(j *job.Job) []string {
	o := j.Operations
	if o.Attempted == 0 {
		return []string{"", "  No asynchronous operation was started for this job (so far)."}
	}
	left := o.Attempted - o.Completed - o.Failed
	lines := []string{"",
		labelled{"Started", fmt.Sprint(o.Attempted), c.theme.text}.lines(c)[0],
		labelled{"Completed", fmt.Sprint(o.Completed), c.theme.good}.lines(c)[0],
		labelled{"Failed", fmt.Sprint(o.Failed), c.theme.bad}.lines(c)[0],
		labelled{"Still going", fmt.Sprint(max(left, 0)), c.theme.running}.lines(c)[0],
		"",
	}
	note := "Velero counts operations every 10 s. The bytes that its own data mover moves are on the Volumes page."
	for _, line := range c.sized(c.width-2, 0).wrap(note, 3) {
		lines = append(lines, " "+c.theme.dim.Render(line))
	}
	return lines
}

// yamlPage is the resource as it is in the cluster, without managed fields.
func (c canvas) yamlPage(j *job.Job) []string {
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
	var lines []string
	for _, m := range j.Malformed {
		lines = append(lines, "# left out: "+m.String())
	}
	lines = append(lines, "apiVersion: velero.io/v1", "kind: "+string(j.Kind))
	for _, line := range strings.Split(strings.TrimRight(string(text), "\n"), "\n") {
		if !strings.HasPrefix(line, "apiVersion:") && !strings.HasPrefix(line, "kind:") {
			lines = append(lines, line)
		}
	}
	for i, line := range lines {
		lines[i] = " " + c.yamlLine(line)
	}
	return lines
}

// yamlLine sets the key of a line off from its value.
func (c canvas) yamlLine(line string) string {
	key, value, found := strings.Cut(line, ":")
	if !found || strings.ContainsAny(strings.TrimLeft(key, " -"), " '\"") {
		return line
	}
	return c.theme.accent.UnsetBold().Render(key+":") + value
}
