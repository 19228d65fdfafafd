package human

import "testing"

func TestCompareNames(t *testing.T) {
	want := []string{
		"",
		"2026-01-02",
		"2026-1-10",
		"a",
		"a-1",
		"a-02",
		"a-2",
		"a-10",
		"a-10b",
		"a-99999999999999999999",
		"a-100000000000000000000",
		"a1",
		"b",
		"é",
	}
	for i, a := range want {
		for j, b := range want {
			if got := CompareNames(a, b); (got < 0) != (i < j) && i != j {
				t.Errorf("%q and %q: %d", a, b, got)
			}
			if CompareNames(a, b) != -CompareNames(b, a) || (CompareNames(a, b) == 0) != (i == j) {
				t.Errorf("%q and %q are ordered two ways", a, b)
			}
		}
	}
}
