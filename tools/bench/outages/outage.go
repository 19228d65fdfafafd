package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"sync"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"github.com/vmware-tanzu/velero/pkg/util/kube"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/session"
	"github.com/veltui/veltui/internal/testbed"
)

const namespace = "velero"

// run plays one outage on a control plane of its own.
func run(ctx context.Context, outage, deadline time.Duration) (r *result, err error) {
	plane, err := testbed.Start(ctx, testbed.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, plane.Stop()) }()
	r = &result{}
	theirs, original, err := veleroSide(ctx, plane, &r.velero)
	if err != nil {
		return nil, err
	}
	ours, plan, remove, err := ourSide(ctx, plane, &r.ours, deadline)
	if err != nil {
		return nil, err
	}
	defer remove()

	killed := make(chan error, 1)
	var at time.Time
	var both sync.WaitGroup
	both.Go(func() {
		out, err := ours.Apply(ctx, plan, false, func(now action.Progress) {
			if now.Step == action.StepSend && now.Attempt == nil {
				err := plane.KillAPIServer()
				at = time.Now()
				r.ours.begin(at)
				killed <- err
			}
		})
		if err == nil && out.Sent != action.Landed {
			err = fmt.Errorf("ended %s: %s", out.State, out.Message)
		}
		r.ours.finish(err)
		if at.IsZero() {
			killed <- errors.Join(errors.New("veltui sent nothing"), err)
		}
	})
	if err := <-killed; err != nil {
		return nil, err
	}
	r.velero.begin(at)
	both.Go(func() {
		updated := original.DeepCopy()
		updated.Status.Phase = velerov1.RestorePhaseFinalizing
		r.velero.finish(kube.PatchResourceWithRetriesOnErrors(deadline, original, updated, theirs))
	})
	time.Sleep(time.Until(at.Add(outage)))
	back := make(chan error, 1)
	go func() {
		err := firstAnswer(ctx, plane.Config())
		r.away = time.Since(at)
		back <- err
	}()
	if err := plane.StartAPIServer(ctx); err != nil {
		return nil, err
	}
	if err := <-back; err != nil {
		return nil, err
	}
	both.Wait()
	return r, nil
}

// firstAnswer waits until the API server says that it is ready.
func firstAnswer(ctx context.Context, config *rest.Config) error {
	c, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		attempt, cancel := context.WithTimeout(ctx, time.Second)
		_, err := c.RESTClient().Get().AbsPath("/readyz").DoRaw(attempt)
		cancel()
		if err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return ctx.Err()
}

// veleroSide is a client as Velero's server has it, and a restore whose last
// status is to be written.
func veleroSide(
	ctx context.Context,
	plane *testbed.ControlPlane,
	seen *sender,
) (client.Client, *velerov1.Restore, error) {
	config := plane.Config()
	config.QPS, config.Burst = 100, 100 // --client-qps, --client-burst
	config.Wrap(seen.wrap)
	c, err := client.New(config, client.Options{Scheme: testbed.Scheme()})
	if err != nil {
		return nil, nil, err
	}
	if err := c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return nil, nil, err
	}
	r := restore("velero")
	return c, r, c.Create(ctx, r)
}

// ourSide is a finalizer with its defaults, and the plan for a restore that
// nobody works on. Remove takes its audit log away.
func ourSide(
	ctx context.Context,
	plane *testbed.ControlPlane,
	seen *sender,
	deadline time.Duration,
) (_ *action.Engine, _ action.Plan, remove func(), _ error) {
	var plan action.Plan
	admin, err := client.New(plane.Config(), client.Options{Scheme: testbed.Scheme()})
	if err != nil {
		return nil, plan, nil, err
	}
	if err := admin.Create(ctx, restore("veltui")); err != nil {
		return nil, plan, nil, err
	}
	if err := restartedServer(ctx, admin); err != nil {
		return nil, plan, nil, err
	}
	dir, err := os.MkdirTemp("", "veltui-bench-")
	if err != nil {
		return nil, plan, nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	config := plane.Config()
	config.Wrap(seen.wrap)
	config.Wrap(anHourLater)
	connection, err := session.New(session.Options{Load: func() (*rest.Config, error) { return config, nil }})
	if err != nil {
		return nil, plan, remove, err
	}
	f, err := action.New(
		action.Options{
			Session:   connection,
			Namespace: namespace,
			AuditDir:  dir,
			Deadline:  deadline,
			Observe:   time.Second,
			Prober:    emptyStore{},
		},
	)
	if err != nil {
		return nil, plan, remove, err
	}
	evidence, err := f.Gather(ctx, job.Restore, "veltui")
	if err != nil {
		return nil, plan, remove, err
	}
	plan, _ = action.For(action.Finalize, evidence, action.Request{})
	if !plan.Possible() {
		err = fmt.Errorf("refused: %s", plan.Refusal)
	}
	return f, plan, remove, err
}

func restore(name string) *velerov1.Restore {
	start := metav1.NewTime(time.Now().Add(-time.Hour).Truncate(time.Second))
	return &velerov1.Restore{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       velerov1.RestoreSpec{BackupName: "b"},
		Status:     velerov1.RestoreStatus{Phase: velerov1.RestorePhaseInProgress, StartTimestamp: &start},
	}
}

// emptyStore has nothing of any job.
type emptyStore struct{}

func (emptyStore) Probe(context.Context, job.Kind, string, string) (job.Presence, error) {
	return job.Presence{State: job.Absent}, nil
}

// restartedServer is a Velero server that started after the restore was last written,
// so that nobody works on it.
func restartedServer(ctx context.Context, c client.Client) error {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace,
			Name:      "velero-0",
			Labels:    map[string]string{"component": "velero", "deploy": "velero"},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "velero", Image: "velero/velero:v1.18.3"}}},
	}
	if err := c.Create(ctx, pod); err != nil {
		return err
	}
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{
		{
			Name:  "velero",
			Ready: true,
			State: corev1.ContainerState{
				Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(time.Now().Add(10 * time.Minute))},
			},
		},
	}}
	return c.Status().Update(ctx, pod)
}

var timeInJSON = regexp.MustCompile(`"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ"`)

// anHourLater makes all that is read an hour older, so that Velero's own time to end
// the restore is over.
func anHourLater(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err != nil || r.Method != http.MethodGet {
			return response, err
		}
		data, err := io.ReadAll(response.Body)
		if err := errors.Join(err, response.Body.Close()); err != nil {
			return nil, err
		}
		data = timeInJSON.ReplaceAllFunc(data, func(text []byte) []byte {
			at, err := time.Parse(`"`+time.RFC3339+`"`, string(text))
			if err != nil {
				return text
			}
			return at.Add(-time.Hour).AppendFormat(nil, `"`+time.RFC3339+`"`)
		})
		response.Body = io.NopCloser(bytes.NewReader(data))
		return response, nil
	})
}
