package inspect

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/veltui/veltui/action"
	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/retry"
	"github.com/veltui/veltui/session"
)

// Actions is the dashboard's way to package action, with engines like
// that of `veltui finalize`. Everything that it answers is safe to draw.
type Actions struct {
	*Cluster
	// NoStore leaves the object store alone.
	NoStore bool
}

// Allowed asks for the right to patch jobs of a kind.
func (f *Actions) Allowed(ctx context.Context, namespace string, kind job.Kind) (why string, err error) {
	config, err := f.Config()
	if err != nil {
		return "", err
	}
	over, err := session.HTTPClient(config, session.TransportOptions{})
	if err != nil {
		return "", err
	}
	c, err := client.New(config, over, nil)
	if err != nil {
		return "", fmt.Errorf("reading the kubeconfig: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	answer, err := c.May(ctx, authorizationv1.ResourceAttributes{
		Namespace: namespace, Verb: "patch", Group: velerov1.SchemeGroupVersion.Group, Resource: kind.Resource(),
	})
	if err != nil {
		return "", fmt.Errorf("asking for permission: %w", err)
	}
	if !answer.Allowed {
		return fmt.Sprintf("you may not patch %s.velero.io in namespace %s; docs/rbac.md names the role that may", kind.Resource(), namespace), nil
	}
	return "", nil
}

// Gather reads all that a plan for one job stands on.
func (f *Actions) Gather(ctx context.Context, namespace string, kind job.Kind, name string) (action.Evidence, error) {
	engine, err := f.connect(namespace)
	if err != nil {
		return action.Evidence{}, Clean(err)
	}
	e, err := engine.Gather(ctx, kind, name)
	if err != nil && ctx.Err() == nil {
		f.Log.Warn("gathering evidence", "kind", kind, "name", name, "error", err)
	}
	return e, Clean(err)
}

// Apply applies a plan.
func (f *Actions) Apply(ctx context.Context, plan action.Plan, dryRun bool, report func(action.Progress)) (action.Outcome, error) {
	evidence := plan.Evidence()
	engine := evidence.Engine()
	if engine == nil {
		return unsent(errors.New("the plan rests on no evidence"))
	}
	outcome, err := engine.Apply(ctx, plan, dryRun, cleaned(report))
	return f.ended(plan.Kind, plan.Name, dryRun, outcome, err)
}

// unsent is the outcome of what could not even be begun.
func unsent(err error) (action.Outcome, error) {
	err = Clean(err)
	return action.Outcome{State: action.Unfinished, Sent: action.NotSent, Message: err.Error() + "; nothing was sent"}, err
}

// cleaned passes on what is reported, fit for the screen.
func cleaned(report func(action.Progress)) func(action.Progress) {
	return func(p action.Progress) {
		if p.Attempt != nil {
			attempt := *p.Attempt
			attempt.Err = Clean(met(attempt.Err))
			p.Attempt = &attempt
		}
		p.Phase = sanitize.String(p.Phase)
		report(p)
	}
}

// met is what an attempt met, without the request: the screen says which it
// was.
func met(err error) error {
	var request *url.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("no answer in time")
	case errors.As(err, &request):
		return request.Err
	}
	return err
}

// ended logs how an execution ended, and makes it fit for the screen.
func (f *Actions) ended(kind job.Kind, name string, dryRun bool, o action.Outcome, err error) (action.Outcome, error) {
	f.Log.Info("finalizing", "kind", kind, "name", name, "dryRun", dryRun, "state", o.State, "sent", o.Sent, "message", o.Message)
	// Errors that were joined stand on lines of their own.
	o.Phase, o.Message = sanitize.String(o.Phase), sanitize.String(strings.ReplaceAll(o.Message, "\n", ": "))
	for i := range o.Warnings {
		o.Warnings[i] = sanitize.String(o.Warnings[i])
	}
	return o, Clean(err)
}

// connect makes the engine for the Velero in a namespace.
func (f *Actions) connect(namespace string) (*action.Engine, error) {
	conn, err := f.Connect()
	if err != nil {
		return nil, err
	}
	return f.Engine(conn, namespace, EngineOptions{NoStore: f.NoStore})
}

// Clean makes an error fit for the screen.
func Clean(err error) error {
	var over *retry.DeadlineError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &over):
		return errors.New(sanitize.String(fmt.Sprintf("gave up after %s: %v", human.Count(over.Attempts, "attempt"), over.Err)))
	}
	return errors.New(sanitize.String(err.Error()))
}
