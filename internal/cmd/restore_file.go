package cmd

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"unicode/utf16"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/veltui/veltui/internal/filetype"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/restore/restorespec"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/watch"
)

const maxRestoreFileSize = 4 << 20 // more than etcd would accept for a Restore

// readFile reads a small file; "-" is standard input.
func (c *stdio) readFile(path string) ([]byte, error) {
	in := c.streams.In
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("reading the restore: %w", err)
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxRestoreFileSize+1))
	if err == nil && len(data) > maxRestoreFileSize {
		err = fmt.Errorf("%s is larger than %d bytes", path, maxRestoreFileSize)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the restore: %w", err)
	}
	return data, nil
}

// readRestoreFile reads the one Restore in the file, with the ConfigMap of its selection; "-" is standard input. An
// unknown field is an error, because a filter with a wrong name would change every number.
func (a *requestedRestore) readRestoreFile() (*veleroapi.Restore, error) {
	data, err := a.cli.stdio.readFile(a.file)
	if err != nil {
		return nil, err
	}
	restore, err := parseRestore(data)
	if err != nil {
		return nil, fmt.Errorf("reading the restore: %s: %w", a.file, err)
	}
	if s := restore.Spec; s.BackupName != "" && s.ScheduleName != "" {
		fmt.Fprintf(
			a.cli.stdio.streams.ErrOut,
			"note: %s names backup %s and schedule %s, and Velero refuses a restore with both: veltui leaves out scheduleName\n",
			a.file,
			sanitize.String(s.BackupName),
			sanitize.String(s.ScheduleName),
		)
	}
	return restore, nil
}

// checkFileNamespace returns an error if the file is for a namespace without a Velero, although there is one elsewhere.
func (a *requestedRestore) checkFileNamespace(snap *watch.Snapshot) error {
	if a.fileRestore == nil || a.file == "" || a.fileRestore.Namespace == "" {
		return nil
	}
	namespace := a.fileRestore.Namespace
	installed := snap.OtherNamespaces
	if snap.NamespaceNotice == "" {
		installed = append([]string{snap.Namespace}, installed...)
	}
	if len(installed) == 0 || slices.Contains(installed, namespace) {
		return nil
	}
	return usageErrorf(
		"%s is for namespace %s, and this cluster's Velero is in %s: change metadata.namespace in the file, or leave it out",
		a.file,
		sanitize.String(namespace),
		human.JoinNames(installed, 3),
	)
}

// checkFileIsFor returns an error if the file is for another namespace than the snapshot is of.
func (a *requestedRestore) checkFileIsFor(snap *watch.Snapshot) error {
	err := a.checkFileNamespace(snap)
	if err != nil || a.fileRestore == nil || a.file == "" {
		return err
	}
	if namespace := a.fileRestore.Namespace; namespace != "" && namespace != snap.Namespace {
		return usageErrorf("%s is for namespace %s, not %s: add -n %[2]s, or change the file", a.file,
			sanitize.String(namespace), snap.Namespace)
	}
	return nil
}

// parseRestore parses a file with one Restore.
func parseRestore(data []byte) (*veleroapi.Restore, error) {
	data, err := decodeText(data)
	if err != nil {
		return nil, err
	}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	var found *veleroapi.Restore
	var configMaps [][]byte
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
			return nil, explainYAML(data, err)
		}
		switch {
		case is.Kind == "ConfigMap":
			configMaps = append(configMaps, document)
			continue
		case is.Kind != "Restore":
			if is.Kind == "" && is.APIVersion == "" {
				continue // an empty document, or one whose kind is unknown
			}
			return nil, fmt.Errorf("expected a Restore, found kind %q", is.Kind)
		case is.APIVersion != veleroapi.GroupVersion.String():
			return nil, fmt.Errorf("expected apiVersion %s, found %q", veleroapi.GroupVersion, is.APIVersion)
		case found != nil:
			return nil, errors.New("contains more than one Restore")
		}
		found = &veleroapi.Restore{}
		if err := yaml.UnmarshalStrict(document, found); err != nil {
			return nil, err
		}
	}
	if found == nil {
		return nil, errors.New("contains no Restore (apiVersion velero.io/v1, kind Restore)")
	}
	for _, document := range configMaps {
		if err := checkConfigMapBeside(found, document); err != nil {
			return nil, err
		}
	}
	if len(configMaps) > 1 {
		return nil, errors.New("contains the ConfigMap of its selection more than once")
	}
	return found, nil
}

// decodeText returns a text file in UTF-8. It fails for a file that is no text.
func decodeText(data []byte) ([]byte, error) {
	t := filetype.Detect(data)
	switch {
	case t.Format == filetype.UTF16:
		return decodeUTF16(data)
	case t.IsMarkup(), t.IsCompressed(), t.Format == filetype.Gzip, t.Format == filetype.Tar:
		return nil, fmt.Errorf("it is %s, not a Restore in YAML or JSON", t)
	}
	return data, nil
}

// decodeUTF16 decodes a text with a byte order mark, such as PowerShell's > writes.
func decodeUTF16(data []byte) ([]byte, error) {
	if len(data)%2 != 0 {
		return nil, errors.New("it is text in UTF-16, and ends within a character: save it in UTF-8")
	}
	order := binary.ByteOrder(binary.LittleEndian)
	if data[0] == 0xfe {
		order = binary.BigEndian
	}
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = order.Uint16(data[2*i:])
	}
	return []byte(string(utf16.Decode(units[1:]))), nil
}

// explainYAML names a tab as the cause of a syntax error: the parser's words do not.
func explainYAML(data []byte, err error) error {
	for i, line := range strings.Split(string(data), "\n") {
		indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		if strings.Contains(indent, "\t") && strings.TrimSpace(line) != "" {
			return fmt.Errorf("line %d is indented with a tab, which YAML does not allow: use spaces (%w)", i+1, err)
		}
	}
	return err
}

// checkConfigMapBeside returns why veltui cannot create a restore with a ConfigMap in the same file: veltui creates a
// Restore, and with it only the ConfigMap of its own selection of items.
func checkConfigMapBeside(found *veleroapi.Restore, document []byte) error {
	d := restorespec.Draft{Restore: *found, Selected: restorespec.SelectedItems(found)}
	var is map[string]any
	if want := d.ConfigMap(found.Namespace); want != nil && yaml.Unmarshal(document, &is) == nil &&
		reflect.DeepEqual(is, want.Object) {
		return nil
	}
	var named metav1.PartialObjectMetadata
	_ = yaml.Unmarshal(document, &named) // the error below says if there is no name
	if named.Labels[restorespec.SelectionLabel] != "" {
		return errors.New(
			"the ConfigMap is not that of the Restore's selection: name the objects with --only-from FILE",
		)
	}
	return fmt.Errorf(
		"it holds the ConfigMap %s beside the Restore, and veltui creates the Restore alone: apply the ConfigMap first "+
			"(kubectl apply -f), then give a file with the Restore alone",
		cmp.Or(sanitize.String(named.Name), "without a name"),
	)
}
