package assess

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/watch"
)

// LeftoverKinds returns the kinds of volumes without which it is unknown what ended jobs left behind, nil if no job has
// ended.
func LeftoverKinds(jobs []*job.Job) (kinds []string) {
	ended := map[job.Kind]bool{}
	for _, j := range jobs {
		ended[j.Kind] = ended[j.Kind] || j.IsTerminal()
	}
	if ended[job.Backup] {
		kinds = slices.Clone(runVolumeKinds)
	}
	if ended[job.Restore] {
		kinds = append(kinds, watch.PodVolumeRestores, watch.DataDownloads)
	}
	return kinds
}

// addLeftovers adds a finding for each ended job that has left volumes behind which do not end by themselves.
func (l *findingBuilder) addLeftovers() {
	byJob := map[string][]diagnosis.Leftover{}
	for _, left := range diagnosis.FindAllLeftovers(l.World) {
		if left.JobRef != "" {
			byJob[left.JobRef] = append(byJob[left.JobRef], left)
		}
	}
	if len(byJob) == 0 {
		return
	}
	owners := l.leftoverOwners()
	for _, ref := range slices.Sorted(maps.Keys(byJob)) {
		left := byJob[ref]
		kind, name, _ := strings.Cut(ref, "/")
		f := Finding{
			Severity: Warning,
			Reason:   VolumesLeftOver,
			Kind:     kind,
			Name:     name,
			Tab:      TabBackups,
			Since:    left[0].JobEnded,
			Count:    len(left),
			Summary:  l.leftoverText(left),
		}
		if kind == job.Restore.Noun() {
			f.Tab = TabRestores
		}
		if j := owners[left[0].Ref()]; j != nil {
			f.Name, f.Namespace, f.UID = j.Name, j.Namespace, j.UID // the label may be cut
		} else {
			f.Tab = "" // the job is not shown
		}
		if i := slices.IndexFunc(left, func(v diagnosis.Leftover) bool { return v.CanCancel }); i < 0 {
			f.Reason, f.Names = CancelWithoutEffect, left[0].Names
		}
		added := l.addBeside(f)
		for i := range left {
			l.leftovers[left[i].Ref()] = added
		}
	}
}

// leftoverOwners returns the ended jobs with volumes that have not ended, by these volumes.
func (l *findingBuilder) leftoverOwners() map[velero.VolumeRef]*job.Job {
	owners := map[velero.VolumeRef]*job.Job{}
	for _, j := range l.Snapshot.Jobs {
		if !j.IsTerminal() || j.ActiveVolumeCount() == 0 {
			continue
		}
		for i := range j.Volumes {
			if v := &j.Volumes[i]; !v.HasEnded() {
				owners[v.Ref()] = j
			}
		}
	}
	return owners
}

// leftoverText says what an ended job has left behind, and what that holds.
func (l *findingBuilder) leftoverText(left []diagnosis.Leftover) string {
	first, pods := left[0], 0
	for _, v := range left {
		if !first.IsProven && v.IsProven || first.IsWaiting() && !v.IsWaiting() && first.IsProven == v.IsProven {
			first = v
		}
		if mover := l.World.MoverPods[v.Ref()]; mover.IsAlive() {
			pods++
		}
	}
	text := fmt.Sprintf(
		"It ended %s ago, but %s not: %s is %s%s, %s",
		l.formatAge(first.JobEnded),
		human.CountForms(len(left), "volume of it has", "volumes of it have"),
		first.Target,
		cmp.Or(first.Phase, velero.VolumeNew),
		human.Prefixed(" on ", first.Node),
		first.Cause,
	)
	if pods > 0 {
		text += ". " + human.CountForms(pods, "pod still runs for it", "pods still run for them")
	}
	return text
}

// addBehindLeftover adds a job that waits for a slot to the finding about the leftover that holds the slot. That
// leftover is critical: the job does not begin by itself.
func (l *findingBuilder) addBehindLeftover(j JudgedJob) bool {
	if j.Verdict.Reason != diagnosis.BehindLeftover {
		return false
	}
	blocking, ok := diagnosis.FindBlockingLeftover(j.Job, l.World)
	if !ok || l.leftovers[blocking.Ref()] == nil {
		return false
	}
	l.leftovers[blocking.Ref()].Severity = Critical
	return l.leftovers[blocking.Ref()].addAffected(jobRef(j.Job))
}

// strayMoverAge is how long a pod may live after the end of the volume that it moves: a node-agent removes it when it
// records the end (OnDataUploadCompleted and its siblings, 1.15 to 1.18.3), or at the end of an hour at the latest.
const strayMoverAge = velero.CancelDelayInProgress

// addStrayMovers adds a finding for each job with pods that still run although their volumes have ended: they hold
// claims, and slots of their nodes.
func (l *findingBuilder) addStrayMovers() {
	if l.IsStale() || !l.World.VolumesKnown {
		return
	}
	candidates := map[velero.VolumeRef]velero.Mover{}
	for ref, mover := range l.World.MoverPods {
		if mover.IsAlive() && l.World.Now.Sub(mover.Created) > strayMoverAge {
			candidates[ref] = mover
		}
	}
	for i := range l.World.Volumes {
		delete(candidates, l.World.Volumes[i].Ref())
	}
	if len(candidates) == 0 {
		return
	}
	for _, j := range l.Snapshot.Jobs {
		var pods []string
		var since time.Time
		for i := range j.Volumes {
			v := &j.Volumes[i]
			mover, runs := candidates[v.Ref()]
			if runs && v.HasEnded() && v.QuietDuration(l.World.Now) > strayMoverAge {
				pods = append(pods, mover.Pod)
				if since.IsZero() || v.LastChanged.Before(since) {
					since = v.LastChanged
				}
			}
		}
		if len(pods) > 0 {
			short := kindLabels[j.Kind.Resource()+".velero.io"]
			l.addBeside(Finding{
				Severity: Warning, Reason: MoverLeftOver, Since: since, Count: len(pods),
				Kind: short.kind, Tab: short.in, Namespace: j.Namespace, Name: j.Name, UID: j.UID,
				Names: diagnosis.Names{Pod: pods[0]},
				Summary: fmt.Sprintf(
					"%s although what it moved has ended: %s",
					strayPodsText(len(pods)),
					human.JoinNames(pods, 3),
				),
			})
		}
	}
}

func strayPodsText(n int) string {
	if n == 1 {
		return "A pod still runs"
	}
	return human.Number(n) + " pods still run"
}
