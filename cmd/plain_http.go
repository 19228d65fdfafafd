package cmd

import (
	"fmt"
	"log/slog"
	"strconv"

	"github.com/veltui/veltui/stored/artifact"
)

// plainHTTP is what the user allows about object stores without TLS.
type plainHTTP struct {
	allowed bool // --allow-plain-http
	// silent is true while something else has the screen.
	silent bool
}

// allowsPlainHTTP is what --allow-plain-http and VELTUI_ALLOW_PLAIN_HTTP say.
// Whatever is not a clear yes in the variable means no.
func (c *cli) allowsPlainHTTP() bool {
	yes, err := strconv.ParseBool(c.env("VELTUI_ALLOW_PLAIN_HTTP"))
	return c.plainHTTP.allowed || err == nil && yes
}

// announcer says, before they come, that bytes come unencrypted.
func (c *cli) announcer(log *slog.Logger) func(artifact.Route) {
	return func(r artifact.Route) {
		if !r.PlainHTTP {
			return
		}
		log.Warn("a download comes over plain http", "host", r.Host, "via", r.Via)
		if !c.plainHTTP.silent {
			fmt.Fprintf(c.streams.ErrOut, "warning: downloading from %s over plain http; anyone on the network can read the data\n", r.Host)
		}
	}
}
