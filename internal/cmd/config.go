package cmd

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/veltui/veltui/internal/config"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/ui"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/keys"
	uiterminal "github.com/veltui/veltui/ui/terminal"
)

func newConfigCommand(c *cli) *cobra.Command {
	var output string
	f := dashboardCommand{cli: c}
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print the settings that are in force and where each comes from",
		Long: `Print the settings that are in force and where each comes from: a flag, an
environment variable, a line of the configuration file, or the default. A flag
wins over the environment, the environment over the file.

The file is $XDG_CONFIG_HOME/veltui/config.yaml, or ~/.config/veltui/config.yaml
(%AppData%\veltui\config.yaml on Windows). --config and VELTUI_CONFIG name another
one; /dev/null stands for no file. What config prints is such a file: you can save
it. If there is a mistake in the file, every command names it and ends with exit
code 2.`,
		Example: `  # What is in force here
  veltui config

  # What a flag changes
  veltui config --theme light

  # Start a file: never write over the one that is read
  veltui config > new.yaml

  # Everything that is not a default, for a script
  veltui config -o json | jq '.settings[] | select(.source != "default")'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.checkUsage(cmd); err != nil {
				return err
			}
			return c.settings.writeSettings(c.stdio.streams.Out, output)
		},
	}
	f.addDashboardFlags(cmd, cmd.Flags())
	addOutputFlag(cmd, &output, "yaml", "json")
	return cmd
}

func (c *settings) writeSettings(out io.Writer, output string) error {
	var data []byte
	if output == "yaml" {
		data = append([]byte(c.configHeader()), config.FormatYAML(c.effective, c.sourceText)...)
	} else {
		d := document.Config{Header: document.NewHeader("Config"), File: c.configFile.path, Exists: c.configFile.exists}
		for _, s := range c.effective {
			listed := document.Setting{Name: s.Name, Source: s.Source, From: c.sourceText(s), Default: s.Default}
			if s.Source != config.FromDefault {
				listed.Value = s.JSONValue(s.Value)
			}
			d.Settings = append(d.Settings, listed)
		}
		var err error
		if data, err = document.Encode(d, "  "); err != nil {
			return err
		}
	}
	_, err := out.Write(data)
	return err
}

func (c *settings) configHeader() string {
	file := "none"
	if c.configFile.path != "" {
		file = strings.Join(strings.Fields(c.configFile.path), " ")
	}
	if !c.configFile.exists {
		file += " (not there)"
	}
	return fmt.Sprintf(
		"# veltui's settings in force, each with where it comes from. A line that starts\n# with # and no space is an "+
			"example of what nobody has set.\n# Its file: %s\n",
		file,
	)
}

const maxFPS = 60 // frames per second

// allSettings returns the settings of the configuration file; docs/config.md describes them. Safeguards of writes are
// not among them, nor is --allow-plain-http: the user decides those each time.
func allSettings() []config.Setting {
	return []config.Setting{
		{
			Name: "contexts",
			Kind: config.List,
			Description: "The kubeconfig contexts, by name or glob. Several are for the dashboard and get; other commands " +
				"then need --context.",
			Default: "the current context",
			Example: "[prod-east, prod-west]",
			Flag:    contextFlag,
			Env:     "VELTUI_CONTEXTS",
		},
		{
			Name:        "namespace",
			Description: "Velero's namespace.",
			Default:     "the context's if Velero is there, else veltui searches for it",
			Example:     "openshift-adp",
			Flag:        "namespace",
			Env:         "VELERO_NAMESPACE",
			Check: newPatternCheck(
				namespacePattern,
				"cannot be a namespace: use lower-case letters, digits and -, at most 63",
			),
		},
		{
			Name: "read-only",
			Kind: config.Bool,
			Description: "Never change the cluster. VELTUI_READ_ONLY=1 wins over --read-only=false, and any value but a " +
				"clear no counts as yes.",
			Default: "false",
			Example: "true",
			Flag:    "read-only",
			Env:     "VELTUI_READ_ONLY",
			Sticky:  true,
		},
		{
			Name:        "no-artifacts",
			Kind:        config.Bool,
			Description: "The dashboard and wait do not download from the object store, not even the contents of backups.",
			Default:     "false",
			Example:     "true",
			Flag:        "no-artifacts",
			Env:         "VELTUI_NO_ARTIFACTS",
		},
		{
			Name:   "cacert",
			IsPath: true,
			Description: "PEM file with the CA certificates of the object store. In the file, a relative path starts at the " +
				"file's folder.",
			Default: "the storage location's, else the system's",
			Example: "store-ca.pem",
			Flag:    "cacert",
			Env:     "VELTUI_CACERT",
		},
		{
			Name: "theme",
			Description: "Colours: a built-in theme, the name of a file in the folder themes beside the file, or a path. " +
				"With NO_COLOR, veltui takes mono.",
			Default: draw.ThemeAuto,
			Example: "contrast",
			Flag:    "theme",
			Env:     "VELTUI_THEME",
		},
		{Name: "ascii", Kind: config.Bool, Description: "Draw with ASCII only.",
			Default: "true where the locale is not UTF-8", Example: "true", Flag: "ascii", Env: "VELTUI_ASCII"},
		{
			Name:        "fps",
			Kind:        config.Number,
			Min:         1,
			Max:         maxFPS,
			Description: "How many frames a second the dashboard draws at most, 1 to 60.",
			Default:     "30, or 10 over ssh",
			Example:     "4",
			Flag:        "fps",
			Env:         "VELTUI_FPS",
		},
		{Name: "no-alt-screen", Kind: config.Bool, Description: "Draw on the normal screen, not on the alternate screen.",
			Default: "false", Example: "true", Flag: "no-alt-screen", Env: "VELTUI_NO_ALT_SCREEN"},
		{
			Name:        "plain",
			Kind:        config.Bool,
			Description: "Print events as plain lines and read commands, instead of the dashboard.",
			Default:     "false",
			Example:     "true",
			Flag:        "plain",
			Env:         "VELTUI_PLAIN",
		},
		{
			Name:        "notifications",
			Description: "How the dashboard notifies you when a job ends, fails or is stuck: none, bell, osc9 or osc777.",
			Default: string(
				uiterminal.NoNotification,
			),
			Example: "bell",
			Flag:    "notify",
			Env:     "VELTUI_NOTIFICATIONS",
			Allowed: uiterminal.NotificationMethodNames(),
		},
		{
			Name: "thresholds",
			Kind: config.Map,
			Description: "Limits of your own. backup-age is how old a schedule's last Completed backup may be, such as 26h " +
				"or 2d, before the Schedules tab calls that an alarm.",
			Default: "none",
			Example: "{backup-age: 26h}",
			Fields: []config.Setting{
				{
					Name:  backupAgeSetting,
					Check: newPatternCheck(ageThresholdPattern, "must be a number and m, h or d, such as 90m, 26h or 2d"),
				},
			},
		},
		{
			Name:        "tabs",
			Kind:        config.List,
			Description: "The dashboard's tabs, in this order. The first one is open at the start.",
			Default:     "all that the cluster has",
			Example:     "[restores, backups, active]",
			Env:         "VELTUI_TABS",
			Allowed:     ui.TabNames(),
		},
		{
			Name: "columns",
			Kind: config.List,
			Description: "The columns behind a job's name in the dashboard's lists, in this order. Those from progress to " +
				"warnings stay together.",
			Default: "all that fit",
			Example: "[stage, progress, eta, age]",
			Env:     "VELTUI_COLUMNS",
			Allowed: ui.ColumnNames(),
		},
		{
			Name: "ended-within",
			Description: "The dashboard leaves out jobs that ended longer ago, to need less memory. What runs or is stuck " +
				"stays, and the lists say how many are not shown.",
			Default: "all jobs",
			Example: "720h",
			Flag:    "ended-within",
			Env:     "VELTUI_ENDED_WITHIN",
			Check:   checkDuration,
		},
		{
			Name:        "keys",
			Kind:        config.Map,
			Description: "The keys of an action, in place of its usual ones. An action that you do not name keeps its own.",
			Default:     "the keys that help (?) names",
			Example:     "{finalize: X, open: [enter, o]}",
			Fields:      keySettings(),
		},
		{
			Name: "mouse",
			Kind: config.Bool,
			Description: "Use the mouse: the wheel scrolls, a click opens a tab or selects a row. The terminal then selects " +
				"text only while you hold shift.",
			Default: "false",
			Example: "true",
			Flag:    "mouse",
			Env:     "VELTUI_MOUSE",
		},
	}
}

func checkDuration(text string) string {
	if d, err := time.ParseDuration(text); err != nil || d < 0 {
		return fmt.Sprintf("%q cannot be a duration: write it as 720h or 90m", text)
	}
	return ""
}

var namespacePattern = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// newPatternCheck returns a check that accepts text matching the pattern, and otherwise says what is wrong.
func newPatternCheck(pattern *regexp.Regexp, wrong string) func(string) string {
	return func(text string) string {
		if pattern.MatchString(text) {
			return ""
		}
		return fmt.Sprintf("%q %s", text, wrong)
	}
}

const backupAgeSetting = "backup-age"

var ageThresholdPattern = regexp.MustCompile(`^([1-9][0-9]{0,4})([mhd])$`)

func (c *settings) ageThreshold(name string) time.Duration {
	for _, field := range c.findSetting("thresholds").Value.Fields {
		if parts := ageThresholdPattern.FindStringSubmatch(field.Text); field.Name == name && parts != nil {
			n, _ := strconv.Atoi(parts[1]) // at most five digits
			return time.Duration(
				n,
			) * map[string]time.Duration{"m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}[parts[2]]
		}
	}
	return 0
}

func (c *settings) explicitValues(name string) []string {
	if s := c.findSetting(name); s.Source != config.FromDefault {
		return s.Value.ItemTexts()
	}
	return nil
}

// findSetting returns a setting's effective value, a default before the configuration is read.
func (c *settings) findSetting(name string) config.EffectiveSetting {
	if i := slices.IndexFunc(c.effective, func(s config.EffectiveSetting) bool { return s.Name == name }); i >= 0 {
		return c.effective[i]
	}
	return config.EffectiveSetting{Source: config.FromDefault}
}

// isReadOnly treats any value of VELTUI_READ_ONLY as yes, except a clear no.
func (c *settings) isReadOnly() bool {
	set := c.process.getenv("VELTUI_READ_ONLY")
	if set == "" {
		return c.readOnly
	}
	no, err := strconv.ParseBool(set)
	return c.readOnly || err != nil || no
}

func keySettings() []config.Setting {
	all := make([]config.Setting, len(keys.Actions))
	for i := range keys.Actions {
		action := &keys.Actions[i]
		all[i] = config.Setting{Name: action.Name, Kind: config.List, Check: action.KeyProblem}
	}
	return all
}

// resolveKeys returns the keys that the file sets. The problems are conflicts on one screen.
func resolveKeys(file string, values []config.Value) (keys.Overrides, config.Problems) {
	at := slices.IndexFunc(values, func(v config.Value) bool { return v.Name == "keys" })
	if at < 0 {
		return nil, nil
	}
	chosen, places := keys.Overrides{}, map[[2]string]config.Value{}
	for _, field := range values[at].Fields {
		chosen[field.Name] = field.ItemTexts()
		for _, item := range field.Items {
			places[[2]string{field.Name, item.Text}] = item
		}
	}
	var problems config.Problems
	for _, c := range chosen.FindConflicts() {
		other := "which always does that"
		if c.OtherAction != "" {
			other = "action " + c.OtherAction
		}
		place := places[[2]string{c.Action, c.Key}]
		problems = append(problems, config.Problem{File: file, Line: place.Line, Column: place.Column,
			Text: fmt.Sprintf("keys.%s: %q is already %q on the same screen (%s)", c.Action, c.Key, c.OtherDescription, other)})
	}
	return chosen, problems
}
