package cluster

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/preflight"
	"github.com/veltui/veltui/internal/restore/prepare"
	"github.com/veltui/veltui/internal/restore/verify"
	"github.com/veltui/veltui/watch"
)

// compareContents compares the content of what is there with what the restore was to make of the backup.
func (c *Cluster) compareContents(
	ctx context.Context,
	j *job.Job,
	q SurveyQuestion,
	in verify.Input,
	result *verify.Result,
	reader *live.Reader,
	served *live.Served,
	far func(string),
) error {
	store, index, err := c.readIndex(ctx, j.Namespace, in.Backup, func(int64, int64) {})
	if err != nil {
		return err
	}
	q.Index = index
	around, err := reader.Surroundings(ctx, served, live.Around{Velero: j.Namespace, Configs: q.configs()})
	if err != nil {
		return err
	}
	comparison := verify.NewComparison(in, result, rulesToCompare(q, around, j.Name, result), versionsOf(q))
	broken := store.Bodies(
		in.Backup,
		func(done, total int64) { far("reading the backup: " + human.BytesOf(done, total)) },
	)(
		ctx,
		comparison.Wants,
		comparison.Backup,
	)
	if ctx.Err() != nil || errors.Is(broken, ErrNoDownload) {
		return broken
	}
	unseen, err := reader.LookWhole(
		ctx,
		served,
		comparison.Question(),
		index.Version,
		comparison.Live,
		func(p live.Progress) { far(fmt.Sprintf("%d of %d lists", p.Done, p.Total)) },
	)
	if err != nil {
		return err
	}
	for _, namespace := range comparison.Scaled() {
		err := live.Visit(
			ctx,
			reader,
			served,
			"horizontalpodautoscalers.autoscaling",
			namespace,
			"",
			func(h *autoscaler) {
				least := int64(1)
				if h.Spec.MinReplicas != nil {
					least = *h.Spec.MinReplicas
				}
				comparison.Autoscaler(
					namespace,
					h.Spec.ScaleTargetRef.Kind,
					h.Spec.ScaleTargetRef.Name,
					least,
					h.Spec.MaxReplicas,
				)
			},
		)
		if err != nil {
			result.Unknown = true
			result.Notes = append(
				result.Notes,
				"Whether autoscalers changed replicas in namespace "+namespace+" is not known: "+err.Error(),
			)
		}
	}
	comparison.Finish(unseen, broken)
	return nil
}

// state is that of Velero with the backup, which is not watched by who asks about one restore alone.
func (e *Store) state(ctx context.Context, snap *watch.Snapshot, backup string) (preflight.Velero, error) {
	v := VeleroState(snap, backup)
	if v.Backup != nil {
		return v, nil
	}
	var err error
	v.Backup, err = e.Backup(ctx, backup)
	return v, err
}

// rulesToCompare are the rules by which a restore made its items. The result says what they may lack.
func rulesToCompare(q SurveyQuestion, around *live.Surroundings, restore string, result *verify.Result) prepare.Rules {
	rules, unread := rulesOf(q, survey{around: around})
	rules.Name = restore
	if unread != "" {
		result.Unknown = true
		result.Notes = append(result.Notes, "Whether Velero changed images or storage classes is not known: "+unread)
	}
	return rules
}

// autoscaler holds what counts of a HorizontalPodAutoscaler, in any version.
type autoscaler struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		MinReplicas    *int64 `json:"minReplicas"`
		MaxReplicas    int64  `json:"maxReplicas"`
		ScaleTargetRef struct {
			Kind string `json:"kind"`
			Name string `json:"name"`
		} `json:"scaleTargetRef"`
	} `json:"spec"`
}
