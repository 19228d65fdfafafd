package diagnosis

import (
	"slices"
	"testing"

	"github.com/veltui/veltui/internal/kubectl"
)

// A command that needs a name which is not known is left out; the others can be run as they stand.
func TestNextStepsHaveNames(t *testing.T) {
	reason := NewReason("Test", NewStep("Look.",
		"veltui explain KIND/NAME", "kubectl logs AGENT --since=1h", "kubectl get pods -A",
		`kubectl patch x LOCATION -p {"a":"b"}`, "kubectl exec SERVER -- ./velero x | kubectl apply -f -"))
	names := Names{
		Kind: "backup", Name: "a b", Namespace: "velero", Server: "deployment/velero", Location: "nas",
		Access: kubectl.ClusterAccess{Context: "east"},
	}
	got := reason.Next(names, "")
	want := []string{
		"veltui explain 'backup/a b' --context east -n velero",
		"kubectl --context east get pods -A",
		`kubectl --context east -n velero patch x nas -p '{"a":"b"}'`,
		"kubectl --context east -n velero exec deployment/velero -- ./velero x | " +
			"kubectl --context east -n velero apply -f -",
	}
	if got.Text != "Look." || !slices.Equal(got.Commands, want) {
		t.Errorf("%q\n%q\nwant\n%q", got.Text, got.Commands, want)
	}
	if got := reason.Next(names, "It knows more."); got.Text != "It knows more." || len(got.Commands) != len(want) {
		t.Errorf("%+v", got)
	}
	idle := NewReason("Idle", NoStep("Nothing.", "veltui get"))
	if got := idle.Next(names, ""); got.Text != "" || len(got.Commands) > 0 {
		t.Errorf("nothing has to be done, but %+v", got)
	}
}

// A command that contains a name which looks like one of the words for names is not filled in twice.
func TestNamesAreNoTemplates(t *testing.T) {
	reason := NewReason("Test", NewStep("Look.", "veltui explain KIND/NAME"))
	got := reason.Next(Names{Kind: "backup", Name: "NODE"}, "")
	if want := []string{"veltui explain backup/NODE"}; !slices.Equal(got.Commands, want) {
		t.Errorf("%q", got.Commands)
	}
}
