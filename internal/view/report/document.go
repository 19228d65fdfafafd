package report

import (
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/stored/results"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/document"
)

// Document is a report, as `veltui report -o json` prints it. Its moments are in the
// cluster's clock where nothing else is said.
type Document struct {
	document.Header
	MadeAt document.Moment `json:"madeAt"`
	// VeltuiVersion and Velero are versions; Velero is empty where its pod could not be seen.
	VeltuiVersion string `json:"veltuiVersion"`
	VeleroVersion string `json:"veleroVersion,omitempty"`
	Context       string `json:"context,omitempty"       redact:"name"`
	Namespace     string `json:"namespace"`

	Job     Job     `json:"job"`
	Verdict Verdict `json:"verdict"`
	// Remaining is what is left to do, the first first.
	Remaining []Step `json:"left"`
	// PastActions is what people did to the job with veltui, oldest first.
	PastActions []PastAction `json:"done"`
	// Timeline is oldest first; OmittedEvents is how many entries are not in it.
	Timeline      []Event        `json:"timeline"`
	OmittedEvents int            `json:"timelineLeft,omitempty"`
	TimelineNotes []string       `json:"timelineNotes,omitempty"`
	Messages      Messages       `json:"messages"`
	Log           Log            `json:"log"`
	Volumes       Volumes        `json:"volumes"`
	Operations    Operations     `json:"operations"`
	Limits        []velero.Limit `json:"limits"`
	Unchecked     []Unchecked    `json:"notSeen"`
}

// Job is what the report is about.
type Job struct {
	document.Head
	Progress string `json:"progress,omitempty"`
	Location string `json:"storageLocation,omitempty"`
}

// Verdict is why the job is as it is. The first fact is the observation that proves it.
type Verdict struct {
	document.Verdict
	Summary string `json:"summary"`
}

// Step is something left to do, with commands.
type Step struct {
	Text     string   `json:"text"`
	Commands []string `json:"commands,omitempty" redact:"command"`
}

// PastAction is what somebody did.
type PastAction struct {
	At   document.Moment `json:"at,omitzero"`
	By   string          `json:"by,omitempty"`
	Text string          `json:"text"`
	// Reason is the one that was given, Source where it is noted.
	Reason string `json:"reason,omitempty"`
	Source string `json:"source"`
}

// Event is an entry of the timeline. Source is whose clock the time is of.
type Event struct {
	At     document.Moment `json:"at"`
	Source string          `json:"source"`
	Text   string          `json:"text"`
}

// Messages are the job's errors and warnings. Complete is whether they are all there are; Note says why not.
type Messages struct {
	Complete bool              `json:"complete"`
	Note     string            `json:"note,omitempty"`
	Groups   []results.Message `json:"groups"`
	// OmittedGroups is how many groups are not in the report.
	OmittedGroups int `json:"left,omitempty"`
}

// Log are the lines of the job's log that decide.
type Log struct {
	// From says which log it is.
	From string `json:"from,omitempty"`
	// Lost are lines with which the server gave up writing the job's status.
	Lost []LogLine `json:"lost"`
	// FirstErrors and Last are the first errors and the last lines about the job.
	FirstErrors []LogLine `json:"firstErrors"`
	Last        []LogLine `json:"last"`
}

// LogLine is a line of a log.
type LogLine struct {
	At    document.Moment `json:"at,omitzero"`
	Level string          `json:"level,omitempty"`
	Text  string          `json:"text"`
	Error string          `json:"error,omitempty"`
	// Repeated is how many lines right before it differ from it in numbers only.
	Repeated int `json:"repeated,omitempty"`
}

// Volumes are those of the job: how many are in each phase, and those that have not completed.
type Volumes struct {
	Phases []Count           `json:"phases"`
	Open   []document.Volume `json:"open"`
	// OmittedVolumes is how many of them are not in the report.
	OmittedVolumes int `json:"left,omitempty"`
	// Counts, None and Lines word the volumes for the Markdown; None is for a job without volumes.
	Counts []view.PageField  `json:"-"`
	None   string            `json:"-"`
	Lines  []view.VolumeLine `json:"-"`
}

// Count is how many there are of something.
type Count struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// Operations are the job's item operations.
type Operations struct {
	job.Operations
	// Open are those that have not completed, as far as the list could be read.
	Open              []string `json:"open"`
	OmittedOperations int      `json:"left,omitempty"`
}

// Unchecked is what could not be looked at.
type Unchecked struct {
	What string `json:"what"`
	Why  string `json:"why"`
}
