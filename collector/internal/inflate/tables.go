package inflate

import "math/bits"

const (
	maxLit  = 288
	maxDist = 32
	maxCode = 15 // longest code word

	litBits  = 11
	distBits = 9
	// A table's first part is indexed by the next bits of the stream; longer codes continue in a second part. Its size
	// is bounded by one full subtable for every first entry that could need one (at most one per symbol).
	litSize  = 1<<litBits + maxLit<<(maxCode-litBits)
	distSize = 1<<distBits + maxDist<<(maxCode-distBits)
)

// entry is the meaning of the next bits of the stream.
//
//	bits 0-7   how many bits the code word takes
//	bits 8-12  how many extra bits follow; in a pointer, the subtable's width
//	bit 13     end of block
//	bit 14     pointer to a subtable
//	bit 15     not an ordinary symbol: end, pointer, or no code word at all
//	bits 16-30 literal, length, distance or index of the subtable
//	bit 31     literal
type entry = uint32

const (
	entryEnd     entry = 1<<13 | entrySpecial
	entryPointer entry = 1<<14 | entrySpecial
	entrySpecial entry = 1 << 15
	entryLiteral entry = 1 << 31
	entryInvalid entry = entrySpecial
)

type (
	litTable  [litSize]entry
	distTable [distSize]entry
)

var (
	litSymbols  = makeLitSymbols()
	distSymbols = makeDistSymbols()
)

// makeLitSymbols returns the entries of the literal and length symbols, without the length of a code word (RFC 1951,
// 3.2.5).
func makeLitSymbols() (table [maxLit]entry) {
	for i := range 256 {
		table[i] = entryLiteral | entry(i)<<16
	}
	table[256] = entryEnd
	base := entry(3)
	for i := range 28 {
		extra := entry(max(0, i/4-1))
		table[257+i] = base<<16 | extra<<8
		base += 1 << extra
	}
	table[285] = maxMatch << 16
	table[286], table[287] = entryInvalid, entryInvalid
	return table
}

func makeDistSymbols() (table [maxDist]entry) {
	base := entry(1)
	for i := range 30 {
		extra := entry(max(0, i/2-1))
		table[i] = base<<16 | extra<<8
		base += 1 << extra
	}
	table[30], table[31] = entryInvalid, entryInvalid
	return table
}

// codeOrder is the order of the lengths of the code length code.
var codeOrder = [19]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

var codeSymbols = func() (table [19]entry) {
	for i := range table {
		table[i] = entry(i) << 16
	}
	return table
}()

// readTables reads the header of a dynamic block.
func (d *Decoder) readTables() error {
	head, err := d.takeBits(14)
	if err != nil {
		return err
	}
	nlit, ndist, ncode := int(head&31)+257, int(head>>5&31)+1, int(head>>10)+4
	if nlit > 286 || ndist > 30 {
		return ErrCorrupt
	}
	var lens [19]uint8
	for _, i := range codeOrder[:ncode] {
		n, err := d.takeBits(3)
		if err != nil {
			return err
		}
		lens[i] = uint8(n)
	}
	var code [1 << 7]entry
	if !buildTable(code[:], 7, lens[:], codeSymbols[:]) {
		return ErrCorrupt
	}
	if err := d.readLengths(&code, nlit+ndist); err != nil {
		return err
	}
	if d.lens[256] == 0 {
		return ErrCorrupt // a block that cannot end
	}
	if !buildTable(d.lit[:], litBits, d.lens[:nlit], litSymbols[:]) ||
		!buildTable(d.dist[:], distBits, d.lens[nlit:nlit+ndist], distSymbols[:]) {
		return ErrCorrupt
	}
	return nil
}

func (d *Decoder) readLengths(code *[1 << 7]entry, n int) error {
	for i := 0; i < n; {
		if d.nbits < 7 {
			d.refillBits()
		}
		e := code[d.bits&(1<<7-1)]
		if e&entrySpecial != 0 {
			return ErrCorrupt
		}
		if _, err := d.takeBits(uint(e & 0xff)); err != nil {
			return err
		}
		symbol := uint8(e >> 16)
		if symbol < 16 {
			d.lens[i] = symbol
			i++
			continue
		}
		value, repeat, extra := uint8(0), uint32(3), uint(3)
		switch symbol {
		case 16:
			if i == 0 {
				return ErrCorrupt
			}
			value, extra = d.lens[i-1], 2
		case 18:
			repeat, extra = 11, 7
		}
		more, err := d.takeBits(extra)
		if err != nil {
			return err
		}
		repeat += more
		if i+int(repeat) > n {
			return ErrCorrupt
		}
		for range repeat {
			d.lens[i] = value
			i++
		}
	}
	return nil
}

// refillBits adds whole bytes while there are any and they fit.
func (d *Decoder) refillBits() {
	for d.nbits <= 56 {
		if d.pos >= d.inEnd {
			d.fillInput()
			if d.pos >= d.inEnd {
				return
			}
		}
		d.bits |= uint64(d.in[d.pos]) << d.nbits
		d.pos++
		d.nbits += 8
	}
}

func (d *Decoder) buildFixedTables() {
	for i := range maxLit {
		switch {
		case i < 144:
			d.lens[i] = 8
		case i < 256:
			d.lens[i] = 9
		case i < 280:
			d.lens[i] = 7
		default:
			d.lens[i] = 8
		}
	}
	for i := range maxDist {
		d.lens[maxLit+i] = 5
	}
	buildTable(d.lit[:], litBits, d.lens[:maxLit], litSymbols[:])
	buildTable(d.dist[:], distBits, d.lens[maxLit:maxLit+maxDist], distSymbols[:])
}

// buildTable builds a decoding table of width bits from code lengths. It is false if the lengths are not a prefix
// code: over-subscribed or incomplete. Like other decoders it accepts a code of a single one-bit word, and an empty
// code.
func buildTable(table []entry, width uint, lens []uint8, symbols []entry) bool {
	var count [maxCode + 1]int
	for _, n := range lens {
		count[n]++
	}
	count[0] = 0
	left, used := 1, 0
	var next [maxCode + 2]int
	code := 0
	for n := 1; n <= maxCode; n++ {
		left = left<<1 - count[n]
		if left < 0 {
			return false
		}
		used += count[n]
		next[n] = code
		code = (code + count[n]) << 1
	}
	if left > 0 && (used > 1 || used == 1 && count[1] != 1) {
		return false
	}
	first := table[:1<<width]
	if left > 0 {
		for i := range first {
			first[i] = entryInvalid
		}
	}
	for symbol, n := range lens {
		if n == 0 {
			continue
		}
		word := int(bits.Reverse16(uint16(next[n])) >> (16 - n))
		next[n]++
		if uint(n) > width {
			word &= 1<<width - 1
			first[word] = entryInvalid // until it points to a subtable
			continue
		}
		e := symbols[symbol] | entry(n)
		for i := word; i < len(first); i += 1 << n {
			first[i] = e
		}
	}
	buildSubtables(table, width, &count, lens, symbols)
	return true
}

// buildSubtables adds the code words that are longer than width. Every subtable is as wide as the longest word needs:
// the words of one prefix come in any order.
func buildSubtables(table []entry, width uint, count *[maxCode + 1]int, lens []uint8, symbols []entry) {
	longest := uint(maxCode)
	for longest > width && count[longest] == 0 {
		longest--
	}
	if longest == width {
		return
	}
	var next [maxCode + 2]int
	for n, code := 1, 0; n <= maxCode; n++ {
		next[n] = code
		code = (code + count[n]) << 1
	}
	wide, free := longest-width, 1<<width
	for symbol, n := range lens {
		if uint(n) <= width {
			continue
		}
		word := int(bits.Reverse16(uint16(next[n])) >> (16 - n))
		next[n]++
		prefix := word & (1<<width - 1)
		if table[prefix] == entryInvalid {
			table[prefix] = entry(free)<<16 | entry(wide)<<8 | entryPointer | entry(width)
			free += 1 << wide
		}
		start := int(table[prefix] >> 16)
		e := symbols[symbol] | entry(uint(n)-width)
		for i := word >> width; i < 1<<wide; i += 1 << (uint(n) - width) {
			table[start+i] = e
		}
	}
}
