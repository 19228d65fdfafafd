package cmd

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/veltui/veltui/internal/view/document"
)

// What a build does not know it does not say.
func TestVersionIsHonest(t *testing.T) {
	velero := []*debug.Module{{Path: "github.com/vmware-tanzu/velero", Version: "v1.18.3"}}
	vcs := []debug.BuildSetting{
		{Key: "vcs.revision", Value: "abc"},
		{Key: "vcs.time", Value: "2026-11-22T10:00:00Z"},
		{Key: "vcs.modified", Value: "true"},
	}
	for _, c := range []struct {
		name, commit string
		info         debug.BuildInfo
		says         string
	}{
		{"make build", "def", debug.BuildInfo{Deps: velero, Settings: vcs}, "veltui dev\ncommit def of today\nvelero API v1.18.3\n"},
		{"go build", "", debug.BuildInfo{Deps: velero, Settings: vcs}, "veltui dev\ncommit abc of 2026-11-22T10:00:00Z, with changes\nvelero API v1.18.3\n"},
		{"go install", "", debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Deps: velero}, "veltui v1.2.3\ncommit unknown\nvelero API v1.18.3\n"},
		{"without modules", "", debug.BuildInfo{}, "veltui dev\ncommit unknown\nvelero API unknown\n"},
	} {
		date := ""
		if c.commit != "" {
			date = "today"
		}
		b := buildInfo{&c.info}
		want := c.says + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH + "\n"
		if got := versionText(b.newDocument(b.moduleVersion(), c.commit, date)); got != want {
			t.Errorf("%s says\n%swant\n%s", c.name, got, want)
		}
	}
}

// The linker can set the variables that the Makefile names. It says nothing when it
// cannot, so the names and their having no value are checked here.
func TestMakefileSetsTheVersion(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join("..", "..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("version.go")
	if err != nil {
		t.Fatal(err)
	}
	set := regexp.MustCompile(`veltui/internal/cmd\.(\w+)=`).FindAllStringSubmatch(string(makefile), -1)
	declared := regexp.MustCompile(`(?m)^var ([\w, ]+) string$`).FindStringSubmatch(string(source))
	if len(set) != 3 || declared == nil {
		t.Fatalf("the Makefile sets %q, the source declares %q", set, declared)
	}
	for _, name := range set {
		if !strings.Contains(", "+declared[1]+",", ", "+name[1]+",") {
			t.Errorf("the linker cannot set %s", name[1])
		}
	}
}

func TestVersionAsADocument(t *testing.T) {
	out, err := exec.Command(control(t).binary, "version", "-o", "json").Output()
	var d document.Version
	if err != nil || json.Unmarshal(out, &d) != nil || d.Kind != "Version" || d.VeleroAPI == "unknown" ||
		d.Platform != runtime.GOOS+"/"+runtime.GOARCH {
		t.Errorf("%s, %v", out, err)
	}
}
