package jobview

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/veltui/veltui/ui/draw"
)

// yamlPage is the resource as it is in the cluster, without managed fields.
func yamlPage(c draw.Canvas, s *Screen) []string {
	if s.job.Object == nil {
		return []string{"", "  The resource is not available."}
	}
	object := s.job.Object.DeepCopyObject().(interface {
		SetManagedFields([]metav1.ManagedFieldsEntry)
	})
	object.SetManagedFields(nil)
	text, err := yaml.Marshal(object)
	if err != nil {
		return []string{"", "  The resource cannot be shown: " + err.Error()}
	}
	var lines []string
	for _, m := range s.job.Malformed {
		lines = append(lines, "# left out: "+m.String())
	}
	lines = append(lines, "apiVersion: velero.io/v1", "kind: "+string(s.job.Kind))
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
