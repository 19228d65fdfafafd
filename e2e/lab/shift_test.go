package lab

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"
)

// byName ages only the object "old".
func byName(_, name string) time.Duration {
	if name == "old" {
		return time.Hour
	}
	return 0
}

const (
	objectAtNoon = `{"metadata":{"name":"NAME","managedFields":[{"time":"2026-11-22T12:00:00Z"}]},"spec":{"ttl":"720h0m0s"}}`
	atEleven     = "2026-11-22T11:00:00Z"
	atNoon       = "2026-11-22T12:00:00Z"
)

func TestAgeDocumentMovesOnlySomeObjects(t *testing.T) {
	list := `{"kind":"BackupList","items":[` + strings.ReplaceAll(
		objectAtNoon,
		"NAME",
		"old",
	) + "," + strings.ReplaceAll(
		objectAtNoon,
		"NAME",
		"new",
	) + "]}"
	var document map[string]any
	if err := json.Unmarshal([]byte(list), &document); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(ageDocument(document, (&ShiftProxy{shift: TimeShift{AgeOf: func(kind, name string) time.Duration {
		if kind != "Backup" {
			t.Errorf("kind %q, want Backup", kind)
		}
		return byName(kind, name)
	}}}).ageObject))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(
		data,
	); strings.Count(got, atEleven) != 1 || strings.Count(got, atNoon) != 1 ||
		!strings.Contains(got, "720h0m0s") {
		t.Errorf("got %s", got)
	}
}

func TestAgeEventsPassesEachEventOn(t *testing.T) {
	in, out := io.Pipe()
	events := json.NewDecoder(ageEvents(in, (&ShiftProxy{shift: TimeShift{AgeOf: byName}}).ageObject))
	for _, name := range []string{"new", "old"} {
		go func() {
			_, _ = io.WriteString(out, `{"type":"ADDED","object":`+strings.ReplaceAll(objectAtNoon, "NAME", name)+"}\n")
		}()
		var event struct {
			Object struct {
				Metadata struct {
					ManagedFields []struct{ Time string }
				}
			}
		}
		if err := events.Decode(&event); err != nil { // though no further one has come
			t.Fatal(err)
		}
		want := map[string]string{"new": atNoon, "old": atEleven}[name]
		if got := event.Object.Metadata.ManagedFields[0].Time; got != want {
			t.Errorf("the time of %s is %s, want %s", name, got, want)
		}
	}
}
