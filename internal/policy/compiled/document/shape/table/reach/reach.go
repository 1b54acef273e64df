// Package reach checks the entries of a network list: host:port, *.suffix:port,
// and addresses with a port, each in one spelling; and what is said of a secret
// that goes to one of them.
//
// # Limits
//
// The proxy reads the same entries by itself, with the same strictness; a test
// holds the two to each other. Nothing is resolved here.
package reach

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Form is the form of an entry, as an expression. [Check] takes only what has it.
const Form = `^((\*\.)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:]+\]):[1-9][0-9]{0,4}$`

var form = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(Form) })

// HasForm reports whether entry has the [Form].
func HasForm(entry string) bool { return form().MatchString(entry) }

// The longest name that DNS carries, and the longest label in it.
const (
	maxName  = 253
	maxLabel = 63
)

// Check refuses what has the form and can't be meant.
func Check(entry string) error {
	cut := strings.LastIndexByte(entry, ':')
	if n, err := strconv.Atoi(entry[cut+1:]); err != nil || n > 65535 {
		return errors.New("a port is a number from 1 to 65535")
	}
	if inner, ok := strings.CutPrefix(entry[:cut], "["); ok {
		return checkIPv6(strings.TrimSuffix(inner, "]"))
	}
	name, suffix := strings.CutPrefix(entry[:cut], "*.")
	labels := strings.Split(name, ".")
	last := labels[len(labels)-1]
	hexadecimal, isHex := strings.CutPrefix(last, "0x")
	switch {
	case strings.Trim(last, "0123456789") == "" || isHex && strings.Trim(hexadecimal, "0123456789abcdef") == "":
		if suffix {
			return errors.New("an address has no names below it")
		}
		return checkIPv4(labels)
	case last == "localhost":
		return errors.New("localhost is this machine, seen from outside of the run; if a service of yours is meant, write 127.0.0.1")
	case suffix && len(labels) < 2:
		return errors.New("a suffix needs at least two parts, as in \"*.example.org:443\"")
	case len(name) > maxName:
		return fmt.Errorf("a name has at most %d characters", maxName)
	}
	for _, l := range labels {
		if l == "" || len(l) > maxLabel || l[0] == '-' || l[len(l)-1] == '-' {
			return fmt.Errorf("the parts of a name have 1 to %d characters and no hyphen at either end", maxLabel)
		}
	}
	return nil
}

func checkIPv4(parts []string) error {
	var first int
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil || n > 255 || strconv.Itoa(n) != part || len(parts) != 4 {
			return errors.New("an IPv4 address is written as four decimal numbers without leading zeros")
		}
		if i == 0 {
			first = n
		}
	}
	if first >= 224 && first < 240 || strings.Join(parts, ".") == "0.0.0.0" {
		return errNowhere
	}
	return nil
}

var errNowhere = errors.New("nothing can be connected to at this address")

// checkIPv6 accepts an address in its one canonical spelling (RFC 5952).
func checkIPv6(addr string) error {
	groups, gap := parseIPv6(addr)
	switch {
	case groups == nil || formatIPv6(groups, gap) != addr:
		return errors.New("an IPv6 address is written in its shortest form, as in [2001:db8::1]:443")
	case groups[0] >= 0xff00 || strings.Trim(addr, ":") == "":
		return errNowhere
	case strings.HasPrefix(addr, "::ffff:"):
		return errors.New("write the IPv4 address that this is")
	}
	return nil
}

// parseIPv6 returns the eight groups of an address and where the first of its
// longest runs of zeros lies, as that is where the shortest form has "::".
func parseIPv6(addr string) (groups []uint64, gap [2]int) {
	before, after, short := strings.Cut(addr, "::")
	head, tail := fields(before), fields(after)
	missing := 8 - len(head) - len(tail)
	if short && missing < 1 || !short && missing != 0 {
		return nil, gap
	}
	for _, f := range append(append(head, make([]string, missing)...), tail...) {
		if f == "" {
			f = "0"
		}
		n, err := strconv.ParseUint(f, 16, 16)
		if err != nil {
			return nil, gap
		}
		groups = append(groups, n)
	}
	for from := 0; from < 8; from++ {
		to := from
		for to < 8 && groups[to] == 0 {
			to++
		}
		if to-from > gap[1]-gap[0] && to-from > 1 {
			gap = [2]int{from, to}
		}
	}
	return groups, gap
}

// fields splits what is on one side of "::".
func fields(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ":")
}

func formatIPv6(groups []uint64, gap [2]int) string {
	write := func(part []uint64) string {
		words := make([]string, len(part))
		for i, n := range part {
			words[i] = strconv.FormatUint(n, 16)
		}
		return strings.Join(words, ":")
	}
	if gap[1] == 0 {
		return write(groups)
	}
	return write(groups[:gap[0]]) + "::" + write(groups[gap[1]:])
}
