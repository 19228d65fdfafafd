package jobview

import (
	"strconv"
	"testing"

	"github.com/veltui/veltui/ui/keys"
)

// A sentence names a page with the key that opens it: the user's own key, or the page's present number.
func TestPagesAreNamedWithTheirKeys(t *testing.T) {
	for i, tab := range tabs() {
		key := keyOf(tab.Page, keys.Map{})
		if tab.Key == "" && key != strconv.Itoa(i+1) || tab.Key != "" && key != tab.Key {
			t.Errorf("page %s: key %q", tab.Page, key)
		}
	}
	if name := nameWithKey(Volumes, keys.Map{"volumes": {"V"}}); name != "the Volumes page (V)" {
		t.Error(name)
	}
	if name := nameWithKey("Nowhere", keys.Map{}); name != "the Nowhere page" {
		t.Error(name)
	}
}
