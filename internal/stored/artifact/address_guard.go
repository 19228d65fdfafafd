package artifact

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
)

// A URL of others must not make this machine talk to itself or to what only it can reach, unless its location
// names that.

// metadataAddresses answer with a machine's or a pod's credentials.
var metadataAddresses = []netip.Addr{
	netip.MustParseAddr("169.254.169.254"), // AWS, Google, Azure and others
	netip.MustParseAddr("fd00:ec2::254"),   // AWS over IPv6
	netip.MustParseAddr("169.254.170.2"),   // AWS ECS tasks
	netip.MustParseAddr("169.254.170.23"),  // EKS Pod Identity
	netip.MustParseAddr("fd00:ec2::23"),    // EKS Pod Identity over IPv6
	netip.MustParseAddr("fd20:ce::254"),    // Google over IPv6
	netip.MustParseAddr("fe80::a9fe:a9fe"), // OpenStack over IPv6
	netip.MustParseAddr("100.100.100.200"), // Alibaba
	netip.MustParseAddr("168.63.129.16"),   // Azure's wire server
	netip.MustParseAddr("192.0.0.192"),     // Oracle
}

var metadataNames = []string{
	"metadata",
	"metadata.google.internal",
	"metadata.goog",
	"instance-data",
	"instance-data.ec2.internal",
	"metadata.azure.internal",
}

// translated are prefixes of IPv6 addresses that carry an IPv4 address in their last four bytes (NAT64).
var translated = netip.MustParsePrefix("64:ff9b::/96")

// guard judges where a download may go.
type guard struct {
	// configured is true if the storage location's configuration names the host.
	configured bool
	// clear is true for unencrypted bytes without the user's consent: then only this machine is talked to.
	clear bool
	// own are this machine's addresses, and loopback those that never leave it.
	own      func() ([]netip.Addr, error)
	loopback func(netip.Addr) bool
}

// ownAddresses are those of this machine's network interfaces.
func ownAddresses() ([]netip.Addr, error) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	var own []netip.Addr
	for _, a := range all {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil {
			own = append(own, prefix.Addr())
		}
	}
	return own, nil
}

// host says why a host is not talked to, as far as its name tells.
func (g guard) host(host string) error {
	if slices.Contains(metadataNames, host) {
		return fmt.Errorf("%w: %s is a metadata service", ErrUnsafe, host)
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return g.address(ip)
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	if last == "" || strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		return fmt.Errorf("%w: its host is a number but not an address", ErrUnsafe)
	}
	if !g.configured && (last == "localhost" || host == "localhost.localdomain" || strings.HasPrefix(host, "ip6-l")) {
		return fmt.Errorf("%w: %s is this machine, and the storage location does not name it", ErrUnsafe, host)
	}
	return nil
}

// plainAddress is an address without what disguises it.
func plainAddress(ip netip.Addr) netip.Addr {
	ip = ip.Unmap().WithZone("")
	if translated.Contains(ip) {
		bytes := ip.As16()
		return netip.AddrFrom4([4]byte(bytes[12:]))
	}
	return ip
}

// address says why an address is not connected to.
func (g guard) address(ip netip.Addr) error {
	ip = plainAddress(ip)
	own, err := g.isOwn(ip)
	what := ""
	switch {
	case slices.Contains(metadataAddresses, ip):
		return fmt.Errorf("%w: %s is a metadata service", ErrUnsafe, ip)
	case ip.IsUnspecified() || ip.IsMulticast():
		return fmt.Errorf("%w: %s cannot be the address of an object store", ErrUnsafe, ip)
	case g.clear && !own:
		return ErrClear
	case g.configured:
		return nil
	case err != nil:
		return fmt.Errorf("%w: cannot find out whether %s is this machine: %w", ErrUnsafe, ip, err)
	case own:
		what = "this machine"
	case ip.IsLinkLocalUnicast():
		what = "a link-local address"
	}
	if what == "" {
		return nil
	}
	return fmt.Errorf("%w: %s is %s, and the storage location does not name it", ErrUnsafe, ip, what)
}

// isOwn reports whether an address is this machine's.
func (g guard) isOwn(ip netip.Addr) (bool, error) {
	if g.loopback(ip) {
		return true, nil
	}
	all, err := g.own()
	return slices.ContainsFunc(all, func(own netip.Addr) bool { return plainAddress(own) == ip }), err
}

// control is a net.Dialer's Control: it sees the address that is really connected to, after names were resolved.
func (g guard) control(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %s is not an address", ErrUnsafe, address)
	}
	return g.address(to.Addr())
}
