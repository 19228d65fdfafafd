package statedir

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"time"
)

// Header names what a sealed file holds. Its name on disk proves nothing: anyone who may write there can rename it.
type Header struct {
	// Kind is what the content is, and Format the version of its form.
	Kind    string    `json:"kind"`
	Format  int       `json:"format"`
	Cluster ClusterID `json:"cluster"`
	// Backup is the uid of the backup that the content is of, empty if it is of the cluster.
	Backup string    `json:"backup,omitempty"`
	Time   time.Time `json:"time"` // of writing
}

// ClusterID tells one cluster from another.
type ClusterID struct {
	// Address is the way to the cluster, in any words that differ between clusters.
	Address string `json:"address"`
	// Identified is true once the cluster was asked for UID, that of its namespace kube-system. UID is empty if it
	// may not be read.
	Identified bool   `json:"identified"`
	UID        string `json:"uid,omitempty"`
}

// ErrUnusable is wrapped by the errors of a file that is damaged, of another format, or not of the requested content.
var ErrUnusable = errors.New("the file is not used")

// These are the errors of a file without sealed content.
var (
	errDamaged   = fmt.Errorf("%w: it is damaged", ErrUnusable)
	errNotSealed = fmt.Errorf("%w: it does not say what it is of", ErrUnusable)
)

// A sealed file is sealMagic, the length of the header (4 bytes, little endian), the header as JSON, the content, and
// the checksum (CRC-32C, 4 bytes, little endian) of all before it.
const (
	sealMagic      = "veltui-sealed\x01"
	prefixBytes    = len(sealMagic) + 4
	checksumBytes  = 4
	maxHeaderBytes = 8 << 10
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encodePrefix returns the bytes before the content.
func (h Header) encodePrefix() ([]byte, error) {
	text, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("encoding what a file is of: %w", err)
	}
	if len(text) > maxHeaderBytes {
		return nil, fmt.Errorf("what a file is of takes %d bytes, more than %d", len(text), maxHeaderBytes)
	}
	return append(binary.LittleEndian.AppendUint32([]byte(sealMagic), uint32(len(text))), text...), nil
}

// checkAgainst returns an error unless a file's header matches the wanted one.
func (h Header) checkAgainst(want Header) error {
	isOf := func(what, is, want string) error {
		return fmt.Errorf("%w: it is of %s %.100q, not of %.100q", ErrUnusable, what, is, want)
	}
	switch {
	case h.Kind != want.Kind:
		return isOf("kind", h.Kind, want.Kind)
	case h.Format != want.Format:
		return fmt.Errorf("%w: its format is %d, not %d", ErrUnusable, h.Format, want.Format)
	case h.Backup != want.Backup:
		return isOf("backup", h.Backup, want.Backup)
	case h.Cluster.Address != want.Cluster.Address:
		return isOf("the cluster at", h.Cluster.Address, want.Cluster.Address)
	case want.Cluster.Identified && !h.Cluster.Identified:
		return fmt.Errorf("%w: it does not say of which cluster it is", ErrUnusable)
	case want.Cluster.Identified && h.Cluster.UID != want.Cluster.UID:
		return isOf("the cluster with the uid", h.Cluster.UID, want.Cluster.UID)
	case h.Time.IsZero():
		return errDamaged
	}
	return nil
}

// WriteSealed writes content with its header, like Write. It sets the header's time.
func (d Dir) WriteSealed(name string, h Header, content []byte) error {
	h.Time = d.Clock().UTC()
	prefix, err := h.encodePrefix()
	if err != nil {
		return err
	}
	sum := crc32.Update(crc32.Checksum(prefix, castagnoli), castagnoli, content)
	return d.writeParts(name, prefix, content, binary.LittleEndian.AppendUint32(nil, sum))
}

// ReadSealed reads the content of a file that WriteSealed wrote, if its header matches want; a cluster that is not
// Identified is compared by its address only. The error is ErrTooLarge for content of more than most bytes,
// ErrUnusable, or one of Read.
func (d Dir) ReadSealed(name string, most int64, want Header) (Header, []byte, error) {
	f, size, err := d.openFile(name)
	if err != nil {
		return Header{}, nil, err
	}
	defer func() { _ = f.Close() }()
	h, content, err := readSealedFile(f, size, most, want)
	if err != nil {
		return Header{}, nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	return h, content, nil
}

// readSealedFile reads a sealed file of size bytes. It reads the content only if the header matches want.
func readSealedFile(r io.Reader, size, most int64, want Header) (h Header, content []byte, err error) {
	sum := crc32.New(castagnoli)
	summed := io.TeeReader(r, sum)
	h, length, err := readHeader(summed, size)
	if err != nil {
		return h, nil, err
	}
	if err := h.checkAgainst(want); err != nil {
		return h, nil, err
	}
	left := size - int64(length) - checksumBytes
	if left > most {
		return h, nil, ErrTooLarge
	}
	content = make([]byte, left)
	var sealed [checksumBytes]byte
	if _, err := io.ReadFull(summed, content); err != nil {
		return h, nil, damagedIfShort(err)
	}
	if _, err := io.ReadFull(r, sealed[:]); err != nil {
		return h, nil, damagedIfShort(err)
	}
	if binary.LittleEndian.Uint32(sealed[:]) != sum.Sum32() {
		return h, nil, errDamaged
	}
	return h, content, nil
}

// readHeader reads everything before the content, and returns the header and the number of bytes read.
func readHeader(r io.Reader, size int64) (h Header, length int, err error) {
	prefix := make([]byte, prefixBytes)
	if _, err := io.ReadFull(r, prefix); err != nil {
		return h, 0, damagedIfShort(err)
	}
	if !bytes.HasPrefix(prefix, []byte(sealMagic)) {
		return h, 0, errNotSealed
	}
	announced := binary.LittleEndian.Uint32(prefix[len(sealMagic):])
	if announced > maxHeaderBytes || int64(prefixBytes)+int64(announced)+checksumBytes > size {
		return h, 0, errDamaged
	}
	text := make([]byte, announced)
	if _, err := io.ReadFull(r, text); err != nil {
		return h, 0, damagedIfShort(err)
	}
	if json.Unmarshal(text, &h) != nil {
		return h, 0, errDamaged
	}
	return h, prefixBytes + len(text), nil
}

// damagedIfShort returns errDamaged for an error that means the file ends too early, else err.
func damagedIfShort(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errDamaged
	}
	return err
}

// Exists reports whether there is a file of that name; it may be unusable.
func (d Dir) Exists(name string) bool {
	_, err := os.Lstat(filepath.Join(d.Path, name))
	return err == nil
}
