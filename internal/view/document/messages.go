package document

import "github.com/veltui/veltui/internal/stored/results"

// NewMessages returns the messages of all sections.
func NewMessages(sections []results.MessageSection) []results.Message {
	messages := []results.Message{}
	for _, s := range sections {
		for _, m := range s.Messages {
			m.Resources = append([]results.Resource{}, m.Resources...)
			messages = append(messages, m)
		}
	}
	return messages
}

// Results is what `results -o json` prints.
type Results struct {
	Header
	// Job is the same as in a JobList.
	Job Job `json:"job"`
	// Complete is whether the messages are all there are; Note says why not.
	Complete bool              `json:"complete"`
	Note     string            `json:"note,omitempty"`
	Messages []results.Message `json:"messages"`
	// Cause is that of most errors of a job that has ended, absent if nothing tells; Next is what to do about it.
	Cause *Cause `json:"cause,omitempty"`
	Next  *Next  `json:"next,omitempty"`
	// ServerLog is what the server has logged so far of a job that goes on and has no results that can be read.
	ServerLog *ServerLog `json:"serverLog,omitempty"`
}

// ServerLog are the errors and warnings of the server's log, never said to be all.
type ServerLog struct {
	Errors   int               `json:"errors"`
	Warnings int               `json:"warnings"`
	Messages []results.Message `json:"messages"`
	Gaps     []string          `json:"gaps"`
	Error    string            `json:"error,omitempty"`
}

// LogLine is a line of `logs -o json`.
type LogLine struct {
	Time  Moment `json:"time,omitzero"`
	Level string `json:"level,omitempty"`
	// Pod wrote it, where that is not the server's.
	Pod    string            `json:"pod,omitempty"`
	Text   string            `json:"text"`
	Error  string            `json:"error,omitempty"`
	Fields map[string]string `json:"fields,omitempty"`
}

// WaitResult is what `wait -o json` prints.
type WaitResult struct {
	Header
	Items []WaitItem `json:"items"`
}

// WaitItem is what came of waiting for one job.
type WaitItem struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Result is met, ended (in another way), missing, deleted, stuck, timeout or pending.
	Result string `json:"result"`
	// Condition is the one that was met, as --for takes it.
	Condition string `json:"condition,omitempty"`
	ExitCode  int    `json:"exitCode"`
	// Verified is what verifying a restore found that ended meanwhile, or why it was not verified.
	Verified string `json:"verified,omitempty"`
	// Job is the job as it was seen last.
	Job *Job `json:"job,omitempty"`
}
