package cmd

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// maxRestoreFile is more than etcd would take of a Restore.
const maxRestoreFile = 4 << 20

// readRestoreFile reads the one Restore that a YAML or JSON file holds; "-" is
// standard input. A field that Restores do not have is an error: a filter with
// a wrong name would change every number.
func (c *stdio) readRestoreFile(path string) (*velerov1.Restore, error) {
	in := c.streams.In
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("reading the restore: %w", err)
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxRestoreFile+1))
	if err != nil {
		return nil, fmt.Errorf("reading the restore: %w", err)
	}
	if len(data) > maxRestoreFile {
		return nil, fmt.Errorf("reading the restore: %s is larger than %d bytes", path, maxRestoreFile)
	}
	restore, err := parseRestore(data)
	if err != nil {
		return nil, fmt.Errorf("reading the restore: %s: %w", path, err)
	}
	return restore, nil
}

func parseRestore(data []byte) (*velerov1.Restore, error) {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	var found *velerov1.Restore
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		var is struct{ APIVersion, Kind string }
		if err := yaml.Unmarshal(document, &is); err != nil {
			return nil, err
		}
		switch {
		case is.Kind != "Restore":
			if is.Kind == "" && is.APIVersion == "" {
				continue // an empty document, or none that we can name
			}
			return nil, fmt.Errorf("expected a Restore, found kind %q", is.Kind)
		case is.APIVersion != velerov1.SchemeGroupVersion.String():
			return nil, fmt.Errorf("expected apiVersion %s, found %q", velerov1.SchemeGroupVersion, is.APIVersion)
		case found != nil:
			return nil, errors.New("contains more than one Restore")
		}
		found = &velerov1.Restore{}
		if err := yaml.UnmarshalStrict(document, found); err != nil {
			return nil, err
		}
	}
	if found == nil {
		return nil, errors.New("contains no Restore (apiVersion velero.io/v1, kind Restore)")
	}
	return found, nil
}
