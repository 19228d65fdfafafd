package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// execProtocol is the one that Velero's client and the API server speak with a
// kubelet that declares no newer one.
const execProtocol = "v4.channel.k8s.io"

// serveExec runs the one command that the lab's containers know, `gate NAME`:
// it ends with success once the gate is open. Any other ends with code 127.
func (n *fakeKubelet) serveExec(w http.ResponseWriter, r *http.Request) {
	if _, err := httpstream.Handshake(r, w, []string{execProtocol}); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	streams := make(chan httpstream.Stream, 4)
	connection := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, _ <-chan struct{}) error {
		streams <- s
		return nil
	})
	if connection == nil {
		return // it has answered
	}
	defer func() { _ = connection.Close() }()
	wanted := 1 // the stream for the outcome
	for _, name := range []string{"input", "output", "error"} {
		if r.URL.Query().Get(name) == "1" {
			wanted++
		}
	}
	var outcome httpstream.Stream
	for range wanted {
		select {
		case s := <-streams:
			if s.Headers().Get(corev1.StreamType) == corev1.StreamTypeError {
				outcome = s
			} else {
				defer func() { _ = s.Close() }()
			}
		case <-connection.CloseChan():
			return
		}
	}
	if outcome == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		<-connection.CloseChan()
		cancel()
	}()
	status := metav1.Status{Status: metav1.StatusSuccess}
	if code, err := n.runCommand(ctx, r.URL.Query()["command"]); err != nil {
		status = metav1.Status{
			Status: metav1.StatusFailure, Reason: "NonZeroExitCode", Message: err.Error(),
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: "ExitCode", Message: fmt.Sprint(code)}}},
		}
	}
	if data, err := json.Marshal(status); err == nil {
		_, _ = outcome.Write(data)
	}
}

// runCommand carries out a command of a container.
func (n *fakeKubelet) runCommand(ctx context.Context, command []string) (code int, err error) {
	if len(command) != 2 || command[0] != "gate" {
		return 127, fmt.Errorf("command terminated with exit code 127: %q not found", command)
	}
	for {
		_, err := os.Stat(filepath.Join(n.gates, filepath.Base(command[1])))
		if !errors.Is(err, os.ErrNotExist) {
			return 1, err
		}
		select {
		case <-time.After(pollInterval):
		case <-ctx.Done():
			return 137, ctx.Err()
		}
	}
}
