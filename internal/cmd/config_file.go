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
	process      *processEnv
	configFlag   string
	configFile   configFile
	effective    []config.EffectiveSetting // the effective values, including the file's
	keyOverrides keys.Overrides
	readOnly     bool
	userTheme    *draw.Theme
}

type configFile struct {
	path    string // empty if there is no place for the file
	namedBy string // --config, VELTUI_CONFIG or empty
	exists  bool
}

// findConfig returns where the file is, or would be: in the XDG folder, also on macOS, or in %AppData% on Windows.
func (c *settings) findConfig() configFile {
	switch {
	case c.configFlag != "":
		return configFile{path: absolutePath(c.configFlag), namedBy: "--config"}
	case c.process.getenv("VELTUI_CONFIG") != "":
		return configFile{path: absolutePath(c.process.getenv("VELTUI_CONFIG")), namedBy: "VELTUI_CONFIG"}
	}
	dir, err := c.process.xdgDir("XDG_CONFIG_HOME", ".config")
	if runtime.GOOS == "windows" && !filepath.IsAbs(c.process.getenv("XDG_CONFIG_HOME")) {
		dir, err = os.UserConfigDir()
		dir = filepath.Join(dir, "veltui")
	}
	if err != nil {
		return configFile{}
	}
	return configFile{path: filepath.Join(dir, "config.yaml")}
}

// loadFile reads the file. A missing file is an error only if the user named it.
func (f *configFile) loadFile() ([]byte, error) {
	if f.path == "" || f.path == os.DevNull {
		return nil, nil
	}
	data, err := readTrustedFile(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && f.namedBy == "":
		return nil, nil
	case err != nil && f.namedBy != "":
		return nil, fmt.Errorf("reading the configuration that %s names: %w", f.namedBy, err)
	case err != nil:
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	f.exists = true
	return data, nil
}

// readTrustedFile reads a file that others could not have written, up to one byte beyond its limit.
func readTrustedFile(path string) ([]byte, error) {
	return safefile.ReadTrusted(path, config.MaxFileSize+1)
}

// resolveSettings resolves a command's settings and sets its flags to them. It reports all mistakes at once.
func (c *settings) resolveSettings(cmd *cobra.Command) error {
	c.configFile = c.findConfig()
	data, err := c.configFile.loadFile()
	if err != nil {
		return exitError{ExitUsage, err}
	}
	all := allSettings()
	file, problems := config.Parse(c.configFile.path, data, all)
	var conflicts, faults config.Problems
	c.keyOverrides, conflicts = resolveKeys(c.configFile.path, file)
	c.effective, faults = config.Resolve(all, file, c.process.getenv, givenFlagLookup(cmd.Flags()))
	if problems = slices.Concat(problems, conflicts, faults, c.loadTheme()); len(problems) > 0 {
		return usageErrorf(
			"the configuration is not valid:\n%w\nSee '%s config --help'.",
			indentedError{problems},
			cmd.Root().CommandPath(),
		)
	}
	for _, s := range c.effective {
		if err := c.setFlag(cmd.Flags(), s); err != nil {
			return usageErrorf("%s: %w", c.sourceText(s), err)
		}
	}
	return nil
}

type indentedError struct{ error }

func (e indentedError) Error() string {
	return "  " + strings.ReplaceAll(e.error.Error(), "\n", "\n  ")
}

func (e indentedError) Unwrap() error { return e.error }

// contextFlag has the same value as --kubecontext; --all-contexts sets it to "*".
const contextFlag = "context"

func givenFlagLookup(flags *pflag.FlagSet) func(string) (string, bool) {
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
func (c *settings) setFlag(flags *pflag.FlagSet, s config.EffectiveSetting) error {
	f := flags.Lookup(s.Flag)
	if f == nil || s.Source == config.FromDefault || s.Source == config.FromFlag ||
		s.Env == "VELERO_NAMESPACE" && s.Source == config.FromEnvironment {
		return nil
	}
	text := s.Value.JoinTexts()
	if s.IsPath && s.Source == config.FromFile {
		text = c.resolveConfigPath(text)
	}
	return f.Value.Set(text)
}

// resolveConfigPath resolves a path in the configuration; a relative path starts at the file's folder.
func (c *settings) resolveConfigPath(path string) string {
	if rest, home := strings.CutPrefix(path, "~/"); home {
		if dir, err := c.process.homeDir(); err == nil {
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

func (c *settings) sourceText(s config.EffectiveSetting) string {
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

var commandsWithoutConfig = []string{
	"version",
	"help",
	"completion",
	cobra.ShellCompRequestCmd,
	cobra.ShellCompNoDescRequestCmd,
}

func (c *settings) preRun(cmd *cobra.Command, _ []string) error {
	for command := cmd; command != nil; command = command.Parent() {
		if slices.Contains(commandsWithoutConfig, command.Name()) {
			return nil
		}
	}
	return c.resolveSettings(cmd)
}

// loadTheme reads the theme in use if it is the user's own: a path, or a name in the folder themes beside the
// configuration file. A built-in name takes precedence.
func (c *settings) loadTheme() config.Problems {
	theme := c.findSetting("theme")
	name := theme.Value.Text
	if theme.Source == config.FromDefault || name == draw.ThemeAuto || slices.Contains(draw.ThemeNames(), name) {
		return nil
	}
	path := c.themePath(theme)
	if path == "" {
		place := "--theme " + name
		if theme.Source != config.FromFlag {
			place = fmt.Sprintf("%s: theme: %q", c.sourceText(theme), name)
		}
		return config.Problems{
			{
				File: place,
				Text: fmt.Sprintf(
					"must be one of %s, or a file%s",
					strings.Join(c.themeNames(), ", "),
					config.SuggestionText(name, c.themeNames()),
				),
			},
		}
	}
	var problems config.Problems
	c.userTheme, problems = readTheme(path, c.sourceText(theme))
	return problems
}

func readTheme(path, from string) (*draw.Theme, config.Problems) {
	data, err := readTrustedFile(path)
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

func (c *settings) loadUserTheme(name string) (*draw.Theme, error) {
	_, files := c.findUserThemes()
	if files[name] == "" {
		return nil, fmt.Errorf("the theme %s is gone", name)
	}
	theme, problems := readTheme(files[name], files[name])
	if problems != nil {
		return nil, errors.New(sanitize.String(problems.Error()))
	}
	return theme, nil
}

func (c *settings) userThemeNames() []string {
	names, _ := c.findUserThemes()
	return slices.DeleteFunc(names, func(name string) bool {
		return sanitize.String(name) != name || name == draw.ThemeAuto || slices.Contains(draw.ThemeNames(), name)
	})
}

func (c *settings) themePath(theme config.EffectiveSetting) string {
	name := theme.Value.Text
	isPath := strings.ContainsRune(name, filepath.Separator) || strings.Contains(name, "/") || filepath.Ext(name) != ""
	switch {
	case isPath && (theme.Source == config.FromFile || strings.HasPrefix(name, "~/")):
		return c.resolveConfigPath(name)
	case isPath:
		return absolutePath(name)
	}
	_, files := c.findUserThemes()
	return files[name]
}

func (c *settings) findUserThemes() (names []string, files map[string]string) {
	files = map[string]string{}
	if c.configFile.path == "" {
		return nil, files
	}
	dir := filepath.Join(filepath.Dir(c.configFile.path), "themes")
	entries, _ := os.ReadDir(dir) // the folder may be missing
	for _, entry := range entries {
		ext := filepath.Ext(entry.Name())
		if name := strings.TrimSuffix(entry.Name(), ext); (ext == ".yaml" || ext == ".yml") && files[name] == "" {
			names, files[name] = append(names, name), filepath.Join(dir, entry.Name())
		}
	}
	return names, files
}

func (c *settings) themeNames() []string {
	own, _ := c.findUserThemes()
	return slices.Concat([]string{draw.ThemeAuto}, draw.ThemeNames(), own)
}

// themeSettings returns the styles in a theme's file, each with a variant for sixteen colours.
func themeSettings() []config.Setting {
	var plain []config.Setting
	for _, name := range []string{"color", "background"} {
		plain = append(
			plain,
			config.Setting{
				Name:  name,
				Check: newPatternCheck(colorPattern, "is no colour: use a number from 0 to 255, or \"#rrggbb\" in quotes"),
			},
		)
	}
	for _, name := range []string{"bold", "faint", "reverse", "underline"} {
		plain = append(plain, config.Setting{Name: name, Kind: config.Bool})
	}
	style := append(slices.Clone(plain), config.Setting{Name: "basic", Kind: config.Map, Fields: plain})
	return mapSlice(draw.StyleNames(), func(meaning string) config.Setting {
		return config.Setting{Name: meaning, Kind: config.Map, Fields: style}
	})
}

var colorPattern = regexp.MustCompile(`^([0-9]|[1-9][0-9]|1[0-9][0-9]|2[0-4][0-9]|25[0-5]|#[0-9a-fA-F]{6})$`)
