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

// maxDocuments is how many volumes' resources the YAML page reads.
const maxDocuments = 200

// yamlPage is the job's resource and those of its volumes, each a document.
type yamlPage struct {
	still
	children fetch.StoredAnswer[[]cluster.Document]
	text     []string // of the last drawing, by its lines
}

func (p *yamlPage) ages() bool { return false }

func (p *yamlPage) load(s *Screen) tea.Cmd {
	j := s.job.Job
	if s.sources.Unavailable(cluster.Objects) != "" || len(j.Volumes) == 0 {
		return nil
	}
	return p.children.Ask(s.asker(), s.job.Terminal(), readAge, func(ctx context.Context) ([]cluster.Document, error) {
		return s.sources.VolumeObjects(ctx, j, maxDocuments)
	})
}

func (p *yamlPage) answers() []answer { return []answer{&p.children} }

func (p *yamlPage) keys(s *Screen) []keys.Binding {
	bindings := copyKeys(s, nil,
		func() (string, string) {
			var at int
			if _, err := fmt.Sscan(s.Selected(), &at); err != nil || at >= len(p.text) {
				return "", ""
			}
			return "one line", strings.TrimSpace(p.text[at])
		},
		func() (string, string) { return p.all(s) })
	for i := range bindings {
		bindings[i].Short = true
	}
	copyAll := &bindings[1]
	copyNow := copyAll.Do
	copyAll.Do = func(key string) tea.Cmd {
		if p.reading(s) {
			return noticed(
				"Not copied: the resources of its volumes are still being read. Press the key again when they are there.",
			)
		}
		return copyNow(key)
	}
	return bindings
}

// all is what there is to copy, which may be more than was drawn last.
func (p *yamlPage) all(s *Screen) (what, text string) {
	if s.job.Job == nil {
		return "", ""
	}
	p.lines(draw.Canvas{}, s)
	what = "all of the YAML"
	if len(p.children.Value) < s.job.VolumeCount() {
		what = "the YAML that is shown, not that of all its volumes"
	}
	return what, strings.Join(p.text, "\n")
}

// reading reports whether the resources of the volumes are still to come.
func (p *yamlPage) reading(s *Screen) bool {
	if s.job.Job == nil || s.sources.Unavailable(cluster.Objects) != "" || s.deleted {
		return false
	}
	if s.job.LeftOut() > 0 { // which volumes there are is to be read first
		return s.moved.Err == nil
	}
	return len(s.job.Volumes) > 0 && !p.children.Known && p.children.Err == nil
}

// head says what is missing below.
func (p *yamlPage) head(c draw.Canvas, s *Screen) []string {
	volumes := s.job.VolumeCount()
	text, style := "", c.Theme.Dim
	switch {
	case volumes == 0:
	case s.sources.Unavailable(cluster.Objects) != "":
		text = "The resources of its volumes are not shown."
	case s.job.LeftOut() > 0 && s.moved.Err != nil:
		text, style = "Its volumes are not known: "+s.moved.Err.Error(), c.Theme.Waiting
	case p.children.Err != nil:
		text, style = "The resources of its volumes are not known: "+p.children.Err.Error(), c.Theme.Waiting
	case !p.children.Known:
		text = "Reading the resources of " + human.Plural(volumes, "its volume", "its volumes") + "..."
	case len(p.children.Value) < volumes:
		text = fmt.Sprintf("With the resources of %d of its %s.", len(p.children.Value), human.Count(volumes, "volume"))
	}
	return note(c, style, text, 2)
}

func (p *yamlPage) lines(_ draw.Canvas, s *Screen) pager.Source {
	p.text = nil
	own, err := ownDocument(s)
	if err != nil {
		return pager.Plain([]string{"", "  The resource cannot be shown: " + err.Error()})
	}
	for i, d := range append([]cluster.Document{own}, p.children.Value...) {
		if i > 0 {
			p.text = append(p.text, "---", "# "+d.Kind+" "+d.Name)
		}
		p.text = append(p.text, d.Lines...)
	}
	o := &outline{}
	for i, line := range p.text {
		o.add(fmt.Sprint(i), func(c draw.Canvas) string { return " " + yamlLine(c, line) })
	}
	return o
}

// ownDocument is the job's resource, without managed fields.
func ownDocument(s *Screen) (cluster.Document, error) {
	d := cluster.Document{Kind: string(s.job.Kind), Name: s.job.Name}
	if s.job.Object == nil {
		return d, fmt.Errorf("it is not available")
	}
	object := s.job.Object.DeepCopyObject().(interface {
		SetManagedFields([]metav1.ManagedFieldsEntry)
	})
	object.SetManagedFields(nil)
	own, err := cluster.NewDocument(d.Kind, d.Name, object)
	if err != nil {
		return d, err
	}
	for _, m := range s.job.Malformed {
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

// yamlLine sets the key of a line off from its value, and a comment from both.
func yamlLine(c draw.Canvas, line string) string {
	if line == "---" || strings.HasPrefix(line, "# ") {
		return c.Theme.Dim.Render(line)
	}
	key, value, found := strings.Cut(line, ":")
	if !found || strings.ContainsAny(strings.TrimLeft(key, " -"), " '\"") {
		return line
	}
	return c.Theme.Accent.UnsetBold().Render(key+":") + value
}
