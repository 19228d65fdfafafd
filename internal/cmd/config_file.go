package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/veltui/veltui/internal/config"
	"github.com/veltui/veltui/internal/safefile"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/keys"
)

type settings struct {
	*process
	configFlag string
	configFile configFile
	inForce    []config.InForce // with the file
	keys       keys.Map
	readOnly   bool
	userTheme  *draw.Theme
}

type configFile struct {
	path  string // empty if there is no place for the file
	named string // by --config, VELTUI_CONFIG or empty
	there bool
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

// configure resolves a command's settings and sets its flags to them. It reports all mistakes at once.
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
		return usagef(
			"the configuration is not valid:\n%w\nSee '%s config --help'.",
			indented{problems},
			cmd.Root().CommandPath(),
		)
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

// setFlag sets a flag that was not given. VELERO_NAMESPACE is handled by package watch.
func (c *settings) setFlag(flags *pflag.FlagSet, s config.InForce) error {
	f := flags.Lookup(s.Flag)
	if f == nil || s.Source == config.FromDefault || s.Source == config.FromFlag ||
		s.Env == "VELERO_NAMESPACE" && s.Source == config.FromEnvironment {
		return nil
	}
	text := s.Value.Joined()
	if s.Path && s.Source == config.FromFile {
		text = c.besideConfig(text)
	}
	return f.Value.Set(text)
}

// besideConfig resolves a path in the configuration; a relative one starts at the file's folder.
func (c *settings) besideConfig(path string) string {
	if rest, home := strings.CutPrefix(path, "~/"); home {
		if dir, err := c.home(); err == nil {
			return filepath.Join(dir, rest)
		}
	}
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(c.configFile.path), path)
}

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

var needsNoConfig = []string{
	"version",
	"help",
	"completion",
	cobra.ShellCompRequestCmd,
	cobra.ShellCompNoDescRequestCmd,
}

func (c *settings) preRun(cmd *cobra.Command, _ []string) error {
	for command := cmd; command != nil; command = command.Parent() {
		if slices.Contains(needsNoConfig, command.Name()) {
			return nil
		}
	}
	return c.configure(cmd)
}

// loadTheme reads the theme in force, if it is the user's own: a path, or a name in the folder
// themes beside the configuration file. A built-in name wins.
func (c *settings) loadTheme() config.Problems {
	theme := c.setting("theme")
	name := theme.Value.Text
	if theme.Source == config.FromDefault || name == draw.ThemeAuto || slices.Contains(draw.Themes(), name) {
		return nil
	}
	path := c.themePath(theme)
	if path == "" {
		place := "--theme " + name
		if theme.Source != config.FromFlag {
			place = fmt.Sprintf("%s: theme: %q", c.from(theme), name)
		}
		return config.Problems{
			{
				File: place,
				Text: fmt.Sprintf(
					"must be one of %s, or a file%s",
					strings.Join(c.themes(), ", "),
					config.Suggestion(name, c.themes()),
				),
			},
		}
	}
	var problems config.Problems
	c.userTheme, problems = readTheme(path, c.from(theme))
	return problems
}

func readTheme(path, from string) (*draw.Theme, config.Problems) {
	data, err := readSmallFile(path)
	if err != nil {
		return nil, config.Problems{{File: from, Text: "theme: " + err.Error()}}
	}
	if _, problems := config.Parse(path, data, themeSettings()); problems != nil {
		return nil, problems
	}
	theme, err := draw.ParseTheme(data)
	if err != nil {
		return nil, config.Problems{{File: path, Text: err.Error()}}
	}
	return theme, nil
}

func (c *settings) ownTheme(name string) (*draw.Theme, error) {
	_, files := c.userThemes()
	if files[name] == "" {
		return nil, fmt.Errorf("the theme %s is gone", name)
	}
	theme, problems := readTheme(files[name], files[name])
	if problems != nil {
		return nil, errors.New(sanitize.String(problems.Error()))
	}
	return theme, nil
}

func (c *settings) ownThemes() []string {
	names, _ := c.userThemes()
	return slices.DeleteFunc(names, func(name string) bool {
		return sanitize.String(name) != name || name == draw.ThemeAuto || slices.Contains(draw.Themes(), name)
	})
}

func (c *settings) themePath(theme config.InForce) string {
	name := theme.Value.Text
	isPath := strings.ContainsRune(name, filepath.Separator) || strings.Contains(name, "/") || filepath.Ext(name) != ""
	switch {
	case isPath && (theme.Source == config.FromFile || strings.HasPrefix(name, "~/")):
		return c.besideConfig(name)
	case isPath:
		return absolutePath(name)
	}
	_, files := c.userThemes()
	return files[name]
}

func (c *settings) userThemes() (names []string, files map[string]string) {
	files = map[string]string{}
	if c.configFile.path == "" {
		return nil, files
	}
	dir := filepath.Join(filepath.Dir(c.configFile.path), "themes")
	entries, _ := os.ReadDir(dir) // it need not be there
	for _, entry := range entries {
		ext := filepath.Ext(entry.Name())
		if name := strings.TrimSuffix(entry.Name(), ext); (ext == ".yaml" || ext == ".yml") && files[name] == "" {
			names, files[name] = append(names, name), filepath.Join(dir, entry.Name())
		}
	}
	return names, files
}

func (c *settings) themes() []string {
	own, _ := c.userThemes()
	return slices.Concat([]string{draw.ThemeAuto}, draw.Themes(), own)
}

// themeSettings are the styles in a theme's file, each with one for sixteen colours.
func themeSettings() []config.Setting {
	var plain []config.Setting
	for _, name := range []string{"color", "background"} {
		plain = append(
			plain,
			config.Setting{
				Name:  name,
				Check: matching(colorText, "is no colour: use a number from 0 to 255, or \"#rrggbb\" in quotes"),
			},
		)
	}
	for _, name := range []string{"bold", "faint", "reverse", "underline"} {
		plain = append(plain, config.Setting{Name: name, Kind: config.Bool})
	}
	style := append(slices.Clone(plain), config.Setting{Name: "basic", Kind: config.Map, Fields: plain})
	return mapSlice(draw.Meanings(), func(meaning string) config.Setting {
		return config.Setting{Name: meaning, Kind: config.Map, Fields: style}
	})
}

var colorText = regexp.MustCompile(`^([0-9]|[1-9][0-9]|1[0-9][0-9]|2[0-4][0-9]|25[0-5]|#[0-9a-fA-F]{6})$`)
