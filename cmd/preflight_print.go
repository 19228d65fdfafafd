package cmd

import (
	"fmt"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/restore/preflight"
)

// preflightDocument is what `preflight -o json` prints.
type preflightDocument struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Backup     string `json:"backup"`
	// NamespaceMapping and ExistingResourcePolicy are the restore's.
	NamespaceMapping       map[string]string   `json:"namespaceMapping,omitempty"`
	ExistingResourcePolicy velerov1.PolicyType `json:"existingResourcePolicy,omitempty"`
	// Items is how many items the restore would try to restore, absent if that could
	// not be found out.
	Items     *int                  `json:"items,omitempty"`
	Obstacles int                   `json:"obstacles"`
	Doubts    int                   `json:"doubts"`
	Findings  []preflight.Finding   `json:"findings"`
	NotSeen   []preflight.NotLooked `json:"notSeen"`
	// Existing is what Velero does with each object that exists, with --compare.
	Existing []preflight.Existing `json:"existing,omitempty"`
}

func (c *stdio) printPreflight(restore velerov1.RestoreSpec, r *preflight.Result, output string) error {
	if output == "json" || output == "yaml" {
		p := documentPrinter{w: c.streams.Out, yaml: output == "yaml"}
		return p.document(preflightDocument{
			APIVersion: apiVersion, Kind: "Preflight", Backup: restore.BackupName, NamespaceMapping: restore.NamespaceMapping,
			ExistingResourcePolicy: restore.ExistingResourcePolicy, Items: r.Items,
			Obstacles: r.Count(preflight.Obstacle), Doubts: r.Count(preflight.Doubt),
			Findings: append([]preflight.Finding{}, r.Findings...), NotSeen: append([]preflight.NotLooked{}, r.NotLooked...),
			Existing: r.Existing,
		})
	}
	l := lines{w: c.streams.Out}
	items := "veltui cannot tell what it would restore"
	if r.Items != nil {
		items = human.Count(*r.Items, "item")
	}
	l.add("A restore of backup %s: %s, %s, %s", restore.BackupName, items,
		human.Count(r.Count(preflight.Obstacle), "obstacle"), human.Count(r.Count(preflight.Doubt), "doubt"))
	for _, f := range r.Findings {
		l.add("\n%s  %s%s", strings.ToUpper(string(f.Severity)), f.Reason, itemsOf(f))
		l.add("  %s", f.Sentence)
		if f.Remedy != "" {
			l.add("  > %s", f.Remedy)
		}
	}
	var unlooked []string
	for _, n := range r.NotLooked {
		unlooked = append(unlooked, n.What+": "+n.Why)
	}
	l.list("Not looked at", unlooked)
	return l.err
}

// itemsOf names the items of a finding.
func itemsOf(f preflight.Finding) string {
	names := append([]string{}, f.Names...)
	for i, name := range names {
		names[i] = human.Shorten(name, 80)
	}
	text := strings.Join(names, ", ")
	if more := f.Count - len(names); more > 0 && len(names) > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	switch {
	case text == "":
		return ""
	case f.Namespace != "" && f.Namespace != text:
		return "  in " + f.Namespace + ": " + text
	}
	return "  " + text
}
