package cache

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/statedir"
)

// capture is the index of a real backup.
func capture(t *testing.T) *collector.Index {
	t.Helper()
	f, err := os.Open("../testdata/b-full.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	x, err := collector.Read(t.Context(), f, collector.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// counted is a Read that gives x and counts how often it is asked.
func counted(x *collector.Index, calls *int) ReadFunc {
	return func(context.Context) (*collector.Index, error) {
		*calls++
		return x, nil
	}
}

func ask(t *testing.T, c *Cache, uid string, read ReadFunc) *collector.Index {
	t.Helper()
	x, err := c.GetOrReadIndex(t.Context(), uid, read)
	if err != nil || x == nil {
		t.Fatalf("%s: %v, %v", uid, x, err)
	}
	return x
}

func failTest(t *testing.T) func(error) {
	return func(err error) { t.Errorf("the disk: %v", err) }
}

// fileOf is the name of a backup's file where no cluster is given.
func fileOf(uid string) string { return Open(Options{}).disk.cluster + "-" + uid + fileSuffix }

// names lists a folder, without what stands for the cluster.
func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, strings.TrimPrefix(e.Name(), Open(Options{}).disk.cluster+"-"))
	}
	return strings.Join(all, " ")
}

func TestReadOnce(t *testing.T) {
	x, calls := capture(t), 0
	dir := filepath.Join(t.TempDir(), "veltui", "indexes")
	c := Open(Options{Dir: dir, OnError: failTest(t)})
	for range 3 {
		if ask(t, c, "a-1", counted(x, &calls)) != x {
			t.Error("another index")
		}
	}
	if calls != 1 {
		t.Errorf("read %d times", calls)
	}
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, fileOf("a-1")): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want mode %o", path, info.Mode(), err, want)
		}
	}
	// Another run of the program.
	again := ask(t, Open(Options{Dir: dir, OnError: failTest(t)}), "a-1", counted(nil, &calls))
	if calls != 1 || again.ItemCount() != x.ItemCount() || again.NamesOnly {
		t.Errorf("read %d times, %d items of %d", calls, again.ItemCount(), x.ItemCount())
	}
	if got := names(t, dir); got != "a-1.index" {
		t.Errorf("left behind: %s", got)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	x, calls := capture(t), 0
	c := Open(Options{MaxHeld: 2})
	for _, uid := range []string{"a", "b", "a", "c", "a"} { // b goes, a was used
		ask(t, c, uid, counted(x, &calls))
	}
	if calls != 3 || len(c.held) != 2 {
		t.Errorf("read %d times, %d held", calls, len(c.held))
	}
	if ask(t, c, "b", counted(x, &calls)); calls != 4 {
		t.Errorf("read %d times", calls)
	}
}

func TestDiskIsBounded(t *testing.T) {
	x, calls := capture(t), 0
	data, err := x.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	const header = 200 // at most, of these
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	open := func(o Options) *Cache {
		o.Dir, o.OnError = dir, failTest(t)
		o.Clock = func() time.Time { now = now.Add(time.Minute); return now }
		return Open(o)
	}
	for _, uid := range []string{"a", "b", "c"} {
		ask(t, open(Options{MaxFiles: 3}), uid, counted(x, &calls))
	}
	ask(t, open(Options{MaxFiles: 3}), "a", counted(x, &calls)) // used again
	ask(t, open(Options{MaxFiles: 3}), "d", counted(x, &calls))
	if got := names(t, dir); got != "a.index c.index d.index" || calls != 4 {
		t.Errorf("by number: %s, read %d times", got, calls)
	}
	ask(t, open(Options{MaxBytes: 2 * int64(len(data)+header)}), "e", counted(x, &calls))
	if got := names(t, dir); got != "d.index e.index" {
		t.Errorf("by size: %s", got)
	}
	ask(t, open(Options{MaxBytes: int64(len(data)) - 1}), "f", counted(x, &calls))
	if strings.Contains(names(t, dir), "f.index") {
		t.Error("an index above the bound was stored")
	}
}

// sealed returns the bytes of a backup's file.
func sealed(t *testing.T, o Options, uid string) []byte {
	t.Helper()
	calls := 0
	o.Dir, o.OnError = t.TempDir(), failTest(t)
	c := Open(o)
	ask(t, c, uid, counted(capture(t), &calls))
	data, err := os.ReadFile(filepath.Join(o.Dir, c.disk.fileName(uid)))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// uidOf has the cluster say its uid.
func uidOf(uid types.UID) func(context.Context) (types.UID, error) {
	return func(context.Context) (types.UID, error) { return uid, nil }
}

// A file is used for the backup and the cluster that it names only, and is read anew otherwise; the log says so.
func TestUselessFilesAreReplaced(t *testing.T) {
	x := capture(t)
	plain, err := x.MarshalBinary() // as older versions wrote it
	if err != nil {
		t.Fatal(err)
	}
	own := Options{Cluster: "https://east", Identify: uidOf("east")}
	good := sealed(t, own, "a")
	flipped := append([]byte{}, good...)
	flipped[len(flipped)/2] ^= 1
	elsewhere, anew, unread := own, own, own
	elsewhere.Cluster, anew.Identify, unread.Identify = "https://west", uidOf("made anew"), uidOf("")
	for name, content := range map[string][]byte{
		"empty": {}, "junk": []byte("junk"), "half": good[:len(good)/2], "flipped": flipped,
		"of an older format":            plain,
		"of another version":            append([]byte("xxxxxxxx"), good[8:]...),
		"huge":                          make([]byte, len(good)+1000),
		"of another backup":             sealed(t, own, "b"),
		"of another address":            sealed(t, elsewhere, "a"),
		"of another cluster there":      sealed(t, anew, "a"),
		"of a cluster that hid its uid": sealed(t, unread, "a"),
	} {
		t.Run(name, func(t *testing.T) {
			dir, calls, said := t.TempDir(), 0, 0
			o := own
			o.Dir, o.MaxBytes, o.OnError = dir, int64(len(good))+500, func(error) { said++ }
			path := filepath.Join(dir, Open(o).disk.fileName("a"))
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			if ask(t, Open(o), "a", counted(x, &calls)).ItemCount() != x.ItemCount() || calls != 1 || said != 1 {
				t.Errorf("read %d times, said %d times", calls, said)
			}
			if ask(t, Open(o), "a", counted(x, &calls)); calls != 1 || said != 1 {
				t.Error("was not replaced")
			}
		})
	}
}

// The cluster is asked which one it is where that decides about a file, and once.
func TestClusterIsIdentifiedOnce(t *testing.T) {
	x, calls, asked := capture(t), 0, 0
	o := Options{Dir: t.TempDir(), Cluster: "https://east", OnError: failTest(t)}
	o.Identify = func(context.Context) (types.UID, error) { asked++; return "east", nil }
	c := Open(o)
	broken := errors.New("broken off")
	if _, err := c.GetOrReadIndex(
		t.Context(),
		"a",
		func(context.Context) (*collector.Index, error) { return nil, broken },
	); err != broken ||
		asked != 0 {
		t.Errorf("%v; asked %d times without a file", err, asked)
	}
	ask(t, c, "a", counted(x, &calls))
	ask(t, c, "b", counted(x, &calls))
	if ask(t, c, "a", counted(x, &calls)); asked != 1 || calls != 2 {
		t.Errorf("asked %d times, read %d times", asked, calls)
	}
	if ask(t, Open(o), "a", counted(x, &calls)); asked != 2 || calls != 2 {
		t.Errorf("another run: asked %d times, read %d times", asked, calls)
	}
}

// Where the cluster does not say which one it is, nothing on disk is used, and it is not asked again.
func TestUnidentifiedCluster(t *testing.T) {
	x, calls, asked, said := capture(t), 0, 0, 0
	o := Options{Dir: t.TempDir(), Cluster: "https://east"}
	ask(t, Open(o), "a", counted(x, &calls))
	before := names(t, o.Dir)
	o.Identify = func(context.Context) (types.UID, error) { asked++; return "", errors.New("no answer") }
	o.OnError = func(error) { said++ }
	c := Open(o)
	ask(t, c, "a", counted(x, &calls))
	ask(t, c, "b", counted(x, &calls))
	if calls != 3 || asked != 1 || said != 3 || names(t, o.Dir) != before {
		t.Errorf("read %d times, asked %d times, said %d times: %s", calls, asked, said, names(t, o.Dir))
	}
	// Who leaves before the answer decides nothing for the others.
	ctx, leave := context.WithCancel(t.Context())
	o.Identify = func(ctx context.Context) (types.UID, error) {
		leave()
		<-ctx.Done()
		return "", ctx.Err()
	}
	c = Open(o)
	_, _ = c.GetOrReadIndex(ctx, "a", counted(x, &calls))
	c.disk.identity.identify = uidOf("east")
	if cluster, err := c.disk.identity.identifyCluster(t.Context()); err != nil || cluster.UID != "east" {
		t.Errorf("%+v, %v", cluster, err)
	}
}

// TestUnusableDisk goes on without the disk, and says so.
func TestUnusableDisk(t *testing.T) {
	x := capture(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	linked := t.TempDir()
	if err := os.Symlink(file, filepath.Join(linked, fileOf("a"))); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "below"), linked} {
		calls, told := 0, 0
		c := Open(Options{Dir: dir, OnError: func(error) { told++ }})
		ask(t, c, "a", counted(x, &calls))
		ask(t, c, "a", counted(x, &calls))
		if calls != 1 || told == 0 {
			t.Errorf("%s: read %d times, %d errors told", dir, calls, told)
		}
	}
	if data, err := os.ReadFile(file); err != nil || len(data) > 0 {
		t.Errorf("wrote through a link: %d bytes, %v", len(data), err)
	}
}

func TestOddUIDsStayOffTheDisk(t *testing.T) {
	x := capture(t)
	dir := t.TempDir()
	c := Open(Options{Dir: filepath.Join(dir, "in"), OnError: failTest(t)})
	for _, uid := range []string{"", "..", "../a", "a/b", "a.b", "-a", strings.Repeat("a", 65), "a\x00"} {
		calls := 0
		ask(t, c, uid, counted(x, &calls))
		if ask(t, c, uid, counted(x, &calls)); calls != 1 {
			t.Errorf("%q: read %d times", uid, calls)
		}
	}
	if got := names(t, dir); got != "" {
		t.Errorf("wrote %s", got)
	}
}

func TestLeftoversGo(t *testing.T) {
	x, calls := capture(t), 0
	dir := t.TempDir()
	for name, age := range map[string]time.Duration{"old.1.tmp": 2 * statedir.LeftoverAge, "new.2.tmp": 0} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		when := time.Now().Add(-age)
		if err := os.Chtimes(path, when, when); err != nil {
			t.Fatal(err)
		}
	}
	ask(t, Open(Options{Dir: dir, OnError: failTest(t)}), "a", counted(x, &calls))
	if got := names(t, dir); got != "a.index new.2.tmp" {
		t.Error(got)
	}
}

func TestErrorsAreNotKept(t *testing.T) {
	x := capture(t)
	dir := t.TempDir()
	c := Open(Options{Dir: dir, OnError: failTest(t)})
	broken := errors.New("broken off")
	got, err := c.GetOrReadIndex(t.Context(), "a", func(context.Context) (*collector.Index, error) { return x, broken })
	if got != x || !errors.Is(err, broken) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := c.GetOrReadIndex(
		t.Context(),
		"a",
		func(context.Context) (*collector.Index, error) { panic("oh") },
	); err == nil ||
		!strings.Contains(err.Error(), "oh") {
		t.Errorf("a panic became %v", err)
	}
	calls := 0
	if ask(t, c, "a", counted(x, &calls)); calls != 1 {
		t.Error("was kept")
	}
}

// TestShared has many ask at once, some of whom leave.
func TestShared(t *testing.T) {
	x := capture(t)
	c := Open(Options{})
	reading, release := make(chan struct{}), make(chan struct{})
	calls := 0
	read := func(ctx context.Context) (*collector.Index, error) {
		calls++
		close(reading)
		select {
		case <-release:
			return x, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	first, leave := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() {
		_, err := c.GetOrReadIndex(first, "a", read)
		gone <- err
	}()
	<-reading
	var all sync.WaitGroup
	results := make(chan error, 20)
	for range cap(results) {
		all.Add(1)
		go func() {
			defer all.Done()
			got, err := c.GetOrReadIndex(t.Context(), "a", read)
			if got != x && err == nil {
				err = fmt.Errorf("got %v", got)
			}
			results <- err
		}()
	}
	waitFor(t, func() bool { return waiting(c, "a") == cap(results)+1 })
	leave() // who began it may go; the others stay
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("who left got %v", err)
	}
	close(release)
	all.Wait()
	for range cap(results) {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	if calls != 1 {
		t.Errorf("read %d times", calls)
	}
}

// TestLastOneEndsTheReading has nobody wait any more: the reading is told to
// end, the last waits until it has, and whoever comes then begins a new one.
func TestLastOneEndsTheReading(t *testing.T) {
	x := capture(t)
	c := Open(Options{})
	reading, told, cleaned := make(chan struct{}), make(chan struct{}), make(chan struct{})
	read := func(ctx context.Context) (*collector.Index, error) {
		close(reading)
		<-ctx.Done()
		close(told)
		<-cleaned
		return nil, ctx.Err()
	}
	why := errors.New("why")
	ctx, leave := context.WithCancelCause(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := c.GetOrReadIndex(ctx, "a", read)
		left <- err
	}()
	<-reading
	leave(why)
	<-told
	calls := 0
	if ask(t, c, "a", counted(x, &calls)); calls != 1 {
		t.Error("joined a reading that had been given up")
	}
	select {
	case err := <-left:
		t.Errorf("left before the reading had cleaned up: %v", err)
	default:
	}
	close(cleaned)
	if err := <-left; !errors.Is(err, why) {
		t.Errorf("the last one got %v", err)
	}
	if _, err := c.GetOrReadIndex(ctx, "b", read); !errors.Is(err, context.Canceled) {
		t.Errorf("asked after the end: %v", err)
	}
	if len(c.reads) != 0 {
		t.Errorf("%d readings are still known", len(c.reads))
	}
}

func waiting(c *Cache, uid string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.reads[uid]; f != nil {
		return f.waiters
	}
	return 0
}

func waitFor(t *testing.T, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("waited a minute in vain")
		}
	}
}

// TestClustersDoNotMix: a backup of the same uid in another cluster is another.
func TestClustersDoNotMix(t *testing.T) {
	dir, calls := t.TempDir(), 0
	x := ask(t, Open(Options{Dir: dir, Cluster: "east", OnError: failTest(t)}), "a-1", counted(capture(t), &calls))
	for _, cluster := range []string{"west", ""} {
		ask(t, Open(Options{Dir: dir, Cluster: cluster, OnError: failTest(t)}), "a-1", counted(x, &calls))
	}
	if calls != 3 {
		t.Errorf("read %d times for three clusters", calls)
	}
	ask(t, Open(Options{Dir: dir, Cluster: "east", OnError: failTest(t)}), "a-1", counted(x, &calls))
	if calls != 3 {
		t.Errorf("read %d times: the cluster's own is not found again", calls)
	}
}
