package preflight

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// Input is everything that a preflight depends on. What is nil was not checked.
type Input struct {
	Restore       veleroapi.RestoreSpec
	RefusalReason string // why Velero would refuse the restore, if it would
	Velero        VeleroState
	// Index is what the backup holds, and Fates what becomes of each item.
	Index *collector.Index
	Fates *collector.Fates
	// Served, State and Environment are what the cluster serves and holds; Versions are all API versions of its
	// resources.
	Served      *live.ServedKinds
	Versions    map[string][]string
	State       *live.State
	Environment *live.Environment
	// Unlistable maps each kind that the API server fails to list to the reason; CRDChanges says when CRDs that do not
	// serve the backup's version were changed.
	Unlistable map[string]string
	CRDChanges map[string]time.Time
	// Compared is true if the existing objects were compared with the backup; Existing is what Velero does with each of
	// them.
	Compared  bool
	Existing  []ExistingObject
	DryRun    *DryRun     // what the API server answered, nil if it was not asked
	Unchecked []Unchecked // what could not be read at all
	Now       time.Time
}

// VeleroState is the state of Velero and of the backup.
type VeleroState struct {
	Backup *veleroapi.Backup // nil if no backup has that name
	// Location is the backup's storage location; nil if there is none, or if LocationsUnchecked says why it is unknown.
	Location           *veleroapi.BackupStorageLocation
	LocationsUnchecked string
	Server             velero.Server
	// Running and Waiting are the restores ahead of this one; QueueUnchecked says why they are unknown.
	Running, Waiting []string
	QueueUnchecked   string
	// Deletion is a request to delete the backup; DeletionsUnchecked says why it is unknown whether there is one.
	Deletion           *veleroapi.DeleteBackupRequest
	DeletionsUnchecked string
	// NotFinalized is true if Velero did not store the backup's contents after its operations; FinalizedUnchecked says
	// why that is unknown.
	NotFinalized       bool
	FinalizedUnchecked string
	// Volumes are Velero's records of the backup's volumes; VolumesUnchecked says why they are unknown.
	Volumes          []artifact.VolumeInfo
	VolumesUnchecked string
	// Agents are Velero's node-agents; AgentsUnchecked says why they are unknown.
	Agents          []velero.NodeAgent
	AgentsUnchecked string
}

type checker struct {
	Input
	findings  []Finding
	unchecked []Unchecked
	itemCount int

	// What the restore brings that others need.
	provided        map[string]map[string]bool     // resource -> "namespace/name" or "name"
	retainedVolumes map[string]bool                // volumes that may be restored as they were
	savedVolumes    map[string]artifact.VolumeInfo // what Velero stored of the backup's volumes, by name
	// pods of the backup with file-system backups, as "namespace/name"
	podsWithVolumeBackups map[string]bool
	itemsByNamespace      map[string]int                   // target namespace -> items
	newItems              map[string]map[string]int        // namespace -> resource -> items that are new
	unansweredItems       map[string]map[string]int        // the same without those for which a dry run has answered
	existingItems         map[string]map[string]int        // namespace -> resource -> items that exist
	demands               map[string]*namespaceDemand      // namespace -> the demand of new items
	limitRanges           map[string]*namespaceLimitRanges // namespace -> its limit ranges
	brought               broughtRules                     // what the restore brings that decides about other items
	bringsDefaultClass    bool                             // it brings a storage class that is the default
	newNamespaces         map[string]map[string]string     // the labels of namespaces that the restore creates
	// unmodified are the resources of which the resource modifier's result is unknown; nil stands for all.
	unmodified    map[string]bool
	rejectedItems map[[3]string]bool // resource, namespace and name, by the dry run
	modifier      Modifier
	security      podSecurity
	scratchPod    podNeeds // reused for each pod
}

// Check finds what stands in the way of a restore. Its error is the cause of the fates' context.
func Check(in Input) (*Result, error) {
	in.Existing = correctExisting(in.Existing, in.DryRun)
	c := &checker{
		savedVolumes:          map[string]artifact.VolumeInfo{},
		podsWithVolumeBackups: map[string]bool{},
		Input:                 in,
		unchecked:             slices.Clone(in.Unchecked),
		provided:              map[string]map[string]bool{},
		retainedVolumes:       map[string]bool{},
		itemsByNamespace:      map[string]int{},
		newItems:              map[string]map[string]int{},
		unansweredItems:       map[string]map[string]int{},
		existingItems:         map[string]map[string]int{},
		newNamespaces:         map[string]map[string]string{},
		brought: broughtRules{
			quotas:      map[string][]*corev1.ResourceQuota{},
			limitRanges: map[string][]*corev1.LimitRange{},
			unanswered:  map[string]bool{},
		},
		demands:     map[string]*namespaceDemand{},
		limitRanges: map[string]*namespaceLimitRanges{},
		security: podSecurity{
			enforced: map[string]api.LevelVersion{},
			reasons:  map[securityQuery][]string{},
		},
	}
	c.checkVelero()
	c.modifier = FindModifier(in.Restore, in.Velero.Server.Flags.DefaultResourceModifier, in.Environment)
	c.checkValidation()
	c.checkIgnoredFields()
	if in.Fates != nil {
		if err := c.checkContents(); err != nil {
			return nil, err
		}
	}
	r := &Result{
		Findings:  sortFindings(c.findings),
		Unchecked: c.unchecked,
		Existing:  in.Existing,
		DryRun:    in.DryRun,
		Fates:     in.Fates,
	}
	if in.Fates != nil && in.Served != nil {
		r.Items = &c.itemCount
	}
	return r, nil
}

// addFinding adds a finding. An obstacle that a resource modifier may remove becomes a doubt.
func (c *checker) addFinding(f Finding) {
	if f.Severity == Obstacle && slices.ContainsFunc(bodyResources[f.Reason], c.mayBeModified) {
		f.Severity = Doubt
		f.Sentence += " The resource modifier " + c.modifier.Name + " may change that."
	}
	c.findings = append(c.findings, f)
}

// bodyResources maps the reasons that depend on the bodies of items to the resources of those items.
var bodyResources = map[Reason][]string{
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

func (c *checker) addFindingFor(name string, severity Severity, reason Reason, sentence, remedy string) {
	c.addFinding(
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

func (c *checker) addUnchecked(what, why string) {
	c.unchecked = append(c.unchecked, Unchecked{What: what, Why: why})
}

func (c *checker) addUncheckedList(what string, n live.Unchecked) {
	c.unchecked = append(c.unchecked, Unchecked{what + inNamespaceText(n.Namespace), n.Resource, n.Namespace, n.Why})
}

func (c *checker) checkContents() error {
	c.collectVolumes()
	if err := c.collectProvided(); err != nil {
		return err
	}
	c.checkKinds()
	c.checkNamespaces()
	if err := c.checkSelection(); err != nil {
		return err
	}
	if err := c.checkMerged(); err != nil {
		return err
	}
	if err := c.checkStatus(); err != nil {
		return err
	}
	if err := c.checkExisting(); err != nil {
		return err
	}
	c.checkBroughtAdmission()
	if c.Index.NamesOnly {
		c.addUnchecked("storage, quotas, node ports and webhooks", "only the names in the backup were read")
	} else if err := c.checkNeeds(); err != nil {
		return err
	}
	if c.Velero.VolumesUnchecked != "" && (c.provided[claims] != nil || c.provided[pods] != nil) {
		c.addUnchecked("how the data of volumes comes back", c.Velero.VolumesUnchecked)
	}
	c.checkWebhooks()
	c.checkStandIn()
	c.checkPluginConfigs()
	c.checkQuotas()
	c.checkLimitRanges()
	c.checkPodSecurity()
	if c.Index.Incomplete {
		c.addUnchecked("all of the backup", "veltui could not read it to its end")
	}
	c.addUncheckedEnvironment()
	c.checkDryRun()
	return nil
}

// collectProvided collects what the restore brings that other items may need.
func (c *checker) collectProvided() error {
	err := c.Fates.EachLabelledItem(func(i collector.Item, labels func() (map[string]string, bool)) {
		if i.Fate != collector.ToRestore || i.IsMirrorPod {
			return
		}
		c.itemCount++
		if c.provided[i.Resource] == nil {
			c.provided[i.Resource] = map[string]bool{}
		}
		switch i.Resource {
		case live.Namespaces:
			if c.newNamespaces[i.TargetNamespace] == nil {
				c.newNamespaces[i.TargetNamespace], _ = labels()
			}
		case live.Services:
			c.provided[i.Resource][i.TargetNamespace+"/"+i.Name] = true
		case live.StorageClasses, live.SnapshotClasses, live.CSIDrivers, volumes:
			c.provided[i.Resource][i.Name] = true
		}
		if i.TargetNamespace != "" && i.Resource != live.Namespaces {
			c.itemsByNamespace[i.TargetNamespace]++
		}
	})
	if err != nil {
		return err
	}
	return c.eachItemNeeds(func(i collector.Item, needs []collector.Need) {
		for _, n := range needs {
			if n.Kind == collector.NeedRetainedVolume {
				c.retainedVolumes[i.Name] = true
			}
			if n.Kind == collector.NeedCSIDriver && i.Resource == live.SnapshotClasses {
				c.provided[live.SnapshotClasses][driverPrefix+n.Name] = true
			}
			switch n.Kind {
			case collector.NeedRules:
				c.addRules(i, n.Name)
			case collector.NeedIsDefault:
				c.bringsDefaultClass = c.bringsDefaultClass || !c.leavesExisting(i)
			}
		}
	})
}

// checkKinds finds the kinds that the cluster does not serve. Velero requests them anyway, and reports an error for
// each item (pkg/restore/restore.go, restoreItem).
func (c *checker) checkKinds() {
	if c.Served == nil {
		return
	}
	untold := c.Served.UnexplainedWords(slices.Concat(c.Restore.IncludedResources, c.Restore.ExcludedResources))
	for _, word := range untold {
		c.addUnchecked(
			"what "+word+" stands for in --include-resources or --exclude-resources",
			"the API group of it may be one that does not answer: "+c.Served.SilentGroups(),
		)
	}
	var silent []string
	for _, resource := range slices.Sorted(maps.Keys(c.provided)) {
		serves, known := c.Served.IsServed(resource)
		switch {
		case c.Unlistable[resource] != "":
			stored := c.Index.PreferredVersion(resource)
			c.addUnlistable(
				resource,
				"The API server fails to list "+resource+" ("+human.Shorten(c.Unlistable[resource], 300)+").",
				stored == "" || stored == c.Served.PreferredVersion(resource) ||
					slices.Contains(c.Velero.Server.Flags.Features, "EnableAPIGroupVersions"),
			)
		case serves, c.Fates.IsServed(resource):
			c.checkVersion(resource)
		case !known:
			silent = append(silent, resource)
		default:
			c.addUnserved(resource, Finding{
				Severity: Obstacle,
				Reason:   KindNotServed,
				Resource: resource,
				Sentence: fmt.Sprintf(
					"The cluster does not serve %s, and the restore brings no CRD for it. Velero has an error for each of them.%s",
					resource, c.discoveryText(),
				),
				Remedy: "Install the CRD or the operator first, or leave them out with --exclude-resources " + resource + ".",
			})
		}
	}
	if len(silent) > 0 {
		c.addUnchecked(
			"whether the cluster serves "+human.JoinNames(silent, 5)+", and what is there of them",
			"API groups do not answer: "+c.Served.SilentGroups(),
		)
	} else if len(c.Served.SilentReasons) > 0 && len(untold) == 0 {
		c.addFinding(
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

// checkVersion finds items that are stored in an API version that the cluster no longer serves.
func (c *checker) checkVersion(resource string) {
	stored := c.Index.PreferredVersion(resource)
	if stored == "" || c.Served.PreferredVersion(resource) == "" || stored == c.Served.PreferredVersion(resource) {
		return
	}
	served := c.Versions[resource]
	switch {
	case len(served) == 0: // the cluster did not list the whole group
		c.addUnchecked(
			"whether the cluster serves "+resource+" in version "+stored,
			"the cluster did not tell its API versions",
		)
		return
	case slices.Contains(served, stored):
		return
	}
	changed := c.CRDChanges[resource]
	if started := c.Velero.Server.StartedAt; !c.Velero.Server.Flags.DisableInformerCache &&
		c.Now.Sub(changed) < discoveryAge &&
		started.Before(changed) {
		c.addUnlistable(
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
	for _, other := range c.Index.APIVersions(resource) {
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
	c.addUnserved(resource, f)
}

// addUnserved adds a finding about the items of a resource, unless a dry run has answered for them.
func (c *checker) addUnserved(resource string, f Finding) {
	if g := c.groupItems(resource); g.count > 0 {
		c.addFinding(g.fillFinding(f))
	}
}

// discoveryAge is how long Velero relies on what it discovered that the cluster serves (pkg/cmd/server/server.go,
// initDiscoveryHelper).
const discoveryAge = 5 * time.Minute

// discoveryText says what Velero does with a kind that the cluster served until a moment ago: Velero still counts on
// the kind, and lists it (see addUnlistable).
func (c *checker) discoveryText() string {
	if c.Velero.Server.Flags.DisableInformerCache {
		return ""
	}
	return " If the cluster served it within the last " + human.Duration(discoveryAge) +
		", Velero may still count on it: Velero then waits for its list without a limit, and starts no other restore " +
		"meanwhile. Wait until Velero has asked the cluster again."
}

// addUnlistable adds a finding about a kind that cannot be listed. Velero lists the kinds of a restore before the
// first item, in the versions that it prefers, and waits for the lists without a limit (pkg/restore/restore.go of
// 1.14 to 1.18, execute: ResourceFor, WaitForCacheSync; pkg/discovery/helper.go).
func (c *checker) addUnlistable(resource, cause string, listed bool) {
	then := " Velero has an error for each of them."
	if listed && !c.Velero.Server.Flags.DisableInformerCache {
		then = " Velero lists it before it restores the first item, waits without a limit, and starts no other " +
			"restore meanwhile."
	}
	c.addFinding(
		c.groupItems(resource).fillFinding(Finding{
			Severity: Obstacle,
			Reason:   KindNotListable,
			Resource: resource,
			Sentence: cause + then,
			Remedy: "Have the kind served again (its conversion webhook, its API service, the version), or leave it " +
				"out with --exclude-resources " + resource + ". A restore that hangs goes on then, or ends when Velero restarts.",
		}),
	)
}

func (c *checker) groupItems(resource string) *group {
	g := &group{}
	_ = c.Fates.EachItem(func(i collector.Item) {
		if i.Resource == resource && isRestored(i) && !c.isAnswered(resource, i.TargetNamespace, i.Name) {
			g.addItem(i.TargetNamespace, i.Name)
		}
	})
	return g
}

// checkNamespaces finds the namespaces that are being deleted. Velero waits for such a namespace with each item that
// goes into it, and then reports an error for the item (pkg/restore/restore.go, processSelectedResource; Velero does
// not find what it remembers in between, because the kind of the Namespace that it reads is empty:
// pkg/util/kube/utils.go).
func (c *checker) checkNamespaces() {
	if c.Environment == nil {
		return
	}
	each := cmp.Or(c.Velero.Server.Flags.TerminatingTimeout, 10*time.Minute) // --terminating-resource-timeout
	for _, name := range slices.Sorted(maps.Keys(c.itemsByNamespace)) {
		if n := c.itemsByNamespace[name]; c.Environment.Namespaces[name].Terminating {
			c.addFinding(
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
