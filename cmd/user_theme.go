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

// loadTheme reads the theme that is in force, if it is one of the user's own: a
// path, or a name in the folder themes beside the configuration file. A built-in
// one of the same name wins.
func (c *settings) loadTheme() config.Problems {
	at := slices.IndexFunc(c.inForce, func(s config.InForce) bool { return s.Name == "theme" })
	theme := c.inForce[at]
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

// readTheme reads a theme's file, which from names.
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

// ownTheme reads one of the user's own themes by its name, for the dashboard.
func (c *settings) ownTheme(name string) (*draw.Theme, error) {
	for _, file := range c.userThemes() {
		if themeName(file) == name {
			theme, problems := readTheme(file, file)
			if problems != nil {
				return nil, errors.New(sanitize.String(problems.Error()))
			}
			return theme, nil
		}
	}
	return nil, fmt.Errorf("the theme %s is gone", name)
}

// ownThemes are the names of the user's own themes that no built-in one has.
func (c *settings) ownThemes() []string {
	var names []string
	for _, file := range c.userThemes() {
		if name := themeName(file); sanitize.String(name) == name && name != draw.ThemeAuto && !slices.Contains(draw.Themes(), name) {
			names = append(names, name)
		}
	}
	return names
}

// themeName is how the theme in a file is called.
func themeName(file string) string {
	return strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
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
	for _, known := range c.userThemes() {
		if themeName(known) == name {
			return known
		}
	}
	return ""
}

// userThemes are the files in the user's folder of themes.
func (c *settings) userThemes() []string {
	if c.configFile.path == "" {
		return nil
	}
	dir := filepath.Join(filepath.Dir(c.configFile.path), "themes")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var files []string
	for _, entry := range entries {
		if ext := filepath.Ext(entry.Name()); ext == ".yaml" || ext == ".yml" {
			files = append(files, filepath.Join(dir, entry.Name()))
		}
	}
	return files
}

// themes are the names of all themes that there are.
func (c *settings) themes() []string {
	all := append([]string{draw.ThemeAuto}, draw.Themes()...)
	for _, file := range c.userThemes() {
		all = append(all, themeName(file))
	}
	return all
}

// themeSettings are what a theme's file may say: a style for each meaning, and in
// it another one for terminals with sixteen colours.
func themeSettings() []config.Setting {
	plain := []config.Setting{{Name: "color", Check: colorFault}}
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

func colorFault(text string) string {
	if colorText.MatchString(text) {
		return ""
	}
	return fmt.Sprintf("%q is no colour: use a number from 0 to 255, or \"#rrggbb\" in quotes", text)
}
