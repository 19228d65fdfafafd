package job

import "testing"

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{0: "0B", 999: "999B", 1000: "1.0K", 13314398617: "12.4G", 512 << 30: "512G", 1 << 62: "4.0E"} {
		if got := Size(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
