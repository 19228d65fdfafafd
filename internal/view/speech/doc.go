// Package speech prints texts and the sections of package view as sentences, one a line, for screen readers and log
// files. It is pure.
//
// A sentence is one line. It begins with veltui's own words, so that no foreign name or message can pass for one.
package speech
