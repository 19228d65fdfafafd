package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/prepare"
	"github.com/veltui/veltui/internal/restore/verify"
)

// compareContents compares the content of the existing objects with what the restore was to make from the backup.
func (c *Cluster) compareContents(
	ctx context.Context,
	j *job.Job,
	q SurveyQuery,
	in verify.Input,
	result *verify.Result,
	reader *live.Reader,
	served *live.ServedKinds,
	far func(string),
) error {
	store, index, err := c.readIndex(ctx, j.Namespace, in.BackupName, func(int64, int64) {})
	if err != nil {
		return err
	}
	q.Index = index
	around, err := reader.FetchEnvironment(
		ctx,
		served,
		live.EnvironmentQuery{VeleroNamespace: j.Namespace, ConfigMapNames: q.configNames()},
	)
	if err != nil {
		return err
	}
	comparison := verify.NewComparison(in, result, buildComparisonRules(q, around, j.Name, result), ambiguousVersions(q))
	comparison.SetStatusKinds(served.KeepsStatus)
	broken := store.NewBodyReader(
		in.BackupName,
		func(done, total int64) { far("reading the backup: " + human.BytesProgress(done, total)) },
	)(
		ctx,
		comparison.WantsBody,
		comparison.AddBackupItem,
	)
	if ctx.Err() != nil || errors.Is(broken, ErrNoDownload) {
		return broken
	}
	unseen, err := reader.FetchObjects(
		ctx,
		served,
		comparison.BuildQuery(),
		index.PreferredVersion,
		comparison.CompareLive,
		func(p live.Progress) { far(fmt.Sprintf("%d of %d lists", p.Done, p.Total)) },
	)
	if err != nil {
		return err
	}
	for _, namespace := range comparison.ScaledNamespaces() {
		err := live.VisitObjects(
			ctx,
			reader,
			served,
			"horizontalpodautoscalers.autoscaling",
			namespace,
			"",
			func(h *autoscaler) {
				comparison.AddAutoscaler(
					namespace,
					h.Spec.ScaleTargetRef.Kind,
					h.Spec.ScaleTargetRef.Name,
					h.minReplicas(),
					h.Spec.MaxReplicas,
				)
			},
		)
		if err != nil {
			result.Incomplete = true
			result.Notes = append(
				result.Notes,
				"Whether autoscalers changed replicas in namespace "+namespace+" is not known: "+err.Error(),
			)
		}
	}
	comparison.FinishResult(unseen, broken)
	return nil
}

// buildComparisonRules returns the rules by which a restore made its items. The result says what the rules may lack.
func buildComparisonRules(
	q SurveyQuery,
	around *live.Environment,
	restore string,
	result *verify.Result,
) prepare.Rules {
	rules, unread := buildRules(q, survey{environment: around})
	rules.RestoreName = restore
	if unread != "" {
		result.Incomplete = true
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

// minReplicas returns how few replicas may be there. KEDA, whose autoscalers have at least one, scales to none without
// them (github.com/kedacore/keda controllers/keda/hpa.go, newHPAForScaledObject).
func (h *autoscaler) minReplicas() int64 {
	isScaledObject := func(o metav1.OwnerReference) bool { return o.Kind == "ScaledObject" }
	switch {
	case h.Labels["app.kubernetes.io/managed-by"] == "keda-operator",
		slices.ContainsFunc(h.OwnerReferences, isScaledObject):
		return 0
	case h.Spec.MinReplicas != nil:
		return *h.Spec.MinReplicas
	}
	return 1
}
