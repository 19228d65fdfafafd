package diagnosis

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// A pod that is gone has left events only.
func TestCauseIsAnEventOfAPodThatIsGone(t *testing.T) {
	evicted := func(pod, node string, at float64) velero.PodEvent {
		return velero.PodEvent{Pod: pod, Node: node, Reason: "Evicted", Count: 1, Time: minutesAgo(at),
			Message: "The node was low on resource: memory."}
	}
	server := podOfServer("velero-2", minutesAgo(37), statusOfRunning())
	lost := jobFailedAtStart(t, 40, 36)
	moved := func(message, node string) *job.Job {
		return spec{name: "shop", phase: velero.PhasePartiallyFailed, created: 40, started: 40, ended: 30, volumes: []job.Volume{{
			Kind: velero.DataUpload, Name: "shop-abc", Phase: velero.VolumeFailed, Message: message, Node: node,
			Created: minutesAgo(39), Completed: minutesAgo(31), LastChanged: minutesAgo(31),
		}}}.job(t)
	}
	agentEnd := `found a dataupload with status "InProgress" during the node-agent starting, mark it as cancel`
	for name, c := range map[string]struct {
		j      *job.Job
		events []velero.PodEvent
		unread string
		reason Reason
		says   string
	}{
		"the server":               {lost, []velero.PodEvent{evicted("velero-5c8d7f9b66-x2x4k", "n", 38)}, "", ServerEvicted, "the node evicted the Velero server: The node was low"},
		"another product's server": {lost, []velero.PodEvent{evicted("velero-ui-5c8d7f9b66-x2x4k", "n", 38)}, "", ServerReplaced, "another pod"},
		"before the job":           {lost, []velero.PodEvent{evicted("velero-5c8d7f9b66-x2x4k", "n", 60)}, "", ServerReplaced, "another pod"},
		"not to be read":           {lost, nil, "you may not list events", ServerReplaced, "another pod"},
		"preempted": {lost, []velero.PodEvent{{Pod: "velero-5c8d7f9b66-x2x4k", Reason: "Preempted", Count: 1, Time: minutesAgo(38)}},
			"", ServerEvicted, "the Velero server had to make room"},
		"the node-agent":        {moved(agentEnd, "n1"), []velero.PodEvent{evicted("node-agent-x2x4k", "n1", 35)}, "", NodeAgentEvicted, "the node evicted the node-agent on n1"},
		"another node's agent":  {moved(agentEnd, "n1"), []velero.PodEvent{evicted("node-agent-x2x4k", "n2", 35)}, "", NodeAgentEnded, ""},
		"a mover":               {moved("data mover pod is gone", "n1"), []velero.PodEvent{evicted("shop-abc", "n1", 35)}, "", MoverEvicted, "the node evicted a pod that moved a volume"},
		"a mover's mount":       {moved("timeout on preparing data upload", ""), []velero.PodEvent{{Pod: "shop-abc", Reason: "FailedMount", Message: "no such secret", Count: 9, Time: minutesAgo(35)}}, "", MoverNotReady, "did not start: FailedMount: no such secret"},
		"a mover without node":  {moved("timeout on preparing data upload", ""), []velero.PodEvent{{Pod: "shop-abc", Reason: "FailedScheduling", Message: "0/3 nodes are available", Count: 1, Time: minutesAgo(35)}}, "", MoverNotScheduled, "0/3 nodes are available"},
		"another job's mover":   {moved("data mover pod is gone", "n1"), []velero.PodEvent{evicted("shop-abd", "n1", 35)}, "", Reason{}, ""},
		"nothing says anything": {moved("data mover pod is gone", "n1"), nil, "", Reason{}, ""},
	} {
		w := World{Now: minutesAgo(0), Server: velero.ServerOf([]*corev1.Pod{server}, minutesAgo(0))}
		if before := Judge(c.j, w); !NeedsPodEvents(c.j, before, w.Now) {
			t.Errorf("%s: no events are read for %s", name, before.Cause.Reason)
		}
		w.Evidence = map[types.UID]JobEvidence{c.j.UID: {EndEvidence: EndEvidence{PodEvents: c.events, PodEventsUnread: c.unread}}}
		v := Judge(c.j, w)
		if v.Cause.Reason != c.reason || !strings.Contains(v.Text, c.says) {
			t.Errorf("%s: cause %s: %s", name, v.Cause.Reason, v.Text)
		}
		facts := ""
		for _, f := range v.Facts {
			facts += f.Source + ": " + f.Text + "\n"
		}
		if c.unread != "" && !strings.Contains(facts, "events: the events of Velero's pods could not all be read: "+c.unread) {
			t.Errorf("%s: nothing says that events are missing:\n%s", name, facts)
		}
	}
	if NeedsPodEvents(lost, Verdict{Cause: Cause{Reason: ServerEnded}}, minutesAgo(-60*24)) {
		t.Error("events are read a day later")
	}
}

// What keeps a pod from starting explains a volume that never started, and only the volumes that the cause is about.
func TestEventsBeforeAStartExplainWhatNeverStarted(t *testing.T) {
	const cancelled = "data upload is canceled"
	volume := func(name, message string, started float64, done int64) job.Volume {
		v := job.Volume{Kind: velero.DataUpload, Name: name, Phase: velero.VolumeFailed, Message: message, Done: done,
			Created: minutesAgo(39), Completed: minutesAgo(31), LastChanged: minutesAgo(31)}
		if started > 0 {
			v.Started = minutesAgo(started)
		}
		return v
	}
	for name, c := range map[string]struct {
		volumes []job.Volume
		event   string
		reason  Reason
	}{
		"never started":                  {[]job.Volume{volume("a", cancelled, 0, 0)}, "FailedScheduling", MoverNotScheduled},
		"given up, so started at once":   {[]job.Volume{volume("a", cancelled, 31, 0)}, "FailedScheduling", MoverNotScheduled},
		"started, cancelled":             {[]job.Volume{volume("a", cancelled, 37, 0)}, "FailedScheduling", VolumesCancelled},
		"moved, cancelled":               {[]job.Volume{volume("a", cancelled, 0, 9)}, "FailedMount", VolumesCancelled},
		"moved, failed in other words":   {[]job.Volume{volume("a", "nobody knows", 37, 9)}, "FailedMount", Reason{}},
		"moved, evicted":                 {[]job.Volume{volume("a", "nobody knows", 37, 9)}, "Evicted", MoverEvicted},
		"a volume of another cause":      {[]job.Volume{volume("a", "nobody knows", 0, 0), volume("b", cancelled, 37, 9)}, "Evicted", VolumesCancelled},
		"the second of the same volumes": {[]job.Volume{volume("b", cancelled, 37, 9), volume("a", cancelled, 0, 0)}, "FailedMount", MoverNotReady},
	} {
		j := spec{name: "shop", phase: velero.PhasePartiallyFailed, created: 40, started: 40, ended: 30, volumes: c.volumes}.job(t)
		events := []velero.PodEvent{{Pod: "a", Reason: c.event, Message: "for a while", Count: 1, Time: minutesAgo(38)}}
		w := World{Now: minutesAgo(0), Evidence: map[types.UID]JobEvidence{j.UID: {EndEvidence: EndEvidence{PodEvents: events}}}}
		if v := Judge(j, w); v.Cause.Reason != c.reason {
			t.Errorf("%s: %s, want %s: %s", name, v.Cause.Reason, c.reason, v.Text)
		}
	}
}

// The verdict on a backup says whose data is not in it, once for each reason.
func TestSkippedVolumes(t *testing.T) {
	j := spec{name: "shop", phase: velero.PhaseCompleted, created: 40, started: 40, ended: 30, total: 9, done: 9}.job(t)
	w := World{Now: minutesAgo(0), Evidence: map[types.UID]JobEvidence{j.UID: {EndEvidence: EndEvidence{
		SkippedVolumes: []SkippedVolume{{"shop/a", "not opted in"}, {"shop/b", "policy"}, {"shop/c", "policy"}},
	}}}}
	v := Judge(j, w)
	if !strings.HasSuffix(v.Text, "; the data of 3 volumes is not in it") || v.Advice == "" || !v.Cause.IsZero() {
		t.Errorf("%s %s", v.Text, v.Advice)
	}
	facts := ""
	for _, f := range v.Facts {
		facts += f.Text + "\n"
	}
	if !strings.Contains(facts, "the data of 2 volumes is not in it (shop/b and shop/c): policy\n"+
		"the data of 1 volume is not in it (shop/a): not opted in") {
		t.Error(facts)
	}
}

// What is advised about volumes comes after the step against the cause of a failure.
func TestAdviceAboutVolumesKeepsTheStepOfTheCause(t *testing.T) {
	j := spec{name: "shop", phase: velero.PhasePartiallyFailed, created: 40, started: 40, ended: 30, total: 88, done: 88,
		errors: 1}.job(t)
	judge := func(skipped ...SkippedVolume) string {
		w := World{Now: minutesAgo(0), Evidence: map[types.UID]JobEvidence{j.UID: {EndEvidence: EndEvidence{
			ResultErrors:   []ResultError{{Text: "api error AccessDenied: Access Denied", Count: 1}},
			SkippedVolumes: skipped,
		}}}}
		return Judge(j, w).Next().Text
	}
	alone, with := judge(), judge(SkippedVolume{"shop/a", "policy"})
	if want := alone + " If a restore needs the data"; alone != StoreDenies.NextStep().Text() || !strings.HasPrefix(with, want) {
		t.Errorf("next: %s\nwith a skipped volume: %s", alone, with)
	}
}

// What the container wrote last names the panic.
func TestCauseNamesThePanic(t *testing.T) {
	j := jobFailedAtStart(t, 40, 36)
	pod := podOfServer("velero-1", minutesAgo(500), statusAfterRestart("Error", 2, minutesAgo(38)))
	w := World{Now: minutesAgo(0), Server: velero.ServerOf([]*corev1.Pod{pod}, minutesAgo(0))}
	v := Judge(j, w)
	if !NeedsFatalLine(v) || v.Cause.End.Pod != "velero-1" || v.Cause.End.Container != "velero" || !v.Cause.End.IsBeforeRestart {
		t.Fatalf("whose log is read: %+v", v.Cause.End)
	}
	line := velero.FatalLine{Text: "panic: index out of range", Function: "example.com/plugin.Execute"}
	w.Evidence = map[types.UID]JobEvidence{j.UID: {EndEvidence: EndEvidence{FatalLine: line}}}
	v = Judge(j, w)
	if want := "began: panic: index out of range in example.com/plugin.Execute"; !strings.Contains(v.Text, want) ||
		v.Cause.Reason != ServerPanicked {
		t.Errorf("%s, want %s", v.Text, want)
	}
	pod.Status = statusAfterRestart("OOMKilled", 137, minutesAgo(38))
	w.Server = velero.ServerOf([]*corev1.Pod{pod}, minutesAgo(0))
	if NeedsFatalLine(Judge(j, w)) {
		t.Error("the log of a container that was killed for memory says nothing")
	}
}
