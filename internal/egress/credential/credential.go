// Package credential passes the secrets of a run to its supervisor and its proxy, to
// each what it needs: in a file that is only memory, that can't be changed any more
// and that has no name.
//
// # Limits
//
// Whoever holds the descriptor can read it. It is handed from process to process
// and never to a program.
package credential

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// A Credential is a secret and the requests that carry it.
type Credential struct {
	// Name is the policy's, Place is host:port.
	Name   string `json:"name"`
	Place  string `json:"place"`
	Header string `json:"header"`
	// Value is the whole text of the header.
	Value string `json:"value"`
	// CA holds the certificates, in PEM, by which the host is verified; empty
	// means the system's.
	CA string `json:"ca,omitempty"`
}

// String and GoString keep the value out of what is printed by mistake.
func (c Credential) String() string   { return c.Name + " for " + c.Place }
func (c Credential) GoString() string { return c.String() }

// most bounds what is read; a policy's secrets are far below.
const most = 64 << 20

// Known is what a supervisor is told: the secrets that the program gets, as
// NAME=value, and the values of all that must not be seen in its output.
type Known struct {
	Env  []string `json:"env,omitempty"`
	Hide []string `json:"hide,omitempty"`
}

// String and GoString keep the values out of what is printed by mistake.
func (k Known) String() string {
	return fmt.Sprintf("%d variables, %d values", len(k.Env), len(k.Hide))
}
func (k Known) GoString() string { return k.String() }

// SealKnown is [Seal] for a supervisor.
func SealKnown(k Known) (*os.File, error) { return seal(k) }

// OpenKnown reads what SealKnown wrote. No error of it says anything of the content.
func OpenKnown(file *os.File) (k Known, err error) {
	err = read(file, &k)
	return k, err
}

// Seal writes list into a sealed file of memory.
func Seal(list []Credential) (*os.File, error) {
	return seal(list)
}

func seal(v any) (*os.File, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("credentials: %w", err)
	}
	return sealed(text)
}

// Open reads what Seal wrote. No error of it says anything of the content.
func Open(file *os.File) (list []Credential, err error) {
	err = read(file, &list)
	return list, err
}

func read(file *os.File, v any) error {
	text, err := io.ReadAll(io.NewSectionReader(file, 0, most))
	if err != nil {
		return fmt.Errorf("credentials: %w", err)
	}
	if json.Unmarshal(text, v) != nil {
		return errors.New("credentials: the file isn't one of ours")
	}
	return nil
}
