package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// containerLog is where a container's output begins in a file; previous is that of the container before.
type containerLog struct {
	path     string
	from     int64
	previous *containerLog
}

// containerLogs are the logs that the lab's node has, by namespace/pod.
type containerLogs struct {
	mu   sync.Mutex
	logs map[string]containerLog
}

// startLog says where the newest container of a pod writes to.
func (c *containerLogs) startLog(namespace, pod string, log containerLog) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.logs == nil {
		c.logs = map[string]containerLog{}
	}
	if last, ok := c.logs[namespace+"/"+pod]; ok {
		last.previous = nil // a kubelet keeps one
		log.previous = &last
	}
	c.logs[namespace+"/"+pod] = log
}

// readPrevious returns what the container before the present one has written; ok is false if there was none.
func (c *containerLogs) readPrevious(namespace, pod string) (text string, ok bool, err error) {
	c.mu.Lock()
	log := c.logs[namespace+"/"+pod]
	c.mu.Unlock()
	if log.previous == nil {
		return "", false, nil
	}
	data, err := os.ReadFile(log.path)
	if err != nil {
		return "", false, err
	}
	return string(data[log.previous.from:log.from]), true, nil
}

// fileSize is 0 for a file that is not there yet.
func fileSize(path string) (int64, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("looking at a log: %w", err)
	}
	return info.Size(), nil
}

func (c *containerLogs) readLog(namespace, pod string) (string, error) {
	c.mu.Lock()
	log, ok := c.logs[namespace+"/"+pod]
	c.mu.Unlock()
	if !ok {
		return "", nil // it wrote nothing
	}
	data, err := os.ReadFile(log.path)
	if err != nil {
		return "", err
	}
	return string(data[min(log.from, int64(len(data))):]), nil
}

// logPollInterval is how often a log that is followed is looked at.
const logPollInterval = 100 * time.Millisecond

// serveLog answers as a kubelet does. A line's time is the one that Velero itself
// writes.
func (n *fakeKubelet) serveLog(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	namespace, pod := r.PathValue("namespace"), r.PathValue("pod")
	text, err := n.logs.readLog(namespace, pod)
	if q.Get("previous") == "true" {
		var ok bool
		if text, ok, err = n.logs.readPrevious(namespace, pod); !ok && err == nil {
			http.Error(w, "previous terminated container not found", http.StatusBadRequest)
			return
		}
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	lines := strings.SplitAfter(text, "\n")
	lines = lines[:len(lines)-1] // the rest of a line that is being written
	read := len(strings.Join(lines, ""))
	since := time.Time{}
	if seconds, err := strconv.Atoi(q.Get("sinceSeconds")); err == nil {
		since = time.Now().Add(-time.Duration(seconds) * time.Second)
	}
	if at, err := time.Parse(time.RFC3339, q.Get("sinceTime")); err == nil {
		since = at
	}
	for len(lines) > 0 && !lineTime(lines[0]).IsZero() && lineTime(lines[0]).Before(since) {
		lines = lines[1:]
	}
	if tail, err := strconv.Atoi(q.Get("tailLines")); err == nil {
		lines = lines[max(0, len(lines)-tail):]
	}
	body := formatLines(lines, q.Get("timestamps") == "true")
	if limit, err := strconv.Atoi(q.Get("limitBytes")); err == nil {
		body = body[:min(limit, len(body))]
	}
	_, _ = w.Write([]byte(body))
	for q.Get("follow") == "true" {
		_ = http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
			return
		case <-time.After(logPollInterval):
		}
		text, err := n.logs.readLog(namespace, pod)
		if err != nil || len(text) < read {
			return // another container writes now
		}
		more := text[read:]
		more = more[:strings.LastIndexByte(more, '\n')+1]
		read += len(more)
		_, _ = w.Write([]byte(formatLines(strings.SplitAfter(more, "\n"), q.Get("timestamps") == "true")))
	}
}

func formatLines(lines []string, stamps bool) string {
	var out strings.Builder
	for _, line := range lines {
		if stamps && line != "" {
			out.WriteString(lineTime(line).UTC().Format(time.RFC3339Nano) + " ")
		}
		out.WriteString(line)
	}
	return out.String()
}

// lineTime is the time in a line as logrus writes it, zero if there is none.
func lineTime(line string) time.Time {
	_, rest, _ := strings.Cut(line, `time="`)
	text, _, _ := strings.Cut(rest, `"`)
	at, _ := time.Parse(time.RFC3339, text)
	return at
}
