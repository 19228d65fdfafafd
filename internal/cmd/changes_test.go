package cmd

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/testbed"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/internal/view/document"
)

type change struct {
	name, method string
	args         func(name string) []string
	written      func(name string) client.Object // empty, with its name
}

// changes are the commands that change what is no running job. name is that of a location and a completed backup; -daily
// and -paused behind it are schedules, -old is a completed restore, and -gone a backup that nothing reads.
var changes = []change{
	{
		"pause",
		http.MethodPatch,
		func(n string) []string { return []string{"schedule", "pause", n + "-daily"} },
		func(n string) client.Object { return scheduleNamed(n + "-daily") },
	},
	{
		"unpause",
		http.MethodPatch,
		func(n string) []string { return []string{"schedule", "unpause", n + "-paused"} },
		func(n string) client.Object { return scheduleNamed(n + "-paused") },
	},
	{"restore", http.MethodPost, func(n string) []string {
		return []string{"restore", "create", n, "--from-backup", n, "--preflight", "none"}
	}, func(n string) client.Object {
		return &veleroapi.Restore{ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: n}}
	}},
	{"backup", http.MethodPost, func(n string) []string {
		return []string{"backup", "create", n + "-now", "--from-schedule", n + "-daily"}
	}, func(n string) client.Object {
		return &veleroapi.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: n + "-now"}}
	}},
	{
		"delete-restore",
		http.MethodDelete,
		func(n string) []string { return []string{"restore", "delete", n + "-old"} },
		func(n string) client.Object {
			return &veleroapi.Restore{ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: n + "-old"}}
		},
	},
	{"delete-backup", http.MethodPost, func(n string) []string {
		return []string{"backup", "delete", n + "-gone", "--from-another-cluster", "--last-copy"}
	}, func(n string) client.Object {
		return &veleroapi.DeleteBackupRequest{Spec: veleroapi.DeleteBackupRequestSpec{BackupName: n + "-gone"}}
	}},
}

func changeNamed(name string) (c change) {
	return changes[slices.IndexFunc(changes, func(c change) bool { return c.name == name })]
}

func scheduleNamed(name string) client.Object {
	return &veleroapi.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: name}}
}

// changeable makes what the changes need, and removes in the end what they make.
func (b *bed) changeable(t *testing.T, name string) {
	t.Helper()
	for _, o := range changeable(name) {
		b.create(t, o)
		b.settle(t, o)
	}
	t.Cleanup(func() {
		for _, change := range changes {
			for _, o := range b.found(t, change.written(name)) {
				if err := client.IgnoreNotFound(b.client.Delete(context.Background(), o)); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

func changeable(name string) []client.Object {
	in := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "velero", Name: name} }
	done := veleroapi.BackupStatus{Phase: veleroapi.BackupPhaseCompleted}
	all := []client.Object{
		&veleroapi.BackupStorageLocation{
			ObjectMeta: in(name),
			Spec: veleroapi.BackupStorageLocationSpec{
				Provider:    "aws",
				StorageType: veleroapi.StorageType{ObjectStorage: &veleroapi.ObjectStorageLocation{Bucket: "b"}},
			},
			Status: veleroapi.BackupStorageLocationStatus{Phase: veleroapi.BackupStorageLocationPhaseAvailable},
		},
		&veleroapi.Backup{ObjectMeta: in(name), Spec: veleroapi.BackupSpec{StorageLocation: name}, Status: done},
		&veleroapi.Backup{
			ObjectMeta: in(name + "-gone"),
			Spec:       veleroapi.BackupSpec{StorageLocation: name},
			Status:     done,
		},
		&veleroapi.Restore{
			ObjectMeta: in(name + "-old"),
			Spec:       veleroapi.RestoreSpec{BackupName: name},
			Status:     veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseCompleted},
		},
	}
	for _, paused := range []bool{false, true} {
		s := &veleroapi.Schedule{ObjectMeta: in(name + "-daily"), Spec: veleroapi.ScheduleSpec{
			Schedule: "0 1 * * *", Paused: paused, Template: veleroapi.BackupSpec{IncludedNamespaces: []string{"shop"}}}}
		if paused {
			s.Name = name + "-paused"
		}
		all = append(all, s)
	}
	return all
}

// settle makes what was created one that nobody has written lately, and a job one that ran here.
func (b *bed) settle(t *testing.T, o client.Object) {
	t.Helper()
	switch o.(type) {
	case *veleroapi.Backup, *veleroapi.Restore:
		for n := range 3 {
			with := fmt.Sprintf(
				`{"status":{"startTimestamp":%q,"progress":{"totalItems":%d}}}`,
				o.GetCreationTimestamp().UTC().Format(time.RFC3339),
				n+1,
			)
			if err := b.client.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(with))); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.age(t, o)
}

// found is the object of that name, or the requests to delete that backup.
func (b *bed) found(t *testing.T, o client.Object) (all []client.Object) {
	t.Helper()
	if request, ok := o.(*veleroapi.DeleteBackupRequest); ok {
		var requests veleroapi.DeleteBackupRequestList
		if err := b.client.List(context.Background(), &requests, client.InNamespace("velero")); err != nil {
			t.Fatal(err)
		}
		for i, r := range requests.Items {
			if r.Spec.BackupName == request.Spec.BackupName {
				all = append(all, &requests.Items[i])
			}
		}
		return all
	}
	switch err := b.client.Get(context.Background(), client.ObjectKeyFromObject(o), o); {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		t.Fatal(err)
	}
	return []client.Object{o}
}

// state is what a cluster holds of an object: its version and who wrote it, or that there is none.
func (b *bed) state(t *testing.T, o client.Object) string {
	t.Helper()
	state := "none"
	for _, o := range b.found(t, o) {
		state = fmt.Sprint(state, o.GetUID(), o.GetResourceVersion(), o.GetAnnotations())
	}
	return state
}

// sendsChange is true for the request that changes something, not for its dry run.
func sendsChange(r *http.Request) bool {
	return r.Method != http.MethodGet && strings.Contains(r.URL.Path, "/velero.io/") &&
		!strings.Contains(r.URL.Path, "/downloadrequests") &&
		!isDryRun(r)
}

// isDryRun looks into the body where a deletion has its options.
func isDryRun(r *http.Request) bool {
	if r.Method != http.MethodDelete {
		return strings.Contains(r.URL.RawQuery, "dryRun=All")
	}
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return bytes.Contains(body, []byte("dryRun"))
}

// Told to end in the middle of retrying: nothing is half done, and the last line and the log say that it is unknown.
func TestChangesEndInMidRetry(t *testing.T) {
	b := control(t)
	for _, change := range changes {
		for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
			t.Run(change.name+" "+signal.String(), func(t *testing.T) {
				t.Parallel()
				name := "torn-" + change.name + strconv.Itoa(int(signal))
				b.changeable(t, name)
				before := b.state(t, change.written(name))
				kubeconfig := b.proxied(t, 0, func(w http.ResponseWriter, r *http.Request) bool {
					if !sendsChange(r) {
						return false
					}
					http.Error(w, "the API server is on its way out", http.StatusServiceUnavailable)
					return true
				})
				state := t.TempDir()
				cmd := through(kubeconfig, b.command(t, append(change.args(name), "--yes", "-o", "json")...))
				cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+state)
				var stdout bytes.Buffer
				cmd.Stdout = &stdout
				messages, err := cmd.StderrPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				for lines := bufio.NewScanner(messages); lines.Scan(); {
					if strings.HasPrefix(lines.Text(), "patch: attempt 2:") {
						if err := cmd.Process.Signal(signal); err != nil {
							t.Fatal(err)
						}
					}
				}
				if err, want := cmd.Wait(), 128+int(signal); exitOf(err) != want {
					t.Errorf("%v, want exit code %d", err, want)
				}
				var d document.Change
				if err := json.Unmarshal(
					stdout.Bytes(),
					&d,
				); err != nil || d.Outcome.State != action.StateUnfinished || d.Outcome.Sent != action.Doubtful ||
					!strings.Contains(d.Outcome.Message, "unknown whether it was applied") {
					t.Errorf("%v\n%s", err, stdout.String())
				}
				if after := b.state(t, change.written(name)); after != before {
					t.Errorf("it was %s and is %s", before, after)
				}
				log := (&operator{state: state}).log(t)
				if got := eventsOf(
					log,
				); got != "begin check send end" || log[3].Sent != action.Doubtful || log[3].Error == "" ||
					len(log[0].Commands) != 1 {
					t.Errorf("the log has %s: %+v", got, log)
				}
			})
		}
	}
}

// In scripts: without a terminal nothing is asked and nothing done, and --yes does not overrule a refusal.
func TestChangesInScripts(t *testing.T) {
	b := control(t)
	for _, change := range changes {
		t.Run(change.name, func(t *testing.T) {
			t.Parallel()
			name := "scripted-" + change.name
			b.changeable(t, name)
			before := b.state(t, change.written(name))
			for _, c := range []struct {
				more []string
				code int
				says string
			}{
				{nil, ExitUsage, "there is no terminal to ask on: use --yes or --dry-run=server"},
				{[]string{"--yes", "--reason", "two\nlines"}, ExitRefused, "reason"},
				{[]string{"--yes", "--read-only"}, ExitRefused, "read-only"},
				{[]string{"--dry-run=server"}, ExitOK, "nothing was written"},
			} {
				stdout, stderr, code := b.run(t, append(change.args(name), c.more...)...)
				if code != c.code || !strings.Contains(stdout+stderr, c.says) {
					t.Errorf("%s %q: exit code %d\n%s%s", change.name, c.more, code, stdout, stderr)
				}
				if after := b.state(t, change.written(name)); after != before {
					t.Errorf("%s %q wrote: %s", change.name, c.more, after)
				}
			}
			for i, want := range []action.OutcomeState{"", action.StateRefused} {
				stdout, stderr, code := b.run(
					t,
					append(change.args(name), "--yes", "--observe", "1s", "-o", "json")...)
				var d document.Change
				if err := json.Unmarshal([]byte(stdout), &d); err != nil || want != "" && d.Outcome.State != want ||
					i == 0 &&
						d.Outcome.Sent != action.Landed || i == 1 && (code != ExitRefused || d.Outcome.Sent != action.NotSent) {
					t.Errorf("%s, time %d: exit code %d, %v\n%s%s", change.name, i+1, code, err, stdout, stderr)
				}
			}
		})
	}
}

// Two scripts that do the same at once do it once, and the log of each is true.
func TestChangesByTwoAtOnce(t *testing.T) {
	b := control(t)
	for _, change := range changes {
		t.Run(change.name, func(t *testing.T) {
			t.Parallel()
			name := "twice-" + change.name
			b.changeable(t, name)
			var reached sync.WaitGroup
			reached.Add(2)
			var said [2]bytes.Buffer
			var states [2]string
			var both sync.WaitGroup
			for i := range said {
				var once sync.Once
				kubeconfig := b.proxiedAs(
					t,
					b.RESTConfig(),
					name+strconv.Itoa(i),
					0,
					func(_ http.ResponseWriter, r *http.Request) bool {
						if sendsChange(r) {
							once.Do(func() { reached.Done(); reached.Wait() })
						}
						return false
					},
				)
				states[i] = t.TempDir()
				cmd := through(kubeconfig, b.command(t, append(change.args(name), "--yes", "--observe", "1s")...))
				cmd.Env, cmd.Stdout, cmd.Stderr = append(cmd.Env, "XDG_STATE_HOME="+states[i]), &said[i], &said[i]
				both.Go(func() {
					if err := cmd.Run(); cmd.ProcessState == nil {
						t.Errorf("running veltui: %v", err)
					}
				})
			}
			both.Wait()
			ends := map[action.SentState]int{}
			for i := range states {
				log := (&operator{state: states[i]}).log(t)
				if len(log) == 0 || log[len(log)-1].Event != "end" {
					t.Fatalf("the log has %s\n%s", eventsOf(log), said[i].String())
				}
				ends[log[len(log)-1].Sent]++
			}
			// Of a creation that met a name nobody can tell whether it was made, and deleted, before; nor of a
			// deletion of what is gone whether a proxy repeated it.
			leavesNoTrace := change.method == http.MethodPost || change.method == http.MethodDelete
			if ends[action.Landed] != 1 ||
				ends[action.NotSent] != 1 && (!leavesNoTrace || ends[action.Doubtful] != 1) {
				t.Errorf("the logs say %v\n%s\n%s", ends, said[0].String(), said[1].String())
			}
		})
	}
}

// Credentials that are refused on the way are read again from a kubeconfig that leads to a copy of the cluster now:
// nothing is written to that one, nor to the first.
func TestChangesOfASwappedCluster(t *testing.T) {
	w := startTwins(t)
	dryRun := func(r *http.Request) bool {
		return strings.Contains(r.URL.Path, "/velero.io/") && isDryRun(r)
	}
	moments := []struct {
		name string
		is   func() func(*http.Request) bool
	}{
		{"the second identity", func() func(*http.Request) bool {
			return afterwards(review(), 1, http.MethodGet, "/namespaces/kube-system")
		}},
		{"the second review", func() func(*http.Request) bool {
			return afterwards(review(), 1, http.MethodPost, "/selfsubjectreviews")
		}},
		{"the dry run", func() func(*http.Request) bool { return dryRun }},
		{"the patch", func() func(*http.Request) bool { return sendsChange }},
	}
	for _, v := range w.swaps() {
		t.Run(v.name, func(t *testing.T) {
			if v.others {
				w.otherUID(t)
			}
			for i, change := range changes {
				for n, m := range moments {
					if !testbed.WantsMore() && n != i%len(moments) {
						continue
					}
					t.Run(change.name+"/"+m.name, func(t *testing.T) {
						t.Parallel()
						w.swapDuringChange(t, v, change, m.name, m.is())
					})
				}
			}
		})
	}
}

// swapDuringChange makes a change, and swaps the clusters once a request of it is sent.
func (w *twins) swapDuringChange(t *testing.T, v swapped, change change, moment string, is func(*http.Request) bool) {
	t.Helper()
	before := [2]string{w.a.state(t, change.written(twinName)), w.b.state(t, change.written(twinName))}
	a, b := newFront(t, "a", w.a), newFront(t, "b", w.b)
	k := newKubeconfig(t, a, "jane@a")
	a.once(is, func(answer http.ResponseWriter, _ *http.Request) {
		v.lead(t, k, a, b)
		unauthorized(answer)
	})
	s := k.run(t, w, append(change.args(twinName), "--yes", "--observe", "1s")...)
	if all := s.stdout + s.stderr; s.code == ExitOK || !strings.Contains(all, movedSentence) {
		t.Errorf("exit code %d\n%s", s.code, all)
	}
	if after := [2]string{
		w.a.state(t, change.written(twinName)),
		w.b.state(t, change.written(twinName)),
	}; after != before {
		t.Errorf("it was %q and is %q", before, after)
	}
	w.checkSeparate(t, map[string]*front{"a": a, "b": b})
	checkSwappedJournal(t, (&operator{state: s.state}).log(t), a, moment)
}

// twinName is that of what the twins have to change.
const twinName = "twin"
