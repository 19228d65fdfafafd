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
	Kind    string  `json:"kind"`
	Format  int     `json:"format"`
	Cluster Cluster `json:"cluster"`
	// Backup is the uid of the backup that the content is of, empty if it is of the cluster.
	Backup string    `json:"backup,omitempty"`
	Time   time.Time `json:"time"` // of writing
}

// Cluster tells one cluster from another.
type Cluster struct {
	// Address is the way to the cluster, in any words that differ between clusters.
	Address string `json:"address"`
	// Identified is true once the cluster was asked for UID, that of its namespace kube-system. UID is empty if it
	// may not be read.
	Identified bool   `json:"identified"`
	UID        string `json:"uid,omitempty"`
}

// ErrUnusable is wrapped by the errors of a file that is damaged, of another format, or of something else than what
// was asked for.
var ErrUnusable = errors.New("the file is not used")

// Errors of a file that holds no sealed content.
var (
	errDamaged   = fmt.Errorf("%w: it is damaged", ErrUnusable)
	errNotSealed = fmt.Errorf("%w: it does not say what it is of", ErrUnusable)
)

// A sealed file is sealMark, the length of the header (4 bytes, little endian), the header as JSON, the content, and
// the checksum (CRC-32C, 4 bytes, little endian) of all before it.
const (
	sealMark    = "veltui-sealed\x01"
	prefixBytes = len(sealMark) + 4
	sumBytes    = 4
	maxHeader   = 8 << 10
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// prefix encodes what comes before the content.
func (h Header) prefix() ([]byte, error) {
	text, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("encoding what a file is of: %w", err)
	}
	if len(text) > maxHeader {
		return nil, fmt.Errorf("what a file is of takes %d bytes, more than %d", len(text), maxHeader)
	}
	return append(binary.LittleEndian.AppendUint32([]byte(sealMark), uint32(len(text))), text...), nil
}

// check compares what a file is of with what is wanted.
func (h Header) check(want Header) error {
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

// WriteSealed writes content with what it is of, as Write does. It sets the time.
func (d Dir) WriteSealed(name string, h Header, content []byte) error {
	h.Time = d.Clock().UTC()
	prefix, err := h.prefix()
	if err != nil {
		return err
	}
	sum := crc32.Update(crc32.Checksum(prefix, castagnoli), castagnoli, content)
	return d.write(name, prefix, content, binary.LittleEndian.AppendUint32(nil, sum))
}

// ReadSealed reads the content of a file that WriteSealed wrote, if it is of what is wanted; a cluster that is not
// Identified is compared by its address only. Content of more than most bytes gives ErrTooLarge. Other errors are
// those of Read, and ErrUnusable.
func (d Dir) ReadSealed(name string, most int64, want Header) (Header, []byte, error) {
	f, size, err := d.open(name)
	if err != nil {
		return Header{}, nil, err
	}
	defer func() { _ = f.Close() }()
	h, content, err := unseal(f, size, most, want)
	if err != nil {
		return Header{}, nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	return h, content, nil
}

// unseal reads a sealed file of size bytes. It reads the content only if that is of what is wanted.
func unseal(r io.Reader, size, most int64, want Header) (h Header, content []byte, err error) {
	sum := crc32.New(castagnoli)
	summed := io.TeeReader(r, sum)
	h, length, err := readHeader(summed, size)
	if err != nil {
		return h, nil, err
	}
	if err := h.check(want); err != nil {
		return h, nil, err
	}
	left := size - int64(length) - sumBytes
	if left > most {
		return h, nil, ErrTooLarge
	}
	content = make([]byte, left)
	var sealed [sumBytes]byte
	if _, err := io.ReadFull(summed, content); err != nil {
		return h, nil, shortened(err)
	}
	if _, err := io.ReadFull(r, sealed[:]); err != nil {
		return h, nil, shortened(err)
	}
	if binary.LittleEndian.Uint32(sealed[:]) != sum.Sum32() {
		return h, nil, errDamaged
	}
	return h, content, nil
}

// readHeader reads all before the content, of length bytes.
func readHeader(r io.Reader, size int64) (h Header, length int, err error) {
	prefix := make([]byte, prefixBytes)
	if _, err := io.ReadFull(r, prefix); err != nil {
		return h, 0, shortened(err)
	}
	if !bytes.HasPrefix(prefix, []byte(sealMark)) {
		return h, 0, errNotSealed
	}
	announced := binary.LittleEndian.Uint32(prefix[len(sealMark):])
	if announced > maxHeader || int64(prefixBytes)+int64(announced)+sumBytes > size {
		return h, 0, errDamaged
	}
	text := make([]byte, announced)
	if _, err := io.ReadFull(r, text); err != nil {
		return h, 0, shortened(err)
	}
	if json.Unmarshal(text, &h) != nil {
		return h, 0, errDamaged
	}
	return h, prefixBytes + len(text), nil
}

// shortened names a file that ends too early as damaged.
func shortened(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errDamaged
	}
	return err
}

// Has reports whether there is anything of that name; it may be of no use.
func (d Dir) Has(name string) bool {
	_, err := os.Lstat(filepath.Join(d.Path, name))
	return err == nil
}
