package velero

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
)

type LogLine struct {
	// At is in the clock of the server, as are the times that it writes into statuses.
	At    time.Time
	Level string
	Text  string
	// Error is what went wrong, empty if nothing did.
	Error string
}

// EndsJob reports whether it is one of the last lines of the server's work on a restore
// (pkg/controller/restore_controller.go and restore_finalizer_controller.go Reconcile).
func (l *LogLine) EndsJob() bool { return l.Text == "restore completed" || l.EndsFinalizing() }

// EndsFinalizing reports whether it is the last line of a restore's finalizer.
func (l *LogLine) EndsFinalizing() bool { return strings.HasPrefix(l.Text, "Marking restore ") }

// JobLog is what a log tells of one job, as far as it was read. Merge parts with Then, and several servers with Beside.
type JobLog struct {
	// Last is the newest line of the server's work on the job, zero if none was found.
	Last LogLine
	// GaveUp is the line with which the server gave up writing the last status, zero if none or if it
	// worked on after it. Nothing works on the job then: the error is not returned
	// (pkg/controller/backup_controller.go and restore_controller.go, Reconcile; 1.13 to 1.18).
	GaveUp LogLine
	// LostPhase is the phase that the lost status carried, empty if not named (up to 1.14).
	LostPhase string
	// Failure is why a backup Failed. Restores say it at level debug only (pkg/controller/restore_controller.go
	// Reconcile).
	Failure string
	// Hook is the newest hook that began and did not end, zero for none; its Pod may be empty.
	Hook LoggedHook
	// Refused is the newest line with which a controller fails to take the job up; it tries again.
	Refused LogLine
	// Unlisted is the newest line in which the API server refuses to list a kind while Last waits
	// for caches, and UnlistedSince the first. A connection that broke refuses nothing.
	Unlisted      LogLine
	UnlistedSince time.Time
	// First is the oldest line of the server's work on the job that was read.
	First time.Time
	// BeforeStart is true if the log of a container that runs speaks of work on the job before that container
	// started: a clock was set, and the start tells nothing.
	BeforeStart bool
	// ByPredecessor is true if the log of a container that has ended speaks of work on the job: a job is taken up
	// once, so that no later container is at work on it.
	ByPredecessor bool
}

// NoteStart compares the log of a container that runs with its start.
func (l *JobLog) NoteStart(started time.Time) {
	l.BeforeStart = !l.First.IsZero() && l.First.Before(started.Truncate(time.Second))
}

// AwaitsCaches reports whether the server waits for its caches, as a restore does before its first
// item, without a limit (pkg/restore/restore.go execute and getResourceLister, 1.14 to 1.18.3).
func (l *JobLog) AwaitsCaches() bool {
	return strings.HasPrefix(l.Last.Text, "waiting informer cache sync")
}

// LoggedHook is a command that the server runs in a container of a pod.
type LoggedHook struct {
	At time.Time
	// Pod is NAMESPACE/NAME.
	Pod       string
	Container string
	Name      string
	// Phase is pre or post.
	Phase   string
	Timeout time.Duration
}

// LogEntry is a line with its fields: time, level and msg too, by their names.
type LogEntry struct {
	LogLine
	Fields map[string]string
}

// ReadJobLog finds what a server's log tells of a job, written as text or with --log-format=json
// (pkg/util/logging/default_logger.go). It leaves out lines from before since, of other jobs,
// unreadable ones, and a last one without its end. kind is Backup or Restore.
func ReadJobLog(log, kind, namespace, name string, since time.Time) JobLog {
	var found JobLog
	ref := namespace + "/" + name
	for line := range strings.Lines(log) {
		line, whole := strings.CutSuffix(line, "\n")
		awaits := found.AwaitsCaches() && strings.Contains(line, "ailed to ")
		if !whole || !strings.Contains(line, name) && !awaits {
			continue
		}
		e, ok := ParseLogLine(strings.TrimSuffix(line, "\r"))
		if !ok {
			continue
		}
		if why := e.failsToList(); awaits && why != "" {
			if found.UnlistedSince.IsZero() || e.At.Sub(found.Unlisted.At) > reflectorRetries {
				found.UnlistedSince = e.At
			}
			found.Unlisted = LogLine{At: e.At, Level: e.Level, Text: "Failed to watch", Error: why}
		}
		switch {
		case e.At.Before(since):
		case e.refuses(namespace, name):
			found.Refused = e.LogLine
		case e.About(kind, namespace, name) && e.Level != "debug" && e.Level != "trace":
			found.add(e, kind, ref, since)
		}
	}
	return found
}

// Then is what a log tells together with a part of it that was written later; the two may overlap.
func (l JobLog) Then(later JobLog) JobLog {
	switch {
	case later.Last.At.IsZero() && later.GaveUp.At.IsZero() && later.Unlisted.At.IsZero() && later.Refused.At.IsZero():
		return l
	case later.Last.At.IsZero():
		later.Last = l.Last
	}
	later.BeforeStart = later.BeforeStart || l.BeforeStart
	later.ByPredecessor = later.ByPredecessor || l.ByPredecessor
	if !l.First.IsZero() {
		later.First = l.First
	}
	if l.Last.At.After(later.GaveUp.At) {
		later.GaveUp, later.LostPhase = LogLine{}, "" // a clock that went back, or a line between two reads
	}
	later.Failure = cmp.Or(later.Failure, l.Failure)
	if later.Refused.At.IsZero() {
		later.Refused = l.Refused
	}
	if later.Unlisted.At.IsZero() {
		later.Unlisted, later.UnlistedSince = l.Unlisted, l.UnlistedSince
	} else if later.Last == l.Last && !l.UnlistedSince.IsZero() {
		later.UnlistedSince = l.UnlistedSince
	}
	if later.Hook.At.IsZero() && later.GaveUp.At.IsZero() && later.Last == l.Last {
		later.Hook = l.Hook
	}
	return later
}

// Beside is what two servers' logs tell. One that gave up means nothing: the other may work on, and their
// clocks differ.
func (l JobLog) Beside(o JobLog) JobLog {
	before, predecessor := l.BeforeStart || o.BeforeStart, l.ByPredecessor || o.ByPredecessor
	if o.Last.At.After(l.Last.At) {
		l = o
	}
	l.BeforeStart, l.ByPredecessor = before, predecessor
	l.GaveUp, l.LostPhase = LogLine{}, ""
	return l
}

// Final: the server gave up for good: no later write (wrote, zero if unknown) or start, and not in the
// future. wrote and now are in the cluster's clock. A start that is not known makes it not final.
func (l JobLog) Final(wrote, started, now time.Time) bool {
	at := l.GaveUp.At
	return !at.IsZero() && !at.After(now.Add(ClockMargin)) && !wrote.After(at.Add(ClockMargin)) &&
		!started.IsZero() && started.Before(at)
}

// add takes lines as they were written. Times may go back, so a line that gives up counts only if nothing
// came after it. Lines of hooks are from pkg/podexec/pod_command_executor.go ExecutePodCommand.
func (l *JobLog) add(e LogEntry, kind, ref string, since time.Time) {
	if to, gaveUp := givesUp(e.Text, kind); gaveUp && e.ofController(kind, ref) {
		// At the second of its start it is of an earlier job of the name.
		if e.At.After(since) && !e.At.Before(l.Last.At) {
			l.GaveUp, l.LostPhase, l.Hook = e.LogLine, to, LoggedHook{}
		}
		return
	}
	if e.endsWorkers(kind, ref) {
		return
	}
	l.Last, l.UnlistedSince = e.LogLine, time.Time{}
	if l.First.IsZero() || e.At.Before(l.First) {
		l.First = e.At
	}
	l.GaveUp, l.LostPhase = LogLine{}, ""
	switch {
	case kind == "Backup" && e.Text == "backup failed":
		l.Failure = e.Error
	case e.Text == "running exec hook":
		timeout, _ := time.ParseDuration(e.Fields["hookTimeout"])
		l.Hook = LoggedHook{At: e.At, Pod: e.podOf(), Container: e.Fields["hookContainer"], Name: e.Fields["hookName"],
			Phase: e.Fields["hookPhase"], Timeout: max(0, timeout)}
	case strings.HasPrefix(e.Text, "stdout: "), strings.HasPrefix(e.Text, "stderr: "), e.Text == "Error executing hook",
		kind == "Backup" && e.podOf() != "":
		// A command ended, or a backup runs a hook before it goes on; that of another worker may still run unnamed.
		l.Hook = LoggedHook{}
	}
}

// ofController reports whether the controller that owns the status of a job in progress wrote the
// line. A plugin's lines carry its name (pkg/plugin/clientmgmt/process/logrus_adapter.go).
func (e *LogEntry) ofController(kind, ref string) bool {
	_, plugin := e.Fields["pluginName"]
	source := e.Fields["logSource"]
	return !plugin && e.Fields[controllerKeys[kind]] == ref &&
		(source == "" || strings.Contains(source, "controller/"+strings.ToLower(kind)+"_controller.go:"))
}

// refuses: controller-runtime logs that a controller could not take a job up; it tries again
// (sigs.k8s.io/controller-runtime/pkg/internal/controller, reconcileHandler).
func (e *LogEntry) refuses(namespace, name string) bool {
	c := e.Fields["controller"]
	ofJobs := c == string(BackupController) || c == string(RestoreController) || c == string(BackupQueueController)
	return e.Text == "Reconciler error" && ofJobs &&
		e.Fields["name"] == name &&
		(e.Fields["namespace"] == "" || e.Fields["namespace"] == namespace)
}

// failsToList is what a reflector says of a kind that it cannot list, empty for other lines
// (k8s.io/client-go/tools/cache/reflector.go, DefaultWatchErrorHandler; up to Velero 1.17 the
// text begins with the reflector's place in the source).
func (e *LogEntry) failsToList() string {
	if !strings.HasPrefix(e.Text, "Failed to watch") &&
		!strings.Contains(e.Text+e.Error+e.Fields["logSource"], "reflector.go:") {
		return ""
	}
	for _, text := range []string{e.Error, e.Text} {
		if i := strings.Index(text, "failed to list "); i >= 0 && !unanswered(text[i:]) {
			return text[i:]
		}
	}
	return ""
}

// reflectorRetries is longer than a reflector waits before it lists again (client-go
// tools/cache/reflector.go: 30 s, doubled at random).
const reflectorRetries = 90 * time.Second

// unanswered reports whether a list failed because the API server or its etcd did not answer,
// which ends with the outage. What a webhook did not answer is the API server's own answer.
func unanswered(failure string) bool {
	_, why, _ := strings.Cut(failure, ": ")
	return strings.HasPrefix(why, `Get "`) || slices.ContainsFunc([]string{
		"etcdserver: ",
		"context deadline exceeded",
		"context canceled",
		"unexpected EOF",
		"http2: ",
		"stream error: ",
		"client rate limiter ",
		"the server was unable to return a response in the time allotted",
		"apiserver not ready",
		"the apiserver is shutting down",
		"storage is (re)initializing",
		"Timeout: ",
		"Too many requests",
		"the server has received too many requests",
	}, func(text string) bool { return strings.HasPrefix(why, text) })
}

// endsWorkers: a backup's last lines, also after it gave up (pkg/controller/backup_controller.go
// Reconcile, StopWorkerPool; pkg/backup/item_block_worker_pool.go Stop; since 1.16).
func (e *LogEntry) endsWorkers(kind, ref string) bool {
	_, plugin := e.Fields["pluginName"]
	switch e.Text {
	case "ItemBlock worker stopping", "stopping ItemBlock worker", "ItemBlock worker stopped":
		return kind == "Backup" && !plugin && e.Fields[controllerKeys[kind]] == ref &&
			strings.Contains(e.Fields["logSource"], "backup/item_block_worker_pool.go:")
	}
	return false
}

// podOf is the pod that a line is about, as NAMESPACE/NAME.
func (e *LogEntry) podOf() string {
	if pod := e.Fields["pod"]; strings.Contains(pod, "/") {
		return pod
	}
	if e.Fields["resource"] == "pods" && e.Fields["name"] != "" {
		return e.Fields["namespace"] + "/" + e.Fields["name"]
	}
	return ""
}

// givesUp recognises "error updating backup's status from InProgress to Finalizing", with a
// capital for restores; in 1.14 "... backup's final status", after a single attempt.
func givesUp(text, kind string) (to string, ok bool) {
	rest, ok := strings.CutPrefix(strings.ToLower(text), "error updating "+strings.ToLower(kind)+"'s ")
	if !ok {
		return "", false
	}
	if rest == "final status" {
		return "", true
	}
	const from = "status from inprogress to "
	if !strings.HasPrefix(rest, from) {
		return "", false
	}
	to = text[len(text)-len(rest)+len(from):]
	return to, slices.Contains(lastPhases, to)
}

// lastPhases are those that a last status may carry.
var lastPhases = []string{
	PhaseWaiting,
	PhaseWaitingPartly,
	PhaseFinalizing,
	PhaseFinalizingPartly,
	PhaseCompleted,
	PhasePartiallyFailed,
	PhaseFailed,
}

// controllerKeys are the log fields of the controllers that alone write the status of a job in progress.
// Others try again.
var controllerKeys = map[string]string{"Backup": "backuprequest", "Restore": "Restore"}

// JobKeys are the fields in which the controllers that work on a kind of job name it.
var JobKeys = map[string][]string{
	"Backup":  {"backup", "backuprequest", "backup operations for backup", "backup finalizer"},
	"Restore": {"restore", "Restore", "restore operations for restore", "restore finalizer"},
}

// notWork are controllers that speak of a job without working on it.
var notWork = []string{
	"backup-deletion",
	"backup-sync",
	"gc",
	"garbage-collector",
	"backup-queue",
	"download-request",
	"schedule",
}

// About reports whether a line is of the server's work on a job. kind is Backup or Restore.
func (e *LogEntry) About(kind, namespace, name string) bool {
	if slices.Contains(notWork, e.Fields["controller"]) || e.Fields["deletebackuprequest"] != "" {
		return false
	}
	for _, key := range JobKeys[kind] {
		switch e.Fields[key] {
		case namespace + "/" + name:
			return true
		case name:
			// The finalizer leaves out the namespace; a backup's bare name also stands in lines of restores from it.
			return kind == "Restore"
		}
	}
	return false
}

// AboutVolume reports whether a field holds the name of one of the volumes' resources. Velero
// spells the fields in many ways (dataupload, du, PVB, owner; pkg/controller, pkg/datamover,
// pkg/podvolume, pkg/exposer), and writes the name with and without its namespace.
func (e *LogEntry) AboutVolume(namespace string, names map[string]bool) bool {
	for key, value := range e.Fields {
		if key == "msg" || key == "error" || key == "error.message" {
			continue
		}
		if names[strings.TrimPrefix(value, namespace+"/")] {
			return true
		}
	}
	return false
}

// MovedLog recognises the lines between which a node-agent repeats the log of a pod that moved a
// volume (pkg/util/kube/pod.go CollectPodLogs; since 1.15); empty for other lines.
func MovedLog(line string) (begins, ends string) {
	line = strings.TrimRight(line, "\r\n")
	const stars = "***************************"
	inner, opens := strings.CutPrefix(line, stars)
	inner, closes := strings.CutSuffix(inner, stars)
	if !opens || !closes {
		return "", ""
	}
	for word, pod := range map[string]*string{"begin pod logs[": &begins, "end pod logs[": &ends} {
		if rest, found := strings.CutPrefix(inner, word); found {
			*pod, _, _ = strings.Cut(rest, "/")
		}
	}
	return begins, ends
}

// LogLevel is the level of a line of which nothing else is of interest, empty if it has none.
func LogLevel(line string) string {
	if strings.HasPrefix(line, "{") {
		var fields struct{ Level string }
		_ = json.Unmarshal([]byte(line), &fields) // what is no JSON has no level
		return fields.Level
	}
	l, _ := CutLogLine(line)
	return l.Level
}

// ParseLogLine reads a line of a server, a node-agent or a mover pod. ok is false for others and without a time.
func ParseLogLine(line string) (e LogEntry, ok bool) {
	if strings.HasPrefix(line, "{") {
		e.Fields, ok = jsonFields(line)
	} else {
		e.Fields, ok = textFields(line)
	}
	if !ok {
		return e, false
	}
	at, err := time.Parse(time.RFC3339, e.Fields["time"])
	e.At, e.Level, e.Text = at, e.Fields["level"], e.Fields["msg"]
	e.Error = cmp.Or(e.Fields["error"], e.Fields["error.message"])
	return e, err == nil
}

// jsonFields reads a line of --log-format=json, without the fields that are no strings.
func jsonFields(line string) (map[string]string, bool) {
	var raw map[string]any
	err := json.Unmarshal([]byte(line), &raw)
	fields := make(map[string]string, len(raw))
	for key, value := range raw {
		if text, ok := value.(string); ok {
			fields[key] = text
		}
	}
	return fields, err == nil
}

// textFields reads a line of logrus: KEY=VALUE, quoted where the value is not one plain word. Of two
// fields of one name the first counts: time, level and msg come first. Warnings of the API server stand
// there unquoted, with any text (client-go, rest/warnings.go).
func textFields(line string) (map[string]string, bool) {
	if !strings.HasPrefix(line, "time=") {
		return nil, false
	}
	fields := map[string]string{}
	for line != "" {
		key, value, rest, ok := cutField(line)
		if !ok {
			return nil, false
		}
		if _, known := fields[key]; !known {
			fields[key] = value
		}
		line = strings.TrimLeft(rest, " ")
	}
	return fields, true
}

// cutField cuts the first KEY=VALUE from a line.
func cutField(line string) (key, value, rest string, ok bool) {
	key, rest, found := strings.Cut(strings.TrimLeft(line, " "), "=")
	if !found || strings.Contains(key, `"`) {
		return "", "", "", false
	}
	if !strings.HasPrefix(rest, `"`) {
		value, rest, _ = strings.Cut(rest, " ")
		return key, value, rest, true
	}
	quoted, err := strconv.QuotedPrefix(rest)
	if err != nil {
		return "", "", "", false
	}
	value, err = strconv.Unquote(quoted)
	return key, value, rest[len(quoted):], err == nil
}

// CutLogLine reads the time, level and text of a line that was cut in its text. ok is false for what is not
// logrus' text.
func CutLogLine(line string) (l LogLine, ok bool) {
	if !strings.HasPrefix(line, "time=") {
		return l, false
	}
	for range 2 {
		key, value, rest, whole := cutField(line)
		switch {
		case !whole:
			return l, false
		case key == "time":
			at, err := time.Parse(time.RFC3339, value)
			if err != nil {
				return l, false
			}
			l.At = at
		case key == "level":
			l.Level = value
		}
		line = rest
	}
	l.Text = strings.TrimPrefix(strings.TrimLeft(line, " "), "msg=")
	return l, !l.At.IsZero()
}
