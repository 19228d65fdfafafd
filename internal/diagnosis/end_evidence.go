package diagnosis

import "github.com/veltui/veltui/internal/job"

// EndEvidence is what was read to find out why a job ended badly, beyond the job, its volumes and Velero's pods. The
// zero value means that nothing was read.
type EndEvidence struct {
	// ResultErrors are the errors of the job's stored results; ResultsUnread says why they could not be read.
	ResultErrors  []ResultError
	ResultsUnread string
}

// IsZero reports whether nothing was read, or tried.
func (e EndEvidence) IsZero() bool { return len(e.ResultErrors) == 0 && e.ResultsUnread == "" }

// ResultError are errors of a job's results that say the same.
type ResultError struct {
	Text  string
	Count int
}

// NeedsResults reports whether the job's stored results may say why it ended badly where all else does not.
func NeedsResults(j *job.Job, v Verdict) bool {
	return j.IsTerminal() && j.Errors > 0 && v.Cause.IsZero()
}
