package document

import "github.com/veltui/veltui/internal/config"

// Version is what `version -o json` prints. What a build does not know is absent.
type Version struct {
	Header
	Version   string `json:"version"`
	Commit    string `json:"commit,omitempty"`
	Date      string `json:"date,omitempty"`
	Modified  bool   `json:"modified,omitempty"`
	VeleroAPI string `json:"veleroAPI"`
	GoVersion string `json:"goVersion"`
	Platform  string `json:"platform"`
}

// Config is what `config -o json` prints: the settings in force.
type Config struct {
	Header
	File     string    `json:"file,omitempty"`
	Exists   bool      `json:"exists"`
	Settings []Setting `json:"settings"`
}

// Setting is one setting. Without a value, the default holds.
type Setting struct {
	Name    string        `json:"name"`
	Value   any           `json:"value,omitempty"`
	Source  config.Source `json:"source"`
	From    string        `json:"from"`
	Default string        `json:"default"`
}
