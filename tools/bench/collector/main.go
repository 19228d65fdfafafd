// Command bench compares reading a large backup the collector's way with the
// ways there are: tar -tzf, gzip -dc, igzip -dc, and Velero's own extractor
// and parser. Each contender runs as a process of its own, in turn, so that
// changes of the machine's speed are shared and peak memory is the contender's alone.
//
// The archive is generated once into $VELTUI_BENCH_DIR, or the temporary
// directory.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/veltui/veltui/tools/bench/synth"
)

// contender is one way to read the archive.
type contender struct {
	name    string
	command func(archive string) *exec.Cmd
	runs    []run
}

// run is one measured process.
type run struct {
	wall, cpu time.Duration
	peak      int64 // resident set, in bytes
	says      string
}

func main() {
	rounds := flag.Int("rounds", 5, "how often each contender runs")
	items := flag.Int("items", synth.Large.Items, "items of the generated archive")
	bytes := flag.Int64("bytes", synth.Large.Bytes, "unpacked bytes of the generated archive")
	skipVelero := flag.Bool("skip-velero", false, "leave out Velero's way, which writes the whole archive to disk")
	file := flag.String("archive", "", "measure this backup tarball instead of a generated one")
	as := flag.String("as", "", "run one contender in this process (used by the program itself)")
	flag.Parse()
	var err error
	if *as != "" {
		err = runContender(*as, flag.Arg(0))
	} else {
		spec := synth.Spec{Items: *items, Bytes: *bytes, Seed: synth.Large.Seed}
		err = compare(*file, spec, *rounds, !*skipVelero)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func compare(archive string, spec synth.Spec, rounds int, velero bool) error {
	dir := cmp.Or(os.Getenv("VELTUI_BENCH_DIR"), filepath.Join(os.TempDir(), "veltui-bench"))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if archive == "" {
		archive = filepath.Join(dir, spec.String())
		if err := generate(archive, spec); err != nil {
			return err
		}
	}
	contenders := []*contender{
		tool("tar -tzf", "tar", "-tzf"), tool("gzip -dc", "gzip", "-dc"), tool("igzip -dc", "igzip", "-dc"),
		self("ours, names only", "names"), self("ours, with labels", "labels"), self("ours, ask again", "ask"),
		self("klauspost gzip and archive/tar, names without an index", "libraries"),
		self("klauspost gzip, inflate only", "klauspost"), self("klauspost pgzip, inflate only", "pgzip"),
		self("standard library, inflate only", "std"), self("our inflater, inflate only", "inflate"),
	}
	if velero {
		contenders = append(
			contenders,
			self("Velero: extract and parse", "velero"),
			self("Velero: and decode each object", "velero-decode"),
		)
	}
	for round := range rounds {
		for _, c := range contenders {
			if c.command == nil ||
				round > 0 &&
					slices.Contains([]string{"Velero: extract and parse", "Velero: and decode each object"}, c.name) {
				continue // once is enough for what takes that long
			}
			r, err := measure(c.command(archive), dir)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			c.runs = append(c.runs, r)
		}
	}
	return report(archive, contenders)
}

// generate writes the archive unless it is there.
func generate(path string, spec synth.Spec) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	fmt.Fprintf(os.Stderr, "generating %s (once)\n", path)
	f, err := os.CreateTemp(filepath.Dir(path), "partial-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if err := synth.Write(f, spec); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// tool runs a program; its contender has no command if it is not installed.
func tool(name, program string, args ...string) *contender {
	c := &contender{name: name}
	if path, err := exec.LookPath(program); err == nil {
		c.command = func(archive string) *exec.Cmd { return exec.Command(path, append(args, archive)...) }
	}
	return c
}

func self(name, as string) *contender {
	return &contender{name: name, command: func(archive string) *exec.Cmd {
		return exec.Command(os.Args[0], "-as", as, archive)
	}}
}

func measure(cmd *exec.Cmd, dir string) (run, error) {
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	says, err := os.CreateTemp(dir, "says-")
	if err != nil {
		return run{}, err
	}
	defer os.Remove(says.Name())
	defer says.Close()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return run{}, err
	}
	defer null.Close()
	cmd.Stdout = null
	if cmd.Args[0] == os.Args[0] {
		cmd.Stdout = says
	}
	start := time.Now()
	err = cmd.Run()
	r := run{wall: time.Since(start)}
	if err != nil {
		return r, err
	}
	r.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		r.peak = usage.Maxrss << 10
	}
	text, err := os.ReadFile(says.Name())
	r.says = string(text)
	return r, err
}

// report prints medians, and ratios to tar and igzip.
func report(archive string, contenders []*contender) error {
	median := map[string]run{}
	for _, c := range contenders {
		if len(c.runs) > 0 {
			slices.SortFunc(c.runs, func(a, b run) int { return cmp.Compare(a.wall, b.wall) })
			median[c.name] = c.runs[len(c.runs)/2]
		}
	}
	fmt.Println(archive)
	w := tabwriter.NewWriter(os.Stdout, 2, 0, 2, ' ', 0)
	fmt.Fprintln(w, "contender\twall (median)\tbest\tCPU\tof tar\tof igzip\tpeak RSS\t")
	for _, c := range contenders {
		r, ok := median[c.name]
		if !ok {
			fmt.Fprintf(w, "%s\tskipped: not installed\n", c.name)
			continue
		}
		ratio := func(to string) string {
			if base, ok := median[to]; ok {
				return fmt.Sprintf("%.2f", float64(r.wall)/float64(base.wall))
			}
			return "-"
		}
		fmt.Fprintf(
			w,
			"%s\t%.3fs\t%.3fs\t%.3fs\t%s\t%s\t%.0f MiB\t%s\n",
			c.name,
			r.wall.Seconds(),
			c.runs[0].wall.Seconds(),
			r.cpu.Seconds(),
			ratio("tar -tzf"),
			ratio("igzip -dc"),
			float64(r.peak)/(1<<20),
			r.says,
		)
	}
	return w.Flush()
}
