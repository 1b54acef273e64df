package judge

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"paddock"
	"paddock/internal/policy"
	"paddock/internal/trust"
)

// A Source gives the policy that applies now, or says why there is none, by a
// [*paddock.Refusal]; any other error is our own fault. It is asked for every
// request and must be safe for concurrent use.
type Source interface {
	Load() (*policy.Policy, error)
}

// mostPolicy bounds what is read as a policy.
const mostPolicy = 16 << 20

// PolicyFile is the policy in the file at path. The file is looked at for every
// request and read again when it has changed; while it is broken nothing is
// allowed, whatever it said before. It must belong to root or to the user that
// runs Paddock, and neither it nor a directory above it may be writable by
// others. An empty path is no policy.
func PolicyFile(path string) Source {
	return &policyFile{path: path, owner: trust.User()}
}

type policyFile struct {
	path  string
	owner trust.Owner

	mu      sync.Mutex // guards all below
	read    bool
	id      trust.Identity
	policy  *policy.Policy
	problem error
}

// Load implements Source.
func (f *policyFile) Load() (*policy.Policy, error) {
	if f.path == "" {
		return nil, paddock.Refused(paddock.NoPolicy, "No policy applies here, so nothing may run.")
	}
	path, err := filepath.Abs(f.path)
	if err != nil {
		return nil, paddock.Refused(paddock.PolicyInvalid, "The policy can't be found: %v.", err)
	}
	file, id, err := f.owner.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, paddock.Refused(paddock.NoPolicy, "There is no policy file at %s, so nothing may run.", path)
	}
	if trust.Fault(err) {
		return nil, fmt.Errorf("the policy %s: %w", path, err)
	}
	if err != nil {
		return nil, paddock.Refused(paddock.PolicyInvalid, "The policy can't be trusted: %v.", err)
	}
	defer file.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.read || f.id != id {
		p, problem := readPolicy(path, file)
		if trust.Fault(problem) {
			return nil, problem // not for good
		}
		f.policy, f.problem = p, problem
		f.read, f.id = true, id
	}
	return f.policy, f.problem
}

func readPolicy(name string, r io.Reader) (*policy.Policy, error) {
	data, err := io.ReadAll(io.LimitReader(r, mostPolicy+1))
	if trust.Fault(err) {
		return nil, fmt.Errorf("the policy %s: %w", name, err)
	}
	if err != nil {
		return nil, paddock.Refused(paddock.PolicyInvalid, "The policy can't be read: %v.", err)
	}
	if len(data) > mostPolicy {
		return nil, paddock.Refused(paddock.PolicyInvalid, "The policy is longer than %d bytes.", mostPolicy)
	}
	return compile(name, data)
}

// PolicyText is the policy that data, the content of a file called name, says.
// It never changes.
func PolicyText(name string, data []byte) Source {
	p, problem := compile(name, data)
	return fixed{p, problem}
}

type fixed struct {
	policy  *policy.Policy
	problem error
}

// Load implements Source.
func (f fixed) Load() (*policy.Policy, error) { return f.policy, f.problem }

// shownErrors is how many faults of a policy a refusal lists.
const shownErrors = 10

func compile(name string, data []byte) (*policy.Policy, error) {
	p, err := policy.Load(name, data)
	if err == nil {
		return p, nil
	}
	var faults *policy.Errors
	if !errors.As(err, &faults) || len(faults.List) == 0 {
		return nil, paddock.Refused(paddock.PolicyInvalid, "The policy has an error: %v", err)
	}
	text := fmt.Sprintf("The policy %s has %d errors:", filepath.Base(name), len(faults.List))
	if len(faults.List) == 1 {
		text = fmt.Sprintf("The policy %s has an error:", filepath.Base(name))
	}
	for i, fault := range faults.List {
		if i == shownErrors {
			text += fmt.Sprintf("\nand %d more", len(faults.List)-i)
			break
		}
		text += fmt.Sprintf("\nline %d, column %d: %s", fault.Position.Line, fault.Position.Column, fault.Message)
	}
	refusal := paddock.Refused(paddock.PolicyInvalid, "%s", text)
	first := faults.List[0].Position
	refusal.Position = &first
	return nil, refusal
}
