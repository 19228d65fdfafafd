package velero

import (
	"strings"
	"testing"
)

func TestFindFatalLine(t *testing.T) {
	const log = `time="2026-11-28T09:00:00Z" level=info msg="Restoring"` + "\n"
	for name, c := range map[string]struct {
		log  string
		want FatalLine
	}{
		"a panic": {log + `panic: runtime error: invalid memory address or nil pointer dereference [recovered, repanicked]
[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x1a2b3c4]

goroutine 1234 [running]:
k8s.io/apimachinery/pkg/util/runtime.handleCrash({0x1, 0x2}, {0x3, 0x4})
	/go/pkg/mod/k8s.io/apimachinery@v0.33.3/pkg/util/runtime/runtime.go:89 +0xe7
panic({0x2d1e0a0?, 0x5f1c2b0?})
	/usr/local/go/src/runtime/panic.go:792 +0x132
github.com/vmware-tanzu/velero/internal/resourcemodifiers.(*ResourceModifiers).ApplyResourceModifierRules(0x0, 0xc001)
	/go/src/github.com/vmware-tanzu/velero/internal/resourcemodifiers/resource_modifiers.go:99 +0x2c
`, FatalLine{
			"panic: runtime error: invalid memory address or nil pointer dereference [recovered, repanicked]",
			"github.com/vmware-tanzu/velero/internal/resourcemodifiers.(*ResourceModifiers).ApplyResourceModifierRules",
		}},
		"the runtime": {log + `fatal error: concurrent map writes

goroutine 7 [running]:
runtime.throw({0x1, 0x2})
	/usr/local/go/src/runtime/panic.go:1101 +0x48
main.work(...)
	/x/main.go:9
`, FatalLine{"fatal error: concurrent map writes", "main.work"}},
		"a panic that the lines before hid": {log + "panic: first\n\ngoroutine 1 [running]:\na.b()\n" + log + "panic: second\n",
			FatalLine{Text: "panic: second"}},
		"Velero's own end": {log + "An error occurred: the server could not find the requested resource\n",
			FatalLine{Text: "An error occurred: the server could not find the requested resource"}},
		"a fatal line": {log + `time="2026-11-28T09:00:01Z" level=fatal msg="Failed to start" error="no CRD"` + "\n",
			FatalLine{Text: "Failed to start: no CRD"}},
		"nothing": {log + `time="2026-11-28T09:00:01Z" level=error msg="a panic: or so"` + "\n", FatalLine{}},
	} {
		if got := FindFatalLine(strings.Split(c.log, "\n")); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
