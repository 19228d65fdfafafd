package cmd

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/veltui/veltui/internal/testbed"
)

// Behind a line of 1 kB a second, with the demo's jobs at twenty times their speed, a
// key's screen comes next, whatever was drawn and pressed before; memory stays; and
// after q comes no more than what was on its way.
func TestDashboardOnASlowLine(t *testing.T) {
	testbed.RequireMore(t)
	const pace = 1000
	t.Parallel()
	cmd := demoCommand(t, "--speed", "20")
	before := freshTermios(t)
	c := startConsoleWith(t, cmd, testbed.ConsoleOptions{Width: 80, Height: 24, BytesPerSecond: pace})
	c.sees(t, "live", "[1 Active]", "running")
	resident := residentOf(t, cmd.Process.Pid)

	for range 40 { // each a screen of its own: 40 of them are more than a minute of the line
		c.types(t, "12345")
		time.Sleep(10 * time.Millisecond) // a person who holds a key down
	}
	c.types(t, "?")
	sent := len(c.OutputText())
	c.sees(t, "Looking", "esc back")
	if n := len(c.OutputText()) - sent; n > 12*pace {
		t.Errorf("%d bytes came before the last key's screen", n)
	}
	if now := residentOf(t, cmd.Process.Pid); now > resident+30<<20 {
		t.Errorf("resident memory went from %d to %d bytes", resident, now)
	}
	c.types(t, "?") // so that a screen is on its way
	sent = len(c.OutputText())
	c.types(t, "q")
	if code := c.exits(t); code != ExitOK {
		t.Errorf("exit code %d", code)
	}
	if n := len(c.OutputText()) - sent; n > 6*pace {
		t.Errorf("%d bytes came before it left", n)
	}
	c.checkRestored(t)
	c.checkSane(t, before)
}

// residentOf is a process's resident memory in bytes.
func residentOf(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		t.Skip("no /proc on this system")
	}
	_, after, _ := strings.Cut(string(status), "VmRSS:")
	kib, err := strconv.Atoi(strings.Fields(after)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}
