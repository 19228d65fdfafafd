package preflight

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/platform"
	"github.com/veltui/veltui/internal/restore/identity"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// newResolver returns what names the items of the restore.
func (c *checker) newResolver() *identity.Resolver {
	csi, known := c.enablesCSI()
	r := &identity.Resolver{
		Modifier:        c.modifier.Rules,
		RenamesContents: known && csi && c.restoresVolumes() && !c.isServerBefore(1, 16),
	}
	if c.DryRun != nil {
		r.FindName = c.DryRun.FindName
	}
	return r
}

// mergedGroup collects the items that become one object for the same reason.
type mergedGroup struct {
	group
	first   identity.Merged
	exists  bool            // whether the objects are in the target before the restore
	maker   string          // who makes the object in each namespace, empty for nobody
	sources []string        // their namespaces in the backup
	objects map[string]bool // the names of the objects
}

// checkMerged finds the items of which only one object comes.
func (c *checker) checkMerged() error {
	all, unknown, err := c.newResolver().FindMerged(c.Fates)
	if err != nil {
		return err
	}
	groups := map[string]*mergedGroup{}
	for _, m := range all {
		if platform.MakesConfigMap(m.Resource, m.Name) || platform.Rewrites(m.Resource) {
			continue // what the backups hold of it is no loss
		}
		exists, maker := c.isInTarget(&m), ""
		if exists && c.leavesAll(&m) {
			continue // of all of them, and ObjectsExist says so
		}
		sources := sourcesOf(m.Items)
		if m.Cause == identity.Mapped {
			maker = platform.MakerOf(m.Resource, m.Name)
		}
		key := fmt.Sprint(m.Cause, m.Resource, m.Namespace, sources, maker, exists)
		if m.Cause == identity.Renamed {
			key += m.Name
		}
		g := groups[key]
		if g == nil {
			g = &mergedGroup{first: m, exists: exists, maker: maker, sources: sources, objects: map[string]bool{}}
			groups[key] = g
		}
		g.objects[m.Name] = true
		for _, i := range m.Items {
			g.addItem(i.Namespace, i.Name)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		g := groups[key]
		c.findings = append(c.findings, g.fillFinding(c.mergedFinding(g)))
	}
	if len(unknown) > 0 {
		i := unknown[0]
		c.addUnchecked(
			fmt.Sprintf("which names the resource modifier %s gives %s, such as %s/%s", c.modifier.Name,
				human.Count(len(unknown), "item"), i.Resource, human.Namespaced(i.Namespace, i.Name)),
			"the contents of the items decide, and only a dry run reads them",
		)
	}
	return nil
}

// isInTarget reports whether the object that several items become is in the target already. Velero restores snapshots
// and their contents under new names.
func (c *checker) isInTarget(m *identity.Merged) bool {
	if c.State == nil || m.Cause == identity.SharedContent ||
		m.Resource == snapshots && c.newResolver().RenamesContents {
		return false
	}
	_, seen := c.State.FindItem(m.Resource, m.Namespace, m.Name)
	return seen == live.Present
}

// leavesAll reports whether Velero restores none of the items of an object that exists: it compares the first with the
// object, warns where they differ, and comes to no other (pkg/restore/restore.go, restoreItem).
func (c *checker) leavesAll(m *identity.Merged) bool {
	return m.Cause == identity.Mapped && m.Resource != serviceAccounts && !c.updatesExisting()
}

func (c *checker) updatesExisting() bool {
	return c.Restore.ExistingResourcePolicy == veleroapi.PolicyTypeUpdate
}

func sourcesOf(items []collector.Item) (all []string) {
	for _, i := range items {
		all = append(all, i.Namespace)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (c *checker) mergedFinding(g *mergedGroup) Finding {
	m := &g.first
	f := Finding{Severity: Obstacle, Reason: ItemsMerged, Resource: m.Resource}
	sources := human.JoinNames(g.sources, maxNames)
	names := sanitize.String(human.JoinNames(slices.Sorted(maps.Keys(g.objects)), maxNames))
	switch m.Cause {
	case identity.Mapped:
		does := "restores only the first of each that it comes to, which is chance,"
		switch {
		case g.exists && m.Resource == serviceAccounts:
			f.Severity = Doubt
			does = "adds to the object that exists what the first of each holds that it comes to, which is chance,"
		case g.exists:
			does = "patches the object that exists to what the first of each holds that it comes to, which is chance,"
		}
		f.Sentence = fmt.Sprintf(
			"Namespaces %s become %s, and several of them hold %s of the same name: %s. Velero %s and skips the others "+
				"without a word.",
			sources, m.Namespace, m.Resource, names, does,
		)
		f.Remedy = "Map the namespaces to different names, or restore what they have in common from one of them only."
		if g.maker != "" {
			f.Severity = Doubt
			f.Sentence += fmt.Sprintf(" %s makes these in each namespace: what somebody added to them may be lost.", g.maker)
		}
	case identity.Renamed:
		f.Sentence = fmt.Sprintf("The resource modifier %s gives %s of %s one name, %s. %s", c.modifier.Name,
			human.Count(len(m.Items), "item"), m.Resource, human.Namespaced(m.Namespace, names), c.renamedText(m, g.exists))
		if g.exists && !c.updatesExisting() {
			f.Severity = Doubt
		}
		f.Remedy = "Correct the modifier: each item needs a name of its own."
	case identity.SharedContent:
		f.Severity = Doubt
		f.Sentence = fmt.Sprintf(
			"Namespaces %s hold volume snapshots of the same name: %s. Velero gives their contents one name, so that only "+
				"the first content of each comes, with a warning. The other snapshots never become ready. No claim comes from "+
				"them: claims come from the snapshots that Velero made itself, which have names of their own.",
			sources, names,
		)
		f.Remedy = "Restore the namespaces one after another."
	}
	return f
}

// renamedText says which of the items under one name comes.
func (c *checker) renamedText(m *identity.Merged, exists bool) string {
	name := func(i collector.Item) string { return sanitize.String(human.Namespaced(i.Namespace, i.Name)) }
	first, others := name(m.Items[0]), []string{}
	for _, i := range m.Items[1:] {
		others = append(others, name(i))
	}
	if exists && !c.updatesExisting() {
		return fmt.Sprintf("An object of this name exists: Velero leaves it as it is, and restores none of %s, with a "+
			"warning for each that differs.", human.JoinNames(append([]string{first}, others...), maxNames))
	}
	rest, hold := human.JoinNames(others, maxNames), pluralVerb(len(others), "holds", "hold")
	if !m.Ordered {
		hold = "hold"
		first, rest = "the first that it comes to, which is chance", "the others ("+strings.Join(
			append([]string{first}, rest), ", ")+")"
	}
	if c.updatesExisting() {
		return fmt.Sprintf("Velero restores %s, and then patches that object to what %s %s: only the last stays.",
			first, rest, hold)
	}
	return fmt.Sprintf("Velero restores %s. The object then exists, and Velero leaves out %s, with a warning for each "+
		"that differs.", first, rest)
}
