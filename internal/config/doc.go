// Package config knows what a configuration says and which mistakes are in it:
// YAML with line numbers in, values with their origin out. It is told which
// settings there are, and reads no file and no environment itself.
package config
