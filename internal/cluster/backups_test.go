package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestFailuresBackOff(t *testing.T) {
	var f downloadFailures
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	broken := errors.New("the store is broken")
	var waits []string
	for range 9 {
		f.recordResult("a", broken, now)
		f.recordResult("a", errors.New("the second who waited"), now)
		begin := now
		for f.recentFailure("a", now) != nil {
			if err := f.recentFailure(
				"a",
				now,
			); !errors.Is(err, broken) ||
				!strings.Contains(err.Error(), begin.Format(time.TimeOnly)) {
				t.Fatal(err)
			}
			now = now.Add(time.Minute)
		}
		waits = append(waits, now.Sub(begin).String())
	}
	if got := strings.Join(waits, " "); got != "1m0s 2m0s 4m0s 8m0s 16m0s 32m0s 1h0m0s 1h0m0s 1h0m0s" {
		t.Errorf("waits %s", got)
	}
	if err := f.recentFailure("b", now); err != nil {
		t.Error(err)
	}
	f.recordResult("a", nil, now)
	f.recordResult("a", fmt.Errorf("ended: %w", context.Canceled), now)
	f.recordResult("a", ErrNoDownload, now)
	if err := f.recentFailure("a", now); err != nil {
		t.Errorf("after a success: %v", err)
	}
	for i := range 2 * maxFailures {
		f.recordResult(fmt.Sprint(i), broken, now)
	}
	if len(f.byUID) != maxFailures {
		t.Errorf("%d are remembered", len(f.byUID))
	}
}
