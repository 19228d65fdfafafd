// Package draw draws, without state: a canvas that fits and wraps text, a theme
// with a style for each meaning, signs with ASCII twins, bars and the columns of
// tables. The screens of package ui are made of it; styles and signs come from
// nowhere else.
package draw
