package job

import (
	"math"
	"strconv"
)

// Size writes bytes in binary units, as short as they can be read: 512B, 12.4G.
func Size(n int64) string {
	unit := unitOf(n)
	return inUnit(n, unit) + byteUnits[unit]
}

// Sizes writes a part of a whole in the whole's unit: 12.4/30.1G. It is empty
// if neither is known.
func Sizes(done, total int64) string {
	switch {
	case total <= 0 && done <= 0:
		return ""
	case total <= 0:
		return Size(done)
	}
	unit := unitOf(total)
	return inUnit(done, unit) + "/" + inUnit(total, unit) + byteUnits[unit]
}

var byteUnits = [...]string{"B", "K", "M", "G", "T", "P", "E"}

// unitOf is the exponent of 1024 in which n is best read.
func unitOf(n int64) int {
	unit := 0
	for f := float64(n); f >= 1000 && unit < len(byteUnits)-1; f /= 1024 {
		unit++
	}
	return unit
}

func inUnit(n int64, unit int) string {
	f := float64(n) / math.Pow(1024, float64(unit))
	if unit == 0 || f >= 100 {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'f', 1, 64)
}
