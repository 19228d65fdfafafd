package collector

import "cmp"

// Limits bound what Read accepts. A zero field means its default.
type Limits struct {
	Compressed int64 // bytes of the tarball; default 8 GiB
	Unpacked   int64 // bytes of the tar stream; default 64 GiB
	// Ratio is how many bytes one compressed byte may become, on average over
	// the archive, once RatioFrom bytes came out; default 400. Backups as
	// Velero writes them are between 5 and 60.
	Ratio   int
	Entries int64 // tar entries; default 8 million
	Name    int   // bytes of an entry's path; default 4096, the most a file system takes
	Object  int64 // bytes of one object; default 16 MiB, ten times what etcd takes
	Index   int64 // bytes the Index may grow to; default 24 MiB, some 250,000 items

	// NamesOnly leaves out the labels: bodies are read only of the kinds whose
	// state decides what is restored. It is faster; an Estimate with a label
	// selector is then partial, and too high.
	NamesOnly bool
}

// ratioFrom is how much must have come out before the ratio is judged: short
// archives of very similar objects may compress far better than the limit.
const ratioFrom = 256 << 20

func (l Limits) withDefaults() Limits {
	l.Compressed = cmp.Or(l.Compressed, 8<<30)
	l.Unpacked = cmp.Or(l.Unpacked, 64<<30)
	l.Ratio = cmp.Or(l.Ratio, 400)
	l.Entries = cmp.Or(l.Entries, 8_000_000)
	l.Name = cmp.Or(l.Name, 4096)
	l.Object = cmp.Or(l.Object, 16<<20)
	l.Index = cmp.Or(l.Index, 24<<20)
	return l
}
