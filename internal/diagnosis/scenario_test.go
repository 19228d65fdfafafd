package diagnosis_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/demo"
	"github.com/veltui/veltui/internal/demo/replay"
	"github.com/veltui/veltui/internal/demo/scene"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/session"
	"github.com/veltui/veltui/internal/testbed"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/decode"
	"github.com/veltui/veltui/watch"
)

// scenarios are the files of a folder, or of the one that VELTUI_SCENARIOS names.
func scenarios(t *testing.T) []string {
	t.Helper()
	dir := os.Getenv("VELTUI_SCENARIOS")
	if dir == "" {
		dir = filepath.Join("testdata", "scenarios")
	}
	var files []string
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".yaml") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 12 {
		t.Fatalf("%s holds only %d scenarios", dir, len(files))
	}
	return files
}

// TestScenarios folds the objects of each scenario as the watch does, in more
// than one order, and holds the verdict against what the scenario says is right.
func TestScenarios(t *testing.T) {
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	for _, path := range scenarios(t) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".yaml"), func(t *testing.T) {
			file, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close() //nolint:errcheck // it was only read
			s, err := scene.Load(file, now)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			look := closerLook(t, path, s.Expect, now)
			v := judge(t, s.Objects, s.Expect, now, look, s.Stored)
			compare(t, v, s.Expect)

			backwards := slices.Clone(s.Objects)
			slices.Reverse(backwards)
			if w := judge(t, backwards, s.Expect, now, look, s.Stored); w.State() != v.State() || w.Reason != v.Reason {
				t.Errorf("in the other order it is %s, %s (%s)", w.State(), w.Reason, w.Summary())
			}
		})
	}
}

func compare(t *testing.T, v diagnosis.Verdict, want scene.Expectation) {
	t.Helper()
	state := string(v.State())
	if len(want.AllowedStates) > 0 && !slices.Contains(want.AllowedStates, state) || slices.Contains(want.ForbiddenStates, state) {
		t.Errorf("state %s, want one of %q: %s", state, want.AllowedStates, v.Summary())
	}
	if len(want.AllowedReasons) > 0 && !slices.Contains(want.AllowedReasons, v.Reason.String()) {
		t.Errorf("reason %s (%s), want one of %q: %s", v.Reason, state, want.AllowedReasons, v.Summary())
	}
	text := v.Summary() + "\n" + v.Advice
	for _, f := range v.Facts {
		text += "\n" + f.Text
	}
	for _, word := range want.RequiredWords {
		if !strings.Contains(strings.ToLower(text), strings.ToLower(word)) {
			t.Errorf("nothing says %q:\n%s", word, text)
		}
	}
}

// judge takes the objects in through a store and judges the job that is asked for.
func judge(
	t *testing.T,
	objects []*unstructured.Unstructured,
	want scene.Expectation,
	now time.Time,
	look func(*job.Job) diagnosis.JobEvidence,
	stored scene.StoredFiles,
) diagnosis.Verdict {
	t.Helper()
	store := watch.NewStore(func() time.Time { return now }, 0)
	known := testbed.VeleroScheme()
	var malformed []watch.MalformedObject
	for _, o := range objects {
		typed, fields := typed(t, known, o)
		if typed != nil {
			store.Upsert(typed)
		}
		if len(fields) > 0 {
			malformed = append(
				malformed,
				watch.MalformedObject{Resource: strings.ToLower(o.GetKind()) + "s.velero.io", Kind: o.GetKind(),
					Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(), Fields: fields},
			)
		}
	}
	snap := live(store)
	snap.Malformed = malformed
	kind, name := want.KindAndName()
	for _, j := range snap.Jobs {
		if strings.EqualFold(string(j.Kind), kind) && j.Name == name {
			env := snap.BuildWorld(now)
			v := diagnosis.Judge(j, env)
			if v.NeedsCloserLook() {
				env.Evidence = map[types.UID]diagnosis.JobEvidence{j.UID: look(j)}
				v = diagnosis.Judge(j, env)
			}
			if v.StorageDecides() {
				seen := env.Evidence[j.UID]
				seen.StoredAt, seen.StoredErrors = storedOf(stored, j)
				env.Evidence[j.UID] = seen
				v = diagnosis.Judge(j, env)
			}
			compareSpoken(t, v, j, env)
			return v
		}
	}
	t.Fatalf("there is no %s among %d jobs", want.Job, len(snap.Jobs))
	return diagnosis.Verdict{}
}

// short is a duration of veltui's, but none of a flag or of a name.
var short = regexp.MustCompile(`(?m)( |^)(?:(\d+)d|(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?)([ ,;:).]|$)`)

// compareSpoken compares a verdict in words with one in short: they differ in durations only.
func compareSpoken(t *testing.T, v diagnosis.Verdict, j *job.Job, env diagnosis.World) {
	t.Helper()
	text := func(v diagnosis.Verdict) string {
		all := v.Summary() + "\n" + v.Advice
		for _, f := range v.Facts {
			all += "\n" + f.Text
		}
		return all
	}
	env.Style = human.SpokenStyle
	spoken := diagnosis.Judge(j, env)
	want := short.ReplaceAllStringFunc(text(v), func(match string) string {
		parts := short.FindStringSubmatch(match)
		if parts[3] != "" && parts[5] != "" { // an example to type, with all its units
			return match
		}
		var long []string
		for i, unit := range []string{"day", "hour", "minute", "second"} {
			if n, err := strconv.Atoi(parts[i+2]); err == nil {
				long = append(long, human.Count(n, unit))
			}
		}
		return parts[1] + strings.Join(long, " ") + parts[6]
	})
	if got := text(spoken); got != want || spoken.State() != v.State() || spoken.Reason != v.Reason {
		t.Errorf("in words:\n%s\nwant:\n%s", got, want)
	}
}

// storedOf is what a look at the object store finds, without the list of operations.
func storedOf(stored scene.StoredFiles, j *job.Job) (at time.Time, errors int) {
	for _, target := range action.ArtifactTargets(j.Kind) {
		file, ok := stored.Files[target]
		if strings.HasSuffix(target, "ItemOperations") || target == "RestoreVolumeInfo" && !ok {
			continue
		}
		if !ok || !file.Modified.After(j.Started) {
			return time.Time{}, 0
		}
		at = job.LatestTime(at, file.Modified)
		if strings.HasSuffix(target, "Results") {
			var results struct {
				Errors struct {
					Velero, Cluster []string
					Namespaces      map[string][]string
				}
			}
			_ = json.Unmarshal([]byte(file.Body), &results)
			errors = len(results.Errors.Velero) + len(results.Errors.Cluster)
			for _, of := range results.Errors.Namespaces {
				errors += len(of)
			}
		}
	}
	return at, errors
}

// listable are the kinds that verdicts go by, beside the pods.
var listable = []string{
	watch.Backups,
	watch.Restores,
	watch.PodVolumeBackups,
	watch.PodVolumeRestores,
	watch.DataUploads,
	watch.DataDownloads,
	watch.StorageLocations,
	watch.Repositories,
	watch.DeleteRequests,
}

// live is the store's snapshot while all is live.
func live(store *watch.Store) *watch.Snapshot {
	snap := store.Snapshot()
	snap.Health = watch.Health{State: watch.Live}
	for _, kind := range listable {
		snap.Sources = append(snap.Sources, watch.Source{Resource: kind, State: watch.SourceLive})
	}
	return snap
}

// TestRecordingsAreNeverStuck replays the recordings of jobs that went on, also
// those in the folders that VELTUI_CAPTURES names, and judges them at each event,
// just before the next one and each second between, as one who watches from the
// start, and as one who comes at that moment.
func TestRecordingsAreNeverStuck(t *testing.T) {
	dirs := append(filepath.SplitList(os.Getenv("VELTUI_CAPTURES")),
		filepath.Join("..", "job", "testdata", "replays"), filepath.Join("..", "demo", "recordings"))
	for _, dir := range dirs {
		recordings, err := replay.Load(os.DirFS(dir))
		if err != nil {
			t.Fatalf("%s: %v", dir, err)
		}
		for _, r := range recordings {
			t.Run(r.Name, func(t *testing.T) {
				t.Logf("%s: %d events, judged %d times", r.Name, len(r.Events), checkRecording(t, r))
			})
		}
	}
}

func checkRecording(t *testing.T, r replay.Recording) (judged int) {
	t.Helper()
	now := r.Events[0].At
	known := testbed.VeleroScheme()
	clock := func() time.Time { return now }
	watching := watch.NewStore(clock, 0)
	pods := serverPods(now.Add(-24 * time.Hour))
	for _, pod := range pods {
		watching.Upsert(pod)
	}
	objects := map[types.UID]client.Object{}
	check := func(at time.Time) {
		now = at
		coming := watch.NewStore(clock, 0)
		for _, pod := range pods {
			coming.Upsert(pod)
		}
		for _, o := range objects {
			coming.Upsert(o)
		}
		for who, store := range map[string]*watch.Store{"watching": watching, "coming": coming} {
			snap := live(store)
			env := snap.BuildWorld(now)
			env.MoverPods = map[velero.VolumeRef]velero.Mover{} // they were not recorded
			for _, v := range env.Volumes {
				env.MoverPods[v.Ref()] = velero.Mover{Phase: velero.MoverRunning, Node: v.Node}
			}
			for _, j := range snap.Jobs {
				judged++
				if v := diagnosis.Judge(j, env); v.State() == diagnosis.Stuck || v.State() == diagnosis.Orphaned {
					t.Errorf(
						"%s, %s after the start: %s (%s): %s",
						who,
						now.Sub(r.Events[0].At),
						v.State(),
						v.Reason,
						v.Summary(),
					)
				}
			}
		}
	}
	for n, e := range r.Events {
		now = e.At
		object, _ := typed(t, known, e.Object)
		if object == nil {
			continue
		}
		if e.Type == "DELETED" {
			delete(objects, object.GetUID())
			watching.Delete(object)
		} else {
			objects[object.GetUID()] = object
			watching.Upsert(object)
		}
		check(e.At)
		if n+1 == len(r.Events) {
			break
		}
		next := r.Events[n+1].At
		for at := e.At.Add(time.Second); at.Before(next); at = at.Add(time.Second) {
			check(at)
		}
		check(next.Add(-time.Millisecond))
	}
	return judged
}

// serverPods are a Velero server and a node-agent that run since a time.
func serverPods(since time.Time) []client.Object {
	pod := func(name string, args ...string) client.Object {
		p := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace:         "velero",
				Name:              name,
				UID:               types.UID(name),
				CreationTimestamp: metav1.NewTime(since),
			},
		}
		p.Labels = map[string]string{"component": "velero", "name": args[0]}
		p.Spec.NodeName = "n1"
		p.Spec.Containers = []corev1.Container{
			{Name: name, Image: "velero/velero:v1.18.3", Command: []string{"/velero"}, Args: args},
		}
		p.Status.Phase = corev1.PodRunning
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: name, Ready: true,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(since)}}}}
		return p
	}
	pods := []client.Object{pod("velero", "server")}
	for _, node := range []string{"n1", "node-a", "node-b"} {
		agent := pod("node-agent", "node-agent", "server")
		agent.SetName("node-agent-" + node)
		agent.SetUID(types.UID(agent.GetName()))
		agent.(*corev1.Pod).Spec.NodeName = node
		pods = append(pods, agent)
	}
	return pods
}

// typed is an object as a reflector decodes it, with what it could not hold; nil
// for a kind that no reflector reads.
func typed(t *testing.T, known *runtime.Scheme, o *unstructured.Unstructured) (client.Object, []decode.MalformedField) {
	t.Helper()
	made, err := known.New(schema.FromAPIVersionAndKind(o.GetAPIVersion(), o.GetKind()))
	if err != nil {
		return nil, nil
	}
	malformed, err := decode.Unstructured(o.DeepCopy(), made)
	if err != nil {
		t.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
	}
	object, _ := made.(client.Object)
	return object, malformed
}

// closerLook is what explain's look at one job finds in a cluster that the demo
// makes of the scenario.
func closerLook(t *testing.T, path string, want scene.Expectation, now time.Time) func(*job.Job) diagnosis.JobEvidence {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	d, err := demo.Start(demo.Options{Scene: file, Clock: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	config, err := clientcmd.BuildConfigFromFlags("", d.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	// By the test's clock its certificate may not be valid yet.
	config.Insecure, config.CAData = true, nil
	return func(j *job.Job) diagnosis.JobEvidence {
		connection, err := session.New(session.Options{
			LoadConfig: func() (*rest.Config, error) { return config, nil }, Clock: func() time.Time { return now },
		})
		if err != nil {
			t.Fatal(err)
		}
		engine, err := action.New(
			action.Options{
				Session:   connection,
				Namespace: j.Namespace,
				ReadOnly:  true,
				Now:       func() time.Time { return now },
			},
		)
		if err != nil {
			t.Fatal(err)
		}
		e, err := engine.GatherEvidence(t.Context(), j.Kind, j.Name)
		if err != nil {
			t.Fatalf("gathering evidence about %s: %v", want.Job, err)
		}
		return e.VerdictEvidence()
	}
}
