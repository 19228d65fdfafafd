package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// storyRun is one run of a story.
type storyRun struct {
	lab       *lab.Lab
	story     Story
	recording *RecordingWriter
	// older is the folder of another Velero's programs, empty for none.
	older string
	// serverLock serialises what ends, stops or starts a server of the lab.
	serverLock sync.Mutex
	movers     *moverPods

	mu    sync.Mutex
	flags []string
	// detectionDeadline is when the last fate has to be seen.
	detectionDeadline time.Time
	// deadJobs are the jobs whose fate has come.
	deadJobs map[string]bool
	// cleanups is what heals the cluster in the end.
	cleanups []func(context.Context) error
}

// settleLimit is how long the end of a run waits for jobs that still go on.
const settleLimit = 3 * time.Minute

// Run tells a story to a new lab and records it.
func Run(ctx context.Context, story Story, older string, out *RecordingWriter, progress func(string)) (err error) {
	out.AddEntry(Entry{Kind: StoryEntry, Story: &story})
	r := &storyRun{story: story, recording: out, older: older, deadJobs: map[string]bool{}, movers: newMoverPods()}
	if err := r.prepareLab(ctx, progress); err != nil {
		if r.lab != nil {
			err = errors.Join(err, r.lab.Stop())
		}
		return err
	}
	defer func() { err = errors.Join(err, r.lab.Stop()) }()
	watching, err := startRecorder(ctx, r.lab, out)
	if err != nil {
		return err
	}
	defer watching.stopRecording()
	sleepContext(ctx, 2*time.Second)

	progress(fmt.Sprintf("the story begins: %d steps in %s", len(story.Steps), story.Duration))
	out.AddEntry(Entry{Kind: BeginEntry})
	r.tellStory(ctx, progress)
	progress("the story is over; what heals by itself is healed")
	r.healCluster(ctx)
	r.awaitSettled(ctx, progress)
	out.AddEntry(Entry{Kind: EndEntry})
	return ctx.Err()
}

// tellStory carries out every step at its time, and returns once all have ended.
func (r *storyRun) tellStory(ctx context.Context, progress func(string)) {
	began := time.Now()
	var group sync.WaitGroup
	playing, stop := context.WithCancel(ctx)
	var players sync.WaitGroup
	players.Go(func() { r.movers.playPods(playing, r.lab) })
	for _, s := range r.story.Steps {
		group.Go(func() {
			sleepContext(ctx, time.Until(began.Add(s.At)))
			if ctx.Err() != nil {
				return
			}
			progress(fmt.Sprintf("%4.0f s  %s (%s)", time.Since(began).Seconds(), s.Name, s.Length))
			limited, cancel := context.WithTimeout(ctx, s.Length+r.story.Duration)
			defer cancel()
			if err := r.performStep(limited, s); err != nil {
				r.recording.AddEntry(Entry{Kind: FailureEntry, Text: s.Name + ": " + err.Error()})
				progress(s.Name + " failed: " + err.Error())
			}
		})
	}
	group.Wait()
	sleepContext(ctx, time.Until(began.Add(r.story.Duration)))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cleanups = append(r.cleanups, func(context.Context) error { stop(); players.Wait(); return nil })
}

func (r *storyRun) performStep(ctx context.Context, s Step) error {
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

// healCluster ends what a person would not leave: a schedule goes on for ever.
func (r *storyRun) healCluster(ctx context.Context) {
	if err := r.retryUntilDone(ctx, func() error {
		return r.lab.Client.DeleteAllOf(ctx, &veleroapi.Schedule{}, client.InNamespace(lab.Namespace))
	}); err != nil {
		r.recording.AddEntry(Entry{Kind: FailureEntry, Text: "healing: " + err.Error()})
	}
}

// awaitSettled waits until every job has ended but the dead, and the dead were to be
// seen for more than a minute.
func (r *storyRun) awaitSettled(ctx context.Context, progress func(string)) {
	limit := time.Now().Add(settleLimit)
	for ctx.Err() == nil {
		r.mu.Lock()
		due := r.detectionDeadline.Add(detectionGrace + 10*time.Second)
		r.mu.Unlock()
		living, err := r.listLiving(ctx)
		if now := time.Now(); now.After(due) && (err == nil && len(living) == 0 || now.After(limit)) {
			progress(fmt.Sprintf("%d jobs have not ended: %v", len(living), living))
			break
		}
		sleepContext(ctx, time.Second)
	}
	r.mu.Lock()
	afterwards := r.cleanups
	r.mu.Unlock()
	for _, f := range afterwards {
		if err := f(ctx); err != nil {
			r.recording.AddEntry(Entry{Kind: FailureEntry, Text: "ending: " + err.Error()})
		}
	}
}

// listLiving are the jobs that have neither ended nor died.
func (r *storyRun) listLiving(ctx context.Context) ([]string, error) {
	var living []string
	for _, kind := range []string{"Backup", "Restore"} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(veleroapi.GroupVersion.WithKind(kind + "List"))
		if err := r.lab.Client.List(ctx, list, client.InNamespace(lab.Namespace)); err != nil {
			return nil, err
		}
		r.mu.Lock()
		for i := range list.Items {
			if job := jobName(&list.Items[i]); !hasEnded(&list.Items[i]) && !r.deadJobs[job] {
				living = append(living, job)
			}
		}
		r.mu.Unlock()
	}
	return living, nil
}

// recordDeath says that a job is dead from now on, as the story foretold.
func (r *storyRun) recordDeath(job string) error {
	i := slices.IndexFunc(r.story.Deaths, func(f Death) bool { return f.Job == job })
	if i < 0 {
		return fmt.Errorf("the story knows no fate of %s", job)
	}
	fate := r.story.Deaths[i]
	r.mu.Lock()
	r.deadJobs[job] = true
	if due := time.Now().Add(fate.DetectableAfter); due.After(r.detectionDeadline) {
		r.detectionDeadline = due
	}
	r.mu.Unlock()
	r.recording.AddEntry(Entry{Kind: DeathEntry, Job: job, Death: &fate})
	return nil
}

// recordRepair says that a person helped: one job, or all where job is empty.
func (r *storyRun) recordRepair(job, text string) {
	r.recording.AddEntry(Entry{Kind: RepairEntry, Job: job, Text: text})
}

// retryUntilDone does something until it succeeds: the API server may be away.
func (r *storyRun) retryUntilDone(ctx context.Context, do func() error) error {
	for {
		err := do()
		if err == nil || apierrors.IsInvalid(err) || apierrors.IsNotFound(err) {
			return err
		}
		if ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		sleepContext(ctx, time.Second)
	}
}

// createObject creates an object; one that is there already is right.
func (r *storyRun) createObject(ctx context.Context, o client.Object) error {
	return r.retryUntilDone(ctx, func() error { return client.IgnoreAlreadyExists(r.lab.Client.Create(ctx, o)) })
}

// patchObject merges JSON into an object, and returns its new resource version.
func (r *storyRun) patchObject(ctx context.Context, o client.Object, json string) (string, error) {
	err := r.retryUntilDone(ctx, func() error {
		return r.lab.Client.Patch(ctx, o, client.RawPatch("application/merge-patch+json", []byte(json)))
	})
	return o.GetResourceVersion(), err
}

// awaitJob waits until a job satisfies done, and returns it.
func (r *storyRun) awaitJob(
	ctx context.Context,
	kind, name, what string,
	done func(lab.History) bool,
) (lab.History, error) {
	for {
		attempt, cancel := context.WithTimeout(ctx, 5*time.Second)
		h, err := r.lab.ReadJob(attempt, kind, name)
		cancel()
		if err == nil && done(h) {
			return h, nil
		}
		if ctx.Err() != nil {
			return h, fmt.Errorf("waiting for %s %s to %s (it is %s): %w", kind, name, what, h.Summary(), ctx.Err())
		}
		sleepContext(ctx, 200*time.Millisecond)
	}
}

// waitUntil waits for anything else.
func (r *storyRun) waitUntil(ctx context.Context, what string, done func() bool) error {
	for !done() {
		if ctx.Err() != nil {
			return fmt.Errorf("waiting for %s: %w", what, ctx.Err())
		}
		sleepContext(ctx, 200*time.Millisecond)
	}
	return nil
}
