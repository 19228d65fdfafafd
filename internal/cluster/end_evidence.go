package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/stored/results"
	"github.com/veltui/veltui/internal/velero"
)

// endEvidenceTimeout limits the reading of what says why one job ended: it is read unasked.
const endEvidenceTimeout = 30 * time.Second

// GatherEndEvidence reads what may say why a job ended badly where nothing at hand does, and no more than that. It adds
// to the evidence that the assessment has, and says what could not be read.
func (c *Cluster) GatherEndEvidence(ctx context.Context, a *assess.Assessment, j *job.Job) diagnosis.EndEvidence {
	ctx, cancel := context.WithTimeoutCause(ctx, endEvidenceTimeout,
		fmt.Errorf("no answer within %s", endEvidenceTimeout))
	defer cancel()
	found := a.World.Evidence[j.UID].EndEvidence
	judge := func() diagnosis.Verdict {
		_, judged := a.WithEndEvidence(j, found)
		return judged.Verdict
	}
	v := judge()
	if diagnosis.NeedsResults(j, v) && found.ResultsUnread == "" && len(found.ResultErrors) == 0 {
		found.ResultErrors, found.ResultsUnread = c.readResultErrors(ctx, j)
		v = judge()
	}
	if diagnosis.NeedsPodEvents(j, v, a.World.Now) {
		found.PodEvents, found.PodEventsUnread = c.readPodEvents(ctx, j.Namespace)
		v = judge()
	}
	if diagnosis.NeedsFatalLine(v) {
		line, err := c.readFatalLine(ctx, j.Namespace, v.Cause.End)
		if found.FatalLine = line; err != nil {
			found.LogUnread = SanitizeError(err).Error()
		}
	}
	return found
}

const (
	// maxPodEvents is how many events are read at most, and maxEventsAge for how long they are used.
	maxPodEvents = 500
	maxEventsAge = 30 * time.Second
	// maxFatalLines and maxFatalBytes limit what is read of the log of a container that ended. The kubelet counts the
	// bytes from the first of these lines (Kubernetes, pkg/kubelet/kuberuntime/logs/logs.go), and the last ones count.
	maxFatalLines, maxFatalBytes = int64(200), int64(1 << 20)
)

// eventsCache holds the events that were read last: the jobs of a namespace share them.
type eventsCache struct {
	mu        sync.Mutex
	namespace string
	readAt    time.Time
	events    []velero.PodEvent
	unread    string
}

// readPodEvents reads the events of a namespace's pods that say why a pod did not do its work, in one request.
func (c *Cluster) readPodEvents(ctx context.Context, namespace string) (events []velero.PodEvent, unread string) {
	last := &c.eventsCache
	last.mu.Lock()
	defer last.mu.Unlock()
	if last.namespace == namespace && c.Clock().Sub(last.readAt).Abs() < maxEventsAge {
		return last.events, last.unread
	}
	var list client.ListOf[corev1.Event]
	api, err := c.currentClient()
	if err == nil {
		err = api.ListInto(ctx, corev1.SchemeGroupVersion.WithResource("events"), namespace, metav1.ListOptions{
			FieldSelector: "involvedObject.kind=Pod", Limit: maxPodEvents,
		}, &list)
	}
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx).Error()
	case err != nil:
		c.Log.Info("reading events", "namespace", namespace, "error", err)
		unread = SanitizeError(err).Error()
	case list.Continue != "":
		unread = fmt.Sprintf("there are more than %d", maxPodEvents)
	}
	for i := range list.Items {
		e := velero.ReadPodEvent(&list.Items[i])
		if e.IsEviction() || e.IsUnscheduled() || e.KeepsPodFromStarting() {
			e.Pod, e.Node, e.Message = sanitize.String(e.Pod), sanitize.String(e.Node), sanitize.String(e.Message)
			events = append(events, e)
		}
	}
	last.namespace, last.readAt, last.events, last.unread = namespace, c.Clock(), events, unread
	return events, unread
}

// readFatalLine reads why a container ended from the end of its log.
func (c *Cluster) readFatalLine(
	ctx context.Context, namespace string, end *velero.PodEnd,
) (line velero.FatalLine, err error) {
	api, err := c.currentClient()
	if err != nil {
		return line, err
	}
	lines, bytes := maxFatalLines, maxFatalBytes
	log, err := api.Pods(namespace).StreamLog(ctx, end.Pod, corev1.PodLogOptions{
		Container: end.Container, Previous: end.IsBeforeRestart, TailLines: &lines, LimitBytes: &bytes,
	})
	if err != nil {
		return line, WithLogRightsAdvice(err, namespace)
	}
	defer log.Close() //nolint:errcheck // it was only read
	if line, err = findFatalLine(log); err != nil {
		err = fmt.Errorf("reading the log of pod %s: %w", end.Pod, err)
	}
	return line, err
}

var errLogCut = errors.New("its last lines were not all read")

// findFatalLine returns why a container ended from the end of its log. With [errLogCut], that may not be all.
func findFatalLine(log io.Reader) (line velero.FatalLine, err error) {
	text, err := io.ReadAll(io.LimitReader(log, maxFatalBytes))
	if err != nil {
		return line, err
	}
	if int64(len(text)) == maxFatalBytes {
		err = errLogCut
	}
	line = velero.FindFatalLine(strings.Split(string(text), "\n"))
	return velero.FatalLine{Text: sanitize.String(line.Text), Function: sanitize.String(line.Function)}, err
}

// readResultErrors reads the errors of a job's results; unread says why it could not.
func (c *Cluster) readResultErrors(ctx context.Context, j *job.Job) (errs []diagnosis.ResultError, unread string) {
	if note, _ := results.NoteBeforeResults(j, false); note != "" {
		return nil, ""
	}
	if c.NoArtifacts {
		return nil, errNoArtifactsResults.Error()
	}
	if c.OnWaiting != nil {
		c.OnWaiting("the results of " + j.Kind.Noun() + " " + j.Name)
		defer c.OnWaiting("")
	}
	stored, err := c.FetchResults(ctx, j)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx).Error()
	case errors.Is(err, artifact.ErrAbsent):
		return nil, "Velero stored none"
	case err != nil:
		return nil, err.Error()
	}
	return resultErrors(results.ListMessages(stored)), ""
}

// SkippedVolumes returns the volumes whose data a backup left out.
func SkippedVolumes(stored []artifact.VolumeInfo) (skipped []diagnosis.SkippedVolume) {
	for i := range stored {
		v := assess.VolumeRecord{Info: &stored[i]}
		if !v.Info.Skipped {
			continue
		}
		target := cmp.Or(strings.Trim(v.Info.Namespace+"/"+v.Info.Claim, "/"), v.Info.PersistentVolume)
		skipped = append(skipped, diagnosis.SkippedVolume{Target: target, Reason: v.SkippedReason()})
	}
	return skipped
}

var errNoArtifactsResults = errors.New("with --no-artifacts, veltui does not read the results")

// ResultEvidence returns what the messages of a job say about its end; err is why the results could not be read.
func ResultEvidence(m Messages, err error) (found diagnosis.EndEvidence) {
	found.ResultErrors = resultErrors(m.Sections)
	switch {
	case err != nil:
		found.ResultsUnread = err.Error()
	case len(found.ResultErrors) == 0:
		found.ResultsUnread = m.Note
	}
	return found
}

// resultErrors returns the errors among the messages of a job's results, without those of operations: the verdict knows
// the volumes that they are about.
func resultErrors(sections []results.MessageSection) (errs []diagnosis.ResultError) {
	for _, section := range sections {
		for i := range section.Messages {
			m := &section.Messages[i]
			if section.Severity == results.Error && m.Scope != results.ScopeOperation {
				errs = append(errs, diagnosis.ResultError{Text: cmp.Or(m.Example, m.Text), Count: max(1, m.Count)})
			}
		}
	}
	return errs
}
