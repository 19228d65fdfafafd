package cmd

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"
)

// testEstimateMeter feeds the built command half of a tarball on a terminal
// and waits until it shows that it is reading, then the rest.
func testEstimateMeter(t *testing.T, binary string) {
	tarball, err := os.ReadFile(captureTarball)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "slow.tar.gz")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "estimate", "--tarball", path)
	cmd.Env = []string{"TERM=xterm", "LANG=C.UTF-8"}
	c := startConsole(t, cmd, 80, 24)
	feed, err := os.OpenFile(path, os.O_RDWR, 0) // for reading too, so that it does not block
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = feed.Close() }()
	if _, err := feed.Write(tarball[:len(tarball)/2]); err != nil {
		t.Fatal(err)
	}
	c.sees(t, "reading slow.tar.gz")
	if _, err := feed.Write(tarball[len(tarball)/2:]); err != nil {
		t.Fatal(err)
	}
	_ = feed.Close()
	c.sees(t, "Total: 2,4")
	if strings.Contains(c.ScreenText(), "reading slow.tar.gz") {
		t.Errorf("the meter is still there:\n%s", c.ScreenText())
	}
}

func TestMeterLine(t *testing.T) {
	m := &bytesMeter{label: "reading b.tar.gz"}
	for _, c := range []struct {
		done, total int64
		utf8        bool
		width       int
		want        string
	}{
		{0, 0, true, 79, "reading b.tar.gz  "},
		{5 << 20, 0, true, 79, "reading b.tar.gz  5.0M"},
		{5 << 20, 10 << 20, false, 79, "reading b.tar.gz  ############------------  50%  5.0/10.0M"},
		{5 << 20, 10 << 20, true, 79, "reading b.tar.gz  ████████████────────────  50%  5.0/10.0M"},
		{5 << 20, 10 << 20, true, 40, "reading b.tar.gz   50%  5.0/10.0M"},
		{20 << 20, 10 << 20, true, 12, "reading b.ta"}, // a file that grows
		{1, 1, true, 0, ""},
		{1, 1, true, -1, ""},
	} {
		m.done.Store(c.done)
		m.total.Store(c.total)
		m.utf8 = c.utf8
		if got := cutRunes(m.renderLine(c.width), c.width); got != c.want {
			t.Errorf("%d of %d in %d cells: %q, want %q", c.done, c.total, c.width, got, c.want)
		} else if n := utf8.RuneCountInString(got); n > max(c.width, 0) {
			t.Errorf("%q has %d cells, not %d", got, n, c.width)
		}
	}
}

// TestMeterDraws follows a meter that starts at once: it counts what is read
// through it, and leaves nothing behind.
func TestMeterDraws(t *testing.T) {
	out, draw := io.Pipe()
	m, quit := &bytesMeter{label: "reading"}, make(chan struct{})
	m.total.Store(10)
	if n, err := io.Copy(io.Discard, io.TeeReader(strings.NewReader("12345"), m)); n != 5 || err != nil {
		t.Fatal(n, err)
	}
	go func() {
		runMeter(draw, func() int { return 80 }, 0, m.renderLine, quit)
		_ = draw.Close()
	}()
	buffer := make([]byte, 256)
	n, err := out.Read(buffer)
	if err != nil || !strings.Contains(string(buffer[:n]), "50%") {
		t.Fatalf("drew %q, %v", buffer[:n], err)
	}
	rest := make(chan string)
	go func() {
		data, _ := io.ReadAll(out)
		rest <- string(data)
	}()
	close(quit)
	if last := <-rest; !strings.HasSuffix(last, "\r\x1b[J") {
		t.Errorf("left behind %q", last)
	}
}
