package collector

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// Errors of UnmarshalBinary.
var (
	ErrIndexVersion = errors.New("index was written by another version")
	ErrIndexCorrupt = errors.New("index is damaged")
)

// indexMagic starts an encoded Index; its last byte is the encoding's version.
const indexMagic = "veltui-index\x03"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// MarshalBinary encodes the Index for a cache: a version, the content, and a
// checksum over both.
func (x *Index) MarshalBinary() ([]byte, error) {
	w := encoder(make([]byte, 0, len(x.strings.data)+len(x.names.data)+len(x.sets.data)+16*len(x.flags)+4096))
	w = append(w, indexMagic...)
	w.text(x.formatVersion)
	w.bools(x.partial, x.namesOnly)
	w.number(len(x.problems))
	for _, p := range x.problems {
		w.text(p)
	}
	w.table(&x.strings)
	w.table(&x.names)
	w.table(&x.sets)
	w.number(len(x.buckets))
	for _, b := range x.buckets {
		w.number(int(b.resource))
		w.number(int(b.namespace))
		w.number(int(b.end - b.first)) // they follow each other
	}
	for i := range x.flags {
		w.number(int(x.setOf[i]))
		w = append(w, byte(x.flags[i]))
	}
	w.number(len(x.refs))
	for _, r := range x.refs {
		w.number(int(r.item))
		w = append(w, byte(r.kind))
		w.number(int(r.namespace))
		w.number(int(r.name))
	}
	w.number(len(x.kinds))
	for _, d := range x.kinds {
		w.number(int(d.item))
		w.resource(d.resource)
	}
	w.table(&x.facts)
	w.number(len(x.needs))
	for _, n := range x.needs {
		w.number(int(n.item))
		w.number(int(n.set))
	}
	w.number(len(x.versions))
	for _, v := range x.versions {
		w.number(int(v.resource))
		w.number(int(v.version))
		w.bools(v.preferred)
	}
	return binary.LittleEndian.AppendUint32(w, crc32.Checksum(w, castagnoli)), nil
}

type encoder []byte

func (w *encoder) number(n int) { *w = binary.AppendUvarint(*w, uint64(n)) }

func (w *encoder) text(s string) {
	w.number(len(s))
	*w = append(*w, s...)
}

func (w *encoder) bools(values ...bool) {
	for _, v := range values {
		n := 0
		if v {
			n = 1
		}
		w.number(n)
	}
}

func (w *encoder) table(t *stringTable) {
	w.number(t.len())
	start := uint32(0)
	for _, end := range t.end {
		w.number(int(end - start))
		start = end
	}
	*w = append(*w, t.data...)
}

func (w *encoder) resource(r Resource) {
	for _, s := range []string{r.Group, r.Name, r.Singular, r.Kind} {
		w.text(s)
	}
	w.bools(r.Namespaced)
	w.number(len(r.ShortNames))
	for _, s := range r.ShortNames {
		w.text(s)
	}
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
	r := decoder{b: body[len(indexMagic):]}
	decoded := r.index()
	if r.bad || len(r.b) > 0 {
		return fmt.Errorf("decoding index: %w: inconsistent content", ErrIndexCorrupt)
	}
	*x = *decoded
	return nil
}

// decoder reads an encoded Index. It trusts nothing: every number is checked
// against what it counts or points into, and nothing is allocated that the
// data could not fill.
type decoder struct {
	b   []byte
	bad bool
}

// number reads a number of at most limit.
func (r *decoder) number(limit int) int {
	n, size := binary.Uvarint(r.b)
	if size <= 0 || limit < 0 || n > uint64(limit) {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[size:]
	return int(n)
}

// count reads how many things follow, each of at least size bytes.
func (r *decoder) count(size int) int { return r.number(len(r.b) / size) }

func (r *decoder) take(n int) []byte {
	if n > len(r.b) {
		r.bad, r.b = true, nil
		return nil
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

func (r *decoder) byte(limit int) byte {
	b := r.take(1)
	if len(b) == 0 || int(b[0]) > limit {
		r.bad = true
		return 0
	}
	return b[0]
}

func (r *decoder) text() string { return string(r.take(r.number(len(r.b)))) }

func (r *decoder) bool() bool { return r.number(1) == 1 }

func (r *decoder) texts() (all []string) {
	for range r.count(1) {
		all = append(all, r.text())
	}
	return all
}

// table reads a stringTable. Its bytes are copied: the Index must not hold on
// to the caller's data.
func (r *decoder) table() (t stringTable) {
	n := r.count(1)
	t.end = make([]uint32, 0, n)
	end := 0
	for range n {
		end += r.number(len(r.b) - end)
		t.end = append(t.end, uint32(end))
	}
	t.data = append([]byte(nil), r.take(end)...)
	return t
}

func (r *decoder) index() *Index {
	x := &Index{}
	x.formatVersion = r.text()
	x.partial, x.namesOnly = r.bool(), r.bool()
	x.problems = r.texts()
	x.strings, x.names, x.sets = r.table(), r.table(), r.table()
	if r.bad || !r.checkSets(x) {
		return x
	}
	items := x.names.len()
	r.buckets(x, items)
	if r.bad || items > len(r.b)/2 {
		r.bad = true
		return x
	}
	x.setOf, x.flags = make([]uint32, items), make([]itemFlag, items)
	for i := range items {
		x.setOf[i] = uint32(r.number(x.sets.len() - 1))
		x.flags[i] = itemFlag(r.byte(int(flagCompleted | flagMirror | flagUndecodable | flagUnread)))
	}
	last := 0
	for range r.count(4) {
		ref := reference{item: uint32(r.number(items - 1)), kind: refKind(r.byte(int(refKinds) - 1))}
		ref.namespace, ref.name = uint32(r.number(x.strings.len()-1)), uint32(r.number(x.strings.len()-1))
		r.bad = r.bad || int(ref.item) < last
		last = int(ref.item)
		x.refs = append(x.refs, ref)
	}
	for range r.count(7) {
		d := definition{item: uint32(r.number(items - 1))}
		d.resource = Resource{Group: r.text(), Name: r.text(), Singular: r.text(), Kind: r.text(), Namespaced: r.bool(), ShortNames: r.texts()}
		x.kinds = append(x.kinds, d)
	}
	r.needs(x, items)
	return x
}

// needs reads what items need.
func (r *decoder) needs(x *Index, items int) {
	x.facts = r.table()
	for id := range uint32(x.facts.len()) {
		r.bad = r.bad || !eachFact(x.facts.bytes(id), func(_ NeedKind, name uint32, _ int64) bool { return int64(name) < int64(x.strings.len()) })
	}
	last := 0
	for range r.count(2) {
		n := needsOf{uint32(r.number(items - 1)), uint32(r.number(x.facts.len() - 1))}
		r.bad = r.bad || int(n.item) < last
		last = int(n.item)
		x.needs = append(x.needs, n)
	}
	for range r.count(3) {
		x.versions = append(x.versions, storedVersion{uint32(r.number(x.strings.len() - 1)), uint32(r.number(x.strings.len() - 1)), r.bool()})
	}
}

// checkSets checks that label sets are made of pairs of strings.
func (r *decoder) checkSets(x *Index) bool {
	for id := range uint32(x.sets.len()) {
		set := x.sets.bytes(id)
		r.bad = r.bad || len(set)%8 != 0
		for ; len(set) >= 4; set = set[4:] {
			r.bad = r.bad || int64(binary.LittleEndian.Uint32(set)) >= int64(x.strings.len())
		}
	}
	return !r.bad
}

// buckets reads the buckets and checks that they are in order, that is, that
// items can be found in them.
func (r *decoder) buckets(x *Index, items int) {
	first := 0
	for range r.count(3) {
		b := bucket{resource: uint32(r.number(x.strings.len() - 1)), namespace: uint32(r.number(x.strings.len() - 1)), first: uint32(first)}
		first += r.number(items - first)
		if b.end = uint32(first); r.bad {
			return
		}
		x.buckets = append(x.buckets, b)
	}
	r.bad = r.bad || first != items
}
