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

const maxCopyName = 200 // limits the part of a copy's name that is its resource's

// LogFile is the audit log's name: one JSON document a line, appended.
const LogFile = "finalize.jsonl"

// Entry is one line of the audit log.
type Entry struct {
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
	DryRun bool     `json:"dryRun,omitempty"`
	Undo   []string `json:"undo,omitempty"` // the commands that take back what should not have been done, at the end
	// Delete is what must hold of the object for it to be deleted.
	Delete  *metav1.Preconditions `json:"delete,omitempty"`
	Copy    string                `json:"copy,omitempty"`
	State   State                 `json:"state,omitempty"`
	Sent    Sent                  `json:"sent,omitempty"`
	Phase   string                `json:"phase,omitempty"`
	Message string                `json:"message,omitempty"`
	Error   string                `json:"error,omitempty"`
}

type audit struct {
	dir, path, attempt string
	lock               *os.File // held on machine until the execution ends; nil where there are no locks
	machine            string
}

// openAudit prepares the record of one execution. It fails if others could write to it or replace it.
func openAudit(o Options, attempt string) (*audit, error) {
	if o.AuditDir == "" {
		return nil, errors.New("there is no folder for the audit log, so veltui does nothing")
	}
	a := &audit{dir: o.AuditDir, path: filepath.Join(o.AuditDir, LogFile), attempt: attempt}
	for _, dir := range []string{a.dir, filepath.Join(a.dir, copiesDir)} {
		if err := safefile.MakeDir(dir); err != nil {
			return nil, fmt.Errorf("%w: %w", errUnsafeLog, err)
		}
	}
	file, err := openLog(a.path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnsafeLog, err)
	}
	if err := errors.Join(a.hold(), file.Close()); err != nil {
		return nil, fmt.Errorf("locking the attempt: %w", err)
	}
	return a, nil
}

// save keeps the resources as they were before, in one file.
func (a *audit) save(of *Entry, seen ...*unstructured.Unstructured) (string, error) {
	var all []string
	for _, o := range seen {
		object, err := json.Marshal(o.Object)
		if err != nil {
			return "", fmt.Errorf("saving a copy: %w", err)
		}
		all = append(all, string(sanitize.YAML(object)))
	}
	name := fmt.Sprintf("%s-%s-%s", strings.ToLower(of.Kind), of.Namespace, of.Name)
	name = name[:min(len(name), maxCopyName)] + "-" + a.attempt + ".yaml"
	path := filepath.Join(a.dir, copiesDir, filepath.Base(name))
	if err := writeCopy(path, []byte(strings.Join(all, "---\n"))); err != nil {
		return "", fmt.Errorf("saving a copy: %w", err)
	}
	return path, nil
}

// write appends one line, which is on the disk when it returns.
func (a *audit) write(e Entry) error {
	e.Machine = a.machine
	return appendEntry(a.path, e)
}

// note writes one line about what goes on; w is the write it is about, if any.
func (x *execution) note(event string, w write) error {
	return x.audit.write(x.entry(event, w))
}

func (x *execution) entry(event string, w write) Entry {
	o, entry := x.f.o, x.record
	entry.Time, entry.Event, entry.Attempt = o.Now().UTC(), event, x.stamp.attempt
	cluster := x.f.access.Identity()
	entry.Context, entry.Cluster, entry.ClusterUID, entry.Copy = o.Context, cluster.Server, string(
		cluster.UID,
	), x.out.Copy
	entry.Host, entry.DryRun = x.host, x.dryRun
	entry.By = strings.ToValidUTF8(x.stamp.by, "?")
	if w != nil && !x.isJob(w.object()) {
		entry.Target = strings.ToLower(w.object().GetKind()) + "/" + w.object().GetName()
	}
	switch event {
	case "begin":
		entry.Commands = x.plan.Commands
	case "check", "send":
		w.record(&entry)
	case "end":
		entry.State, entry.Sent, entry.Phase, entry.Message = x.out.State, x.out.Sent, x.out.Phase, x.out.Message
		entry.Undo = x.out.Undo
	}
	return entry
}

func (x *execution) finish(err error) Outcome {
	x.out.OnlyDryRun = x.out.Sent == Doubtful && x.onlyDryRuns()
	if x.audit == nil {
		return x.out
	}
	defer x.audit.release()
	x.removePolicy()
	entry := x.entry("end", nil)
	if err != nil {
		entry.Error = err.Error()
	}
	if err := x.audit.write(entry); err != nil {
		x.warn("cannot write the local log: %v", err)
	}
	return x.out
}

const copiesDir = "copies" // the resources as they were before

// errUnsafeLog means that there is no place for the audit log where only the user can write.
var errUnsafeLog = errors.New("veltui changes nothing, because it cannot keep a safe audit log")

// A writer waits for others to write their entries, but not for one that hangs.
const lockTries, lockPause = 200, 10 * time.Millisecond

// openLog opens the audit log for appending. A new one outlives a crash.
func openLog(path string) (*os.File, error) {
	_, err := os.Lstat(path)
	isNew := errors.Is(err, fs.ErrNotExist)
	file, err := safefile.OpenPrivate(path, os.O_CREATE|os.O_APPEND|os.O_RDWR)
	if err == nil && isNew {
		err = safefile.SyncDir(filepath.Dir(path))
	}
	return file, err
}

// appendEntry appends one line to an audit log, also after the half line of a crash or a full disk, and syncs it.
func appendEntry(path string, e Entry) error {
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
	file, err := openLog(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }() // which unlocks it
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

// hold takes the attempt's lock, which the kernel releases when the process ends.
func (a *audit) hold() error {
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

func (a *audit) release() {
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
	if safefile.TryLock(file) == nil { // held by nobody: each attempt has a file of its own, which is never taken again
		_ = os.Remove(lockFile(dir, attempt))
	}
}

func isHeld(dir, attempt string) (bool, error) {
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
