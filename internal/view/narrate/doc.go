// Package narrate puts into sentences what a dashboard draws: the state of each job and the changes since the last
// sentence about it, but no more than a person can listen to. It is for `veltui --plain`, for screen readers and for
// log files. It is pure, and knows neither terminals nor clusters.
//
// A sentence is one line. It begins with veltui's own words, so that no foreign name or message can pass for one, and
// it spells out units and durations, which screen readers would otherwise read as letters.
package narrate
