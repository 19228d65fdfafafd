// Package draw has stateless drawing functions: text, a style for each meaning, glyphs with ASCII twins, bars and
// tables. All styles and glyphs of the screens are defined here.
package draw
