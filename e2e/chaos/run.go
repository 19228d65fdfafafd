package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/e2e/lab"
)

// run is one run of a story.
type run struct {
	lab   *lab.Lab
	story Story
	out   *Writer
	// older is the folder of another Velero's programs, empty for none.
	older string
	// server serialises what ends, stops or starts a server of the lab.
	server sync.Mutex
	movers *movers

	mu    sync.Mutex
	flags []string
	// due is when the last fate has to be seen.
	due time.Time
	// dead are the jobs whose fate has come.
	dead map[string]bool
	// afterwards is what heals the cluster in the end.
	afterwards []func(context.Context) error
}

// settle is how long the end of a run waits for jobs that still go on.
const settle = 3 * time.Minute

// Run tells a story to a new lab and records it.
func Run(ctx context.Context, story Story, older string, out *Writer, progress func(string)) (err error) {
	out.Add(Entry{Kind: StoryEntry, Story: &story})
	r := &run{story: story, out: out, older: older, dead: map[string]bool{}, movers: newMovers()}
	if err := r.prepare(ctx, progress); err != nil {
		if r.lab != nil {
			err = errors.Join(err, r.lab.Stop())
		}
		return err
	}
	defer func() { err = errors.Join(err, r.lab.Stop()) }()
	watching, err := record(ctx, r.lab, out)
	if err != nil {
		return err
	}
	defer watching.stop()
	sleep(ctx, 2*time.Second)

	progress(fmt.Sprintf("the story begins: %d steps in %s", len(story.Steps), story.Duration))
	out.Add(Entry{Kind: BeginEntry})
	r.tell(ctx, progress)
	progress("the story is over; what heals by itself is healed")
	r.heal(ctx)
	r.settled(ctx, progress)
	out.Add(Entry{Kind: EndEntry})
	return ctx.Err()
}

// tell carries out every step at its time, and returns once all have ended.
func (r *run) tell(ctx context.Context, progress func(string)) {
	began := time.Now()
	var group sync.WaitGroup
	playing, stop := context.WithCancel(ctx)
	var players sync.WaitGroup
	players.Go(func() { r.movers.play(playing, r.lab) })
	for _, s := range r.story.Steps {
		group.Go(func() {
			sleep(ctx, time.Until(began.Add(s.At)))
			if ctx.Err() != nil {
				return
			}
			progress(fmt.Sprintf("%4.0f s  %s (%s)", time.Since(began).Seconds(), s.Name, s.Length))
			limited, cancel := context.WithTimeout(ctx, s.Length+r.story.Duration)
			defer cancel()
			if err := r.act(limited, s); err != nil {
				r.out.Add(Entry{Kind: FailureEntry, Text: s.Name + ": " + err.Error()})
				progress(s.Name + " failed: " + err.Error())
			}
		})
	}
	group.Wait()
	sleep(ctx, time.Until(began.Add(r.story.Duration)))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.afterwards = append(r.afterwards, func(context.Context) error { stop(); players.Wait(); return nil })
}

func (r *run) act(ctx context.Context, s Step) error {
	if f, ok := jobActs[s.Act]; ok {
		return f(r, ctx, s)
	}
	if f, ok := deadActs[s.Act]; ok {
		return f(r, ctx, s)
	}
	if f, ok := faultActs[s.Act]; ok {
		return f(r, ctx, s)
	}
	return fmt.Errorf("there is no act %s", s.Act)
}

// heal ends what a person would not leave: a schedule goes on for ever.
func (r *run) heal(ctx context.Context) {
	if err := r.retry(ctx, func() error {
		return r.lab.Client.DeleteAllOf(ctx, &velerov1.Schedule{}, client.InNamespace(lab.Namespace))
	}); err != nil {
		r.out.Add(Entry{Kind: FailureEntry, Text: "healing: " + err.Error()})
	}
}

// settled waits until every job has ended but the dead, and the dead were to be
// seen for more than a minute.
func (r *run) settled(ctx context.Context, progress func(string)) {
	limit := time.Now().Add(settle)
	for ctx.Err() == nil {
		r.mu.Lock()
		due := r.due.Add(misses + 10*time.Second)
		r.mu.Unlock()
		living, err := r.living(ctx)
		if now := time.Now(); now.After(due) && (err == nil && len(living) == 0 || now.After(limit)) {
			progress(fmt.Sprintf("%d jobs have not ended: %v", len(living), living))
			break
		}
		sleep(ctx, time.Second)
	}
	r.mu.Lock()
	afterwards := r.afterwards
	r.mu.Unlock()
	for _, f := range afterwards {
		if err := f(ctx); err != nil {
			r.out.Add(Entry{Kind: FailureEntry, Text: "ending: " + err.Error()})
		}
	}
}

// living are the jobs that have neither ended nor died.
func (r *run) living(ctx context.Context) ([]string, error) {
	var living []string
	for _, kind := range []string{"Backup", "Restore"} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(velerov1.SchemeGroupVersion.WithKind(kind + "List"))
		if err := r.lab.Client.List(ctx, list, client.InNamespace(lab.Namespace)); err != nil {
			return nil, err
		}
		r.mu.Lock()
		for i := range list.Items {
			if job := jobName(&list.Items[i]); !ended(&list.Items[i]) && !r.dead[job] {
				living = append(living, job)
			}
		}
		r.mu.Unlock()
	}
	return living, nil
}

// dies says that a job is dead from now on, as the story foretold.
func (r *run) dies(job string) error {
	i := slices.IndexFunc(r.story.Fates, func(f Fate) bool { return f.Job == job })
	if i < 0 {
		return fmt.Errorf("the story knows no fate of %s", job)
	}
	fate := r.story.Fates[i]
	r.mu.Lock()
	r.dead[job] = true
	if due := time.Now().Add(fate.After); due.After(r.due) {
		r.due = due
	}
	r.mu.Unlock()
	r.out.Add(Entry{Kind: FateEntry, Job: job, Fate: &fate})
	return nil
}

// repair says that a person helped: one job, or all where job is empty.
func (r *run) repair(job, text string) { r.out.Add(Entry{Kind: RepairEntry, Job: job, Text: text}) }

// retry does something until it succeeds: the API server may be away.
func (r *run) retry(ctx context.Context, do func() error) error {
	for {
		err := do()
		if err == nil || apierrors.IsInvalid(err) || apierrors.IsNotFound(err) {
			return err
		}
		if ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		sleep(ctx, time.Second)
	}
}

// create creates an object; one that is there already is right.
func (r *run) create(ctx context.Context, o client.Object) error {
	return r.retry(ctx, func() error { return client.IgnoreAlreadyExists(r.lab.Client.Create(ctx, o)) })
}

// patch merges JSON into an object, and returns its new resource version.
func (r *run) patch(ctx context.Context, o client.Object, json string) (string, error) {
	err := r.retry(ctx, func() error {
		return r.lab.Client.Patch(ctx, o, client.RawPatch("application/merge-patch+json", []byte(json)))
	})
	return o.GetResourceVersion(), err
}

// await waits until a job satisfies done, and returns it.
func (r *run) await(ctx context.Context, kind, name, what string, done func(lab.History) bool) (lab.History, error) {
	for {
		attempt, cancel := context.WithTimeout(ctx, 5*time.Second)
		h, err := r.lab.Live(attempt, kind, name)
		cancel()
		if err == nil && done(h) {
			return h, nil
		}
		if ctx.Err() != nil {
			return h, fmt.Errorf("waiting for %s %s to %s (it is %s): %w", kind, name, what, h.Summary(), ctx.Err())
		}
		sleep(ctx, 200*time.Millisecond)
	}
}

// until waits for anything else.
func (r *run) until(ctx context.Context, what string, done func() bool) error {
	for !done() {
		if ctx.Err() != nil {
			return fmt.Errorf("waiting for %s: %w", what, ctx.Err())
		}
		sleep(ctx, 200*time.Millisecond)
	}
	return nil
}
