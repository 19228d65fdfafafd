package job

import "time"

// rhythmSamples is how many of the newest changes of the numbers show the rhythm of a stage.
const rhythmSamples = 20

// LongestPause returns the longest time between two of the newest changes of the stage's numbers, zero if fewer than
// two were seen.
func (j *Job) LongestPause() (longest time.Duration) {
	var later time.Time
	seen := 0
	for s := range j.track.samples.eachSample() {
		if seen++; seen > rhythmSamples {
			break
		}
		if !later.IsZero() {
			longest = max(longest, later.Sub(s.at))
		}
		later = s.at
	}
	return longest
}
