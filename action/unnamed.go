package action

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/job"
)

// refuseAnother refuses a creation under a default name, which is another each second, where an earlier attempt has
// created the same under such a name, or may have.
func (f *Engine) refuseAnother(ctx context.Context, p *Plan) {
	if !p.request.Unnamed || !p.Possible() || f.o.AuditDir == "" {
		return
	}
	asked := p.targets[len(p.targets)-1]
	source := sourceOf(asked)
	unfinished, _, err := UnfinishedAttempts(f.o.AuditDir, f.o.Now())
	if err != nil {
		p.Refuse(cannotTell("whether an earlier attempt has created one", err.Error()), "Give a NAME: it is created only if nothing has it.")
		return
	}
	for i, a := range slices.Concat(p.request.Earlier, unfinished) {
		if a.Action != string(Create) || a.Kind != string(p.Kind) || a.Namespace != p.Namespace || a.Name == asked.GetName() || !a.isFrom(source) || !f.IsHere(&a) {
			continue
		}
		if i >= len(p.request.Earlier) {
			if fate, err := f.Settle(ctx, &a); err == nil && fate.Known && fate.Sent != Landed {
				continue
			}
		}
		name := sanitize.String(a.Name)
		advice := "Give that NAME: it is created only if nothing has it. Another NAME makes another one."
		if p.Kind == job.Backup {
			advice = fmt.Sprintf("Give that NAME (%s): it is created only if nothing has it. Another NAME makes another one.", p.Veltui("backup", "create", name, "--from-schedule", source))
		}
		p.Refuse(fmt.Sprintf("an earlier attempt has created %s %s, or may have", p.Kind.Word(), name), advice)
		return
	}
}

// Refuse makes a plan that was possible one that creates nothing.
func (p *Plan) Refuse(why, advice string) {
	p.Title, p.Refusal, p.Advice = "create nothing", why, advice
	p.Will, p.WillNot, p.Then, p.Commands = nil, nil, nil, nil
}

// isFrom reports whether an attempt was to create an object from the same backup or schedule, as far as its log tells.
func (a *Attempt) isFrom(source string) bool {
	return slices.ContainsFunc(a.sends, func(sent Entry) bool {
		var o unstructured.Unstructured
		return sent.Target == "" && (json.Unmarshal(sent.Object, &o.Object) != nil || sourceOf(&o) == source)
	})
}

// sourceOf is the schedule or backup that an object is made from.
func sourceOf(o *unstructured.Unstructured) string {
	spec := mapOf(o, "spec")
	schedule, _ := spec["scheduleName"].(string)
	backup, _ := spec["backupName"].(string)
	return cmp.Or(o.GetLabels()[velerov1.ScheduleNameLabel], schedule, backup)
}
