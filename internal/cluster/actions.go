package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/retry"
)

// Allowed asks for the right to patch jobs of a kind.
func (c *Cluster) Allowed(ctx context.Context, namespace string, kind job.Kind) (why string, err error) {
	api, err := c.api()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	answer, err := api.May(ctx, authorizationv1.ResourceAttributes{
		Namespace: namespace, Verb: "patch", Group: velerov1.SchemeGroupVersion.Group, Resource: kind.Resource(),
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

// engine is one that writes, unless the cluster is read-only.
func (c *Cluster) engine(namespace string) (*action.Engine, error) {
	conn, err := c.Connect()
	if err != nil {
		return nil, err
	}
	return c.Engine(conn, namespace, EngineOptions{ReadOnly: c.ReadOnly, NoStore: c.NoArtifacts})
}

// Propose plans an action that is about no running job.
func (c *Cluster) Propose(
	ctx context.Context,
	namespace string,
	name action.Name,
	o *unstructured.Unstructured,
	r action.Request,
) (action.Plan, error) {
	engine, err := c.engine(namespace)
	if err != nil {
		return action.Plan{}, Clean(err)
	}
	p, err := engine.Propose(ctx, name, o, r)
	c.logFailure(ctx, "proposing", string(name)+" "+o.GetName(), err)
	return p, Clean(err)
}

// Gather reads all that a plan for one job stands on, as `veltui finalize` does.
func (c *Cluster) Gather(ctx context.Context, namespace string, kind job.Kind, name string) (action.Evidence, error) {
	engine, err := c.engine(namespace)
	if err != nil {
		return action.Evidence{}, Clean(err)
	}
	e, err := engine.Gather(ctx, kind, name)
	c.logFailure(ctx, "gathering evidence", string(kind)+" "+name, err)
	return e, Clean(err)
}

// Apply applies a plan.
func (c *Cluster) Apply(
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
				State:   action.Unfinished,
				Sent:    action.NotSent,
				Message: why + "; nothing was sent",
			}, errors.New(
				why,
			)
	}
	o, err := engine.Apply(ctx, plan, dryRun, cleaned(report))
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
	// Errors that were joined stand on lines of their own.
	o.Phase, o.Message = sanitize.String(o.Phase), sanitize.String(strings.ReplaceAll(o.Message, "\n", ": "))
	for i := range o.Undo {
		o.Undo[i] = sanitize.String(o.Undo[i])
	}
	for i := range o.Warnings {
		o.Warnings[i] = sanitize.String(o.Warnings[i])
	}
	return o, Clean(err)
}

// cleaned passes on what is reported, fit for the screen.
func cleaned(report func(action.Progress)) func(action.Progress) {
	return func(p action.Progress) {
		if p.Attempt != nil {
			attempt := *p.Attempt
			var request *url.Error // without it: the screen says which it was
			switch {
			case errors.Is(attempt.Err, context.DeadlineExceeded):
				attempt.Err = errors.New("no answer in time")
			case errors.As(attempt.Err, &request):
				attempt.Err = request.Err
			}
			attempt.Err = Clean(attempt.Err)
			p.Attempt = &attempt
		}
		p.Phase = sanitize.String(p.Phase)
		report(p)
	}
}

// Clean makes an error fit for the screen.
func Clean(err error) error {
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
