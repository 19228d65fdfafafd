package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/testbed"
)

// asDemo makes the test binary behave as the demo itself; stubDashboard then
// stands for the dashboard.
const asDemo = "VELTUI_TEST_AS_DEMO"

func TestMain(m *testing.M) {
	if os.Getenv(asDemo) != "" {
		os.Exit(run(context.Background(), os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}, stubDashboard))
	}
	os.Exit(m.Run())
}

// stubDashboard says which kubeconfig it got and ends as its first argument
// tells it to.
func stubDashboard(ctx context.Context, kubeconfig string, args []string, s streams) int {
	fmt.Fprintln(s.out, kubeconfig)
	switch args[0] {
	case "panic":
		panic("the dashboard fell over")
	case "wait":
		<-ctx.Done()
		return 0
	}
	code, err := strconv.Atoi(args[0])
	if err != nil {
		return 99
	}
	return code
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		args string
		want string // replay, headless, veltui; or the error
	}{
		{"", " false []"},
		{"--headless --speed 5", " true []"},
		{"-- --read-only --ascii", " false [--read-only --ascii]"},
		{"replay DIR --speed 10 --headless", "DIR true []"},
		{"--speed 10 replay DIR -- --ascii", "DIR false [--ascii]"},
		{"-- replay DIR --speed 3 -- --ascii", "DIR false [--ascii]"},
		{"replay", "replay needs one folder: demo replay DIR"},
		{"replay A B", "replay needs one folder: demo replay DIR"},
		{"play", `unknown command "play" (see demo --help)`},
		{"--speed 0", "--speed 0 is not between 0.1 and 1000"},
		{"--wait", "--until-eof, --wait, --exit and --verbose need --headless"},
		{"--headless --exit", "--sequence, --keep-times, --delay, --wait and --exit need replay"},
		{"--headless -- --ascii", "with --headless there is no dashboard to give flags to"},
		{"--nonsense", "flag provided but not defined: -nonsense (see demo --help)"},
	} {
		o, err := parse(strings.Fields(c.args), io.Discard)
		got := fmt.Sprintf("%s %t %v", o.replay, o.headless, o.veltui)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("demo %s: %s, want %s", c.args, got, c.want)
		}
	}
	var help bytes.Buffer
	if _, err := parse([]string{"--help"}, &help); !errors.Is(err, errHelp) || !strings.Contains(help.String(), "Examples:") {
		t.Errorf("--help gives %v and %q", err, help.String())
	}
}

// demo is a running demo.
type demo struct {
	t          *testing.T
	cmd        *exec.Cmd
	out        *bufio.Reader
	in         io.WriteCloser
	err        bytes.Buffer
	kubeconfig string
	servers    []int
}

// start runs the demo and waits for the line that names its kubeconfig.
func start(t *testing.T, args ...string) *demo {
	t.Helper()
	d := &demo{t: t, cmd: exec.Command(os.Args[0], args...)}
	d.cmd.Env = append(os.Environ(), asDemo+"=1")
	d.cmd.Stderr = &d.err
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if d.in, err = d.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.cmd.Process.Kill() })
	d.out = bufio.NewReader(out)
	line, err := d.out.ReadString('\n')
	if err != nil {
		_ = d.cmd.Wait() // only then is all in d.err
		t.Fatalf("the demo said nothing: %v, %v\n%s", err, d.cmd.ProcessState, d.err.String())
	}
	d.kubeconfig = strings.TrimSpace(line)
	files, err := filepath.Glob(filepath.Join(filepath.Dir(d.kubeconfig), "*.pid"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			d.servers = append(d.servers, pid)
		}
	}
	return d
}

// gone waits until neither the servers nor their folder are there any more.
func (d *demo) gone() {
	d.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		left := 0
		for _, pid := range d.servers {
			if alive(pid) {
				left++
			}
		}
		if _, err := os.Stat(filepath.Dir(d.kubeconfig)); left == 0 && os.IsNotExist(err) {
			return
		}
	}
	d.t.Errorf("a minute after its end servers of the demo %v or its folder are still there", d.servers)
}

// alive reports whether a process runs; one that only waits to be reaped does
// not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(after, "Z")
}

func (d *demo) client() client.Client {
	d.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", d.kubeconfig)
	if err != nil {
		d.t.Fatal(err)
	}
	api, err := client.New(config, client.Options{Scheme: testbed.Scheme()})
	if err != nil {
		d.t.Fatal(err)
	}
	return api
}

func TestTheDemoStopsWithItsDashboard(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		end  func(*demo) error
		code int // -1: killed
	}{
		{"the dashboard fails", []string{"--", "4"}, nil, 4},
		{"the dashboard panics", []string{"--", "panic"}, nil, 2},
		{"SIGINT", []string{"--", "wait"}, send(syscall.SIGINT), 0},
		{"SIGHUP", []string{"--", "wait"}, send(syscall.SIGHUP), 0},
		{"SIGTERM headless", []string{"--headless"}, send(syscall.SIGTERM), 0},
		{"SIGKILL", []string{"--headless"}, send(syscall.SIGKILL), -1},
		{"end of input", []string{"--headless", "--until-eof"}, func(d *demo) error { return d.in.Close() }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := start(t, c.args...)
			if c.end != nil {
				if len(d.servers) != 2 {
					t.Errorf("found the servers %v, want two", d.servers)
				}
				if err := c.end(d); err != nil {
					t.Fatal(err)
				}
			}
			_, _ = io.Copy(io.Discard, d.out)
			_ = d.cmd.Wait()
			if code := d.cmd.ProcessState.ExitCode(); code != c.code {
				t.Errorf("exit code %d, want %d\n%s", code, c.code, d.err.String())
			}
			d.gone()
		})
	}
}

func send(s syscall.Signal) func(*demo) error {
	return func(d *demo) error { return d.cmd.Process.Signal(s) }
}

func TestABadFolderCostsNothing(t *testing.T) {
	for _, args := range [][]string{{"replay", "nowhere"}, {"replay", t.TempDir()}} {
		cmd := exec.Command(os.Args[0], args...)
		cmd.Env = append(os.Environ(), asDemo+"=1")
		output, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(output), "reading recordings") || strings.Contains(string(output), "starting") {
			t.Errorf("demo %v: %v, %q; want an error before anything starts", args, err, output)
		}
	}
}

func TestReplayWaitsForItsWatcher(t *testing.T) {
	d := start(t, "replay", "replay/testdata", "--headless", "--wait", "--speed", "50")
	api := d.client()
	var restores velerov1.RestoreList
	if err := api.List(t.Context(), &restores); err != nil || len(restores.Items) != 0 {
		t.Errorf("before it is told to begin: %d restores, %v", len(restores.Items), err)
	}
	if _, err := fmt.Fprintln(d.in, "go"); err != nil {
		t.Fatal(err)
	}
	line, err := d.out.ReadString('\n')
	if want := "replayed 21 events of 4 recordings\n"; err != nil || line != want {
		t.Errorf("it said %q (%v), want %q", line, err, want)
	}
	if err := api.List(t.Context(), &restores); err != nil || len(restores.Items) != 4 {
		t.Errorf("after it: %d restores, %v", len(restores.Items), err)
	}
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = d.cmd.Wait()
	d.gone()
}
