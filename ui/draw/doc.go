// Package draw draws, without state: text, a style for each meaning, signs with ASCII twins, bars and
// tables. Styles and signs of screens come from nowhere else.
package draw
