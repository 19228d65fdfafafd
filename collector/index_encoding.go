package collector

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
)

// Errors of UnmarshalBinary.
var (
	ErrIndexVersion = errors.New("index was written by another version")
	ErrIndexCorrupt = errors.New("index is damaged")
)

// indexMagic starts an encoded Index; its last byte is the encoding's version.
const indexMagic = "veltui-index\x04"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// MarshalBinary encodes the Index for a cache: a version, the content, and a checksum over both.
func (x *Index) MarshalBinary() ([]byte, error) {
	w := bytes.NewBufferString(indexMagic)
	if err := gob.NewEncoder(w).Encode(x.indexData); err != nil {
		return nil, err
	}
	return binary.LittleEndian.AppendUint32(w.Bytes(), crc32.Checksum(w.Bytes(), castagnoli)), nil
}

// UnmarshalBinary decodes what MarshalBinary made. It returns ErrIndexVersion
// for another version's encoding and ErrIndexCorrupt for damaged data, which
// it notices whatever the damage; then x is not changed.
func (x *Index) UnmarshalBinary(data []byte) error {
	name := len(indexMagic) - 1
	if len(data) < len(indexMagic)+4 || string(data[:name]) != indexMagic[:name] {
		return fmt.Errorf("decoding index: %w: no index", ErrIndexCorrupt)
	}
	if data[name] != indexMagic[name] {
		return fmt.Errorf("decoding index: %w (%d, this is %d)", ErrIndexVersion, data[name], indexMagic[name])
	}
	body, sum := data[:len(data)-4], data[len(data)-4:]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(sum) {
		return fmt.Errorf("decoding index: %w: wrong checksum", ErrIndexCorrupt)
	}
	var decoded indexData
	if err := gob.NewDecoder(bytes.NewReader(body[len(indexMagic):])).Decode(&decoded); err != nil {
		return fmt.Errorf("decoding index: %w: %w", ErrIndexCorrupt, err)
	}
	if !decoded.isConsistent() {
		return fmt.Errorf("decoding index: %w: inconsistent content", ErrIndexCorrupt)
	}
	x.indexData = decoded
	return nil
}

// isConsistent reports whether all numbers point to something, and lists are sorted.
func (x *indexData) isConsistent() bool {
	items, names, sets, facts := x.Names.len(), x.Strings.len(), x.Sets.len(), x.Facts.len()
	for _, t := range []*stringTable{&x.Strings, &x.Names, &x.Sets, &x.Facts} {
		if n := len(t.End); !slices.IsSorted(t.End) || n > 0 && int64(t.End[n-1]) > int64(len(t.Data)) {
			return false
		}
	}
	within := func(n int, ids ...uint32) bool {
		return !slices.ContainsFunc(ids, func(id uint32) bool { return int64(id) >= int64(n) })
	}
	for id := range uint32(sets) {
		set := x.Sets.bytes(id)
		for ; len(set) >= 4; set = set[4:] {
			if !within(names, binary.LittleEndian.Uint32(set)) {
				return false
			}
		}
		if len(x.Sets.bytes(id))%8 != 0 {
			return false
		}
	}
	for id := range uint32(facts) {
		if !eachFact(x.Facts.bytes(id), func(_ NeedKind, name uint32, _ int64) bool { return within(names, name) }) {
			return false
		}
	}
	next := uint32(0)
	for _, b := range x.Buckets {
		if b.First != next || b.End < next || !within(names, b.Resource, b.Namespace) {
			return false
		}
		next = b.End
	}
	return int64(next) == int64(items) && len(x.SetOf) == items && len(x.Flags) == items && within(sets, x.SetOf...) &&
		slices.IsSortedFunc(x.Refs, func(a, b reference) int { return cmp.Compare(a.Item, b.Item) }) &&
		slices.IsSortedFunc(x.Needs, func(a, b needsOf) int { return cmp.Compare(a.Item, b.Item) }) &&
		!slices.ContainsFunc(x.Refs, func(r reference) bool {
			return !within(items, r.Item) || r.Kind >= refKinds || !within(names, r.Namespace, r.Name)
		}) &&
		!slices.ContainsFunc(x.Kinds, func(d definition) bool { return !within(items, d.Item) }) &&
		!slices.ContainsFunc(x.Needs, func(n needsOf) bool { return !within(items, n.Item) || !within(facts, n.Set) }) &&
		!slices.ContainsFunc(x.Stored, func(v storedVersion) bool { return !within(names, v.Resource, v.Version) })
}
