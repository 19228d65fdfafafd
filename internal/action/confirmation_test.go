package action

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// What cannot be taken back asks for more than what can.
func TestConfirmationFollowsTheStakes(t *testing.T) {
	restore := func(policy string) []*unstructured.Unstructured {
		return []*unstructured.Unstructured{{Object: map[string]any{
			"kind": "Restore", "spec": map[string]any{"existingResourcePolicy": policy},
		}}}
	}
	backup := []*unstructured.Unstructured{{Object: map[string]any{"kind": "Backup"}}}
	for name, c := range map[string]struct {
		plan Plan
		want string
	}{
		"finalize":                        {Plan{Action: Finalize}, "prod/shop"},
		"wake":                            {Plan{Action: Wake}, "prod/shop"},
		"cancel volumes":                  {Plan{Action: CancelVolumes}, "prod/shop"},
		"delete a backup":                 {Plan{Action: DeleteBackup}, "prod/shop"},
		"delete a restore":                {Plan{Action: DeleteRestore}, "prod/shop"},
		"back up":                         {Plan{Action: Create, targets: backup}, "prod"},
		"restore what is not there":       {Plan{Action: Create, targets: restore("none")}, "prod"},
		"restore, no policy":              {Plan{Action: Create, targets: restore("")}, "prod"},
		"restore over what is there":      {Plan{Action: Create, targets: restore("update")}, "prod/shop"},
		"restore by a policy not known":   {Plan{Action: Create, targets: restore("replace")}, "prod/shop"},
		"pause":                           {Plan{Action: Pause}, ""},
		"unpause":                         {Plan{Action: Unpause}, ""},
		"unpause what is due":             {Plan{Action: Unpause, startsRun: true}, "prod"},
		"an action that is not known yet": {Plan{Action: "later"}, "prod/shop"},
	} {
		c.plan.Name = "shop"
		if got := c.plan.ConfirmationText("prod"); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
