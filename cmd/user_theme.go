package cmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/veltui/veltui/internal/config"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/ui/draw"
)

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
		return config.Problems{{File: place, Text: fmt.Sprintf("must be one of %s, or a file%s", strings.Join(c.themes(), ", "), config.Suggestion(name, c.themes()))}}
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

// themePath is the file of a theme, empty if there is none with such a name.
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

// userThemes are the names of the themes in the user's folder, and their files.
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
	plain := []config.Setting{{Name: "color", Check: matching(colorText, "is no colour: use a number from 0 to 255, or \"#rrggbb\" in quotes")}}
	for _, name := range []string{"bold", "faint", "reverse", "underline"} {
		plain = append(plain, config.Setting{Name: name, Kind: config.Bool})
	}
	style := append(slices.Clone(plain), config.Setting{Name: "basic", Kind: config.Map, Fields: plain})
	var all []config.Setting
	for _, meaning := range draw.Meanings() {
		all = append(all, config.Setting{Name: meaning, Kind: config.Map, Fields: style})
	}
	return all
}

var colorText = regexp.MustCompile(`^([0-9]|[1-9][0-9]|1[0-9][0-9]|2[0-4][0-9]|25[0-5]|#[0-9a-fA-F]{6})$`)
