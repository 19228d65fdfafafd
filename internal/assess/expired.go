package assess

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/watch"
)

const (
	// gcGrace is how long an expired backup may stay: Velero's garbage collector looks every hour
	// (pkg/cmd/server/config/config.go defaultGCFrequency).
	gcGrace = 2 * time.Hour
	// readOnlyGrace is the same for a read-only location: that is often meant to be for a short time.
	readOnlyGrace = 7 * 24 * time.Hour
)

// addExpired adds a finding for each location from which Velero cannot delete its expired backups, as the location is
// missing or read-only. While a location is Unavailable, the finding about it says enough.
func (l *findingBuilder) addExpired() {
	if l.sourceState(watch.StorageLocations) != watch.SourceLive {
		return
	}
	byLocation := map[string][]*job.Job{} // newest first
	for _, j := range l.Snapshot.Jobs {
		b, ok := j.Object.(*veleroapi.Backup)
		if ok && b.Status.Expiration != nil && l.isHeldBack(j, b) {
			byLocation[j.StorageLocation] = append(byLocation[j.StorageLocation], j)
		}
	}
	for _, location := range slices.Sorted(maps.Keys(byLocation)) {
		l.addExpiredIn(location, byLocation[location])
	}
}

// isHeldBack reports whether a backup has expired and Velero cannot delete it because of its location
// (pkg/controller/gc_controller.go Reconcile; 1.14 to 1.18.3). Copies of another cluster's backups in a read-only
// location are that cluster's to delete.
func (l *findingBuilder) isHeldBack(j *job.Job, b *veleroapi.Backup) bool {
	over := l.World.Now.Sub(b.Status.Expiration.Time)
	if over < gcGrace || j.Deleting || !j.IsTerminal() {
		return false
	}
	_, there := l.World.Locations[j.StorageLocation]
	switch {
	case !there:
		return j.StorageLocation != ""
	case l.isReadOnly(j.StorageLocation):
		origin, _ := velero.OriginOf(b)
		return over >= readOnlyGrace && origin == velero.OriginHere
	}
	return false
}

func (l *findingBuilder) addExpiredIn(location string, backups []*job.Job) {
	var since time.Time
	oldest := backups[0]
	for _, j := range backups {
		if at := j.Object.(*veleroapi.Backup).Status.Expiration.Time; since.IsZero() || at.Before(since) {
			since, oldest = at, j
		}
	}
	why, reason := "their storage location does not exist", ExpiredWithoutLocation
	if _, there := l.World.Locations[location]; there {
		why, reason = "their storage location is ReadOnly", ExpiredReadOnly
	}
	l.addBeside(Finding{
		Severity: Warning, Reason: reason, Kind: "storage", Name: location, UID: oldest.UID, Tab: TabBackups,
		Since: since, Count: len(backups),
		Summary: fmt.Sprintf("%s expired, the first %s ago, and cannot be deleted by Velero: %s",
			human.CountForms(len(backups), "backup has", "backups have"), l.formatAge(since), why),
	})
}
