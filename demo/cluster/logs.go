package cluster

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Line is one line of a pod's log.
type Line struct {
	Time time.Time
	Text string
}

// podLogs are the logs of pods, by namespace and name.
type podLogs map[string][]Line

// Log appends to a pod's log. A pod that was never given a log has none that
// can be read.
func (c *Cluster) Log(namespace, pod string, lines ...Line) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.logs == nil {
		c.logs = podLogs{}
	}
	key := namespace + "/" + pod
	c.logs[key] = append(slices.Grow(c.logs[key], 1), lines...)
}

func (c *Cluster) log(namespace, pod string) (lines []Line, readable bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	lines, readable = c.logs[namespace+"/"+pod]
	return slices.Clone(lines), readable
}

// serveLog answers a request for a pod's log. A log that is followed is sent
// as it is and then stays open.
func (c *Cluster) serveLog(w http.ResponseWriter, r *http.Request, pod *Object) error {
	lines, readable := c.log(pod.GetNamespace(), pod.GetName())
	if !readable {
		return apierrors.NewForbidden(podKind.gvr.GroupResource(), pod.GetName(), fmt.Errorf("its log cannot be read in this scene"))
	}
	q := r.URL.Query()
	if q.Get("previous") == "true" && !restarted(pod) {
		return apierrors.NewBadRequest(fmt.Sprintf("previous terminated container in pod %q not found", pod.GetName()))
	}
	lines, err := c.selectLines(lines, q)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/plain")
	for _, l := range lines {
		if q.Get("timestamps") == "true" {
			fmt.Fprint(w, l.Time.UTC().Format(time.RFC3339Nano), " ")
		}
		fmt.Fprintln(w, l.Text)
	}
	if q.Get("follow") == "true" {
		_ = http.NewResponseController(w).Flush() // who has gone is noticed below
		<-r.Context().Done()
	}
	return nil
}

// selectLines heeds sinceTime, sinceSeconds and tailLines.
func (c *Cluster) selectLines(lines []Line, q url.Values) ([]Line, error) {
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
	lines = slices.DeleteFunc(lines, func(l Line) bool { return l.Time.Before(since) })
	if tail, err := strconv.Atoi(q.Get("tailLines")); err == nil && tail >= 0 && tail < len(lines) {
		lines = lines[len(lines)-tail:]
	}
	return lines, nil
}

// restarted reports whether a container of the pod ran before.
func restarted(pod *Object) bool {
	statuses, _, _ := unstructured.NestedSlice(pod.Object, "status", "containerStatuses")
	return slices.ContainsFunc(statuses, func(s any) bool {
		status, _ := s.(map[string]any)
		count, _ := status["restartCount"].(int64)
		return count > 0
	})
}
