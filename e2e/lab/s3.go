package lab

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/veltui/veltui/internal/testbed"
)

const (
	bucket    = "lab"
	accessKey = "lab-access-key"
	secretKey = "lab-secret-key"

	credentials = "[default]\naws_access_key_id=" + accessKey + "\naws_secret_access_key=" + secretKey + "\n"
)

// objectStore is the S3 server. It keeps its address and its data over
// restarts. In its folder a directory is a bucket and a file an object.
type objectStore struct {
	program program
	address string
	dir     string
	process *process
}

func (l *Lab) startS3(ctx context.Context) error {
	port, err := testbed.FreePort()
	if err != nil {
		return err
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	l.s3 = &objectStore{
		address: address,
		dir:     l.Dir(),
		program: program{
			name: "s3",
			path: l.programs.s3Path(),
			args: []string{
				"--port",
				address,
				"--health",
				"/health",
				"--quiet",
				"posix",
				"--sidecar",
				l.filePath("attributes"),
				l.filePath("s3"),
			},
			env: []string{"ROOT_ACCESS_KEY=" + accessKey, "ROOT_SECRET_KEY=" + secretKey},
		},
	}
	return l.StartS3(ctx)
}

// StartS3 starts the S3 server again after KillS3, and waits until it answers.
func (l *Lab) StartS3(ctx context.Context) (err error) {
	if l.s3.process, err = l.s3.program.startProcess(l.Dir()); err != nil {
		return err
	}
	return pollUntil(ctx, "the S3 server to answer", func() (bool, error) {
		if !l.s3.process.isRunning() {
			return false, fmt.Errorf("it ended: %w; see %s", l.s3.process.err, logFile(l.Dir(), "s3"))
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, l.S3URL()+"/health", nil)
		if err != nil {
			return false, err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return false, nil //nolint:nilerr // not up yet
		}
		return response.StatusCode == http.StatusOK, response.Body.Close()
	})
}

// KillS3 ends the S3 server; its data stay.
func (l *Lab) KillS3() error { return l.s3.killServer() }

// PauseS3 makes the S3 server hang until ResumeS3.
func (l *Lab) PauseS3() error { return l.s3.process.signalGroup(syscall.SIGSTOP) }

// ResumeS3 ends the hang.
func (l *Lab) ResumeS3() error { return l.s3.process.signalGroup(syscall.SIGCONT) }

// S3URL is where the S3 server answers.
func (l *Lab) S3URL() string { return "http://" + l.s3.address }

// MakeBucket makes another bucket.
func (l *Lab) MakeBucket(name string) error {
	if err := os.Mkdir(l.filePath(filepath.Join("s3", name)), 0o700); err != nil {
		return fmt.Errorf("making bucket %s: %w", name, err)
	}
	return nil
}

// ObjectPath is the file in which the S3 server keeps an object.
func (l *Lab) ObjectPath(key string) string { return l.filePath(filepath.Join("s3", bucket, key)) }

// ObjectExists reports whether the bucket holds an object.
func (l *Lab) ObjectExists(key string) bool {
	_, err := os.Stat(l.ObjectPath(key))
	return err == nil
}

func (s *objectStore) killServer() error { return s.process.killGroup() }

// pollInterval is how often poll looks: often enough to add nothing to a test,
// seldom enough to leave the processor to the servers.
const pollInterval = 50 * time.Millisecond

// pollUntil looks until done says so, an error ends it, or ctx does.
func pollUntil(ctx context.Context, what string, done func() (bool, error)) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		ok, err := done()
		if ok || err != nil {
			if err != nil {
				return fmt.Errorf("waiting for %s: %w", what, err)
			}
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, ctx.Err())
		}
	}
}
