package decode

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

func backup(rest string) []byte {
	return []byte(
		`{"apiVersion":"velero.io/v1","kind":"Backup","metadata":{"name":"b","uid":"u","labels":{"k":"v"}},` + rest + `}`,
	)
}

// A malformed field costs itself and nothing beside it.
func TestObjectKeepsAllButTheMalformed(t *testing.T) {
	for name, c := range map[string]struct {
		rest string
		want []string // field, value and a word of the error
		kept func(*veleroapi.Backup) bool
	}{
		"nothing": {`"spec":{"ttl":"720h0m0s"},"status":{"phase":"New"}`, nil,
			func(b *veleroapi.Backup) bool { return b.Spec.TTL.Duration == 720*time.Hour }},
		"a duration in days": {`"spec":{"ttl":"30d","storageLocation":"s"},"status":{"phase":"InProgress"}`, []string{`spec.ttl|"30d"|duration`},
			func(b *veleroapi.Backup) bool { return b.Spec.StorageLocation == "s" && b.Status.Phase == "InProgress" }},
		"in a hook": {`"spec":{"hooks":{"resources":[{"name":"a"},{"name":"h","pre":[{"exec":{"command":["c"],"timeout":"1m30"}}]}]}}`,
			[]string{`spec.hooks.resources[1].pre[0].exec.timeout|"1m30"|duration`},
			func(b *veleroapi.Backup) bool {
				r := b.Spec.Hooks.Resources
				return len(r) == 2 && r[1].Name == "h" && r[1].PreHooks[0].Exec.Command[0] == "c"
			}},
		"a time": {`"status":{"startTimestamp":"2026-11-21t00:00:00z","errors":3}`, []string{`status.startTimestamp|"2026-11-21t00:00:00z"|time`},
			func(b *veleroapi.Backup) bool { return b.Status.Errors == 3 && b.Status.StartTimestamp == nil }},
		"a number": {`"status":{"errors":9223372036854775808,"warnings":2,"progress":{"totalItems":1.5,"itemsBackedUp":7}}`,
			[]string{`status.errors|9223372036854775808|whole number`, `status.progress.totalItems|1.5|whole number`},
			func(b *veleroapi.Backup) bool { return b.Status.Warnings == 2 && b.Status.Progress.ItemsBackedUp == 7 }},
		"the wrong shapes": {`"spec":"all of it","status":[1,2]`, []string{`spec|"all of it"|object`, `status|[1,2]|object`},
			func(b *veleroapi.Backup) bool { return b.Labels["k"] == "v" }},
		"elements of a list": {`"spec":{"includedNamespaces":["a",1,{"x":2},"b"],"orLabelSelectors":[3]}`,
			[]string{`spec.includedNamespaces[1]|1|string`, `spec.includedNamespaces[2]|{"x":2}|string`, `spec.orLabelSelectors[0]|3|object`},
			func(b *veleroapi.Backup) bool {
				return reflect.DeepEqual(b.Spec.IncludedNamespaces, []string{"a", "b"})
			}},
		"values of a map": {`"spec":{"orderedResources":{"pods":"x","a/b.c":7}}`, []string{`spec.orderedResources["a/b.c"]|7|string`},
			func(b *veleroapi.Backup) bool { return b.Spec.OrderedResources["pods"] == "x" }},
		"nulls are no problem": {`"spec":{"includedNamespaces":null,"hooks":{"resources":null}},"status":null`, nil, func(*veleroapi.Backup) bool { return true }},
		"a null duration":      {`"spec":{"ttl":null}`, []string{`spec.ttl|null|duration`}, func(*veleroapi.Backup) bool { return true }},
		"other letters":        {`"spec":{"TTL":"30d"},"STATUS":7`, nil, func(*veleroapi.Backup) bool { return true }},
	} {
		t.Run(name, func(t *testing.T) {
			var b veleroapi.Backup
			found, err := Object(backup(c.rest), &b)
			if err != nil {
				t.Fatal(err)
			}
			if len(found) != len(c.want) {
				t.Fatalf("found %v, want %v", found, c.want)
			}
			for i, want := range c.want {
				part := strings.Split(want, "|")
				if m := found[i]; m.Field != part[0] || m.Value != part[1] || !strings.Contains(m.Error, part[2]) {
					t.Errorf("found %+v, want %s", m, want)
				}
			}
			if b.Name != "b" || b.UID != "u" || !c.kept(&b) {
				t.Errorf("kept %+v", b)
			}
			u := &unstructured.Unstructured{}
			if err := json.Unmarshal(backup(c.rest), &u.Object); err != nil {
				t.Fatal(err)
			}
			var again veleroapi.Backup
			same, err := Unstructured(u, &again)
			if err != nil || len(same) != len(found) || !reflect.DeepEqual(b, again) {
				t.Errorf("unstructured: %v, %v", same, err)
			}
		})
	}
}

func TestMetadataMayBeMalformedToo(t *testing.T) {
	var b veleroapi.Backup
	found, err := Object(
		[]byte(
			`{"metadata":{"name":"b","creationTimestamp":"junk","labels":[],"managedFields":[{"manager":"m","fieldsV1":7}]}}`,
		),
		&b,
	)
	if err != nil || b.Name != "b" || len(found) != 2 || b.ManagedFields[0].Manager != "m" {
		t.Errorf("%v, %v, %+v", found, err, b)
	}
}

func TestWhatIsNoObject(t *testing.T) {
	for _, raw := range []string{``, `null`, `7`, `"x"`, `[]`, `{`, `{"metadata":{}}}`} {
		if _, err := Object([]byte(raw), &veleroapi.Backup{}); err == nil {
			t.Errorf("%q is taken for an object", raw)
		}
	}
}

// What is told is bounded and harmless, whatever was sent.
func TestToldIsBoundedAndHarmless(t *testing.T) {
	long := strings.Repeat("x\x1b[31m", 1000)
	ordered, err := json.Marshal(map[string]any{long: 7, "ttl": 7})
	if err != nil {
		t.Fatal(err)
	}
	ttl, err := json.Marshal(long)
	if err != nil {
		t.Fatal(err)
	}
	var b veleroapi.Backup
	found, err := Object(backup(fmt.Sprintf(`"spec":{"ttl":%s,"orderedResources":%s}`, ttl, ordered)), &b)
	if err != nil || len(found) != 3 {
		t.Fatalf("%d problems, %v", len(found), err)
	}
	for _, m := range found {
		for _, text := range []string{m.Field, m.Value, m.Error, m.String(), BuildPatch([]MalformedField{m})} {
			if strings.ContainsFunc(text, func(r rune) bool { return r < 0x20 || r == 0x7f }) ||
				utf8.RuneCountInString(text) > maxPatch {
				t.Errorf("told %q", text)
			}
		}
	}
	many := make([]any, 10_000)
	data, _ := json.Marshal(many)
	data = []byte(strings.ReplaceAll(string(data), "null", "7"))
	if found, err = Object(
		backup(`"spec":{"includedNamespaces":`+string(data)+`}`),
		&b,
	); err != nil ||
		len(found) != MaxMalformedFields {
		t.Errorf("%d problems, %v", len(found), err)
	}
}

func TestPatchMends(t *testing.T) {
	for _, c := range []struct{ field, want string }{
		{`"spec":{"ttl":"30d"}`, `[{"op":"test","path":"/spec/ttl","value":"30d"},{"op":"replace","path":"/spec/ttl","value":"720h0m0s"}]`},
		{`"spec":{"ttl":"2w"}`, `[{"op":"test","path":"/spec/ttl","value":"2w"},{"op":"replace","path":"/spec/ttl","value":"336h0m0s"}]`},
		{`"spec":{"ttl":"soon"}`, `[{"op":"test","path":"/spec/ttl","value":"soon"},{"op":"remove","path":"/spec/ttl"}]`},
		{`"spec":{"orderedResources":{"a/b~c":1}}`, `[{"op":"test","path":"/spec/orderedResources/a~1b~0c","value":1},{"op":"remove","path":"/spec/orderedResources/a~1b~0c"}]`},
		{`"spec":{"includedNamespaces":[1,"a",2]}`, `[{"op":"test","path":"/spec/includedNamespaces/2","value":2},{"op":"remove","path":"/spec/includedNamespaces/2"},{"op":"test","path":"/spec/includedNamespaces/0","value":1},{"op":"remove","path":"/spec/includedNamespaces/0"}]`},
	} {
		var b veleroapi.Backup
		found, err := Object(backup(c.field), &b)
		if err != nil || BuildPatch(found) != c.want {
			t.Errorf("%s: %s, %v\nwant %s", c.field, BuildPatch(found), err, c.want)
		}
	}
	var u veleroapi.DataUpload
	found, err := Object([]byte(`{"spec":{"operationTimeout":"soon"}}`), &u)
	if err != nil || !strings.Contains(BuildPatch(found), `"value":"1h0m0s"`) {
		t.Errorf("a required duration: %s, %v", BuildPatch(found), err)
	}
	if BuildPatch(nil) != "" {
		t.Errorf("a patch for nothing: %q", BuildPatch(nil))
	}
}

// members must find what the JSON package finds, or what it reads would not be
// looked at.
func TestMembersAreThoseOfJSON(t *testing.T) {
	for _, o := range []any{veleroapi.Backup{}, veleroapi.BackupStorageLocation{}, veleroapi.Restore{}, metav1.ObjectMeta{}} {
		found := sets.New[string]()
		for _, m := range listStructFields(reflect.TypeOf(o)) {
			found.Insert(m.name)
		}
		data, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		var written map[string]any
		if err := json.Unmarshal(data, &written); err != nil {
			t.Fatal(err)
		}
		for name := range written {
			if !found.Has(name) {
				t.Errorf("%T: %s is not looked at", o, name)
			}
		}
	}
}

// FuzzObject: whatever an API server sends, a row comes out or an error, and
// what is kept can be read.
func FuzzObject(f *testing.F) {
	f.Add(
		backup(
			`"spec":{"ttl":"30d","hooks":{"resources":[{"pre":[{"exec":{"timeout":1}}]}]}},"status":{"progress":[]}`,
		),
	)
	f.Add([]byte(`{"metadata":{"name":1},"spec":null,"status":{"errors":1e400}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var r veleroapi.Restore
		found, err := Object(raw, &r)
		if err != nil {
			return
		}
		if len(found) > MaxMalformedFields {
			t.Errorf("%d problems", len(found))
		}
		for _, m := range found {
			if m.Error == "" || utf8.RuneCountInString(m.Value) > maxValue ||
				utf8.RuneCountInString(m.Field) > maxField {
				t.Errorf("%+v", m)
			}
		}
	})
}
