package logs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/stored/artifact"
)

// Options configure a [Reader].
type Options struct {
	// PodsClient is called for each connection, because credentials are renewed while a log is followed.
	PodsClient func() (*client.Pods, error)
	// OpenArtifact opens an artifact; nil where stored logs must not be read, and then OpenUnavailable says why.
	OpenArtifact    func(context.Context, artifact.Target) (ArtifactStream, error)
	OpenUnavailable error
	// RetryDelay is how long to wait before a log is requested again; it doubles up to ten times. Default 2 s.
	RetryDelay time.Duration
	// IdleTimeout is how long a log may take to start or to continue. Default 30 s.
	IdleTimeout time.Duration
}

// Reader reads the logs of jobs. It may be used by several goroutines.
type Reader struct{ options Options }

// New makes a Reader; it requests nothing yet.
func New(o Options) *Reader {
	o.RetryDelay, o.IdleTimeout = cmp.Or(o.RetryDelay, 2*time.Second), cmp.Or(o.IdleTimeout, 30*time.Second)
	if o.OpenArtifact == nil && o.OpenUnavailable == nil {
		o.OpenUnavailable = errors.New("stored logs are not read")
	}
	return &Reader{options: o}
}

// Query says which lines of a job's log to read.
type Query struct {
	Job   *job.Job
	Since time.Time // leaves out earlier lines
	// Follow goes on with new lines of a job that has not ended, until the context ends.
	Follow bool
	// Volumes adds the lines of node-agents about the job's volumes, and the logs of their movers.
	Volumes bool
}

// startTime returns the earliest time of lines of the job.
func (q Query) startTime() time.Time {
	began := q.Job.BeganAt()
	if c := q.Job.Created; !c.IsZero() && c.Before(began) {
		began = c
	}
	if q.Since.After(began) {
		return q.Since
	}
	return began
}

// Output receives what a Reader reads. Its functions are called by one goroutine.
type Output struct {
	OnLine func(Entry) error // an error ends the reading
	// OnOrigin is called with where the lines come from, before the first line and when that changes; it may be nil.
	OnOrigin func(Origin)
}

func (o Output) reportOrigin(from Origin) {
	if o.OnOrigin != nil {
		o.OnOrigin(from)
	}
}

// Origin is where lines come from.
type Origin struct {
	// Stored is true for the log in the object store. It has Size bytes (-1 if unknown), of which Done have been read.
	Stored    bool
	Size      int64
	BytesRead func() int64

	Pods []string // the pods whose logs are read
	// NotStored says why the stored log of an ended job is not shown, else nil.
	NotStored error
}

// Read reads the log of a job: the stored log if the job has ended, otherwise, or where that cannot be read, the
// server pods' lines about the job. These are no answer if something else came in place of the stored log: then Read
// fails. With Follow, it returns when ctx ends.
func (r *Reader) Read(ctx context.Context, q Query, out Output) error {
	if !q.Job.IsTerminal() { // its stored log is incomplete
		return r.readPods(ctx, q, out, Origin{})
	}
	lines := 0
	line := out.OnLine
	out.OnLine = func(e Entry) error { lines++; return line(e) }
	q.Follow = false
	err := r.readStored(ctx, q, out)
	switch {
	case err == nil && q.Volumes:
		return r.readPods(ctx, q, out, Origin{Stored: true})
	case err == nil, lines > 0, ctx.Err() != nil:
		return err
	}
	pods := r.readPods(ctx, q, out, Origin{NotStored: err})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case lines > 0 && pods == nil && !errors.Is(err, artifact.ErrReplaced):
		return nil
	case lines > 0 && pods == nil: // whoever answers for the store, nobody may take the pods' lines for the whole log
		return err
	case pods != nil:
		return fmt.Errorf("%w; and not from the pods either: %w", err, pods)
	}
	return fmt.Errorf("%w; the pods of the server have no line about it any more", err)
}

// maxProblems is how many lines ReadProblems returns.
const maxProblems = 2000

// Problems are the warnings and errors that the server logged about a job.
type Problems struct {
	// Lines are the newest lines, oldest first; Errors and Warnings count all of them.
	Lines            []Line
	Errors, Warnings int
	// Gaps say which lines could not be read.
	Gaps []string
}

// ReadProblems reads the warnings and errors of a job that has not ended from the server pods' logs.
func (r *Reader) ReadProblems(ctx context.Context, j *job.Job) (Problems, error) {
	var p Problems
	err := r.readPods(ctx, Query{Job: j}, Output{OnLine: func(e Entry) error {
		switch {
		case e.IsContinuation:
			return nil
		case e.Level == Notice:
			p.Gaps = append(p.Gaps, Parse(string(e.Raw)).Text)
			return nil
		case e.Level == Warning:
			p.Warnings++
		case e.Level == Error:
			p.Errors++
		default:
			return nil
		}
		if len(p.Lines) >= 2*maxProblems {
			p.Lines = append(p.Lines[:0], p.Lines[maxProblems:]...)
		}
		p.Lines = append(p.Lines, Parse(string(e.Raw)))
		return nil
	}}, Origin{})
	p.Lines = p.Lines[max(0, len(p.Lines)-maxProblems):]
	return p, err
}

// ToResults returns the Lines as Velero stores those of a backup (pkg/util/logging/log_counter_hook.go, 1.18.3). The
// lines of a restore name the resource in other fields (restoreItem in pkg/restore/restore.go).
func (p Problems) ToResults() artifact.Results {
	var r artifact.Results
	for _, l := range p.Lines {
		to := &r.Errors
		if l.Level == Warning {
			to = &r.Warnings
		}
		message := l.Text
		kind, name := cmp.Or(
			l.fieldValue("resource"),
			l.fieldValue("groupResource"),
		), cmp.Or(
			l.fieldValue("name"),
			l.fieldValue("original name"),
		)
		named, cause := kind != "" && name != "", ": "
		if named {
			message, cause = "resource: /"+kind+" name: /"+name+" message: /"+l.Text, " error: /"
		}
		if l.Error != "" {
			message += cause + l.Error
		}
		namespace := l.fieldValue("namespace")
		in, rest, again := parseRepeated(message)
		if again {
			namespace, message = in, rest
		}
		switch {
		case again && strings.HasPrefix(l.Text, "Cluster"):
			to.Cluster = append(to.Cluster, message)
		case namespace != "":
			if to.Namespaces == nil {
				to.Namespaces = map[string][]string{}
			}
			to.Namespaces[namespace] = append(to.Namespaces[namespace], message)
		case named:
			to.Cluster = append(to.Cluster, message)
		default:
			to.Velero = append(to.Velero, message)
		}
	}
	return r
}

// parseRepeated parses the lines that log a restore's results again when its items are done
// (pkg/controller/restore_controller.go, runValidatedRestore, 1.18.3).
func parseRepeated(text string) (namespace, message string, ok bool) {
	for _, severity := range []string{"error", "warning"} {
		before, message, found := strings.Cut(text, " restore "+severity+": ")
		if !found {
			continue
		}
		if before == "Velero" || before == "Cluster resource" {
			return "", message, true
		}
		namespace, named := strings.CutPrefix(before, "Namespace ")
		if namespace, resource := strings.CutSuffix(
			namespace,
			", resource",
		); named && resource &&
			!strings.Contains(namespace, " ") {
			return namespace, message, true
		}
	}
	return "", "", false
}

// Summary says how many warnings and errors there are, and that there may be more.
func (p Problems) Summary() string {
	n := p.Errors + p.Warnings
	if n == 0 {
		return "So far, the server's log has no error and no warning about this job. Kubernetes deletes the oldest " +
			"lines of a log."
	}
	text := fmt.Sprintf(
		"So far, from the server's log: %s, %s.",
		human.Count(p.Errors, "error"),
		human.Count(p.Warnings, "warning"),
	)
	if n > len(p.Lines) {
		text += fmt.Sprintf(" Of these, the newest %d are shown.", len(p.Lines))
	}
	return text + " These are not exact counts: Velero logs some twice and some late, and Kubernetes deletes the " +
		"oldest lines of a log."
}
