package collector

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

const mebi = 1 << 20

func (l Limits) withDefaults() Limits {
	def := func(field *int64, value int64) {
		if *field <= 0 {
			*field = value
		}
	}
	def(&l.Compressed, 8<<10*mebi)
	def(&l.Unpacked, 64<<10*mebi)
	def(&l.Entries, 8_000_000)
	def(&l.Object, 16*mebi)
	def(&l.Index, 24*mebi)
	if l.Ratio <= 0 {
		l.Ratio = 400
	}
	if l.Name <= 0 {
		l.Name = 4096
	}
	return l
}
