package watch

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/veltui/veltui/job"
)

func TestReadListTakesAnyJSONApart(t *testing.T) {
	const text = ` {"kind":"BackupList", "metadata" : {"resourceVersion":"7","continue":"c","remainingItemCount":3},
		"other":[1,{"items":[9]}],"n":-1.5e3,"t":true,
		"items":[{"a":"}]\"\\"}, [1,[2]] ,"x\\",null,-7,{},{"b":{"c":["{"]}}] }` + "\n"
	want := []string{`{"a":"}]\"\\"}`, `[1,[2]]`, `"x\\"`, `null`, `-7`, `{}`, `{"b":{"c":["{"]}}`}
	for what, body := range map[string]io.Reader{"at once": strings.NewReader(text), "byte by byte": iotest.OneByteReader(strings.NewReader(text))} {
		var got []string
		meta, err := readList(body, func(raw []byte) error { got = append(got, string(raw)); return nil })
		if err != nil || !slices.Equal(got, want) || meta.Continue != "c" || meta.ResourceVersion != "7" || *meta.RemainingItemCount != 3 {
			t.Errorf("%s: %q, %+v, %v", what, got, meta, err)
		}
	}
	for _, empty := range []string{`{"metadata":{},"items":null}`, `{"items":[]}`, `{}`} {
		if _, err := readList(strings.NewReader(empty), func([]byte) error { return errors.New("an element") }); err != nil {
			t.Errorf("%s: %v", empty, err)
		}
	}
}

func TestReadListFailsForAnAnswerThatEndsEarly(t *testing.T) {
	const text = `{"metadata":{"resourceVersion":"7"},"items":[{"a":"b"},{"c":[1]}]}`
	for i := range len(text) {
		if _, err := readList(strings.NewReader(text[:i]), func([]byte) error { return nil }); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %v", text[:i], err)
		}
	}
	for _, text := range []string{`<html>`, `[]`, `{"items":[1 2]}`, `{"items":[,]}`, `{"items" [1]}`, `{1:2}`} {
		if _, err := readList(strings.NewReader(text), func([]byte) error { return nil }); err == nil || errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzReadList(f *testing.F) {
	f.Add(`{"metadata":{},"items":[{"a":"\""},2]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var whole, parts []string
		_, err := readList(strings.NewReader(text), func(raw []byte) error { whole = append(whole, string(raw)); return nil })
		_, again := readList(iotest.OneByteReader(strings.NewReader(text)), func(raw []byte) error { parts = append(parts, string(raw)); return nil })
		if !slices.Equal(whole, parts) || (err == nil) != (again == nil) {
			t.Errorf("%q %v, byte by byte %q %v", whole, err, parts, again)
		}
		withoutFieldSets([]byte(text))
	})
}

func TestFieldSetsAreLeftOut(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":1}`: `{"a":1}`,
		`{"m":[{"fieldsV1":{"f:a":{"}":"\"}"}},"x":1},{"fieldsV1":{}},{"fieldsV1":{"f:b":{}}}],"s":"\"fieldsV1\":{"}`: `{"m":[{"fieldsV1":{},"x":1},{"fieldsV1":{}},{"fieldsV1":{}}],"s":"\"fieldsV1\":{"}`,
		`{"fieldsV1":{"cut`: `{"fieldsV1":{}`,
	} {
		if got := string(withoutFieldSets([]byte(text))); got != want {
			t.Errorf("%s becomes %s", text, got)
		}
	}
}

// answers is an API server that plays a list.
type answers func(r *http.Request) (status int, body string)

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	status, body := a(r)
	return &http.Response{StatusCode: status, Request: r, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

func backupsOf(t *testing.T, a answers) reader {
	t.Helper()
	c, err := newREST(&rest.Config{Host: "http://127.0.0.1"}, &http.Client{Transport: a})
	if err != nil {
		t.Fatal(err)
	}
	return newReader(&kinds[0], c, "velero")
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

// TestAListIsReadWhateverTheServerMakesOfPages plays servers that know pages,
// ignore them, have forgotten or not yet reached the version of the first one, or
// insist on pages.
func TestAListIsReadWhateverTheServerMakesOfPages(t *testing.T) {
	const tooLarge = `{"kind":"Status","status":"Failure","reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}]},"code":504}`
	type server struct {
		rest func(q string) (int, string)
		want string
	}
	whole := func() (int, string) { return 200, listOf("9", "", "b", "c", "d") }
	for what, play := range map[string]server{
		"the cache has it": {func(string) (int, string) { return whole() }, "9 b,c,d"},
		"the cache is behind": {func(q string) (int, string) {
			if strings.Contains(q, "NotOlderThan") {
				return 504, tooLarge
			}
			return whole()
		}, "9 b,c,d"},
		"the version has expired": {func(q string) (int, string) {
			if strings.Contains(q, "NotOlderThan") {
				return 410, expired("Expired")
			}
			return whole()
		}, "9 b,c,d"},
		"pages all the same": {func(q string) (int, string) {
			if strings.Contains(q, "continue=d") {
				return 200, listOf("9", "", "d")
			}
			return 200, listOf("9", `,"continue":"d"`, "b", "c")
		}, "9 b,c,d"},
		"the same page forever": {func(string) (int, string) { return 200, listOf("9", `,"continue":"c"`, "b") }, "error"},
		"an answer cut off":     {func(string) (int, string) { return 200, listOf("9", "", "b", "c")[:80] }, "error"},
		"no":                    {func(string) (int, string) { return 403, `{"kind":"Status","reason":"Forbidden","code":403}` }, "error"},
	} {
		t.Run(what, func(t *testing.T) {
			s := NewStore(ticker(), 0)
			list := s.list(&kinds[0])
			version, err := backupsOf(t, func(r *http.Request) (int, string) {
				if strings.Contains(r.URL.RawQuery, "limit=") {
					return 200, listOf("8", goesOn, "a", "b")
				}
				return play.rest(r.URL.RawQuery)
			}).all(t.Context(), list)
			if play.want == "error" {
				if err == nil {
					t.Fatalf("version %q", version)
				}
				// What was read is there, and the next list puts it right.
				if n := len(s.Snapshot().Jobs); n < 2 {
					t.Errorf("%d jobs", n)
				}
				list = s.list(&kinds[0])
				version, err = backupsOf(t, func(*http.Request) (int, string) { return whole() }).all(t.Context(), list)
			}
			list.done()
			var names []string
			for _, j := range s.Snapshot().Jobs {
				names = append(names, j.Name)
			}
			slices.Sort(names)
			if got := version + " " + strings.Join(names, ","); err != nil || got != "9 b,c,d" {
				t.Errorf("%s, %v", got, err)
			}
		})
	}
}

// TestAListThatIsReadAgainCountsInOneStep: what is shown is right at each moment.
func TestAListThatIsReadAgainCountsInOneStep(t *testing.T) {
	s := NewStore(ticker(), 10)
	object := func(name string, version int) *received {
		return &received{Object: runningBackup(name, types.UID(name), version, 0, version)}
	}
	first := s.list(&kinds[0])
	first.add(object("gone", 1))
	first.add(object("stays", 1))
	if n := len(s.Snapshot().Jobs); n != 2 {
		t.Errorf("%d jobs are there before the first list ends", n)
	}
	first.done()
	second := s.list(&kinds[0])
	second.add(object("stays", 2))
	second.add(object("new", 1))
	if n := s.Snapshot(); len(n.Jobs) != 2 || len(n.Changes) != 0 {
		t.Errorf("%d jobs and %d changes before the second list ends", len(n.Jobs), len(n.Changes))
	}
	second.done()
	if n := s.Snapshot(); len(n.Jobs) != 2 || len(n.Changes) != 3 || jobNamed(n, "stays").Items.Done != 2 {
		t.Errorf("%d jobs and changes %+v", len(n.Jobs), n.Changes)
	}
	late := s.list(&kinds[0])
	s.Clear()
	late.add(object("of another namespace", 1))
	late.done()
	if n := len(s.Snapshot().Jobs); n != 0 {
		t.Errorf("%d jobs of what was left", n)
	}
}

// TestJobsDoNotDependOnWhatWasReadFirst: jobs are read before their volumes, and
// whatever is between them, and so are those of a list and of a watch.
func TestJobsDoNotDependOnWhatWasReadFirst(t *testing.T) {
	volumes := func() []*velerov1.PodVolumeBackup {
		return []*velerov1.PodVolumeBackup{pvbOf("b", "v1", "v1", 1, 5), pvbOf("b", "v2", "v2", 1, 7)}
	}
	build := func(order string) *job.Job {
		s := NewStore(func() time.Time { return time.Unix(1_700_000_500, 0) }, 0)
		for _, step := range order {
			switch step {
			case 'j':
				l := s.list(&kinds[0])
				l.add(&received{Object: runningBackup("b", "b", 1, 0, 3)})
				l.done()
			case 'v', 'w':
				k, _ := kindNamed(PodVolumeBackups)
				l := s.list(k)
				l.add(&received{Object: volumes()[0]})
				if step == 'w' {
					s.Snapshot()
				}
				l.add(&received{Object: volumes()[1]})
				l.done()
			case 's':
				s.Snapshot()
			}
		}
		return s.Snapshot().Jobs[0]
	}
	want := build("vj")
	for _, order := range []string{"jv", "jsv", "jsws", "wj"} {
		got := build(order)
		if fmt.Sprintf("%+v", got.Stages) != fmt.Sprintf("%+v", want.Stages) || got.QuietSince() != want.QuietSince() || !got.Changed.Equal(want.Changed) ||
			got.PodVolumes() != want.PodVolumes() || len(got.Seen) != 0 {
			t.Errorf("%s:\n%+v\nwant\n%+v", order, got, want)
		}
	}
}
