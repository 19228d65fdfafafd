package history

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/veltui/veltui/internal/job/forecast"
	"github.com/veltui/veltui/internal/statedir"
)

// told is what a restore tells that takes the same for every item.
func told(seconds float64, resources ...string) forecast.Rates {
	r := forecast.Rates{Throttle: forecast.Cost{Seconds: 0.02, SeenSeconds: 10}, Resources: map[string]forecast.Cost{}}
	for _, name := range resources {
		r.Resources[name] = forecast.Cost{Seconds: seconds, SeenSeconds: 10}
	}
	return r
}

func failTest(t *testing.T) func(error) {
	return func(err error) { t.Errorf("the file: %v", err) }
}

// in opens the book of one cluster in a folder, and gives its file's path.
func in(dir string, failed func(error)) (*RateStore, string) {
	b := Open(Options{Dir: dir, Context: "lab", Server: "https://127.0.0.1:6443", OnError: failed})
	return b, b.path
}

func checkCost(t *testing.T, r forecast.Rates, resource string, want float64) {
	t.Helper()
	if got := r.Resources[resource].Seconds; math.Abs(got-want) > 1e-9 {
		t.Errorf("%s: %v seconds an item, want %v; all: %+v", resource, got, want, r)
	}
}

func TestKeepsWhatItLearned(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "veltui", "rates")
	b, path := in(dir, failTest(t))
	if known := b.LoadRates(); known.Throttle.IsValid() || len(known.Resources) > 0 {
		t.Errorf("an empty book knows %+v", known)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("reading made the folder: %v", err)
	}
	b.AddRates(told(0.1, "pods"))
	b.AddRates(told(0.05, "secrets"))
	again, _ := in(dir, failTest(t))
	known := again.LoadRates()
	checkCost(t, known, "pods", 0.1)
	checkCost(t, known, "secrets", 0.05)
	if !known.Throttle.IsValid() {
		t.Errorf("%+v", known)
	}
	for path, want := range map[string]os.FileMode{dir: 0o700, path: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want mode %o", path, info.Mode(), err, want)
		}
	}
	if left := names(t, dir); len(left) != 1 {
		t.Errorf("left behind: %q", left)
	}
	for _, o := range []Options{{Dir: dir, Context: "other", Server: "https://127.0.0.1:6443"}, {Dir: dir, Context: "lab", Server: "https://127.0.0.1:7443"}} {
		if other := Open(o).LoadRates(); len(other.Resources) > 0 {
			t.Errorf("another cluster's book knows %+v", other)
		}
	}
}

// What is newer outweighs what is older, however long that was seen.
func TestNewerOutweighsOlder(t *testing.T) {
	b, _ := in(t.TempDir(), failTest(t))
	for range 50 {
		b.AddRates(told(0.1, "pods"))
	}
	for range 20 {
		b.AddRates(told(0.4, "pods"))
	}
	if got := b.LoadRates().Resources["pods"]; got.Seconds < 0.35 || got.SeenSeconds > 120 {
		t.Errorf("%+v after the cluster became slower", got)
	}
}

func TestWithoutADisk(t *testing.T) {
	b := Open(Options{OnError: failTest(t)})
	b.AddRates(told(0.1, "pods"))
	checkCost(t, b.LoadRates(), "pods", 0.1)
}

func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func TestUselessFilesAreBegunAnew(t *testing.T) {
	good, err := encodeRates(told(0.3, "pods"))
	if err != nil {
		t.Fatal(err)
	}
	var crowd strings.Builder
	for i := range maxResources + 1 {
		fmt.Fprintf(&crowd, `"r%d":{"secondsPerItem":1,"seenSeconds":1},`, i)
	}
	for name, content := range map[string]string{
		"empty":           "",
		"junk":            "\x00\x01\x02",
		"half":            string(good[:len(good)/2]),
		"two":             string(good) + string(good),
		"an unknown word": strings.Replace(string(good), `"resources"`, `"extra": 1, "resources"`, 1),
		"negative":        strings.Replace(string(good), "0.3", "-0.3", 1),
		"zero":            strings.Replace(string(good), "0.3", "0", 1),
		"infinite":        strings.Replace(string(good), "0.3", "1e999", 1),
		"absurd":          strings.Replace(string(good), "0.3", "1e30", 1),
		"odd name":        strings.Replace(string(good), "pods", `\u001b[31mpods`, 1),
		"long name":       strings.Replace(string(good), "pods", strings.Repeat("p", 300), 1),
		"a crowd":         `{"resources":{` + strings.TrimSuffix(crowd.String(), ",") + "}}",
		"deep":            strings.Repeat("[", 100_000),
		"huge":            string(good) + strings.Repeat(" ", maxFileBytes),
		"not an object":   "[1]",
	} {
		t.Run(name, func(t *testing.T) {
			dir, said := t.TempDir(), 0
			b, path := in(dir, func(error) { said++ })
			if err := b.stateDir().WriteSealed(filepath.Base(path), ownHeader(b), []byte(content)); err != nil {
				t.Fatal(err)
			}
			if known := b.LoadRates(); len(known.Resources) > 0 || known.Throttle.IsValid() || said != 1 {
				t.Errorf("known %+v, %d errors told", known, said)
			}
			b.AddRates(told(0.1, "secrets"))
			again, _ := in(dir, failTest(t))
			known := again.LoadRates()
			checkCost(t, known, "secrets", 0.1)
			if len(known.Resources) != 1 {
				t.Errorf("%+v", known)
			}
		})
	}
}

func ownHeader(b *RateStore) statedir.Header {
	return newHeader(statedir.ClusterID{Address: b.server, Identified: true})
}

// What a file says that it is of decides, not its name: rates are those of one cluster and context.
func TestRatesOfAnotherCluster(t *testing.T) {
	own := Options{Context: "lab", Server: "https://127.0.0.1:6443", ClusterUID: uidOf("east", true)}
	for name, c := range map[string]struct {
		change func(o *Options)
		used   bool
	}{
		"own":                     {func(*Options) {}, true},
		"another context":         {func(o *Options) { o.Context = "prod" }, false},
		"another address":         {func(o *Options) { o.Server = "https://127.0.0.1:7443" }, false},
		"made anew":               {func(o *Options) { o.ClusterUID = uidOf("west", true) }, false},
		"uid that cannot be read": {func(o *Options) { o.ClusterUID = uidOf("", true) }, false},
		"not asked for its uid":   {func(o *Options) { o.ClusterUID = uidOf("", false) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			from, to, said := own, own, 0
			from.Dir, from.OnError, to.Dir = t.TempDir(), failTest(t), t.TempDir()
			c.change(&from)
			to.OnError = func(error) { said++ }
			other, b := Open(from), Open(to)
			other.AddRates(told(0.1, "pods"))
			data, err := os.ReadFile(other.path)
			if err := errors.Join(err, os.WriteFile(b.path, data, 0o600)); err != nil {
				t.Fatal(err)
			}
			if known := b.LoadRates(); (len(known.Resources) > 0) != c.used || (said == 0) != c.used {
				t.Errorf("%+v, %d errors told", known, said)
			}
			b.AddRates(told(0.1, "secrets"))
			if known := Open(to).LoadRates(); (len(known.Resources) == 2) != c.used || len(known.Resources) == 0 {
				t.Errorf("learned anew: %+v", known)
			}
		})
	}
}

func uidOf(uid string, asked bool) func() (string, bool) {
	return func() (string, bool) { return uid, asked }
}

// Who has not asked for the uid compares what is known, and leaves in the file what it says.
func TestRatesBeforeTheUIDIsKnown(t *testing.T) {
	o := Options{
		Dir:        t.TempDir(),
		Context:    "lab",
		Server:     "https://127.0.0.1:6443",
		ClusterUID: uidOf("east", true),
		OnError:    failTest(t),
	}
	Open(o).AddRates(told(0.1, "pods"))
	unasked := o
	unasked.ClusterUID = uidOf("", false)
	Open(unasked).AddRates(told(0.1, "secrets"))
	if known := Open(o).LoadRates(); len(known.Resources) != 2 {
		t.Errorf("%+v", known)
	}
}

// What older versions wrote, and what is damaged, is begun anew.
func TestDamagedBook(t *testing.T) {
	dir := t.TempDir()
	b, path := in(dir, failTest(t))
	b.AddRates(told(0.3, "pods"))
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	flipped := slices.Clone(good)
	flipped[len(flipped)-20] ^= 1
	plain, err := encodeRates(told(0.3, "pods"))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"older": plain, "truncated": good[:len(good)-1], "flipped": flipped, "empty": nil, "huge": make([]byte, maxFileBytes*2),
	} {
		said := 0
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		b, _ := in(dir, func(error) { said++ })
		if known := b.LoadRates(); len(known.Resources) > 0 || said != 1 {
			t.Errorf("%s: %+v, %d errors told", name, known, said)
		}
		b.AddRates(told(0.1, "secrets"))
		again, _ := in(dir, failTest(t))
		if known := again.LoadRates(); len(known.Resources) != 1 {
			t.Errorf("%s: %+v", name, known)
		}
	}
}

// TestUnusablePlaces goes on without the disk, says so, and harms nothing.
func TestUnusablePlaces(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	linked, folder, held := t.TempDir(), t.TempDir(), t.TempDir()
	_, link := in(linked, nil)
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	_, path := in(folder, nil)
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	holder, path := in(held, nil)
	unlock, err := holder.stateDir().Lock(filepath.Base(path), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	for name, dir := range map[string]string{"a file": file, "below a file": filepath.Join(file, "below"), "a link": linked, "a folder": folder, "somebody holds it": held} {
		said := 0
		b, _ := in(dir, func(error) { said++ })
		b.lockTimeout = time.Millisecond
		b.AddRates(told(0.1, "pods"))
		if said == 0 {
			t.Errorf("%s: nothing was said", name)
		}
		checkCost(t, b.LoadRates(), "pods", 0.1)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "mine" {
		t.Errorf("the file that is not ours: %q, %v", data, err)
	}
}

// A program that was killed while it held the lock holds nobody up for long.
func TestAbandonedLock(t *testing.T) {
	dir := t.TempDir()
	b, path := in(dir, failTest(t))
	if err := os.WriteFile(path+".lock", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b.AddRates(told(0.1, "pods"))
	if left := names(t, dir); len(left) != 1 {
		t.Errorf("left behind: %q", left)
	}
}

// Several programs learn at a time; none undoes what another has learned.
func TestSeveralLearn(t *testing.T) {
	dir := t.TempDir()
	const programs, times = 4, 10
	var wait sync.WaitGroup
	for p := range programs {
		wait.Go(func() {
			b, _ := in(dir, failTest(t))
			b.lockTimeout = time.Hour // a slow machine is no reason to fail
			for n := range times {
				b.AddRates(told(0.1, fmt.Sprintf("kind-%d-%d", p, n)))
				b.LoadRates()
			}
		})
	}
	wait.Wait()
	b, _ := in(dir, failTest(t))
	if known := b.LoadRates(); len(known.Resources) != programs*times {
		t.Errorf("%d of %d resources are known", len(known.Resources), programs*times)
	}
	if left := names(t, dir); len(left) != 1 {
		t.Errorf("left behind: %q", left)
	}
}

func TestBookIsBounded(t *testing.T) {
	var all []string
	for i := range maxResources + 100 {
		all = append(all, strings.Repeat("long-name.", 24)+fmt.Sprint(i))
	}
	r := told(0.1, all...)
	r.Resources["pods"] = forecast.Cost{Seconds: 0.1, SeenSeconds: 50}
	r.Resources["\x1b[31m"] = forecast.Cost{Seconds: 0.1, SeenSeconds: 60}
	dir := t.TempDir()
	b, path := in(dir, failTest(t))
	b.AddRates(r)
	known := b.LoadRates()
	if len(known.Resources) != maxResources || !known.Resources["pods"].IsValid() {
		t.Errorf("%d resources, pods %+v", len(known.Resources), known.Resources["pods"])
	}
	if info, err := os.Stat(path); err != nil || info.Size() > maxFileBytes {
		t.Errorf("%v, %v", info.Size(), err)
	}
}

// Clusters that are gone do not fill the folder, nor do programs that were
// killed while they wrote; files of others stay.
func TestFolderIsBounded(t *testing.T) {
	dir := t.TempDir()
	b, path := in(dir, failTest(t))
	old := time.Now().Add(-48 * time.Hour)
	for i := range maxFiles + 20 {
		name := filepath.Join(dir, fmt.Sprintf("%03d.rates", i))
		if err := errors.Join(
			os.WriteFile(name, nil, 0o600),
			os.Chtimes(name, old, old.Add(time.Duration(i)*time.Minute)),
		); err != nil {
			t.Fatal(err)
		}
	}
	half, notes := path+".123.tmp", filepath.Join(dir, "notes.txt")
	for _, name := range []string{half, notes} {
		if err := errors.Join(os.WriteFile(name, nil, 0o600), os.Chtimes(name, old, old)); err != nil {
			t.Fatal(err)
		}
	}
	b.AddRates(told(0.1, "pods"))
	left := names(t, dir)
	if len(left) != maxFiles+1 || left[0] != "021.rates" && left[1] != "021.rates" {
		t.Errorf("%d files are left: %q", len(left), left)
	}
	if !slices.Contains(left, filepath.Base(path)) || !slices.Contains(left, "notes.txt") {
		t.Errorf("%q", left)
	}
}

// FuzzDecode: whatever a file holds, what comes out of it can be used, and is
// read again as it was written.
func FuzzDecode(f *testing.F) {
	good, err := encodeRates(told(0.3, "pods", "widgets.lab.example.com"))
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{string(good), string(good[:40]), "{}", `{"version":1}`, `{"throttle":{"secondsPerItem":1e-320,"seenSeconds":1}}`, `{"resources":{"a":{"secondsPerItem":1,"seenSeconds":1e9}}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := decodeRates(data)
		if err != nil {
			return
		}
		for name, c := range r.Resources {
			if !c.IsValid() || !resourceNamePattern.MatchString(name) {
				t.Fatalf("%q: %+v", name, c)
			}
		}
		for range 3 {
			r = r.MergeNewer(r)
		}
		written, err := encodeRates(r)
		if err != nil {
			t.Fatal(err)
		}
		again, err := decodeRates(written)
		if err != nil || len(again.Resources) != len(r.Resources) {
			t.Fatalf("%v, %d of %d resources", err, len(again.Resources), len(r.Resources))
		}
		c := forecast.NewForecaster(
			[]forecast.ResourceStep{{Resource: "pods", Items: 100}, {Resource: "a", Items: 100}},
			again,
			forecast.ClientLimit{},
		)
		for i := range 20 {
			c.ObserveItems(time.Unix(int64(i), 0), i*7)
			if left, ok := c.EstimateLeft(time.Unix(int64(i), 0)); ok && left.Low < 0 {
				t.Fatalf("%v left", left)
			}
		}
	})
}
