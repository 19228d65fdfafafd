package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of the times in /proc, which Linux fixes at a hundredth
// of a second for user space.
const clockTick = 10 * time.Millisecond

// usage is what a process and its children have used.
type usage struct {
	cpu time.Duration // since they started, with children that ended
	rss int64         // resident bytes now, without them
}

// readUsage reads the usage of a process with all that descend from it.
func readUsage(pid int) usage {
	children := map[int][]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	found := map[int][]string{}
	for _, path := range stats {
		id, fields := readStat(path)
		if len(fields) < 22 {
			continue // it ended meanwhile
		}
		parent, _ := strconv.Atoi(fields[1])
		found[id] = fields
		children[parent] = append(children[parent], id)
	}
	var u usage
	for next := []int{pid}; len(next) > 0; next = next[1:] {
		fields := found[next[0]]
		if fields == nil {
			continue
		}
		for _, ticks := range fields[11:15] { // utime, stime, cutime, cstime
			n, _ := strconv.ParseInt(ticks, 10, 64)
			u.cpu += time.Duration(n) * clockTick
		}
		pages, _ := strconv.ParseInt(fields[21], 10, 64)
		u.rss += pages * int64(os.Getpagesize())
		next = append(next, children[next[0]]...)
	}
	return u
}

// readStat splits /proc/PID/stat behind the name, which may hold anything: the
// fields begin with the state.
func readStat(path string) (pid int, fields []string) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, nil
	}
	text := string(data)
	pid, _ = strconv.Atoi(text[:max(strings.IndexByte(text, ' '), 0)])
	return pid, strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
}

// machineText says on what this ran.
func machineText() string {
	model, cores := "unknown processor", 0
	data, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(data)) {
		name, value, _ := strings.Cut(line, ":")
		switch strings.TrimSpace(name) {
		case "model name":
			model = strings.TrimSpace(value)
		case "processor":
			cores++
		}
	}
	return fmt.Sprintf("%d cores of %s, Linux %s", cores, model, readFirstLine("/proc/sys/kernel/osrelease"))
}

// readFirstLine is the first line of a file, empty if it cannot be read.
func readFirstLine(path string) string {
	data, _ := os.ReadFile(path)
	line, _, _ := strings.Cut(string(data), "\n")
	return line
}
