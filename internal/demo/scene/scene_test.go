package scene_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/demo/scene"
)

var now = time.Date(2026, 11, 22, 12, 0, 0, 700_000_000, time.FixedZone("", 3600))

const lost = `
name: a patch was lost
source: somewhere
expect: {job: restore/shop, state: [stuck, ""], never: [progressing], remedies: [finalize], finalize: Finalizing}
objects:
  - apiVersion: velero.io/v1
    kind: Restore
    metadata:
      name: shop
      namespace: velero
      creationTimestamp: "-44m"
      managedFields: [{manager: velero-server, time: "-40m3s"}]
    spec: {itemOperationTimeout: "4h0m0s"}
    status: {phase: InProgress, expiration: "+2h", progress: {itemsRestored: 3}}
stored:
  RestoreLog: {modified: "-39m52s"}
  RestoreResults: {modified: "-39m", body: '{"a":"-5m"}'}
logs:
  - '[-40m] time=... level=info msg="restore completed"'
  - '[-3m12s] panic: [-1m] time=... nil'
`

func load(t *testing.T, text string) *scene.Scene {
	t.Helper()
	s, err := scene.Load(strings.NewReader(text), now)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTimesAreRelativeToNow(t *testing.T) {
	s := load(t, lost)
	object := s.Objects[0].Object
	for _, c := range []struct {
		want any
		path []string
	}{
		{"2026-11-22T10:16:00Z", []string{"metadata", "creationTimestamp"}},
		{"2026-11-22T13:00:00Z", []string{"status", "expiration"}},
		{"4h0m0s", []string{"spec", "itemOperationTimeout"}},
		{int64(3), []string{"status", "progress", "itemsRestored"}},
	} {
		if got, _, _ := unstructured.NestedFieldNoCopy(object, c.path...); got != c.want {
			t.Errorf("%s is %v, want %v", strings.Join(c.path, "."), got, c.want)
		}
	}
	if got := s.Objects[0].GetManagedFields()[0].Time.UTC().Format(time.RFC3339); got != "2026-11-22T10:19:57Z" {
		t.Errorf("managedFields say %s", got)
	}
	file := s.Stored.Files["RestoreResults"]
	if got := file.Modified.Format(time.RFC3339); got != "2026-11-22T10:21:00Z" || file.Body != `{"a":"-5m"}` {
		t.Errorf("stored: %s %s", got, file.Body)
	}
	if got := s.Logs[0].Text; got != `time="2026-11-22T10:20:00Z" level=info msg="restore completed"` {
		t.Errorf("log: %s", got)
	}
	if got := s.Logs[1]; got.Text != "panic: [-1m] time=... nil" ||
		got.Time.Format(time.RFC3339) != "2026-11-22T10:56:48Z" {
		t.Errorf("log: %+v", got)
	}
	if kind, name := s.Expect.KindAndName(); kind != "restore" || name != "shop" || s.Expect.AllowedStates[1] != "" {
		t.Errorf("expect: %+v", s.Expect)
	}
}

func TestCronExpressionsAreRelativeToNow(t *testing.T) {
	for text, want := range map[string]string{
		"<hourly -38m>": "22 * * * *", "<cron -11h>": "0 0 * * *", "<weekly -80h>": "0 3 * * 4", "<hourly 38m>": "<hourly 38m>",
	} {
		s := load(
			t,
			"objects: [{apiVersion: velero.io/v1, kind: Schedule, metadata: {name: a}, spec: {schedule: \""+text+"\"}}]",
		)
		if got, _, _ := unstructured.NestedString(s.Objects[0].Object, "spec", "schedule"); got != want {
			t.Errorf("%s is %v, want %s", text, got, want)
		}
	}
}

func TestWhatIsLeftOutIsNotKnown(t *testing.T) {
	object := "\nobjects: [{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: b}}]\n"
	s := load(t, object)
	if s.Stored.Known || s.Logs != nil {
		t.Errorf("stored %+v, logs %v", s.Stored, s.Logs)
	}
	s = load(t, object+"stored: {}\nlogs: []")
	if !s.Stored.Known || s.Stored.Unreachable || len(s.Stored.Files) != 0 || s.Logs == nil {
		t.Errorf("stored %+v, logs %v", s.Stored, s.Logs)
	}
	if s = load(t, object+"stored: unreachable"); !s.Stored.Unreachable || !s.Stored.Known {
		t.Errorf("stored %+v", s.Stored)
	}
}

func TestBadScenesSayWhatIsWrong(t *testing.T) {
	pod := "objects: [{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: b}}]\n"
	for text, want := range map[string]string{
		"":                        "no objects",
		"objects: []":             "no objects",
		"\tobjects":               "reading the scene",
		pod + "things: 1":         `unknown field "things"`,
		pod + "name: a\nname: b":  "already set",
		pod + "expect: {job: x}":  "neither backup/NAME nor restore/NAME",
		pod + "stored: gone":      `stored: "gone"`,
		pod + "logs: ['no time']": "line 1 of logs",
		pod + "logs: ['[4m] a']":  "line 1 of logs",
		pod + "stored: {A: {}}":   `stored: A: modified ""`,
		"objects: [{kind: Pod}]":  "object 1",
		pod[:len(pod)-2] + ", {apiVersion: v1, kind: Pod, metadata: {name: a, namespace: b}}]": "object 2: v1 Pod b/a is there twice",
		pod + "stored: {RestoreLog: {modified: '-1m'}}":                                        "stored needs expect.job",
	} {
		_, err := scene.Load(strings.NewReader(text), now)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
