package assess

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/job/forecast"
	"github.com/veltui/veltui/internal/job/forecast/score"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// recordedRestores are restores at Velero's default rate (make e2e-eta), with what was known before they began.
const recordedRestores = "../job/testdata/replays/e2e-eta-*"

// recordedRestore is one of them: what was watched, and when.
type recordedRestore struct {
	name     string
	expected collector.Estimate
	at       []time.Time
	restores []*veleroapi.Restore
}

func readRecordedRestores(t *testing.T) (all []recordedRestore) {
	t.Helper()
	dirs, err := filepath.Glob(recordedRestores)
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for _, dir := range dirs {
		r := recordedRestore{name: filepath.Base(dir)}
		data, err := os.ReadFile(filepath.Join(dir, "estimate.json"))
		if err == nil {
			err = json.Unmarshal(data, &r.expected)
		}
		if err == nil {
			data, err = os.ReadFile(filepath.Join(dir, "watch.jsonl"))
		}
		if err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
			var event struct {
				T      float64
				Object veleroapi.Restore
			}
			if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
				t.Fatal(err)
			}
			whole, part := math.Modf(event.T)
			r.at = append(r.at, time.Unix(int64(whole), int64(part*1e9)))
			r.restores = append(r.restores, &event.Object)
		}
		all = append(all, r)
	}
	return all
}

// show replays the recording and returns what is shown at each event, and what the restore shows about the cluster.
func (r recordedRestore) show(known forecast.Rates, limit forecast.ClientLimit) (score.Restore, []forecast.Rates) {
	var e Estimates
	var shown score.Restore
	var j *job.Job
	e.Set(r.restores[0].UID, r.expected, known, limit)
	for i, restore := range r.restores {
		j = job.Fold(j, job.Observation{Restore: restore, ObservedAt: r.at[i]})
		snap := snapshotOf(r.at[i], j)
		snap.Server.StartedAt = r.at[0].Add(-time.Hour)
		a := e.AssessSnapshot(snap, r.at[i])
		judged := a.AssessJob(a.Snapshot.Jobs[0])
		if j.Stage == job.StageItems && j.Items.Known {
			shown.Ended, shown.Total = r.at[i], j.Items.Total
		}
		if judged.Stage != job.StageItems {
			continue
		}
		shown.Readings = append(shown.Readings, score.Reading{
			At: r.at[i], Done: judged.Items.Done, VeleroTotal: j.Items.Total, Total: judged.Items.Total,
			Fraction: judged.Fraction, InItems: true,
			ETA: judged.ETA.Left, Low: judged.ETA.Low, High: judged.ETA.High, Known: judged.ETA.Known, Rough: judged.ETA.Rough,
		})
	}
	return shown, e.TakeLearnedRates()
}

// TestShownNumbers replays restores and holds every number that was shown against what came of it: the total is right
// from the first second on, and the time left good over the whole run, with and without earlier restores.
func TestShownNumbers(t *testing.T) {
	var learned forecast.Rates
	defaults := forecast.ClientLimit{QPS: 100, Burst: 100}
	for _, r := range readRecordedRestores(t) {
		var told []forecast.Rates
		for name, c := range map[string]struct {
			known forecast.Rates
			limit forecast.ClientLimit
		}{
			"nothing known":   {forecast.Rates{}, forecast.ClientLimit{}},
			"limit known":     {forecast.Rates{}, defaults},
			"earlier restore": {learned, defaults},
		} {
			var shown score.Restore
			shown, told = r.show(c.known, c.limit)
			s := shown.Score()
			t.Logf("%s, %s: %s", r.name, name, s)
			if s.WrongTotals > 0 || s.VeleroWrongTotals == 0 || s.Setbacks > 0 || s.Overruns > 0 {
				t.Errorf("%s, %s: totals and bar: %s", r.name, name, s)
			}
			// Whether items exist shows in the first seconds of a restore.
			exists, median, ninth := strings.HasSuffix(r.name, "-again"), 5.0, 12.0
			if exists {
				median, ninth = 15, 75
			}
			if s.Blank > 2 || !(s.MedianError <= median) || !(s.NinthError <= ninth) || s.Held < s.Ranges || s.Jumps > 0 {
				t.Errorf("%s, %s: the time left: %s", r.name, name, s)
			}
			if s.FormChanges > 2 { // it appears, and becomes precise
				t.Errorf("%s, %s: the form flickers: %s", r.name, name, s)
			}
			if exists != (len(told) == 0) {
				t.Errorf("%s: learned %d times", r.name, len(told))
			}
		}
		for _, rates := range told {
			learned = learned.MergeNewer(rates)
		}
	}
}
