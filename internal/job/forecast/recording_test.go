package forecast_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/job/forecast"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// existed are the namespaces that the targets of the recordings had;
// VELTUI_CAPTURES_NAMESPACES names others.
const existed = "velero,shop,billing,media,ops,quota-r17"

// recording is one restore of a real Velero, as veltui sees it.
type recording struct {
	name  string
	steps []forecast.ResourceStep
	items job.ItemEstimate
	// limit is that of the server, if its flags were recorded or are known.
	limit forecast.ClientLimit
	// estimate is what the steps sum up to, total what Velero ended with.
	estimate, total int
	// jobs is the restore after each event, which came at that time.
	jobs []*job.Job
	at   []time.Time
	// began is when it was in progress, ended when its last item was counted.
	began, ended time.Time
}

// places say where the parts of a set of recordings are, for its NAME or BACKUP.
type places struct{ restore, watch, backup, flags string }

// ours are the recordings of the repository.
var ours = places{
	restore: "../../../collector/testdata/restores/NAME/restore.yaml",
	watch:   "../testdata/replays/NAME/watch.jsonl",
	backup:  "../../../collector/testdata/BACKUP.tar.gz",
}

// capturesIn are recordings in one folder.
func capturesIn(dir string) places {
	return places{
		restore: filepath.Join(dir, "restores", "NAME", "restore.yaml"),
		watch:   filepath.Join(dir, "restores", "NAME", "watch.jsonl"),
		backup:  filepath.Join(dir, "backups", "BACKUP", "BACKUP.tar.gz"),
		flags:   filepath.Join(dir, "server-flags"),
	}
}

func in(pattern, word, value string) string {
	return string(bytes.ReplaceAll([]byte(pattern), []byte(word), []byte(value)))
}

// recordings reads all restores that restored anything, and says which were
// left out.
func recordings(t testing.TB, p places) (all []recording) {
	t.Helper()
	files, err := filepath.Glob(in(p.restore, "NAME", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings at %s: %v", p.restore, err)
	}
	flags := velero.DefaultServerFlags()
	if args, err := os.ReadFile(p.flags); err == nil {
		flags = velero.ParseServerFlags([]string{string(args)})
	}
	indexes := map[string]*collector.Index{}
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		var restore veleroapi.Restore
		read(t, file, func(data []byte) error { return yaml.Unmarshal(data, &restore) })
		watched := in(p.watch, "NAME", name)
		if _, err := os.Stat(watched); err != nil {
			t.Logf("%s is left out: %v", name, err)
			continue
		}
		r := follow(t, watched)
		if r.total == 0 {
			continue // it was refused, or there was nothing to restore
		}
		// Of a schedule's restore the server says which backup it took.
		backup := r.jobs[len(r.jobs)-1].BackupName
		restore.Spec.BackupName = backup
		if _, seen := indexes[backup]; !seen {
			indexes[backup] = index(t, in(p.backup, "BACKUP", backup))
		}
		if indexes[backup] == nil {
			t.Logf("%s is left out: its backup %s is not among the recordings", name, backup)
			continue
		}
		namespaces := os.Getenv("VELTUI_CAPTURES_NAMESPACES")
		if namespaces == "" {
			namespaces = existed
		}
		e, err := indexes[backup].Estimate(
			t.Context(),
			collector.RestoreInput{Restore: restore.Spec, ExistingNamespaces: collector.ParseNamespaces(namespaces)},
			collector.Discovery{},
		)
		if err != nil {
			t.Fatal(err)
		}
		r.steps, r.items = e.Steps, e.ItemEstimate()
		if r.name, r.estimate = name, e.Total; r.estimate != r.total {
			t.Logf("%s: the estimate is %d items, Velero ended with %d", name, r.estimate, r.total)
		}
		r.limit = forecast.ClientLimit{QPS: flags.ClientQPS, Burst: flags.ClientBurst}
		all = append(all, r)
	}
	return all
}

func read(t testing.TB, path string, decode func([]byte) error) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = decode(data)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// index reads a backup; nil if it is not there.
func index(t testing.TB, path string) *collector.Index {
	t.Helper()
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	x, err := collector.Read(t.Context(), f, collector.Limits{})
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return x
}

// follow folds a recorded watch into jobs.
func follow(t testing.TB, path string) (r recording) {
	t.Helper()
	read(t, path, func(data []byte) error {
		lines := bufio.NewScanner(bytes.NewReader(data))
		lines.Buffer(nil, 16<<20)
		var j *job.Job
		for lines.Scan() {
			var event struct {
				T      float64
				Object veleroapi.Restore
			}
			if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
				return err
			}
			whole, part := math.Modf(event.T)
			at := time.Unix(int64(whole), int64(part*1e9))
			j = job.Fold(j, job.Observation{Restore: &event.Object, ObservedAt: at})
			r.jobs, r.at = append(r.jobs, j), append(r.at, at)
			if j.Stage == job.StageItems {
				if r.began.IsZero() {
					r.began = at
				}
				r.ended, r.total = at, j.Items.Total
			}
		}
		return lines.Err()
	})
	return r
}

// watch shows a course what is seen of the restore, event by event.
func (r recording) watch(known forecast.Rates, seen func(c *forecast.Forecaster, j *job.Job, at time.Time)) forecast.Rates {
	c := forecast.NewForecaster(r.steps, known, r.limit)
	var last time.Time
	for i, j := range r.jobs {
		for _, s := range j.ItemCountsSince(last) {
			c.ObserveItems(s.At, s.Done)
			last = s.At
		}
		if seen != nil {
			seen(c, j, r.at[i])
		}
	}
	return c.LearnedRates()
}

// learned is what the recordings tell, without that of the given name.
func learned(all []recording, without string) (known forecast.Rates) {
	for _, r := range all {
		if r.name != without {
			known = known.MergeNewer(r.watch(forecast.Rates{}, nil))
		}
	}
	return known
}
