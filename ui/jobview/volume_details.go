package jobview

import (
	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/ui/draw"
)

// renderDetails draws all that is known of one volume, below its row.
func (p *volumesPage) renderDetails(c draw.Canvas, s *Screen, key string, r *assess.VolumeRecord) []string {
	row := view.VolumeRow{VolumeRecord: r, Job: s.job.Job, Now: c.Now}
	return renderDetails(c, row.Fields(), p.renderSpec(detailCanvas(c), s, key, r)...)
}

// renderSpec draws the spec of the volume's resource, or why it is not shown.
func (p *volumesPage) renderSpec(c draw.Canvas, s *Screen, key string, r *assess.VolumeRecord) []string {
	a := p.objects[key]
	switch {
	case r.Volume == nil || s.dependencies.UnavailableReason(cluster.CapabilityObjects) != "" || a == nil:
		return nil
	case a.HasValue:
		lines := []string{"", c.Theme.Strong.Render("Spec of " + r.Volume.Name)}
		for _, line := range a.Value.FieldLines("spec") {
			lines = append(lines, renderYAMLLine(c, line))
		}
		return lines
	case a.Err != nil:
		return append([]string{""}, c.RenderParagraph(c.Theme.Waiting, "The spec is unknown: "+a.Err.Error(), 3)...)
	}
	return []string{"", c.Theme.Dim.Render("Reading the spec...")}
}
