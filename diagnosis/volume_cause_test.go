package diagnosis

import (
	"strings"
	"testing"
	"time"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero"
)

// Each volume says what it does or waits for, and behind whom.
func TestVolumeCauses(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return now.Add(-time.Duration(minutes) * time.Minute) }
	volume := func(name, owner, phase, node string, quiet int) job.Volume {
		return job.Volume{Kind: velero.DataUpload, Name: name, Owner: owner, Phase: phase, Node: node, Target: "shop/" + name,
			Created: at(60), Started: at(50), Changed: at(quiet)}
	}
	erp1, erp2 := volume("erp-1", "backup/nightly-erp", velero.VolumeInProgress, "node-3", 0), volume("erp-2", "backup/nightly-erp", velero.VolumeInProgress, "node-3", 0)
	hr := volume("hr", "backup/hr", velero.VolumeInProgress, "node-3", 0)
	far := volume("far", "backup/far", velero.VolumeInProgress, "node-9", 0)
	cancelled, foreign := volume("cancelled", "backup/mine", velero.VolumeInProgress, "node-3", 3), volume("foreign", "backup/mine", velero.VolumeInProgress, "node-3", 300)
	cancelled.CancelAsked, foreign.DataMover = true, "vendor"
	for _, c := range []struct {
		volume job.Volume
		others []job.Volume
		stuck  bool
		reason Reason
		says   string
	}{
		{volume("a", "backup/mine", velero.VolumePrepared, "node-3", 30), []job.Volume{erp1, erp2, far}, false, WaitingForSlot, "waits for a slot on node-3 behind 2 volumes of backup/nightly-erp"},
		{volume("a", "backup/mine", velero.VolumePrepared, "node-3", 30), []job.Volume{erp1, erp2, hr}, false, WaitingForSlot, "behind 2 volumes of backup/nightly-erp and 1 volume of backup/hr"},
		{volume("a", "backup/hr", velero.VolumePrepared, "node-3", 30), []job.Volume{hr}, false, WaitingForSlot, "behind 1 other volume"},
		{volume("a", "backup/mine", velero.VolumeNew, "", 30), []job.Volume{far}, false, WaitingForSlot, "its turn to be prepared behind 1 volume of backup/far"},
		{volume("a", "backup/mine", velero.VolumeAccepted, "node-3", 3), nil, false, PreparingVolume, "3m of 30m"},
		{volume("a", "backup/mine", velero.VolumeInProgress, "node-3", 0), nil, false, BytesMoving, ""},
		{volume("a", "backup/mine", velero.VolumeInProgress, "node-3", 5), nil, false, VolumeSilent, "no new bytes for 5m"},
		{volume("a", "backup/mine", velero.VolumePrepared, "node-7", 30), nil, true, NodeAgentMissing, "no node-agent runs on its node node-7"},
		{volume("a", "backup/mine", velero.VolumeCompleted, "node-7", 30), nil, false, "", ""},
		{cancelled, nil, false, VolumeSilent, "a cancel was requested"},
		{foreign, nil, false, WaitingForOperations, "data mover vendor"},
	} {
		env := Environment{Now: now, Volumes: append(c.others, c.volume), VolumesKnown: true,
			Server:     velero.Server{Visible: true},
			NodeAgents: []velero.Agent{{Node: "node-3", Ready: true, StartedAt: at(900)}}}
		env.Server.Version = "v1.18.3"
		got := JudgeVolumes(&job.Job{Volumes: []job.Volume{c.volume}}, env)[0]
		if got.Stuck != c.stuck || got.Reason != c.reason || !strings.Contains(got.Cause, c.says) || (c.says == "") != (got.Cause == "") {
			t.Errorf("%s beside %d: %+v; want %v, %s, %q", c.volume.Phase, len(c.others), got, c.stuck, c.reason, c.says)
		}
	}
}
