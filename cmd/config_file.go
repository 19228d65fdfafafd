package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/veltui/veltui/internal/config"
	"github.com/veltui/veltui/internal/safefile"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/keys"
)

type settings struct {
	*process
	// configFile is the file that is read, inForce what holds with it.
	configFlag string
	configFile configFile
	inForce    []config.InForce
	keys       keys.Map
	readOnly   bool
	userTheme  *draw.Theme
}

type configFile struct {
	// path is empty if there is no place for the file; named is --config, VELTUI_CONFIG or empty.
	path, named string
	there       bool
}

// findConfig returns where the file is, or would be: the XDG place, also on macOS, or %AppData% on Windows.
func (c *settings) findConfig() configFile {
	switch {
	case c.configFlag != "":
		return configFile{path: absolutePath(c.configFlag), named: "--config"}
	case c.env("VELTUI_CONFIG") != "":
		return configFile{path: absolutePath(c.env("VELTUI_CONFIG")), named: "VELTUI_CONFIG"}
	}
	dir, err := c.folder("XDG_CONFIG_HOME", ".config")
	if runtime.GOOS == "windows" && !filepath.IsAbs(c.env("XDG_CONFIG_HOME")) {
		dir, err = os.UserConfigDir()
		dir = filepath.Join(dir, "veltui")
	}
	if err != nil {
		return configFile{}
	}
	return configFile{path: filepath.Join(dir, "config.yaml")}
}

// read reads the file. It is an error if one that the user named is not there.
func (f *configFile) read() ([]byte, error) {
	if f.path == "" || f.path == os.DevNull {
		return nil, nil
	}
	data, err := readSmallFile(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && f.named == "":
		return nil, nil
	case err != nil && f.named != "":
		return nil, fmt.Errorf("reading the configuration that %s names: %w", f.named, err)
	case err != nil:
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	f.there = true
	return data, nil
}

// readSmallFile reads a file that others could not have written, one byte beyond its limit.
func readSmallFile(path string) ([]byte, error) {
	return safefile.ReadTrusted(path, config.MaxSize+1)
}

// configure resolves the settings of a command and sets its flags to them. It reports all
// mistakes in the file and the environment at once.
func (c *settings) configure(cmd *cobra.Command) error {
	c.configFile = c.findConfig()
	data, err := c.configFile.read()
	if err != nil {
		return exitError{ExitUsage, err}
	}
	all := allSettings()
	file, problems := config.Parse(c.configFile.path, data, all)
	var conflicts, faults config.Problems
	c.keys, conflicts = chosenKeys(c.configFile.path, file)
	c.inForce, faults = config.Resolve(all, file, c.env, givenFlag(cmd.Flags()))
	if problems = slices.Concat(problems, conflicts, faults, c.loadTheme()); len(problems) > 0 {
		return usagef("the configuration is not valid:\n%w\nSee '%s config --help'.", indented{problems}, cmd.Root().CommandPath())
	}
	for _, s := range c.inForce {
		if err := c.setFlag(cmd.Flags(), s); err != nil {
			return usagef("%s: %w", c.from(s), err)
		}
	}
	return nil
}

type indented struct{ error }

func (e indented) Error() string { return "  " + strings.ReplaceAll(e.error.Error(), "\n", "\n  ") }

func (e indented) Unwrap() error { return e.error }

// contextFlag has the same value as --kubecontext, and --all-contexts says * there.
const contextFlag = "context"

func givenFlag(flags *pflag.FlagSet) func(string) (string, bool) {
	return func(name string) (string, bool) {
		if name == contextFlag && flags.Changed("all-contexts") {
			return "*", true
		}
		f := flags.Lookup(name)
		if f == nil || !f.Changed && (name != contextFlag || !flags.Changed("kubecontext")) {
			return "", false
		}
		return f.Value.String(), true
	}
}

// setFlag sets a flag to the value of the file or the environment, without marking it as given.
// VELERO_NAMESPACE is handled by package watch.
func (c *settings) setFlag(flags *pflag.FlagSet, s config.InForce) error {
	f := flags.Lookup(s.Flag)
	if f == nil || s.Source == config.FromDefault || s.Source == config.FromFlag || s.Env == "VELERO_NAMESPACE" && s.Source == config.FromEnvironment {
		return nil
	}
	text := s.Value.Joined()
	if s.Path && s.Source == config.FromFile {
		text = c.besideConfig(text)
	}
	return f.Value.Set(text)
}

// besideConfig resolves a path in the configuration: ~ is the home folder, and a relative path
// starts at the file's folder.
func (c *settings) besideConfig(path string) string {
	if rest, home := strings.CutPrefix(path, "~/"); home {
		if dir, err := os.UserHomeDir(); err == nil {
			return filepath.Join(dir, rest)
		}
	}
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(c.configFile.path), path)
}

// absolutePath is a path that means the same in every folder.
func absolutePath(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}

func (c *settings) from(s config.InForce) string {
	switch s.Source {
	case config.FromFlag:
		return "--" + s.Flag
	case config.FromEnvironment:
		return s.Env
	case config.FromFile:
		return fmt.Sprintf("%s:%d", c.configFile.path, s.Value.Line)
	}
	return "default"
}

// needsNoConfig are commands that work whatever the configuration says.
var needsNoConfig = []string{"version", "help", "completion", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd}

func (c *settings) preRun(cmd *cobra.Command, _ []string) error {
	if err := checkOutput(cmd); err != nil {
		return err
	}
	for command := cmd; command != nil; command = command.Parent() {
		if slices.Contains(needsNoConfig, command.Name()) {
			return nil
		}
	}
	return c.configure(cmd)
}
