package testbed

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// EtcdKeyRevisions returns the revision at which each key of etcd was last written. Without it, nothing proves that an
// API server stored nothing: it answers from its caches.
func (c *ControlPlane) EtcdKeyRevisions(ctx context.Context) (map[string]string, error) {
	// From the byte 0, to the end: https://etcd.io/docs/latest/dev-guide/api_grpc_gateway/
	request, err := http.NewRequestWithContext(
		ctx,
		http.MethodPost,
		c.env.ControlPlane.Etcd.URL.String()+"/v3/kv/range",
		bytes.NewReader([]byte(`{"key":"AA==","range_end":"AA==","keys_only":true}`)),
	)
	if err != nil {
		return nil, fmt.Errorf("asking etcd: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("asking etcd: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	var answer struct {
		Kvs []struct {
			Key         []byte
			ModRevision string `json:"mod_revision"`
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("reading etcd's keys: %s: %w", response.Status, err)
	}
	keys := map[string]string{}
	for _, kv := range answer.Kvs {
		keys[string(kv.Key)] = kv.ModRevision
	}
	return keys, nil
}
