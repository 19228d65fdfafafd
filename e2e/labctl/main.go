// Command labctl keeps a lab running for people: `make lab` starts it and
// `make lab-down` ends it.
package main

import (
	"fmt"
	"os"
)

func main() {
	command := map[string]func() error{"up": startLab, "serve": serveLab, "down": stopLab}[commandArg()]
	if command == nil {
		fmt.Fprintln(os.Stderr, "usage: labctl up|down")
		os.Exit(2)
	}
	if err := command(); err != nil {
		fmt.Fprintln(os.Stderr, "labctl:", err)
		os.Exit(1)
	}
}

func commandArg() string {
	if len(os.Args) != 2 {
		return ""
	}
	return os.Args[1]
}
