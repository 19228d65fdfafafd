package velero

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
)

// LogLine is one line of a server's log.
type LogLine struct {
	// At is in the clock of the server, as are the times that it writes into
	// statuses.
	At    time.Time
	Level string
	Text  string
	// Error is what went wrong, empty if nothing did.
	Error string
}

// JobLog is what a server's log tells of one job. What is not in it was not
// seen, which is no sign of anything: a log is read in part, and rotated.
// Merge parts with Then, and the logs of several servers with Beside.
type JobLog struct {
	// Last is the newest line of the server's work on the job, zero if none
	// was found.
	Last LogLine
	// GaveUp is the line with which the server gave up writing the job's last
	// status, zero if there is none or if the server worked on the job after
	// it. Nothing works on the job from then on: the error is not returned, so
	// the controller does not look again (pkg/controller/backup_controller.go
	// and restore_controller.go, Reconcile; read in 1.13 to 1.18).
	GaveUp LogLine
	// LostPhase is the phase that the lost status carried, empty where the
	// line does not name it (up to 1.14).
	LostPhase string
	// Failure is why the server ended the job as Failed, empty if it did not
	// or did not say.
	Failure string
	// Hook is the newest hook that began and of which no end was seen; its
	// Pod is empty if there is none.
	Hook LoggedHook
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

// logEntry is a line with its fields.
type logEntry struct {
	LogLine
	fields map[string]string
}

// ReadJobLog finds what a server's log tells of a job: lines as Velero writes
// them, as text or with --log-format=json (pkg/util/logging/default_logger.go).
// Lines from before since, of other jobs, and those that it cannot read are
// left out, and a last one without its end. kind is Backup or Restore.
func ReadJobLog(log, kind, namespace, name string, since time.Time) JobLog {
	var found JobLog
	ref := namespace + "/" + name
	for line := range strings.Lines(log) {
		line, whole := strings.CutSuffix(line, "\n")
		if !whole || !strings.Contains(line, name) {
			continue
		}
		e, ok := parseLogLine(strings.TrimSuffix(line, "\r"))
		if !ok || e.At.Before(since) || !e.about(kind, namespace, name) {
			continue
		}
		found.add(e, kind, ref, since)
	}
	return found
}

// Then is what a log tells together with a part of it that was written later;
// the two may overlap.
func (l JobLog) Then(later JobLog) JobLog {
	switch {
	case later.Last.At.IsZero() && later.GaveUp.At.IsZero():
		return l
	case later.Last.At.IsZero():
		later.Last = l.Last
	}
	if l.Last.At.After(later.GaveUp.At) {
		later.GaveUp, later.LostPhase = LogLine{}, "" // a clock that went back, or a line between two reads
	}
	if later.Failure == "" {
		later.Failure = l.Failure
	}
	if later.Hook.Pod == "" && later.GaveUp.At.IsZero() && later.Last == l.Last {
		later.Hook = l.Hook
	}
	return later
}

// Beside is what the logs of two servers tell together. That one of them gave up
// means nothing then: the other may work on the job, and their clocks differ.
func (l JobLog) Beside(o JobLog) JobLog {
	if o.Last.At.After(l.Last.At) {
		l = o
	}
	l.GaveUp, l.LostPhase = LogLine{}, ""
	return l
}

// logClockMargin is how far the clock of the server may be from that of the API
// server, which notes when the job was last written.
const logClockMargin = 2 * time.Minute

// Final reports whether the server gave up the job and nothing speaks against
// it: no write to the job after that, which wrote is the last of (zero if not
// known), no start of a server, which marks such jobs itself (zero if not known,
// and then it is not final), and no time to come. wrote and now are in the
// cluster's clock.
func (l JobLog) Final(wrote, started, now time.Time) bool {
	at := l.GaveUp.At
	return !at.IsZero() && !at.After(now.Add(logClockMargin)) && !wrote.After(at.Add(logClockMargin)) &&
		!started.IsZero() && started.Before(at)
}

// add takes lines in the order in which the server wrote them. Their times may
// go back with its clock, so a line that gives up counts only if neither order
// nor time puts other work after it.
func (l *JobLog) add(e logEntry, kind, ref string, since time.Time) {
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
	l.Last = e.LogLine
	l.GaveUp, l.LostPhase = LogLine{}, ""
	switch {
	case e.Text == strings.ToLower(kind)+" failed":
		l.Failure = e.Error
	case e.Text == "running exec hook":
		l.Hook = hookFrom(e)
	case hookEnds(e.Text), kind == "Backup" && e.podOf() != "":
		// A backup runs a hook before it goes on to the next item; where several
		// workers take items, the hook may still run, and is not named.
		l.Hook = LoggedHook{}
	}
}

// ofController reports whether the controller that owns a job's status while it
// is in progress wrote the line itself. A plugin may log what it likes, but the
// server adds its name (pkg/plugin/clientmgmt/process/logrus_adapter.go).
func (e *logEntry) ofController(kind, ref string) bool {
	_, plugin := e.fields["pluginName"]
	source := e.fields["logSource"]
	return !plugin && e.fields[controllerKeys[kind]] == ref &&
		(source == "" || strings.Contains(source, "controller/"+strings.ToLower(kind)+"_controller.go:"))
}

// endsWorkers recognises the lines with which the backup controller stops its
// workers on its way out of a backup: the last that it logs, also after it gave up
// (pkg/controller/backup_controller.go Reconcile, StopWorkerPool, and
// pkg/backup/item_block_worker_pool.go Stop; since 1.16).
func (e *logEntry) endsWorkers(kind, ref string) bool {
	_, plugin := e.fields["pluginName"]
	switch e.Text {
	case "ItemBlock worker stopping", "stopping ItemBlock worker", "ItemBlock worker stopped":
		return kind == "Backup" && !plugin && e.fields[controllerKeys[kind]] == ref &&
			strings.Contains(e.fields["logSource"], "backup/item_block_worker_pool.go:")
	}
	return false
}

// hookEnds recognises what is logged when a command has ended
// (pkg/podexec/pod_command_executor.go ExecutePodCommand).
func hookEnds(text string) bool {
	return strings.HasPrefix(text, "stdout: ") || strings.HasPrefix(text, "stderr: ") || text == "Error executing hook"
}

// hookFrom reads the line with which a command begins
// (pkg/podexec/pod_command_executor.go ExecutePodCommand).
func hookFrom(e logEntry) LoggedHook {
	timeout, _ := time.ParseDuration(e.fields["hookTimeout"])
	return LoggedHook{At: e.At, Pod: e.podOf(), Container: e.fields["hookContainer"], Name: e.fields["hookName"],
		Phase: e.fields["hookPhase"], Timeout: max(0, timeout)}
}

// podOf is the pod that a line is about, as NAMESPACE/NAME.
func (e *logEntry) podOf() string {
	if pod := e.fields["pod"]; strings.Contains(pod, "/") {
		return pod
	}
	if e.fields["resource"] == "pods" && e.fields["name"] != "" {
		return e.fields["namespace"] + "/" + e.fields["name"]
	}
	return ""
}

// givesUp recognises the line that comes when the last status could not be
// written: "error updating backup's status from InProgress to Finalizing", with
// a capital for restores. In 1.14 it is "... backup's final status", after
// a single attempt.
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
	return to, isPhase(to)
}

// isPhase reports whether a word is a phase that a last status may carry.
func isPhase(word string) bool {
	return slices.Contains([]string{PhaseWaiting, PhaseWaitingPartly, PhaseFinalizing, PhaseFinalizingPartly,
		PhaseCompleted, PhasePartiallyFailed, PhaseFailed}, word)
}

// controllerKeys are the fields in which the controllers name a job that alone
// write its status while it is in progress. Others try again when they cannot.
var controllerKeys = map[string]string{"Backup": "backuprequest", "Restore": "Restore"}

// jobKeys are the fields in which the controllers that work on a job name it.
var jobKeys = map[string][]string{
	"Backup":  {"backup", "backuprequest", "backup operations for backup", "backup finalizer"},
	"Restore": {"restore", "Restore", "restore operations for restore", "restore finalizer"},
}

// notWork are controllers that speak of a job without working on it.
var notWork = []string{"backup-deletion", "backup-sync", "gc", "garbage-collector", "backup-queue", "download-request", "schedule"}

// about reports whether a line is of the server's work on a job.
func (e *logEntry) about(kind, namespace, name string) bool {
	if slices.Contains(notWork, e.fields["controller"]) || e.fields["deletebackuprequest"] != "" || e.Level == "debug" || e.Level == "trace" {
		return false
	}
	for _, key := range jobKeys[kind] {
		switch e.fields[key] {
		case namespace + "/" + name:
			return true
		case name:
			// The finalizer leaves out the namespace; a backup's bare name also
			// stands in the lines of restores from it.
			return kind == "Restore"
		}
	}
	return false
}

func parseLogLine(line string) (e logEntry, ok bool) {
	if strings.HasPrefix(line, "{") {
		e.fields, ok = jsonFields(line)
	} else {
		e.fields, ok = textFields(line)
	}
	if !ok {
		return e, false
	}
	at, err := time.Parse(time.RFC3339, e.fields["time"])
	e.At, e.Level, e.Text = at, e.fields["level"], e.fields["msg"]
	if e.Error = e.fields["error"]; e.Error == "" {
		e.Error = e.fields["error.message"]
	}
	return e, err == nil
}

// jsonFields reads a line of --log-format=json; fields that are no strings are
// of no interest.
func jsonFields(line string) (map[string]string, bool) {
	var raw map[string]any
	if json.Unmarshal([]byte(line), &raw) != nil {
		return nil, false
	}
	fields := make(map[string]string, len(raw))
	for key, value := range raw {
		if text, ok := value.(string); ok {
			fields[key] = text
		}
	}
	return fields, true
}

// textFields reads a line as logrus writes it: KEY=VALUE with spaces between,
// where a value that is not one plain word is quoted. Keys may hold spaces. Of
// two fields of one name the first counts: logrus writes time, level and msg
// before all others. Other libraries write to the same log, and quote nothing:
// warnings of the API server, which may hold any text (client-go, rest/warnings.go).
func textFields(line string) (map[string]string, bool) {
	if !strings.HasPrefix(line, "time=") {
		return nil, false
	}
	fields := map[string]string{}
	for line = strings.TrimLeft(line, " "); line != ""; line = strings.TrimLeft(line, " ") {
		key, rest, found := strings.Cut(line, "=")
		if !found || strings.Contains(key, `"`) {
			return nil, false
		}
		value, rest, ok := cutValue(rest)
		if !ok {
			return nil, false
		}
		if _, known := fields[key]; !known {
			fields[key] = value
		}
		line = rest
	}
	return fields, len(fields) > 0
}

func cutValue(text string) (value, rest string, ok bool) {
	if !strings.HasPrefix(text, `"`) {
		value, rest, _ = strings.Cut(text, " ")
		return value, rest, true
	}
	quoted, err := strconv.QuotedPrefix(text)
	if err != nil {
		return "", "", false
	}
	value, err = strconv.Unquote(quoted)
	return value, text[len(quoted):], err == nil
}
