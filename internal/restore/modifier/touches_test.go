package modifier

import "testing"

func TestTouches(t *testing.T) {
	r, err := Parse(map[string]string{"rules": "version: v1\nresourceModifierRules:\n" +
		"- conditions: {groupResource: persistentvolumeclaims}\n- conditions: {groupResource: deployments.*}\n"})
	if err != nil {
		t.Fatal(err)
	}
	for resource, want := range map[string]bool{"persistentvolumeclaims": true, "deployments.apps": true, "persistentvolumes": false, "pods": false} {
		if got := r.MayChange(resource); got != want {
			t.Errorf("%s: %v", resource, got)
		}
	}
}
