// Package narrate puts into sentences what a dashboard draws: the state of each job and the changes since the last
// sentence about it, but no more than a person can listen to. It is for `veltui --plain`, for screen readers and for
// log files. It is pure, and knows neither terminals nor clusters.
//
// The sentences are those of package speech. They spell out units and durations, which screen readers would otherwise
// read as letters.
package narrate
