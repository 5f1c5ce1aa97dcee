package matrix

import "time"

// Impatient returns options with which a run has no more time than this beyond its deadline.
func (o Options) Impatient(slack time.Duration) Options {
	o.slack = slack
	return o
}
