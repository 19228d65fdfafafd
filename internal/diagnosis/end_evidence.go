package diagnosis

import (
	"slices"
	"time"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// EndEvidence is what was read to find out why a job ended badly, beyond the job, its volumes and Velero's pods. The
// zero value means that nothing was read.
type EndEvidence struct {
	// ResultErrors are the errors of the job's stored results; ResultsUnread says why they could not be read.
	ResultErrors  []ResultError
	ResultsUnread string
	// PodEvents are events of the pods in Velero's namespace; PodEventsUnread says why not all could be read.
	PodEvents       []velero.PodEvent
	PodEventsUnread string
	// FatalLine is what the container of [Cause.End] wrote last; LogUnread says why its log could not be read.
	FatalLine velero.FatalLine
	LogUnread string
	// SkippedVolumes are the volumes whose data a backup left out, if its stored volume info was read.
	SkippedVolumes []SkippedVolume
}

// SkippedVolume is a volume whose data a backup left out, and why, in Velero's words.
type SkippedVolume struct{ Target, Reason string }

// IsZero reports whether nothing was read, or tried.
func (e EndEvidence) IsZero() bool {
	return len(e.ResultErrors)+len(e.PodEvents)+len(e.SkippedVolumes) == 0 && e.FatalLine == velero.FatalLine{} &&
		!e.IsPartial()
}

// IsPartial reports whether something could not be read.
func (e EndEvidence) IsPartial() bool {
	return e.ResultsUnread != "" || e.PodEventsUnread != "" || e.LogUnread != ""
}

// ResultError are errors of a job's results that say the same.
type ResultError struct {
	Text  string
	Count int
}

// NeedsResults reports whether the job's stored results may say why it ended badly where all else does not.
func NeedsResults(j *job.Job, v Verdict) bool {
	return j.IsTerminal() && j.Errors > 0 && v.Cause.IsZero()
}

// maxEventAge is how long after its end the events about a job are read. An API server keeps them for an hour by
// default (kube-apiserver --event-ttl), OpenShift's for three.
const maxEventAge = 6 * time.Hour

// NeedsPodEvents reports whether the events of Velero's pods may say more about the end of the job: a pod that is gone
// has left nothing else.
func NeedsPodEvents(j *job.Job, v Verdict, now time.Time) bool {
	if !j.IsTerminal() || now.Sub(job.LatestTime(j.Completed, j.LastChanged)) > maxEventAge {
		return false
	}
	switch v.Cause.Reason {
	case ServerEnded, ServerReplaced, NodeAgentEnded, MoverNotReady, MoverNotScheduled, VolumesCancelled:
		return v.Cause.End == nil
	case Reason{}:
		return slices.ContainsFunc(j.Volumes, func(v job.Volume) bool { return v.HasFailed() })
	}
	return false
}

// NeedsFatalLine reports whether the log of the container that ended may say why.
func NeedsFatalLine(v Verdict) bool {
	switch v.Cause.Reason {
	case ServerPanicked, ServerEnded, NodeAgentEnded:
		return v.Cause.End != nil
	}
	return false
}
