package action

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/job"
)

// every kind of write says how to find out what became of it.
var _, _, _ write = (*patch)(nil), (*create)(nil), (*deletion)(nil)

const createMark = "veltui.io/created-attempt"

// deliverOne sends one write of a create or a delete, which no action offers yet.
func (b *sendBench) deliverOne(ctx context.Context, t *testing.T, dir string, make func(attempt string) write) (Sent, *delivery, error) {
	t.Helper()
	f, err := New(b.options(dir))
	if err != nil {
		t.Fatal(err)
	}
	s := f.sending(&Evidence{Job: &job.Job{Object: &velerov1.Restore{}}}, false, nil)
	s.looked, s.step = time.Now(), StepPatch
	s.renew = func(context.Context) error { return nil }
	if s.audit, err = openAudit(f.o, s.stamp.attempt); err != nil {
		t.Fatal(err)
	}
	d := &delivery{write: make(s.stamp.attempt), before: NotSent, last: true}
	s.out.Sent = NotSent
	err = s.deliver(ctx, d)
	return s.out.Sent, d, err
}

// restoreToCreate is what a create would make.
func restoreToCreate() *unstructured.Unstructured {
	o := bare(jobKind(job.Restore), "velero", "new")
	o.Object["spec"] = map[string]any{"backupName": "source", "namespaceMapping": map[string]any{"a": "b"}}
	return o
}

// Whatever becomes of a create or a delete: never two, never "not sent" of one that
// lands, "landed" only of one that did, as it was requested.
func TestCreateAndDeleteInvariants(t *testing.T) {
	dir, n := t.TempDir(), 0
	for _, verb := range []string{"create", "delete"} {
		for _, first := range sortedKeys(answers) {
			for _, second := range sortedKeys(answers) {
				for _, interruption := range []string{"nothing", "ctrl+c", "ctrl+c 2 s later", "the API server away for 20 s", "the API server away for 20 min"} {
					if n++; n%sampleOf(3, 13) != 0 {
						continue
					}
					synctest.Test(t, func(t *testing.T) {
						b := newSendBench()
						path := fakeNamespace + "restores/new"
						if verb == "delete" {
							path = b.path
						}
						ctx, cancel := context.WithCancelCause(t.Context())
						b.cancel = cancel
						stage := 0
						b.api.tamper = func(step string, r *http.Request, serve func() *http.Response) (*http.Response, error) {
							switch {
							case time.Now().Before(b.awayUntil):
								return nil, syscall.ECONNREFUSED
							case step == "write" && stage == 0:
								stage = 1
								response, err := answers[first](b.api, r, serve)
								interruptions[interruption](b)
								return response, err
							case step == "write" && stage == 1:
								stage = 2
								return answers[second](b.api, r, serve)
							}
							connected(r)
							return serve(), nil
						}
						sent, _, _ := b.deliverOne(ctx, t, filepath.Join(dir, fmt.Sprint(n)), func(attempt string) write {
							if verb == "delete" {
								return &deletion{b.api.get(path)}
							}
							w, err := newCreate(restoreToCreate(), createMark, attempt)
							if err != nil {
								t.Fatal(err)
							}
							return w
						})
						time.Sleep(30 * time.Minute)
						landed := len(b.api.landings(path))
						say := func(holds bool, text string) {
							if !holds {
								t.Errorf("%s: %s, then %s, with %s: %s, and it says %s", verb, first, second, interruption, text, sent)
							}
						}
						say(landed <= 1, "it wrote twice")
						say(sent != NotSent || landed == 0, "it landed")
						say(sent != Landed || landed == 1, "it did not land")
					})
				}
			}
		}
	}
	t.Logf("%d combinations", n)
	if testing.Short() {
		t.Skip("a sample of them passed")
	}
}

// What comes back of a create is compared with the whole spec.
func TestCreateIsVerified(t *testing.T) {
	w, err := newCreate(restoreToCreate(), createMark, "a1")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(o *unstructured.Unstructured)
		wrong  string
	}{
		"as requested":    {func(*unstructured.Unstructured) {}, ""},
		"with defaults":   {func(o *unstructured.Unstructured) { set(o, map[string]any{}, "spec", "hooks") }, ""},
		"with a status":   {func(o *unstructured.Unstructured) { set(o, "New", "status", "phase") }, ""},
		"another mapping": {func(o *unstructured.Unstructured) { set(o, "production", "spec", "namespaceMapping", "a") }, "/spec/namespaceMapping/a"},
		"no mapping": {func(o *unstructured.Unstructured) {
			unstructured.RemoveNestedField(o.Object, "spec", "namespaceMapping")
		}, "/spec/namespaceMapping"},
		"a policy more":  {func(o *unstructured.Unstructured) { set(o, "update", "spec", "existingResourcePolicy") }, "/spec/existingResourcePolicy"},
		"another name":   {func(o *unstructured.Unstructured) { o.SetName("other") }, "/metadata/name"},
		"without a mark": {func(o *unstructured.Unstructured) { o.SetAnnotations(nil) }, "/metadata/annotations"},
		"without a uid":  {func(o *unstructured.Unstructured) { o.SetUID("") }, "make nothing"},
	} {
		answer := w.object().DeepCopy()
		answer.SetUID("u")
		answer.SetResourceVersion("7")
		c.change(answer)
		got := w.verify(answer, false)
		if c.wrong == "" && got != "" || !strings.Contains(got, c.wrong) {
			t.Errorf("%s: %q, want %q", name, got, c.wrong)
		}
	}
	generated := restoreToCreate()
	generated.SetName("")
	generated.SetGenerateName("new-")
	if _, err := newCreate(generated, createMark, "a1"); err == nil {
		t.Error("a create may have a generated name")
	}
}

func set(o *unstructured.Unstructured, value any, path ...string) {
	_ = unstructured.SetNestedField(o.Object, value, path...)
}

// A create that was lost has no guard: only a repeat under its name settles it.
func TestLostCreateStaysOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newSendBench()
		ctx, cancel := context.WithCancelCause(t.Context())
		b.api.tamper = func(step string, r *http.Request, serve func() *http.Response) (*http.Response, error) {
			connected(r)
			if step == "write" {
				cancel(errInterrupt)
				return nil, syscall.ECONNRESET
			}
			return serve(), nil
		}
		sent, _, err := b.deliverOne(ctx, t, t.TempDir(), func(attempt string) write {
			w, _ := newCreate(restoreToCreate(), createMark, attempt)
			return w
		})
		if sent != Doubtful || !errors.Is(err, errInterrupt) {
			t.Errorf("%s, %v", sent, err)
		}
	})
}

// An attempt that came later, of a veltui that keeps earlier ones, does not hide ours;
// one that does not leaves it unknown.
func TestFindAttempt(t *testing.T) {
	for _, c := range []struct {
		before, now string
		want        finding
	}{
		{"", "ours .", landed}, {"", "joes ours .", landed}, {"old", "joes ours old .", landed},
		{"", "", lost}, {"old", "old", lost}, {"old .", "joes old .", lost}, {"c b a", "d c b a .", lost}, {"", "joes .", lost}, {"old", "joes old", lost},
		{"", "joes", obscured}, {"old", "joes", obscured}, {"old", "joes .", obscured}, {"old", "", obscured}, {"b a", "c b .", obscured},
	} {
		before, _ := readAttempts(c.before)
		now, complete := readAttempts(c.now)
		if got := findAttempt("ours", before, now, complete); got != c.want {
			t.Errorf("%q after %q: %d, want %d", c.now, c.before, got, c.want)
		}
	}
}

// A program that names only its own attempt may have hidden ours, whoever came after it.
func TestMarksAfterAProgramThatNamesOnlyItself(t *testing.T) {
	object := func(version, mark string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{}}
		o.SetUID("u")
		o.SetResourceVersion(version)
		if mark != "" {
			o.SetAnnotations(map[string]string{"m": mark})
		}
		return o
	}
	for _, c := range []struct {
		name, before, now string
		want              finding
	}{
		{"only one came", "", addAttempt(object("3", ""), "m", "new"), lost},
		{"one that names itself, and one more", "", addAttempt(object("3", "old"), "m", "new"), obscured},
		{"the same, later", "b .", addAttempt(object("3", "old"), "m", "new"), obscured},
		{"one that kept what was there", "b .", addAttempt(object("3", "b ."), "m", "new"), lost},
		{"one that kept ours", "b", addAttempt(object("3", "me b"), "m", "new"), landed},
	} {
		p := &patch{seen: object("1", c.before), mark: "m", attempt: "me"}
		if got := p.find(object("4", c.now)); got != c.want {
			t.Errorf("%s: %q after %q is %v, want %v", c.name, c.now, c.before, got, c.want)
		}
	}
	full := record{uid: "u", version: "9", mark: "m", before: strings.Fields("1 2 3 4 5 6 7")}
	if f := full.find(object("9", "1 2 3 4 5 6 7 8 ."), "me"); f.Known || f.Sent != Doubtful {
		t.Errorf("an attempt that may still land is %+v", f)
	}
}
