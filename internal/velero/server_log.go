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
	// At is in the server's clock, as are the times that the server writes into statuses.
	At    time.Time
	Level string
	Text  string
	// Error is what went wrong, empty if nothing did.
	Error string
}

// IsJobEnd reports whether the line is one of the last lines of the server's work on a restore
// (pkg/controller/restore_controller.go and restore_finalizer_controller.go Reconcile).
func (l *LogLine) IsJobEnd() bool { return l.Text == "restore completed" || l.IsFinalizingEnd() }

// IsFinalizingEnd reports whether the line is the last line of a restore's finalizer.
func (l *LogLine) IsFinalizingEnd() bool { return strings.HasPrefix(l.Text, "Marking restore ") }

// JobLog is what a log says about one job, as far as it was read. MergeLater merges parts of a log, MergeServer the
// logs of several servers.
type JobLog struct {
	// Last is the newest line of the server's work on the job, zero if none was found.
	Last LogLine
	// GaveUp is the line with which the server gave up writing the last status, zero if there is none or if the server
	// continued to work after it. After GaveUp nothing works on the job: the error is not returned
	// (pkg/controller/backup_controller.go and restore_controller.go, Reconcile; 1.13 to 1.18).
	GaveUp LogLine
	// LostPhase is the phase in the lost status, empty if the line does not name it (up to 1.14).
	LostPhase string
	// Failure is why a backup Failed. Restores log the reason only at level debug (pkg/controller/restore_controller.go
	// Reconcile).
	Failure string
	// Hook is the newest hook that began and has not ended, zero for none; its Pod may be empty.
	Hook LoggedHook
	// Refusal is the newest line with which a controller fails to start work on the job; it tries again.
	Refusal LogLine
	// StoreFailure is the newest line in which a controller could not read or write the job's files in the object store,
	// zero if the server has logged something else about its work since. The controller tries again.
	StoreFailure LogLine
	// ListFailure is the newest line in which the API server refuses to list a kind while Last waits for caches, and
	// UnlistedSince the time of the first. A broken connection is not a refusal.
	ListFailure   LogLine
	UnlistedSince time.Time
	// First is the oldest line of the server's work on the job that was read.
	First time.Time
	// BeforeStart is true if the log of a running container mentions work on the job before that container started: then
	// a clock was set, and the start proves nothing.
	BeforeStart bool
	// ByPredecessor is true if the log of an ended container mentions work on the job: a job is started only once, so no
	// later container works on it.
	ByPredecessor bool
}

// NoteStart compares the log of a running container with the container's start.
func (l *JobLog) NoteStart(started time.Time) {
	l.BeforeStart = !l.First.IsZero() && l.First.Before(started.Truncate(time.Second))
}

// AwaitsCaches reports whether the server waits for its caches, which a restore does before its first item, without a
// limit (pkg/restore/restore.go execute and getResourceLister, 1.14 to 1.18.3).
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

// LogEntry is a line with its fields by name, including time, level and msg.
type LogEntry struct {
	LogLine
	Fields map[string]string
}

// ReadJobLog reads what a server's log says about a job; the log is text or written with --log-format=json
// (pkg/util/logging/default_logger.go). It skips lines from before since, lines of other jobs, unreadable lines, and
// a last line without its end. kind is Backup or Restore.
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
		if why := e.listFailure(); awaits && why != "" {
			if found.UnlistedSince.IsZero() || e.At.Sub(found.ListFailure.At) > maxReflectorDelay {
				found.UnlistedSince = e.At
			}
			found.ListFailure = LogLine{At: e.At, Level: e.Level, Text: "Failed to watch", Error: why}
		}
		switch {
		case e.At.Before(since):
		case e.isStoreFailure(kind, namespace, name):
			found.StoreFailure = e.LogLine
		case e.isRefusal(namespace, name):
			found.Refusal = e.LogLine
		case e.IsAboutJob(kind, namespace, name) && e.Level != "debug" && e.Level != "trace":
			found.addEntry(e, kind, ref, since)
		}
	}
	return found
}

// isEmpty reports whether the log says nothing about the job.
func (l *JobLog) isEmpty() bool {
	return !slices.ContainsFunc(
		[]LogLine{l.Last, l.GaveUp, l.ListFailure, l.Refusal, l.StoreFailure},
		func(line LogLine) bool { return !line.At.IsZero() },
	)
}

// MergeLater returns what a log says together with a later part of it; the two may overlap.
func (l JobLog) MergeLater(later JobLog) JobLog {
	switch {
	case later.isEmpty():
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
		later.GaveUp, later.LostPhase = LogLine{}, "" // a clock that was set back, or a line between two reads
	}
	later.Failure = cmp.Or(later.Failure, l.Failure)
	if later.Refusal.At.IsZero() {
		later.Refusal = l.Refusal
	}
	if later.StoreFailure.At.IsZero() && !later.Last.At.After(l.StoreFailure.At) {
		later.StoreFailure = l.StoreFailure
	}
	if later.ListFailure.At.IsZero() {
		later.ListFailure, later.UnlistedSince = l.ListFailure, l.UnlistedSince
	} else if later.Last == l.Last && !l.UnlistedSince.IsZero() {
		later.UnlistedSince = l.UnlistedSince
	}
	if later.Hook.At.IsZero() && later.GaveUp.At.IsZero() && later.Last == l.Last {
		later.Hook = l.Hook
	}
	return later
}

// MergeServer returns what the logs of two servers say. If one server gave up, that means nothing: the other may
// continue, and their clocks differ.
func (l JobLog) MergeServer(o JobLog) JobLog {
	before, predecessor := l.BeforeStart || o.BeforeStart, l.ByPredecessor || o.ByPredecessor
	if o.Last.At.After(l.Last.At) {
		l = o
	}
	l.BeforeStart, l.ByPredecessor = before, predecessor
	l.GaveUp, l.LostPhase = LogLine{}, ""
	return l
}

// HasGivenUp reports whether the server gave up for good: there was no later write (wrote, zero if unknown) or start,
// and the time is not in the future. wrote and now are in the cluster's clock. If the start is unknown, the server
// has not given up for good.
func (l JobLog) HasGivenUp(wrote, started, now time.Time) bool {
	at := l.GaveUp.At
	return !at.IsZero() && !at.After(now.Add(ClockMargin)) && !wrote.After(at.Add(ClockMargin)) &&
		!started.IsZero() && started.Before(at)
}

// addEntry adds a line; lines come in the order in which they were written. Times may go back, so a line that gives
// up counts only if nothing came after it. Lines of hooks come from pkg/podexec/pod_command_executor.go
// ExecutePodCommand.
func (l *JobLog) addEntry(e LogEntry, kind, ref string, since time.Time) {
	if to, gaveUp := parseGiveUp(e.Text, kind); gaveUp && e.isFromController(kind, ref) {
		// In the second of the job's start, the line belongs to an earlier job of that name.
		if e.At.After(since) && !e.At.Before(l.Last.At) {
			l.GaveUp, l.LostPhase, l.Hook = e.LogLine, to, LoggedHook{}
		}
		return
	}
	if e.isWorkerEnd(kind, ref) {
		return
	}
	l.Last, l.UnlistedSince, l.StoreFailure = e.LogLine, time.Time{}, LogLine{}
	if l.First.IsZero() || e.At.Before(l.First) {
		l.First = e.At
	}
	l.GaveUp, l.LostPhase = LogLine{}, ""
	switch {
	case kind == "Backup" && e.Text == "backup failed":
		l.Failure = e.Error
	case e.Text == "running exec hook":
		timeout, _ := time.ParseDuration(e.Fields["hookTimeout"])
		l.Hook = LoggedHook{At: e.At, Pod: e.podName(), Container: e.Fields["hookContainer"], Name: e.Fields["hookName"],
			Phase: e.Fields["hookPhase"], Timeout: max(0, timeout)}
	case strings.HasPrefix(e.Text, "stdout: "), strings.HasPrefix(e.Text, "stderr: "), e.Text == "Error executing hook",
		kind == "Backup" && e.podName() != "":
		// A command ended, or a backup runs a hook before it continues; another worker's hook may still run without being
		// named.
		l.Hook = LoggedHook{}
	}
}

// isFromController reports whether the controller that owns the status of a job in progress wrote the
// line. A plugin's lines carry its name (pkg/plugin/clientmgmt/process/logrus_adapter.go).
func (e *LogEntry) isFromController(kind, ref string) bool {
	_, plugin := e.Fields["pluginName"]
	source := e.Fields["logSource"]
	return !plugin && e.Fields[controllerLogFields[kind]] == ref &&
		(source == "" || strings.Contains(source, "controller/"+strings.ToLower(kind)+"_controller.go:"))
}

// isRefusal reports whether controller-runtime logged that a controller could not start work on a job; it tries again
// (sigs.k8s.io/controller-runtime/pkg/internal/controller, reconcileHandler).
func (e *LogEntry) isRefusal(namespace, name string) bool {
	c := e.Fields["controller"]
	ofJobs := c == string(BackupController) || c == string(RestoreController) || c == string(BackupQueueController)
	return e.Text == "Reconciler error" && ofJobs &&
		e.Fields["name"] == name &&
		(e.Fields["namespace"] == "" || e.Fields["namespace"] == namespace)
}

// storeFailureTexts are the words with which controllers say that the object store did not give or take a file
// (pkg/controller/backup_finalizer_controller.go, backup_operations_controller.go, restore_finalizer_controller.go,
// restore_operations_controller.go, Reconcile; 1.14 to 1.18).
var storeFailureTexts = []string{
	"error getting backup store",
	"error getting a backup store",
	"error getting volumeinfo",
	"error getting restoredresourcelist",
	"error getting itemoperationlist",
	"error getting backup item operations",
	"error getting backup operations",
	"error getting restore operations",
	"error downloading backup",
	"error uploading ",
	"error updating results",
}

// storeControllers are the controllers that try again when the object store fails, by the kind of their jobs.
var storeControllers = map[string][]Controller{
	"Backup":  {BackupOperationsController, BackupFinalizerController},
	"Restore": {RestoreOperationsController, RestoreFinalizerController},
}

// isStoreFailure reports whether a controller of the job could not read or write its files in the object store: its own
// line, or that of controller-runtime about the error that it returned.
func (e *LogEntry) isStoreFailure(kind, namespace, name string) bool {
	text := strings.ToLower(e.Text + ": " + e.Error)
	if e.Level != "error" || e.Error == "" ||
		!slices.ContainsFunc(storeFailureTexts, func(s string) bool { return strings.Contains(text, s) }) {
		return false
	}
	if e.Text == "Reconciler error" {
		return slices.Contains(storeControllers[kind], Controller(e.Fields["controller"])) && e.Fields["name"] == name &&
			(e.Fields["namespace"] == "" || e.Fields["namespace"] == namespace)
	}
	return e.IsAboutJob(kind, namespace, name)
}

// listFailure returns what a reflector says about a kind that it cannot list, empty for other lines
// (k8s.io/client-go/tools/cache/reflector.go, DefaultWatchErrorHandler; up to Velero 1.17 the text begins with the
// reflector's place in the source).
func (e *LogEntry) listFailure() string {
	if !strings.HasPrefix(e.Text, "Failed to watch") &&
		!strings.Contains(e.Text+e.Error+e.Fields["logSource"], "reflector.go:") {
		return ""
	}
	for _, text := range []string{e.Error, e.Text} {
		if i := strings.Index(text, "failed to list "); i >= 0 && !isUnanswered(text[i:]) {
			return text[i:]
		}
	}
	return ""
}

// maxReflectorDelay is longer than a reflector waits before it lists again (client-go tools/cache/reflector.go: 30 s,
// randomly doubled).
const maxReflectorDelay = 90 * time.Second

// isUnanswered reports whether a list failed because the API server or its etcd did not answer, which ends with the
// outage. If a webhook did not answer, the error is the API server's own answer.
func isUnanswered(failure string) bool {
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

// isWorkerEnd reports whether a line is one of a backup's last lines, which also come after it gave up
// (pkg/controller/backup_controller.go Reconcile, StopWorkerPool; pkg/backup/item_block_worker_pool.go Stop; since
// 1.16).
func (e *LogEntry) isWorkerEnd(kind, ref string) bool {
	_, plugin := e.Fields["pluginName"]
	switch e.Text {
	case "ItemBlock worker stopping", "stopping ItemBlock worker", "ItemBlock worker stopped":
		return kind == "Backup" && !plugin && e.Fields[controllerLogFields[kind]] == ref &&
			strings.Contains(e.Fields["logSource"], "backup/item_block_worker_pool.go:")
	}
	return false
}

// podName returns the pod that a line is about, as NAMESPACE/NAME.
func (e *LogEntry) podName() string {
	if pod := e.Fields["pod"]; strings.Contains(pod, "/") {
		return pod
	}
	if e.Fields["resource"] == "pods" && e.Fields["name"] != "" {
		return e.Fields["namespace"] + "/" + e.Fields["name"]
	}
	return ""
}

// parseGiveUp recognises "error updating backup's status from InProgress to Finalizing", capitalized for restores; in
// 1.14 "... backup's final status", after a single attempt.
func parseGiveUp(text, kind string) (to string, ok bool) {
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

// lastPhases are the phases that a last status may have.
var lastPhases = []string{
	PhaseWaitingForPluginOperations,
	PhaseWaitingForPluginOperationsPartiallyFailed,
	PhaseFinalizing,
	PhaseFinalizingPartiallyFailed,
	PhaseCompleted,
	PhasePartiallyFailed,
	PhaseFailed,
}

// controllerLogFields are the log fields of the controllers that alone write the status of a job in progress. Other
// controllers try again.
var controllerLogFields = map[string]string{"Backup": "backuprequest", "Restore": "Restore"}

// JobLogFields are the log fields in which the controllers that work on a kind of job name the job.
var JobLogFields = map[string][]string{
	"Backup":  {"backup", "backuprequest", "backup operations for backup", "backup finalizer"},
	"Restore": {"restore", "Restore", "restore operations for restore", "restore finalizer"},
}

// unrelatedControllers are controllers that mention a job without working on it.
var unrelatedControllers = []string{
	"backup-deletion",
	"backup-sync",
	"gc",
	"garbage-collector",
	"backup-queue",
	"download-request",
	"schedule",
}

// IsAboutJob reports whether a line is about the server's work on a job. kind is Backup or Restore.
func (e *LogEntry) IsAboutJob(kind, namespace, name string) bool {
	if slices.Contains(unrelatedControllers, e.Fields["controller"]) || e.Fields["deletebackuprequest"] != "" {
		return false
	}
	for _, key := range JobLogFields[kind] {
		switch e.Fields[key] {
		case namespace + "/" + name:
			return true
		case name:
			// The finalizer leaves out the namespace; a backup's bare name also occurs in lines of restores from it.
			return kind == "Restore"
		}
	}
	return false
}

// IsAboutVolume reports whether a field contains the name of one of the volumes' resources. Velero spells the fields
// in many ways (dataupload, du, PVB, owner; pkg/controller, pkg/datamover, pkg/podvolume, pkg/exposer), and writes
// the name with or without its namespace.
func (e *LogEntry) IsAboutVolume(namespace string, names map[string]bool) bool {
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

// ParseMoverLogMarker recognises the lines that enclose a node-agent's copy of the log of a pod that moved a volume
// (pkg/util/kube/pod.go CollectPodLogs; since 1.15). Both results are empty for other lines.
func ParseMoverLogMarker(line string) (begins, ends string) {
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

// LogLevel returns the level of a line, empty if it has none. It reads nothing else of the line.
func LogLevel(line string) string {
	if strings.HasPrefix(line, "{") {
		var fields struct{ Level string }
		_ = json.Unmarshal([]byte(line), &fields) // text that is not JSON has no level
		return fields.Level
	}
	l, _ := CutLogLine(line)
	return l.Level
}

// ParseLogLine reads a line of a server, a node-agent or a mover pod. ok is false for other lines and for lines
// without a time.
func ParseLogLine(line string) (e LogEntry, ok bool) {
	if strings.HasPrefix(line, "{") {
		e.Fields, ok = parseJSONFields(line)
	} else {
		e.Fields, ok = parseTextFields(line)
	}
	if !ok {
		return e, false
	}
	at, err := time.Parse(time.RFC3339, e.Fields["time"])
	e.At, e.Level, e.Text = at, e.Fields["level"], e.Fields["msg"]
	e.Error = cmp.Or(e.Fields["error"], e.Fields["error.message"])
	return e, err == nil
}

// parseJSONFields reads a line of --log-format=json, without the fields that are not strings.
func parseJSONFields(line string) (map[string]string, bool) {
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

// parseTextFields reads a line of logrus: KEY=VALUE, quoted where the value is not one plain word. Of two fields with
// the same name the first counts: time, level and msg come first. Warnings of the API server are unquoted, with any
// text (client-go, rest/warnings.go).
func parseTextFields(line string) (map[string]string, bool) {
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

// CutLogLine reads the time, level and text of a line that was cut off in its text. ok is false if the line is not
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
