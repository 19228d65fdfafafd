package action

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/safefile"
	"github.com/veltui/veltui/internal/sanitize"
)

// maxCopyName limits the part of a copy's file name that comes from its resource.
const maxCopyName = 200

// AuditLogFile is the audit log's name: one JSON document a line, appended.
const AuditLogFile = "finalize.jsonl"

// AuditEntry is one line of the audit log.
type AuditEntry struct {
	Time    time.Time `json:"time"`
	Event   string    `json:"event"` // begin, check, send, landed, removed, end
	Attempt string    `json:"attempt"`
	Context string    `json:"context,omitempty"`
	Cluster string    `json:"cluster,omitempty"`
	// ClusterUID is the uid of namespace kube-system, Host where the last request was sent.
	ClusterUID string `json:"clusterUID,omitempty"`
	Host       string `json:"host,omitempty"`
	// Machine is where the attempt holds a lock while it runs; empty where there are no locks.
	Machine   string          `json:"machine,omitempty"`
	Action    string          `json:"action,omitempty"`
	Kind      string          `json:"kind"`
	Namespace string          `json:"namespace"`
	Name      string          `json:"name"`
	UID       string          `json:"uid"`
	By        string          `json:"by"`
	From      string          `json:"from"`
	To        string          `json:"to"`
	Reason    string          `json:"reason"`
	Target    string          `json:"target,omitempty"`   // what is patched, if not the job
	Commands  []string        `json:"commands,omitempty"` // that do the same, at begin
	Patch     json.RawMessage `json:"patch,omitempty"`
	Object    json.RawMessage `json:"object,omitempty"` // what is created
	// DryRun is set in an attempt that was to end after the dry run.
	DryRun       bool     `json:"dryRun,omitempty"`
	UndoCommands []string `json:"undo,omitempty"` // the commands that take back what should not have been done, at the end
	// DeletePreconditions is what must hold of the object for it to be deleted.
	DeletePreconditions *metav1.Preconditions `json:"delete,omitempty"`
	CopyPath            string                `json:"copy,omitempty"`
	State               OutcomeState          `json:"state,omitempty"`
	Sent                SentState             `json:"sent,omitempty"`
	Phase               string                `json:"phase,omitempty"`
	Message             string                `json:"message,omitempty"`
	Error               string                `json:"error,omitempty"`
}

type auditLog struct {
	dir, path, attempt string
	lock               *os.File // held on machine until the execution ends; nil where there are no locks
	machine            string
}

// newAuditLog prepares the record of one execution. It fails if other users could write to the record or replace it.
func newAuditLog(o Options, attempt string) (*auditLog, error) {
	if o.AuditDir == "" {
		return nil, errors.New("there is no folder for the audit log, so veltui does nothing")
	}
	a := &auditLog{dir: o.AuditDir, path: filepath.Join(o.AuditDir, AuditLogFile), attempt: attempt}
	for _, dir := range []string{a.dir, filepath.Join(a.dir, copiesDir)} {
		if err := safefile.MakeDir(dir); err != nil {
			return nil, fmt.Errorf("%w: %w", errUnsafeAuditLog, err)
		}
	}
	file, err := openAuditLogFile(a.path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnsafeAuditLog, err)
	}
	if err := errors.Join(a.acquireLock(), file.Close()); err != nil {
		return nil, fmt.Errorf("locking the attempt: %w", err)
	}
	return a, nil
}

// saveCopies writes the resources, as they were before, into one file.
func (a *auditLog) saveCopies(of *AuditEntry, seen ...*unstructured.Unstructured) (string, error) {
	var all []string
	for _, o := range seen {
		object, err := json.Marshal(o.Object)
		if err != nil {
			return "", fmt.Errorf("saving a copy: %w", err)
		}
		all = append(all, string(sanitize.YAMLFromJSON(object)))
	}
	name := fmt.Sprintf("%s-%s-%s", strings.ToLower(of.Kind), of.Namespace, of.Name)
	name = name[:min(len(name), maxCopyName)] + "-" + a.attempt + ".yaml"
	path := filepath.Join(a.dir, copiesDir, filepath.Base(name))
	if err := writeCopy(path, []byte(strings.Join(all, "---\n"))); err != nil {
		return "", fmt.Errorf("saving a copy: %w", err)
	}
	return path, nil
}

// writeEntry appends one line, which is on the disk when writeEntry returns.
func (a *auditLog) writeEntry(e AuditEntry) error {
	e.Machine = a.machine
	return appendEntry(a.path, e)
}

// recordEvent writes one line about an event of the execution; w is the write concerned, nil for none.
func (x *execution) recordEvent(event string, w write) error {
	return x.auditLog.writeEntry(x.newEntry(event, w))
}

func (x *execution) newEntry(event string, w write) AuditEntry {
	o, entry := x.engine.options, x.baseEntry
	entry.Time, entry.Event, entry.Attempt = o.Now().UTC(), event, x.stamp.attempt
	cluster := x.engine.connection.Identity()
	entry.Context, entry.Cluster, entry.ClusterUID, entry.CopyPath = o.Context, cluster.Server, string(
		cluster.UID,
	), x.outcome.CopyPath
	entry.Host, entry.DryRun = x.lastHost, x.dryRunOnly
	entry.By = strings.ToValidUTF8(x.stamp.by, "?")
	if w != nil && !x.isJob(w.targetObject()) {
		entry.Target = strings.ToLower(w.targetObject().GetKind()) + "/" + w.targetObject().GetName()
	}
	switch event {
	case "begin":
		entry.Commands = x.plan.Commands
	case "check", "send":
		w.recordRequest(&entry)
	case "end":
		entry.State, entry.Sent = x.outcome.State, x.outcome.Sent
		entry.Phase, entry.Message = x.outcome.Phase, x.outcome.Message
		entry.UndoCommands = x.outcome.UndoCommands
	}
	return entry
}

func (x *execution) finishExecution(err error) Outcome {
	x.outcome.OnlyDryRun = x.outcome.Sent == Doubtful && x.hasOnlyDryRuns()
	if x.auditLog == nil {
		return x.outcome
	}
	defer x.auditLog.releaseLock()
	x.removePolicy()
	entry := x.newEntry("end", nil)
	if err != nil {
		entry.Error = err.Error()
	}
	if err := x.auditLog.writeEntry(entry); err != nil {
		x.addWarning("cannot write the local log: %v", err)
	}
	return x.outcome
}

// copiesDir is the folder with the resources as they were before.
const copiesDir = "copies"

// errUnsafeAuditLog means that there is no place for the audit log that only the user can write to.
var errUnsafeAuditLog = errors.New("veltui changes nothing, because it cannot keep a safe audit log")

// lockTries and lockPause let a writer wait while others write their entries, but not for a process that hangs.
const lockTries, lockPause = 200, 10 * time.Millisecond

// openAuditLogFile opens the audit log for appending. A newly created log survives a crash.
func openAuditLogFile(path string) (*os.File, error) {
	_, err := os.Lstat(path)
	isNew := errors.Is(err, fs.ErrNotExist)
	file, err := safefile.OpenPrivate(path, os.O_CREATE|os.O_APPEND|os.O_RDWR)
	if err == nil && isNew {
		err = safefile.SyncDir(filepath.Dir(path))
	}
	return file, err
}

// appendEntry appends one line to an audit log and syncs it. It tolerates a half-written last line, left by a crash
// or a full disk.
func appendEntry(path string, e AuditEntry) error {
	data, err := json.Marshal(e)
	if err == nil {
		err = appendLine(path, append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("writing the audit log: %w", err)
	}
	return nil
}

func appendLine(path string, line []byte) (err error) {
	file, err := openAuditLogFile(path)
	if err != nil {
		return err
	}
	// Closing the file unlocks it.
	defer func() { err = errors.Join(err, file.Close()) }()
	for tries := 0; tries < lockTries && errors.Is(safefile.TryLock(file), safefile.ErrLocked); tries++ {
		time.Sleep(lockPause)
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if info.Size() > 0 {
		var last [1]byte
		if _, err := file.ReadAt(last[:], info.Size()-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			line = append([]byte{'\n'}, line...)
		}
	}
	_, err = file.Write(line)
	return errors.Join(err, file.Sync())
}

func writeCopy(path string, data []byte) error {
	file, err := safefile.OpenPrivate(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Sync(), file.Close(), safefile.SyncDir(filepath.Dir(path)))
}

func lockFile(dir, attempt string) string {
	return filepath.Join(dir, filepath.Base(attempt)+".lock")
}

// acquireLock takes the attempt's lock, which the kernel releases when the process ends.
func (a *auditLog) acquireLock() error {
	file, err := safefile.OpenPrivate(lockFile(a.dir, a.attempt), os.O_CREATE|os.O_EXCL|os.O_RDWR)
	if err != nil {
		return err
	}
	a.lock = file
	machine, err := os.Hostname()
	if err == nil && safefile.TryLock(file) == nil {
		a.machine = machine
	}
	return nil
}

func (a *auditLog) releaseLock() {
	_ = a.lock.Close()
	_ = os.Remove(lockFile(a.dir, a.attempt))
}

// removeLock removes the lock of an attempt that is over, unless a process holds it.
func removeLock(dir, attempt string) {
	file, err := safefile.OpenPrivate(lockFile(dir, attempt), os.O_RDWR)
	if err != nil {
		return
	}
	defer func() { _ = file.Close() }()
	// Nobody holds the lock: each attempt has its own lock file, which is never locked again.
	if safefile.TryLock(file) == nil {
		_ = os.Remove(lockFile(dir, attempt))
	}
}

func isLockHeld(dir, attempt string) (bool, error) {
	file, err := safefile.OpenPrivate(lockFile(dir, attempt), os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = file.Close() }()
	err = safefile.TryLock(file)
	if errors.Is(err, safefile.ErrLocked) {
		return true, nil
	}
	return false, err
}
