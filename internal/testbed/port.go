package testbed

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// The ports that servers get lie below those that Linux (32768 and up) and
// macOS (49152 and up) give to outgoing connections: a server that is killed
// and started again must find its port free, and an outgoing connection could
// have taken it meanwhile.
const (
	firstPort = 15000
	lastPort  = 32000
	portTries = 100
)

// FreePort returns a port on 127.0.0.1 that was free a moment ago, and that no
// outgoing connection will take.
func FreePort() (int, error) {
	var errs []error
	for range portTries {
		port := firstPort + rand.IntN(lastPort-firstPort)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		return port, l.Close()
	}
	return 0, fmt.Errorf("looking for a free port: %w", errors.Join(errs...))
}
