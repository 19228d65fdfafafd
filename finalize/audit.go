package finalize

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// LogFile is the name of the audit log: one JSON document a line, appended.
const LogFile = "finalize.jsonl"

// Entry is one line of the audit log.
type Entry struct {
	Time      time.Time       `json:"time"`
	Event     string          `json:"event"` // begin, send, landed, end
	Attempt   string          `json:"attempt"`
	Context   string          `json:"context,omitempty"`
	Cluster   string          `json:"cluster,omitempty"`
	Kind      string          `json:"kind"`
	Namespace string          `json:"namespace"`
	Name      string          `json:"name"`
	UID       string          `json:"uid"`
	By        string          `json:"by"`
	From      string          `json:"from"`
	To        string          `json:"to"`
	Reason    string          `json:"reason"`
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
}

func openAudit(o Options, attempt string) (*audit, error) {
	if o.AuditDir == "" {
		return nil, errors.New("there is no place for the audit log, so nothing is done")
	}
	if err := os.MkdirAll(filepath.Join(o.AuditDir, "copies"), 0o700); err != nil {
		return nil, fmt.Errorf("making the audit log's folder: %w", err)
	}
	return &audit{dir: o.AuditDir, path: filepath.Join(o.AuditDir, LogFile), attempt: attempt}, nil
}

// save keeps the object as it was before.
func (a *audit) save(p *Plan) (string, error) {
	data, err := yaml.Marshal(p.evidence.Object.Object)
	if err != nil {
		return "", fmt.Errorf("saving a copy: %w", err)
	}
	name := fmt.Sprintf("%s-%s-%s-%s.yaml", word(p.Kind), p.Namespace, p.Name, a.attempt)
	path := filepath.Join(a.dir, "copies", filepath.Base(name))
	if err := writeSynced(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, data); err != nil {
		return "", fmt.Errorf("saving a copy: %w", err)
	}
	return path, nil
}

// write appends one line, which is on the disk when it returns.
func (a *audit) write(e Entry) error {
	data, err := json.Marshal(e)
	if err == nil {
		err = writeSynced(a.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("writing the audit log: %w", err)
	}
	return nil
}

func writeSynced(path string, flags int, data []byte) error {
	file, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Sync(), file.Close())
}

// entry describes the execution as it is now.
func (x *execution) entry(event string) Entry {
	p, o := &x.plan, x.f.o
	e := Entry{
		Time: o.Clock.Now().UTC(), Event: event, Attempt: x.stamp.attempt, Context: o.Context, Cluster: o.Cluster,
		Kind: string(p.Kind), Namespace: p.Namespace, Name: p.Name, UID: string(p.UID), By: strings.ToValidUTF8(x.stamp.by, "?"),
		From: p.From, To: p.To, Reason: p.Reason, Copy: x.out.Copy,
	}
	switch event {
	case "send":
		e.Patch, _ = p.patch(x.stamp)
	case "end":
		e.State, e.Sent, e.Phase, e.Message = x.out.State, x.out.Sent, x.out.Phase, x.out.Message
	}
	return e
}
