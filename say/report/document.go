package report

// Document is a report, as `veltui report -o json` prints it. Its moments are in RFC
// 3339 and in UTC, in the cluster's clock where nothing else is said.
type Document struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	MadeAt     string `json:"madeAt"`
	// Veltui and Velero are versions; Velero is empty where its pod could not be seen.
	Veltui    string `json:"veltuiVersion"`
	Velero    string `json:"veleroVersion,omitempty"`
	Context   string `json:"context,omitempty"`
	Namespace string `json:"namespace"`

	Job     Job     `json:"job"`
	Verdict Verdict `json:"verdict"`
	// Left is what is left to do, the first first.
	Left []Step `json:"left"`
	// Done is what people did to the job with veltui, oldest first.
	Done []Deed `json:"done"`
	// Timeline is oldest first; TimelineLeft is how many entries are not in it.
	Timeline      []Event   `json:"timeline"`
	TimelineLeft  int       `json:"timelineLeft,omitempty"`
	TimelineNotes []string  `json:"timelineNotes,omitempty"`
	Messages      Messages  `json:"messages"`
	Log           Log       `json:"log"`
	Volumes       Volumes   `json:"volumes"`
	Operations    Work      `json:"operations"`
	Limits        []Limit   `json:"limits"`
	NotSeen       []NotSeen `json:"notSeen"`
}

// Job is what the report is about.
type Job struct {
	Kind             string   `json:"kind"`
	Name             string   `json:"name"`
	UID              string   `json:"uid"`
	Phase            string   `json:"phase"`
	Stage            string   `json:"stage"`
	Progress         string   `json:"progress,omitempty"`
	Backup           string   `json:"backupName,omitempty"`
	Schedule         string   `json:"scheduleName,omitempty"`
	Location         string   `json:"storageLocation,omitempty"`
	CreatedAt        string   `json:"createdAt,omitempty"`
	StartedAt        string   `json:"startedAt,omitempty"`
	ChangedAt        string   `json:"changedAt,omitempty"`
	CompletedAt      string   `json:"completedAt,omitempty"`
	Errors           int      `json:"errors"`
	Warnings         int      `json:"warnings"`
	FailureReason    string   `json:"failureReason,omitempty"`
	ValidationErrors []string `json:"validationErrors,omitempty"`
}

// Verdict is why the job is as it is.
type Verdict struct {
	// State is empty for a job that has ended.
	State   string `json:"state,omitempty"`
	Reason  string `json:"reason"`
	Summary string `json:"summary"`
	// Proof is why the job cannot go on by itself, such as ownerGone; empty if nothing
	// proves that. The first fact is the observation.
	Proof  string `json:"proof,omitempty"`
	Facts  []Fact `json:"facts"`
	Advice string `json:"advice,omitempty"`
}

// Fact is one piece of evidence. One that does not hold could not be looked at, or
// speaks against the verdict.
type Fact struct {
	Text   string `json:"text"`
	Holds  bool   `json:"holds"`
	Source string `json:"source"`
	At     string `json:"at,omitempty"`
}

// Step is something left to do, with commands.
type Step struct {
	Text     string   `json:"text"`
	Commands []string `json:"commands,omitempty"`
}

// Deed is what somebody did.
type Deed struct {
	At   string `json:"at,omitempty"`
	By   string `json:"by,omitempty"`
	Text string `json:"text"`
	// Reason is the one that was given, Source where it is noted.
	Reason string `json:"reason,omitempty"`
	Source string `json:"source"`
}

// Event is an entry of the timeline. Source is whose clock the time is of.
type Event struct {
	At     string `json:"at"`
	Source string `json:"source"`
	Text   string `json:"text"`
}

// Messages are the job's errors and warnings. Complete is whether they are all there
// are; Note says why not.
type Messages struct {
	Complete bool      `json:"complete"`
	Note     string    `json:"note,omitempty"`
	Groups   []Message `json:"groups"`
	// Left is how many groups are not in the report.
	Left int `json:"left,omitempty"`
}

// Message is messages that say the same.
type Message struct {
	Severity  string   `json:"severity"`
	Where     string   `json:"where"`
	Text      string   `json:"text"`
	Count     int      `json:"count"`
	Resources []string `json:"resources,omitempty"`
	// More is how many more resources there are.
	More int `json:"more,omitempty"`
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
	At    string `json:"at,omitempty"`
	Level string `json:"level,omitempty"`
	Text  string `json:"text"`
	Error string `json:"error,omitempty"`
	// Repeated is how many lines right before it differ from it in numbers only.
	Repeated int `json:"repeated,omitempty"`
}

// Volumes are those of the job: how many are in each phase, and those that have not
// completed.
type Volumes struct {
	Phases []Count  `json:"phases"`
	Open   []Volume `json:"open"`
	// Left is how many of them are not in the report.
	Left int `json:"left,omitempty"`
}

// Count is how many there are of something.
type Count struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// Volume is one that has not completed.
type Volume struct {
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Target  string `json:"target"`
	Phase   string `json:"phase"`
	Node    string `json:"node,omitempty"`
	Amount  string `json:"amount,omitempty"`
	Cause   string `json:"cause,omitempty"`
	Message string `json:"message,omitempty"`
}

// Work are the job's item operations.
type Work struct {
	Attempted int `json:"attempted"`
	Completed int `json:"completed"`
	Failed    int `json:"failed"`
	// Open are those that have not completed, as far as the list could be read.
	Open []string `json:"open"`
	Left int      `json:"left,omitempty"`
}

// Limit is one of Velero's own bounds on the job, and where it comes from.
type Limit struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"`
}

// NotSeen is what could not be looked at.
type NotSeen struct {
	What string `json:"what"`
	Why  string `json:"why"`
}
