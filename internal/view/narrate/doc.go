// Package narrate says in sentences what a dashboard draws: how each job is, what changed since it was last
// said, and no more than a person listens to. It is for `veltui --plain`, for screen readers and for log
// files. It is pure, and knows neither terminals nor clusters.
//
// A sentence is one line. It begins with veltui's own words, so that no name or message of others can pass
// for one, and spells out units and durations, which screen readers otherwise read as letters.
package narrate
