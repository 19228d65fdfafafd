package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/retry"
)

// CheckPatchAccess checks the right to patch jobs of a kind.
func (c *Cluster) CheckPatchAccess(ctx context.Context, namespace string, kind job.Kind) (why string, err error) {
	api, err := c.currentClient()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, firstAnswerTimeout)
	defer cancel()
	answer, err := api.CheckAccess(ctx, authorizationv1.ResourceAttributes{
		Namespace: namespace, Verb: "patch", Group: veleroapi.GroupVersion.Group, Resource: kind.Resource(),
	})
	if err != nil {
		return "", fmt.Errorf("asking for permission: %w", err)
	}
	if !answer.Allowed {
		return fmt.Sprintf(
			"you may not patch %s.velero.io in namespace %s; docs/rbac.md names the role that may",
			kind.Resource(),
			namespace,
		), nil
	}
	return "", nil
}

// newWriteEngine returns an engine that writes, unless the cluster is read-only.
func (c *Cluster) newWriteEngine(namespace string) (*action.Engine, error) {
	conn, err := c.Connect()
	if err != nil {
		return nil, err
	}
	return c.NewEngine(conn, namespace, EngineOptions{ReadOnly: c.ReadOnly, SkipStore: c.NoArtifacts})
}

// ProposePlan plans an action that concerns no running job.
func (c *Cluster) ProposePlan(
	ctx context.Context,
	namespace string,
	name action.Kind,
	o *unstructured.Unstructured,
	r action.Request,
) (action.Plan, error) {
	engine, err := c.newWriteEngine(namespace)
	if err != nil {
		return action.Plan{}, SanitizeError(err)
	}
	p, err := engine.ProposePlan(ctx, name, o, r)
	c.logFailure(ctx, "proposing", string(name)+" "+o.GetName(), err)
	return p, SanitizeError(err)
}

// GatherEvidence reads everything that a plan for one job rests on, as `veltui finalize` does.
func (c *Cluster) GatherEvidence(
	ctx context.Context,
	namespace string,
	kind job.Kind,
	name string,
) (action.Evidence, error) {
	engine, err := c.newWriteEngine(namespace)
	if err != nil {
		return action.Evidence{}, SanitizeError(err)
	}
	e, err := engine.GatherEvidence(ctx, kind, name)
	c.logFailure(ctx, "gathering evidence", string(kind)+" "+name, err)
	return e, SanitizeError(err)
}

// ApplyPlan applies a plan.
func (c *Cluster) ApplyPlan(
	ctx context.Context,
	plan action.Plan,
	dryRun bool,
	report func(action.Progress),
) (action.Outcome, error) {
	evidence := plan.Evidence()
	engine := evidence.Engine()
	if engine == nil {
		const why = "the plan rests on no evidence"
		return action.Outcome{
				State:   action.StateUnfinished,
				Sent:    action.NotSent,
				Message: why + "; nothing was sent",
			}, errors.New(
				why,
			)
	}
	o, err := engine.ApplyPlan(ctx, plan, dryRun, sanitizeProgress(report))
	c.Log.Info(
		"finalizing",
		"kind",
		plan.Kind,
		"name",
		plan.Name,
		"dryRun",
		dryRun,
		"state",
		o.State,
		"sent",
		o.Sent,
		"message",
		o.Message,
	)
	// Joined errors are on separate lines.
	o.Phase, o.Message = sanitize.String(o.Phase), sanitize.String(strings.ReplaceAll(o.Message, "\n", ": "))
	for i := range o.UndoCommands {
		o.UndoCommands[i] = sanitize.String(o.UndoCommands[i])
	}
	for i := range o.Warnings {
		o.Warnings[i] = sanitize.String(o.Warnings[i])
	}
	return o, SanitizeError(err)
}

// sanitizeProgress passes on reports that are safe for the screen.
func sanitizeProgress(report func(action.Progress)) func(action.Progress) {
	return func(p action.Progress) {
		if p.Attempt != nil {
			attempt := *p.Attempt
			var request *url.Error // strip the request: the screen says which it was
			switch {
			case errors.Is(attempt.Err, context.DeadlineExceeded):
				attempt.Err = errors.New("no answer in time")
			case errors.As(attempt.Err, &request):
				attempt.Err = request.Err
			}
			attempt.Err = SanitizeError(attempt.Err)
			p.Attempt = &attempt
		}
		p.Phase = sanitize.String(p.Phase)
		report(p)
	}
}

// SanitizeError makes an error safe for the screen.
func SanitizeError(err error) error {
	var over *retry.DeadlineError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &over):
		return errors.New(
			sanitize.String(fmt.Sprintf("gave up after %s: %v", human.Count(over.Attempts, "attempt"), over.Err)),
		)
	}
	return errors.New(sanitize.String(err.Error()))
}
