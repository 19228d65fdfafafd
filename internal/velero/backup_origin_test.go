package velero

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

func TestOriginOf(t *testing.T) {
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		phase      veleroapi.BackupPhase
		generation int64
		created    time.Duration // after the backup began
		never      bool
		reason     string
		want       Origin
	}{
		"run here":                        {"Completed", 8, 0, false, "", OriginHere},
		"after a minute in the queue":     {"Completed", 8, -time.Minute, false, "", OriginHere},
		"failed at a restart":             {"Failed", 3, -time.Second, false, "found a backup with status InProgress", OriginHere},
		"a server's clock a bit behind":   {"Completed", 8, 3 * time.Second, false, "", OriginHere},
		"synced":                          {"Completed", 1, time.Hour, false, "", OriginElsewhere},
		"synced, by a clock far behind":   {"Completed", 1, -time.Hour, false, "", OriginElsewhere},
		"synced, and its deletion failed": {"Deleting", 2, time.Hour, false, "", OriginElsewhere},
		"synced, and edited twice":        {"Completed", 3, time.Minute, false, "", OriginUnknown},
		"its name was taken":              {"Failed", 5, 0, false, "backup already exists in object storage", OriginElsewhere},
		"refused before it began":         {"FailedValidation", 2, 0, true, "", OriginUnknown},
		"written by nobody knows whom":    {"Completed", 0, 0, false, "", OriginUnknown},
		"without a start":                 {"Completed", 4, 0, true, "", OriginUnknown},
	} {
		b := &veleroapi.Backup{
			ObjectMeta: metav1.ObjectMeta{
				Generation:        c.generation,
				CreationTimestamp: metav1.NewTime(at.Add(c.created)),
			},
			Status: veleroapi.BackupStatus{Phase: c.phase, FailureReason: c.reason},
		}
		if !c.never {
			b.Status.StartTimestamp = &metav1.Time{Time: at}
		}
		if got, why := OriginOf(b); got != c.want || why == "" {
			t.Errorf("%s: %s (%s), want %s", name, got, why, c.want)
		}
	}
}
