package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/testbed"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

func TestReadListTakesAnyJSONApart(t *testing.T) {
	const text = ` {"kind":"BackupList", "metadata" : {"resourceVersion":"7","continue":"c","remainingItemCount":3},
		"other":[1,{"items":[9]}],"n":-1.5e3,"t":true,
		"items":[{"a":"}]\"\\"}, [1,[2]] ,"x\\",null,-7,{},{"b":{"c":["{"]}}] }` + "\n"
	want := []string{`{"a":"}]\"\\"}`, `[1,[2]]`, `"x\\"`, `null`, `-7`, `{}`, `{"b":{"c":["{"]}}`}
	for what, body := range map[string]io.Reader{"at once": strings.NewReader(text), "byte by byte": iotest.OneByteReader(strings.NewReader(text))} {
		var got []string
		meta, err := readList(body, func(raw []byte) error { got = append(got, string(raw)); return nil })
		if err != nil || !slices.Equal(got, want) || meta.Continue != "c" || meta.ResourceVersion != "7" ||
			*meta.RemainingItemCount != 3 {
			t.Errorf("%s: %q, %+v, %v", what, got, meta, err)
		}
	}
	for _, empty := range []string{`{"metadata":{},"items":null}`, `{"items":[]}`} {
		if _, err := readList(
			strings.NewReader(empty),
			func([]byte) error { return errors.New("an element") },
		); err != nil {
			t.Errorf("%s: %v", empty, err)
		}
	}
}

func TestReadListFailsForAnAnswerThatEndsEarly(t *testing.T) {
	const text = `{"metadata":{"resourceVersion":"7"},"items":[{"a":"b"},{"c":[1]}]}`
	for i := range len(text) {
		if _, err := readList(
			strings.NewReader(text[:i]),
			func([]byte) error { return nil },
		); !errors.Is(
			err,
			io.ErrUnexpectedEOF,
		) {
			t.Errorf("%s: %v", text[:i], err)
		}
	}
	for _, text := range []string{`<html>`, `[]`, `{"items":[1 2]}`, `{"items":[,]}`, `{"items" [1]}`, `{1:2}`,
		`{}`, `{"kind":"Status","metadata":{"resourceVersion":"7"},"status":"Success"}`, `{"metadata":{"resourceVersion":"7"},"items":{}}`} {
		if _, err := readList(
			strings.NewReader(text),
			func([]byte) error { return nil },
		); err == nil ||
			errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzReadList(f *testing.F) {
	f.Add(`{"metadata":{},"items":[{"a":"\""},2]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var whole, parts []string
		_, err := readList(
			strings.NewReader(text),
			func(raw []byte) error { whole = append(whole, string(raw)); return nil },
		)
		_, again := readList(
			iotest.OneByteReader(strings.NewReader(text)),
			func(raw []byte) error { parts = append(parts, string(raw)); return nil },
		)
		if !slices.Equal(whole, parts) || (err == nil) != (again == nil) {
			t.Errorf("%q %v, byte by byte %q %v", whole, err, parts, again)
		}
		emptyFieldSets([]byte(text))
	})
}

func TestFieldSetsAreLeftOut(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":1}`: `{"a":1}`,
		`{"m":[{"fieldsV1":{"f:a":{"}":"\"}"}},"x":1},{"fieldsV1":{}},{"fieldsV1":{"f:b":{}}}],"s":"\"fieldsV1\":{"}`: `{"m":[{"fieldsV1":{},"x":1},{"fieldsV1":{}},{"fieldsV1":{}}],"s":"\"fieldsV1\":{"}`,
		`{"fieldsV1":{"cut`: `{"fieldsV1":{}`,
		`{"fieldsV1":{"f:spec":{"f:a":{}},"f:status":{".":{},"f:phase":{}}},"x":1}`: `{"fieldsV1":{"f:status":{}},"x":1}`,
		`{"fieldsV1":{"f:status":{}},"x":1}`:                                        `{"fieldsV1":{"f:status":{}},"x":1}`,
		`{"fieldsV1":{"f:status":`:                                                  `{"fieldsV1":{}`,
	} {
		if got := string(emptyFieldSets([]byte(text))); got != want {
			t.Errorf("%s becomes %s", text, got)
		}
	}
}

// answers is an API server that plays a list.
type answers func(r *http.Request) (status int, body string)

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	status, body := a(r)
	return &http.Response{
		StatusCode: status,
		Request:    r,
		Header:     http.Header{"Content-Type": {"application/json"}},
		Body:       io.NopCloser(strings.NewReader(body)),
	}, nil
}

func newREST(config *rest.Config, over *http.Client) (rest.Interface, error) {
	c, err := client.New(config, over, nil)
	if err != nil {
		return nil, err
	}
	return c.REST, nil
}

func backupsOf(t *testing.T, a answers) kindReader {
	t.Helper()
	c, err := newREST(&rest.Config{Host: "http://127.0.0.1"}, &http.Client{Transport: a})
	if err != nil {
		t.Fatal(err)
	}
	return newKindReader(kinds[0], c, "velero")
}

func listOf(version, meta string, names ...string) string {
	items := make([]string, len(names))
	for i, name := range names {
		items[i] = fmt.Sprintf(`{"metadata":{"name":%q,"uid":%q,"resourceVersion":"1"}}`, name, name)
	}
	return fmt.Sprintf(`{"metadata":{"resourceVersion":%q%s},"items":[%s]}`, version, meta, strings.Join(items, ","))
}

const goesOn = `,"continue":"c","remainingItemCount":2`

func expired(why string) string {
	return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":410}`, why)
}

// streamOf are the events with which a watch begins, and how it says that they are
// all.
func streamOf(events ...string) string {
	lines := make([]string, 0, len(events)+1)
	for _, e := range events {
		kind, name, _ := strings.Cut(e, " ")
		lines = append(
			lines,
			fmt.Sprintf(
				`{"type":%q,"object":{"metadata":{"name":%q,"uid":%q,"resourceVersion":"1"}}}`,
				kind,
				name,
				name,
			),
		)
	}
	return strings.Join(
		append(
			lines,
			`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}}`,
		),
		"\n",
	) + "\n"
}

// TestAListIsReadWhateverTheServerMakesOfIt plays servers that stream, that only
// know pages, have forgotten the version of the first one, or break off. What was
// read is there at once, and the next list puts right what is wrong with it.
func TestAListIsReadWhateverTheServerMakesOfIt(t *testing.T) {
	const noStream = `{"kind":"Status","status":"Failure","reason":"Invalid","message":"sendInitialEvents: Forbidden","code":422}`
	whole := streamOf("ADDED a", "ADDED b", "ADDED x", "ADDED c", "DELETED x", "DELETED a", "MODIFIED d")
	for what, play := range map[string]struct {
		answer func(q string) (int, string)
		fails  bool
	}{
		"a stream": {func(string) (int, string) { return 200, whole }, false},
		"pages": {func(q string) (int, string) {
			switch {
			case strings.Contains(q, "watch"):
				return 422, noStream
			case strings.Contains(q, "continue=d"):
				return 200, listOf("9", "", "d")
			}
			return 200, listOf("9", `,"continue":"d"`, "b", "c")
		}, false},
		"pages that expire": {func(q string) (int, string) {
			switch {
			case strings.Contains(q, "watch"):
				return 422, noStream
			case strings.Contains(q, "continue"):
				return 410, expired("Expired")
			case strings.Contains(q, "limit"):
				return 200, listOf("8", goesOn, "a", "b")
			}
			return 200, listOf("9", "", "b", "c", "d")
		}, false},
		"pages, who may not watch": {func(q string) (int, string) {
			if strings.Contains(q, "watch") {
				return 403, `{"kind":"Status","reason":"Forbidden","code":403}`
			}
			return 200, listOf("9", "", "b", "c", "d")
		}, false},
		"an answer that is no list": {func(q string) (int, string) {
			if strings.Contains(q, "watch") {
				return 422, noStream
			}
			return 200, `{}`
		}, true},
		"a list without a version": {func(q string) (int, string) {
			if strings.Contains(q, "watch") {
				return 422, noStream
			}
			return 200, `{"items":[]}`
		}, true},
		"the same page forever": {func(q string) (int, string) {
			if strings.Contains(q, "watch") {
				return 422, noStream
			}
			return 200, listOf("9", `,"continue":"c"`, "b")
		}, true},
		"a stream without a version": {func(string) (int, string) { return 200, strings.Replace(whole, `"resourceVersion":"9",`, "", 1) }, true},
		"a stream that breaks off":   {func(string) (int, string) { return 200, whole[:len(whole)-40] }, true},
		"a stream that has expired":  {func(string) (int, string) { return 200, `{"type":"ERROR","object":` + expired("Expired") + "}\n" }, true},
		"no":                         {func(string) (int, string) { return 403, `{"kind":"Status","reason":"Forbidden","code":403}` }, true},
	} {
		t.Run(what, func(t *testing.T) {
			s := NewStore(ticker(), 0)
			list := s.startList(kinds[0])
			requests := 0
			version, err := backupsOf(t, func(r *http.Request) (int, string) {
				if requests++; requests > 1 {
					return play.answer(r.URL.RawQuery)
				}
				return 200, listOf("8", goesOn, "a", "b")
			}).readAll(t.Context(), list)
			if (err != nil) != play.fails {
				t.Fatalf("version %q, %v", version, err)
			}
			if play.fails {
				if n := len(s.Snapshot().Jobs); n < 2 {
					t.Errorf("%d jobs", n)
				}
				list = s.startList(kinds[0])
				version, err = backupsOf(
					t,
					func(*http.Request) (int, string) { return 200, listOf("9", "", "b", "c", "d") },
				).readAll(t.Context(), list)
			}
			list.finishList()
			got := jobNames(s.Snapshot().Jobs)
			slices.Sort(got)
			if got := version + " " + strings.Join(got, ","); err != nil || got != "9 b,c,d" {
				t.Errorf("%s, %v", got, err)
			}
		})
	}
}

// opened is a stream that says nothing more after its events, until it is closed.
type opened struct {
	io.Reader
	closed <-chan struct{}
}

func (o opened) Read(p []byte) (int, error) {
	n, err := o.Reader.Read(p)
	if err == io.EOF {
		<-o.closed
	}
	return n, err
}

func (opened) Close() error { return nil }

// TestAStreamWithoutAnEndIsGivenUp: a proxy may leave sendInitialEvents out of what
// it passes on, and then nothing tells that this was all.
func TestAStreamWithoutAnEndIsGivenUp(t *testing.T) {
	pages := answers(func(r *http.Request) (int, string) {
		switch {
		case strings.Contains(r.URL.RawQuery, "NotOlderThan"):
			return 504, `{"kind":"Status","reason":"Timeout","code":504}`
		case strings.Contains(r.URL.RawQuery, "continue"):
			return 200, listOf("9", "", "c", "d")
		}
		return 200, listOf("9", goesOn, "a", "b")
	})
	r := backupsOf(t, nil)
	c, err := newREST(
		&rest.Config{Host: "http://127.0.0.1"},
		&http.Client{Transport: roundTrips(func(q *http.Request) (*http.Response, error) {
			if !strings.Contains(q.URL.RawQuery, "watch") {
				return pages.RoundTrip(q)
			}
			events, _, _ := strings.Cut(streamOf("ADDED a", "ADDED b"), `{"type":"BOOKMARK"`)
			return &http.Response{
				StatusCode: 200,
				Request:    q,
				Header:     http.Header{"Content-Type": {"application/json"}},
				Body:       opened{strings.NewReader(events), q.Context().Done()},
			}, nil
		})},
	)
	if err != nil {
		t.Fatal(err)
	}
	r.rest, r.silenceTimeout = c, 10*time.Millisecond
	s := NewStore(ticker(), 0)
	list := s.startList(kinds[0])
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	version, err := r.readAll(ctx, list)
	if err != nil || version != "9" {
		t.Fatalf("version %q, %v", version, err)
	}
	list.finishList()
	if n := len(s.Snapshot().Jobs); n != 4 {
		t.Errorf("%d jobs", n)
	}
}

type roundTrips func(*http.Request) (*http.Response, error)

func (f roundTrips) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestJobsThatRunAreReadFirst: what has ended is taken in behind them, and all of it
// in one answer.
func TestJobsThatRunAreReadFirst(t *testing.T) {
	item := func(name, phase string) string {
		return fmt.Sprintf(
			`{"metadata":{"name":%q,"uid":%q,"resourceVersion":"1"},"status":{"phase":%q}}`,
			name,
			name,
			phase,
		)
	}
	var read []string
	version, err := backupsOf(t, func(r *http.Request) (int, string) {
		switch q := r.URL.RawQuery; {
		case strings.Contains(q, "limit=500"):
			return 200, listOf("8", goesOn)
		case strings.Contains(q, "resourceVersion=8") && !strings.Contains(q, "watch"):
			return 200, `{"metadata":{"resourceVersion":"9"},"items":[` + strings.Join(
				[]string{item("a", "Completed"), item("b", "InProgress"), item("c", "Failed"), item("d", "")},
				",",
			) + `]}`
		}
		return 500, ""
	}).readAll(t.Context(), taken(func(o *receivedObject) { read = append(read, o.GetName()) }))
	if got := strings.Join(read, ""); err != nil || version != "9" || got != "bdac" {
		t.Errorf("read %s, version %q, %v", got, version, err)
	}
}

// TestAKindThatWaitsForItsTurnIsNotSlow: it is slow only once it was asked for.
func TestAKindThatWaitsForItsTurnIsNotSlow(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	hangs := newSource(kinds[0], NewStore(ticker(), 0), time.Now, slog.New(slog.DiscardHandler))
	s := newSource(kinds[2], NewStore(ticker(), 0), func() time.Time { return now }, slog.New(slog.DiscardHandler))
	s.waitsFor, s.turnTimeout = []*source{hangs}, time.Millisecond
	now = now.Add(time.Minute)
	r := backupsOf(t, func(*http.Request) (int, string) { return 200, listOf("9", "", "a") })
	r.kind = s.kind
	if _, err := s.readKind(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if since := s.currentStatus().Since; !since.Equal(now) {
		t.Errorf("it is being read since %s, want %s", since, now)
	}
}

// TestVolumesThatAreReadLateHaveMovedOnlySinceThen: a job may be seen long before its
// volumes, and their speed counts from when they were seen.
func TestVolumesThatAreReadLateHaveMovedOnlySinceThen(t *testing.T) {
	now := time.Unix(1_700_000_500, 0)
	s := NewStore(func() time.Time { return now }, 0)
	b := runningBackup("b", "b", 1, 0, 3)
	b.Status.Phase = veleroapi.BackupPhaseInProgress
	s.Replace(Backups, []client.Object{b})
	volume := func(version int, done int64) *veleroapi.PodVolumeBackup {
		v := pvbOf("b", "v", "v", version, 0)
		v.Status.Phase, v.Status.Progress.BytesDone, v.Status.Progress.TotalBytes = veleroapi.PodVolumeBackupPhaseInProgress, done, 100<<30
		return v
	}
	s.Snapshot()
	now = now.Add(time.Minute)
	s.Replace(PodVolumeBackups, []client.Object{volume(1, 10<<30)})
	s.Snapshot()
	for i := range 4 {
		now = now.Add(10 * time.Second)
		s.Upsert(volume(2+i, 10<<30+int64(i+1)*(1<<30)))
		s.Snapshot()
	}
	j := s.Snapshot().Jobs[0]
	if rate, ok := j.VolumeRate(&j.Volumes[0], now); !ok || rate < (1<<30)/10*0.99 || rate > (1<<30)/10*1.01 {
		t.Errorf("%.0f bytes a second, %v, want %d", rate, ok, 1<<30/10)
	}
}

// TestAJobThatWasNeverReportedIsNotDeleted: it went while the first list was read.
func TestAJobThatWasNeverReportedIsNotDeleted(t *testing.T) {
	s := NewStore(ticker(), 10)
	list := s.startList(kinds[0])
	list.addObject(&receivedObject{Object: runningBackup("gone", "gone", 1, 0, 1)})
	list.restartList(0)
	list.addObject(&receivedObject{Object: runningBackup("stays", "stays", 1, 0, 1)})
	list.finishList()
	if n := s.Snapshot(); len(n.Jobs) != 1 || len(n.Changes) != 0 {
		t.Errorf("%d jobs, changes %+v", len(n.Jobs), n.Changes)
	}
}

// TestJobsThatEndedLongAgoAreLeftOut from the lists and from memory, whether they are
// read so or become so; what goes on stays however old it is.
func TestJobsThatEndedLongAgoAreLeftOut(t *testing.T) {
	now := time.Unix(1_700_000_500, 0)
	s := NewStore(func() time.Time { return now }, 0)
	s.agedOut.maxAge = time.Hour
	backup := func(name, phase string, version int, ago time.Duration) *veleroapi.Backup {
		b := runningBackup(name, types.UID(name), version, 0, 3)
		b.CreationTimestamp, b.ManagedFields = metav1.NewTime(now.Add(-ago)), nil
		b.Status.Phase, b.Spec.StorageLocation = veleroapi.BackupPhase(phase), "offsite"
		b.Labels = map[string]string{veleroapi.ScheduleNameLabel: "nightly"}
		if ended := metav1.NewTime(now.Add(-ago)); phase == "Completed" {
			b.Status.CompletionTimestamp = &ended
		}
		return b
	}
	restore := object(
		&veleroapi.Restore{
			Spec:   veleroapi.RestoreSpec{BackupName: "old"},
			Status: veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseInProgress},
		},
		"r",
		"r",
		1,
		0,
	)
	check := func(what, jobs string, left int) {
		t.Helper()
		n := s.Snapshot()
		got := jobNames(n.Jobs)
		slices.Sort(got)
		held := len(s.byKind[PodVolumeBackups].versions)
		if got := strings.Join(
			got,
			",",
		); got != jobs || n.AgedOutBackups != left || held != strings.Count(jobs, "new") ||
			n.BuildWorld(n.At).LocationByBackup["old"] != "offsite" {
			t.Errorf(
				"%s: jobs %s, %d left out, %d volumes, locations %v; want %s and %d",
				what,
				got,
				n.AgedOutBackups,
				held,
				n.BuildWorld(n.At).LocationByBackup,
				jobs,
				left,
			)
		}
		if n.AgedOutBySchedule["nightly"] != left || n.AgedOutByLocation["offsite"] != left || len(n.AgedOutBySchedule) != 1 || len(n.AgedOutByLocation) != 1 {
			t.Errorf("%s: left out of schedules %v, in locations %v, want %d", what, n.AgedOutBySchedule, n.AgedOutByLocation, left)
		}
	}
	volume := func(owner string) *veleroapi.PodVolumeBackup {
		v := pvbOf(types.UID(owner), "v-"+owner, types.UID("v-"+owner), 1, 5)
		v.Status.Phase = veleroapi.PodVolumeBackupPhaseCompleted
		return v
	}
	listed := []client.Object{
		backup("old", "Completed", 1, 2*time.Hour),
		backup("invalid", "FailedValidation", 1, 2*time.Hour),
		backup("stuck", "InProgress", 1, 900*time.Hour),
		backup("new", "Completed", 1, time.Minute),
	}
	s.Replace(Restores, []client.Object{restore})
	s.Replace(Backups, listed)
	s.Replace(PodVolumeBackups, []client.Object{volume("old"), volume("new")})
	check("listed", "new,r,stuck", 2)
	s.Upsert(backup("old", "Completed", 2, 2*time.Hour))
	check("written again", "new,r,stuck", 2)
	s.Upsert(backup("invalid", "InProgress", 2, 2*time.Hour))
	check("alive again", "invalid,new,r,stuck", 1)
	now = now.Add(2 * time.Hour)
	check("aged", "invalid,r,stuck", 2)
	s.Delete(listed[3])
	check("deleted", "invalid,r,stuck", 1)
	s.Replace(Backups, []client.Object{listed[2], backup("old", "Completed", 2, 4*time.Hour)})
	check("listed again", "r,stuck", 1)
	// A volume of a job that is left out still has the slot that others wait for.
	running := volume("old")
	running.Status.Phase = veleroapi.PodVolumeBackupPhaseInProgress
	s.Replace(PodVolumeBackups, []client.Object{running})
	if found := s.Snapshot().activeVolumes(); len(found) != 1 || found[0].UID != running.UID {
		t.Errorf("volumes that run: %+v", found)
	}
}

// TestWhatIsLeftOutIsNotKeptWhileAListIsReadAgain: after an outage a list brings tens of
// thousands of old jobs and volumes again.
func TestWhatIsLeftOutIsNotKeptWhileAListIsReadAgain(t *testing.T) {
	s := NewStore(func() time.Time { return time.Unix(1_800_000_000, 0) }, 0)
	s.agedOut.maxAge = time.Hour
	old := func(version int) *veleroapi.Backup {
		b := runningBackup("old", "old", version, 3, 3)
		b.Status.Phase = veleroapi.BackupPhaseCompleted
		return b
	}
	volume := func(version int) *veleroapi.PodVolumeBackup {
		v := pvbOf("old", "v", "v", version, 5)
		v.Status.Phase = veleroapi.PodVolumeBackupPhaseCompleted
		return v
	}
	s.Replace(Backups, []client.Object{old(1)})
	s.Replace(PodVolumeBackups, []client.Object{volume(1)})
	for resource, again := range map[string]client.Object{Backups: old(2), PodVolumeBackups: volume(2)} {
		k, _ := kindByResource(resource)
		list := s.startList(k)
		list.addObject(&receivedObject{Object: again})
		if len(list.changed) != 0 {
			t.Errorf("%d of %s are kept until the end of the list", len(list.changed), resource)
		}
		list.finishList()
		if n := s.Snapshot(); len(n.Jobs) != 0 || n.AgedOutBackups != 1 {
			t.Errorf(
				"after the list of %s there are %d jobs, and %d are left out",
				resource,
				len(n.Jobs),
				n.AgedOutBackups,
			)
		}
	}
	alive := s.startList(kinds[0])
	alive.addObject(&receivedObject{Object: runningBackup("old", "old", 3, 0, 3)})
	alive.finishList()
	if n := s.Snapshot(); len(n.Jobs) != 1 || n.AgedOutBackups != 0 {
		t.Errorf("alive again: %d jobs, and %d are left out", len(n.Jobs), n.AgedOutBackups)
	}
}

// TestAListThatIsReadAgainCountsInOneStep: what is shown is right at each moment.
func TestAListThatIsReadAgainCountsInOneStep(t *testing.T) {
	s := NewStore(ticker(), 10)
	object := func(name string, version int) *receivedObject {
		return &receivedObject{Object: runningBackup(name, types.UID(name), version, 0, version)}
	}
	first := s.startList(kinds[0])
	first.addObject(object("gone", 1))
	first.addObject(object("stays", 1))
	if n := len(s.Snapshot().Jobs); n != 2 {
		t.Errorf("%d jobs are there before the first list ends", n)
	}
	first.finishList()
	second := s.startList(kinds[0])
	second.addObject(object("stays", 2))
	second.addObject(object("new", 1))
	if n := s.Snapshot(); len(n.Jobs) != 2 || len(n.Changes) != 0 {
		t.Errorf("%d jobs and %d changes before the second list ends", len(n.Jobs), len(n.Changes))
	}
	second.finishList()
	if n := s.Snapshot(); len(n.Jobs) != 2 || len(n.Changes) != 3 || jobNamed(n, "stays").Items.Done != 2 {
		t.Errorf("%d jobs and changes %+v", len(n.Jobs), n.Changes)
	}
	late := s.startList(kinds[0])
	s.Clear()
	late.addObject(object("of another namespace", 1))
	late.finishList()
	if n := len(s.Snapshot().Jobs); n != 0 {
		t.Errorf("%d jobs of what was left", n)
	}
}

// TestJobsDoNotDependOnWhatWasReadFirst: jobs are read before their volumes, and
// whatever is between them, and so are those of a list and of a watch.
func TestJobsDoNotDependOnWhatWasReadFirst(t *testing.T) {
	volumes := func() []*veleroapi.PodVolumeBackup {
		return []*veleroapi.PodVolumeBackup{pvbOf("b", "v1", "v1", 1, 5), pvbOf("b", "v2", "v2", 1, 7)}
	}
	build := func(order string) *job.Job {
		s := NewStore(func() time.Time { return time.Unix(1_700_000_500, 0) }, 0)
		for _, step := range order {
			switch step {
			case 'j':
				l := s.startList(kinds[0])
				l.addObject(&receivedObject{Object: runningBackup("b", "b", 1, 0, 3)})
				l.finishList()
			case 'v', 'w':
				k, _ := kindByResource(PodVolumeBackups)
				l := s.startList(k)
				l.addObject(&receivedObject{Object: volumes()[0]})
				if step == 'w' {
					s.Snapshot()
				}
				l.addObject(&receivedObject{Object: volumes()[1]})
				l.finishList()
			case 's':
				s.Snapshot()
			}
		}
		return s.Snapshot().Jobs[0]
	}
	want := build("vj")
	for _, order := range []string{"jv", "jsv", "jsws", "wj"} {
		got := build(order)
		if fmt.Sprintf("%+v", got.Stages) != fmt.Sprintf("%+v", want.Stages) || got.QuietSince() != want.QuietSince() ||
			!got.LastChanged.Equal(want.LastChanged) ||
			got.PodVolumes() != want.PodVolumes() ||
			len(got.SeenChanges) != 0 {
			t.Errorf("%s:\n%+v\nwant\n%+v", order, got, want)
		}
	}
}

// TestVolumesOfEndedJobsAreOnlySummedUp compares a job whose completed volumes are
// summed up with one that has them all.
func TestVolumesOfEndedJobsAreOnlySummedUp(t *testing.T) {
	now := func() time.Time { return time.Unix(1_700_000_500, 0) }
	ended := func(version int) *veleroapi.Backup {
		b := runningBackup("b", "b", version, 0, 3)
		b.Status.Phase = veleroapi.BackupPhasePartiallyFailed
		return b
	}
	volume := func(name, phase string, version int) *veleroapi.PodVolumeBackup {
		v := pvbOf("b", name, types.UID(name), version, 5)
		v.Status.Phase, v.Status.Progress.TotalBytes = veleroapi.PodVolumeBackupPhase(phase), 9
		return v
	}
	whole, sums := NewStore(now, 0), NewStore(now, 0)
	sums.sumsVolumes = true
	check := func(what string, kept int) {
		t.Helper()
		a, b := whole.Snapshot().Jobs[0], sums.Snapshot().Jobs[0]
		if a.PodVolumes() != b.PodVolumes() || a.VolumeCount() != b.VolumeCount() || len(b.Volumes) != kept ||
			b.SummedVolumeCount() != len(a.Volumes)-kept ||
			fmt.Sprint(a.Stages) != fmt.Sprint(b.Stages) ||
			a.QuietSince() != b.QuietSince() {
			t.Errorf(
				"%s: %d volumes and %d left out, %+v; want %+v",
				what,
				len(b.Volumes),
				b.SummedVolumeCount(),
				b.PodVolumes(),
				a.PodVolumes(),
			)
		}
		if whole := b.WithVolumes(a.Volumes); whole.SummedVolumeCount() != 0 || whole.VolumeCount() != a.VolumeCount() {
			t.Errorf("%s: with its volumes it leaves out %d", what, whole.SummedVolumeCount())
		}
		// Labels find no volume that has only an owner.
		if found := b.WithVolumes(nil); len(found.Volumes) != kept {
			t.Errorf("%s: %d volumes stay of %d when none is found", what, len(found.Volumes), kept)
		}
	}
	for _, s := range []*Store{whole, sums} {
		s.Replace(Backups, []client.Object{ended(1)})
		s.Replace(
			PodVolumeBackups,
			[]client.Object{
				volume("a", "Completed", 1),
				volume("c", "Completed", 1),
				volume("d", "Failed", 1),
				volume("e", "InProgress", 1),
			},
		)
	}
	check("listed", 2)
	for _, s := range []*Store{whole, sums} {
		s.Upsert(volume("e", "Completed", 2))
	}
	check("one more completed", 1)
	for _, s := range []*Store{whole, sums} {
		s.Upsert(volume("a", "Completed", 2))
		s.Delete(volume("c", "Completed", 1))
	}
	check("written again and deleted", 1)
	anew := volume("a", "Completed", 3)
	anew.UID = "a-anew"
	for _, s := range []*Store{whole, sums} {
		s.Replace(PodVolumeBackups, []client.Object{anew, volume("d", "Failed", 1), volume("e", "Completed", 2)})
	}
	check("made anew under its name", 1)
	for _, s := range []*Store{whole, sums} {
		s.Replace(PodVolumeBackups, []client.Object{volume("a", "InProgress", 3)})
	}
	check("listed again", 1)
	for _, s := range []*Store{whole, sums} {
		s.Upsert(volume("a", "Completed", 4))
		s.Upsert(volume("f", "Completed", 1))
	}
	check("completed", 0)
	alive := ended(2)
	alive.Status.Phase = veleroapi.BackupPhaseInProgress
	for _, s := range []*Store{whole, sums} {
		s.Upsert(alive)
	}
	check("alive again", 0) // what completed before goes on to count
}

// A kind that is read after others does not wait for ever for one that the server
// never answers for.
func TestAKindThatHangsKeepsNobodyWaiting(t *testing.T) {
	hangs := newSource(kinds[0], NewStore(ticker(), 0), time.Now, slog.New(slog.DiscardHandler))
	s := newSource(kinds[2], NewStore(ticker(), 0), time.Now, slog.New(slog.DiscardHandler))
	s.waitsFor, s.turnTimeout = []*source{hangs}, time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	r := backupsOf(t, func(*http.Request) (int, string) { return 200, listOf("9", "", "a") })
	r.kind = s.kind
	if version, err := s.readKind(ctx, r); err != nil || version != "9" {
		t.Errorf("version %q, %v", version, err)
	}
}

// TestWhatJobsHaveInCommonIsKeptOnce: ten thousand backups of one schedule have the
// same labels, and each still has its own.
func TestWhatJobsHaveInCommonIsKeptOnce(t *testing.T) {
	s := NewStore(ticker(), 0)
	backup := func(name, schedule string) *veleroapi.Backup {
		b := runningBackup(name, types.UID(name), 1, 0, 0)
		b.Labels = map[string]string{"a": "same", veleroapi.ScheduleNameLabel: schedule}
		b.Spec.IncludedNamespaces = []string{"shop", schedule}
		return b
	}
	for _, b := range []*veleroapi.Backup{backup("x", "hourly"), backup("y", "hourly"), backup("z", "daily")} {
		s.Upsert(b)
	}
	n := s.Snapshot()
	of := func(name string) *veleroapi.Backup { return jobNamed(n, name).Object.(*veleroapi.Backup) }
	if x, y := of(
		"x",
	), of(
		"y",
	); &x.Spec.IncludedNamespaces[0] != &y.Spec.IncludedNamespaces[0] ||
		fmt.Sprintf("%p", x.Labels) != fmt.Sprintf("%p", y.Labels) {
		t.Error("two backups of one schedule share nothing")
	}
	if z := of(
		"z",
	); z.Labels[veleroapi.ScheduleNameLabel] != "daily" ||
		!slices.Equal(z.Spec.IncludedNamespaces, []string{"shop", "daily"}) {
		t.Errorf("the third has %v and %v", z.Labels, z.Spec.IncludedNamespaces)
	}
}

// TestALongListOfARealServer is longer than the first page, so that it is streamed.
func TestALongListOfARealServer(t *testing.T) {
	c := newCluster(t)
	ns := c.namespace("long")
	c.create(location(ns, "default"))
	// Restores have a finalizer: they would keep other tests from removing the CRDs.
	past := testbed.Fleet{Namespace: ns, Now: time.Now(), Backups: 2, DataUploads: firstPageSize + 100, RunningCount: 1}
	if err := c.WriteFleet(t.Context(), past); err != nil {
		t.Fatal(err)
	}
	w := c.watch(Options{Namespace: ns, SumVolumes: true})
	s := w.until("the watch is live", isLive)
	if len(s.Jobs) != 2 || len(s.Active) != 1 {
		t.Fatalf("%d jobs, %d of them active", len(s.Jobs), len(s.Active))
	}
	for _, j := range s.Jobs {
		want := past.DataUploads / past.Backups
		if j.VolumeCount() != want || j.IsTerminal() != (j.SummedVolumeCount() > 0) || j.DataMovements().Count != want {
			t.Errorf("%s has %d volumes and leaves out %d", j.Name, j.VolumeCount(), j.SummedVolumeCount())
		}
		all, err := w.ReadVolumes(t.Context(), j)
		if err != nil || len(all) != want || all[0].Name == "" || all[0].Node == "" {
			t.Errorf("%d volumes of %s are read: %v", len(all), j.Name, err)
		}
	}
}

// taken is a listing that gives each object to a function.
type taken func(*receivedObject)

func (t taken) addObject(o *receivedObject) { t(o) }
func (taken) removeObject(*receivedObject)  {}
func (taken) restartList(int)               {}
func (taken) finishList()                   {}
