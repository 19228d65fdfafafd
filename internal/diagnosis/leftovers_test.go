package diagnosis

import (
	"strings"
	"testing"
	"time"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// A volume of an ended job is left over once nothing that may still go on with it is left, and not before: Velero lets
// volumes go on after their job, and a restore collects what they saved.
func TestLeftovers(t *testing.T) {
	pvb, pvr, upload := velero.PodVolumeBackup, velero.PodVolumeRestore, velero.DataUpload
	on := func(v job.Volume, node string) job.Volume { v.Node = node; return v }
	for name, c := range map[string]struct {
		volume job.Volume
		ended  float64 // minutes ago
		kind   job.Kind
		change func(*World, *job.Volume)
		want   Reason // empty for none
		proven bool
	}{
		"prepared, slot free":         {on(volume(pvb, "v", "Prepared", 0, 0, 300, 300), "a"), 60, job.Backup, nil, VolumeStalled, true},
		"cancelled, no effect":        {on(volume(pvb, "v", "Prepared", 0, 0, 300, 300), "a"), 60, job.Backup, func(_ *World, v *job.Volume) { v.CancelRequested = true }, VolumeStalled, true},
		"the pod is gone":             {on(volume(upload, "v", "InProgress", 5, 9, 300, 300), "a"), 60, job.Backup, nil, MoverGone, true},
		"silent for a day, pod lives": {on(volume(pvb, "v", "InProgress", 5, 9, 1700, 1700), "a"), 1500, job.Backup, running, VolumeSilent, false},
		"no node-agent":               {on(volume(pvb, "v", "Prepared", 0, 0, 300, 300), "a"), 60, job.Backup, func(w *World, _ *job.Volume) { w.NodeAgents = nil }, NodeAgentMissing, true},

		"it ended just now":               {on(volume(pvb, "v", "Prepared", 0, 0, 300, 300), "a"), 5, job.Backup, nil, Reason{}, false},
		"it still moves":                  {on(volume(pvb, "v", "InProgress", 5, 9, 1700, 1), "a"), 1500, job.Backup, running, Reason{}, false},
		"it walks directories, pod lives": {on(volume(pvb, "v", "InProgress", 5, 9, 400, 120), "a"), 130, job.Backup, running, Reason{}, false},
		"cancelled a moment ago":          {on(volume(upload, "v", "InProgress", 5, 9, 300, 10), "a"), 60, job.Backup, func(_ *World, v *job.Volume) { v.CancelRequested = true }, Reason{}, false},
		"it waits for its restored pod":   {volume(pvr, "v", "New", 0, 0, 3000, 3000), 2000, job.Restore, nil, Reason{}, false},
		"another product's mover":         {on(volume(upload, "v", "Prepared", 0, 0, 300, 300), "a"), 60, job.Backup, func(_ *World, v *job.Volume) { v.DataMover = "vendor" }, Reason{}, false},
		"its job has not ended":           {on(volume(pvb, "v", "Prepared", 0, 0, 300, 300), "a"), 60, job.Backup, func(w *World, _ *job.Volume) { w.JobEnds = nil }, Reason{}, false},
		"pods hidden":                     {on(volume(pvb, "v", "Prepared", 0, 0, 300, 300), "a"), 60, job.Backup, func(w *World, _ *job.Volume) { w.Server.Visible = false }, Reason{}, false},
		"not all volumes could be listed": {on(volume(pvb, "v", "Prepared", 0, 0, 300, 300), "a"), 60, job.Backup, func(w *World, _ *job.Volume) { w.VolumesKnown = false }, Reason{}, false},
		"behind a volume that moves":      {on(volume(pvb, "v", "Prepared", 0, 0, 300, 300), "a"), 60, job.Backup, behind("InProgress", 1, 0), Reason{}, false},
		"behind a leftover":               {on(volume(pvb, "v", "Prepared", 0, 0, 300, 300), "a"), 60, job.Backup, behind("InProgress", 1700, 1500), WaitingForSlot, false},
		"the node-agents are being rolled": {on(volume(pvb, "v", "Prepared", 0, 0, 300, 300), "a"), 60, job.Backup, func(w *World, _ *job.Volume) {
			w.NodeAgents[0].Created, w.NodeAgents[0].StartedAt = minutesAgo(1), minutesAgo(1)
		}, Reason{}, false},
		"a node-agent that has just begun":   {on(volume(pvb, "v", "Prepared", 0, 0, 300, 300), "a"), 60, job.Backup, func(w *World, _ *job.Volume) { w.NodeAgents[0].StartedAt = minutesAgo(3) }, Reason{}, false},
		"a version that veltui has not read": {on(volume(pvb, "v", "Prepared", 0, 0, 300, 300), "a"), 60, job.Backup, func(w *World, _ *job.Volume) { w.Server.Version = "v1.20.0" }, Reason{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			env := healthy()
			env.VolumesKnown = true
			v := c.volume
			v.JobRef = "backup/old"
			env.JobEnds = map[velero.VolumeRef]time.Time{v.Ref(): minutesAgo(c.ended)}
			if c.change != nil {
				c.change(&env, &v)
			}
			env.Volumes = append(env.Volumes, v)
			j := spec{name: "old", kind: c.kind, phase: "PartiallyFailed", started: c.ended + 240, ended: c.ended, errors: 2, volumes: []job.Volume{v}}.job(t)
			found := FindLeftovers(j, env)
			switch {
			case c.want.IsZero() && len(found) > 0:
				t.Errorf("left over: %s: %s", found[0].Reason, found[0].Cause)
			case !c.want.IsZero() && (len(found) != 1 || found[0].Reason != c.want || found[0].IsProven != c.proven):
				t.Errorf("got %+v, want %s, proven %v", found, c.want, c.proven)
			}
			text := Judge(j, env)
			if said := strings.Contains(text.Summary(), "left over"); said != (!c.want.IsZero()) {
				t.Errorf("the verdict: %s", text.Summary())
			}
		})
	}
}

// running gives the volume a pod that lives.
func running(w *World, v *job.Volume) {
	w.MoverPods = map[velero.VolumeRef]velero.Mover{
		v.Ref(): {Pod: "mover", Node: v.Node, Phase: velero.MoverRunning, Created: v.Created},
	}
}

// behind adds another volume on the same node, last changed some minutes ago, whose job ended, if it did, some minutes
// ago.
func behind(phase string, changed, ended float64) func(*World, *job.Volume) {
	return func(w *World, v *job.Volume) {
		o := volume(velero.PodVolumeBackup, "holder", phase, 5, 9, 1800, changed)
		o.Node, o.JobRef = v.Node, "backup/older"
		running(w, &o)
		w.Volumes = append(w.Volumes, o)
		if ended > 0 {
			w.JobEnds[o.Ref()] = minutesAgo(ended)
		}
	}
}

// A job whose volume waits for a slot that a leftover holds does not begin by itself; one that waits for a volume that
// goes on does.
func TestBehindLeftover(t *testing.T) {
	for name, c := range map[string]struct {
		changed, ended float64
		gone           bool
		state          State
		reason         Reason
	}{
		"its job runs, or is unknown": {1700, 0, false, Waiting, WaitingForSlot},
		"it moves":                    {1, 1500, false, Waiting, WaitingForSlot},
		"its pod lives":               {1700, 1500, false, Quiet, BehindLeftover},
		"its pod is gone":             {1700, 1500, true, Stuck, BehindLeftover},
	} {
		t.Run(name, func(t *testing.T) {
			env := healthy()
			env.VolumesKnown, env.JobEnds = true, map[velero.VolumeRef]time.Time{}
			v := volume(velero.PodVolumeBackup, "v", "Prepared", 0, 0, 48, 48)
			v.Node, v.JobRef = "a", "backup/new"
			behind("InProgress", c.changed, c.ended)(&env, &v)
			if c.gone {
				env.MoverPods = nil
			}
			env.Volumes = append(env.Volumes, v)
			j := spec{name: "new", phase: "InProgress", started: 50, changed: 48, done: 9, total: 9, volumes: []job.Volume{v}}.job(t)
			got := Judge(j, env)
			if got.State() != c.state || got.Reason != c.reason {
				t.Errorf("%s %s: %s", got.State(), got.Reason, got.Summary())
			}
			if l, ok := FindBlockingLeftover(j, env); ok != (c.reason == BehindLeftover) || ok && l.JobRef != "backup/older" {
				t.Errorf("behind %+v, %v", l, ok)
			}
		})
	}
}
