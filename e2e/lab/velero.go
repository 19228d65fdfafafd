package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// veleroServer is the Velero server and how it was last started.
type veleroServer struct {
	process *process
	flags   []string
}

func (s *veleroServer) killServer() error { return s.process.killGroup() }

// startVelero starts the server for the first time, and waits for it.
func (l *Lab) startVelero(ctx context.Context, flags []string) error {
	l.veleroServer = &veleroServer{}
	if err := os.WriteFile(l.filePath("s3-credentials"), []byte(credentials), 0o600); err != nil {
		return err
	}
	return l.StartVelero(ctx, flags...)
}

// StartVelero starts the server with these flags beside the usual ones, waits
// until it answers a ServerStatusRequest (a Backup Storage Location that says
// Available may be a word from before), and says so on its Pod.
func (l *Lab) StartVelero(ctx context.Context, flags ...string) error {
	l.veleroServer.flags = flags
	from, err := fileSize(logFile(l.Dir(), "velero"))
	if err != nil {
		return err
	}
	if l.veleroServer.process, err = l.serverProgram("velero", flags).startProcess(l.Dir()); err != nil {
		return err
	}
	if err := l.markServerRunning(ctx, flags, from); err != nil {
		return err
	}
	return l.awaitVelero(ctx)
}

// serverProgram is a Velero server with these flags beside the usual ones, whose log and
// process have a name of their own.
func (l *Lab) serverProgram(name string, flags []string) program {
	return program{
		name: name,
		path: l.programs.veleroPath(),
		args: slices.Concat([]string{
			"server",
			"--kubeconfig", l.Kubeconfig(),
			"--namespace", Namespace,
			"--plugin-dir", l.programs.pluginDir(),
			"--metrics-address", "127.0.0.1:0",
			"--profiler-address", "127.0.0.1:0",
			"--uploader-type", "kopia",
		}, flags),
		env: []string{
			"KUBECONFIG=" + l.Kubeconfig(), // for the plugins of 1.14, which get no --kubeconfig
			"VELERO_NAMESPACE=" + Namespace,
			"VELERO_SCRATCH_DIR=" + l.filePath("tmp"),
			"AWS_EC2_METADATA_DISABLED=true",
			"AWS_SHARED_CREDENTIALS_FILE=" + l.filePath("s3-credentials"),
			"LAB_GATES=" + l.filePath("gates"),
			"CSI_SNAPSHOT_EARLY_FREQUENT_POLLING=true",
		},
	}
}

// awaitVelero returns once the server has answered and its storage location
// has been validated since this call.
func (l *Lab) awaitVelero(ctx context.Context) error {
	request := &veleroapi.ServerStatusRequest{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, GenerateName: "lab-"}}
	if err := l.Client.Create(ctx, request); err != nil {
		return fmt.Errorf("asking velero for its status: %w", err)
	}
	return pollUntil(ctx, "velero to answer", func() (bool, error) {
		if !l.veleroServer.process.isRunning() {
			return false, fmt.Errorf("it ended: %w; see %s", l.veleroServer.process.err, logFile(l.Dir(), "velero"))
		}
		if err := l.Client.Get(ctx, client.ObjectKeyFromObject(request), request); err != nil {
			return false, err
		}
		if request.Status.Phase != veleroapi.ServerStatusRequestPhaseProcessed {
			return false, nil
		}
		var location veleroapi.BackupStorageLocation
		if err := l.Client.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: LocationName}, &location); err != nil {
			return false, err
		}
		return location.Status.Phase != "", nil
	})
}

// KillVelero ends the server and its plugins as a crash of the node would.
func (l *Lab) KillVelero(ctx context.Context) error {
	if err := l.veleroServer.killServer(); err != nil {
		return err
	}
	return l.markServerEnded(ctx, 137, "Error")
}

// KillVeleroUnseen is KillVelero while nobody can be told: the Pod goes on
// saying that the server runs, as it does while the API server is away.
func (l *Lab) KillVeleroUnseen() error { return l.veleroServer.killServer() }

// TerminateVelero asks the server to end (SIGTERM) and waits until it has.
func (l *Lab) TerminateVelero(ctx context.Context) error {
	if err := l.veleroServer.process.terminateGroup(ctx); err != nil {
		return err
	}
	return l.markServerEnded(ctx, 0, "Completed")
}

// EnsureVelero makes sure that the server runs with these flags: one that runs
// with others, or not at all, is started again.
func (l *Lab) EnsureVelero(ctx context.Context, flags ...string) error {
	if slices.Equal(flags, l.veleroServer.flags) && l.veleroServer.process.isRunning() {
		return nil
	}
	if err := l.KillVelero(ctx); err != nil {
		return err
	}
	return l.StartVelero(ctx, flags...)
}

// RollOutVelero ends the server as a roll-out does, killed if it does not end
// within grace, and starts it with these flags; with other programs, those of
// the folder of another lab, unless that is empty. The CRDs stay as they are.
func (l *Lab) RollOutVelero(ctx context.Context, grace time.Duration, folder string, flags ...string) error {
	patience, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if err := l.veleroServer.process.terminateGroup(patience); err != nil {
		if err := l.veleroServer.killServer(); err != nil {
			return err
		}
	}
	if err := l.markServerEnded(ctx, 0, "Completed"); err != nil {
		return err
	}
	if folder != "" {
		var err error
		if l.programs, err = checkProgramDir(folder); err != nil {
			return err
		}
		if l.Version, err = l.cliVersion(ctx); err != nil {
			return err
		}
	}
	return l.StartVelero(ctx, flags...)
}

// PauseVelero makes the server hang until ResumeVelero.
func (l *Lab) PauseVelero() error { return l.veleroServer.process.signalGroup(syscall.SIGSTOP) }

// ResumeVelero ends the hang.
func (l *Lab) ResumeVelero() error { return l.veleroServer.process.signalGroup(syscall.SIGCONT) }

// IsVeleroRunning reports whether the server's process is there.
func (l *Lab) IsVeleroRunning() bool { return l.veleroServer.process.isRunning() }

// VeleroLog returns what all servers of this lab have logged from offset on,
// and the offset to go on from; the second server has a log of its own.
func (l *Lab) VeleroLog(offset int) (text string, next int, err error) {
	return l.readLog("velero", offset)
}

func (l *Lab) readLog(name string, offset int) (text string, next int, err error) {
	data, err := os.ReadFile(logFile(l.Dir(), name))
	if err != nil {
		return "", offset, fmt.Errorf("reading the log of %s: %w", name, err)
	}
	return string(data[offset:]), len(data), nil
}

// AwaitLog waits until a line of velero's log after offset holds all words.
func (l *Lab) AwaitLog(ctx context.Context, offset int, words ...string) error {
	return pollUntil(ctx, "velero to log "+strings.Join(words, " … "), func() (bool, error) {
		text, _, err := l.VeleroLog(offset)
		for line := range strings.Lines(text) {
			if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) }) {
				return true, nil
			}
		}
		return false, err
	})
}

// VeleroCLI runs Velero's own command against the lab and returns what it
// printed.
func (l *Lab) VeleroCLI(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(
		ctx,
		l.programs.veleroPath(),
		append(args, "--kubeconfig", l.Kubeconfig(), "--namespace", Namespace)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + l.Dir(), "TMPDIR=" + l.filePath("tmp")}
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("running velero %s: %w: %s", strings.Join(args, " "), err, out.String())
	}
	return out.String(), nil
}

// OpenGate opens a gate of the lab's plugin: what waits at it goes on.
func (l *Lab) OpenGate(name string) error {
	if name != filepath.Base(name) {
		return errors.New("opening a gate: " + name + " is no name")
	}
	if err := os.WriteFile(filepath.Join(l.filePath("gates"), name), nil, 0o600); err != nil {
		return fmt.Errorf("opening a gate: %w", err)
	}
	return nil
}

// CloseGate closes a gate again.
func (l *Lab) CloseGate(name string) error {
	if err := os.Remove(filepath.Join(l.filePath("gates"), filepath.Base(name))); err != nil {
		return fmt.Errorf("closing a gate: %w", err)
	}
	return nil
}

// VeleroCLIPath is the path of Velero's own command.
func (l *Lab) VeleroCLIPath() string { return l.programs.veleroPath() }
