// Page basic/utilities/progress: how far a request has come.

package server

// progress tells the client how far the call has come, if it has asked for
// that. Progress that is no progress is not sent: the value must increase.
func (c *call) progress(progress, total float64, message string) {
	if c.progressToken == nil || c.hasProgress && progress <= c.progressed {
		return
	}
	c.hasProgress, c.progressed = true, progress
	c.notify("notifications/progress", object{
		"progressToken": c.progressToken,
		"progress":      progress,
		"total":         total,
		"message":       message,
	})
}
