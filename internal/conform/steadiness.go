package conform

// Does demands that the client did a step, by its position, whatever came in it. When
// the driver tells that the step failed, the driver may be at fault: a step of the
// same kind must have been done. It reports false when the driver tells nothing of it.
func (c *Client) Does(position, like int, despite string) (told bool) {
	outcome, told := c.ToldOutcome(position)
	if !told || !outcome.Failed() {
		return told
	}
	if control, there := c.ToldOutcome(like); !there || control.Failed() {
		c.inconclusive("the client says that it failed in the step "+toJSON(c.story.Told[position])+": "+outcome.Error,
			"let the client do the step "+toJSON(c.story.Told[like]))
	}
	Judge(Mismatch{
		Wanted: "the step " + toJSON(c.story.Told[position]) + " done, despite " + despite, Found: "it failed: " + oneLine(outcome.Error),
	})
	return true
}

// WentPast tells whether the client is known to have done a step, or tried to: its
// driver tells of it or of a later one, or the client has read a resource that only
// a later step names.
func (c *Client) WentPast(position int) bool {
	for at := range c.told {
		if at >= position {
			return true
		}
	}
	for _, later := range c.story.Told[position+1:] {
		for _, read := range c.Requests("resources/read") {
			if later.Verb() == "read" && read.ParamsObject()["uri"] == later["uri"] {
				return true
			}
		}
	}
	return false
}

// NeedPast makes the check inconclusive unless the client is known to have done a
// step, or tried to.
func (c *Client) NeedPast(position int) {
	switch {
	case c.WentPast(position):
	case c.byHand:
		c.untold(position)
	default:
		c.inconclusive("the client does not tell whether it did the step "+toJSON(c.story.Told[position]),
			"let the client do the steps of MCPCONFORM_STEPS, and tell of each")
	}
}
