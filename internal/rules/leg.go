package rules

// Roles of a target.
const (
	ServerRole = "server"
	ClientRole = "client"
)

// Transports.
const (
	Stdio = "stdio"
	HTTP  = "http"
)

// Leg is one part of a run: a role at a revision over a transport.
type Leg struct {
	Role      string `json:"role"`
	Revision  string `json:"revision"`
	Transport string `json:"transport"`
}

// Name is the leg as people read it.
func (l Leg) Name() string { return l.Role + " " + l.Revision + " " + l.Transport }

// Object is a JSON object.
type Object = map[string]any
