package cmd

import (
	"fmt"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/restore/preflight"
	"github.com/veltui/veltui/say/document"
)

func (c *stdio) printPreflight(restore velerov1.RestoreSpec, r *preflight.Result, output string) error {
	if output == "json" || output == "yaml" {
		p := documentPrinter{w: c.streams.Out, yaml: output == "yaml"}
		return p.document(document.NewPreflight(restore, r))
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
