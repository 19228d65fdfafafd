package action

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// backupCopies is what is left to restore from once a backup is deleted.
type backupCopies struct {
	backups  []*velerov1.Backup              // all others
	requests []*velerov1.DeleteBackupRequest // of any backup
	// last says what the backup is the last of, and loss what can no longer be done; empty if there is a copy.
	last, loss string
}

func (c *backupCopies) add(g *gathering, _ *unstructured.Unstructured, b *velerov1.Backup) {
	if b.UID != g.e.proposal.deletion.UID {
		c.backups = append(c.backups, b)
	}
}

// judgeCopies notes which other backups are copies, which are not, and why. Of a backup that a schedule made,
// the others of that schedule count that hold as much; of any other backup, those that hold all its
// namespaces by their filters. A backup that holds the namespaces of a scheduled one is noted as a fact, and
// replaces no run of it.
func (g *gathering) judgeCopies() {
	d, at := &g.e.proposal.deletion, g.e.At
	schedule := d.Labels[velerov1.ScheduleNameLabel]
	scope := "that hold all its namespaces"
	candidates, others := d.copies.backups, []*velerov1.Backup(nil)
	holder := func(b *velerov1.Backup) bool { return velero.HoldsAll(b, &d.Backup) }
	if schedule == "" {
		candidates = keep(candidates, holder)
	} else {
		scope = "of schedule " + schedule
		of := func(b *velerov1.Backup) bool { return b.Labels[velerov1.ScheduleNameLabel] == schedule }
		others = keep(candidates, func(b *velerov1.Backup) bool { return !of(b) && holder(b) })
		candidates = keep(candidates, of)
	}
	rules := g.copyRules(slices.Concat(candidates, others))
	copies, excluded := sortCopies(rules, candidates)
	l := &g.e.proposal.ledger
	left := human.Plural(
		len(copies),
		"other completed backup",
		"other completed backups",
	) + " " + scope + because(
		human.List(copies, 3),
	)
	l.Note(len(copies) > 0, diagnosis.SourceAPI, at, "%s", left)
	for _, e := range excluded {
		l.Note(e.Reason != velero.CopyUnknown, diagnosis.SourceAPI, at, "%s", e)
	}
	holders, _ := sortCopies(rules, others)
	if len(holders) > 0 {
		l.Supports(
			diagnosis.SourceAPI,
			at,
			"%s its namespaces, by their filters: %s",
			human.Plural(
				len(holders),
				"other completed backup holds",
				"other completed backups hold",
			),
			human.List(holders, 3),
		)
	}
	if len(copies) == 0 {
		d.copies.noteLast(&d.Backup, schedule, len(holders) > 0)
	}
}

// noteLast says what is lost with the last copy. A backup of which nothing can be restored is none: one that failed, or
// whose deletion began. held reports whether a backup of no schedule, or of another, holds its namespaces.
func (c *backupCopies) noteLast(b *velerov1.Backup, schedule string, held bool) {
	kind := "completed backup"
	switch b.Status.Phase {
	case velerov1.BackupPhaseCompleted:
	case velerov1.BackupPhasePartiallyFailed:
		kind = "backup that can be restored"
	default:
		return
	}
	switch {
	case schedule == "":
		c.last = "of its namespaces"
		c.loss = "no other holds all of them, and what only this one holds cannot be restored any more"
	case held:
		c.last, c.loss = "of schedule "+schedule, "no backup of schedule "+schedule+" can be restored any more"
	default:
		c.last, c.loss = "of schedule "+schedule, "nothing of schedule "+schedule+" can be restored any more"
	}
	c.last = "the LAST " + kind + " " + c.last
}

// refuseLast is why the last copy stays, and what lets it go.
func (d *backupDeletion) refuseLast(p *Plan) verdict {
	return refuse(
		"If nothing of it is needed: --last-copy ("+p.Veltui("backup", "delete", p.Name, "--last-copy")+
			"). Else make another first, and see which of the others do not count, and why.",
		"it is %s: %s",
		d.copies.last,
		d.copies.loss,
	)
}

// AcceptLastCopy returns the plan that deletes the last copy, of a plan that was refused because it is that and for no
// other reason.
func (p *Plan) AcceptLastCopy() (Plan, bool) {
	o := p.evidence.proposal
	if p.Action != DeleteBackup || o == nil || o.refusal.refusal != "" || p.Refusal == "" ||
		o.deletion.copies.last == "" ||
		p.request.LastCopy {
		return Plan{}, false
	}
	r := p.request
	r.LastCopy = true
	accepted, ok := For(DeleteBackup, p.evidence, r)
	return accepted, ok && accepted.Possible()
}

// copyLasts is how much longer a copy must be kept: Velero looks for expired backups once an hour (see
// [velero.Expired]).
const copyLasts = time.Hour

// copyRules are those by which backups are copies of the one to delete. The locations are listed only if one of them
// lies in another than the backup itself.
func (g *gathering) copyRules(candidates []*velerov1.Backup) *velero.Copies {
	d := &g.e.proposal.deletion
	c := &velero.Copies{
		Now:       g.e.At,
		Target:    &d.Backup,
		Lasts:     copyLasts,
		Marked:    g.e.proposal.request.Marked,
		Origin:    velero.OriginHere,
		Requests:  velero.RequestsByBackup(d.copies.requests),
		Locations: map[string]velerov1.BackupStorageLocationPhase{},
	}
	if origin, _ := velero.OriginOf(&d.Backup); origin != velero.OriginHere {
		c.Origin = velero.OriginStored
	}
	switch l := g.e.Location; {
	case l != nil:
		c.Locations[l.Name] = velerov1.BackupStorageLocationPhase(l.Phase)
	case !g.e.LocationGone:
		c.LocationsUnknown = g.e.LocationWhy
	}
	elsewhere := func(b *velerov1.Backup) bool { return b.Spec.StorageLocation != d.Spec.StorageLocation }
	if !slices.ContainsFunc(candidates, elsewhere) {
		return c
	}
	locations, err := g.list(locationKind, g.o.Namespace)
	if !g.seen("listing storage locations", err, &c.LocationsUnknown) {
		c.LocationsUnknown = cmp.Or(c.LocationsUnknown, "they could not be listed")
		return c
	}
	c.LocationsUnknown = ""
	for i := range locations {
		var l velerov1.BackupStorageLocation
		if _, err := convert(&locations[i], &l); err == nil {
			c.Locations[l.Name] = l.Status.Phase
		}
	}
	return c
}

// excludedCopies are backups that are no copies for the same reason.
type excludedCopies struct {
	velero.NoCopy
	names []string
}

func (e excludedCopies) String() string {
	verb := "does not count"
	if len(e.names) > 1 {
		verb = "do not count"
	}
	return fmt.Sprintf("%s %s: %s", human.List(e.names, 3), verb, e.Why)
}

// sortCopies returns the names of those that are copies, newest first, and the others by reason.
func sortCopies(rules *velero.Copies, backups []*velerov1.Backup) (copies []string, excluded []excludedCopies) {
	backups = slices.Clone(backups)
	slices.SortStableFunc(backups, func(a, b *velerov1.Backup) int {
		return cmp.Or(
			job.TimeOf(b.Status.StartTimestamp).Compare(job.TimeOf(a.Status.StartTimestamp)),
			cmp.Compare(a.Name, b.Name),
		)
	})
	for _, b := range backups {
		no := rules.Excludes(b)
		if no.Counts() {
			copies = append(copies, b.Name)
			continue
		}
		i := slices.IndexFunc(excluded, func(e excludedCopies) bool { return e.NoCopy == no })
		if i < 0 {
			i, excluded = len(excluded), append(excluded, excludedCopies{NoCopy: no})
		}
		excluded[i].names = append(excluded[i].names, b.Name)
	}
	return copies, excluded
}

func keep(backups []*velerov1.Backup, wanted func(*velerov1.Backup) bool) (kept []*velerov1.Backup) {
	for _, b := range backups {
		if wanted(b) {
			kept = append(kept, b)
		}
	}
	return kept
}
