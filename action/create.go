package action

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// create makes an object under a fixed name. There is no version to test: the name
// is the guard, and the mark in the object tells ours from another of that name. A
// create without an answer stays open until a repeat under the same name settles
// it.
type create struct {
	wanted        *unstructured.Unstructured
	data          []byte
	mark, attempt string
}

// newCreate marks the object with the attempt. Its name must be fixed: a name that
// the API server generates would make another object at each repeat.
func newCreate(o *unstructured.Unstructured, mark, attempt string) (*create, error) {
	if o.GetName() == "" || o.GetGenerateName() != "" {
		return nil, fmt.Errorf("creating a %s: its name must be fixed", o.GetKind())
	}
	wanted := o.DeepCopy()
	notes := wanted.GetAnnotations()
	if notes == nil {
		notes = map[string]string{}
	}
	notes[mark] = attempt
	wanted.SetAnnotations(notes)
	data, err := json.Marshal(wanted.Object)
	if err != nil {
		return nil, fmt.Errorf("creating %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return &create{wanted, data, mark, attempt}, nil
}

func (c *create) object() *unstructured.Unstructured { return c.wanted }

func (c *create) body() []byte { return c.data }

func (c *create) send(ctx context.Context, api client.Client, dryRun bool) (*unstructured.Unstructured, error) {
	options := []client.CreateOption{client.FieldOwner(fieldManager)}
	if dryRun {
		options = append(options, client.DryRunAll)
	}
	o := c.wanted.DeepCopy()
	if err := api.Create(ctx, o, options...); err != nil {
		return nil, err
	}
	return o, nil
}

// verify accepts what the API server adds to the metadata. A spec must be the one
// that was requested, but for fields that are added empty.
func (c *create) verify(answer *unstructured.Unstructured, dryRun bool) string {
	if answer.GetUID() == "" || !dryRun && answer.GetResourceVersion() == "" {
		return "make nothing of it"
	}
	for key, wanted := range c.wanted.Object {
		if path, same := contains(answer.Object[key], wanted, "/"+key, key == "spec"); !same {
			return "change " + path + ": the CRD may not have it, or a webhook changes it"
		}
	}
	return ""
}

func (c *create) find(now *unstructured.Unstructured) finding {
	if now == nil {
		return pending // no guard: it may still come
	}
	if attempts, _ := attemptsOf(now, c.mark); slices.Contains(attempts, c.attempt) {
		return landed
	}
	return obscured // another has the name; whether ours was there before is not to be seen
}

// contains reports whether a value has all that is wanted, and where it differs.
// An exact one has nothing more, but for what is empty.
func contains(has, wanted any, path string, exact bool) (string, bool) {
	fields, isObject := wanted.(map[string]any)
	if !isObject {
		return path, sameJSON(has, wanted)
	}
	found, _ := has.(map[string]any)
	for key, value := range fields {
		if where, same := contains(found[key], value, path+"/"+key, exact); !same {
			return where, false
		}
	}
	for key, value := range found {
		if _, asked := fields[key]; exact && !asked && !isEmpty(value) {
			return path + "/" + key, false
		}
	}
	return "", true
}

// isEmpty reports whether a value of JSON says nothing.
func isEmpty(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return v == nil || v == "" || v == false || sameJSON(v, 0)
}
