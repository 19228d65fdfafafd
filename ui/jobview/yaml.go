package jobview

import (
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/ui/keys"
	"github.com/veltui/veltui/ui/pager"
)

// maxDocuments is the largest number of volumes whose resources the YAML page reads.
const maxDocuments = 200

// yamlPage shows the job's resource and those of its volumes, each as a document.
type yamlPage struct {
	noopPage
	documentsAnswer fetch.StoredAnswer[[]cluster.ObjectDocument]
	drawnText       []string // the lines of the last drawing
}

func (p *yamlPage) showsAges() bool { return false }

func (p *yamlPage) fetchMissing(s *Screen) tea.Cmd {
	j := s.job.Job
	if s.dependencies.UnavailableReason(cluster.CapabilityObjects) != "" || len(j.Volumes) == 0 {
		return nil
	}
	return p.documentsAnswer.FetchIfDue(
		s.newRequester(),
		s.job.IsTerminal(),
		pageMaxAge,
		func(ctx context.Context) ([]cluster.ObjectDocument, error) {
			return s.dependencies.FetchVolumeObjects(ctx, j, maxDocuments)
		},
	)
}

func (p *yamlPage) pageAnswers() []answerHandle { return []answerHandle{&p.documentsAnswer} }

func (p *yamlPage) newBindings(s *Screen) []keys.Binding {
	bindings := newCopyBindings(s, nil,
		func() (string, string) {
			var at int
			if _, err := fmt.Sscan(s.SelectedKey(), &at); err != nil || at >= len(p.drawnText) {
				return "", ""
			}
			return "one line", strings.TrimSpace(p.drawnText[at])
		},
		func() (string, string) { return p.copyableText(s) })
	for i := range bindings {
		bindings[i].InFooter = true
	}
	copyAll := &bindings[1]
	copyNow := copyAll.Do
	copyAll.Do = func(key string) tea.Cmd {
		if p.isReading(s) {
			return sendNotice(
				"Not copied: the resources of the job's volumes are still being read. Press the key again later.",
			)
		}
		return copyNow(key)
	}
	return bindings
}

// copyableText returns the text to copy, which may be more than was last drawn.
func (p *yamlPage) copyableText(s *Screen) (what, text string) {
	if s.job.Job == nil {
		return "", ""
	}
	p.renderLines(draw.Canvas{}, s)
	what = "all of the YAML"
	if len(p.documentsAnswer.Value) < s.job.VolumeCount() {
		what = "the YAML that is shown, not that of all its volumes"
	}
	return what, strings.Join(p.drawnText, "\n")
}

// isReading reports whether the resources of the volumes are still being read.
func (p *yamlPage) isReading(s *Screen) bool {
	if s.job.Job == nil || s.dependencies.UnavailableReason(cluster.CapabilityObjects) != "" || s.isDeleted {
		return false
	}
	if s.job.SummedVolumeCount() > 0 { // the list of volumes must be read first
		return s.movedVolumesAnswer.Err == nil
	}
	return len(s.job.Volumes) > 0 && !p.documentsAnswer.HasValue && p.documentsAnswer.Err == nil
}

// renderHead says what is missing below.
func (p *yamlPage) renderHead(c draw.Canvas, s *Screen) []string {
	volumes := s.job.VolumeCount()
	text, style := "", c.Theme.Dim
	switch {
	case volumes == 0:
	case s.dependencies.UnavailableReason(cluster.CapabilityObjects) != "":
		text = "The resources of the job's volumes are not shown."
	case s.job.SummedVolumeCount() > 0 && s.movedVolumesAnswer.Err != nil:
		text, style = "The job's volumes are unknown: "+s.movedVolumesAnswer.Err.Error(), c.Theme.Waiting
	case p.documentsAnswer.Err != nil:
		text, style = "The resources of the job's volumes are unknown: "+p.documentsAnswer.Err.Error(), c.Theme.Waiting
	case !p.documentsAnswer.HasValue:
		text = "Reading the resources of " + human.CountForms(volumes, "volume of the job", "volumes of the job") + "..."
	case len(p.documentsAnswer.Value) < volumes:
		text = fmt.Sprintf(
			"With the resources of %d of %s.",
			len(p.documentsAnswer.Value),
			human.Count(volumes, "volume"),
		)
	}
	return wrapNote(c, style, text, 2)
}

func (p *yamlPage) renderLines(_ draw.Canvas, s *Screen) pager.Source {
	p.drawnText = nil
	own, err := jobDocument(s)
	if err != nil {
		return pager.PlainLines([]string{"", "  The resource cannot be shown: " + err.Error()})
	}
	for i, d := range append([]cluster.ObjectDocument{own}, p.documentsAnswer.Value...) {
		if i > 0 {
			p.drawnText = append(p.drawnText, "---", "# "+d.Kind+" "+d.Name)
		}
		p.drawnText = append(p.drawnText, d.Lines...)
	}
	o := &outline{}
	for i, line := range p.drawnText {
		o.addRow(fmt.Sprint(i), func(c draw.Canvas) string { return " " + renderYAMLLine(c, line) })
	}
	return o
}

// jobDocument returns the job's resource, without managed fields.
func jobDocument(s *Screen) (cluster.ObjectDocument, error) {
	d := cluster.ObjectDocument{Kind: string(s.job.Kind), Name: s.job.Name}
	if s.job.Object == nil {
		return d, fmt.Errorf("it is not available")
	}
	object := s.job.Object.DeepCopyObject().(interface {
		SetManagedFields([]metav1.ManagedFieldsEntry)
	})
	object.SetManagedFields(nil)
	own, err := cluster.NewObjectDocument(d.Kind, d.Name, object)
	if err != nil {
		return d, err
	}
	for _, m := range s.job.MalformedFields {
		d.Lines = append(d.Lines, "# left out: "+m.String())
	}
	if own.Lines[0] == "{" {
		d.Lines = append(d.Lines, own.Lines...)
		return d, nil
	}
	d.Lines = append(d.Lines, "apiVersion: velero.io/v1", "kind: "+d.Kind)
	for _, line := range own.Lines {
		if !strings.HasPrefix(line, "apiVersion:") && !strings.HasPrefix(line, "kind:") {
			d.Lines = append(d.Lines, line)
		}
	}
	return d, nil
}

// renderYAMLLine highlights the key of a line, and dims comments.
func renderYAMLLine(c draw.Canvas, line string) string {
	if line == "---" || strings.HasPrefix(line, "# ") {
		return c.Theme.Dim.Render(line)
	}
	key, value, found := strings.Cut(line, ":")
	if !found || strings.ContainsAny(strings.TrimLeft(key, " -"), " '\"") {
		return line
	}
	return c.Theme.Accent.UnsetBold().Render(key+":") + value
}
