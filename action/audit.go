package action

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/safefile"
	"github.com/veltui/veltui/internal/sanitize"
)

// maxCopyName is what a copy's name has of its resource's, which may be longer
// than file systems take.
const maxCopyName = 200

// LogFile is the name of the audit log: one JSON document a line, appended.
const LogFile = "finalize.jsonl"

// Entry is one line of the audit log.
type Entry struct {
	Time    time.Time `json:"time"`
	Event   string    `json:"event"` // begin, send, landed, end
	Attempt string    `json:"attempt"`
	Context string    `json:"context,omitempty"`
	Cluster string    `json:"cluster,omitempty"`
	// ClusterUID is the uid of namespace kube-system, and Host where the last request
	// was sent.
	ClusterUID string `json:"clusterUID,omitempty"`
	Host       string `json:"host,omitempty"`
	// Machine is the one on which the attempt holds a lock while it runs; empty
	// where there are no locks.
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
	Target    string          `json:"target,omitempty"` // what is patched, if not the job
	Patch     json.RawMessage `json:"patch,omitempty"`
	Copy      string          `json:"copy,omitempty"`
	State     State           `json:"state,omitempty"`
	Sent      Sent            `json:"sent,omitempty"`
	Phase     string          `json:"phase,omitempty"`
	Message   string          `json:"message,omitempty"`
	Error     string          `json:"error,omitempty"`
}

// audit is the local record of one execution.
type audit struct {
	dir, path, attempt string
	// lock is held until the execution ends, on machine; nil where there are no
	// locks.
	lock    *os.File
	machine string
}

// openAudit prepares the local record of one execution. It fails if others could
// have written to it, or could replace it.
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
	var all []byte
	for _, o := range seen {
		object, err := json.Marshal(o.Object)
		if err != nil {
			return "", fmt.Errorf("saving a copy: %w", err)
		}
		data := sanitize.YAML(object)
		if all != nil {
			all = append(all, "---\n"...)
		}
		all = append(all, data...)
	}
	name := fmt.Sprintf("%s-%s-%s", strings.ToLower(of.Kind), of.Namespace, of.Name)
	name = name[:min(len(name), maxCopyName)] + "-" + a.attempt + ".yaml"
	path := filepath.Join(a.dir, copiesDir, filepath.Base(name))
	if err := writeCopy(path, all); err != nil {
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
func (s *sending) note(event string, w write) error {
	return s.audit.write(s.entry(event, w))
}

func (s *sending) entry(event string, w write) Entry {
	o, entry := s.f.o, s.record
	entry.Time, entry.Event, entry.Attempt = o.Clock.Now().UTC(), event, s.stamp.attempt
	cluster := s.f.access.session.Identity()
	entry.Context, entry.Cluster, entry.ClusterUID, entry.Copy = o.Context, cluster.Server, string(cluster.UID), s.out.Copy
	entry.Host = s.host
	entry.By = strings.ToValidUTF8(s.stamp.by, "?")
	if w != nil && w.object().GetUID() != types.UID(entry.UID) {
		entry.Target = strings.ToLower(w.object().GetKind()) + "/" + w.object().GetName()
	}
	switch event {
	case "send":
		entry.Patch = w.body()
	case "end":
		entry.State, entry.Sent, entry.Phase, entry.Message = s.out.State, s.out.Sent, s.out.Phase, s.out.Message
	}
	return entry
}

// finish writes the end into the local log.
func (s *sending) finish(err error) Outcome {
	if s.audit == nil {
		return s.out
	}
	defer s.audit.release()
	entry := s.entry("end", nil)
	if err != nil {
		entry.Error = err.Error()
	}
	if err := s.audit.write(entry); err != nil {
		s.warn("cannot write the local log: %v", err)
	}
	return s.out
}
