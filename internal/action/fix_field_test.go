package action

import (
	"fmt"
	"strings"
	"testing"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/decode"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// spoiled is what is read of a backup with such a spec.
func spoiled(t *testing.T, spec string) []decode.MalformedField {
	t.Helper()
	found, err := decode.Object([]byte(fmt.Sprintf(`{"metadata":{"name":"x"},"spec":%s}`, spec)), &veleroapi.Backup{})
	if err != nil || len(found) == 0 {
		t.Fatalf("%v, %v", found, err)
	}
	return found
}

func spoiledJob(fields []decode.MalformedField) change {
	return func(e *Evidence) {
		j := *e.Job
		j.MalformedFields = fields
		e.Job = &j
	}
}

func spoiledVolume(field decode.MalformedField) change {
	return func(e *Evidence) {
		j := *e.Job
		j.Volumes = append(
			j.Volumes,
			job.Volume{Kind: velero.DataUpload, Name: "v", Phase: "Completed", MalformedField: field},
		)
		e.Job = &j
	}
}

// Nothing is done about a job that cannot be read, whatever is asked for and
// whatever the evidence says, and the remedy is the field and no restart.
func TestMalformedIsRefused(t *testing.T) {
	days := spoiled(t, `{"ttl":"30d"}`)
	fixTTL := `kubectl --context prod -n velero patch backups.velero.io x --type=json -p '[{"op":"test","path":"/spec/ttl","value":"30d"},` +
		`{"op":"replace","path":"/spec/ttl","value":"720h0m0s"}]'`
	for name, c := range map[string]struct {
		spoil   change
		refusal string
		command string
	}{
		"the job":         {spoiledJob(days), `MalformedSpec: spec.ttl is "30d"`, fixTTL},
		"a volume":        {spoiledVolume(days[0]), `MalformedSpec: DataUpload v: spec.ttl is "30d"`, "patch datauploads.velero.io v --type=json"},
		"the job as such": {spoiledJob(spoiled(t, `{"labelSelector":{"matchLabels":"`+strings.Repeat("long ", 200)+`"}}`)), "MalformedSpec: spec.labelSelector.matchLabels is", "kubectl --context prod -n velero edit backups.velero.io x"},
	} {
		for _, phase := range []string{"", "New", "Queued", "ReadyToStart", "InProgress", "WaitingForPluginOperations", "Finalizing", "FinalizingPartiallyFailed", "Dreaming"} {
			for _, asked := range []string{"", "Failed", "PartiallyFailed", "Finalizing"} {
				for _, server := range []change{alive, restarted, down} {
					e := evidence(t, job.Backup, phase, server, stored, c.spoil)
					r := Request{Phase: asked, Context: "prod"}
					p := draft(e, r)
					if p.Effect() != EffectRefuse || !strings.Contains(p.Refusal, c.refusal) ||
						!strings.Contains(p.Refusal, decode.ServerWarning) ||
						!strings.Contains(p.Advice, c.command) ||
						!strings.Contains(p.Advice, "Restarting the Velero server does not help") {
						t.Fatalf("%s, %q, asked for %q: %q %q", name, phase, asked, p.Refusal, p.Advice)
					}
					others := remedies(e, r)
					if len(others) != 1 || others[0].Action != FixField || others[0].Refusal == "" ||
						!strings.Contains(others[0].Commands[0], c.command) {
						t.Fatalf("%s, %q: %+v", name, phase, others)
					}
				}
			}
		}
	}
	for _, phase := range []string{"Completed", "Failed"} {
		if p := draft(
			evidence(t, job.Backup, phase, alive, spoiledJob(days)),
			Request{},
		); !strings.Contains(
			p.Refusal,
			"it has ended",
		) {
			t.Errorf("%s: %s", phase, p.Refusal)
		}
	}
}
