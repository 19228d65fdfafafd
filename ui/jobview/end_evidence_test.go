package jobview

import (
	"context"
	"errors"
	"testing"

	tea "charm.land/bubbletea/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/ui/fetch"
)

// lateStore is a cluster whose object store is away at first.
type lateStore struct {
	unread
	away     bool
	gathered int
}

func (l *lateStore) UnavailableReason(p cluster.Capability) string {
	if p == cluster.CapabilityStored {
		return ""
	}
	return l.unread.UnavailableReason(p)
}

func (l *lateStore) FetchResults(context.Context, *job.Job) (artifact.Results, error) {
	if l.away {
		return artifact.Results{}, errors.New("the store is away")
	}
	return artifact.Results{Errors: artifact.Messages{
		Namespaces: map[string][]string{"shop": {`pods "a" is forbidden: exceeded quota: q`}},
	}}, nil
}

func (l *lateStore) GatherEndEvidence(
	_ context.Context, a *assess.Assessment, j *job.Job,
) diagnosis.EndEvidence {
	l.gathered++
	found := a.World.Evidence[j.UID].EndEvidence
	if l.away {
		found.PodEventsUnread = "no answer"
	}
	return found
}

// Results that come after a time without the store say the cause, and what could not be read is read again.
func TestCauseOfResultsThatCameLate(t *testing.T) {
	began, ended := metav1.NewTime(noon.Add(-60e9)), metav1.NewTime(noon.Add(-50e9))
	s, _ := shown(t, job.Observation{Restore: &veleroapi.Restore{
		ObjectMeta: meta(), Spec: veleroapi.RestoreSpec{BackupName: "b"},
		Status: veleroapi.RestoreStatus{
			Phase: veleroapi.RestorePhasePartiallyFailed, Errors: 1, StartTimestamp: &began, CompletionTimestamp: &ended,
		},
	}})
	store := &lateStore{away: true}
	var answers []tea.Msg
	s.dependencies.Backend = store
	s.dependencies.Start = func(read func(context.Context) tea.Msg) (tea.Cmd, context.CancelFunc) {
		answers = append(answers, read(t.Context()))
		return func() tea.Msg { return nil }, func() {}
	}
	deliver := func() {
		s.FetchMissing()
		for i := 0; i < len(answers); i++ {
			answers[i].(fetch.Message).Deliver()
		}
		answers = nil
	}
	deliver()
	if store.gathered != 1 || !s.job.Verdict.Cause.IsZero() {
		t.Fatalf("without the store: read %d times, cause %s", store.gathered, s.job.Verdict.Cause.Text)
	}
	store.away = false
	s.ClearErrors()
	deliver()
	if s.job.Verdict.Cause.Reason != diagnosis.QuotaExceeded || store.gathered != 2 {
		t.Errorf("with the store: read %d times, cause %q", store.gathered, s.job.Verdict.Cause.Text)
	}
}
