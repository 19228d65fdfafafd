package document

import "github.com/veltui/veltui/stored/outcome"

// Message is messages that say the same.
type Message struct {
	// Severity is error or warning, and Scope velero, cluster or namespace.
	Severity  string `json:"severity"`
	Scope     string `json:"scope"`
	Namespace string `json:"namespace,omitempty"`
	// Text is what they say, without the resource at the beginning; Example is the first as Velero wrote it.
	Text      string             `json:"text"`
	Example   string             `json:"example,omitempty"`
	Count     int                `json:"count"`
	Resources []outcome.Resource `json:"resources"`
	// More is how many resources are left out.
	More int `json:"more,omitempty"`
}

// NewMessages returns the messages of all sections.
func NewMessages(sections []outcome.Section) []Message {
	messages := []Message{}
	for _, s := range sections {
		for _, m := range s.Complaints {
			messages = append(messages, Message{Severity: string(m.Severity), Scope: string(m.Scope), Namespace: m.Namespace,
				Text: m.Text, Example: m.Example, Count: m.Count, Resources: append([]outcome.Resource{}, m.Resources...)})
		}
	}
	return messages
}

// Words are what the messages say, fit to show: never nothing.
func (m Message) Words() string { return outcome.Words(m.Text) }

// Place is where the messages belong, in words.
func (m Message) Place() string { return outcome.Scope(m.Scope).Title(m.Namespace) }

// Results is what `results -o json` prints.
type Results struct {
	Header
	// Job is the same as in a JobList.
	Job Job `json:"job"`
	// Complete is whether the messages are all there are; Note says why not.
	Complete bool      `json:"complete"`
	Note     string    `json:"note,omitempty"`
	Messages []Message `json:"messages"`
	// ServerLog is what the server has logged so far of a job that goes on and has no results that can be read.
	ServerLog *ServerLog `json:"serverLog,omitempty"`
}

// ServerLog are the errors and warnings of the server's log, never said to be all.
type ServerLog struct {
	Errors   int       `json:"errors"`
	Warnings int       `json:"warnings"`
	Messages []Message `json:"messages"`
	Gaps     []string  `json:"gaps"`
	Error    string    `json:"error,omitempty"`
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
	// Job is the job as it was seen last.
	Job *Job `json:"job,omitempty"`
}
