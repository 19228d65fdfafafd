package diagnosis

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// Each volume says what it does or waits for, and behind whom.
func TestVolumeCauses(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return now.Add(-time.Duration(minutes) * time.Minute) }
	volume := func(name, owner, phase, node string, quiet int) job.Volume {
		return job.Volume{
			Kind:        velero.DataUpload,
			Name:        name,
			JobRef:      owner,
			Phase:       phase,
			Node:        node,
			Target:      "shop/" + name,
			Created:     at(60),
			Started:     at(50),
			LastChanged: at(quiet),
		}
	}
	erp1, erp2 := volume(
		"erp-1",
		"backup/nightly-erp",
		velero.VolumeInProgress,
		"node-3",
		0,
	), volume(
		"erp-2",
		"backup/nightly-erp",
		velero.VolumeInProgress,
		"node-3",
		0,
	)
	hr := volume("hr", "backup/hr", velero.VolumeInProgress, "node-3", 0)
	far := volume("far", "backup/far", velero.VolumeInProgress, "node-9", 0)
	cancelled, foreign := volume(
		"cancelled",
		"backup/mine",
		velero.VolumeInProgress,
		"node-3",
		3,
	), volume(
		"foreign",
		"backup/mine",
		velero.VolumeInProgress,
		"node-3",
		300,
	)
	cancelled.CancelRequested, foreign.DataMover = true, "vendor"
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
		{volume("a", "backup/mine", velero.VolumeNew, "", 30), []job.Volume{far}, false, WaitingForSlot, "waits for its turn to be prepared"},
		{volume("a", "backup/mine", velero.VolumeAccepted, "node-3", 3), nil, false, PreparingVolume, "3m of 30m"},
		{volume("a", "backup/mine", velero.VolumeInProgress, "node-3", 0), nil, false, BytesMoving, ""},
		{volume("a", "backup/mine", velero.VolumeInProgress, "node-3", 5), nil, false, VolumeSilent, "no new bytes for 5m"},
		{volume("a", "backup/mine", velero.VolumePrepared, "node-7", 60), nil, true, NodeAgentMissing, "no node-agent runs on its node node-7"},
		{volume("a", "backup/mine", velero.VolumeCompleted, "node-7", 30), nil, false, Reason{}, ""},
		{cancelled, nil, false, VolumeSilent, "a cancel was requested"},
		{foreign, nil, false, WaitingForOperations, "data mover vendor"},
	} {
		env := World{Now: now, Volumes: append(c.others, c.volume), VolumesKnown: true,
			Server:     velero.Server{Visible: true},
			NodeAgents: []velero.NodeAgent{{Node: "node-3", Ready: true, StartedAt: at(900)}}}
		env.Server.Version = "v1.18.3"
		env.MoverPods = map[velero.VolumeRef]velero.Mover{c.volume.Ref(): {Phase: velero.MoverRunning}}
		got := JudgeVolumes(&job.Job{Volumes: []job.Volume{c.volume}}, env)[0]
		if got.Stuck != c.stuck || got.Reason != c.reason || !strings.Contains(got.Cause, c.says) ||
			(c.says == "") != (got.Cause == "") {
			t.Errorf(
				"%s beside %d: %+v; want %v, %s, %q",
				c.volume.Phase,
				len(c.others),
				got,
				c.stuck,
				c.reason,
				c.says,
			)
		}
	}
}

// What a mover pod's own status tells of why it does not run is the cause of its
// volume, and of a job that waits for nothing else.
func TestMoverPodsSayWhyTheyDoNotRun(t *testing.T) {
	const room = "0/3 nodes are available: insufficient memory"
	unschedulable := func(message string) corev1.PodStatus {
		return corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled,
			Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: message}}}
	}
	waits := func(phase corev1.PodPhase, reason, message string) corev1.PodStatus {
		return corev1.PodStatus{Phase: phase, ContainerStatuses: []corev1.ContainerStatus{{
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}}}
	}
	ended := func(reason, message string) corev1.PodStatus {
		return corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{
			{
				State: corev1.ContainerState{
					Terminated: &corev1.ContainerStateTerminated{Reason: reason, Message: message, ExitCode: 137},
				},
			},
		}}
	}
	loops := waits(corev1.PodRunning, "CrashLoopBackOff", "back-off 5m0s restarting failed container")
	loops.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
		Reason:   "OOMKilled",
		ExitCode: 137,
	}
	proxy := waits(corev1.PodRunning, "CrashLoopBackOff", "")
	proxy.ContainerStatuses = append(
		proxy.ContainerStatuses,
		corev1.ContainerStatus{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
	)
	for _, c := range []struct {
		name   string
		phase  string
		status corev1.PodStatus
		reason Reason
		says   string
		// job is true if the job's summary says it too.
		job bool
	}{
		{"no room", velero.VolumeAccepted, unschedulable(room + ". preemption: 0/3 nodes are available: 3 No preemption victims found."),
			MoverUnschedulable, "mover pod pending for 12m: " + room, true},
		{"a claim in the making", velero.VolumeAccepted, unschedulable("0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims."),
			PreparingVolume, "mover pod pending for 12m: 0/3 nodes are available: pod has unbound", false},
		{"a scheduling gate", velero.VolumeAccepted, corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled,
			Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulingGated, Message: "Scheduling is blocked due to non-empty scheduling gates"}}},
			PreparingVolume, "mover pod pending for 12m: SchedulingGated: Scheduling is blocked", true},
		{"an image that is not there", velero.VolumeAccepted, waits(corev1.PodPending, "ImagePullBackOff", `Back-off pulling image "velero/velero:v9"`),
			PreparingVolume, `mover pod pending for 12m: ImagePullBackOff: Back-off pulling image "velero/velero:v9"`, true},
		{"an image that cannot be pulled", velero.VolumeAccepted, waits(corev1.PodPending, "ErrImagePull", ""), PreparingVolume, "12m: ErrImagePull", true},
		{"a secret that is missing", velero.VolumeAccepted, waits(corev1.PodPending, "CreateContainerConfigError", `secret "repo" not found`),
			PreparingVolume, `CreateContainerConfigError: secret "repo" not found`, true},
		{"a crash loop", velero.VolumeInProgress, loops, VolumeSilent, "mover pod does not run: CrashLoopBackOff: it last ended with OOMKilled", true},
		{"a proxy's crash loop", velero.VolumeInProgress, proxy, VolumeSilent, "no new bytes for 11m", false},
		{"out of memory", velero.VolumeInProgress, ended("OOMKilled", ""), VolumeSilent, "mover pod failed: OOMKilled", true},
		{"an error", velero.VolumeInProgress, ended("Error", "data path failed"), VolumeSilent, "mover pod failed: Error: data path failed", true},
		{"evicted", velero.VolumeInProgress, corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "The node was low on resource: memory."},
			VolumeSilent, "mover pod failed: Evicted: The node was low on resource: memory", true},
		{"being created", velero.VolumeAccepted, waits(corev1.PodPending, "ContainerCreating", ""), PreparingVolume, "mover pod pending for 12m: ContainerCreating", false},
		{"not looked at by a kubelet", velero.VolumeAccepted, corev1.PodStatus{Phase: corev1.PodPending}, PreparingVolume, "mover pod pending for 12m", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := volume(velero.DataUpload, "du", c.phase, 1, 9, 14, 11)
			pod := &corev1.Pod{Status: c.status}
			pod.Name, pod.Labels = v.Name, map[string]string{veleroapi.DataUploadLabel: v.Name}
			pod.CreationTimestamp.Time = minutesAgo(12)
			env := with(allVolumes)
			env.MoverPods = velero.FindMovers([]*corev1.Pod{pod})
			j := spec{
				phase:   velero.PhaseWaitingForPluginOperations,
				started: 60,
				changed: 20,
				done:    9,
				total:   9,
				ops:     [3]int{1, 0, 0},
				volumes: []job.Volume{v},
			}.job(
				t,
			)
			if got := JudgeVolumes(j, env)[0]; got.Stuck || got.Reason != c.reason ||
				!strings.Contains(got.Cause, c.says) ||
				strings.Contains(got.Cause, "preemption") {
				t.Errorf("volume: %+v; want %s, %q", got, c.reason, c.says)
			}
			verdict := Judge(j, env)
			if named := strings.Contains(
				verdict.Summary(),
				"mover pod",
			); named != c.job || c.job && !strings.Contains(verdict.Summary(), c.says) || c.job && verdict.Reason != c.reason ||
				verdict.State() == Stuck {
				t.Errorf("job: %s (%s): %s", verdict.State(), verdict.Reason, verdict.Summary())
			}
		})
	}
}
