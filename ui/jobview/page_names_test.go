package jobview

import (
	"strconv"
	"testing"

	"github.com/veltui/veltui/ui/keys"
)

// TestPageKeys holds that a page opens with its own key, else with its present number, and that sentences have neither.
func TestPageKeys(t *testing.T) {
	for i, tab := range pageTabs() {
		key := pageKey(tab.Page, keys.Overrides{})
		if tab.Key == "" && key != strconv.Itoa(i+1) || tab.Key != "" && key != tab.Key {
			t.Errorf("page %s: key %q", tab.Page, key)
		}
	}
	if key := pageKey(Volumes, keys.Overrides{"volumes": {"V"}}); key != "V" {
		t.Error(key)
	}
	if key := pageKey("Nowhere", keys.Overrides{}); key != "" {
		t.Error(key)
	}
	if name := pageTitle(Volumes); name != "the Volumes page" {
		t.Error(name)
	}
}
