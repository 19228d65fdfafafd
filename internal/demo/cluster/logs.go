package cluster

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// LogLine is one line of a pod's log.
type LogLine struct {
	Time time.Time
	Text string
}

// podLogs holds the logs of pods, by namespace and name.
type podLogs map[string][]LogLine

// AppendLog appends lines to a pod's log. The log of a pod without any lines cannot be read.
func (c *Cluster) AppendLog(namespace, pod string, lines ...LogLine) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.logs == nil {
		c.logs = podLogs{}
	}
	key := namespace + "/" + pod
	all := append(c.logs[key], lines...)
	if over := len(all) - maxLogLines; over > 0 {
		// Make a new list: readers hold the old one.
		all = slices.Clone(all[over+maxLogLines/4:])
	}
	c.logs[key] = all
}

// maxLogLines is how many lines of a pod's log are kept.
const maxLogLines = 1 << 15

func (c *Cluster) podLog(namespace, pod string) (lines []LogLine, readable bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	lines, readable = c.logs[namespace+"/"+pod]
	return slices.Clone(lines), readable
}

// serveLog answers a request for a pod's log. For a followed log it sends the existing lines and then keeps the
// response open.
func (c *Cluster) serveLog(w http.ResponseWriter, r *http.Request, pod *Object) error {
	lines, readable := c.podLog(pod.GetNamespace(), pod.GetName())
	if !readable {
		return apierrors.NewForbidden(
			podKind.gvr.GroupResource(),
			pod.GetName(),
			fmt.Errorf("its log cannot be read in this scene"),
		)
	}
	q := r.URL.Query()
	if name := q.Get("container"); name != "" && !hasContainer(pod, name) {
		return apierrors.NewBadRequest(fmt.Sprintf("container %s is not valid for pod %s", name, pod.GetName()))
	}
	since, again := findRestart(pod)
	switch {
	case q.Get("previous") != "true":
		lines = slices.DeleteFunc(lines, func(l LogLine) bool { return again && l.Time.Before(since) })
	case !again:
		return apierrors.NewBadRequest(fmt.Sprintf("previous terminated container in pod %q not found", pod.GetName()))
	default:
		lines = slices.DeleteFunc(lines, func(l LogLine) bool { return !since.IsZero() && !l.Time.Before(since) })
	}
	lines, err := c.selectLines(lines, q)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	for _, l := range lines {
		if q.Get("timestamps") == "true" {
			fmt.Fprint(&text, l.Time.UTC().Format(time.RFC3339Nano), " ")
		}
		fmt.Fprintln(&text, l.Text)
	}
	if limit, err := strconv.Atoi(q.Get("limitBytes")); err == nil && limit > 0 && limit < text.Len() {
		text.Truncate(limit)
	}
	w.Header().Set("Content-Type", "text/plain")
	_, _ = text.WriteTo(w) // the client may have disconnected
	if q.Get("follow") == "true" {
		c.followLog(w, r, pod)
	}
	return nil
}

// logPollInterval is how often a followed log is checked for new lines.
const logPollInterval = 250 * time.Millisecond

// followLog sends new lines until the client disconnects or the pod is deleted.
func (c *Cluster) followLog(w http.ResponseWriter, r *http.Request, pod *Object) {
	last := c.clock()
	for {
		if http.NewResponseController(w).Flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-time.After(logPollInterval):
		}
		lines, readable := c.podLog(pod.GetNamespace(), pod.GetName())
		if !readable {
			return
		}
		for _, l := range lines {
			if !l.Time.After(last) {
				continue
			}
			last = l.Time
			if r.URL.Query().Get("timestamps") == "true" {
				fmt.Fprint(w, l.Time.UTC().Format(time.RFC3339Nano), " ")
			}
			fmt.Fprintln(w, l.Text)
		}
	}
}

// selectLines returns the lines that sinceTime, sinceSeconds and tailLines select.
func (c *Cluster) selectLines(lines []LogLine, q url.Values) ([]LogLine, error) {
	var since time.Time
	if text := q.Get("sinceTime"); text != "" {
		t, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return nil, apierrors.NewBadRequest("sinceTime is not a time")
		}
		since = t
	}
	if seconds, err := strconv.Atoi(q.Get("sinceSeconds")); err == nil {
		since = c.clock().Add(-time.Duration(seconds) * time.Second)
	}
	lines = slices.DeleteFunc(lines, func(l LogLine) bool { return l.Time.Before(since) })
	if tail, err := strconv.Atoi(q.Get("tailLines")); err == nil && tail >= 0 && tail < len(lines) {
		lines = lines[len(lines)-tail:]
	}
	return lines, nil
}

// findRestart reports whether a container of the pod was restarted, and when the running one started, zero if none
// runs: then the log of the last one is served.
func findRestart(pod *Object) (since time.Time, again bool) {
	statuses, _, _ := unstructured.NestedSlice(pod.Object, "status", "containerStatuses")
	for _, s := range statuses {
		status, _ := s.(map[string]any)
		if count, _ := status["restartCount"].(int64); count == 0 {
			continue
		}
		started, _, _ := unstructured.NestedString(status, "state", "running", "startedAt")
		since, _ = time.Parse(time.RFC3339, started) // if none runs, there is no start time
		return since, true
	}
	return time.Time{}, false
}

func hasContainer(pod *Object, name string) bool {
	for _, field := range []string{"containers", "initContainers"} {
		containers, _, _ := unstructured.NestedSlice(pod.Object, "spec", field)
		if slices.ContainsFunc(containers, func(c any) bool {
			container, _ := c.(map[string]any)
			return container["name"] == name
		}) {
			return true
		}
	}
	return false
}
