package cmd

import (
	"fmt"
	"io"
	"log/slog"
	"strconv"

	"github.com/veltui/veltui/stored/artifact"
)

// plainHTTP is what the user allows about object stores without TLS.
type plainHTTP struct {
	*process
	allowed bool // --allow-plain-http
	// silent is true while something else has the screen.
	silent bool
}

// allows is what --allow-plain-http and VELTUI_ALLOW_PLAIN_HTTP say.
// Whatever is not a clear yes in the variable means no.
func (p *plainHTTP) allows() bool {
	yes, err := strconv.ParseBool(p.env("VELTUI_ALLOW_PLAIN_HTTP"))
	return p.allowed || err == nil && yes
}

// announcer says on a writer, before they come, that bytes come unencrypted.
func (p *plainHTTP) announcer(errOut io.Writer, log *slog.Logger) func(artifact.Route) {
	return func(r artifact.Route) {
		if !r.PlainHTTP {
			return
		}
		log.Warn("a download comes over plain http", "host", r.Host, "via", r.Via)
		if !p.silent {
			fmt.Fprintf(errOut, "warning: downloading from %s over plain http; anyone on the network can read the data\n", r.Host)
		}
	}
}
