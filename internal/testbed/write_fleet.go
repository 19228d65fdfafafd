package testbed

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// fillWorkers is how many objects are written at once.
const fillWorkers = 16

// WriteFleet puts a fleet into the cluster, into a namespace that must be there. It
// writes straight into etcd, in the form in which the API server stores custom
// resources (JSON under /registry), each with a revision of its own.
func (c *ControlPlane) WriteFleet(ctx context.Context, f Fleet) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	address := c.env.ControlPlane.Etcd.URL.JoinPath("v3/kv/put").String()
	etcd := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: fillWorkers}}
	defer etcd.CloseIdleConnections()
	var all sync.WaitGroup
	pairs := make(chan etcdPair, fillWorkers)
	for range fillWorkers {
		all.Go(func() {
			for pair := range pairs {
				if err := putEtcdPair(ctx, etcd, address, pair); err != nil {
					cancel(err)
				}
			}
		})
	}
	for o, err := range f.Objects() {
		pair, storedErr := newEtcdPair(o)
		if err := cmp.Or(err, storedErr, ctx.Err()); err != nil {
			cancel(err)
			break
		}
		pairs <- pair
	}
	close(pairs)
	all.Wait()
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("filling the cluster: %w", err)
	}
	return nil
}

// etcdPair is etcd's etcdserverpb.PutRequest in JSON.
type etcdPair struct {
	Key   []byte `json:"key"`
	Value []byte `json:"value"`
}

// newEtcdPair is an object as the API server keeps it.
func newEtcdPair(o client.Object) (etcdPair, error) {
	gvk := o.GetObjectKind().GroupVersionKind()
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	value, err := json.Marshal(o)
	return etcdPair{
		[]byte(path.Join("/registry", gvk.Group, plural.Resource, o.GetNamespace(), o.GetName())),
		value,
	}, err
}

func putEtcdPair(ctx context.Context, etcd *http.Client, address string, pair etcdPair) error {
	body, err := json.Marshal(pair)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	answer, err := etcd.Do(r)
	if err != nil {
		return fmt.Errorf("writing into etcd: %w", err)
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	if err != nil {
		return fmt.Errorf("writing into etcd: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("writing into etcd: %s: %s", answer.Status, said)
	}
	return nil
}

// addManagedFields sets an object's kind, and notes who wrote its metadata and spec, and who
// its status, field by field, as the API server does.
func addManagedFields(o client.Object, scheme *runtime.Scheme, creator, worker string) error {
	kinds, _, err := scheme.ObjectKinds(o)
	if err != nil {
		return err
	}
	o.GetObjectKind().SetGroupVersionKind(kinds[0])
	tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return err
	}
	written := map[string]any{"metadata": tree["metadata"], "spec": tree["spec"]}
	var entries []metav1.ManagedFieldsEntry
	for _, by := range []struct {
		manager string
		fields  map[string]any
	}{{creator, written}, {worker, map[string]any{"status": tree["status"]}}} {
		fields, err := json.Marshal(fieldSet(by.fields))
		if err != nil {
			return err
		}
		entries = append(
			entries,
			metav1.ManagedFieldsEntry{
				Manager:   by.manager,
				Operation: metav1.ManagedFieldsOperationUpdate,
				APIVersion: kinds[0].GroupVersion().
					String(),
				Time:       &metav1.Time{Time: o.GetCreationTimestamp().Add(5 * time.Minute)},
				FieldsType: "FieldsV1",
				FieldsV1:   metav1.NewFieldsV1(string(fields)),
			},
		)
	}
	o.SetManagedFields(entries)
	return nil
}

// unmanagedFields are the fields of metadata that the API server sets itself.
var unmanagedFields = map[string]bool{
	"name":              true,
	"namespace":         true,
	"uid":               true,
	"creationTimestamp": true,
	"generation":        true,
}

// fieldSet names the fields of a tree in the way of FieldsV1.
func fieldSet(tree map[string]any) map[string]any {
	set := map[string]any{}
	for name, value := range tree {
		inner, nested := value.(map[string]any)
		switch {
		case value == nil || unmanagedFields[name]:
		case nested:
			fields := fieldSet(inner)
			fields["."] = struct{}{}
			set["f:"+name] = fields
		default:
			set["f:"+name] = struct{}{}
		}
	}
	return set
}
