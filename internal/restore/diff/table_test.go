package diff

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func object(t *testing.T, text string) (o map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// TestSigns holds which fields an object has, and that equal values are equal fields.
func TestSigns(t *testing.T) {
	const pod = `{"metadata": {"labels": {"a": "b"}, "annotations": {}}, "spec": {"replicas": 0, "paused": false, "none": null, "text": "", "empty": {}, "list": [],
		"args": ["a", "b"], "containers": [{"name": "web", "env": [{"name": "A"}, {"name": "A"}]}, {"name": "db"}], "ports": [{"port": 1}, {"port": 2}]}}`
	table := NewFieldTable()
	flat, deep := table.HashFields(object(t, pod)), table.HashDeep(object(t, pod))
	for _, c := range []struct {
		got  []string
		want string
	}{
		{table.FieldNames(flat), "metadata.annotations metadata.labels.a spec.args spec.containers spec.empty spec.list spec.none spec.paused spec.ports spec.replicas spec.text"},
		{table.FieldNames(deep), "metadata.labels.a spec.args spec.containers[] spec.containers[db].name spec.containers[web].env[0].name spec.containers[web].env[1].name spec.containers[web].env[] " +
			"spec.containers[web].name spec.empty{} spec.paused spec.ports[0].port spec.ports[1].port spec.ports[] spec.replicas"},
	} {
		if got := strings.Join(c.got, " "); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
	if changed := ChangedFields(deep, table.HashDeep(object(t, pod))); len(changed) > 0 {
		t.Errorf("of itself it differs in %q", table.FieldNames(changed))
	}
	other := strings.NewReplacer(`"b"]`, `"c"]`, `, {"port": 2}`, "", `"replicas": 0`, `"replicas": 1`).Replace(pod)
	if got := table.FieldNames(
		ChangedFields(deep, table.HashDeep(object(t, other))),
	); !slices.Equal(
		got,
		[]string{"spec.args", "spec.ports[1].port", "spec.ports[]", "spec.replicas"},
	) {
		t.Errorf("%q", got)
	}
	if !table.HasPath("spec.args", flat) || table.HasPath("spec.nothing", flat) {
		t.Error("Has")
	}
}

// TestLongPaths: what is kept of an object that nests deeply is not its depth times its leaves.
func TestLongPaths(t *testing.T) {
	const leaves, depth = 1000, 400
	nested := func(last string) map[string]any {
		of := map[string]any{}
		for i := range leaves {
			of[fmt.Sprint("leaf", i)] = last
		}
		for range depth {
			of = map[string]any{"below": of}
		}
		return of
	}
	table := NewFieldTable()
	all := table.HashDeep(nested("a"))
	if len(all) != 1 || len(table.FieldName(all[0])) > maxPathBytes+len(".below") || table.keptBytes > 4*maxPathBytes {
		t.Fatalf("%d fields, %d bytes are kept", len(all), table.keptBytes)
	}
	if len(ChangedFields(all, table.HashDeep(nested("a")))) > 0 || len(ChangedFields(all, table.HashDeep(nested("b")))) != 1 {
		t.Error("a value below is not compared")
	}
	long := strings.Repeat("x", 2*maxPathBytes)
	if all := table.HashDeep(map[string]any{long: map[string]any{}}); len(all) != 1 {
		t.Errorf("an empty map has %d fields", len(all))
	}
}

// TestQuantities are the same however they are written, but only where Kubernetes has quantities.
func TestQuantities(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{`{"spec": {"resources": {"limits": {"cpu": "1000m", "memory": "1024Mi"}}}}`, `{"spec": {"resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}}`, ""},
		{`{"spec": {"containers": [{"name": "a", "resources": {"requests": {"cpu": 1, "x.com/gpu": "2000m"}}}]}}`, `{"spec": {"containers": [{"name": "a", "resources": {"requests": {"cpu": "1", "x.com/gpu": "2"}}}]}}`, ""},
		{`{"spec": {"hard": {"requests.cpu": "0.5"}}}`, `{"spec": {"hard": {"requests.cpu": "500m"}}}`, ""},
		{`{"spec": {"limits": [{"type": "Container", "max": {"cpu": "4000m"}}]}}`, `{"spec": {"limits": [{"type": "Container", "max": {"cpu": "4"}}]}}`, ""},
		{`{"spec": {"emptyDir": {"sizeLimit": "1024Ki"}}}`, `{"spec": {"emptyDir": {"sizeLimit": "1Mi"}}}`, ""},
		{`{"spec": {"limits": {"cpu": "1000m"}}}`, `{"spec": {"limits": {"cpu": "1001m"}}}`, "spec.limits.cpu"},
		{`{"spec": {"limits": {"cpu": "1e1"}}}`, `{"spec": {"limits": {"cpu": "10"}}}`, "spec.limits.cpu"}, // not parsed
		{`{"spec": {"limits": {"cpu": "1e999999999", "a": "much"}}}`, `{"spec": {"limits": {"cpu": "1e999999999", "a": "much"}}}`, ""},
		{`{"data": {"cpu": "1000m"}}`, `{"data": {"cpu": "1"}}`, "data.cpu"},
	} {
		table := NewFieldTable()
		if got := strings.Join(
			table.FieldNames(ChangedFields(table.HashDeep(object(t, c.a)), table.HashDeep(object(t, c.b)))),
			" ",
		); got != c.want {
			t.Errorf("%s and %s differ in %q, expected %q", c.a, c.b, got, c.want)
		}
	}
}

// TestOwnersOfLongLists: the cost of owners grows with the length of a list, not with its square.
func TestOwnersOfLongLists(t *testing.T) {
	measure := func(length int) float64 {
		var list []any
		fields := map[string]any{}
		for i := range length {
			list = append(list, map[string]any{"name": fmt.Sprint("r", i), "port": int64(i), "x": "y"})
			fields[fmt.Sprintf(`k:{"name":"r%d","port":%d}`, i, i)] = map[string]any{"f:x": map[string]any{}}
		}
		object := map[string]any{"list": list}
		writer := Writer{Manager: "a", fields: map[string]any{"f:list": fields}}
		table := NewFieldTable()
		owners := table.FindOwners(object, []Writer{writer})
		for i := range length {
			if path := fmt.Sprintf("list[r%d].", i); owners[table.PathID(path+"x")] != 1 ||
				owners[table.PathID(path+"name")] != 0 {
				t.Fatalf("element %d of %d: %v", i, length, owners)
			}
		}
		return testing.AllocsPerRun(1, func() { table.FindOwners(object, []Writer{writer}) })
	}
	if short, long := measure(100), measure(400); long > 6*short {
		t.Errorf("%v allocations for 100 elements, %v for 400", short, long)
	}
}

// TestOwnersByIncompleteKeys: a key that an element lacks says nothing.
func TestOwnersByIncompleteKeys(t *testing.T) {
	object := map[string]any{"ports": []any{
		map[string]any{"port": int64(1), "x": "y"},
		map[string]any{"port": int64(2), "protocol": "UDP", "x": "y"},
		map[string]any{"port": int64(2), "protocol": "TCP", "x": "y"},
	}}
	x := map[string]any{"f:x": map[string]any{}}
	writer := Writer{Manager: "a", fields: map[string]any{"f:ports": map[string]any{
		`k:{"port":1,"protocol":"TCP"}`: x, `k:{"port":2,"protocol":"UDP"}`: x,
	}}}
	table := NewFieldTable()
	owners := table.FindOwners(object, []Writer{writer})
	for at, want := range []uint64{1, 1, 0} {
		if got := owners[table.PathID(fmt.Sprintf("ports[%d].x", at))]; got != want {
			t.Errorf("element %d: %d, want %d", at, got, want)
		}
	}
}
