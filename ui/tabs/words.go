package tabs

import (
	"maps"
	"slices"
	"strings"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/ui/detail"
	"github.com/veltui/veltui/watch"
)

func malformedByUID(found []watch.Malformed) map[types.UID]*watch.Malformed {
	byUID := map[types.UID]*watch.Malformed{}
	for i := range found {
		byUID[found[i].UID] = &found[i]
	}
	return byUID
}

// rowOf is a row about one of Velero's objects, which says otherwise where there is no note.
func rowOf(o metav1.Object, notes []assess.Note, malformed map[types.UID]*watch.Malformed, otherwise string, words ...string) detail.Row {
	row := detail.Row{Key: string(o.GetUID()), Words: words, About: otherwise, Alarm: assess.Alarmed(notes), Malformed: malformed[o.GetUID()]}
	if len(notes) > 0 {
		row.About = notes[0].Text
	}
	return row
}

func notes(found []assess.Note, malformed *watch.Malformed) []detail.Text {
	var texts []detail.Text
	if malformed != nil {
		for _, f := range malformed.Fields {
			texts = append(texts, detail.Styled(detail.Bad, "Malformed: "+f.String()+". It counts as not set here; Velero itself may see nothing of this kind until you correct it."))
		}
	}
	styles := map[assess.Mood]detail.Style{assess.Alarming: detail.Bad, assess.Unusual: detail.Waiting}
	for _, n := range found {
		texts = append(texts, detail.Styled(styles[n.Mood], n.Text))
	}
	return texts
}

// unlessNoted is a text that no note has already.
func unlessNoted(text string, notes []assess.Note) string {
	for _, n := range notes {
		if strings.Contains(n.Text, strings.TrimSuffix(text, ".")) {
			return ""
		}
	}
	return text
}

// tooOld counts backups that are left out, if any.
func tooOld(n int) []detail.Text {
	if n == 0 {
		return nil
	}
	return []detail.Text{detail.Styled(detail.Dim, human.Count(n, "backup")+" ended too long ago to be shown (--ended-within).")}
}

func plain(label, text string) detail.Field {
	return detail.Field{Label: label, Text: detail.Text{Text: text}}
}

func moment(t, now time.Time, never string) string {
	if t.IsZero() {
		return never
	}
	return human.Clock(t, now) + ", " + human.Ago(t, now)
}

func durationOr(d time.Duration, otherwise string) string {
	if d <= 0 {
		return otherwise
	}
	return human.Duration(d)
}

func until(t, now time.Time, unknown string) string {
	switch {
	case t.IsZero():
		return unknown
	case !t.After(now):
		return "now"
	}
	return human.Duration(t.Sub(now))
}

func namespaces(t velerov1.BackupSpec) string {
	return limited("all namespaces", "namespaces ", t.IncludedNamespaces, t.ExcludedNamespaces)
}

// kinds are the resources of a backup, by the old or new form of filters.
func kinds(t velerov1.BackupSpec) string {
	text := limited("all resources", "", t.IncludedResources, t.ExcludedResources)
	for _, scope := range []struct {
		what     string
		in, out  []string
		ordinary string
	}{
		{"of the cluster: ", t.IncludedClusterScopedResources, t.ExcludedClusterScopedResources, "as needed"},
		{"of namespaces: ", t.IncludedNamespaceScopedResources, t.ExcludedNamespaceScopedResources, "all"},
	} {
		if len(scope.in)+len(scope.out) > 0 {
			text += "; " + scope.what + limited(scope.ordinary, "", scope.in, scope.out)
		}
	}
	if include := t.IncludeClusterResources; include != nil {
		text += map[bool]string{true: "; cluster resources included", false: "; cluster resources left out"}[*include]
	}
	return text
}

func limited(all, some string, included, excluded []string) string {
	text := all
	if len(included) > 0 && !slices.Contains(included, "*") {
		text = some + strings.Join(included, ", ")
	}
	if len(excluded) > 0 {
		text += " but " + strings.Join(excluded, ", ")
	}
	return text
}

func selector(t velerov1.BackupSpec) string {
	var any []string
	for _, s := range append([]*metav1.LabelSelector{t.LabelSelector}, t.OrLabelSelectors...) {
		if s != nil {
			any = append(any, metav1.FormatLabelSelector(s))
		}
	}
	return strings.Join(any, " or ")
}

func volumes(t velerov1.BackupSpec) string {
	set := func(b *bool) bool { return b != nil && *b }
	var parts []string
	if set(t.DefaultVolumesToFsBackup) {
		parts = append(parts, "file system backup of all volumes that do not opt out")
	}
	switch {
	case t.SnapshotVolumes != nil && !*t.SnapshotVolumes:
		parts = append(parts, "no snapshots")
	case set(t.SnapshotMoveData):
		mover := ""
		if t.DataMover != "" {
			mover = " by " + t.DataMover
		}
		parts = append(parts, "snapshots, whose data is moved to the location"+mover)
	default:
		parts = append(parts, "snapshots where a location or CSI driver can make them")
	}
	return strings.Join(parts, "; ")
}

func hooks(t velerov1.BackupSpec) string {
	var names []string
	for _, h := range t.Hooks.Resources {
		names = append(names, h.Name)
	}
	return strings.Join(names, ", ")
}

func labelsText(labels map[string]string) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		parts = append(parts, key+"="+labels[key])
	}
	return strings.Join(parts, ", ")
}

func period(d *metav1.Duration) string {
	switch {
	case d == nil || d.Duration < 0:
		return "the server's default"
	case d.Duration == 0:
		return "never: it is switched off"
	}
	return human.Duration(d.Duration)
}
