package artifact

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
)

// A URL from others must not make this machine talk to itself or to what only it can reach, unless its storage
// location names that address.

// metadataAddresses are the addresses that answer with a machine's or a pod's credentials.
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

// nat64Prefix is the prefix of IPv6 addresses that carry an IPv4 address in their last four bytes (NAT64).
var nat64Prefix = netip.MustParsePrefix("64:ff9b::/96")

// addressGuard judges where a download may connect to.
type addressGuard struct {
	// configured is true if the storage location's configuration names the host.
	configured bool
	// plainHTTP is true for unencrypted data without the user's consent: then only this machine may be connected to.
	plainHTTP bool
	// ownAddresses returns this machine's addresses; isLoopback reports whether an address never leaves it.
	ownAddresses func() ([]netip.Addr, error)
	isLoopback   func(netip.Addr) bool
}

// ownAddresses returns the addresses of this machine's network interfaces.
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

// checkHost returns why a host must not be connected to, as far as its name tells.
func (g addressGuard) checkHost(host string) error {
	if slices.Contains(metadataNames, host) {
		return fmt.Errorf("%w: %s is a metadata service", ErrUnsafeURL, host)
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return g.checkAddress(ip)
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	if last == "" || strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		return fmt.Errorf("%w: its host is a number but not an address", ErrUnsafeURL)
	}
	if !g.configured && (last == "localhost" || host == "localhost.localdomain" || strings.HasPrefix(host, "ip6-l")) {
		return fmt.Errorf("%w: %s is this machine, and the storage location does not name it", ErrUnsafeURL, host)
	}
	return nil
}

// canonicalAddress returns an address without what disguises it.
func canonicalAddress(ip netip.Addr) netip.Addr {
	ip = ip.Unmap().WithZone("")
	if nat64Prefix.Contains(ip) {
		bytes := ip.As16()
		return netip.AddrFrom4([4]byte(bytes[12:]))
	}
	return ip
}

// checkAddress returns why an address must not be connected to.
func (g addressGuard) checkAddress(ip netip.Addr) error {
	ip = canonicalAddress(ip)
	own, err := g.isOwnAddress(ip)
	what := ""
	switch {
	case slices.Contains(metadataAddresses, ip):
		return fmt.Errorf("%w: %s is a metadata service", ErrUnsafeURL, ip)
	case ip.IsUnspecified() || ip.IsMulticast():
		return fmt.Errorf("%w: %s cannot be the address of an object store", ErrUnsafeURL, ip)
	case g.plainHTTP && !own:
		return ErrUnencrypted
	case g.configured:
		return nil
	case err != nil:
		return fmt.Errorf("%w: cannot find out whether %s is this machine: %w", ErrUnsafeURL, ip, err)
	case own:
		what = "this machine"
	case ip.IsLinkLocalUnicast():
		what = "a link-local address"
	}
	if what == "" {
		return nil
	}
	return fmt.Errorf("%w: %s is %s, and the storage location does not name it", ErrUnsafeURL, ip, what)
}

// isOwnAddress reports whether an address is this machine's.
func (g addressGuard) isOwnAddress(ip netip.Addr) (bool, error) {
	if g.isLoopback(ip) {
		return true, nil
	}
	all, err := g.ownAddresses()
	return slices.ContainsFunc(all, func(own netip.Addr) bool { return canonicalAddress(own) == ip }), err
}

// dialControl is a net.Dialer's Control: it sees the address that is actually connected to, after names were
// resolved.
func (g addressGuard) dialControl(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %s is not an address", ErrUnsafeURL, address)
	}
	return g.checkAddress(to.Addr())
}
