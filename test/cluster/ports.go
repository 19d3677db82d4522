package main

import (
	"fmt"
	"net"
	"strconv"
)

// ports hands out ports of 127.0.0.1, each once.
type ports map[int]bool

// from returns the first port from this on that nobody has.
func (p ports) from(port int) (string, error) {
	for ; port < 1<<16; port++ {
		if !p[port] && free(port) {
			p[port] = true
			return strconv.Itoa(port), nil
		}
	}
	return "", fmt.Errorf("no port of 127.0.0.1 is free")
}

// free reports whether nobody listens on a port, by TCP or UDP.
func free(port int) bool {
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return false
	}
	defer l.Close()
	u, err := net.ListenPacket("udp", addr)
	if err != nil {
		return false
	}
	u.Close()
	return true
}
