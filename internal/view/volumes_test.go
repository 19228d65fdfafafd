package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/velero"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// movedVolume returns a volume in a phase, with 1 of 4 GiB moved.
func movedVolume(phase string) *assess.JudgedVolume {
	return &assess.JudgedVolume{Volume: &job.Volume{
		Kind: velero.DataUpload, Name: "n-1", Target: "erp/data", Namespace: "erp", Claim: "data",
		Phase: phase, Node: "node-a", Done: 1 << 30, Total: 4 << 30,
	}}
}

// TestVolumeStates describes each phase of a volume's resource, and what the volume info says.
func TestVolumeStates(t *testing.T) {
	stuck := movedVolume(velero.VolumeAccepted)
	stuck.Verdict.Stuck = true
	info := func(i artifact.VolumeInfo) *assess.VolumeRecord { return &assess.VolumeRecord{Info: &i} }
	moved := func(phase string) *assess.VolumeRecord { return &assess.VolumeRecord{Volume: movedVolume(phase)} }
	for name, c := range map[string]struct {
		record *assess.VolumeRecord
		want   MarkedState
	}{
		"no phase":    {moved(""), markState(MarkAhead, Waiting, "queued")},
		"new":         {moved(velero.VolumeNew), markState(MarkAhead, Waiting, "queued")},
		"accepted":    {moved(velero.VolumeAccepted), markState(MarkAhead, Waiting, "preparing")},
		"prepared":    {moved(velero.VolumePrepared), markState(MarkAhead, Waiting, "waiting")},
		"in progress": {moved(velero.VolumeInProgress), markState(MarkNow, Running, "moving")},
		"cancelling":  {moved(velero.VolumeCanceling), markState(MarkAhead, Waiting, "cancelling")},
		"cancelled":   {moved(velero.VolumeCanceled), markState(MarkFailed, Bad, "cancelled")},
		"completed":   {moved(velero.VolumeCompleted), markState(MarkDone, Good, "done")},
		"failed":      {moved(velero.VolumeFailed), markState(MarkFailed, Bad, "failed")},
		"another":     {moved("Odd"), markState(MarkAhead, Waiting, "Odd")},
		"stuck":       {&assess.VolumeRecord{Volume: stuck}, markState(MarkAttention, Bad, "preparing")},
		"saved":       {info(artifact.VolumeInfo{Result: "succeeded"}), markState(MarkDone, Good, "done")},
		"not saved":   {info(artifact.VolumeInfo{Result: "failed"}), markState(MarkFailed, Bad, "failed")},
		"skipped":     {info(artifact.VolumeInfo{Skipped: true}), markState(MarkSkipped, Dim, "skipped")},
		"no result":   {info(artifact.VolumeInfo{}), markState(MarkUnknown, Dim, "unknown")},
	} {
		if got := VolumeState(c.record); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// volumeCells are the cells of a row as NAME=text, without the empty ones.
func volumeCells(r VolumeRow) string {
	var texts []string
	for i, cell := range r.Cells() {
		if cell.Text.Text != "" {
			texts = append(texts, VolumeColumns(r.Job)[i].Name+"="+cell.Text.Text)
		}
	}
	return strings.Join(texts, "|")
}

// TestVolumeRow has other columns for a job that has ended.
func TestVolumeRow(t *testing.T) {
	running := &job.Job{Kind: job.Backup, Phase: velero.PhaseInProgress, Stage: job.StageVolumes}
	ended := &job.Job{Kind: job.Backup, Phase: velero.PhaseCompleted, Stage: job.StageDone}
	failed := movedVolume(velero.VolumeFailed)
	failed.Started, failed.Completed = noon.Add(-time.Hour), noon.Add(-50*time.Minute)
	info := &artifact.VolumeInfo{
		PersistentVolume: "pv-1", Method: artifact.MethodNativeSnapshot, Result: "succeeded", Size: 2 << 30,
	}
	for want, row := range map[string]VolumeRow{
		"volume=erp/data|state=moving|progress=25%|done=1.0/4.0G|node=node-a|method=CSI snapshot, data mover": {
			&assess.VolumeRecord{Volume: movedVolume(velero.VolumeInProgress)}, running, noon,
		},
		"volume=pv-1|state=done|done=2.0G|method=native snapshot": {
			&assess.VolumeRecord{Info: info}, running, noon,
		},
		"volume=erp/data|state=failed|method=CSI snapshot, data mover|size=1.0/4.0G|took=10m|node=node-a": {
			&assess.VolumeRecord{Volume: failed}, ended, noon,
		},
		"volume=pv-1|state=done|method=native snapshot|size=2.0G": {
			&assess.VolumeRecord{Info: info}, ended, noon,
		},
	} {
		if got := volumeCells(row); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestVolumeFields names what is known only, and the notes what needs attention.
func TestVolumeFields(t *testing.T) {
	v := movedVolume(velero.VolumePrepared)
	v.Verdict = diagnosis.VolumeVerdict{Cause: "no slot", Stuck: true}
	v.Message = "busy"
	row := VolumeRow{&assess.VolumeRecord{Volume: v}, &job.Job{Kind: job.Restore}, noon}
	var fields []string
	for _, f := range row.Fields() {
		fields = append(fields, f.Label+"="+f.Text.Text)
	}
	want := []string{
		"Claim=erp/data", "Restored by=CSI snapshot, data mover", "Resource=dataupload/n-1",
		"Phase=Prepared: it is ready, and waits for a slot on its node", "Cause=no slot", "Message=busy",
		"Node=node-a", "Done=1.0G (1,073,741,824 bytes)", "Size=4.0G (4,294,967,296 bytes)",
	}
	if !slices.Equal(fields, want) {
		t.Errorf("got %q, want %q", fields, want)
	}
	if got := row.Notes(); fmt.Sprint(got) != fmt.Sprint([]Text{Toned(Bad, "no slot"), Toned(Bad, "busy")}) {
		t.Errorf("%+v", got)
	}
	skipped := VolumeRow{
		&assess.VolumeRecord{Info: &artifact.VolumeInfo{Skipped: true, SkippedReason: "a; b;"}}, row.Job, noon,
	}
	if got := skipped.Notes(); fmt.Sprint(got) != fmt.Sprint([]Text{Toned(Dim, "a; b")}) {
		t.Errorf("%+v", got)
	}
}

// TestVolumeLine has the phase of a volume that has not ended.
func TestVolumeLine(t *testing.T) {
	open, ended := movedVolume(velero.VolumePrepared), movedVolume(velero.VolumeFailed)
	open.Verdict.Cause = "waits for a slot"
	open.ETA = assess.TimeLeft{Known: true, Left: 5 * time.Minute}
	ended.Node, ended.Total, ended.Message = "", 0, "no space left"
	for want, v := range map[string]*assess.JudgedVolume{
		"DataUpload n-1 of erp/data: waiting (Prepared) on node node-a, 1.0/4.0G, 5m left, waits for a slot": open,
		"DataUpload n-1 of erp/data: failed, no space left":                                                  ended,
	} {
		if got := NewVolumeLine(v).String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	want := []Part{
		{"DataUpload n-1", Quoted}, {" of ", Own}, {"erp/data", Quoted}, {": ", Own}, {"failed", Mixed},
		{", ", Own}, {"no space left", Mixed},
	}
	if got := NewVolumeLine(ended).Phrase().Parts; !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}

// TestVolumeSentences counts volumes, and says which holds the job up, or that there are none.
func TestVolumeSentences(t *testing.T) {
	prepared, done := *movedVolume(velero.VolumePrepared), *movedVolume(velero.VolumeCompleted)
	pod := job.Volume{Kind: velero.PodVolumeBackup}
	var counts []string
	for _, f := range VolumeCounts([]job.Volume{*prepared.Volume, pod, *done.Volume}) {
		counts = append(counts, f.Label+" "+f.Text.Text)
	}
	want := []string{"DataUploads 2: Completed 1, Prepared 1", "PodVolumeBackups 1: New 1"}
	if !slices.Equal(counts, want) {
		t.Errorf("%q, want %q", counts, want)
	}
	running := &job.Job{Kind: job.Backup, Phase: velero.PhaseInProgress, Stage: job.StageItems}
	restored := &job.Job{Kind: job.Restore, Phase: velero.PhaseCompleted, Stage: job.StageDone}
	for want, got := range map[string]string{
		"Held up by erp/data":                           VolumeHoldup([]assess.JudgedVolume{done, prepared}),
		"No volume data is moved for this job so far.":  NoVolumes(running, false),
		"No volume data is moved for this job.":         NoVolumes(restored, false),
		"The backup holds no volume, and skipped none.": NoVolumes(running, true),
		"The restore restored no volume.":               NoVolumes(restored, true),
		"none: no node-agent has looked at it yet":      VolumePhase(""),
		"Failed: it could not be moved":                 VolumePhase(velero.VolumeFailed),
		"":                                              VolumeHoldup([]assess.JudgedVolume{done}),
		"2026-11-20 11:58:00 (2m ago)":                  MomentAndAge(noon.Add(-2*time.Minute), noon),
		"2026-11-20 12:01:00 (in 1m)":                   MomentAndAge(noon.Add(time.Minute), noon),
		"2026-11-20 12:00:00 (now)":                     MomentAndAge(noon, noon),
		"2026-11-20 11:58:00 UTC  2m ago":               MomentWithAge(noon.Add(-2*time.Minute), noon),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
