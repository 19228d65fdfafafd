package testbed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/types"
)

// copyData copies what etcd has on its disk to a control plane that has not been
// started: while etcd stands still, that is what a crash would leave.
func (c *ControlPlane) copyData(to *ControlPlane) (err error) {
	if err := c.PauseEtcd(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.ResumeEtcd()) }()
	if err := os.CopyFS(filepath.Join(to.dir, dataDir), os.DirFS(filepath.Join(c.dir, dataDir))); err != nil {
		return fmt.Errorf("copying the data of etcd: %w", err)
	}
	return nil
}

// kubeSystemKey is the key of the namespace that a cluster is known by.
const kubeSystemKey = "/registry/namespaces/kube-system"

// ChangeIdentity gives namespace kube-system another uid, straight in etcd and with all
// else as it is. Both uids must have the same length.
func (c *ControlPlane) ChangeIdentity(ctx context.Context, was, is types.UID) error {
	request, err := json.Marshal(map[string][]byte{"key": []byte(kubeSystemKey)})
	if err != nil {
		return fmt.Errorf("reading from etcd: %w", err)
	}
	r, err := http.NewRequestWithContext(
		ctx,
		http.MethodPost,
		c.env.ControlPlane.Etcd.URL.JoinPath("v3/kv/range").String(),
		bytes.NewReader(request),
	)
	if err != nil {
		return fmt.Errorf("reading from etcd: %w", err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return fmt.Errorf("reading from etcd: %w", err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return fmt.Errorf("reading from etcd: %w", err)
	}
	var found struct{ KVs []etcdPair }
	if err := json.Unmarshal(
		text,
		&found,
	); err != nil || len(found.KVs) != 1 || len(was) != len(is) ||
		!bytes.Contains(found.KVs[0].Value, []byte(was)) {
		return fmt.Errorf("changing the uid of kube-system from %s to %s: %v in %q", was, is, err, text)
	}
	pair := etcdPair{Key: []byte(kubeSystemKey), Value: bytes.ReplaceAll(found.KVs[0].Value, []byte(was), []byte(is))}
	return putEtcdPair(ctx, http.DefaultClient, c.env.ControlPlane.Etcd.URL.JoinPath("v3/kv/put").String(), pair)
}
