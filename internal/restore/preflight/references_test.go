package preflight

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// TestWhatIsMadeLater has what pods and claims lack that Kubernetes makes later, and what they do not lack.
func TestWhatIsMadeLater(t *testing.T) {
	const (
		set    = `,"spec":{"volumeClaimTemplates":[{"spec":{"storageClassName":"fast"}}]}`
		plain  = `,"spec":{"volumeClaimTemplates":[{"spec":{}}]}`
		ofPod  = `,"spec":{"volumes":[{"ephemeral":{"volumeClaimTemplate":{"spec":{"storageClassName":"fast"}}}}]}`
		named  = `,"spec":{"template":{"spec":{"imagePullSecrets":[{"name":"pull"}],"volumes":[{"configMap":{"name":"c"}}]}}}`
		claim  = `,"spec":{"storageClassName":"fast","volumeName":"v","volumeMode":"Block","accessModes":["ReadWriteMany"]}`
		status = `,"status":{"a":"b"}`
	)
	sets := func(body string) []item { return []item{{statefulSets, "shop", "db", body}} }
	deployment := []item{{"deployments.apps", "shop", "web", named}}
	served := []string{statefulSets, "deployments.apps", "gadgets.example.com", runtimeClasses, priorityClasses}
	there := func(names ...string) func(resource, namespace, name string) *live.Object {
		return func(resource, _, name string) *live.Object {
			if strings.Contains(strings.Join(names, " "), resource+"/"+name) {
				return &live.Object{}
			}
			return nil
		}
	}
	classes := live.Environment{StorageClasses: map[string]bool{"fast": true}}
	volume := func(change func(*live.VolumeSummary)) live.Environment {
		v := live.VolumeSummary{Class: "fast", Block: true, AccessModes: []corev1.PersistentVolumeAccessMode{"ReadWriteMany"}}
		change(&v)
		return live.Environment{StorageClasses: classes.StorageClasses, Volumes: map[string]live.VolumeSummary{"v": v}}
	}
	asked := veleroapi.RestoreSpec{RestoreStatus: &veleroapi.RestoreStatusSpec{IncludedResources: []string{"*"}}}
	others := veleroapi.RestoreSpec{RestoreStatus: &veleroapi.RestoreStatusSpec{IncludedResources: []string{"pods"}}}
	for name, c := range map[string]struct {
		g     given
		want  string
		words string
	}{
		"the class of a template":          {given{items: sets(set)}, "doubt StorageClassMissing", "Storage class fast"},
		"the class of a template is there": {given{items: sets(set), around: classes}, "", ""},
		"no default class":                 {given{items: sets(plain)}, "doubt DefaultClassMissing", "templates of 1 item"},
		"a default class":                  {given{items: sets(plain), around: classes}, "", ""},
		"the class of a pod's volume":      {given{items: []item{{pods, "shop", "p", ofPod}}}, "doubt StorageClassMissing", ""},
		"Velero changes the class": {given{items: sets(set), around: live.Environment{
			StorageClasses: map[string]bool{"slow": false}, StorageClassMap: map[string]string{"fast": "slow"}}}, "", ""},
		"what a template names": {given{items: deployment}, "doubt ReferencesMissing, doubt ReferencesMissing",
			"configmaps that neither exist nor are restored: c"},
		"a pull secret": {given{items: deployment, there: there("configmaps/c")}, "doubt ReferencesMissing",
			"restored: pull. They are pull secrets"},
		"a class that Velero changes to a missing one": {given{items: sets(set), around: live.Environment{
			StorageClasses: map[string]bool{"fast": false}, StorageClassMap: map[string]string{"fast": "slow"}}},
			"obstacle StorageClassMissing", "fast to slow, which does not exist. Velero has an error for each StatefulSet"},
		"what a template names exists": {given{items: deployment, there: there("configmaps/c", "secrets/pull")}, "", ""},
		"what a template names comes": {given{items: append([]item{{"configmaps", "shop", "c", ""}, {"secrets", "shop", "pull", ""}},
			deployment...)}, "", ""},
		"what a template names cannot be seen": {given{items: deployment, there: there("configmaps/c"), unseen: []live.Unchecked{
			{Resource: "secrets", Namespace: "shop", Why: "you may not list it"}}}, "", "whether the secrets exist that pods name"},
		"a runtime class": {given{items: []item{{pods, "shop", "p", `,"spec":{"runtimeClassName":"r","priorityClassName":"p"}`}}},
			"doubt ReferencesMissing, doubt ReferencesMissing", "runtimeclasses.node.k8s.io"},
		"a volume that fits": {given{items: []item{{claims, "shop", "d", claim}}, around: volume(func(*live.VolumeSummary) {})}, "", ""},
		"a volume of another mode": {given{items: []item{{claims, "shop", "d", claim}},
			around: volume(func(v *live.VolumeSummary) { v.Block = false })}, "obstacle ClaimsNeverBind", "another volumeMode"},
		"a volume with other access modes": {given{items: []item{{claims, "shop", "d", claim}},
			around: volume(func(v *live.VolumeSummary) { v.AccessModes = v.AccessModes[:0] })}, "obstacle ClaimsNeverBind", "other access modes"},
		"a volume that is kept for the claim": {given{items: []item{{claims, "shop", "d", claim}},
			around: volume(func(v *live.VolumeSummary) { v.Block, v.Claim = false, "shop/d" })}, "", ""},
		"a status without its subresource": {given{items: []item{{"gadgets.example.com", "shop", "g", status}}, spec: asked},
			"doubt StatusLost", "gadgets.example.com"},
		"a status that nobody asked for": {given{items: []item{{"gadgets.example.com", "shop", "g", status}}, spec: others}, "", ""},
		"no status":                      {given{items: []item{{"gadgets.example.com", "shop", "g", ""}}, spec: asked}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c.g.served, c.g.noSubresources = served, true
			r := checked(t, c.g)
			var found []string
			text := ""
			for _, f := range r.Findings {
				if f.Severity != Note && f.Reason != FilterMatchesNothing {
					found = append(found, string(f.Severity)+" "+string(f.Reason))
				}
				text += f.Sentence + "\n"
			}
			for _, u := range r.Unchecked {
				text += u.What + "\n"
			}
			if got := strings.Join(found, ", "); got != c.want || !strings.Contains(text, c.words) {
				t.Errorf("%s\n%s", got, text)
			}
		})
	}
}

// TestKeepsStatus: what discovery does not tell is no loss.
func TestKeepsStatus(t *testing.T) {
	s := served("gadgets.example.com")
	if !s.KeepsStatus("gadgets.example.com") {
		t.Error("nothing is known of its subresources")
	}
	s.SetSubresources(&metav1.APIResourceList{GroupVersion: "example.com/v1", APIResources: []metav1.APIResource{{Name: "gadgets/status"}}})
	if !s.KeepsStatus("gadgets.example.com") || !s.KeepsStatus("others.example.com") || s.KeepsStatus("pods") {
		t.Error("gadgets have a status, others are not served, pods have none")
	}
}
