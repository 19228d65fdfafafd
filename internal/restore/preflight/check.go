package preflight

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/pod-security-admission/api"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/velero"
)

// Input is all that a preflight goes by. What is nil was not looked at.
type Input struct {
	Restore velerov1.RestoreSpec
	Refused string // why Velero would refuse the restore, if it would
	Velero  Velero
	// Index and Fates are what the backup holds, and what becomes of it.
	Index *collector.Index
	Fates *collector.Fates
	// Served, State and Around are what the cluster serves and holds; Versions are all API versions of its resources.
	Served   *live.Served
	Versions map[string][]string
	State    *live.State
	Around   *live.Surroundings
	// Failing are the kinds that the API server fails to list, with why; Changed says when
	// CRDs that do not serve the backup's version were changed.
	Failing map[string]string
	Changed map[string]time.Time
	// Compared says that the objects that exist were compared with the backup, and
	// Existing what Velero does with each.
	Compared bool
	Existing []Existing
	DryRun   *DryRun     // what the API server answered, nil if it was not asked
	Unread   []NotLooked // what could not be read at all
	Now      time.Time
}

// Velero is the state of Velero and of the backup.
type Velero struct {
	Backup *velerov1.Backup // nil if there is none of that name
	// Location is the backup's; nil if there is none, or if LocationsUnseen says why that is not known.
	Location        *velerov1.BackupStorageLocation
	LocationsUnseen string
	Server          velero.Server
	// Running and Waiting are the restores ahead, QueueUnseen why they are not known.
	Running, Waiting []string
	QueueUnseen      string
	// Deletion is a request to delete the backup, DeletionsUnseen why it is not known whether there is one.
	Deletion        *velerov1.DeleteBackupRequest
	DeletionsUnseen string
	// NotFinalized is true if Velero did not store the backup's contents after its
	// operations, FinalizedUnseen why that is not known.
	NotFinalized    bool
	FinalizedUnseen string
	// Volumes are what Velero stored of the backup's volumes, VolumesUnseen why that is not known.
	Volumes       []artifact.Volume
	VolumesUnseen string
	// Agents are Velero's node-agents, AgentsUnseen why they are not known.
	Agents       []velero.Agent
	AgentsUnseen string
}

type check struct {
	Input
	found  []Finding
	unseen []NotLooked
	items  int

	// What the restore brings that others need.
	brings   map[string]map[string]bool // resource -> "namespace/name" or "name"
	retained map[string]bool            // volumes that may be restored as they were
	saved    map[string]artifact.Volume // what Velero stored of the backup's volumes, by name
	podData  map[string]bool            // pods of the backup with file-system backups, as "namespace/name"
	spaces   map[string]int             // target namespace -> items
	created  map[string]map[string]int  // namespace -> resource -> items that are new
	unasked  map[string]map[string]int  // the same without those for which a dry run has answered
	wants    map[string]*demand         // namespace -> what new items ask for
	ranges   map[string]*ranges         // namespace -> its limit ranges
	modifier Modifier
	security secured
	pod      pod // used again for each
}

// Check finds what stands in the way of a restore. Its error is the cause of the context of the fates.
func Check(in Input) (*Result, error) {
	c := &check{
		saved:    map[string]artifact.Volume{},
		podData:  map[string]bool{},
		Input:    in,
		unseen:   slices.Clone(in.Unread),
		brings:   map[string]map[string]bool{},
		retained: map[string]bool{},
		spaces:   map[string]int{},
		created:  map[string]map[string]int{},
		unasked:  map[string]map[string]int{},
		wants:    map[string]*demand{},
		ranges:   map[string]*ranges{},
		security: secured{
			labels:   map[string]map[string]string{},
			enforced: map[string]api.LevelVersion{},
			reasons:  map[judged][]string{},
		},
	}
	c.velero()
	c.modifier = ModifierOf(in.Restore, in.Velero.Server.Flags.DefaultModifier, in.Around)
	c.validate()
	c.ignored()
	if in.Fates != nil {
		if err := c.backup(); err != nil {
			return nil, err
		}
	}
	r := &Result{
		Findings:  sorted(c.found),
		NotLooked: c.unseen,
		Existing:  in.Existing,
		DryRun:    in.DryRun,
		Fates:     in.Fates,
	}
	if in.Fates != nil && in.Served != nil {
		r.Items = &c.items
	}
	return r, nil
}

// find keeps a finding. What a resource modifier may change is no more than a doubt.
func (c *check) find(f Finding) {
	m, of := &c.modifier, ofBodies[f.Reason]
	if m.Name != "" && f.Severity == Obstacle &&
		slices.ContainsFunc(of, func(resource string) bool { return m.Rules == nil || m.Rules.Touches(resource) }) {
		f.Severity = Doubt
		f.Sentence += " The resource modifier " + m.Name + " may change that."
	}
	c.found = append(c.found, f)
}

// ofBodies are the reasons that go by what is in the body of items, with the resources of these.
var ofBodies = map[Reason][]string{
	StorageClassMissing: {
		claims,
	},
	DefaultClassMissing: {claims},
	ClaimsNeverBind:     {claims, volumes},
	VolumesEmpty:        {claims},
	QuotaExceeded:       {pods, claims, live.Services},
	QuotaNeedsResources: {pods},
	LimitRangeViolated:  {pods, claims},
	NodePortTaken:       {live.Services},
	PodSecurityViolated: {pods},
}

func (c *check) about(name string, severity Severity, reason Reason, sentence, remedy string) {
	c.find(
		Finding{
			Severity: severity,
			Reason:   reason,
			Count:    1,
			Names:    []string{name},
			Sentence: sentence,
			Remedy:   remedy,
		},
	)
}

func (c *check) notLooked(what, why string) {
	c.unseen = append(c.unseen, NotLooked{What: what, Why: why})
}

func (c *check) notListed(what string, n live.NotSeen) {
	c.unseen = append(c.unseen, NotLooked{what + in(n.Namespace), n.Resource, n.Namespace, n.Why})
}

func (c *check) backup() error {
	c.readVolumes()
	if err := c.gather(); err != nil {
		return err
	}
	c.kinds()
	c.namespaces()
	if err := c.existing(); err != nil {
		return err
	}
	if c.Index.NamesOnly {
		c.notLooked("storage, quotas, node ports and webhooks", "only the names in the backup were read")
	} else if err := c.needs(); err != nil {
		return err
	}
	if c.Velero.VolumesUnseen != "" && (c.brings[claims] != nil || c.brings[pods] != nil) {
		c.notLooked("how the data of volumes comes back", c.Velero.VolumesUnseen)
	}
	c.webhooks()
	c.pluginConfigs()
	c.quotas()
	c.limits()
	c.findInsecure()
	if c.Index.Incomplete {
		c.notLooked("all of the backup", "veltui could not read it to its end")
	}
	c.unlookedAround()
	c.dryRun()
	return nil
}

// gather notes what the restore brings that others may need.
func (c *check) gather() error {
	err := c.Fates.Each(func(i collector.Item) {
		if i.Fate != collector.ToRestore || i.Mirror {
			return
		}
		c.items++
		if c.brings[i.Resource] == nil {
			c.brings[i.Resource] = map[string]bool{}
		}
		switch i.Resource {
		case live.Namespaces:
		case live.Services:
			c.brings[i.Resource][i.Target+"/"+i.Name] = true
		case live.StorageClasses, live.SnapshotClasses, live.Drivers, volumes:
			c.brings[i.Resource][i.Name] = true
		}
		if i.Target != "" && i.Resource != live.Namespaces {
			c.spaces[i.Target]++
		}
	})
	if err != nil {
		return err
	}
	return c.Fates.Needs(func(i collector.Item, needs []collector.Need) {
		for _, n := range needs {
			if n.Kind == collector.NeedRetained {
				c.retained[i.Name] = true
			}
			if n.Kind == collector.NeedDriver && i.Resource == live.SnapshotClasses {
				c.brings[live.SnapshotClasses][ofDriver+n.Name] = true
			}
		}
		if i.Resource == live.Namespaces {
			c.enforcedBy(i, needs)
		}
	})
}

// kinds finds what the cluster does not serve. Velero asks for it all the same, and
// has an error for each item (pkg/restore/restore.go, restoreItem).
func (c *check) kinds() {
	if c.Served == nil {
		return
	}
	untold := c.Served.Untold(slices.Concat(c.Restore.IncludedResources, c.Restore.ExcludedResources))
	for _, word := range untold {
		c.notLooked(
			"what "+word+" stands for in --include-resources or --exclude-resources",
			"the API group of it may be one that does not answer: "+c.Served.SilentGroups(),
		)
	}
	var silent []string
	for _, resource := range slices.Sorted(maps.Keys(c.brings)) {
		serves, known := c.Served.Serves(resource)
		switch {
		case c.Failing[resource] != "":
			stored := c.Index.Version(resource)
			c.notListable(
				resource,
				"The API server fails to list "+resource+" ("+human.Shorten(c.Failing[resource], 300)+").",
				stored == "" || stored == c.Served.Version(resource) ||
					slices.Contains(c.Velero.Server.Flags.Features, "EnableAPIGroupVersions"),
			)
		case serves, c.Fates.Serves(resource):
			c.version(resource)
		case !known:
			silent = append(silent, resource)
		default:
			c.findUnserved(resource, Finding{
				Severity: Obstacle,
				Reason:   KindNotServed,
				Resource: resource,
				Sentence: fmt.Sprintf(
					"The cluster does not serve %s, and the restore brings no CRD for it. Velero has an error for each of them.",
					resource,
				),
				Remedy: "Install the CRD or the operator first, or leave them out with --exclude-resources " + resource + ".",
			})
		}
	}
	if len(silent) > 0 {
		c.notLooked(
			"whether the cluster serves "+human.List(silent, 5)+", and what is there of them",
			"API groups do not answer: "+c.Served.SilentGroups(),
		)
	} else if len(c.Served.Silent) > 0 && len(untold) == 0 {
		c.find(
			Finding{
				Severity: Note,
				Reason:   GroupsSilent,
				Sentence: "API groups do not answer: " + human.Shorten(
					c.Served.SilentGroups(),
					300,
				) + ". The restore brings nothing of them, but no namespace can be deleted until they do.",
			},
		)
	}
}

// version finds what is stored in an API version that is gone.
func (c *check) version(resource string) {
	stored := c.Index.Version(resource)
	if stored == "" || c.Served.Version(resource) == "" || stored == c.Served.Version(resource) {
		return
	}
	served := c.Versions[resource]
	switch {
	case len(served) == 0: // it did not tell all of the group
		c.notLooked(
			"whether the cluster serves "+resource+" in version "+stored,
			"the cluster did not tell its API versions",
		)
		return
	case slices.Contains(served, stored):
		return
	}
	changed := c.Changed[resource]
	if started := c.Velero.Server.StartedAt; !c.Velero.Server.Flags.NoInformerCache &&
		c.Now.Sub(changed) < discoveryAge &&
		started.Before(changed) {
		c.notListable(
			resource,
			fmt.Sprintf(
				"The backup holds %s in version %s, which the cluster served until its CRD changed %s. Velero may not know "+
					"that yet.",
				resource,
				stored,
				human.Ago(changed, c.Now),
			),
			true,
		)
		return
	}
	f := Finding{
		Severity: Obstacle,
		Reason:   VersionNotServed,
		Resource: resource,
		Sentence: fmt.Sprintf(
			"The backup holds %s in version %s, and the cluster does not serve that. Velero has an error for each of them.",
			resource,
			stored,
		),
		Remedy: "Leave them out with --exclude-resources " + resource + ", and apply them in a version that the " +
			"cluster serves.",
	}
	for _, other := range c.Index.Versions(resource) {
		if slices.Contains(served, other) {
			f.Severity = Doubt
			f.Sentence = fmt.Sprintf(
				"The backup holds %s in version %s, which the cluster does not serve, and in %s, which it does. Velero "+
					"takes that only with the feature flag EnableAPIGroupVersions.",
				resource,
				stored,
				other,
			)
			f.Remedy = "Make sure that the Velero server runs with --features=EnableAPIGroupVersions."
		}
	}
	c.findUnserved(resource, f)
}

// findUnserved finds the items of a resource, unless a dry run has answered for them.
func (c *check) findUnserved(resource string, f Finding) {
	if g := c.itemsOf(resource); g.count > 0 {
		c.find(g.fill(f))
	}
}

// discoveryAge is how long Velero goes by what the cluster served (pkg/cmd/server/server.go, initDiscoveryHelper).
const discoveryAge = 5 * time.Minute

// notListable: Velero lists the kinds of a restore before the first item, in the versions that it prefers,
// and waits for that without a limit (pkg/restore/restore.go of 1.14 to 1.18, execute: ResourceFor,
// WaitForCacheSync; pkg/discovery/helper.go).
func (c *check) notListable(resource, cause string, listed bool) {
	then := " Velero has an error for each of them."
	if listed && !c.Velero.Server.Flags.NoInformerCache {
		then = " Velero lists it before it restores the first item, waits without a limit, and starts no other " +
			"restore meanwhile."
	}
	c.find(
		c.itemsOf(resource).fill(Finding{
			Severity: Obstacle,
			Reason:   KindNotListable,
			Resource: resource,
			Sentence: cause + then,
			Remedy: "Have the kind served again (its conversion webhook, its API service, the version), or leave it " +
				"out with --exclude-resources " + resource + ". A restore that hangs goes on then, or ends when Velero restarts.",
		}),
	)
}

func (c *check) itemsOf(resource string) *group {
	g := &group{}
	_ = c.Fates.Each(func(i collector.Item) {
		if i.Resource == resource && isRestored(i) && !c.answered(resource, i.Target, i.Name) {
			g.add(i.Target, i.Name)
		}
	})
	return g
}

// namespaces finds those that are going. Velero waits for one with each item that goes into it, and then has an
// error for the item (pkg/restore/restore.go, processSelectedResource; what it remembers in between it does not
// find again, because the kind of the Namespace that it reads is empty: pkg/util/kube/utils.go).
func (c *check) namespaces() {
	if c.Around == nil {
		return
	}
	each := cmp.Or(c.Velero.Server.Flags.TerminatingTimeout, 10*time.Minute) // --terminating-resource-timeout
	for _, name := range slices.Sorted(maps.Keys(c.spaces)) {
		if n := c.spaces[name]; c.Around.Namespaces[name].Terminating {
			c.find(
				Finding{
					Severity:  Obstacle,
					Reason:    NamespaceTerminating,
					Resource:  live.Namespaces,
					Namespace: name,
					Count:     1,
					Names:     []string{name},
					Sentence: fmt.Sprintf(
						"Namespace %s is being deleted. With each of %s, Velero waits up to %s for it to go: %s in all if it does "+
							"not, and then Velero restores nothing into it.",
						name,
						human.Count(n, "item"),
						human.Duration(each),
						human.Duration(time.Duration(n)*each),
					),
					Remedy: "Wait until it is gone (kubectl get namespace " + name + "), or map it to another name with " +
						"--namespace-mappings.",
				},
			)
		}
	}
}
