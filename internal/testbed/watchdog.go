package testbed

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// watchdog outlives its parent: a shell in a session of its own that waits for
// a line on its standard input. If the input ends without one, the parent died
// without stopping the servers (kill -9, a panicking test, a closed terminal),
// and the shell ends them by process id and removes the folder.
type watchdog struct {
	leash io.WriteCloser
	cmd   *exec.Cmd
}

// outsideFile names the one folder that is not inside the test bed's own.
const outsideFile = "outside"

const watchdogScript = `
read -r line && exit 0
for f in "$1"/*.pid; do
	[ -f "$f" ] || continue
	pid=$(cat "$f")
	kill -CONT "$pid" 2>/dev/null
	kill -KILL "$pid" 2>/dev/null
done
outside=$(cat "$1/outside" 2>/dev/null)
case "$outside" in
*/envtest-serving-certs-*) rm -rf "$outside" ;;
esac
rm -rf "$1"
`

func startWatchdog(dir string) (*watchdog, error) {
	cmd := exec.Command("/bin/sh", "-c", watchdogScript, "veltui-watchdog", dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Dir = os.TempDir()
	leash, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("starting the watchdog: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the watchdog: %w", err), leash.Close())
	}
	return &watchdog{leash: leash, cmd: cmd}, nil
}

// dismiss tells the watchdog that all is well and waits for its end.
func (w *watchdog) dismiss() error {
	_, err := io.WriteString(w.leash, "all is well\n")
	if err := errors.Join(err, w.leash.Close(), w.cmd.Wait()); err != nil {
		return fmt.Errorf("stopping the watchdog: %w", err)
	}
	return nil
}
