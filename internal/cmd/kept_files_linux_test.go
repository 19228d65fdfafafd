package cmd

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/veltui/veltui/internal/job/forecast"
	"github.com/veltui/veltui/internal/statedir"
)

// keeper runs commands on a demo, with folders of their own for what they keep.
type keeper struct {
	*headless
	state, cache string
	links        string // a folder for other names of their files
}

func newKeeper(t *testing.T) *keeper {
	t.Helper()
	k := &keeper{headless: startHeadless(t)}
	k.state, k.cache, k.links = t.TempDir(), t.TempDir(), t.TempDir()
	return k
}

// keep runs a command and returns what it prints, with its exit code.
func (k *keeper) keep(t *testing.T, args ...string) (output string, code int) {
	t.Helper()
	cmd := exec.Command(k.cmd.Path, append([]string{"--kubeconfig", k.kubeconfig}, args...)...)
	cmd.Env = append(slices.Clone(k.cmd.Env), "XDG_STATE_HOME="+k.state, "XDG_CACHE_HOME="+k.cache)
	var out bytes.Buffer
	code = runs(t, cmd, &out)
	return out.String(), code
}

// own is the program as part of the test, with the same folders and cluster.
func (k *keeper) own(t *testing.T) *cli {
	t.Helper()
	c := withFlags(t, "--kubeconfig", k.kubeconfig)
	c.process.getenv = func(name string) string {
		return map[string]string{"XDG_STATE_HOME": k.state, "XDG_CACHE_HOME": k.cache}[name]
	}
	return c
}

// tour has every kind of file written and read.
func (k *keeper) tour(t *testing.T) {
	t.Helper()
	conn, err := k.own(t).connector.openConnection()
	if err != nil {
		t.Fatal(err)
	}
	ack := k.own(t).files.openAcknowledgements().forCluster(conn)
	if err := ack.Set(t.Context(), "velero", map[string]bool{"some finding": true}); err != nil {
		t.Fatal(err)
	}
	k.own(t).files.openRates(conn).AddRates(learnedRates)
	for _, args := range [][]string{
		{"get"}, {"check", "--acknowledged"}, {"coverage"}, {"estimate", "backup/before-upgrade"}, {"estimate", "backup/shop-hourly-3"},
		{"backup", "delete", "shop-hourly-3", "--dry-run"}, {"audit"},
		{"report", "restore/crm-rollback"},
		{"verify", "restore/crm-rollback"}, {"explain", "restore/crm-rollback", "--artifacts"},
	} {
		k.keep(t, args...)
	}
	cmd := exec.Command(k.cmd.Path, "--kubeconfig", k.kubeconfig)
	cmd.Env = append(slices.Clone(k.cmd.Env), "XDG_STATE_HOME="+k.state, "XDG_CACHE_HOME="+k.cache)
	c := startConsole(t, cmd, 120, 40)
	c.sees(t, "live", "crm-rollback")
	c.types(t, "q")
	c.exits(t)
}

var learnedRates = forecast.Rates{
	Throttle:  forecast.Cost{Seconds: 0.02, SeenSeconds: 10},
	Resources: map[string]forecast.Cost{"pods": {Seconds: 0.1, SeenSeconds: 10}},
}

// folders lists the folders in which the program keeps files.
func (k *keeper) folders(t *testing.T) (folders []string) {
	t.Helper()
	for _, root := range []string{k.state, k.cache} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				folders = append(folders, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return folders
}

// named gives a path the name that docs/security.md has for it.
func (k *keeper) named(path string) string {
	path = strings.Replace(path, k.state+"/", "$XDG_STATE_HOME/", 1)
	return strings.Replace(path, k.cache+"/", "$XDG_CACHE_HOME/", 1)
}

// openings watches what is opened, made, moved and removed in folders. names lists it so far.
func openings(t *testing.T, folders []string) (names func() []string) {
	t.Helper()
	watch, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(watch) })
	watched := map[int32]string{}
	for _, folder := range folders {
		id, err := unix.InotifyAddWatch(watch, folder, unix.IN_OPEN|unix.IN_CREATE|unix.IN_MOVED_TO|unix.IN_DELETE)
		if err != nil {
			t.Fatal(err)
		}
		watched[int32(id)] = folder
	}
	return func() []string {
		found := map[string]bool{}
		buffer := make([]byte, 64<<10)
		for {
			n, err := unix.Read(watch, buffer)
			if errors.Is(err, unix.EAGAIN) {
				return slices.Sorted(maps.Keys(found))
			}
			if err != nil {
				t.Fatal(err)
			}
			for rest := buffer[:n]; len(rest) > 0; {
				event := (*unix.InotifyEvent)(unsafe.Pointer(&rest[0]))
				end := unix.SizeofInotifyEvent + int(event.Len)
				name := string(bytes.TrimRight(rest[unix.SizeofInotifyEvent:end], "\x00"))
				rest = rest[end:]
				switch {
				case event.Mask&unix.IN_Q_OVERFLOW != 0:
					t.Fatal("more was opened than the kernel notes")
				case event.Mask&unix.IN_ISDIR == 0:
					found[filepath.Join(watched[event.Wd], name)] = true
				}
			}
		}
	}
}

// keptFiles reads the patterns of the files from docs/security.md: those with a place of their own, and those that
// stand beside others.
func keptFiles(t *testing.T) (places, beside []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "\n| file | what it holds |")
	table, _, _ = strings.Cut(table, "\n\n")
	for row := range strings.Lines(table) {
		cells := strings.Split(row, " | ")
		if len(cells) != 5 || !strings.HasPrefix(row, "| `") {
			continue
		}
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[0], -1) {
			if strings.HasPrefix(m[1], "$") {
				places = append(places, m[1])
			} else {
				beside = append(beside, m[1])
			}
		}
	}
	if len(places) < 8 || len(beside) == 0 {
		t.Fatalf("the table of docs/security.md has %q and %q", places, beside)
	}
	return places, beside
}

// TestEveryKeptFile: the table of docs/security.md lists what the program opens below its folders, no more and no less.
func TestEveryKeptFile(t *testing.T) {
	k := newKeeper(t)
	k.tour(t) // makes the folders, which the kernel has to know
	log := filepath.Join(k.state, "veltui", "veltui.log")
	if err := os.Truncate(log, maxLogSize+1); err != nil { // a new one is begun
		t.Fatal(err)
	}
	caches, err := filepath.Glob(filepath.Join(k.cache, "veltui", "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range caches { // they are written anew
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	opened := openings(t, k.folders(t))
	k.tour(t)
	places, beside := keptFiles(t)
	seen := map[string]bool{}
	for _, file := range opened() {
		name := k.named(file)
		i, j := indexOfPattern(places, name), indexOfPattern(beside, path.Base(name))
		switch {
		case i >= 0:
			seen[places[i]] = true
		case j >= 0:
			seen[beside[j]] = true
		default:
			t.Errorf("docs/security.md does not list %s", name)
		}
	}
	for _, pattern := range slices.Concat(places, beside) {
		if !seen[pattern] {
			t.Errorf("docs/security.md lists %s, which nothing opens", pattern)
		}
	}
}

func indexOfPattern(patterns []string, name string) int {
	return slices.IndexFunc(patterns, func(pattern string) bool {
		matched, _ := path.Match(pattern, name)
		return matched
	})
}

// forged replaces the content of a sealed file, and keeps what it says that it is of.
func forged(t *testing.T, file string, content []byte) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var header statedir.Header
	if err := json.NewDecoder(bytes.NewReader(data[bytes.IndexByte(data, '{'):])).Decode(&header); err != nil {
		t.Fatal(err)
	}
	dir := statedir.Dir{Path: filepath.Dir(file), Suffix: filepath.Ext(file), MaxFiles: 1000, Clock: time.Now}
	if err := dir.WriteSealed(filepath.Base(file), header, content); err != nil {
		t.Fatal(err)
	}
}

// contentOf returns the content of a sealed file, which begins where its header ends.
func contentOf(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(data[bytes.IndexByte(data, '{'):]))
	if err := decoder.Decode(new(statedir.Header)); err != nil {
		t.Fatal(err)
	}
	begin := bytes.IndexByte(data, '{') + int(decoder.InputOffset())
	return data[begin : len(data)-4]
}

// forge has every file say something else than it did. It returns them by their kinds.
func (k *keeper) forge(t *testing.T) (files map[string][]string) {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte("{}")); errors.Join(err, w.Close()) != nil {
		t.Fatal(err)
	}
	files = map[string][]string{}
	for _, pattern := range []string{
		"indexes/*.index", "coverage/*.coverage", "rates/*.rates", "acknowledged/findings.json", "finalize/finalize.jsonl",
		"veltui.log",
	} {
		for _, root := range []string{k.state, k.cache} {
			found, err := filepath.Glob(filepath.Join(root, "veltui", pattern))
			if err != nil {
				t.Fatal(err)
			}
			files[pattern] = append(files[pattern], found...)
		}
		if len(files[pattern]) == 0 {
			t.Fatalf("there is no %s", pattern)
		}
	}
	for _, record := range files["coverage/*.coverage"] {
		forged(t, record, packed.Bytes())
	}
	indexes, contents := files["indexes/*.index"], [][]byte{}
	for _, index := range indexes {
		contents = append(contents, contentOf(t, index))
	}
	if len(indexes) < 2 {
		t.Fatalf("indexes: %q", indexes)
	}
	for i, index := range indexes {
		forged(t, index, contents[(i+1)%len(contents)])
	}
	return files
}

// believed lists the kinds of files that the program believes.
func (k *keeper) believed(t *testing.T) (kinds []string) {
	t.Helper()
	believes := func(kind string, does bool) {
		if does {
			kinds = append(kinds, kind)
		}
	}
	if _, code := k.keep(t, "get"); code != ExitOK {
		t.Errorf("get: exit code %d", code)
	}
	out, code := k.keep(t, "estimate", "backup/before-upgrade", "-o", "json")
	believes("index", !strings.Contains(out, `"items": 2418,`))
	if code != ExitOK {
		t.Errorf("estimate: exit code %d\n%s", code, out)
	}
	out, code = k.keep(t, "coverage", "-o", "json")
	believes("coverage", !strings.Contains(out, `"state": "covered"`))
	if code != ExitRefused {
		t.Errorf("coverage: exit code %d\n%s", code, out)
	}
	out, _ = k.keep(t, "check", "--acknowledged")
	believes("acknowledgements", strings.Contains(out, " 1 acknowledged left out"))
	if !strings.Contains(out, "crm-rollback") {
		t.Errorf("check:\n%s", out)
	}
	out, code = k.keep(t, "backup", "delete", "shop-hourly-3", "--dry-run")
	believes("audit log", code == ExitOK)
	if code != ExitOK && !strings.Contains(out, "cannot keep a safe audit log") {
		t.Errorf("backup delete: exit code %d\n%s", code, out)
	}
	conn, err := k.own(t).connector.openConnection()
	if err != nil {
		t.Fatal(err)
	}
	believes("rates", k.own(t).files.openRates(conn).LoadRates().Throttle.IsValid())
	return kinds
}

// TestKeptFilesOfOthers: what somebody else could have put there is not believed and holds nothing up, whatever it is.
// The same content in private files is believed, so the test sees the difference.
func TestKeptFilesOfOthers(t *testing.T) {
	k := newKeeper(t)
	k.tour(t)
	k.acknowledgeOne(t)
	aside := func(t *testing.T, file string) string {
		other := filepath.Join(t.TempDir(), filepath.Base(file))
		if err := os.Rename(file, other); err != nil {
			t.Fatal(err)
		}
		return other
	}
	for _, plant := range []struct {
		name string
		put  func(t *testing.T, file string) error
		want []string
	}{
		{"private", func(*testing.T, string) error { return nil }, []string{"index", "coverage", "acknowledgements", "audit log", "rates"}},
		{"0666", func(_ *testing.T, file string) error { return os.Chmod(file, 0o666) }, nil},
		{"link", func(t *testing.T, file string) error { return os.Symlink(aside(t, file), file) }, nil},
		{"hard link", func(t *testing.T, file string) error {
			return os.Link(file, filepath.Join(k.links, filepath.Base(file)))
		}, nil},
		{"pipe", func(t *testing.T, file string) error { aside(t, file); return syscall.Mkfifo(file, 0o600) }, nil},
		{"folder", func(t *testing.T, file string) error { aside(t, file); return os.Mkdir(file, 0o700) }, nil},
	} {
		t.Run(plant.name, func(t *testing.T) {
			own := *k
			own.state, own.cache = copyTree(t, k.state), copyTree(t, k.cache)
			files := own.forge(t)
			log := files["veltui.log"][0]
			for _, file := range slices.Concat(slices.Collect(maps.Values(files))...) {
				if err := plant.put(t, file); err != nil {
					t.Fatal(err)
				}
			}
			size := func() int64 {
				info, err := os.Stat(log)
				if err != nil {
					t.Fatal(err)
				}
				return info.Size()
			}
			before := size()
			if got := own.believed(t); !slices.Equal(got, plant.want) {
				t.Errorf("believed: %q, want %q", got, plant.want)
			}
			if err := os.RemoveAll(filepath.Join(own.cache, "veltui", "indexes")); err != nil {
				t.Fatal(err)
			}
			own.keep(t, "estimate", "backup/before-upgrade") // downloads, and logs that
			if written := size() != before; written != (plant.want != nil) {
				t.Errorf("%s is written: %v", log, written)
			}
		})
	}
}

// acknowledgeOne acknowledges one of the demo's findings.
func (k *keeper) acknowledgeOne(t *testing.T) {
	t.Helper()
	out, _ := k.keep(t, "check", "-o", "json")
	d, _ := found(t, out[strings.Index(out, "{"):strings.LastIndex(out, "}")+1])
	conn, err := k.own(t).connector.openConnection()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range d.Items {
		if f.Object.Name == "crm-nightly" {
			key := strings.Join([]string{f.Object.UID, f.Reason, f.Severity, f.Since.UTC().Format(time.RFC3339)}, " ")
			err := k.own(t).
				files.openAcknowledgements().
				forCluster(conn).
				Set(context.WithoutCancel(t.Context()), "velero", map[string]bool{key: true})
			if err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("there is no finding to acknowledge")
}

func copyTree(t *testing.T, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(to, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			err = os.Chmod(path, 0o700)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}
