package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/assess/coverage"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// AssessCoverage judges which objects of a cluster its stored backups cover. say is called with what is being read.
func (c *Cluster) AssessCoverage(
	ctx context.Context,
	a *assess.Assessment,
	o coverage.Options,
	say func(string),
) (*coverage.Result, error) {
	l, err := c.readCoverage(ctx, a, o.OnlyNamespaces, say)
	if err != nil {
		return nil, err
	}
	o.Now, o.CopyRules, o.RestoreEnds = a.World.Now, a.CopyRules(), a.RestoreEnds()
	judge := coverage.NewJudge(l.cluster, a.CoverageSchedules(), a.SortedBackups(), o)
	if err := c.readRecords(ctx, a, judge, say); err != nil {
		return nil, err
	}
	result := judge.JudgeAll()
	result.Requests = l.RequestCost().Requests
	return result, nil
}

// PredictBackup predicts what the next backup of a schedule includes.
func (c *Cluster) PredictBackup(
	ctx context.Context,
	a *assess.Assessment,
	schedule string,
	say func(string),
) (*coverage.Prediction, error) {
	all := a.CoverageSchedules()
	i := slices.IndexFunc(all, func(s *coverage.Schedule) bool { return s.Name == schedule })
	if i < 0 {
		return nil, fmt.Errorf("there is no schedule %s in namespace %s", schedule, a.Snapshot.Namespace)
	}
	l, err := c.readCoverage(ctx, a, nil, say)
	if err != nil {
		return nil, err
	}
	l.findSelectedNamespaces(ctx, all[i])
	if err := l.Wait(ctx); err != nil {
		return nil, err
	}
	return new(coverage.Predict(l.cluster, all[i])), nil
}

// maxConcurrentReads is how many backups, or lists, are read at the same time.
const maxConcurrentReads = 8

// readRecords reads the records of backups, newest first. The first record is read alone, as it may settle
// everything.
func (c *Cluster) readRecords(
	ctx context.Context,
	a *assess.Assessment,
	judge *coverage.Judge,
	say func(string),
) error {
	conn, err := c.Connect()
	if err != nil {
		return err
	}
	records := c.CoverageRecords.forCluster(ctx, conn)
	queue, at, read := a.SortedBackups(), 1, 0
	say(fmt.Sprintf("reading what backups hold: at most %s left", human.Number(len(queue))))
	refused := error(nil)
	for len(queue) > 0 {
		var batch []*veleroapi.Backup
		for ; len(queue) > 0 && len(batch) < at; queue = queue[1:] {
			if judge.NeedsBackup(queue[0]) {
				batch = append(batch, queue[0])
			}
		}
		at = min(2*at, maxConcurrentReads)
		found, errs := make([]*coverage.Record, len(batch)), make([]error, len(batch))
		var running sync.WaitGroup
		for i, b := range batch {
			running.Go(func() { found[i], errs[i] = c.fetchRecord(ctx, records, a.Snapshot.Namespace, b, refused) })
		}
		running.Wait()
		late := OutOfTimeCause(ctx)
		switch {
		case late != nil:
			refused = cmp.Or(refused, late) // records on disk are still read
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		for i, b := range batch {
			if errs[i] == nil {
				judge.AddBackup(b, found[i])
				continue
			}
			if judge.RecordUnread(b, cmp.Or(late, errs[i])); late != nil {
				continue
			}
			if errors.Is(errs[i], artifact.ErrForbidden) || c.ReadOnly {
				refused = errs[i] // as are all other backups, except for records on disk
			}
		}
		read += len(batch)
		say(fmt.Sprintf("reading what backups hold: %d read, at most %s left", read, human.Number(len(queue))))
	}
	return nil
}

// fetchRecord reads what is stored of a backup, once.
func (c *Cluster) fetchRecord(
	ctx context.Context, records CoverageRecords, namespace string, b *veleroapi.Backup, refused error,
) (*coverage.Record, error) {
	if r := records.loadRecord(b.UID); r != nil {
		return r, nil
	}
	if refused != nil {
		return nil, refused
	}
	j := &job.Job{Kind: job.Backup, Namespace: namespace, Name: b.Name}
	list, err := readArtifact(
		ctx,
		c,
		j,
		func(f *artifact.Fetcher, ctx context.Context, kind job.Kind, name string) ([]artifact.KindItems, error) {
			return f.FetchItemsOfKinds(ctx, kind, name, coverage.IsWantedKind)
		},
	)
	if err != nil {
		return nil, err
	}
	volumes, err := c.FetchStoredVolumes(ctx, j)
	if err != nil && !errors.Is(err, artifact.ErrAbsent) {
		return nil, err
	}
	r := coverage.NewRecord(list, volumes, err != nil)
	if b.Status.Errors > 0 {
		results, err := readArtifact(ctx, c, j, (*artifact.Fetcher).FetchResults)
		if err != nil && !errors.Is(err, artifact.ErrAbsent) {
			return nil, err
		}
		r.AddErrors(results.Errors.AllMessages())
	}
	records.saveRecord(b.UID, r)
	return r, nil
}
