package finalize

import (
	"fmt"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero"
)

// proof refuses unless all files are stored and newer than the job's start: an
// older job of the same name may have left its own.
func proof(e *Evidence) verdict {
	const advice = "Look whether the storage location is available and whether you may create DownloadRequests. Without proof a live server's job is not touched."
	began := e.began()
	for _, a := range e.Artifacts {
		switch {
		case a.State == job.Absent:
			return refuse(restartAdvice, "%s is not stored, so Velero has not done all its work", a.Target)
		case a.State != job.Present:
			return refuse(advice, "whether %s is stored could not be found out%s", a.Target, because(a.Why)).inDoubt()
		case a.LastModified.IsZero():
			return refuse(advice, "%s is stored, but since when is not known: it may be of an earlier %s of that name", a.Target, word(e.Job.Kind)).inDoubt()
		case !a.LastModified.After(began):
			return refuse(restartAdvice, "the stored %s is older than this %s, so it is of an earlier one of that name", a.Target, word(e.Job.Kind))
		}
	}
	if len(e.Artifacts) < len(Targets(e.Job.Kind)) {
		return refuse(advice, "whether its results are stored was not looked at")
	}
	return verdict{}
}

// nextPhase is where Velero would have taken a job in progress with its last
// patch, and why we are sure; missing says what keeps us from being sure.
func nextPhase(e *Evidence) (phase, why string, missing verdict) {
	if missing = proof(e); missing.refusal != "" {
		return "", "", missing
	}
	if e.Counts == nil {
		return "", "", refuse("Look whether its results can be downloaded: velero "+word(e.Job.Kind)+" describe "+e.Job.Name,
			"how many errors and operations it had could not be read from its stored results%s", because(e.CountsWhy)).inDoubt()
	}
	if e.Location != nil && e.Location.Phase == string(velerov1.BackupStorageLocationPhaseUnavailable) {
		return "", "", refuse("Get the storage location back.",
			"storage location %s is unavailable, so Velero could not finalize it", e.Location.Name).inDoubt()
	}
	why = "all its results are stored, newer than its start, but its last status patch was lost (as in Velero issue 7207)"
	ops := e.Counts.Operations
	open := ops.Attempted > ops.Completed+ops.Failed
	partly := e.Counts.Errors > 0 || ops.Failed > 0
	switch {
	case open && partly:
		phase = velero.PhaseWaitingPartly
	case open:
		phase = velero.PhaseWaiting
	case partly:
		phase = velero.PhaseFinalizingPartly
	default:
		phase = velero.PhaseFinalizing
	}
	return phase, why, verdict{}
}

// fields are the numbers that the lost patch carried. Zeros are not written:
// Velero leaves them out.
func fields(e *Evidence, to string) []Field {
	var set []Field
	add := func(name string, value, present int) {
		if value > present {
			set = append(set, Field{name, value})
		}
	}
	counts := job.StoredCounts{Warnings: e.Job.Warnings, Errors: e.Job.Errors, Operations: e.Job.Operations}
	if e.Counts != nil {
		counts = *e.Counts
	}
	if to == velero.PhasePartiallyFailed {
		counts.Errors = max(counts.Errors, 1)
	}
	add("warnings", counts.Warnings, e.Job.Warnings)
	add("errors", counts.Errors, e.Job.Errors)
	prefix := word(e.Job.Kind) + "ItemOperations"
	add(prefix+"Attempted", counts.Operations.Attempted, e.Job.Operations.Attempted)
	add(prefix+"Completed", counts.Operations.Completed, e.Job.Operations.Completed)
	add(prefix+"Failed", counts.Operations.Failed, e.Job.Operations.Failed)
	return set
}

// patchWindow is how long after its work Velero may still try to write its last
// status: the delays of its helper grow fivefold from 10 ms with 10 % of jitter,
// and once the next one would pass the resource timeout there is no further
// attempt (pkg/client/retry.go with apimachinery's wait.Backoff). It is never
// taken for less than five minutes, nor for more than twenty.
func patchWindow(o metav1.Object) time.Duration {
	limit := velero.ResourceTimeout(o, velero.ServerFlags{})
	total, delay := time.Duration(0), 10*time.Millisecond
	for delay*5 <= limit { // ends, as the limit is far from the largest number
		total += delay
		delay *= 5
	}
	return min(max(total+total/10, 5*time.Minute), 20*time.Minute)
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// words puts a duration into words: whole seconds, minutes or hours.
func words(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	}
	return fmt.Sprintf("%dh", int(d.Hours()))
}
