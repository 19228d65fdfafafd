package repo

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestShardsNameTests holds that each test that e2e/lab.mk gives to a shard exists, and has one shard. A test that was
// renamed would else wait in the last shard, unnoticed.
func TestShardsNameTests(t *testing.T) {
	makefile, err := os.ReadFile("e2e/lab.mk")
	if err != nil {
		t.Fatal(err)
	}
	sources, err := filepath.Glob("e2e/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	exists := map[string]bool{}
	for _, path := range sources {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(source, -1) {
			exists[string(found[1])] = true
		}
	}
	shardOf := map[string]string{}
	lines := strings.ReplaceAll(string(makefile), "\\\n", "")
	for _, list := range regexp.MustCompile(`(?m)^E2E_LIST_(\w+) :=(.*)$`).FindAllStringSubmatch(lines, -1) {
		for _, name := range strings.Fields(list[2]) {
			if !exists[name] {
				t.Errorf("shard %s has %s, which is no test", list[1], name)
			}
			if other := shardOf[name]; other != "" {
				t.Errorf("%s is in shards %s and %s", name, other, list[1])
			}
			shardOf[name] = list[1]
		}
	}
	if len(shardOf) == 0 {
		t.Error("no shard has a test")
	}
}
