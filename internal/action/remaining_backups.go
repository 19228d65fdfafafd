package action

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// backupCopies is what is left to restore from once a backup is deleted.
type backupCopies struct {
	otherBackups []*veleroapi.Backup              // all other backups
	requests     []*veleroapi.DeleteBackupRequest // the deletion requests of all backups
	// lastCopyOf says what the backup is the last of, and loss what can no longer be done; both are empty if there is a
	// copy.
	lastCopyOf, loss string
}

func (c *backupCopies) addBackup(g *gatherer, _ *unstructured.Unstructured, b *veleroapi.Backup) {
	if b.UID != g.evidence.proposal.deletion.UID {
		c.otherBackups = append(c.otherBackups, b)
	}
}

// judgeCopies notes which other backups are copies, which are not, and why. For a scheduled backup, the schedule's
// other backups count if they hold as much; for any other backup, those count that hold all its namespaces by their
// filters. A backup that is not the schedule's but holds the namespaces is noted as a fact, and replaces no run of
// the schedule.
func (g *gatherer) judgeCopies() {
	d, at := &g.evidence.proposal.deletion, g.evidence.Now
	schedule := d.Labels[veleroapi.ScheduleNameLabel]
	scope := "that hold all its namespaces"
	candidates, others := d.copies.otherBackups, []*veleroapi.Backup(nil)
	holder := func(b *veleroapi.Backup) bool { return velero.HoldsAll(b, &d.Backup) }
	if schedule == "" {
		candidates = filterBackups(candidates, holder)
	} else {
		scope = "of schedule " + schedule
		of := func(b *veleroapi.Backup) bool { return b.Labels[veleroapi.ScheduleNameLabel] == schedule }
		others = filterBackups(candidates, func(b *veleroapi.Backup) bool { return !of(b) && holder(b) })
		candidates = filterBackups(candidates, of)
	}
	rules := g.buildCopyRules(slices.Concat(candidates, others))
	copies, excluded := splitCopies(rules, candidates)
	l := &g.evidence.proposal.facts
	left := human.CountForms(
		len(copies),
		"other completed backup",
		"other completed backups",
	) + " " + scope + causeSuffix(
		human.JoinNames(copies, 3),
	)
	l.AddFact(len(copies) > 0, diagnosis.SourceAPI, at, "%s", left)
	for _, e := range excluded {
		l.AddFact(e.Reason != velero.CopyUnknown, diagnosis.SourceAPI, at, "%s", e)
	}
	holders, _ := splitCopies(rules, others)
	if len(holders) > 0 {
		l.AddSupport(
			diagnosis.SourceAPI,
			at,
			"%s its namespaces, by their filters: %s",
			human.CountForms(
				len(holders),
				"other completed backup holds",
				"other completed backups hold",
			),
			human.JoinNames(holders, 3),
		)
	}
	if len(copies) == 0 {
		d.copies.noteLastCopy(&d.Backup, schedule, len(holders) > 0)
	}
}

// noteLastCopy says what is lost with the last copy. A backup that cannot be restored is no copy: a failed backup, or
// one whose deletion began. held reports whether a backup of no schedule, or of another schedule, holds its
// namespaces.
func (c *backupCopies) noteLastCopy(b *veleroapi.Backup, schedule string, held bool) {
	kind := "completed backup"
	switch b.Status.Phase {
	case veleroapi.BackupPhaseCompleted:
	case veleroapi.BackupPhasePartiallyFailed:
		kind = "backup that can be restored"
	default:
		return
	}
	switch {
	case schedule == "":
		c.lastCopyOf = "of its namespaces"
		c.loss = "no other holds all of them, and what only this one holds cannot be restored any more"
	case held:
		c.lastCopyOf, c.loss = "of schedule "+schedule, "no backup of schedule "+schedule+" can be restored any more"
	default:
		c.lastCopyOf, c.loss = "of schedule "+schedule, "nothing of schedule "+schedule+" can be restored any more"
	}
	c.lastCopyOf = "the LAST " + kind + " " + c.lastCopyOf
}

// refuseLastCopy returns the refusal to delete the last copy, with the advice on how to delete it.
func (d *backupDeletion) refuseLastCopy(p *Plan) decision {
	return newRefusal(
		"If nothing of it is needed: --last-copy ("+p.VeltuiCommand("backup", "delete", p.Name, "--last-copy")+
			"). Else make another first, and see which of the others do not count, and why.",
		"it is %s: %s",
		d.copies.lastCopyOf,
		d.copies.loss,
	)
}

// AcceptLastCopy returns the plan that deletes the last copy, if p was refused only because the backup is the last
// copy.
func (p *Plan) AcceptLastCopy() (Plan, bool) {
	o := p.evidence.proposal
	if p.Action != DeleteBackup || o == nil || o.refusal.refusal != "" || p.Refusal == "" ||
		o.deletion.copies.lastCopyOf == "" ||
		p.request.AllowLastCopy {
		return Plan{}, false
	}
	r := p.request
	r.AllowLastCopy = true
	accepted, ok := PlanFor(DeleteBackup, p.evidence, r)
	return accepted, ok && accepted.IsPossible()
}

// minCopyLifetime is the time for which a copy must still be kept: Velero checks for expired backups once an hour
// (see [velero.IsExpired]).
const minCopyLifetime = time.Hour

// buildCopyRules returns the rules that decide whether a backup is a copy of the backup to delete. It lists the
// locations only if a candidate lies in another location than the backup itself.
func (g *gatherer) buildCopyRules(candidates []*veleroapi.Backup) *velero.CopyRules {
	d := &g.evidence.proposal.deletion
	c := &velero.CopyRules{
		Now:              g.evidence.Now,
		Target:           &d.Backup,
		MinLifetime:      minCopyLifetime,
		MarkedBackups:    g.evidence.proposal.request.MarkedBackups,
		Origin:           velero.OriginHere,
		DeletionRequests: velero.GroupRequestsByBackup(d.copies.requests),
		LocationPhases:   map[string]veleroapi.BackupStorageLocationPhase{},
	}
	if origin, _ := velero.OriginOf(&d.Backup); origin != velero.OriginHere {
		c.Origin = velero.OriginElsewhere
	}
	switch l := g.evidence.Location; {
	case l != nil:
		c.LocationPhases[l.Name] = veleroapi.BackupStorageLocationPhase(l.Phase)
	case !g.evidence.LocationMissing:
		c.LocationsUnchecked = g.evidence.LocationUnchecked
	}
	elsewhere := func(b *veleroapi.Backup) bool { return b.Spec.StorageLocation != d.Spec.StorageLocation }
	if !slices.ContainsFunc(candidates, elsewhere) {
		return c
	}
	locations, err := g.listObjects(locationGVK, g.options.Namespace)
	if !g.checkAnswer("listing storage locations", err, &c.LocationsUnchecked) {
		c.LocationsUnchecked = cmp.Or(c.LocationsUnchecked, "they could not be listed")
		return c
	}
	c.LocationsUnchecked = ""
	for i := range locations {
		var l veleroapi.BackupStorageLocation
		if _, err := convertObject(&locations[i], &l); err == nil {
			c.LocationPhases[l.Name] = l.Status.Phase
		}
	}
	return c
}

// excludedCopies groups backups that are not copies for the same reason.
type excludedCopies struct {
	velero.CopyExclusion
	names []string
}

func (e excludedCopies) String() string {
	verb := "does not count"
	if len(e.names) > 1 {
		verb = "do not count"
	}
	return fmt.Sprintf("%s %s: %s", human.JoinNames(e.names, 3), verb, e.ReasonText)
}

// splitCopies returns the names of the backups that are copies, newest first, and the other backups by reason.
func splitCopies(rules *velero.CopyRules, backups []*veleroapi.Backup) (copies []string, excluded []excludedCopies) {
	backups = slices.Clone(backups)
	slices.SortStableFunc(backups, func(a, b *veleroapi.Backup) int {
		return cmp.Or(
			job.TimeOrZero(b.Status.StartTimestamp).Compare(job.TimeOrZero(a.Status.StartTimestamp)),
			cmp.Compare(a.Name, b.Name),
		)
	})
	for _, b := range backups {
		no := rules.FindExclusion(b)
		if no.IsCopy() {
			copies = append(copies, b.Name)
			continue
		}
		i := slices.IndexFunc(excluded, func(e excludedCopies) bool { return e.CopyExclusion == no })
		if i < 0 {
			i, excluded = len(excluded), append(excluded, excludedCopies{CopyExclusion: no})
		}
		excluded[i].names = append(excluded[i].names, b.Name)
	}
	return copies, excluded
}

func filterBackups(backups []*veleroapi.Backup, wanted func(*veleroapi.Backup) bool) (kept []*veleroapi.Backup) {
	for _, b := range backups {
		if wanted(b) {
			kept = append(kept, b)
		}
	}
	return kept
}
