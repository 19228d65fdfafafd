package cmd

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/veltui/veltui/internal/config"
	"github.com/veltui/veltui/say/document"
)

func newConfig(c *cli) *cobra.Command {
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
			if err := f.check(cmd); err != nil {
				return err
			}
			return c.settings.write(c.streams.Out, output)
		},
	}
	f.register(cmd, cmd.Flags())
	cmd.Flags().StringVarP(&output, "output", "o", "yaml", "yaml or json")
	return cmd
}

func (c *settings) write(out io.Writer, output string) error {
	var data []byte
	if output == "yaml" {
		data = append([]byte(c.aboutConfig()), config.Document(c.inForce, c.from)...)
	} else {
		d := document.Config{Header: document.NewHeader("Config"), File: c.configFile.path, Exists: c.configFile.there}
		for _, s := range c.inForce {
			listed := document.Setting{Name: s.Name, Source: s.Source, From: c.from(s), Default: s.Default}
			if s.Source != config.FromDefault {
				listed.Value = s.JSON(s.Value)
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

func (c *settings) aboutConfig() string {
	file := "none"
	if c.configFile.path != "" {
		file = strings.Join(strings.Fields(c.configFile.path), " ")
	}
	if !c.configFile.there {
		file += " (not there)"
	}
	return fmt.Sprintf("# veltui's settings in force, each with where it comes from. A line that starts\n# with # and no space is an example of what nobody has set.\n# Its file: %s\n", file)
}
