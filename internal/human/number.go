package human

import (
	"math"
	"strconv"
)

// Bytes writes bytes in binary units, as short as they can be read: 512B, 12.4G.
func Bytes(n int64) string {
	unit := unitOf(n)
	return inUnit(n, unit) + byteUnits[unit]
}

// BytesOf writes a part of a whole in the whole's unit: 12.4/30.1G. 0 is unknown, and empty if
// both are.
func BytesOf(done, total int64) string {
	switch {
	case total <= 0 && done <= 0:
		return ""
	case total <= 0:
		return Bytes(done)
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

// PerSecond writes a speed: 0.2/s, 34/s.
func PerSecond(rate float64) string {
	if rate < 10 {
		return strconv.FormatFloat(rate, 'f', 1, 64) + "/s"
	}
	return strconv.FormatFloat(rate, 'f', 0, 64) + "/s"
}

// BytesPerSecond writes a speed in bytes: 12.4M/s.
func BytesPerSecond(rate float64) string { return Bytes(int64(rate)) + "/s" }

// Percent writes a fraction from 0 to 1; only 1 itself is 100%.
func Percent(fraction float64) string {
	p := int(fraction*100 + 1e-9) // 0.29 is a little less in binary
	if fraction < 1 {
		p = min(p, 99)
	}
	return strconv.Itoa(max(p, 0)) + "%"
}

// Number writes a whole number with its thousands apart, as 12,000.
func Number[N int | int64](n N) string {
	s := strconv.FormatInt(int64(n), 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Ordinal writes 1st, 2nd, 3rd, 4th.
func Ordinal(n int) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return strconv.Itoa(n) + suffix
}
