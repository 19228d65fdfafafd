package collector

import (
	"bytes"
	"hash/maphash"
)

// stringTable holds byte strings one after the other and gives each an id.
type stringTable struct {
	Data []byte
	End  []uint32 // End[i] is where string i stops
}

func (t *stringTable) len() int { return len(t.End) }

func (t *stringTable) bytes(id uint32) []byte {
	start := uint32(0)
	if id > 0 {
		start = t.End[id-1]
	}
	return t.Data[start:t.End[id]]
}

func (t *stringTable) string(id uint32) string { return string(t.bytes(id)) }

func (t *stringTable) add(b []byte) uint32 {
	t.Data = append(t.Data, b...)
	t.End = append(t.End, uint32(len(t.Data)))
	return uint32(len(t.End) - 1)
}

func (t *stringTable) size() int64 { return int64(cap(t.Data)) + 4*int64(cap(t.End)) }

// interner gives equal strings the same id.
type interner struct {
	stringTable
	seed  maphash.Seed
	slots []uint32 // id+1, or 0; open addressing, at most half full
}

func newInterner() interner {
	return interner{seed: maphash.MakeSeed(), slots: make([]uint32, 1<<10)}
}

func (t *interner) id(b []byte) uint32 {
	if 2*t.len() >= len(t.slots) {
		t.grow()
	}
	mask := uint64(len(t.slots) - 1)
	for i := maphash.Bytes(t.seed, b) & mask; ; i = (i + 1) & mask {
		switch slot := t.slots[i]; {
		case slot == 0:
			id := t.add(b)
			t.slots[i] = id + 1
			return id
		case bytes.Equal(t.bytes(slot-1), b):
			return slot - 1
		}
	}
}

func (t *interner) grow() {
	t.slots = make([]uint32, 2*len(t.slots))
	mask := uint64(len(t.slots) - 1)
	for id := range uint32(t.len()) {
		i := maphash.Bytes(t.seed, t.bytes(id)) & mask
		for t.slots[i] != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = id + 1
	}
}

func (t *interner) size() int64 { return t.stringTable.size() + 4*int64(len(t.slots)) }
